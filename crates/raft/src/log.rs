//! The entries of a log: those that a snapshot stands for, and those after it.
//!
//! Entries follow each other without gaps, and their terms never fall; no input makes it panic. The log does not know what is committed or durable:
//! see `replicated_log.rs`.

use std::fmt;

use crate::configuration::Configuration;
use crate::entry::{Entry, Index, NodeId, Payload, Term};

/// The log up to some index, without its entries: a snapshot has their outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The last index that it stands for.
    pub index: Index,
    /// The last entry's term.
    pub term: Term,
    /// The leader of that term; none before the first.
    pub leader: Option<NodeId>,
    /// The voters as of that index.
    pub configuration: Configuration,
}

/// Entries do not follow each other as a log's must.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogError {
    /// The place that an entry should have, or that is committed and would be cut off.
    pub index: Index,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the log's entries do not fit together at index {}", self.index)
    }
}

impl std::error::Error for LogError {}

/// The log. Entries follow the origin without gaps, and their terms never fall.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Log {
    origin: Origin,
    entries: Vec<Entry>,
}

impl Log {
    /// A log of `entries` after `origin`.
    pub fn new(origin: Origin, entries: Vec<Entry>) -> Result<Log, LogError> {
        let mut log = Log { origin, entries: Vec::new() };
        for entry in entries {
            log.push(entry)?;
        }
        Ok(log)
    }

    /// Appends the entry that comes next.
    pub fn push(&mut self, entry: Entry) -> Result<(), LogError> {
        if entry.index != self.last_index().next() || entry.term < self.last_term() {
            return Err(LogError { index: self.last_index().next() });
        }
        self.entries.push(entry);
        Ok(())
    }

    /// The beginning.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The entries after the origin.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The last index.
    pub fn last_index(&self) -> Index {
        self.entries.last().map_or(self.origin.index, |entry| entry.index)
    }

    /// The last entry's term.
    pub fn last_term(&self) -> Term {
        self.entries.last().map_or(self.origin.term, |entry| entry.term)
    }

    /// The term at an index; `None` outside of the log, or where only the snapshot knows.
    pub fn term(&self, index: Index) -> Option<Term> {
        match index == self.origin.index {
            true => Some(self.origin.term),
            false => self.entry(index).map(|entry| entry.term),
        }
    }

    /// The entry at an index.
    pub fn entry(&self, index: Index) -> Option<&Entry> {
        let place = index.0.checked_sub(self.origin.index.0)?.checked_sub(1)?;
        self.entries.get(usize::try_from(place).ok()?)
    }

    /// The entries from an index on; `None` where the log begins later.
    pub fn from(&self, index: Index) -> Option<&[Entry]> {
        let place = index.0.checked_sub(self.origin.index.0)?.checked_sub(1)?;
        self.entries.get(usize::try_from(place).ok()?..)
    }

    /// Removes the entries from an index on.
    pub fn cut(&mut self, index: Index) {
        let kept = index.0.saturating_sub(self.origin.index.0).saturating_sub(1);
        self.entries.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
    }

    /// Has a snapshot stand for what is up to `index`, which must be in the log.
    pub fn compact(&mut self, index: Index) -> Result<(), LogError> {
        let Some(term) = self.term(index) else { return Err(LogError { index }) };
        let origin = Origin {
            index,
            term,
            leader: self.leader_of_term_at(index),
            configuration: self.configuration_at(index).clone(),
        };
        let kept = self.from(index.next()).unwrap_or_default().to_vec();
        *self = Log { origin, entries: kept };
        Ok(())
    }

    /// The voters as the whole log says.
    pub fn configuration(&self) -> &Configuration {
        self.configuration_at(self.last_index())
    }

    /// The voters as of an index.
    pub fn configuration_at(&self, index: Index) -> &Configuration {
        self.last_configuration(index).map_or(&self.origin.configuration, |(_, configuration)| configuration)
    }

    /// Where the last change of the voters stands.
    pub fn configuration_index(&self) -> Index {
        self.last_configuration(self.last_index()).map_or(self.origin.index, |(index, _)| index)
    }

    fn last_configuration(&self, index: Index) -> Option<(Index, &Configuration)> {
        let until = self.entries.iter().rev().skip_while(|entry| entry.index > index);
        until.into_iter().find_map(|entry| match &entry.payload {
            Payload::Voters(configuration) => Some((entry.index, configuration)),
            _ => None,
        })
    }

