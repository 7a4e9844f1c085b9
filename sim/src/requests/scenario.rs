//! The scenarios of requests: the clients' work, the troubles, and what of the product they rest on.

use std::collections::BTreeSet;

use cql_protocol::Consistency::{All, Any, EachQuorum, LocalOne, LocalQuorum, One, Quorum, Three, Two};

use histories::Workload;
use histories::batch_set::BatchSet;
use histories::cas_register::CasRegister;
use histories::counter::Counter;
use histories::list_append::ListAppend;
use histories::map::Map;
use histories::set::Set;
use histories::wr_register::WrRegister;
use histories::write_isolation::WriteIsolation;

use crate::nemesis::Kind;
use crate::workload::requests::{Act, Work};

/// A part of the product that makes promises stronger. A scenario asks for them where the part is expected to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Hints: each replica gets what was acknowledged without it, and ANY means that it is not lost.
    Hints,
    /// Requests planned before a TRUNCATE are refused after it: it may be sent beside any other request.
    Fence,
    /// Copies of logged batches: they are delivered while their coordinator is away.
    BatchCopies,
    /// Scans repair what they show, as reads of a partition do.
    ScanRepair,
    /// A counter's state is shown to other nodes when it is on the disk, so that none has more of a leader than its disk.
    SyncedCounters,
    /// Conditional statements on partitions that other nodes have replicas of. Without it they are sent to a cluster of one node.
    Paxos,
    /// Elements that conditional statements append to a list are in the order of their ballots. Without it lists are judged by their elements alone.
    BallotLists,
    /// Nodes join, leave and are removed while tables exist.
    Operations,
}

impl Part {
    /// All, by the names of the command line.
    pub const ALL: [(&'static str, Part); 8] = [
        ("hints", Part::Hints),
        ("fence", Part::Fence),
        ("batch-copies", Part::BatchCopies),
        ("scan-repair", Part::ScanRepair),
        ("synced-counters", Part::SyncedCounters),
        ("paxos", Part::Paxos),
        ("ballot-lists", Part::BallotLists),
        ("operations", Part::Operations),
    ];

    /// The part of that name.
    pub fn named(name: &str) -> Option<Part> {
        Part::ALL.into_iter().find(|(of, _)| *of == name).map(|(_, part)| part)
    }
}

/// The parts that the product has, which runs expect unless they are given others. A part is added here in the commit that brings it.
pub const LANDED: &[Part] = &[
    Part::Hints,
    Part::Fence,
    Part::BatchCopies,
    Part::ScanRepair,
    Part::SyncedCounters,
    Part::Paxos,
    Part::BallotLists,
    Part::Operations,
];

/// The parts that a run expects.
pub type Expected = BTreeSet<Part>;

/// A scenario.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// The name.
    pub name: &'static str,
    /// The clients' work.
    work: Work,
    /// The acts in place of the work's, where the fence makes a TRUNCATE beside other requests safe; none: the same.
    fenced_acts: Acts,
    /// The longest gaps between two steps of a plan, of which a seed has one.
    pub gaps_max_seconds: [u64; 4],
    /// The fewest truncations that must be acknowledged.
    pub truncations_min: usize,
    /// True if operators have nodes join and leave meanwhile.
    pub has_operations: bool,
    /// Marks of its own that many seeds reach each, with the part that they need.
    marks: &'static [(Part, &'static str)],
}

/// Clients of a run, and their pauses: some ten requests a second, so that faults meet them at any stage.
const CLIENTS: Work = Work {
    clients: 5,
    pause_micros: 400_000,
    partitions: 8,
    acts: &[],
    writes: &[Quorum, Quorum, Quorum, EachQuorum, LocalQuorum, All, One, Two],
    reads: &[Quorum, Quorum, Quorum, EachQuorum, LocalQuorum, All, One],
    gates_truncate: false,
    scans_repair: false,
};

/// Steps that meet each other, and pauses of half a minute.
const GAPS: [u64; 4] = [1, 3, 3, 6];
/// All choices of amounts whose outcome is not known are tried: the longer the troubles last, the more there are.
const COUNTER_GAPS: [u64; 4] = [1, 2, 3, 3];

