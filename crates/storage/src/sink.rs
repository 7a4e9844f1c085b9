//! Where a read's rows go.

use mutation::{ClusteringRef, Deletion, LiveRow, Position, RowRef, TombstoneRule};
use topology::Token;

/// What a sink wants after it was given something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// More.
    Continue,
    /// No more of this partition; the next one.
    SkipPartition,
    /// No more at all.
    Stop,
}

/// Takes the live, reconciled rows of a read, borrowed from the memtable.
///
/// A sink is called while the shard is borrowed: it must not call the shard.
pub trait RowSink {
    /// A partition begins: it has a live static row, or a live row follows. `static_row` has at least one live cell.
    /// When a read goes on in the middle of a partition, this is called again for it, if another live row follows.
    fn partition(&mut self, token: Token, key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow;

    /// A live row of the partition. After [`Flow::Stop`] the read can go on behind this row.
    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow;

    /// Something that does not live was passed over, in the partition with this token. Who counts tombstones calls `count`, and counts those in live rows itself.
    /// [`Flow::Stop`] ends the read here or at one of the next rows.
    #[inline]
    fn tombstones(&mut self, token: Token, count: impl FnOnce(&TombstoneRule<'_>) -> u32) -> Flow {
        let _ = (token, count);
        Flow::Continue
    }

    /// Whether no further partition is to begin: where all that a partition shows is its static row, more of it may follow, and
    /// only the next partition is one too many.
    fn is_full(&self) -> bool {
        false
    }
}

/// Takes data as it lies in the memtable, deletions and all, for reconciliation with other replicas.
pub trait DataSink {
    /// A partition begins, or goes on after a pause. It may turn out to have nothing in it.
    fn partition(&mut self, token: Token, key: &[u8], deletion: Option<Deletion>, static_row: Option<RowRef<'_>>);

    /// From `at` on, in the direction of the read, rows are deleted by `deletion`, or by none. `at` is byte-comparable, as
    /// `cql_types::comparable` has it; `None`: before all rows to come.
    fn range(&mut self, at: Option<&[u8]>, deletion: Option<Deletion>);

    /// A row, which may be deleted or expired.
    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>);

    /// Whether the read is to stop here.
    fn is_full(&self) -> bool;
}

/// How a read ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ReadEnd {
    /// There is no more.
    Complete,
    /// The sink had enough. A read of the same command with `after` at this position goes on behind what it was given
    /// last.
    Stopped(Position),
    /// The call had run long enough: let others run, then read on with `after` at this position.
    Paused(Position),
}
