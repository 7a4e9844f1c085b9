//! A change of the operations of a cluster.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::operation::{EndNumber, Operation, OperationId, Target};
use super::phase::Phase;
use crate::ring::HostId;

/// One change of the operations. Each that does not fit the state it is applied to changes nothing ([`super::Operations::apply`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationChange {
    /// An operation begins as queued. Its number is the next one.
    Queue(Rc<Operation>),
    /// A queued operation is planned, with this target in place of the one that it was queued with.
    Plan(OperationId, Target),
    /// An operation that runs passes to the next phase: WriteBoth, Copy or ReadNew.
    Advance(OperationId, Phase),
    /// An operation in ReadNew is done. These nodes have lost ranges, and are unclean.
    Finish(OperationId, BTreeSet<HostId>),
    /// An operation is aborted. These nodes may have data of ranges that they do not gain, and are unclean.
    Abort(OperationId, BTreeSet<HostId>),
    /// The node has no leftovers of operations that ended up to this end any more.
    Cleaned(HostId, EndNumber),
    /// An operation as it is: a part of a snapshot.
    Restore(Rc<Operation>),
    /// The number that the next operation has: a part of a snapshot.
    RestoreNext(OperationId),
    /// So many operations have ended: a part of a snapshot.
    RestoreEnded(EndNumber),
    /// The node has leftovers, those of this end the last: a part of a snapshot.
    Unclean(HostId, EndNumber),
    /// These nodes gain ranges by an operation, and are read from now on: they begin another tenure. In a snapshot the number is the tenure's.
    Gained(OperationId, BTreeSet<HostId>),
    /// A receiver has copied, durably, all that it is to copy for an operation in Copy; or a node that leaves has handed on its hints and batches, in ReadNew, or is lost
    /// with them.
    Copied(OperationId, HostId),
    /// A node is lost for good, by an operator's word: an operation in ReadNew does not wait for it.
    GiveUp(OperationId, HostId),
}
