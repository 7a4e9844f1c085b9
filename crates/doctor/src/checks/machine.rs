//! The kernel, and what it runs on.

use std::path::Path;

use super::Check;
use crate::finding::{Area, Judgement};
use crate::host::{Host, NotKnown, shown};
use crate::procfs::{colon_field, holder};

pub(super) const CHECKS: [Check; 3] = [
    Check {
        area: Area::Machine,
        name: "kernel",
        why: "Helenus uses io_uring as kernel 6.1 has it, with completions taken when a shard waits; older kernels serve it through epoll and linux-aio.",
        judge: kernel,
    },
    Check {
        area: Area::Machine,
        name: "container",
        why: "A container may hide the host's limits and refuse system calls; what stands below is what a node would meet in it.",
        judge: container,
    },
    Check {
        area: Area::Machine,
        name: "virtual machine",
        why: "Time that the hypervisor gives to others passes for a shard as a pause in the middle of its work.",
        judge: virtual_machine,
    },
];

fn kernel(host: &Host) -> Result<Judgement, NotKnown> {
    const PATH: &str = "/proc/sys/kernel/osrelease";
    let release = host.value(PATH)?;
    let mut parts = release.split(['.', '-']).map(|part| part.parse::<u32>());
    let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
        return Err(NotKnown::unexpected(PATH, &release));
    };
    let found = format!("Linux {}, {}", shown(&release), host.answers.architecture);
    let upgrade = "install a kernel of version 6.1 or newer";
    Ok(match (major, minor) {
        (6, 1..) | (7.., _) => Judgement::ok(found),
        (4, 14..) | (5..=6, _) => Judgement::advice(found, upgrade),
        _ => Judgement::warning(
            format!("{found}: linux-aio lacks NOWAIT, so worker threads write the commit log"),
            upgrade,
        ),
    })
}

fn container(host: &Host) -> Result<Judgement, NotKnown> {
    let named = |engine: &str| Ok(Judgement::ok(format!("in a container ({engine})")));
    for (path, engine) in [("/.dockerenv", "Docker"), ("/run/.containerenv", "Podman")] {
        if host.has(path) {
            return named(engine);
        }
    }
    if let Ok(kind) = host.value("/run/systemd/container") {
        return named(&shown(&kind));
    }
    let cgroups = host.text("/proc/1/cgroup")?;
    let marks = [
        ("kubepods", "Kubernetes"),
        ("docker", "Docker"),
        ("libpod", "Podman"),
        ("lxc", "LXC"),
        ("containerd", "containerd"),
    ];
    // The init process of a host is in the root, or in a slice of systemd's; that of a container is where the engine put it.
    if let Some((_, engine)) = marks.iter().find(|(mark, _)| cgroups.contains(mark)) {
        return named(engine);
    }
    // In a cgroup namespace that is all hidden, but not what the root is made of.
    let mounts = host.text("/proc/self/mountinfo")?;
    let root = holder(&mounts, Path::new("/"));
    if root.is_some_and(|root| root.file_system == "overlay") {
        return named("of some kind: its root is an overlay");
    }
    Ok(Judgement::ok("none detected"))
}

fn virtual_machine(host: &Host) -> Result<Judgement, NotKnown> {
    const STAT: &str = "/proc/stat";
    let kind = hypervisor(host);
    let stat = host.text(STAT)?;
    let first = stat.lines().next().unwrap_or_default();
    let times: Option<Vec<u64>> =
        first.strip_prefix("cpu ").map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect());
    // user, nice, system, idle, iowait, irq, softirq, steal; guests' times are in user's.
    let Some([user, nice, system, idle, iowait, irq, softirq, steal]) =
        times.as_deref().and_then(|times| times.get(..8)).and_then(|times| <[u64; 8]>::try_from(times).ok())
    else {
        return Err(NotKnown::unexpected(STAT, first));
    };
    let used = [user, nice, system, irq, softirq, steal].iter().fold(0_u64, |sum, time| sum.saturating_add(*time));
    let all = used.saturating_add(idle).saturating_add(iowait);
    let stolen = if used == 0 { 0.0 } else { steal as f64 / used as f64 * 100.0 };
    let Some(kind) = kind else {
        return Ok(if steal == 0 {
            Judgement::ok("none detected")
        } else {
            Judgement::ok(format!("none detected, {stolen:.1} % of the busy time stolen since boot"))
        });
    };
    let found = format!("{kind}; {stolen:.1} % of the busy time stolen since boot");
    let mend = "use dedicated processors: no overcommitment on the host, or pinned virtual processors";
    // A machine that has just started has hardly been busy.
    const TIME_MIN: u64 = 1_000;
    Ok(match stolen {
        5.0.. if all > TIME_MIN => Judgement::warning(found, mend),
        1.0.. if all > TIME_MIN => Judgement::advice(found, mend),
        _ => Judgement::ok(found),
    })
}

/// The hypervisor that this host runs on, or that there is one.
fn hypervisor(host: &Host) -> Option<String> {
    if let Ok(kind) = host.value("/sys/hypervisor/type") {
        return Some(format!("on {}", shown(&kind)));
    }
    let info = host.text("/proc/cpuinfo").unwrap_or_default();
    let flags = colon_field(&info, "flags").unwrap_or_default();
    if flags.split(' ').any(|flag| flag == "hypervisor") {
        let vendor = host.value("/sys/class/dmi/id/sys_vendor");
        return Some(
            vendor.map_or_else(
                |_| "on a hypervisor".to_owned(),
                |vendor| format!("on a hypervisor ({})", shown(&vendor)),
            ),
        );
    }
    // A partition of a POWER machine always runs on its hypervisor; the bare machine says PowerNV.
    let platform = colon_field(&info, "platform").or_else(|| colon_field(&info, "machine")).unwrap_or_default();
    platform.contains("pSeries").then(|| "in a partition of a POWER machine".to_owned())
}

/// Whether the host is seen to be a virtual machine.
pub(super) fn is_virtual(host: &Host) -> bool {
    hypervisor(host).is_some()
}
