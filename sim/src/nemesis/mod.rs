//! Operators' steps and faults of a cluster as values: a plan says what is done to which node, and when.
//!
//! A plan is made by hand or [from a seed](generate::generate), can be printed and read by a person, and always heals in the end.
//! [`Nemesis`] carries it out on a [`Site`](crate::site::Site). Where a step takes effect there is a mark.

mod apply;
mod generate;
mod links;

use std::fmt;
use std::time::Duration;

use runtime::sim::Keep;

pub use apply::Nemesis;
pub use generate::{Kind, PlanOptions, generate};

/// Nodes that a cut parts from each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Nothing passes from one node to another; the other direction is whole.
    OneWay {
        /// Sender.
        from: usize,
        /// Receiver.
        to: usize,
    },
    /// Nothing that the node sends reaches another node; it hears them.
    Mute {
        /// The node.
        node: usize,
    },
    /// Nothing that other nodes send reaches the node; they hear it.
    Deaf {
        /// The node.
        node: usize,
    },
    /// The node and all others do not reach each other.
    Isolated {
        /// The node.
        node: usize,
    },
    /// A datacenter and the others do not reach each other.
    Datacenter {
        /// Its number.
        number: usize,
    },
    /// These nodes and the others do not reach each other.
    Halves {
        /// One half.
        first: Vec<usize>,
    },
    /// Only neighbours in this order reach each other: A–B–C. Nodes that are not in it reach all.
    Chain {
        /// The order.
        order: Vec<usize>,
    },
}

/// A cut between nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The nodes that are parted.
    pub shape: Shape,
    /// True if the clients' machine is cut off too: with the first node of the shape, or the half or datacenter that it names.
    pub parts_clients: bool,
}

/// A disk in place of a node's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchange {
    /// One on which no node ever ran.
    Empty,
    /// The clone that the last [`Step::Remember`] of the node took, as a power cut at that moment leaves it.
    Earlier(Keep),
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// SIGKILL.
    Kill(usize),
    /// A power cut, after which the machine stays off.
    PowerCut(usize, Keep),
    /// SIGTERM, and waiting for the node's end.
    Terminate(usize),
    /// Start of a node that is down.
    Start(usize),
    /// SIGSTOP.
    Pause(usize),
    /// SIGCONT.
    Resume(usize),
    /// Jump of the wall clock to so many microseconds from the world's time; zero is right.
    Skew(usize, i64),
    /// Rate of both clocks, parts per million from the world's; zero is right.
    Rate(usize, i32),
    /// Clone of the disk, for a later exchange.
    Remember(usize),
    /// Exchange of the disk of a node that is down.
    ExchangeDisk(usize, Exchange),
    /// A slow disk: operations take up to 300 ms.
    SlowDisk(usize),
    /// The same disk with its usual speed.
    FastDisk(usize),
    /// A disk that has room for so many bytes more.
    FillDisk(usize, u64),
    /// The same disk with room for all.
    FreeDisk(usize),
    /// A disk of which one operation in ten fails: of all kinds, or of one that the number chooses.
    FailDisk(usize, u64),
    /// The same disk without faults.
    MendDisk(usize),
    /// Cut of links, in place of the cut before.
    Cut(Cut),
    /// End of the cut.
    Join,
    /// Lossy links from and to a node: segments come late, and some reset their connection.
    Lossy(usize),
    /// Good links from and to that node.
    Lossless(usize),
    /// Reset of all connections of a node.
    Reset(usize),
}

impl Step {
    /// True if a trouble begins with it: not one that ends, or prepares, another.
    pub fn is_trouble(&self) -> bool {
        match self {
            Step::Skew(_, 0)
            | Step::Rate(_, 0)
            | Step::Start(_)
            | Step::Resume(_)
            | Step::Join
            | Step::Lossless(_)
            | Step::FastDisk(_)
            | Step::FreeDisk(_)
            | Step::MendDisk(_)
            | Step::ExchangeDisk(..)
            | Step::Remember(_) => false,
            Step::Kill(_)
            | Step::PowerCut(..)
            | Step::Terminate(_)
            | Step::Pause(_)
            | Step::Skew(..)
            | Step::Rate(..)
            | Step::SlowDisk(_)
            | Step::FillDisk(..)
            | Step::FailDisk(..)
            | Step::Cut(_)
            | Step::Lossy(_)
            | Step::Reset(_) => true,
        }
    }
}

/// A step and its time after the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed {
    /// World's time since the step before.
    pub after: Duration,
    /// The step.
    pub step: Step,
}

/// Steps, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// In order.
    pub steps: Vec<Timed>,
}

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|timed| writeln!(out, "+{:?} {:?}", timed.after, timed.step))
    }
}

/// The marks of steps that took effect: many plans of all kinds reach each of them.
pub const MARKS: [&str; 16] = [
    "chain held",
    "connection reset on the way",
    "cut of one direction held",
    "deaf node held",
    "disk full",
    "halves held",
    "isolated datacenter held",
    "isolated node held",
    "mute node held",
    "paused process late",
    "segment lost",
    "slow disk used",
    "start on an empty disk",
    "start on an older disk",
    "timer at another rate",
    "wall clock jumped under a process",
];

#[cfg(test)]
mod tests;
