//! What is done to a cluster, and when.

use std::time::Duration;

use runtime::sim::{DiskCall, DiskError, DiskFault, DiskSpeed, HostId, Keep, Link};

use crate::cluster::Cluster;

/// What happens to a node or around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL, and a start.
    Kill,
    /// A power cut that keeps of the pending changes what the seed says, and a start.
    Crash,
    /// SIGTERM, and a start.
    Terminate,
    /// The network between the node and its clients, or other nodes, is cut for a time, in one direction or both.
    Cut,
    /// Segments are lost, and come late, for a time.
    Lossy,
    /// All connections are reset.
    Reset,
    /// The disk is slow for a time.
    SlowDisk,
    /// The disk is full for a time.
    FullDisk,
    /// Disk operations fail for a time.
    FailingDisk,
}

impl Fault {
    /// All, with the names that scenarios give them.
    pub const ALL: [(&'static str, Fault); 9] = [
        ("kill", Fault::Kill),
        ("crash", Fault::Crash),
        ("terminate", Fault::Terminate),
        ("cut", Fault::Cut),
        ("lossy", Fault::Lossy),
        ("reset", Fault::Reset),
        ("slow-disk", Fault::SlowDisk),
        ("full-disk", Fault::FullDisk),
        ("failing-disk", Fault::FailingDisk),
    ];

    /// Whether the node is started again after it.
    pub fn ends_node(self) -> bool {
        matches!(self, Fault::Kill | Fault::Crash | Fault::Terminate)
    }

    /// Whether it may keep a node from starting, and make it end with an error.
    pub fn breaks_disk(self) -> bool {
        matches!(self, Fault::FullDisk | Fault::FailingDisk)
    }
}

/// A fault that comes again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recurring {
    /// Which.
    pub fault: Fault,
    /// The least time from one to the next.
    pub every_min: Duration,
    /// The most.
    pub every_max: Duration,
}

/// The moment of a fault that comes once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// The end of the turn in which a node reaches this mark for the so many-th time since the moment before.
    Mark {
        /// The mark's name.
        name: String,
        /// From one on.
        nth: u64,
    },
    /// So many rows or requests are acknowledged.
    Acknowledged(usize),
}

impl std::fmt::Display for Moment {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Moment::Mark { name, nth } => write!(out, "at-mark {name} {nth}"),
            Moment::Acknowledged(count) => write!(out, "at-ack {count}"),
        }
    }
}

/// A fault that comes once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// Which.
    pub fault: Fault,
    /// When.
    pub moment: Moment,
}

/// The policy of a power cut, by a random number.
pub fn any_keep(random: u64) -> Keep {
    match random % 8 {
        0 => Keep::Nothing,
        1 => Keep::Everything,
        2 | 3 => Keep::Torn { seed: random },
        _ => Keep::Reordered { seed: random },
    }
}

/// Begins a fault of the node of that number which does not end it.
pub fn begin(cluster: &mut Cluster, index: usize, fault: Fault) {
    let (node, random) = (cluster.nodes[index], cluster.world.random());
    match fault {
        Fault::Cut | Fault::Lossy => {
            let link = match fault {
                Fault::Cut => Link { is_cut: true, ..Link::default() },
                _ => Link { lost_per_million: 50_000, latency_max_nanos: 20_000_000, ..Link::default() },
            };
            for other in others(cluster, index, random >> 8) {
                if fault == Fault::Lossy || !random.is_multiple_of(3) {
                    cluster.world.set_link(other, node, link);
                }
                if fault == Fault::Lossy || random % 3 < 2 {
                    cluster.world.set_link(node, other, link);
                }
            }
        }
        Fault::Reset => {
            for other in others(cluster, index, random >> 8) {
                cluster.world.reset_connections(node, other);
            }
        }
        Fault::SlowDisk => {
            let speed = DiskSpeed { latency_min_nanos: 1_000_000, latency_max_nanos: 300_000_000 };
            cluster.world.set_disk_speed(node, speed);
        }
        Fault::FullDisk => {
            cluster.world.with_disk(node, |disk| {
                let room = disk.used() + random % (64 << 10);
                disk.set_capacity(Some(room));
            });
        }
        Fault::FailingDisk => {
            let kinds = [None, Some(DiskCall::Write), Some(DiskCall::Sync), Some(DiskCall::SyncDirectory)];
            let call = kinds[random as usize % kinds.len()];
            let fault = DiskFault { call, at: None, per_million: 100_000, error: DiskError::Medium };
            cluster.world.set_disk_faults(node, vec![fault]);
        }
        Fault::Kill | Fault::Crash | Fault::Terminate => unreachable!("these end the node"),
    }
}

/// Whom a fault of the network parts the node from: the other nodes, the clients, or both.
fn others(cluster: &Cluster, index: usize, random: u64) -> Vec<HostId> {
    let nodes = cluster.nodes.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, node)| *node);
    let nodes: Vec<HostId> = nodes.collect();
    match random % 4 {
        _ if nodes.is_empty() => vec![cluster.clients],
        0 => vec![cluster.clients],
        1 => nodes.into_iter().chain([cluster.clients]).collect(),
        _ => nodes,
    }
}

/// Ends what faults left.
pub fn heal(cluster: &mut Cluster) {
    let machines: Vec<HostId> = cluster.nodes.iter().copied().chain([cluster.clients]).collect();
    for &from in &machines {
        for &to in machines.iter().filter(|to| **to != from) {
            cluster.world.set_link(from, to, Link::default());
        }
    }
    for node in cluster.nodes.clone() {
        cluster.world.set_disk_speed(node, DiskSpeed::default());
        cluster.world.set_disk_faults(node, Vec::new());
        cluster.world.with_disk(node, |disk| disk.set_capacity(None));
    }
}
