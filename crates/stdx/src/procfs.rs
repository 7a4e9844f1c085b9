//! What `/proc` says of a process. The text is the caller's to read, who knows how a file may be read where it runs.

use std::time::Duration;

/// What `/proc` counts in: user space sees a hundred of them a second on every architecture.
const UNIT_MILLIS: u64 = 10;

/// The CPU time that it has used so far, to hundredths of a second, threads that have ended included: time in user and in kernel mode, the
/// 14th and 15th field of what stands in `/proc/PID/stat`. The second is the process' name, which may hold anything but ends with the last bracket.
pub fn cpu_time(stat: &str) -> Option<Duration> {
    user_and_system(stat, 14)
}

/// The CPU time of its children that have ended and were waited for, with theirs: the 16th and 17th field.
pub fn cpu_time_of_ended(stat: &str) -> Option<Duration> {
    user_and_system(stat, 16)
}

/// The sum of two fields, the first of which is counted from 1.
fn user_and_system(stat: &str, first: usize) -> Option<Duration> {
    // Behind the name, which is the second, the third comes first.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let user: u64 = fields.nth(first - 3)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    user.checked_add(system)?.checked_mul(UNIT_MILLIS).map(Duration::from_millis)
}

/// The bytes that it holds in memory: `VmRSS` of what stands in `/proc/PID/status`.
pub fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 25 5 7 1 20 0 4 0 100 1 2";
        assert_eq!(cpu_time(stat), Some(Duration::from_millis(300)));
        assert_eq!(cpu_time_of_ended(stat), Some(Duration::from_millis(80)));
        assert_eq!(cpu_time("nonsense"), None);
        assert_eq!(cpu_time("7 (a) S 1 7 7"), None);
    }

    #[test]
    fn resident_memory_is_read() {
        assert_eq!(resident_bytes("Name:\thelenus\nVmRSS:\t    5120 kB\n"), Some(5120 * 1024));
        assert_eq!(resident_bytes("Name:\thelenus\n"), None);
    }
}
