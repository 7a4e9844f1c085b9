//! Memory: how much there is, and what the kernel may do with it behind our back.

use super::Check;
use crate::finding::{Area, Judgement};
use crate::host::{Host, NotKnown, shown};
use crate::procfs::{Controller, colon_field, folders, kilobytes, limit, print_limit};
use crate::units::print_bytes;

pub(super) const CHECKS: [Check; 6] = [
    Check {
        area: Area::Memory,
        name: "memory",
        why: "Helenus plans with half of the memory unless --memory says otherwise, and takes it as it is needed, not at the start.",
        judge: memory,
    },
    Check {
        area: Area::Memory,
        name: "memory limit",
        why: "A process that passes its cgroup's limit is killed, so Helenus counts the limit, where it is less, for the machine's memory.",
        judge: memory_limit,
    },
    Check {
        area: Area::Memory,
        name: "swap",
        why: "A shard that touches a page which was swapped out stands still until the disk has it back, with all requests that wait for it.",
        judge: swap,
    },
    Check {
        area: Area::Memory,
        name: "huge pages",
        why: "The first touch of a transparent huge page clears 2 MiB in the middle of a request, so Helenus refuses them for itself.",
        judge: huge_pages,
    },
    Check {
        area: Area::Memory,
        name: "overcommit",
        why: "The allocator reserves more address space than it uses, which strict accounting counts as used.",
        judge: overcommit,
    },
    Check {
        area: Area::Memory,
        name: "locked memory",
        why: "Helenus locks none, and the kernels on which it uses io_uring do not count the rings as locked, so the limit is not met.",
        judge: locked_memory,
    },
];

const MEMINFO: &str = "/proc/meminfo";

fn amount(info: &str, name: &str) -> Result<u64, NotKnown> {
    let value = colon_field(info, name).ok_or_else(|| NotKnown::because(format!("{MEMINFO} has no '{name}'")))?;
    kilobytes(value).ok_or_else(|| NotKnown::unexpected(MEMINFO, value))
}

/// The tightest limit of the process's cgroup and those above it.
fn tightest_limit(host: &Host) -> Result<Option<u64>, NotKnown> {
    let cgroups = host.text("/proc/self/cgroup")?;
    let mut tightest: Option<u64> = None;
    for (folder, is_second) in folders(&cgroups, Controller::Memory) {
        let path = format!("{folder}/{}", if is_second { "memory.max" } else { "memory.limit_in_bytes" });
        let limit = match host.value(&path) {
            Ok(text) if text == "max" => None,
            Ok(text) => Some(text.parse().map_err(|_| NotKnown::unexpected(&path, &text))?),
            Err(NotKnown::Absent { .. }) => None,
            Err(other) => return Err(other),
        };
        tightest = [tightest, limit].into_iter().flatten().min();
    }
    Ok(tightest)
}

fn memory(host: &Host) -> Result<Judgement, NotKnown> {
    let info = host.text(MEMINFO)?;
    let (total, available) = (amount(&info, "MemTotal")?, amount(&info, "MemAvailable")?);
    // Whoever cannot read the limit is told so by the next check.
    let usable = tightest_limit(host).ok().flatten().map_or(total, |limit| limit.min(total));
    let planned = usable / 2;
    let found = format!(
        "{}, {} of them available; --memory would be {}",
        print_bytes(total),
        print_bytes(available),
        print_bytes(planned)
    );
    // The least with which a shard works, times a handful.
    const MEMORY_MIN: u64 = 512 << 20;
    if usable < MEMORY_MIN {
        return Ok(Judgement::warning(
            found,
            "give the machine more memory: a shard needs 64 MiB of --memory to work at all",
        ));
    }
    if available < planned {
        let mend = format!("stop other processes that use memory, or start with --memory {}M", (available / 2) >> 20);
        return Ok(Judgement::warning(found, mend));
    }
    Ok(Judgement::ok(found))
}

fn memory_limit(host: &Host) -> Result<Judgement, NotKnown> {
    let limit = tightest_limit(host)?;
    let info = host.text(MEMINFO)?;
    let total = amount(&info, "MemTotal")?;
    Ok(match limit.filter(|limit| *limit < total) {
        None => Judgement::ok("no limit below the machine's memory"),
        Some(limit) => Judgement::ok(format!("{} of the machine's {}", print_bytes(limit), print_bytes(total))),
    })
}

fn swap(host: &Host) -> Result<Judgement, NotKnown> {
    const SWAPS: &str = "/proc/swaps";
    let text = host.text(SWAPS)?;
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    if !header.starts_with("Filename") {
        return Err(NotKnown::unexpected(SWAPS, header));
    }
    let swaps: Vec<Vec<&str>> =
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|words| !words.is_empty()).collect();
    if swaps.is_empty() {
        return Ok(Judgement::ok("off"));
    }
    let kibibytes = swaps.iter().filter_map(|words| words.get(2)?.parse::<u64>().ok()).fold(0_u64, u64::saturating_add);
    let names: Vec<String> = swaps.iter().take(3).map(|words| shown(words[0])).collect();
    let swappiness = host.number("/proc/sys/vm/swappiness");
    let tendency = swappiness.as_ref().map_or_else(|_| String::new(), |value| format!(", swappiness {value}"));
    let found = format!("{} on {}{tendency}", print_bytes(kibibytes.saturating_mul(1024)), names.join(", "));
    let mend = "swapoff -a, and remove it from /etc/fstab";
    Ok(match swappiness {
        Ok(0..=1) => Judgement::advice(found, mend),
        _ => Judgement::warning(found, format!("{mend}; or at least sysctl -w vm.swappiness=1")),
    })
}

fn huge_pages(host: &Host) -> Result<Judgement, NotKnown> {
    const PATH: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    let text = host.value(PATH)?;
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let (chosen, _) = chosen.ok_or_else(|| NotKnown::unexpected(PATH, &text))?;
    Ok(Judgement::ok(format!("{}, which does not affect Helenus", shown(chosen))))
}

fn overcommit(host: &Host) -> Result<Judgement, NotKnown> {
    const PATH: &str = "/proc/sys/vm/overcommit_memory";
    Ok(match host.number(PATH)? {
        0 => Judgement::ok("heuristic (0)"),
        1 => Judgement::ok("always (1)"),
        2 => Judgement::warning("never (2)", "sysctl -w vm.overcommit_memory=0"),
        other => return Err(NotKnown::unexpected(PATH, &other.to_string())),
    })
}

fn locked_memory(host: &Host) -> Result<Judgement, NotKnown> {
    const PATH: &str = "/proc/self/limits";
    let limit = limit(&host.text(PATH)?, "Max locked memory")
        .ok_or_else(|| NotKnown::because(format!("{PATH} has no 'Max locked memory'")))?;
    Ok(Judgement::ok(limit.soft.map_or_else(|| print_limit(None), print_bytes)))
}
