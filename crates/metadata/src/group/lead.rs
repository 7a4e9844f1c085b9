//! A leader's bookkeeping: proposals on their way to their replies.
//!
//! | from | event | to |
//! |---|---|---|
//! | asked | as many wait as there is room for | replied: busy |
//! | asked | planned as a change, or to be cancelled | logged: its entry is in the log, committed or not |
//! | asked | refused, or nothing to change | refused: waits until the entries that the plan saw are committed, and for a barrier |
//! | refused | it is to be cancelled | logged |
//! | logged | its entry is applied here, and changes something | applied: waits for all nodes that are up |
//! | logged | its entry is applied here, and cancels | replied: cancelled |
//! | applied | all of them have applied it, or time is over | replied: applied |
//! | refused | both have come | replied: refused |
//! | logged, applied, refused | the node leads no more | replied: leads no more |
//!
//! A refusal must not rest on an entry that another leader may replace, nor come from a leader that another one has followed already.

use std::collections::BTreeMap;

use raft::{BarrierId, Index, NodeId, Term};

use super::bounds::Bounds;
use super::ids::ProposalId;
use super::message::Reply;
use super::state::{GroupState, Remembered};

/// A proposal that has no reply yet.
#[derive(Debug)]
struct Waiting {
    asker: NodeId,
    /// Its first copy that has arrived.
    copy: u32,
    /// Of its intention.
    bytes: usize,
    stage: Stage,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Logged { index: Index, is_cancelled: bool },
    Applied { epoch: Index, ticks: u32 },
    Refused { seen: Index, barrier: Option<BarrierId>, reason: Vec<u8> },
}

/// A copy of a proposal that has arrived, with the bytes of its intention.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived {
    pub(super) asker: NodeId,
    pub(super) id: ProposalId,
    pub(super) copy: u32,
    pub(super) bytes: usize,
}

/// The leader's view of the cluster's state and of the proposals. It lasts for one term.
#[derive(Debug)]
pub(super) struct Lead {
    pub(super) term: Term,
    /// The state with all entries of the log: what the next proposal is planned on.
    pub(super) ahead: GroupState,
    waiting: BTreeMap<ProposalId, Waiting>,
    bounds: Bounds,
}

/// A reply on its way to its asker.
pub(super) type Addressed = (NodeId, ProposalId, u32, Reply);

impl Lead {
    /// Begins with the state of all entries in the log.
    pub(super) fn begin(term: Term, ahead: GroupState) -> Lead {
        Lead { term, ahead, waiting: BTreeMap::new(), bounds: Bounds::default() }
    }

    /// True if the proposal waits for its reply: one that is sent again is not planned again, nor does it wait longer.
    pub(super) fn has(&self, id: ProposalId) -> bool {
        self.waiting.contains_key(&id)
    }

