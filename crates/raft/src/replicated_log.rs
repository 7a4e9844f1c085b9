//! A voter's copy of the replicated log: its entries, and up to where they are committed, applied and durable.
//!
//! It is where a leader's entries are accepted or refused. Invariants: the commit index is within the log and never falls; an entry at or below it is
//! never cut off; no entry is applied before it is committed; once the log is known to be lost, it accepts nothing of a leader, and learns what is
//! committed alone. It does not know who leads or who else has an entry: whoever raises the commit index answers for the majority.

use planted::{Bug, Planted};

use crate::configuration::Configuration;
use crate::entry::{Entry, Index, NodeId, Payload, Term};
use crate::log::{self, Log, LogError, Origin};
use crate::ready::Trouble;

/// The log and its indices. `applied` and `durable` are as the driver said last.
#[derive(Debug, Clone)]
pub(crate) struct ReplicatedLog {
    log: Log,
    commit: Index,
    /// Entries up to here were given out as committed.
    applied: Index,
    /// Entries up to here are on the disk.
    durable: Index,
    /// The log is not the one that the node acknowledged: it ends earlier, or its disk is older than it was.
    is_lost: bool,
    planted: Planted,
}

/// The outcome of a leader's entries.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Accepted {
    /// The log is the leader's up to here.
    Appended { matched: Index },
    /// The log is not the leader's at the place before the entries. It may be at the hint.
    Diverged { hint: Index, hint_term: Term },
    /// The leader asks to replace what is committed, from here on.
    Conflict { index: Index, term: Term },
    /// The entries are no part of a log.
    Ignored,
}

