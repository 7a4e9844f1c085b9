//! A sink that knows how far a read came: where its replica fails in the middle, another goes on after that place.

use mutation::{ClusteringRef, LiveRow, Position, TombstoneRule};
use schema::Table;
use storage::reader::row_position;
use storage::{Flow, RowSink};
use topology::Token;

/// Passes all on to another sink, and keeps the place of the last row.
pub(super) struct Reached<'s, S> {
    sink: &'s mut S,
    token: Token,
    key: Vec<u8>,
    clustering: Vec<u8>,
    has_row: bool,
    /// The sink wants no more of the present partition.
    is_skipped: bool,
    /// The last partition before the present one.
    before: Option<(Token, Vec<u8>)>,
    is_begun: bool,
}

impl<'s, S: RowSink> Reached<'s, S> {
    /// Nothing was given yet.
    pub(super) fn new(sink: &'s mut S) -> Self {
        let (key, clustering) = (Vec::new(), Vec::new());
        let (has_row, is_skipped, before, is_begun) = (false, false, None, false);
        Reached { sink, token: Token::MIN, key, clustering, has_row, is_skipped, before, is_begun }
    }

    fn passed(&mut self, give: impl FnOnce(&mut S) -> Flow) -> Flow {
        let flow = give(self.sink);
        self.is_skipped |= flow == Flow::SkipPartition;
        flow
    }

    /// The place after which a read goes on; `None`: where it began.
    pub(super) fn position(&self, table: &Table) -> Option<Position> {
        if self.is_skipped {
            return Some(Position { token: self.token, key: self.key.clone(), row: None });
        }
        if self.has_row {
            let clustering = ClusteringRef::trusted(&self.clustering);
            return Some(row_position(table, self.token, &self.key, clustering));
        }
        self.before.clone().map(|(token, key)| Position { token, key, row: None })
    }
}

impl<S: RowSink> RowSink for Reached<'_, S> {
    fn partition(&mut self, token: Token, key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        if !self.is_begun || self.token != token || self.key != key {
            if self.is_begun {
                self.before = Some((self.token, std::mem::take(&mut self.key)));
            }
            (self.is_begun, self.token, self.has_row, self.is_skipped) = (true, token, false, false);
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        self.passed(|sink| sink.partition(token, key, static_row))
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        self.has_row = true;
        self.clustering.clear();
        self.clustering.extend_from_slice(clustering.bytes());
        self.passed(|sink| sink.row(clustering, row))
    }

    fn tombstones(&mut self, token: Token, count: impl FnOnce(&TombstoneRule<'_>) -> u32) -> Flow {
        self.sink.tombstones(token, count)
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }
}
