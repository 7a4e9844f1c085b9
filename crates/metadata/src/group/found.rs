//! A node's part in a group as its log's records state it together: what a start restores.

use raft::{Entry as PlacedEntry, Index, Log, NodeId, Origin, Payload, Raft, Restart, Term, Vote};

use super::ids::GroupId;
use super::record::{GroupRecord, Snapshot};
use super::state::GroupState;
use crate::cluster::{ClusterState, Domains};
use crate::error::{DecodeError, invalid};

/// All records of a group in a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundGroup {
    /// The group; `None` for a node that is of none.
    pub group: Option<GroupId>,
    vote: Vote,
    is_lost: bool,
    snapshot: Option<Snapshot>,
    entries: Vec<PlacedEntry>,
    commit: Index,
}

impl FoundGroup {
    /// Takes the next record; after an error it is not taken.
    pub(crate) fn push(&mut self, record: GroupRecord) -> Result<(), DecodeError> {
        match record {
            // The node was alone in the group before, or this one is a recovery of it: what was of that group is gone.
            GroupRecord::Group(group) if self.group != Some(group) => {
                *self = FoundGroup { group: Some(group), ..FoundGroup::default() };
            }
            GroupRecord::Group(_) => {}
            GroupRecord::Vote { vote, is_lost } => {
                if vote.term < self.vote.term {
                    return Err(invalid(format!("the term falls from {} to {}", self.vote.term, vote.term)));
                }
                (self.vote, self.is_lost) = (vote, is_lost);
            }
            GroupRecord::Entry { entry, is_committed } => self.push_entry(entry, is_committed)?,
            GroupRecord::Commit(index) => {
                if index < self.commit || index > self.last() {
                    let (commit, last) = (self.commit, self.last());
                    return Err(invalid(format!("commit index {index}, of a log from {commit} to {last}")));
                }
                self.commit = index;
            }
            GroupRecord::Snapshot(snapshot) => self.push_snapshot(snapshot)?,
        }
        Ok(())
    }

    fn push_entry(&mut self, entry: PlacedEntry, is_committed: bool) -> Result<(), DecodeError> {
        let index = entry.index;
        if index <= self.commit {
            return Err(invalid(format!("entry {index} replaces what is committed up to {}", self.commit)));
        }
        if index > self.last().next() {
            return Err(invalid(format!("entry {index} follows entry {}", self.last())));
        }
        let kept = usize::try_from(index.0 - self.first().0 - 1).expect("no more than there are");
        self.entries.truncate(kept);
        self.entries.push(entry);
        if is_committed {
            self.commit = index;
        }
        Ok(())
    }

    fn push_snapshot(&mut self, snapshot: Snapshot) -> Result<(), DecodeError> {
        let (index, term) = (snapshot.origin.index, snapshot.origin.term);
        if index < self.first() {
            return Err(invalid(format!("a snapshot of index {index} follows one of {}", self.first())));
        }
        // Entries after it stay where the log agrees with it.
        let place = index.0.checked_sub(self.first().0 + 1).and_then(|place| usize::try_from(place).ok());
        let agrees = match place {
            None => self.snapshot.as_ref().is_none_or(|own| own.origin.term == term),
            Some(place) => self.entries.get(place).is_some_and(|entry| entry.term == term),
        };
        let kept = if agrees { self.entries.split_off(place.map_or(0, |place| place + 1)) } else { Vec::new() };
        self.entries = kept;
        self.commit = self.commit.max(index);
        self.snapshot = Some(snapshot);
        Ok(())
    }

    /// The index that the entries follow.
    fn first(&self) -> Index {
        self.snapshot.as_ref().map_or(Index(0), |snapshot| snapshot.origin.index)
    }

    /// The last index.
    fn last(&self) -> Index {
        self.entries.last().map_or(self.first(), |entry| entry.index)
    }

    /// Where the log ends: the term of its last entry, and its index.
    pub fn end(&self) -> (Term, Index) {
        let term = self.entries.last().map(|entry| entry.term);
        let of_snapshot = self.snapshot.as_ref().map(|snapshot| snapshot.origin.term);
        (term.or(of_snapshot).unwrap_or_default(), self.last())
    }

