//! An asker's bookkeeping: proposals of this node that have no answer yet, and the copies of them that are under way.
//!
//! A copy is *open* from its sending until a node says that it has not logged it: a leader may log it as long, however late it arrives. One that a
//! leader had when it ceased to lead stays open. A refusal tells of one copy alone:
//!
//! | from | event | to |
//! |---|---|---|
//! | asked | no leader is known | asked: some voter is asked who leads, and no copy is sent |
//! | asked | a copy was not logged: not the leader | asked, the copy is not open any more |
//! | asked | a copy was not logged: busy, too late, or it could not be made durable; and no other is open | answered so |
//! | asked | a copy is refused, and no other is open | answered: refused |
//! | asked | a copy is refused, and others are open | refused: from now on the leader is asked to log its id without a change |
//! | refused | the log has the id, cancelled; or no copy is open any more | answered: refused |
//! | asked, refused | the log has the id, applied | answered: applied |
//! | asked, refused | no answer in time, and no copy is open | answered: no leader |
//! | asked, refused | no answer in time, and a copy is open | answered: unknown |
//!
//! It sends nothing itself, and does not know who leads.

use std::collections::{BTreeMap, BTreeSet};

use raft::{Index, NodeId};

use super::bounds::Bounds;
use super::ids::ProposalId;
use super::message::{Answer, Reply, Request};

/// A proposal that has no answer yet.
#[derive(Debug)]
struct Asked {
    first: Index,
    intention: Vec<u8>,
    /// Units of time since it was asked for.
    age: u32,
    /// Units of time since it was sent last.
    ticks: u32,
    tries: usize,
    /// Copies so far, of whatever request.
    copies: u32,
    /// The copies that may be logged as a change, now or later.
    open: BTreeSet<u32>,
    /// The first refusal that was heard, while other copies are open.
    refusal: Option<(Index, Vec<u8>)>,
    /// It was sent on to the leader that another node named, in this unit of time. Two nodes may name each other.
    is_sent_on: bool,
}

impl Asked {
    fn check(&self) {
        assert!(self.refusal.is_none() || !self.open.is_empty(), "a refusal that no copy contradicts is an answer");
        assert!(self.open.last().is_none_or(|last| *last <= self.copies), "an open copy was sent");
    }
}

/// All proposals of this node that have no answer yet.
#[derive(Debug, Default)]
pub(super) struct Asking {
    proposals: BTreeMap<ProposalId, Asked>,
    bounds: Bounds,
}

/// A copy to send.
pub(super) struct Copy {
    pub(super) first: Index,
    pub(super) copy: u32,
    pub(super) request: Request,
}

/// The consequence of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The proposal waits on.
    Wait,
    /// It is sent to this node at once.
    Send(NodeId),
    /// It has its answer, and is forgotten.
    Answer(Answer),
}

/// The proposals for which time has come.
#[derive(Debug, Default)]
pub(super) struct Elapsed {
    /// To send again.
    pub(super) late: Vec<ProposalId>,
    /// Those that waited too long, with their answers. They are forgotten.
    pub(super) given_up: Vec<(ProposalId, Answer)>,
}

impl Asking {
    /// Begins to ask. False if too many wait already; then nothing was begun.
    pub(super) fn begin(&mut self, id: ProposalId, first: Index, intention: Vec<u8>) -> bool {
        assert!(!self.proposals.contains_key(&id), "ids of proposals are drawn once");
        if !self.bounds.take(intention.len()) {
            return false;
        }
        let asked = Asked {
            first,
            intention,
            age: 0,
            ticks: 0,
            tries: 0,
            copies: 0,
            open: BTreeSet::new(),
            refusal: None,
            is_sent_on: false,
        };
        self.proposals.insert(id, asked);
        true
    }

