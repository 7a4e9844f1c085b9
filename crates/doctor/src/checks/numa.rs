//! Memory that is nearer to some processors than to others.

use super::{Check, counted};
use crate::finding::{Area, Judgement};
use crate::host::{Host, NotKnown};

pub(super) const CHECKS: [Check; 3] = [
    Check {
        area: Area::Memory,
        name: "numa nodes",
        why: "A shard is pinned and the first to touch its memory, so that the kernel gives it what is near.",
        judge: nodes,
    },
    Check {
        area: Area::Memory,
        name: "numa balancing",
        why: "To find out who uses a page the kernel takes it away and waits for the fault, though no shard ever moves.",
        judge: balancing,
    },
    Check {
        area: Area::Memory,
        name: "zone reclaim",
        why: "With it on, a node that is full throws away its cached pages, in the middle of an allocation, rather than take memory from another.",
        judge: zone_reclaim,
    },
];

const NODES: &str = "/sys/devices/system/node";

/// How many nodes there are; a kernel that knows none has no folder for them.
fn node_count(host: &Host) -> Result<usize, NotKnown> {
    let names = match host.names(NODES) {
        Ok(names) => names,
        Err(NotKnown::Absent { .. }) if host.has("/sys/devices/system/cpu/online") => return Ok(1),
        Err(other) => return Err(other),
    };
    let is_node = |name: &&String| name.strip_prefix("node").is_some_and(|rest| rest.parse::<u16>().is_ok());
    Ok(names.iter().filter(is_node).count().max(1))
}

fn nodes(host: &Host) -> Result<Judgement, NotKnown> {
    Ok(Judgement::ok(node_count(host)?.to_string()))
}

fn balancing(host: &Host) -> Result<Judgement, NotKnown> {
    let nodes = node_count(host)?;
    let value = match host.number("/proc/sys/kernel/numa_balancing") {
        Ok(value) => value,
        Err(NotKnown::Absent { .. }) if host.has("/proc/sys/kernel/osrelease") => {
            return Ok(Judgement::ok("not supported by the kernel"));
        }
        Err(other) => return Err(other),
    };
    Ok(match (value, nodes) {
        (0, _) => Judgement::ok("off"),
        (_, 1) => Judgement::ok("on, without effect on a single node"),
        _ => Judgement::warning(format!("on, over {}", counted(nodes, "node")), "sysctl -w kernel.numa_balancing=0"),
    })
}

fn zone_reclaim(host: &Host) -> Result<Judgement, NotKnown> {
    let value = match host.number("/proc/sys/vm/zone_reclaim_mode") {
        Ok(value) => value,
        Err(NotKnown::Absent { .. }) if host.has("/proc/sys/vm/overcommit_memory") => {
            return Ok(Judgement::ok("not supported by the kernel"));
        }
        Err(other) => return Err(other),
    };
    Ok(match value {
        0 => Judgement::ok("off"),
        mode => Judgement::warning(format!("on ({mode})"), "sysctl -w vm.zone_reclaim_mode=0"),
    })
}
