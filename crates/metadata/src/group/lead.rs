//! A leader's bookkeeping: proposals on their way to their answers.
//!
//! | from | event | to |
//! |---|---|---|
//! | asked | planned as a change | logged: its entry is in the log, committed or not |
//! | asked | refused, or nothing to change | refused: waits until the entries that the plan saw are committed, and for a barrier |
//! | logged | its entry is applied here | applied: waits for all nodes that are up |
//! | applied | all of them have applied it, or time is over | answered |
//! | refused | both have come | answered |
//! | any | the node leads no more | answered: not the leader |
//!
//! A refusal must not rest on an entry that another leader may replace, nor come from a leader that another one has followed already.

use std::collections::BTreeMap;

use raft::{BarrierId, Index, NodeId};

use super::ids::ProposalId;
use super::message::Answer;
use super::state::GroupState;

/// A proposal that has no answer yet.
#[derive(Debug)]
struct Waiting {
    asker: NodeId,
    stage: Stage,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Logged(Index),
    Applied { epoch: Index, ticks: u32 },
    Refused { seen: Index, barrier: Option<BarrierId>, passed: Option<Index>, reason: Vec<u8> },
}

/// The leader's view of the cluster's state and of the proposals.
#[derive(Debug)]
pub(super) struct Lead {
    /// The state with all entries of the log: what the next proposal is planned on.
    pub(super) ahead: GroupState,
    waiting: BTreeMap<ProposalId, Waiting>,
    barriers: u64,
}

/// An answer on its way to its asker.
pub(super) type Addressed = (NodeId, ProposalId, Answer);

impl Lead {
    /// Begins with the state of all entries in the log.
    pub(super) fn begin(ahead: GroupState) -> Lead {
        Lead { ahead, waiting: BTreeMap::new(), barriers: 0 }
    }

    /// True if the proposal waits for its answer: one that is sent again is not planned again, nor does it wait longer.
    pub(super) fn has(&self, id: ProposalId) -> bool {
        self.waiting.contains_key(&id)
    }

    /// The proposal is in the log at an index, by this leader or by an earlier one.
    pub(super) fn logged(&mut self, id: ProposalId, asker: NodeId, index: Index) {
        self.waiting.insert(id, Waiting { asker, stage: Stage::Logged(index) });
    }

    /// The proposal was refused on the state of all entries in the log. Gives the barrier to ask for.
    pub(super) fn refused(&mut self, id: ProposalId, asker: NodeId, reason: Vec<u8>) -> BarrierId {
        self.barriers += 1;
        let barrier = BarrierId(self.barriers);
        let stage = Stage::Refused { seen: self.ahead.epoch(), barrier: Some(barrier), passed: None, reason };
        self.waiting.insert(id, Waiting { asker, stage });
        barrier
    }

    /// A barrier is passed, with its commit index.
    pub(super) fn passed(&mut self, of: BarrierId, index: Index) {
        for waiting in self.waiting.values_mut() {
            if let Stage::Refused { barrier, passed, .. } = &mut waiting.stage
                && *barrier == Some(of)
            {
                (*barrier, *passed) = (None, Some(index));
            }
        }
    }

    /// A unit of time has passed.
    pub(super) fn elapse(&mut self) {
        for waiting in self.waiting.values_mut() {
            if let Stage::Applied { ticks, .. } = &mut waiting.stage {
                *ticks = ticks.saturating_add(1);
            }
        }
    }

    /// The answers that are due: this node has applied up to `epoch`, and `lagging` gives the nodes that are up and have not applied up to an index.
    pub(super) fn answers(
        &mut self,
        epoch: Index,
        ticks_max: u32,
        lagging: impl Fn(Index) -> Vec<NodeId>,
    ) -> Vec<Addressed> {
        let mut answers = Vec::new();
        self.waiting.retain(|id, waiting| {
            if let Stage::Logged(index) = waiting.stage
                && index <= epoch
            {
                waiting.stage = Stage::Applied { epoch: index, ticks: 0 };
            }
            let answer = match &mut waiting.stage {
                Stage::Logged(_) => return true,
                Stage::Applied { epoch, ticks } => {
                    let lagging = lagging(*epoch);
                    if !lagging.is_empty() && *ticks < ticks_max {
                        return true;
                    }
                    Answer::Applied { epoch: *epoch, lagging }
                }
                Stage::Refused { seen, passed: Some(passed), reason, .. } if *seen <= epoch => {
                    Answer::Refused { epoch: (*seen).max(*passed), reason: std::mem::take(reason) }
                }
                Stage::Refused { .. } => return true,
            };
            answers.push((waiting.asker, *id, answer));
            false
        });
        answers
    }

    /// Entries from `first` on were taken back: the proposals there have failed, and what comes next is planned on `state`.
    pub(super) fn withdrawn(&mut self, first: Index, state: GroupState, reason: &str) -> Vec<Addressed> {
        self.ahead = state;
        let mut answers = Vec::new();
        self.waiting.retain(|id, waiting| match waiting.stage {
            Stage::Logged(index) if index >= first => {
                answers.push((waiting.asker, *id, Answer::Failed { reason: reason.to_owned() }));
                false
            }
            _ => true,
        });
        answers
    }

    /// The node leads no more: all askers are to ask the next leader.
    pub(super) fn end(self, leader: Option<NodeId>) -> Vec<Addressed> {
        let answers = self.waiting.into_iter();
        answers.map(|(id, waiting)| (waiting.asker, id, Answer::NotLeader { leader })).collect()
    }
}
