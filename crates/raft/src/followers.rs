//! A leader's followers: the other voters of the configuration in force, and the majorities that they make with the leader.
//!
//! There is a progress for each other voter of either half, and for no other node. The leader counts itself where the configuration has it: it hears
//! and confirms itself, and has what is durable on its own disk. Nothing is decided here.

use std::collections::BTreeMap;

use crate::configuration::Configuration;
use crate::entry::{Index, NodeId, Term};
use crate::progress::Progress;
use crate::replicated_log::ReplicatedLog;

/// The progress of each follower.
#[derive(Debug, Clone)]
pub(crate) struct Followers {
    own: NodeId,
    progress: BTreeMap<NodeId, Progress>,
}

/// A follower, and the place up to which it has what is committed: index and term. An index of 0 says nothing.
pub(crate) type CommittedPlace = (NodeId, Index, Term);

impl Followers {
    /// The other voters of the configuration, whose logs may end where the leader's does.
    pub(crate) fn new(own: NodeId, log: &ReplicatedLog) -> Followers {
        let mut followers = Followers { own, progress: BTreeMap::new() };
        followers.add_voters(log.configuration(), log.last_index());
        followers
    }

    /// Follows a change of the voters by the log's last entry, which no follower has yet.
    pub(crate) fn change(&mut self, log: &ReplicatedLog) {
        self.progress.retain(|node, _| log.configuration().has(*node));
        self.add_voters(log.configuration(), log.last_index().previous());
    }

    fn add_voters(&mut self, configuration: &Configuration, last: Index) {
        for node in configuration.voters().filter(|node| *node != self.own) {
            self.progress.entry(node).or_insert_with(|| Progress::new(last));
        }
    }

    /// The followers, ascending.
    pub(crate) fn nodes(&self) -> Vec<NodeId> {
        self.progress.keys().copied().collect()
    }

    /// Each follower with its progress, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (NodeId, &Progress)> {
        self.progress.iter().map(|(node, progress)| (*node, progress))
    }

    /// The follower's progress, if the node is a follower.
    pub(crate) fn get_mut(&mut self, node: NodeId) -> Option<&mut Progress> {
        self.progress.get_mut(&node)
    }

    /// The same, if its log is not lost.
    pub(crate) fn intact_mut(&mut self, node: NodeId) -> Option<&mut Progress> {
        self.get_mut(node).filter(|of| !of.is_lost())
    }

    /// True if the node is a follower and has not lost its log.
    pub(crate) fn is_intact(&self, node: NodeId) -> bool {
        self.progress.get(&node).is_some_and(|of| !of.is_lost())
    }

    /// True if the follower has the log up to `last`.
    pub(crate) fn has_all(&self, node: NodeId, last: Index) -> bool {
        self.progress.get(&node).is_some_and(|of| of.matched() == last)
    }

    /// The highest index that a majority of each half has durably. `only_one_half`: as a planted bug counts it.
    pub(crate) fn matched(&self, log: &ReplicatedLog, only_one_half: bool) -> Index {
        let of_node = |node| match node == self.own {
            true => log.durable(),
            false => self.progress.get(&node).map_or(Index(0), Progress::matched),
        };
        log.configuration().matched(of_node, only_one_half)
    }

    /// True if a majority of each half answered a heartbeat of that round or a later one.
    pub(crate) fn confirm(&self, round: u64, configuration: &Configuration) -> bool {
        self.is_quorum(configuration, |of| of.confirms(round))
    }

    /// True if a majority of each half was heard since the last check. Begins the time until the next one.
    pub(crate) fn check_quorum(&mut self, configuration: &Configuration) -> bool {
        let is_heard = self.is_quorum(configuration, Progress::is_heard);
        self.progress.values_mut().for_each(Progress::checked);
        is_heard
    }

    fn is_quorum(&self, configuration: &Configuration, says_yes: impl Fn(&Progress) -> bool) -> bool {
        configuration.is_quorum(|node| node == self.own || self.progress.get(&node).is_some_and(&says_yes))
    }

    /// The place to name to each follower, or only to those that have more of what is committed than they were sent word of.
    pub(crate) fn committed_places(&mut self, log: &ReplicatedLog, only_owed: bool) -> Vec<CommittedPlace> {
        let commit = log.commit();
        let due = self.progress.iter_mut().filter(|(_, of)| !only_owed || of.is_owed_commit(commit));
        let place = |(node, of): (&NodeId, &mut Progress)| {
            of.commit_sent(commit);
            let index = of.committed(commit);
            // Of a follower that ends far before the leader's snapshot nothing can be said.
            log.log().term(index).map_or((*node, Index(0), Term(0)), |term| (*node, index, term))
        };
        due.map(place).collect()
    }

    /// The invariants, after every step.
    pub(crate) fn check(&self, log: &ReplicatedLog) {
        self.progress.values().for_each(|of| of.check(log.last_index()));
    }
}