    /// The leader of the last entry's term, as the log says.
    pub fn leader_of_last_term(&self) -> Option<NodeId> {
        self.leader_of_term_at(self.last_index())
    }

    fn leader_of_term_at(&self, index: Index) -> Option<NodeId> {
        let term = self.term(index)?;
        let lead = self.entries.iter().rev().find_map(|entry| match entry.payload {
            Payload::Lead(node) if entry.term == term => Some(node),
            _ => None,
        });
        // The lead entry is compacted away, or there is none: a founder leads its first term.
        if lead.is_none() && term == self.origin.term { self.origin.leader } else { lead }
    }

    /// True if a log that ends so has all that this one has, or may have in its place.
    pub fn is_behind_or_level(&self, last_index: Index, last_term: Term) -> bool {
        (last_term, last_index) >= (self.last_term(), self.last_index())
    }
}

/// True if the entries follow `previous` without gaps, and their terms neither fall nor pass the leader's.
pub(crate) fn is_sequence(previous: (Index, Term), entries: &[Entry], leader_term: Term) -> bool {
    let mut before = previous;
    entries.iter().all(|entry| {
        let follows = entry.index == before.0.next() && entry.term >= before.1 && entry.term <= leader_term;
        before = (entry.index, entry.term);
        follows
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voters(ids: &[u128]) -> Configuration {
        Configuration::new(ids.iter().copied().map(NodeId)).expect("there are voters")
    }

    fn entry(index: u64, term: u64, payload: Payload) -> Entry {
        Entry { term: Term(term), index: Index(index), payload }
    }

    fn log() -> Log {
        let origin = Origin { index: Index(4), term: Term(2), leader: Some(NodeId(1)), configuration: voters(&[1]) };
        let entries = vec![
            entry(5, 2, Payload::Voters(voters(&[1, 2, 3]))),
            entry(6, 3, Payload::Lead(NodeId(2))),
            entry(7, 3, Payload::Change([7].into())),
        ];
        Log::new(origin, entries).expect("they follow each other")
    }

    #[test]
    fn terms_and_entries_are_found_by_index() {
        let log = log();
        let term = |index| log.term(Index(index)).map(|term| term.0);
        assert_eq!([term(3), term(4), term(5), term(7), term(8)], [None, Some(2), Some(2), Some(3), None]);
        assert_eq!((log.last_index(), log.last_term()), (Index(7), Term(3)));
        assert_eq!(log.from(Index(7)).map(<[Entry]>::len), Some(1));
        assert_eq!(log.from(Index(8)).map(<[Entry]>::len), Some(0));
        assert_eq!((log.from(Index(4)), log.from(Index(9))), (None, None));
    }

    #[test]
    fn a_gap_or_a_falling_term_is_refused() {
        let mut log = log();
        assert_eq!(log.push(entry(9, 3, Payload::Lead(NodeId(1)))), Err(LogError { index: Index(8) }));
        assert_eq!(log.push(entry(8, 2, Payload::Lead(NodeId(1)))), Err(LogError { index: Index(8) }));
        assert_eq!(log.push(entry(8, 4, Payload::Lead(NodeId(1)))), Ok(()));
    }

    #[test]
    fn the_voters_are_those_of_the_last_change_that_is_left() {
        let mut log = log();
        assert_eq!((log.configuration(), log.configuration_index()), (&voters(&[1, 2, 3]), Index(5)));
        log.cut(Index(5));
        assert_eq!((log.configuration(), log.configuration_index()), (&voters(&[1]), Index(4)));
        assert_eq!(log.last_index(), Index(4));
    }

    #[test]
    fn compaction_keeps_term_leader_and_voters() {
        let mut log = log();
        assert_eq!(log.leader_of_last_term(), Some(NodeId(2)));
        log.compact(Index(6)).expect("it is there");
        let origin = log.origin();
        assert_eq!((origin.index, origin.term, origin.leader), (Index(6), Term(3), Some(NodeId(2))));
        assert_eq!((log.configuration(), log.entries().len()), (&voters(&[1, 2, 3]), 1));
        assert_eq!(log.leader_of_last_term(), Some(NodeId(2)));
        assert_eq!(log.compact(Index(9)), Err(LogError { index: Index(9) }));
    }
}
