//! What is done to a cluster, and when.

use std::time::Duration;

use runtime::sim::{DiskCall, DiskError, DiskFault, DiskSpeed, Keep, Link};

use crate::cluster::Cluster;

/// What happens to the node or around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL, and a start.
    Kill,
    /// A power cut that keeps of the pending changes what the seed says, and a start.
    Crash,
    /// SIGTERM, and a start.
    Terminate,
    /// The network between clients and node is cut for a time, in one direction or both.
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

/// The policy of a power cut, by a random number.
pub fn any_keep(random: u64) -> Keep {
    match random % 8 {
        0 => Keep::Nothing,
        1 => Keep::Everything,
        2 | 3 => Keep::Torn { seed: random },
        _ => Keep::Reordered { seed: random },
    }
}

/// Begins a fault that does not end the node.
pub fn begin(cluster: &mut Cluster, fault: Fault) {
    let (node, clients, random) = (cluster.node, cluster.clients, cluster.world.random());
    match fault {
        Fault::Cut => {
            let cut = Link { is_cut: true, ..Link::default() };
            if !random.is_multiple_of(3) {
                cluster.world.set_link(clients, node, cut);
            }
            if random % 3 < 2 {
                cluster.world.set_link(node, clients, cut);
            }
        }
        Fault::Lossy => {
            let lossy = Link { lost_per_million: 50_000, latency_max_nanos: 20_000_000, ..Link::default() };
            cluster.world.set_link(clients, node, lossy);
            cluster.world.set_link(node, clients, lossy);
        }
        Fault::Reset => cluster.world.reset_connections(node, clients),
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

/// Ends what faults left.
pub fn heal(cluster: &mut Cluster) {
    let (node, clients) = (cluster.node, cluster.clients);
    cluster.world.set_link(clients, node, Link::default());
    cluster.world.set_link(node, clients, Link::default());
    cluster.world.set_disk_speed(node, DiskSpeed::default());
    cluster.world.set_disk_faults(node, Vec::new());
    cluster.world.with_disk(node, |disk| disk.set_capacity(None));
}
