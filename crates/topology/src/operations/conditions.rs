//! The conditions on which the leader passes to the next phase.

use std::collections::BTreeSet;

use super::copying::TooFewSources;
use super::operation::{Operation, OperationId};
use super::phase::Phase;
use super::range_move::RangeMove;
use crate::ring::{HostId, NodeIndex, Ring};
use crate::token::TokenRange;

/// The facts that the leader knows of an operation's nodes, besides the copies that the operation has itself. A leader that has just been elected knows less,
/// and asks again: no condition is met by what is not known.
pub trait Confirmed {
    /// True if the node is up, as the leader judges.
    fn is_up(&self, node: NodeIndex) -> bool;
    /// True if the node has been up for so short a time that the other nodes may have no connection to it yet.
    fn is_fresh(&self, _node: NodeIndex) -> bool {
        false
    }
    /// True if the node's disk is older than what it has acknowledged.
    fn is_regressed(&self, _node: NodeIndex) -> bool {
        false
    }
    /// True if all shards of the node have applied the operation's present phase.
    fn has_applied(&self, node: NodeIndex) -> bool;
}

/// The reason for which a phase does not pass, for operators.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Waiting {
    /// No node would have a range afterwards: its data would be dropped by all that have it.
    #[error(
        "no node would have the tokens after {} up to {}, which are on {} now; change the keyspace's replication after: nodetool operations abort {operation}",
        range.after, range.end, listed(holders)
    )]
    Unplaced {
        /// The operation.
        operation: OperationId,
        /// The range.
        range: TokenRange,
        /// Its replicas.
        holders: Vec<HostId>,
    },
    /// Too few replicas of a range are up: the operation could not end.
    #[error("too few replicas of the tokens after {} up to {} are up; down: {}", range.after, range.end, listed(down))]
    Up {
        /// The range.
        range: TokenRange,
        /// Its replicas that are down.
        down: Vec<HostId>,
    },
    /// A node that gains a range has just come up: where another replica fails now, those without a connection to it would find too few.
    #[error("node {node} has just come up; other nodes connect to it")]
    Fresh {
        /// The node.
        node: HostId,
    },
    /// Too few sources of a range are up.
    #[error("node {receiver} finds {refused} for the tokens after {} up to {}", range.after, range.end)]
    Sources {
        /// The range.
        range: TokenRange,
        /// The node that is to copy it.
        receiver: HostId,
        /// The number of sources that are up.
        refused: TooFewSources,
    },
    /// Too few replicas of a range have applied the phase.
    #[error(
        "too few replicas of the tokens after {} up to {} have applied the phase; not yet: {}",
        range.after, range.end, listed(lacking)
    )]
    Applied {
        /// The range.
        range: TokenRange,
        /// Its replicas that have not.
        lacking: Vec<HostId>,
    },
    /// Too few replicas of a range have applied that the new set is read: there is no way back.
    #[error(
        "too few replicas of the tokens after {} up to {} have applied the phase; not yet: {}; one that is lost is given up by: nodetool removenode --force HOST-ID",
        range.after, range.end, listed(lacking)
    )]
    Read {
        /// The range.
        range: TokenRange,
        /// Its replicas that have not.
        lacking: Vec<HostId>,
    },
    /// A receiver has not confirmed its copy.
    #[error("node {receiver} has not copied the tokens after {} up to {}", range.after, range.end)]
    Copied {
        /// The range.
        range: TokenRange,
        /// The node that copies it.
        receiver: HostId,
    },
    /// A node that leaves has hints or batches that no other has.
    #[error(
        "node {node}, which leaves, has not handed on its hints and batches; if it is lost, they are given up by: nodetool removenode {node}"
    )]
    HandedOn {
        /// The node.
        node: HostId,
    },
}

fn listed(hosts: &[HostId]) -> String {
    hosts.iter().map(HostId::to_string).collect::<Vec<_>>().join(", ")
}