/// All of them.
pub const SCENARIOS: [Scenario; 8] = [
    Scenario {
        name: "quorum",
        work: Work {
            acts: &[
                (Act::Write, 50),
                (Act::DeleteRow, 5),
                (Act::DeleteRange, 3),
                (Act::DeletePartition, 1),
                (Act::Read, 36),
                (Act::Scan, 5),
            ],
            ..CLIENTS
        },
        fenced_acts: &[],
        gaps_max_seconds: GAPS,
        truncations_min: 0,
        has_operations: false,
        marks: &[],
    },
    Scenario {
        name: "counters",
        work: Work {
            acts: &[(Act::Add, 60), (Act::Count, 40)],
            writes: &[Quorum, Quorum, Quorum, EachQuorum, LocalQuorum, All, One],
            reads: &[Quorum, Quorum, Quorum, EachQuorum, LocalQuorum, All],
            ..CLIENTS
        },
        fenced_acts: &[],
        gaps_max_seconds: COUNTER_GAPS,
        truncations_min: 0,
        has_operations: false,
        marks: &[],
    },
    Scenario {
        name: "batches",
        work: Work {
            acts: &[
                (Act::LoggedBatch, 35),
                (Act::WritePiece, 20),
                (Act::DeletePiece, 2),
                (Act::ReadPiece, 25),
                (Act::Read, 18),
            ],
            ..CLIENTS
        },
        fenced_acts: &[],
        gaps_max_seconds: GAPS,
        truncations_min: 0,
        has_operations: false,
        marks: &[],
    },
    Scenario {
        name: "hints",
        work: Work {
            acts: &[(Act::Write, 60), (Act::DeleteRow, 8), (Act::DeleteRange, 2), (Act::Read, 30)],
            writes: &[One, One, Any, Any, LocalOne, Quorum],
            reads: &[One, Quorum, All],
            ..CLIENTS
        },
        fenced_acts: &[],
        gaps_max_seconds: GAPS,
        truncations_min: 0,
        has_operations: false,
        marks: &[],
    },
    Scenario {
        name: "truncate",
        work: Work {
            acts: &[(Act::Write, 600), (Act::DeleteRow, 40), (Act::Read, 320), (Act::Scan, 30), (Act::Truncate, 6)],
            gates_truncate: true,
            ..CLIENTS
        },
        fenced_acts: &[
            (Act::Write, 500),
            (Act::LoggedBatch, 100),
            (Act::DeleteRow, 40),
            (Act::Read, 320),
            (Act::Scan, 30),
            (Act::Truncate, 10),
        ],
        gaps_max_seconds: GAPS,
        truncations_min: 2,
        has_operations: false,
        marks: &[(Part::Hints, "void hint")],
    },
    Scenario {
        name: "map",
        work: Work {
            acts: &[
                (Act::PutEntry, 40),
                (Act::DeleteEntry, 6),
                (Act::ReadMap, 30),
                (Act::LoggedBatch, 12),
                (Act::Read, 12),
            ],
            ..CLIENTS
        },
        fenced_acts: &[],
        gaps_max_seconds: GAPS,
        truncations_min: 0,
        has_operations: false,
        marks: &[],
    },
    Scenario {
        name: "serial",
        work: Work {
            // Few, so that several clients are at one partition at once.
            partitions: 4,
            pause_micros: 200_000,
            acts: &[(Act::CasRegister, 3), (Act::ListAppend, 2), (Act::WrRegister, 2)],
            writes: &[Quorum, Quorum, One, One, Any, LocalQuorum, LocalOne, Two, Three, All, EachQuorum],
            ..CLIENTS
        },
        fenced_acts: &[],
        gaps_max_seconds: GAPS,
        truncations_min: 0,
        has_operations: false,
        marks: &[
            (Part::Paxos, "a proposal of another is finished"),
            (Part::Paxos, "a ballot is outrun"),
            (Part::Paxos, "a commit is sent to who lacks it"),
            (Part::Paxos, "an empty proposal is put"),
        ],
    },
    Scenario {
        name: "operations",
        work: Work {
            // What is acknowledged at less than a quorum is gone with a node that is removed.
            pause_micros: 250_000,
            acts: &[
                (Act::Write, 24),
                (Act::DeleteRow, 3),
                (Act::DeleteRange, 1),
                (Act::Read, 16),
                (Act::Scan, 3),
                (Act::LoggedBatch, 6),
                (Act::WritePiece, 4),
                (Act::ReadPiece, 4),
                (Act::PutEntry, 6),
                (Act::DeleteEntry, 1),
                (Act::ReadMap, 4),
                (Act::Add, 8),
                (Act::Count, 6),
                (Act::CasRegister, 4),
                (Act::ListAppend, 4),
                (Act::WrRegister, 4),
            ],
            writes: &[Quorum, Quorum, Quorum, EachQuorum, LocalQuorum, All],
            reads: &[Quorum, Quorum, Quorum, EachQuorum, LocalQuorum, All],
            ..CLIENTS
        },
        fenced_acts: &[],
        gaps_max_seconds: COUNTER_GAPS,
        truncations_min: 0,
        has_operations: true,
        marks: &[
            (Part::Operations, "an operation is done"),
            (Part::Operations, "an operation of replication is done"),
            (Part::Operations, "an operation is aborted"),
            (Part::Operations, "a copy for an operation begins again"),
            (Part::Operations, "receiver killed while it copies"),
            (Part::Operations, "source killed while it is copied from"),
            (Part::Operations, "leader killed: queued"),
            (Part::Operations, "leader killed: planned"),
            (Part::Operations, "leader killed: write both"),
            (Part::Operations, "leader killed: copy"),
            (Part::Operations, "leader killed: read new"),
        ],
    },
];