    /// A unit of time has passed. A proposal of which no copy is open is given up after `unsent_ticks` already: there may be no leader for long.
    pub(super) fn elapse(&mut self, resend_ticks: u32, give_up_ticks: u32, unsent_ticks: u32) -> Elapsed {
        let mut elapsed = Elapsed::default();
        for (id, asked) in &mut self.proposals {
            (asked.age, asked.ticks) = (asked.age.saturating_add(1), asked.ticks.saturating_add(1));
            asked.is_sent_on = false;
            let is_unsent = asked.open.is_empty() && asked.refusal.is_none();
            if asked.age >= give_up_ticks || (is_unsent && asked.age >= unsent_ticks) {
                let answer = if asked.open.is_empty() { Answer::NoLeader } else { Answer::Unknown };
                elapsed.given_up.push((*id, answer));
            } else if asked.ticks >= resend_ticks {
                elapsed.late.push(*id);
            }
        }
        elapsed.given_up.iter().for_each(|(id, _)| self.forget(*id));
        elapsed
    }

    /// Has the proposal be sent again with the next unit of time.
    pub(super) fn hurry(&mut self, id: ProposalId) {
        if let Some(asked) = self.proposals.get_mut(&id) {
            asked.ticks = u32::MAX;
        }
    }

    /// A try to reach the leader begins: gives its number, from 1 on. `None` for a proposal that has its answer.
    pub(super) fn try_again(&mut self, id: ProposalId) -> Option<usize> {
        let asked = self.proposals.get_mut(&id)?;
        (asked.ticks, asked.tries) = (0, asked.tries + 1);
        Some(asked.tries)
    }

    /// Makes the next copy. `None` for a proposal that has its answer.
    pub(super) fn copy(&mut self, id: ProposalId) -> Option<Copy> {
        let asked = self.proposals.get_mut(&id)?;
        (asked.ticks, asked.copies) = (0, asked.copies + 1);
        let request = match asked.refusal {
            // No change comes of it, so it needs no answer of its own.
            Some(_) => Request::Cancel,
            None => {
                asked.open.insert(asked.copies);
                Request::Plan(asked.intention.clone())
            }
        };
        asked.check();
        Some(Copy { first: asked.first, copy: asked.copies, request })
    }

    /// A node named the leader. Gives it where the proposal is to be sent to it.
    pub(super) fn named(&mut self, id: ProposalId, leader: Option<NodeId>) -> Option<NodeId> {
        let asked = self.proposals.get_mut(&id)?;
        leader.filter(|_| !std::mem::replace(&mut asked.is_sent_on, true))
    }

    /// A node has replied to a copy.
    pub(super) fn replied(&mut self, from: NodeId, id: ProposalId, copy: u32, reply: Reply) -> Next {
        let Some(asked) = self.proposals.get_mut(&id) else { return Next::Wait };
        if !matches!(reply, Reply::LeadsNoMore { .. }) {
            asked.open.remove(&copy);
        }
        let is_closed = asked.open.is_empty();
        let answer = match reply {
            Reply::Applied { epoch, lagging } => Answer::Applied { epoch, lagging },
            Reply::NotLeader { leader } | Reply::LeadsNoMore { leader } => match asked.refusal.take_if(|_| is_closed) {
                Some((epoch, reason)) => Answer::Refused { epoch, reason },
                None => return self.named(id, leader).map_or(Next::Wait, Next::Send),
            },
            Reply::Refused { epoch, reason } => {
                let (epoch, reason) = asked.refusal.take().unwrap_or((epoch, reason));
                if !is_closed {
                    asked.refusal = Some((epoch, reason));
                    return Next::Send(from);
                }
                Answer::Refused { epoch, reason }
            }
            Reply::Cancelled { .. } => match asked.refusal.take() {
                Some((epoch, reason)) => Answer::Refused { epoch, reason },
                // This node has not asked for that.
                None => return Next::Wait,
            },
            Reply::Busy | Reply::TooLate | Reply::Failed { .. } if !is_closed => return Next::Wait,
            Reply::Busy => asked.refused_or(Answer::Busy),
            Reply::TooLate => asked.refused_or(Answer::TooLate),
            Reply::Failed { reason } => asked.refused_or(Answer::Failed { reason }),
        };
        self.forget(id);
        Next::Answer(answer)
    }

    fn forget(&mut self, id: ProposalId) {
        if let Some(asked) = self.proposals.remove(&id) {
            self.bounds.give_back(asked.intention.len());
        }
    }
}

impl Asked {
    /// The refusal that was heard, or an answer.
    fn refused_or(&mut self, answer: Answer) -> Answer {
        self.refusal.take().map_or(answer, |(epoch, reason)| Answer::Refused { epoch, reason })
    }
}
