//! Where a read's rows go.

use mutation::{ClusteringRef, LiveRow, Position};
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
