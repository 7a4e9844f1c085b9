//! What the machine grants this process: the processors of its affinity mask and the memory of the machine or its cgroup.
//!
//! Read from `/proc` and `/sys` once, before any shard runs.

use std::fs;
use std::path::Path;

/// What is there to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Processors of the affinity mask, ascending.
    pub cpus: Vec<usize>,
    /// The smaller of the machine's memory and the cgroup's limit.
    pub memory_bytes: u64,
}

impl Machine {
    /// Asks the kernel. Where it does not answer (no `/proc`), one processor and 1 GiB are assumed: small is safe.
    #[expect(clippy::disallowed_methods, reason = "no shard runs yet, so there is no Runtime to read through")]
    pub fn ask() -> Machine {
        let read = |path: &Path| fs::read_to_string(path).ok();
        let cpus = read(Path::new("/proc/self/status"))
            .and_then(|status| field(&status, "Cpus_allowed_list:").and_then(parse_cpu_list))
            .filter(|cpus| !cpus.is_empty())
            .unwrap_or_else(|| vec![0]);
        let total = read(Path::new("/proc/meminfo"))
            .and_then(|meminfo| field(&meminfo, "MemTotal:").and_then(kilobytes))
            .unwrap_or(1 << 30);
        let limit = read(Path::new("/proc/self/cgroup")).and_then(|cgroups| cgroup_limit(&cgroups, read));
        Machine { cpus, memory_bytes: limit.map_or(total, |limit| limit.min(total)) }
    }
}

/// Reads a list as the kernel and `--cpuset` write it: `0-3,8,10-11`.
pub fn parse_cpu_list(text: &str) -> Option<Vec<usize>> {
    /// More processors than Linux can be built for; guards against `0-4000000000`.
    const CPUS_MAX: usize = 8192;
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// The value of a `Name: value` line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn kilobytes(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The tightest memory limit on the way from the process's cgroup to the root, version 2 or 1.
fn cgroup_limit(cgroups: &str, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let mut tightest: Option<u64> = None;
    for line in cgroups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        // In a container the path may name a folder of the host that is not visible here; the mount's root always is.
        let folder = Path::new(root).join(path.trim_start_matches('/'));
        for folder in folder.ancestors().take_while(|folder| folder.starts_with(root)) {
            let limit = read(&folder.join(file)).and_then(|text| text.trim().parse::<u64>().ok());
            tightest = [tightest, limit].into_iter().flatten().min();
        }
    }
    tightest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        assert_eq!(parse_cpu_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_cpu_list("5"), Some(vec![5]));
        assert_eq!(parse_cpu_list("4-175").map(|cpus| cpus.len()), Some(172));
        for wrong in ["", "a", "3-1", "0-99999", "1,,2"] {
            assert_eq!(parse_cpu_list(wrong), None, "{wrong:?} was taken");
        }
    }

    #[test]
    fn cgroup_limits() {
        let files = |path: &Path| match path.to_str() {
            Some("/sys/fs/cgroup/a/b/memory.max") => Some("max\n".to_owned()),
            Some("/sys/fs/cgroup/a/memory.max") => Some("2147483648\n".to_owned()),
            Some("/sys/fs/cgroup/memory/c/memory.limit_in_bytes") => Some("9223372036854771712\n".to_owned()),
            _ => None,
        };
        assert_eq!(cgroup_limit("0::/a/b\n", files), Some(2 << 30));
        assert_eq!(cgroup_limit("4:memory:/c\n1:cpu:/x\n", files), Some(9_223_372_036_854_771_712));
        assert_eq!(cgroup_limit("0::/\n", files), None);
    }

    #[test]
    fn this_machine_has_something() {
        let machine = Machine::ask();
        assert!(!machine.cpus.is_empty());
        assert!(machine.memory_bytes > 1 << 20);
    }
}
