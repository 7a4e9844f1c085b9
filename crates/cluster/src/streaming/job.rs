//! The copies that one shard of a receiver makes as one job.

use schema::TableId;
use storage::CopyName;
use topology::{Epoch, HostId, Token, TokenRange};

/// One table, some ranges, some sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopyJob {
    /// The table.
    pub(crate) table: TableId,
    /// The ranges, none of which wraps.
    pub(crate) ranges: Vec<TokenRange>,
    /// The nodes to copy from.
    pub(crate) sources: Vec<HostId>,
    /// The epoch that it was planned at.
    pub(crate) planned: Epoch,
    /// The copy that its units are confirmed for, which goes on after a restart where it was. `None`: it is a repair's, which begins again as another job.
    pub(crate) confirms: Option<CopyName>,
}

/// A range in the units that its cuts make: `cuts` ascend and are within it.
pub(super) fn units_of(range: TokenRange, cuts: &[Token]) -> Vec<TokenRange> {
    let ends = cuts.iter().copied().chain([range.end]);
    let starts = [range.after].into_iter().chain(cuts.iter().copied());
    starts.zip(ends).map(|(after, end)| TokenRange { after, end }).collect()
}

/// True if cuts ascend and are within their range, so that no unit is empty.
pub(super) fn are_cuts_of(range: TokenRange, cuts: &[Token]) -> bool {
    units_of(range, cuts).iter().all(|unit| unit.after < unit.end)
}