    /// True if one more proposal with an intention of so many bytes may wait.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.bounds.has_room(bytes)
    }

    /// The proposal is in the log, by this leader or by an earlier one.
    pub(super) fn logged(&mut self, arrived: Arrived, Remembered { epoch, is_cancelled, .. }: Remembered) {
        self.wait(arrived, Stage::Logged { index: epoch, is_cancelled });
    }

    /// The proposal was refused on the state of all entries in the log; the barrier is asked for.
    pub(super) fn refused(&mut self, arrived: Arrived, barrier: BarrierId, reason: Vec<u8>) {
        self.wait(arrived, Stage::Refused { seen: self.ahead.epoch(), barrier: Some(barrier), reason });
    }

    fn wait(&mut self, Arrived { asker, id, copy, bytes }: Arrived, stage: Stage) {
        assert!(self.bounds.take(bytes), "there was room");
        let before = self.waiting.insert(id, Waiting { asker, copy, bytes, stage });
        assert!(before.is_none(), "a proposal waits once");
    }

    /// Drops the refusal of a proposal that is to be cancelled.
    pub(super) fn drop_refusal(&mut self, id: ProposalId) {
        if matches!(self.waiting.get(&id), Some(Waiting { stage: Stage::Refused { .. }, .. }))
            && let Some(waiting) = self.waiting.remove(&id)
        {
            self.bounds.give_back(waiting.bytes);
        }
    }

    /// A barrier is passed.
    pub(super) fn passed(&mut self, of: BarrierId) {
        for waiting in self.waiting.values_mut() {
            if let Stage::Refused { barrier, .. } = &mut waiting.stage
                && *barrier == Some(of)
            {
                *barrier = None;
            }
        }
    }

    /// True if a refusal waits for the barrier.
    pub(super) fn waits_for(&self, of: BarrierId) -> bool {
        let is_of =
            |waiting: &Waiting| matches!(waiting.stage, Stage::Refused { barrier: Some(barrier), .. } if barrier == of);
        self.waiting.values().any(is_of)
    }

    /// A unit of time has passed.
    pub(super) fn elapse(&mut self) {
        for waiting in self.waiting.values_mut() {
            if let Stage::Applied { ticks, .. } = &mut waiting.stage {
                *ticks = ticks.saturating_add(1);
            }
        }
    }

    /// True if no proposal waits.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The replies that are due: this node has applied up to the first of `epochs`, all nodes that are up up to the second, and `lagging` gives those of
    /// them that have not applied up to an index.
    pub(super) fn replies(
        &mut self,
        epochs: (Index, Index),
        ticks_max: u32,
        lagging: impl Fn(Index) -> Vec<NodeId>,
    ) -> Vec<Addressed> {
        let mut replies = Vec::new();
        self.waiting.retain(|id, waiting| {
            let Some(reply) = waiting.stage.reply(epochs, ticks_max, &lagging) else { return true };
            self.bounds.give_back(waiting.bytes);
            replies.push((waiting.asker, *id, waiting.copy, reply));
            false
        });
        replies
    }

    /// Entries from `first` on were taken back: the proposals there have failed, and what comes next is planned on `state`.
    pub(super) fn withdrawn(&mut self, first: Index, state: GroupState, reason: &str) -> Vec<Addressed> {
        self.ahead = state;
        let mut replies = Vec::new();
        self.waiting.retain(|id, waiting| match waiting.stage {
            Stage::Logged { index, .. } if index >= first => {
                self.bounds.give_back(waiting.bytes);
                replies.push((waiting.asker, *id, waiting.copy, Reply::Failed { reason: reason.to_owned() }));
                false
            }
            _ => true,
        });
        replies
    }

    /// The node leads no more: all askers are to ask the next leader.
    pub(super) fn end(self, leader: Option<NodeId>) -> Vec<Addressed> {
        let waiting = self.waiting.into_iter();
        waiting.map(|(id, waiting)| (waiting.asker, id, waiting.copy, Reply::LeadsNoMore { leader })).collect()
    }
}

impl Stage {
    /// Goes on to the next stage, if it is time, and gives the reply, if it is due.
    fn reply(
        &mut self,
        (own, all): (Index, Index),
        ticks_max: u32,
        lagging: impl Fn(Index) -> Vec<NodeId>,
    ) -> Option<Reply> {
        if let Stage::Logged { index: epoch, is_cancelled } = *self
            && epoch <= own
        {
            if is_cancelled {
                return Some(Reply::Cancelled { epoch });
            }
            *self = Stage::Applied { epoch, ticks: 0 };
        }
        match self {
            Stage::Applied { epoch, ticks } => {
                let is_due = *epoch <= all || *ticks >= ticks_max;
                is_due.then(|| Reply::Applied { epoch: *epoch, lagging: lagging(*epoch) })
            }
            // The state at the end of the log that the plan saw is the latest at some moment since it was asked for.
            Stage::Refused { seen, barrier: None, reason } if *seen <= own => {
                Some(Reply::Refused { epoch: *seen, reason: std::mem::take(reason) })
            }
            Stage::Logged { .. } | Stage::Refused { .. } => None,
        }
    }
}