/// The first condition that keeps a running operation from its next phase; `None` if the leader may commit that. `moves` are those of all replication settings.
///
/// # Panics
/// If the operation does not run: that a queued one may be planned is a question of other operations ([`super::Operations::may_plan`]).
pub fn waits_for(
    operation: &Operation,
    moves: &[RangeMove],
    ring: &Ring,
    confirmed: &impl Confirmed,
) -> Option<Waiting> {
    assert!(operation.phase.is_running(), "operation {} is {}", operation.id, operation.phase);
    let of_move = |range_move: &RangeMove| match operation.phase {
        Phase::Planned => waits_for_place(operation, range_move, ring)
            .or_else(|| waits_for_replicas(range_move, ring, confirmed))
            .or_else(|| waits_for_connections(range_move, ring, confirmed))
            .or_else(|| waits_for_sources(operation, range_move, ring, confirmed)),
        // Of what has come since, a table of another replication or a death: from the next phase on there is no way back.
        Phase::Copy => waits_for_copies(operation, range_move, ring)
            .or_else(|| waits_for_place(operation, range_move, ring))
            .or_else(|| waits_for_replicas(range_move, ring, confirmed)),
        _ => waits_for_barrier(operation, range_move, ring, confirmed),
    };
    moves.iter().find_map(of_move).or_else(|| {
        let node = operation.hands_on().find(|node| !operation.copied.contains(node))?;
        (operation.phase == Phase::ReadNew).then_some(Waiting::HandedOn { node })
    })
}

/// Holds back an operation after which a range has no replica, unless what its replicas have is given up.
fn waits_for_place(operation: &Operation, range_move: &RangeMove, ring: &Ring) -> Option<Waiting> {
    if !range_move.new_replicas().is_empty() {
        return None;
    }
    let holders: Vec<HostId> = range_move.old_replicas().iter().map(|&node| ring.node(node).host_id).collect();
    let is_lost = holders.iter().all(|host| operation.lost.contains(host));
    (!is_lost).then_some(Waiting::Unplaced { operation: operation.id, range: range_move.range, holders })
}

/// The barriers that come have to be passed by nodes that are up.
fn waits_for_replicas(range_move: &RangeMove, ring: &Ring, confirmed: &impl Confirmed) -> Option<Waiting> {
    let is_up = |node| confirmed.is_up(node);
    let has_passed = range_move.is_one_in_every_quorum(ring, is_up);
    (!has_passed).then(|| Waiting::Up { range: range_move.range, down: lacking(range_move, ring, is_up) })
}

/// Requests of a quorum count the new replicas from the next phase on.
fn waits_for_connections(range_move: &RangeMove, ring: &Ring, confirmed: &impl Confirmed) -> Option<Waiting> {
    let gain = range_move.new_replicas().iter().filter(|node| !range_move.old_replicas().contains(node));
    let fresh = gain.copied().find(|&node| confirmed.is_fresh(node));
    fresh.map(|node| Waiting::Fresh { node: ring.node(node).host_id })
}

fn waits_for_barrier(
    operation: &Operation,
    range_move: &RangeMove,
    ring: &Ring,
    confirmed: &impl Confirmed,
) -> Option<Waiting> {
    let (range, has_applied) = (range_move.range, |node| confirmed.has_applied(node));
    if range_move.is_one_in_every_quorum(ring, has_applied) {
        return None;
    }
    let lacking = lacking(range_move, ring, has_applied);
    Some(match operation.phase {
        Phase::ReadNew => Waiting::Read { range, lacking },
        _ => Waiting::Applied { range, lacking },
    })
}

/// The replicas of both sets that are not so.
fn lacking(range_move: &RangeMove, ring: &Ring, is_so: impl Fn(NodeIndex) -> bool) -> Vec<HostId> {
    let replicas = range_move.old_replicas().iter().chain(range_move.new_replicas());
    let lacking: BTreeSet<HostId> =
        replicas.filter(|&&node| !is_so(node)).map(|&node| ring.node(node).host_id).collect();
    lacking.into_iter().collect()
}

fn waits_for_sources(
    operation: &Operation,
    range_move: &RangeMove,
    ring: &Ring,
    confirmed: &impl Confirmed,
) -> Option<Waiting> {
    let (range, is_up) = (range_move.range, |node| confirmed.is_up(node));
    if operation.is_without_copy {
        return None;
    }
    range_move.receivers(ring).find_map(|receiver| {
        let refused = range_move.sources_beside(ring, receiver, is_up, |node| confirmed.is_regressed(node)).err()?;
        Some(Waiting::Sources { range, receiver: ring.node(receiver).host_id, refused })
    })
}

fn waits_for_copies(operation: &Operation, range_move: &RangeMove, ring: &Ring) -> Option<Waiting> {
    if operation.is_without_copy {
        return None;
    }
    let mut receivers = range_move.receivers(ring).map(|receiver| ring.node(receiver).host_id);
    let receiver = receivers.find(|receiver| !operation.copied.contains(receiver))?;
    Some(Waiting::Copied { range: range_move.range, receiver })
}
