//! A SELECT of a stored table with the values of one execution. It is made purely, in the same way for the call that answers at once and for the
//! task that waits, so that both refuse the same, in the same order.

use cql_protocol::RowsWriter;
use mutation::{KeyRange, ReadCommand, Slice};

use super::limits::{paging_state, row_limits};
use crate::engine::call::Call;
use crate::engine::write::seconds;
use crate::error::QueryError;
use crate::execute::rows::{LongResult, RowEmitter, RowLimits, RowsReply};
use crate::paging::PagingState;
use crate::plan::{Binds, Order, Select};

/// A read that can begin: its values are bound, and its paging state and limits are checked.
pub(super) struct PreparedRead<'a> {
    pub(super) select: &'a Select,
    pub(super) call: &'a Call<'a>,
    /// The rows of each partition that are asked for.
    slices: &'a [Slice<'a>],
    /// The end of the page before, if this is not the first.
    state: Option<PagingState>,
    pub(super) limits: RowLimits,
    /// The second at which expiry is judged.
    pub(super) now_in_seconds: u32,
}

impl<'a> PreparedRead<'a> {
    /// Prepares a read at the time `now_micros`. An error is for the client: of the paging state, or of LIMIT's value.
    // It is made in place: as a call of its own it would be copied to where it is used.
    #[inline(always)]
    pub(super) fn new(
        select: &'a Select,
        call: &'a Call<'a>,
        binds: Binds<'a>,
        slices: &'a [Slice<'a>],
        now_micros: i64,
    ) -> Result<Self, QueryError> {
        let state = paging_state(select, call, &binds)?;
        let limits = row_limits(select, &binds, call, state.as_ref())?;
        Ok(PreparedRead { select, call, slices, state, limits, now_in_seconds: seconds(now_micros, call.params) })
    }

    /// Refuses a paging state whose place is not among `keys`.
    #[inline]
    pub(super) fn check_place(&self, keys: &KeyRange<'_>) -> Result<(), QueryError> {
        self.state.as_ref().map_or(Ok(()), |state| Ok(state.check_place(keys)?))
    }

    /// The command for replicas that reads `keys`.
    #[inline(always)]
    pub(super) fn command<'s>(&'s self, keys: KeyRange<'s>) -> ReadCommand<'s> {
        ReadCommand {
            table: self.select.table.id,
            keys,
            slices: self.slices,
            reversed: self.select.order == Order::Reversed,
            now_in_seconds: self.now_in_seconds,
            after: self.state.as_ref().map(|state| state.position.as_ref()),
        }
    }

    /// Begins the reply's rows in `out`.
    #[inline]
    pub(super) fn reply<'o>(&self, long: LongResult<'o>, out: &'o mut Vec<u8>) -> RowsReply<'o> {
        let reply = &self.call.reply;
        let writer = RowsWriter::begin(out, reply.version, reply.stream, &reply.head(&self.select.columns));
        RowsReply { out, writer, long }
    }

    /// Has the emitter of a later page go on where the page before ended.
    #[inline]
    pub(super) fn resume(&self, emitter: &mut RowEmitter<'_>) {
        if let Some(state) = &self.state {
            emitter.resume(&state.position, state.rows_left_in_partition);
        }
    }
}