impl ReplicatedLog {
    /// A log as the disk has it, and up to where it is known to be committed and applied. A commit index beyond the log's end is a trouble: the disk has
    /// lost entries that the node acknowledged.
    pub(crate) fn at_start(
        log: Log,
        known: (Index, Index),
        is_lost: bool,
        planted: Planted,
    ) -> (ReplicatedLog, Option<Trouble>) {
        let (first, last) = (log.origin().index, log.last_index());
        let trouble = (known.0 > last && !is_lost).then_some(Trouble::LostOwnLog { last, acknowledged: known.0 });
        let commit = known.0.max(first).min(last);
        let applied = known.1.max(first).min(commit);
        let is_lost = is_lost || trouble.is_some();
        (ReplicatedLog { commit, applied, durable: last, is_lost, planted, log }, trouble)
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    pub(crate) fn commit(&self) -> Index {
        self.commit
    }

    pub(crate) fn durable(&self) -> Index {
        self.durable
    }

    pub(crate) fn last_index(&self) -> Index {
        self.log.last_index()
    }

    /// The voters in force: those of the last change in the log, committed or not.
    pub(crate) fn configuration(&self) -> &Configuration {
        self.log.configuration()
    }

    /// True if the last change of the voters is committed.
    pub(crate) fn is_configuration_committed(&self) -> bool {
        self.log.configuration_index() <= self.commit
    }

    /// True if the node votes in the last configuration that is committed, or in a later one. A node that has the end of its own vote in its log alone may
    /// be the only one that can lead: others need its vote, and have the earlier log (Ongaro's thesis, §4.2.2).
    pub(crate) fn may_need(&self, node: NodeId) -> bool {
        let later = self.log.from(self.commit.next()).unwrap_or_default();
        let is_of = |entry: &Entry| matches!(&entry.payload, Payload::Voters(voters) if voters.has(node));
        self.log.configuration_at(self.commit).has(node) || later.iter().any(is_of)
    }

    /// True if an entry of the term is committed: its leader knows all that was committed before.
    pub(crate) fn has_committed_of(&self, term: Term) -> bool {
        self.log.term(self.commit) == Some(term)
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The log is an older one than the node had. False if that was known.
    pub(crate) fn lose(&mut self) -> bool {
        !std::mem::replace(&mut self.is_lost, true)
    }

    /// True if the node led the term in which its log ends, and needs no other voter to go on.
    pub(crate) fn is_of_lone_leader(&self, node: NodeId, term: Term) -> bool {
        let led = self.log.last_term() == term && self.log.leader_of_last_term() == Some(node);
        led && self.configuration().is_only(node) && !self.is_lost
    }

    /// Appends a leader's own entry.
    pub(crate) fn append(&mut self, term: Term, payload: Payload) -> Index {
        let index = self.log.last_index().next();
        self.log.push(Entry { term, index, payload }).expect("it is the next of the latest term");
        index
    }

    /// Accepts the entries of the leader of `term`, which follow its entry at `previous`, and commits them up to `commit`. Nothing that a leader
    /// sends makes it panic.
    pub(crate) fn accept(
        &mut self,
        previous: (Index, Term),
        entries: Vec<Entry>,
        commit: Index,
        term: Term,
    ) -> Accepted {
        let (previous_index, previous_term) = previous;
        let known = self.log.term(previous_index);
        if known.is_none() && previous_index < self.commit {
            // A snapshot stands for it here: what is committed is the same everywhere.
            return Accepted::Appended { matched: self.commit };
        }
        if known != Some(previous_term) {
            return self.hint(previous_index, previous_term);
        }
        if !log::is_sequence(previous, &entries, term) {
            return Accepted::Ignored;
        }
        let end = entries.last().map_or(previous_index, |entry| entry.index);
        let first_new = entries.iter().position(|entry| self.log.term(entry.index) != Some(entry.term));
        let new = first_new.map_or(&[][..], |first| &entries[first..]);
        if let Some(Entry { index, term, .. }) = new.first() {
            if *index <= self.commit && !self.planted.is(Bug::CommittedCutOff) {
                return Accepted::Conflict { index: *index, term: *term };
            }
            self.cut(*index);
        }
        for entry in new {
            self.log.push(entry.clone()).expect("they follow each other");
        }
        self.commit_to(commit.min(end));
        Accepted::Appended { matched: end }
    }

    /// Accepts entries that are committed, which follow the entry at `previous`, up to a last one of at most `term`.
    pub(crate) fn learn(
        &mut self,
        previous: (Index, Term),
        mut entries: Vec<Entry>,
        term: Term,
    ) -> Result<(), LogError> {
        let mut previous = previous;
        if previous.0 < self.commit {
            // Up to the commit index the log is the same everywhere.
            entries.retain(|entry| entry.index > self.commit);
            previous = (self.commit, self.log.term(self.commit).expect("the commit index is within the log"));
        }
        let end = entries.last().map_or(previous.0, |entry| entry.index);
        match self.accept(previous, entries, end, term) {
            Accepted::Appended { .. } => Ok(()),
            Accepted::Diverged { .. } | Accepted::Conflict { .. } | Accepted::Ignored => {
                Err(LogError { index: self.commit })
            }
        }
    }

    /// The last place before `index` whose term is not after `term`: there this log may agree with one that has `term` at `index`.
    fn hint(&self, index: Index, term: Term) -> Accepted {
        let mut hint = index.previous().min(self.log.last_index());
        while hint > self.commit && self.log.term(hint).is_some_and(|at| at > term) {
            hint = hint.previous();
        }
        Accepted::Diverged { hint, hint_term: self.log.term(hint).unwrap_or_default() }
    }

    /// Cuts the log off from an index on, which is above the commit index.
    fn cut(&mut self, index: Index) {
        assert!(index > self.commit, "what is committed is never cut off");
        self.log.cut(index);
        self.durable = self.durable.min(index.previous());
    }

    /// Cuts off what is not durable, if those are changes alone. False, and nothing is cut off, otherwise.
    pub(crate) fn withdraw(&mut self) -> bool {
        let is_change = |entry: &Entry| matches!(entry.payload, Payload::Change(_));
        let may = self.commit <= self.durable && self.to_write().iter().all(is_change);
        if may && self.durable < self.log.last_index() {
            self.cut(self.durable.next());
        }
        may
    }

    /// Raises the commit index to one within the log. True if it rose.
    pub(crate) fn commit_to(&mut self, index: Index) -> bool {
        let before = self.commit;
        self.commit = self.commit.max(index.min(self.log.last_index()));
        self.commit > before
    }

    /// Commits up to a place that this node acknowledged to its leader. Where its log has another entry there, or none, the log was lost since, or is
    /// an older one: that is the trouble.
    pub(crate) fn commit_acknowledged(&mut self, place: Index, term: Term) -> Option<Trouble> {
        if self.is_lost || place == Index(0) {
            return None;
        }
        let is_in_snapshot = place < self.log.origin().index;
        if is_in_snapshot || self.log.term(place) == Some(term) {
            self.commit_to(place);
            return None;
        }
        self.is_lost = true;
        Some(Trouble::LostOwnLog { last: self.log.last_index(), acknowledged: place })
    }

    /// The entries that the disk does not have yet.
    pub(crate) fn to_write(&self) -> &[Entry] {
        self.log.from(self.durable.next()).unwrap_or_default()
    }

    /// The committed entries that were not given out yet.
    pub(crate) fn to_apply(&self) -> &[Entry] {
        let following = self.log.from(self.applied.next()).unwrap_or_default();
        &following[..following.partition_point(|entry| entry.index <= self.commit)]
    }

    /// The commit index, if it is above what was applied.
    pub(crate) fn commit_to_apply(&self) -> Option<Index> {
        (self.commit > self.applied).then_some(self.commit)
    }

    /// True if the disk has all entries, and all that are committed are applied.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.durable == self.log.last_index() && self.applied == self.commit
    }

    /// The disk has these entries. Those that were cut off meanwhile are not durable as they are now.
    pub(crate) fn written(&mut self, entries: &[Entry]) {
        let is_as_written = |entry: &&Entry| self.log.term(entry.index) == Some(entry.term);
        if let Some(last) = entries.iter().rev().find(is_as_written) {
            self.durable = self.durable.max(last.index);
        }
    }

    /// The driver has applied what is committed up to here.
    pub(crate) fn applied(&mut self, commit: Index) {
        self.applied = commit;
    }

    /// Gives the log a new beginning, which is committed. True if entries that did not fit were dropped for it.
    pub(crate) fn restore(&mut self, origin: Origin) -> Result<bool, LogError> {
        let index = origin.index;
        let fits = self.log.term(index) == Some(origin.term);
        let replaces_committed = index == self.commit && !fits && index > Index(0);
        if index < self.commit || replaces_committed {
            return Err(LogError { index });
        }
        if fits {
            self.commit_to(index);
            // The state has them, and on the disk a snapshot stands for them.
            (self.applied, self.durable) = (self.applied.max(index), self.durable.max(index));
            return Ok(false);
        }
        self.log = Log::new(origin, Vec::new())?;
        (self.commit, self.applied, self.durable) = (index, index, index);
        Ok(true)
    }

    /// Has a snapshot stand for the log up to an index that was applied.
    pub(crate) fn compact(&mut self, index: Index) -> Result<(), LogError> {
        if index > self.applied || index > self.durable {
            return Err(LogError { index });
        }
        self.log.compact(index)
    }

    /// The invariants, after every step. `term`: the node's latest.
    pub(crate) fn check(&self, term: Term) {
        let (first, last) = (self.log.origin().index, self.log.last_index());
        assert!(first <= self.commit && self.commit <= last, "the commit index is within the log");
        assert!(self.applied <= self.commit, "only what is committed is applied");
        assert!(self.durable <= last, "only what the log has is durable");
        assert!(self.log.last_term() <= term, "no entry is of a term that is not known");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of terms 1, 1, 2 after an empty beginning; the first is committed.
    fn log() -> ReplicatedLog {
        let configuration = Configuration::new([NodeId(1)]).expect("there is a voter");
        let origin = Origin { index: Index(0), term: Term(0), leader: None, configuration };
        let log = Log::new(origin, vec![entry(1, 1), entry(2, 1), entry(3, 2)]).expect("they follow each other");
        ReplicatedLog::at_start(log, (Index(1), Index(0)), false, Planted::NONE).0
    }

    fn entry(index: u64, term: u64) -> Entry {
        Entry { term: Term(term), index: Index(index), payload: Payload::Change([].into()) }
    }

    fn place(index: u64, term: u64) -> (Index, Term) {
        (Index(index), Term(term))
    }

    #[test]
    fn entries_that_are_no_sequence_cut_nothing_off() {
        let falls = vec![entry(2, 3), entry(3, 2)];
        let has_gap = vec![entry(2, 3), entry(4, 3)];
        for entries in [falls, has_gap, vec![entry(2, 4)], vec![entry(2, 0)], vec![entry(u64::MAX, 3)]] {
            let mut log = log();
            assert_eq!(log.accept(place(1, 1), entries, Index(9), Term(3)), Accepted::Ignored);
            assert_eq!((log.last_index(), log.durable(), log.commit()), (Index(3), Index(3), Index(1)));
        }
    }

    #[test]
    fn entries_replace_those_that_differ_above_the_commit_index() {
        let mut log = log();
        let accepted = log.accept(place(1, 1), vec![entry(2, 1), entry(3, 3)], Index(2), Term(3));
        assert_eq!(accepted, Accepted::Appended { matched: Index(3) });
        assert_eq!((log.log().term(Index(3)), log.durable(), log.commit()), (Some(Term(3)), Index(2), Index(2)));
        let refused = log.accept(place(1, 1), vec![entry(2, 3)], Index(2), Term(3));
        assert_eq!(refused, Accepted::Conflict { index: Index(2), term: Term(3) });
        let diverged = log.accept(place(9, 2), vec![], Index(9), Term(3));
        assert_eq!(diverged, Accepted::Diverged { hint: Index(2), hint_term: Term(1) });
        log.check(Term(3));
    }

    #[test]
    fn committed_entries_of_any_node_are_accepted_where_they_follow() {
        let mut log = log();
        assert_eq!(log.learn(place(3, 3), vec![entry(4, 3)], Term(3)), Err(LogError { index: Index(1) }));
        assert_eq!(log.learn(place(9, 1), vec![entry(10, 3)], Term(3)), Err(LogError { index: Index(1) }));
        // What is committed already is passed over; the entry of term 2 was not.
        assert_eq!(log.learn(place(0, 0), vec![entry(1, 1), entry(2, 1), entry(3, 3)], Term(3)), Ok(()));
        assert_eq!((log.log().term(Index(3)), log.commit(), log.durable()), (Some(Term(3)), Index(3), Index(2)));
        assert_eq!(log.learn(place(1, 1), vec![entry(2, 1)], Term(3)), Ok(()));
        assert_eq!(log.learn(place(3, 3), vec![entry(5, 3)], Term(3)), Err(LogError { index: Index(3) }));
        assert_eq!((log.last_index(), log.commit()), (Index(3), Index(3)));
        log.check(Term(3));
    }

    #[test]
    fn a_new_beginning_replaces_nothing_that_is_committed() {
        let mut log = log();
        let mut origin = Origin { index: Index(1), term: Term(2), ..log.log().origin().clone() };
        assert_eq!(log.restore(origin.clone()), Err(LogError { index: Index(1) }));
        (origin.index, origin.term) = place(2, 1);
        assert_eq!(log.restore(origin.clone()), Ok(false));
        assert_eq!((log.commit(), log.last_index()), (Index(2), Index(3)));
        assert_eq!((log.commit_to_apply(), log.to_apply()), (None, &[][..]), "the snapshot's state has it");
        (origin.index, origin.term) = place(3, 3);
        assert_eq!(log.restore(origin), Ok(true));
        assert_eq!((log.commit(), log.last_index(), log.durable()), (Index(3), Index(3), Index(3)));
        log.check(Term(3));
    }
}