    /// The records by which this node begins the next incarnation of its group, after a majority of the voters was lost for good: alone, with all that its
    /// log has, committed or not, since what it has later than others may have been committed by those that are lost. `None` for a node of no group.
    pub(crate) fn recovery(
        &self,
        node: NodeId,
        incarnation: u64,
        domains: &Domains,
    ) -> Result<Option<[GroupRecord; 2]>, DecodeError> {
        let (Some(group), Some(own)) = (self.group, &self.snapshot) else { return Ok(None) };
        let cluster = ClusterState::of_parts(domains, own.parts.clone())?;
        let mut state = GroupState::of_snapshot(own.origin.index, cluster, own.recent.clone());
        state.apply(&self.entries)?;
        let configuration = raft::Configuration::new([node]).expect("there is a voter");
        let term = self.vote.term.max(self.end().0).next();
        let origin = Origin { index: state.epoch(), term, leader: Some(node), configuration };
        let snapshot = Snapshot { origin, recent: state.recent().collect(), parts: state.cluster().snapshot_parts() };
        Ok(Some([GroupRecord::Group(GroupId { incarnation, ..group }), GroupRecord::Snapshot(snapshot)]))
    }

    /// True if the node is the only voter, and was the only one at the last snapshot.
    pub(crate) fn is_alone(&self, node: NodeId) -> bool {
        let Some(snapshot) = &self.snapshot else { return false };
        let is_voters = |entry: &PlacedEntry| matches!(entry.payload, Payload::Voters(_));
        snapshot.origin.configuration.is_only(node) && !self.entries.iter().any(is_voters)
    }

    /// The commit index, as far as the node knew durably.
    pub fn commit(&self) -> Index {
        self.commit
    }

    /// The latest term that the node has seen.
    pub fn term(&self) -> Term {
        self.vote.term
    }

    /// The cluster's state with all that is committed. `None` without a snapshot, with which each member of a group begins.
    pub fn state(&self, domains: &Domains) -> Result<Option<GroupState>, DecodeError> {
        let Some(Snapshot { origin, recent, parts }) = &self.snapshot else { return Ok(None) };
        let cluster = ClusterState::of_parts(domains, parts.clone())?;
        let mut state = GroupState::of_snapshot(origin.index, cluster, recent.clone());
        state.apply(self.entries.iter().take_while(|entry| entry.index <= self.commit))?;
        Ok(Some(state))
    }

    /// The state of the consensus core, and the cluster's state with all that is committed. `None` for a node that never had a snapshot: it is of no group.
    pub fn restore(
        self,
        id: NodeId,
        options: raft::Options,
        domains: &Domains,
    ) -> Result<Option<(Raft, GroupState)>, DecodeError> {
        let Some(state) = self.state(domains)? else { return Ok(None) };
        let Some(Snapshot { origin, .. }) = self.snapshot else { return Ok(None) };
        let log = Log::new(origin, self.entries).map_err(|error| invalid(error.to_string()))?;
        let last_term = log.last_term();
        // A founder has voted for no node: its term is that of its snapshot, and a start has nothing to write.
        let vote = match self.vote.term < last_term {
            true => Vote { term: last_term, voted_for: None },
            false => self.vote,
        };
        let restart = Restart { id, vote, log, commit: self.commit, applied: self.commit, is_lost: self.is_lost };
        Ok(Some((Raft::restart(restart, options), state)))
    }

    /// The fewest records with the same meaning, given the state at the commit index.
    pub(crate) fn compacted(&self, state: &GroupState) -> Vec<GroupRecord> {
        assert_eq!(state.epoch(), self.commit, "a snapshot has what is committed");
        let Some(own) = &self.snapshot else { return Vec::new() };
        let mut log = Log::new(own.origin.clone(), self.entries.clone()).expect("each was checked when it was found");
        log.compact(self.commit).expect("the commit index is within the log");
        let parts = state.cluster().snapshot_parts();
        let snapshot = Snapshot { origin: log.origin().clone(), recent: state.recent().collect(), parts };
        let group = self.group.map(GroupRecord::Group);
        let vote = GroupRecord::Vote { vote: self.vote, is_lost: self.is_lost };
        let vote = (self.vote != Vote::default() || self.is_lost).then_some(vote);
        let entries = log.entries().iter().cloned();
        let entries = entries.map(|entry| GroupRecord::Entry { entry, is_committed: false });
        group.into_iter().chain(vote).chain([GroupRecord::Snapshot(snapshot)]).chain(entries).collect()
    }
}

/// The records by which a node founds a group: alone, as the leader of term 1, with a state that it brings along.
pub fn founding(group: GroupId, id: NodeId, epoch: Index, cluster: &ClusterState) -> [GroupRecord; 2] {
    let configuration = raft::Configuration::new([id]).expect("there is a voter");
    let origin = Origin { index: epoch, term: Term(1), leader: Some(id), configuration };
    let snapshot = Snapshot { origin, recent: Vec::new(), parts: cluster.snapshot_parts() };
    [GroupRecord::Group(group), GroupRecord::Snapshot(snapshot)]
}
