//! The cluster's state at one epoch, and its next: a pure function of the entries before.
//!
//! Nodes with equal logs have equal states. The epoch is the index of the last entry that was applied, be it a change, a leader's first entry or a
//! configuration. Outcomes of proposals (applied, repeated, too late) follow from the state alone, so all nodes agree on them.

use std::collections::VecDeque;
use std::fmt;

use planted::{Bug, Planted};
use raft::{Entry as PlacedEntry, Index, Payload};

use super::ids::ProposalId;
use super::proposal::{PROPOSALS_REMEMBERED, Proposal};
use crate::cluster::{ClusterState, Domains, Entry};
use crate::error::DecodeError;

/// The effect of one entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A leader's first entry, or a configuration of voters: no domain has changed.
    None,
    /// The changes of this proposal were applied.
    Applied(ProposalId, Entry),
    /// The proposal was applied or cancelled before, at that epoch.
    Repeated(ProposalId, Index),
    /// The proposal was cancelled: a later copy of it has no effect.
    Cancelled(ProposalId),
    /// The proposal came too many changes after it was asked for.
    TooLate(ProposalId),
}

/// A proposal that was applied or cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remembered {
    /// Its name.
    pub id: ProposalId,
    /// The epoch at which that was.
    pub epoch: Index,
    /// It was cancelled: it has changed nothing, and will not.
    pub is_cancelled: bool,
}

/// The cluster's state at an epoch. A clone shares it until one of the two goes on.
#[derive(Clone)]
pub struct GroupState {
    epoch: Index,
    cluster: ClusterState,
    /// The proposals that were applied or cancelled last, oldest first.
    recent: VecDeque<Remembered>,
    planted: Planted,
}

impl fmt::Debug for GroupState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupState").field("epoch", &self.epoch).field("recent", &self.recent.len()).finish()
    }
}

impl GroupState {
    /// The state of a cluster without an entry.
    pub fn new(domains: &Domains) -> GroupState {
        GroupState::of_snapshot(Index(0), ClusterState::empty(domains), Vec::new())
    }

    /// A state as a snapshot has it.
    pub fn of_snapshot(epoch: Index, cluster: ClusterState, recent: Vec<Remembered>) -> GroupState {
        GroupState { epoch, cluster, recent: recent.into(), planted: Planted::NONE }
    }

    /// The same with a mistake, in a build with mistakes.
    pub(super) fn planted(self, planted: Planted) -> GroupState {
        GroupState { planted, ..self }
    }

    /// The index of the last entry that was applied.
    pub fn epoch(&self) -> Index {
        self.epoch
    }

    /// States of the domains.
    pub fn cluster(&self) -> &ClusterState {
        &self.cluster
    }

    /// The proposals that are remembered, oldest first.
    pub fn recent(&self) -> impl Iterator<Item = Remembered> + '_ {
        self.recent.iter().copied()
    }

    /// The proposal of that name, if it is remembered.
    pub fn find(&self, id: ProposalId) -> Option<Remembered> {
        let known = self.recent.iter().rev().find(|known| known.id == id).copied();
        known.filter(|_| !self.planted.is(Bug::ProposalAppliedTwice))
    }

    /// Applies the next entries. Fails, and changes nothing, where a part cannot be decoded: this code is older than the cluster's agreement.
    pub fn apply<'e>(
        &mut self,
        entries: impl IntoIterator<Item = &'e PlacedEntry>,
    ) -> Result<Vec<Effect>, DecodeError> {
        let mut next = self.clone();
        let effects = entries.into_iter().map(|entry| next.pass(entry)).collect::<Result<Vec<_>, _>>()?;
        let applied = effects.iter().filter_map(|effect| match effect {
            Effect::Applied(_, entry) => Some(entry),
            _ => None,
        });
        next.cluster.apply_all(applied)?;
        *self = next;
        Ok(effects)
    }

    /// Passes to the next epoch, with the entry's effect: whether its changes apply does not depend on the domains.
    fn pass(&mut self, entry: &PlacedEntry) -> Result<Effect, DecodeError> {
        assert_eq!(entry.index, self.epoch.next(), "entries are applied in order, each once");
        let effect = match &entry.payload {
            Payload::Lead(_) | Payload::Voters(_) => Effect::None,
            Payload::Change(bytes) => self.judge(entry.index, Proposal::decode(bytes)?),
        };
        self.epoch = entry.index;
        Ok(effect)
    }

    fn judge(&mut self, index: Index, proposal: Proposal) -> Effect {
        while self.recent.front().is_some_and(|known| index.0 - known.epoch.0 >= PROPOSALS_REMEMBERED) {
            self.recent.pop_front();
        }
        if let Some(known) = self.find(proposal.id) {
            return Effect::Repeated(proposal.id, known.epoch);
        }
        if !proposal.may_apply_at(index) {
            return Effect::TooLate(proposal.id);
        }
        self.recent.push_back(Remembered { id: proposal.id, epoch: index, is_cancelled: proposal.entry.is_none() });
        assert!(self.recent.len() as u64 <= PROPOSALS_REMEMBERED, "one id for each remembered epoch at most");
        match proposal.entry {
            Some(entry) => Effect::Applied(proposal.id, entry),
            None => Effect::Cancelled(proposal.id),
        }
    }
}
