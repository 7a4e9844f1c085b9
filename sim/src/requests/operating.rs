//! The state of operators' orders: each node's standing, what is ordered, and what is asked.

use std::collections::{BTreeMap, BTreeSet};

use runtime::Instant;
use runtime::sim::Started;

use super::scenario::Shape;
use crate::client::ClientError;
use crate::group_site::Asking;

/// A node as the operators know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was never started.
    Spare,
    /// It was started, and is not ready.
    Joining,
    /// It is of the cluster.
    Member,
    /// Its operator has asked for its decommission.
    Leaving,
    /// It was killed, and is to be removed.
    Dead,
    /// It was killed, and another one takes its place at another address.
    Replaced,
    /// It is of the cluster no more.
    Gone,
}

/// An order of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Join,
    Decommission,
    Remove,
    Replace,
    /// The keyspace gets another number of replicas.
    Alter,
}

/// The node that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    Leader,
    Receiver,
    Source,
}

/// A node that is replaced.
#[derive(Debug, Clone)]
pub(super) struct Replacement {
    /// Its number, which is that of the node that takes its place if that has its address.
    pub(super) gone: usize,
    /// Its host id.
    pub(super) host_id: String,
}

/// Orders, their outcome, and kills to come.
#[derive(Default)]
pub(super) struct Operating {
    /// Of each node. Empty where no operator does anything: all are members.
    pub(super) standing: Vec<Standing>,
    pub(super) orders: Vec<(Instant, Order)>,
    /// Questions under way: decommissions and removals, with the node that is to leave.
    pub(super) asked: Vec<(usize, Asking)>,
    /// The time since which all nodes have shown the same registry and no operation.
    pub(super) resting_since: Option<Instant>,
    /// Nodes that are replaced, by those that take their places.
    pub(super) replacements: BTreeMap<usize, Replacement>,
    /// Nodes that are down by the plan, by a kill of this harness, or by their disk.
    pub(super) down: BTreeSet<usize>,
    /// Kills to come, each in a phase.
    pub(super) strikes: Vec<(Victim, &'static str)>,
    pub(super) starts: Vec<(Instant, usize)>,
    /// The phase in which an operation is to be aborted.
    pub(super) abort_in: Option<&'static str>,
    pub(super) aborting: Option<Asking>,
    /// True if an operation was to be aborted: a node that joins may be refused from then on.
    pub(super) has_aborted: bool,
    /// The replicas of each datacenter that the keyspace may have: several while it is altered, and where an operator was not answered.
    pub(super) factors: BTreeSet<Vec<u32>>,
    /// True if their number may change.
    pub(super) may_alter: bool,
    /// An ALTER under way.
    pub(super) altering: Option<Started<Result<bool, ClientError>>>,
    /// The node that led at the last look.
    pub(super) leader: Option<usize>,
    pub(super) host_ids: BTreeMap<usize, String>,
    /// All that was done, in words.
    pub(super) log: Vec<String>,
}

impl Operating {
    /// All nodes are members but for the spare ones, which are the last.
    pub(super) fn new(nodes: usize, shape: Shape) -> Operating {
        let standing = |node| if node < nodes - shape.spares.len() { Standing::Member } else { Standing::Spare };
        Operating {
            standing: (0..nodes).map(standing).collect(),
            factors: [shape.factors.to_vec()].into(),
            may_alter: shape.may_alter(),
            ..Operating::default()
        }
    }

    /// The fewest and the most replicas that the keyspace may have in a datacenter.
    pub(super) fn factor_bounds(&self, datacenter: usize) -> (u32, u32) {
        let factors = || self.factors.iter().map(|factors| factors[datacenter]);
        (factors().min().unwrap_or(0), factors().max().unwrap_or(0))
    }

    /// The standing of a node.
    pub(super) fn standing(&self, node: usize) -> Standing {
        self.standing.get(node).copied().unwrap_or(Standing::Member)
    }

    /// True of a node that is to run.
    pub(super) fn is_present(&self, node: usize) -> bool {
        matches!(self.standing(node), Standing::Joining | Standing::Member | Standing::Leaving)
    }
}
