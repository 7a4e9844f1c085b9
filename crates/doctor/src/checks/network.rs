//! Interrupts, and what the kernel keeps for sockets.

use std::collections::BTreeSet;

use super::disk::{Disk, disks};
use super::processors::allowed;
use super::{Check, counted};
use crate::finding::{Area, Judgement};
use crate::host::{Host, NotKnown, shown};
use crate::procfs::{Interrupt, interrupts};
use crate::units::print_bytes;

pub(super) const CHECKS: [Check; 5] = [
    Check {
        area: Area::Network,
        name: "network interrupts",
        why: "A processor that takes the interrupts of all queues has no time for its shard, which then answers late while other processors idle.",
        judge: |host| spread(host, &network_sources(host)?),
    },
    Check {
        area: Area::Network,
        name: "disk interrupts",
        why: "Each end of a read or a synced write is an interrupt, best taken where the shard runs that waits for it.",
        judge: |host| spread(host, &disk_sources(host)?),
    },
    Check {
        area: Area::Network,
        name: "accept queue",
        why: "Helenus asks for a queue of 4,096 connections that wait to be accepted; the kernel cuts it to somaxconn.",
        judge: accept_queue,
    },
    Check {
        area: Area::Network,
        name: "half-open connections",
        why: "When all clients come back at once, after a restart, those that find no room try again a second later.",
        judge: half_open,
    },
    Check {
        area: Area::Network,
        name: "socket buffers",
        why: "The kernel grows a connection's buffers up to these, and a reply that does not fit waits for the client.",
        judge: buffers,
    },
];

/// What tells the interrupts of a kind of devices: their numbers, and how their names begin.
#[derive(Debug, Default)]
struct Sources {
    devices: Vec<String>,
    numbers: BTreeSet<u32>,
    prefixes: Vec<String>,
}

impl Sources {
    /// Takes in a device of `/sys`, whose own folder or the one above it names its interrupts.
    fn add(&mut self, host: &Host, name: &str, device: &str) {
        self.devices.push(shown(name));
        self.prefixes.push(name.to_owned());
        let Ok(place) = host.resolved(device) else { return };
        let mut folder = place.as_str();
        // Up to the bus: a namespace below a controller below the bus's device.
        for _ in 0..3 {
            if let Ok(names) = host.names(&format!("{folder}/msi_irqs")) {
                self.numbers.extend(names.iter().filter_map(|name| name.parse::<u32>().ok()));
                return;
            }
            // Virtual buses have one interrupt for a device, or some by its name there.
            if let Some((above, own)) = folder.rsplit_once('/') {
                if own.starts_with("virtio") {
                    self.prefixes.push(own.to_owned());
                }
                folder = above;
            }
        }
    }

    fn has(&self, interrupt: &Interrupt) -> bool {
        let named = |prefix: &String| {
            let rest = interrupt.action.strip_prefix(prefix.as_str());
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        // Interrupts about a device's configuration are no work.
        let is_work = !interrupt.action.ends_with("-config");
        is_work
            && (interrupt.number.is_some_and(|number| self.numbers.contains(&number))
                || self.prefixes.iter().any(named))
    }
}

fn network_sources(host: &Host) -> Result<Sources, NotKnown> {
    let mut sources = Sources::default();
    for name in host.names("/sys/class/net")? {
        let device = format!("/sys/class/net/{name}/device");
        // Bridges, tunnels and the loopback have no device.
        if host.has(&device) {
            sources.add(host, &name, &device);
        }
    }
    if sources.devices.is_empty() {
        return Err(NotKnown::because("no network interface has a device, as is usual in a container"));
    }
    Ok(sources)
}

fn disk_sources(host: &Host) -> Result<Sources, NotKnown> {
    let mut sources = Sources::default();
    for Disk { name, folder } in disks(host)? {
        sources.add(host, &name, &format!("{folder}/device"));
        // The queues are the controller's: nvme0q1 serves nvme0n1.
        if let Some((controller, _)) = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n')) {
            sources.prefixes.push(format!("nvme{controller}"));
        }
    }
    Ok(sources)
}

