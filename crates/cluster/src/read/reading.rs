//! A read as its parts hand it on to each other.

use mutation::ReadCommand;
use schema::Table;

use crate::replica::PageLimits;

/// The command of a read, and the sink of its rows.
pub(super) struct Reading<'r, 'c, S> {
    pub(super) table: &'r Table,
    pub(super) command: ReadCommand<'c>,
    pub(super) limits: PageLimits,
    pub(super) sink: &'r mut S,
}