/// Acts with their weights.
type Acts = &'static [(Act, u64)];

/// Workloads by the names that they have in Jepsen's tests, each with the scenario that covers it, and the acts of it alone where the scenario has others too.
pub const WORKLOADS: [(&str, &str, Acts); 8] = [
    (CasRegister::NAME, "serial", &[(Act::CasRegister, 1)]),
    (ListAppend::NAME, "serial", &[(Act::ListAppend, 1)]),
    (WrRegister::NAME, "serial", &[(Act::WrRegister, 1)]),
    (Counter::NAME, "counters", &[]),
    (Set::NAME, "quorum", &[]),
    (Map::NAME, "map", &[]),
    (BatchSet::NAME, "map", &[]),
    (WriteIsolation::NAME, "batches", &[]),
];

impl Scenario {
    /// The scenario of that name, or of a workload's.
    pub fn named(name: &str) -> Option<Scenario> {
        let scenario = |name: &str| SCENARIOS.into_iter().find(|scenario| scenario.name == name);
        scenario(name).or_else(|| {
            let (name, covered_by, acts) = WORKLOADS.into_iter().find(|(workload, ..)| *workload == name)?;
            let covering = scenario(covered_by)?;
            match acts.is_empty() {
                true => Some(covering),
                false => Some(Scenario { name, work: Work { acts, ..covering.work }, ..covering }),
            }
        })
    }

    /// The clients' work, where the product has these parts.
    pub fn work(&self, expected: &Expected) -> Work {
        let work = Work { scans_repair: expected.contains(&Part::ScanRepair), ..self.work };
        match expected.contains(&Part::Fence) && !self.fenced_acts.is_empty() {
            true => Work { acts: self.fenced_acts, gates_truncate: false, ..work },
            false => work,
        }
    }

    /// True if clients send conditional statements.
    pub fn is_serial(&self) -> bool {
        self.work.acts.iter().any(|(act, _)| act.is_serial())
    }

    /// The shape of a seed's cluster, of which there is one for each `round`.
    pub fn shape(&self, round: u64, expected: &Expected) -> Shape {
        match self.is_serial() && !expected.contains(&Part::Paxos) {
            true => ALONE,
            false if self.has_operations => SHAPES_OF_OPERATIONS[(round % SHAPES_OF_OPERATIONS.len() as u64) as usize],
            false => SHAPES[(round % SHAPES.len() as u64) as usize],
        }
    }

