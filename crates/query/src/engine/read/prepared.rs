//! A SELECT of a stored table with the values of one execution. It is made purely, in the same way for the call that answers at once and for the
//! task that waits, so that both refuse the same, in the same order.

use cql_protocol::RowsWriter;
use mutation::{KeyRange, ReadCommand, Slice};

use super::limits::{paging_state, row_limits};
use crate::clock::TimestampClock;
use crate::engine::call::Call;
use crate::engine::write::seconds;
use crate::error::QueryError;
use crate::execute::rows::{LongResult, RowBuffer, RowEmitter, RowLimits, RowsReply};
use crate::paging::PagingState;
use crate::plan::{Binds, Order, Select};

/// A read that can begin: its values are bound, and its paging state and limits are checked.
pub(super) struct PreparedRead<'a> {
    pub(super) select: &'a Select,
    pub(super) call: &'a Call<'a>,
    binds: Binds<'a>,
    /// The rows of each partition that are asked for.
    slices: &'a [Slice<'a>],
    /// The end of the page before, if this is not the first.
    state: Option<PagingState>,
    limits: RowLimits,
    /// The second at which expiry is judged.
    now_in_seconds: u32,
}

impl<'a> PreparedRead<'a> {
    /// Prepares a read at the time `now_micros`. An error is for the client: of the paging state, or of LIMIT's value.
    #[inline]
    pub(super) fn new(
        select: &'a Select,
        call: &'a Call<'a>,
        binds: Binds<'a>,
        slices: &'a [Slice<'a>],
        now_micros: i64,
    ) -> Result<Self, QueryError> {
        let state = paging_state(select, call, &binds)?;
        let limits = row_limits(select, &binds, call, state.as_ref())?;
        Ok(PreparedRead {
            select,
            call,
            binds,
            slices,
            state,
            limits,
            now_in_seconds: seconds(now_micros, call.params),
        })
    }

    /// Refuses a paging state whose place is not among `keys`.
    #[inline]
    pub(super) fn check_place(&self, keys: &KeyRange<'_>) -> Result<(), QueryError> {
        self.state.as_ref().map_or(Ok(()), |state| Ok(state.check_place(keys)?))
    }

    /// The command for replicas that reads `keys`.
    #[inline]
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
    pub(super) fn emitter(
        &self,
        clock: &'a TimestampClock,
        long: LongResult<'a>,
        buffer: &'a mut RowBuffer,
        out: &'a mut Vec<u8>,
    ) -> RowEmitter<'a> {
        let reply = &self.call.reply;
        let writer = RowsWriter::begin(out, reply.version, reply.stream, &reply.head(&self.select.columns));
        let reply = RowsReply { out, writer, long };
        let mut emitter =
            RowEmitter::new(self.select, (self.binds, clock), self.limits, self.now_in_seconds, buffer, reply);
        if let Some(state) = &self.state {
            emitter.resume(&state.position, state.rows_left_in_partition);
        }
        emitter
    }
}