/// Whether the interrupts of devices with several queues lie on one processor.
fn spread(host: &Host, sources: &Sources) -> Result<Judgement, NotKnown> {
    const PATH: &str = "/proc/interrupts";
    /// Fewer tell nothing.
    const COUNT_MIN: u64 = 10_000;
    let text = host.text(PATH)?;
    let header = || NotKnown::unexpected(PATH, text.lines().next().unwrap_or_default());
    let (columns, all) = interrupts(&text).ok_or_else(header)?;
    let devices = sources.devices.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
    let mut sums = vec![0_u64; columns.len()];
    let mut queues = 0;
    for interrupt in all.iter().filter(|interrupt| sources.has(interrupt)) {
        queues += usize::from(interrupt.counts.iter().any(|count| *count > 0));
        for (sum, count) in sums.iter_mut().zip(&interrupt.counts) {
            *sum = sum.saturating_add(*count);
        }
    }
    let total = sums.iter().fold(0_u64, |total, sum| total.saturating_add(*sum));
    if queues == 0 {
        return Err(NotKnown::because(format!("{PATH} has no line for {devices}")));
    }
    let busiest = (0..sums.len()).max_by_key(|at| (sums[*at], std::cmp::Reverse(*at))).unwrap_or(0);
    let part = sums[busiest] as f64 / total.max(1) as f64;
    let processor = columns[busiest];
    let found = format!(
        "{devices}: {} in use, {:.0} % of {total} interrupts on processor {processor}",
        counted(queues, "queue"),
        part * 100.0
    );
    let processors = allowed(host)?.len();
    if total < COUNT_MIN || part < 0.9 || processors == 1 {
        return Ok(Judgement::ok(found));
    }
    if queues > 1 {
        let mend = "systemctl enable --now irqbalance, or write one processor each to /proc/irq/*/smp_affinity_list";
        return Ok(Judgement::warning(found, mend));
    }
    // One queue cannot be spread; with many processors one of them can be left to it.
    const PROCESSORS_MANY: usize = 8;
    if processors >= PROCESSORS_MANY {
        return Ok(Judgement::advice(
            found,
            format!("leave processor {processor} to the interrupts: start Helenus with a --cpuset without it"),
        ));
    }
    Ok(Judgement::ok(found))
}

/// What Helenus asks for when it listens.
const BACKLOG: u64 = 4096;

fn accept_queue(host: &Host) -> Result<Judgement, NotKnown> {
    let length = host.number("/proc/sys/net/core/somaxconn")?;
    let found = format!("somaxconn {length}");
    Ok(match length {
        ..1024 => Judgement::warning(found, format!("sysctl -w net.core.somaxconn={BACKLOG}")),
        1024..BACKLOG => Judgement::advice(found, format!("sysctl -w net.core.somaxconn={BACKLOG}")),
        _ => Judgement::ok(found),
    })
}

fn half_open(host: &Host) -> Result<Judgement, NotKnown> {
    let length = host.number("/proc/sys/net/ipv4/tcp_max_syn_backlog")?;
    // With cookies the kernel answers beyond the queue as well, and forgets some of the connection's options.
    let has_cookies = host.number("/proc/sys/net/ipv4/tcp_syncookies").is_ok_and(|value| value != 0);
    let found = format!("tcp_max_syn_backlog {length}, {} cookies", if has_cookies { "with" } else { "without" });
    let mend = format!("sysctl -w net.ipv4.tcp_max_syn_backlog={BACKLOG}");
    Ok(match (length, has_cookies) {
        (..1024, false) => Judgement::warning(found, format!("{mend} net.ipv4.tcp_syncookies=1")),
        (..1024, true) => Judgement::advice(found, mend),
        _ => Judgement::ok(found),
    })
}

fn buffers(host: &Host) -> Result<Judgement, NotKnown> {
    let most = |path: &str| -> Result<u64, NotKnown> {
        let text = host.value(path)?;
        let last = text.split_whitespace().nth(2).and_then(|word| word.parse().ok());
        last.ok_or_else(|| NotKnown::unexpected(path, &text))
    };
    let (read, write) = (most("/proc/sys/net/ipv4/tcp_rmem")?, most("/proc/sys/net/ipv4/tcp_wmem")?);
    let core = match (host.number("/proc/sys/net/core/rmem_max"), host.number("/proc/sys/net/core/wmem_max")) {
        (Ok(read), Ok(write)) => format!("; set by hand up to {} and {}", print_bytes(read), print_bytes(write)),
        _ => String::new(),
    };
    let found = format!("up to {} to read, {} to write{core}", print_bytes(read), print_bytes(write));
    // What 10 Gb/s within 1 ms take.
    const BYTES_MIN: u64 = 1 << 20;
    if read < BYTES_MIN || write < BYTES_MIN {
        let mend = "sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456' net.ipv4.tcp_wmem='4096 16384 4194304'";
        return Ok(Judgement::advice(found, mend));
    }
    Ok(Judgement::ok(found))
}