    /// The replicas of each datacenter by which requests are judged: where operators change their number, the most there may be. At most as many as it takes then are
    /// those that a level of a quorum reaches.
    pub fn judged_factors(&self, shape: Shape) -> Vec<u32> {
        match self.has_operations && shape.may_alter() {
            true => vec![FACTOR_MAX],
            false => shape.factors.to_vec(),
        }
    }

    /// Marks of its own that many seeds reach each.
    pub fn marks(&self, expected: &Expected) -> Vec<&'static str> {
        self.marks.iter().filter(|(part, _)| expected.contains(part)).map(|(_, mark)| *mark).collect()
    }

    /// The kinds of trouble. Disks are exchanged in the scenarios of the metadata group: what only one had is lost with it.
    pub fn kinds(&self) -> Vec<Kind> {
        let is_wanted = |kind: &Kind| !matches!(kind, Kind::EmptyDisk | Kind::OlderDisk);
        Kind::ALL.into_iter().chain(Kind::TOGETHER).filter(is_wanted).collect()
    }
}

/// The nodes of each datacenter, their replicas, and racks that nodes are put into by turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Nodes of each datacenter.
    pub nodes: &'static [usize],
    /// Replicas of each datacenter.
    pub factors: &'static [u32],
    /// Racks.
    pub racks: usize,
    /// The datacenter of each node that may join at run time.
    pub spares: &'static [usize],
}

/// The most replicas that operators ask for.
pub const FACTOR_MAX: u32 = 3;

impl Shape {
    /// True if operators may change the number of replicas. In several datacenters it would depend on that number which levels meet.
    pub fn may_alter(&self) -> bool {
        self.factors.len() == 1
    }
}

/// One node.
const ALONE: Shape = Shape { nodes: &[1], factors: &[1], racks: 1, spares: &[] };

/// Shapes of clusters, of which a seed chooses one.
pub const SHAPES: [Shape; 7] = [
    Shape { nodes: &[3], factors: &[3], racks: 3, spares: &[] },
    Shape { nodes: &[5], factors: &[3], racks: 3, spares: &[] },
    Shape { nodes: &[3, 2], factors: &[3, 2], racks: 3, spares: &[] },
    Shape { nodes: &[2, 2], factors: &[2, 2], racks: 2, spares: &[] },
    Shape { nodes: &[1, 1, 1], factors: &[1, 1, 1], racks: 1, spares: &[] },
    Shape { nodes: &[4], factors: &[3], racks: 2, spares: &[] },
    Shape { nodes: &[3, 1, 1], factors: &[3, 1, 1], racks: 5, spares: &[] },
];

/// Shapes of clusters whose nodes join and leave.
const SHAPES_OF_OPERATIONS: [Shape; 8] = [
    Shape { nodes: &[3], factors: &[3], racks: 1, spares: &[0, 0] },
    Shape { nodes: &[4], factors: &[3], racks: 1, spares: &[0] },
    Shape { nodes: &[3], factors: &[2], racks: 1, spares: &[0, 0] },
    Shape { nodes: &[5], factors: &[3], racks: 1, spares: &[0] },
    Shape { nodes: &[3], factors: &[1], racks: 1, spares: &[0, 0] },
    Shape { nodes: &[4], factors: &[2], racks: 2, spares: &[0] },
    Shape { nodes: &[3], factors: &[3], racks: 3, spares: &[0, 0] },
    Shape { nodes: &[3, 2], factors: &[2, 1], racks: 1, spares: &[0, 1] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workload_has_a_scenario() {
        for (workload, covered_by, acts) in WORKLOADS {
            let found = Scenario::named(workload).expect("a scenario covers it");
            let expected = if acts.is_empty() { covered_by } else { workload };
            assert_eq!(found.name, expected);
            assert!(acts.is_empty() || found.work.acts == acts, "{workload}");
        }
        assert!(Scenario::named("quorums").is_none());
    }
}
