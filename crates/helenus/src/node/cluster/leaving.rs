//! This node's way out of the cluster, as a state machine; it sends nothing.
//!
//! | this node is | event | then | effect |
//! |---|---|---|---|
//! | member | its operator asks for a decommission | asked | |
//! | asked | the cluster refuses, or the operation is aborted | member | the operator hears so |
//! | asked | its log says that it has left, or a node refuses it as removed | left | the operator is answered when all that are up refuse it; then it ends |
//! | member | the same | left | it ends with a sentence |

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use topology::HostId;
use topology::nodes::Registry;

/// Error of a node that does not leave, or not yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::node) enum LeavingError {
    /// The cluster refuses it.
    #[error("{sentence}")]
    Refused {
        /// The leader's sentence.
        sentence: String,
    },
    /// Another request is under way.
    #[error("Node in LEAVING state; wait for status to become normal or restart")]
    UnderWay,
    /// The node that is asked is the one to be removed.
    #[error("Cannot remove self")]
    Own,
    /// The operation was aborted.
    #[error("the operation was aborted, and the node stays in the cluster")]
    CalledOff,
    /// The group decides nothing now.
    #[error("the cluster's metadata group does not answer: {problem}")]
    NoAnswer {
        /// The problem.
        problem: &'static str,
    },
    /// The removal takes long.
    #[error(
        "the node is leaving and was not removed within {seconds} s; the cluster goes on with it: see nodetool removenode status"
    )]
    Late {
        /// The time that was waited for.
        seconds: u64,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Member,
    Asked,
    Left,
}

/// The part of this node in departures.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    stage: Cell<Stage>,
    /// The operator is answered, and the node is to end.
    is_over: Cell<bool>,
    /// Nodes that have refused this one as removed.
    refused_by: RefCell<BTreeSet<HostId>>,
    /// As the leader: a removal is proposed.
    pub(super) is_removing: Cell<bool>,
}

impl Leaving {
    /// True if this node was decommissioned, and is to end.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// The stage.
    pub(super) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// The operator is answered: the node is to end.
    pub(super) fn end(&self) {
        assert_eq!(self.stage.get(), Stage::Left, "a node ends when it has left");
        self.is_over.set(true);
    }

    /// True if all of these nodes have refused this one as removed.
    pub(super) fn is_refused_by(&self, nodes: &BTreeSet<HostId>) -> bool {
        nodes.is_subset(&self.refused_by.borrow())
    }

    /// The cluster has removed this node: its own log says so, or another node. True if it is to end with a sentence, since no operator of its own waits.
    pub(super) fn removed(&self, by: Option<HostId>) -> bool {
        self.refused_by.borrow_mut().extend(by);
        let before = self.stage.get();
        if before != Stage::Left {
            self.pass(Stage::Left);
        }
        before == Stage::Member
    }

    /// Passes to another stage.
    pub(super) fn pass(&self, to: Stage) {
        use Stage::{Asked, Left, Member};
        let from = self.stage.replace(to);
        assert!(matches!((from, to), (Member, Asked | Left) | (Asked, Member | Left)), "{from:?} becomes {to:?}");
    }
}

/// Checks that nodes leave for good, and without a vote.
pub(super) fn check_departures(known: &Registry, next: &Registry, votes: impl Fn(HostId) -> bool) {
    assert!(known.left().all(|id| next.has_left(id)), "a host id that has left is never a node's again");
    let mut gone = next.left().filter(|id| !known.has_left(*id));
    assert!(!gone.any(votes), "a node that votes is of the cluster");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_is_removed_ends_with_a_sentence_and_a_decommissioned_one_when_its_operator_is_answered() {
        let (member, asked) = (Leaving::default(), Leaving::default());
        assert!(member.removed(None) && !member.removed(Some(HostId([1; 16]))), "once");
        asked.pass(Stage::Asked);
        assert!(!asked.removed(Some(HostId([1; 16]))));
        let both = BTreeSet::from([HostId([1; 16]), HostId([2; 16])]);
        assert!(!asked.is_refused_by(&both) && !asked.is_over());
        asked.removed(Some(HostId([2; 16])));
        assert!(asked.is_refused_by(&both));
        asked.end();
        assert!(asked.is_over());
    }

    #[test]
    #[should_panic(expected = "Left becomes Asked")]
    fn a_node_that_has_left_leaves_no_more() {
        let leaving = Leaving::default();
        leaving.removed(None);
        leaving.pass(Stage::Asked);
    }
}
