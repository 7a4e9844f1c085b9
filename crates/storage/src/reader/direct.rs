//! Data of one file on its way to a sink without a merge.

use mutation::{ClusteringRef, Deletion, Position, RowRef};
use schema::Table;
use topology::{Sharder, Token};

use crate::reader::output::{Live, Output, Partition};
use crate::reader::place::row_position;
use crate::sink::{DataSink, Flow, RowSink};

/// Rows of a partition that are read in vain, before the read goes on behind it: to find the next partition takes longer than to
/// read a few rows.
const PASSED_OVER_MAX: u32 = 256;

/// Gives a sink what lives of data that nothing is merged into.
pub(super) struct Direct<'d, 's, S> {
    live: &'d mut Live<'s, S>,
    table: &'d Table,
    partition: Partition,
    is_begun: bool,
    range: Option<Deletion>,
    /// Rows passed over, once the sink wants no more of the partition.
    passed_over: Option<u32>,
    stopped: Option<Position>,
}

impl<'d, 's, S: RowSink> Direct<'d, 's, S> {
    pub(super) fn new(live: &'d mut Live<'s, S>, table: &'d Table) -> Self {
        Direct {
            live,
            table,
            partition: Partition::none(),
            is_begun: false,
            range: None,
            passed_over: None,
            stopped: None,
        }
    }

    /// Where the sink stopped.
    pub(super) fn stopped(&mut self) -> Option<Position> {
        self.stopped.take()
    }

    /// The place behind the partition of which the sink wants no more.
    pub(super) fn behind_skipped(&mut self) -> Option<Position> {
        self.passed_over.take().map(|_| self.behind_partition())
    }

    fn behind_partition(&self) -> Position {
        Position { token: self.partition.token, key: self.partition.key.clone(), row: None }
    }
}

impl<S: RowSink> DataSink for Direct<'_, '_, S> {
    fn partition(&mut self, token: Token, key: &[u8], deletion: Option<Deletion>, static_row: Option<RowRef<'_>>) {
        if self.stopped.is_some() {
            return;
        }
        let is_same = self.is_begun && (self.partition.token, &self.partition.key[..]) == (token, key);
        if is_same && self.passed_over.is_some() {
            return;
        }
        (self.is_begun, self.range, self.passed_over) = (true, None, None);
        self.partition.begin(token, key);
        self.partition.deletion = deletion;
        self.partition.static_row.extend_from_slice(static_row.map_or(&[], |row| row.bytes()));
        match self.live.partition(&self.partition) {
            Flow::Continue => {}
            Flow::SkipPartition => self.passed_over = Some(0),
            Flow::Stop => self.stopped = Some(self.behind_partition()),
        }
    }

    fn range(&mut self, at: Option<&[u8]>, deletion: Option<Deletion>) {
        self.range = deletion;
        if self.stopped.is_none() && self.passed_over.is_none() {
            // Whoever wants no more says so again at the next row.
            let _ = self.live.range(at, deletion);
        }
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        if self.stopped.is_some() {
            return;
        }
        if let Some(rows) = &mut self.passed_over {
            *rows += 1;
            return;
        }
        let shadow = Deletion::max_of(self.partition.deletion, self.range);
        match self.live.row(&self.partition, clustering, row, shadow) {
            Flow::Continue => {}
            Flow::SkipPartition => self.passed_over = Some(0),
            Flow::Stop => {
                let (token, key) = (self.partition.token, &self.partition.key);
                self.stopped = Some(row_position(self.table, token, key, clustering));
            }
        }
    }

    fn is_full(&self) -> bool {
        self.stopped.is_some()
            || self.passed_over.is_some_and(|rows| rows >= PASSED_OVER_MAX)
            || Output::is_full(&*self.live)
    }
}

/// Lets those partitions through that a shard owns, of a file that holds others' too.
pub(super) struct Owned<'s, S> {
    sink: &'s mut S,
    sharder: Sharder,
    shard: u16,
    is_owned: bool,
}

impl<'s, S: DataSink> Owned<'s, S> {
    pub(super) fn new(sink: &'s mut S, sharder: Sharder, shard: u16) -> Self {
        Owned { sink, sharder, shard, is_owned: false }
    }
}

impl<S: DataSink> DataSink for Owned<'_, S> {
    fn partition(&mut self, token: Token, key: &[u8], deletion: Option<Deletion>, static_row: Option<RowRef<'_>>) {
        self.is_owned = self.sharder.shard_of(token) == self.shard;
        if self.is_owned {
            self.sink.partition(token, key, deletion, static_row);
        }
    }

    fn range(&mut self, at: Option<&[u8]>, deletion: Option<Deletion>) {
        if self.is_owned {
            self.sink.range(at, deletion);
        }
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        if self.is_owned {
            self.sink.row(clustering, row);
        }
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }
}
