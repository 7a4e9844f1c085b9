//! Barriers: the leader asks a majority whether it still leads, before it says that something is not so.

use std::collections::VecDeque;

use crate::entry::Index;
use crate::message::Message;
use crate::raft::{Raft, Role};
use crate::ready::ProposeError;

/// Names a barrier, as its asker chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BarrierId(pub u64);

/// A barrier that waits for a round of heartbeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Barrier {
    id: BarrierId,
    /// The commit index when it was asked for; none until the lead entry of the term is committed.
    index: Option<Index>,
    /// Heartbeats of this round or a later one confirm it.
    round: u64,
}

/// A leader's barriers, in the order in which they were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Barriers {
    waiting: VecDeque<Barrier>,
    round: u64,
}

impl Barriers {
    /// The last round that was begun.
    pub(crate) fn round(&self) -> u64 {
        self.round
    }

    /// All that wait, for a leader that leads no more.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = BarrierId> + '_ {
        self.waiting.drain(..).map(|barrier| barrier.id)
    }
}

impl Raft {
    /// Asks for a barrier: `Ready::passed` gives it with the commit index of now once a majority has confirmed that this node leads.
    pub fn barrier(&mut self, id: BarrierId) -> Result<(), ProposeError> {
        let (commit, has_committed_lead) = (self.commit_index(), self.has_committed_lead());
        let leader = self.leader();
        let Role::Leader(leading) = &mut self.role else { return Err(ProposeError::NotLeader { leader }) };
        let barriers = &mut leading.barriers;
        barriers.round += 1;
        let index = has_committed_lead.then_some(commit);
        barriers.waiting.push_back(Barrier { id, index, round: barriers.round });
        self.broadcast_heartbeats();
        self.pass_barriers();
        self.check();
        Ok(())
    }

    /// Hands out the barriers that are confirmed. Those of a leader whose lead entry is not committed wait for it.
    pub(crate) fn pass_barriers(&mut self) {
        let (own, commit, has_committed_lead) = (self.id(), self.commit_index(), self.has_committed_lead());
        if !has_committed_lead {
            return;
        }
        let configuration = self.configuration().clone();
        let Role::Leader(leading) = &mut self.role else { return };
        for barrier in &mut leading.barriers.waiting {
            barrier.index.get_or_insert(commit);
        }
        while let Some(Barrier { id, index: Some(index), round }) = leading.barriers.waiting.front().copied() {
            let progress = &leading.progress;
            let confirms = |node| node == own || progress.get(&node).is_some_and(|of| of.round >= round && !of.is_lost);
            if !configuration.is_quorum(confirms) {
                return;
            }
            leading.barriers.waiting.pop_front();
            self.ready.passed.push((id, index));
        }
    }

    /// Sends a heartbeat to each other voter.
    pub(crate) fn broadcast_heartbeats(&mut self) {
        let Role::Leader(leading) = &mut self.role else { return };
        leading.heartbeat_elapsed = 0;
        let round = leading.barriers.round;
        for (to, commit, commit_term) in self.commits_to_tell() {
            self.send(to, Message::Heartbeat { commit, commit_term, round });
        }
    }
}
