//! The sink that turns live rows into a result, straight from the memtable's slices into the reply.
//!
//! A row comes in ([`RowSink`]), is judged by the conditions, and written ([`cells`]) or added to its group ([`grouped`]); the rows of several
//! partitions may be put in order at the end ([`order`]). How long all of it may get is [`length`]'s.

mod cells;
mod grouped;
mod length;
mod order;

use std::borrow::Cow;

use cql_protocol::RowsWriter;
use mutation::{ClusteringRef, LiveRow, Position, TombstoneRule};
use runtime::Runtime;
use schema::Table;
use storage::{Flow, RowSink};
use topology::Token;

use self::length::{LONG_ROW, ResultLength};
use self::order::UnsortedRows;
use super::expressions::{Evaluator, NoRow, Spare};
use super::filter::Conditions;
use super::groups::Grouping;
use super::parts::BoundParts;
use super::row_source::{Cells, Maker, Number, RowSource, RowValues};
use super::tombstones::{ManyTombstones, TombstoneCount};
use crate::clock::TimestampClock;
use crate::error::QueryError;
use crate::plan::{Binds, Output, Select, Selected};

pub(crate) use self::cells::RowCells;
pub(crate) use self::length::{LENGTH_STEP, LongResult, PAGE_BYTES_MAX, RESULT_BYTES_MAX, too_long};
pub(crate) use self::order::place_in_order;

/// A reply of rows that was begun.
pub(crate) struct RowsReply<'e> {
    /// Where it is written.
    pub(crate) out: &'e mut Vec<u8>,
    /// What writes it.
    pub(crate) writer: RowsWriter,
    /// What counts it.
    pub(crate) long: LongResult<'e>,
}

/// Buffers that a shard's reads use one after the other.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    /// The present partition's key.
    key: Vec<u8>,
    /// The present partition's static row, as a blob of what lives in it.
    static_row: Vec<u8>,
    /// A value that is put together from several cells, or computed.
    value: Vec<u8>,
    /// A row as JSON.
    json: Vec<u8>,
    /// The clustering of the row that was added last to a group.
    last: Vec<u8>,
    /// What expressions use from row to row.
    spare: Spare,
}

/// How many rows a page may still hold, of which kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowLimits {
    /// Of LIMIT.
    pub(crate) rows: u32,
    /// Of the page; `u32::MAX` without paging.
    pub(crate) page: u32,
    /// Whether the client asked for pages.
    pub(crate) is_paged: bool,
    /// PER PARTITION LIMIT.
    pub(crate) per_partition: u32,
}

/// Writes the rows of a result.
pub(crate) struct RowEmitter<'e> {
    select: &'e Select,
    binds: Binds<'e>,
    clock: &'e TimestampClock,
    buffer: &'e mut RowBuffer,
    out: &'e mut Vec<u8>,
    writer: RowsWriter,
    /// Made when the first row is looked at.
    conditions: Option<Conditions<'e>>,
    /// Made when the first row is written.
    parts: Option<BoundParts<'e>>,
    /// The table, if columns of it were dropped: their cells are still there.
    hiding: Option<&'e Table>,
    /// DISTINCT waits to see whether anything of the partition is shown.
    is_distinct_pending: bool,
    limits: RowLimits,
    now_in_seconds: u32,
    token: Token,
    /// Whether `buffer.key` is a partition's.
    has_partition: bool,
    /// How many partitions have begun.
    partitions: usize,
    partition_left: u32,
    has_static: bool,
    /// The partition has a static row and no other was seen yet: if none comes, it is a row of the result.
    is_static_pending: bool,
    /// The group of rows in the making, if each row of the result is one.
    group: Option<Box<Grouping<'e>>>,
    /// The group's place in the order of ORDER BY.
    group_order: Vec<u8>,
    /// The rows so far, if they are to be put in order at the end.
    unsorted: UnsortedRows,
    /// Where the page ended, if that is not where the read ended.
    stopped_at: Option<Position>,
    error: Option<QueryError>,
    length: ResultLength<'e>,
    tombstones: TombstoneCount<'e>,
}

/// Why the rows ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    /// Neither limit is reached.
    No,
    /// The page is full; there may be more.
    Page,
    /// LIMIT is reached.
    Limit,
}

impl<'e> RowEmitter<'e> {
    pub(crate) fn new(
        select: &'e Select,
        (binds, clock): (Binds<'e>, &'e TimestampClock),
        limits: RowLimits,
        now_in_seconds: u32,
        buffer: &'e mut RowBuffer,
        reply: RowsReply<'e>,
    ) -> Self {
        let RowsReply { out, writer, long } = reply;
        let group = match &select.output {
            Output::Rows(_) => None,
            Output::Groups(groups) => Some(Box::new(Grouping::new(groups))),
        };
        RowEmitter {
            select,
            binds,
            clock,
            buffer,
            out,
            writer,
            conditions: None,
            parts: None,
            hiding: (!select.table.dropped.is_empty()).then_some(&*select.table),
            limits,
            now_in_seconds,
            token: Token(0),
            has_partition: false,
            partitions: 0,
            partition_left: limits.per_partition,
            has_static: false,
            is_static_pending: false,
            group,
            group_order: Vec::new(),
            unsorted: UnsortedRows::default(),
            is_distinct_pending: false,
            stopped_at: None,
            error: None,
            length: ResultLength::new(long, limits.is_paged),
            tombstones: TombstoneCount::new(
                TombstoneRule::new(&select.table, now_in_seconds, select.reads_statics()),
                select.tombstones,
            ),
        }
    }

    /// Ends the reads that groups are made of after so many rows each, as far as their tombstones are judged.
    #[inline]
    pub(crate) fn part_grouped_reads(&mut self, rows_per_read: impl FnOnce() -> u32) {
        if self.group.is_some() {
            self.tombstones.set_rows_max(rows_per_read());
        }
    }

    /// Whether the client is to be told of tombstones.
    #[inline]
    pub(crate) fn has_many_tombstones(&self) -> bool {
        self.tombstones.are_many()
    }

    /// A read is over, of the partition with this key, or of a page of a scan.
    pub(crate) fn end_read(&mut self, key: Option<&[u8]>) {
        self.tombstones.end_read(key.unwrap_or(&self.buffer.key));
    }

    /// The reads that met many tombstones.
    pub(crate) fn take_many_tombstones(&mut self) -> Vec<ManyTombstones> {
        self.tombstones.take_found()
    }

    /// Tells that rows of this partition were returned on the page before.
    pub(crate) fn resume(&mut self, position: &Position, partition_left: u32) {
        self.buffer.key.clear();
        self.buffer.key.extend_from_slice(&position.key);
        self.token = position.token;
        self.has_partition = true;
        self.partition_left = partition_left;
    }

    /// Says that so much of the buffer was touched.
    pub(crate) fn set_room(&mut self, room: usize) {
        self.length.set_room(room);
    }

    /// The room that the result must have to go on; what there is of it is of no use then.
    pub(crate) fn wanted(&self) -> Option<usize> {
        self.length.wanted()
    }

    /// True if values of masked columns are as their masks show them.
    pub(crate) fn is_masked(&self) -> bool {
        self.select.is_masked
    }

    /// What is left of the limits.
    pub(crate) fn limits(&self) -> RowLimits {
        self.limits
    }

    /// What is left of PER PARTITION LIMIT in the present partition.
    pub(crate) fn partition_left(&self) -> u32 {
        self.partition_left
    }

    /// Whether the row that filled the page was the last that its partition may give.
    pub(crate) fn is_at_partition_limit(&self) -> bool {
        let has_one_row = self.select.table.clustering().is_empty();
        self.limits.page == 0 && (self.partition_left == 0 || self.select.is_distinct || has_one_row)
    }

    /// Whether the group that filled the page was the last that is wanted where no partition behind the one with this key is named. What limits
    /// a partition says nothing of those behind it, of which nothing was found.
    pub(crate) fn has_last_group(&self, last_key: &[u8]) -> bool {
        self.is_at_partition_limit() && (self.select.is_distinct || self.buffer.key == last_key)
    }

    /// Whether each row of the result is a group, and the present one is not a static row alone.
    pub(crate) fn has_group_of_rows(&self) -> bool {
        self.group.is_some() && !self.is_static_pending
    }

    /// Why the rows ended, or whether they did.
    pub(crate) fn filled(&self) -> Filled {
        if self.limits.rows == 0 {
            Filled::Limit
        } else if self.limits.page == 0 || self.stopped_at.is_some() {
            Filled::Page
        } else {
            Filled::No
        }
    }

    /// Whether the sink ended the page before the partition that is read, of this key.
    pub(crate) fn has_stopped_before(&self, key: &[u8]) -> bool {
        self.stopped_at.as_ref().is_some_and(|position| position.key != key)
    }

    /// The page's own end, if the sink ended it between partitions.
    pub(crate) fn stopped_at(&mut self) -> Option<Position> {
        self.stopped_at.take()
    }

    /// The place behind the partition that was looked at last.
    pub(crate) fn partition_end(&self) -> Position {
        Position { token: self.token, key: self.buffer.key.clone(), row: None }
    }

    /// Ends the last partition. Called when no more rows come.
    pub(crate) fn end_partitions(&mut self) {
        if self.is_static_pending && self.filled() == Filled::No {
            self.emit_static_only();
        }
        self.is_static_pending = false;
        self.end_group();
    }

    /// Puts the rows of all partitions in order and keeps the first of them.
    pub(crate) async fn sort(&mut self, limit: u32, runtime: &Runtime) {
        self.end_partitions();
        let rows = std::mem::take(&mut self.unsorted);
        if let Some(count) = rows.merge(self.out, limit, runtime).await {
            self.writer.keep_rows(count);
        }
    }

    /// Completes the reply.
    pub(crate) fn finish(mut self, paging_state: Option<&[u8]>) -> Result<(), QueryError> {
        // Wrong calls and values are refused also where no row was looked at.
        if self.select.has_constant_calls {
            self.make_constant_calls()?;
        }
        if self.conditions.is_none() && !self.select.filters.is_empty() && self.error.is_none() {
            Conditions::new(self.select, &self.binds)?;
        }
        self.bind_parts();
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.select.output.is_one_group() {
            self.write_group();
            if let Some(error) = self.error {
                return Err(error);
            }
        }
        self.writer.finish(self.out, paging_state);
        Ok(())
    }

    #[cold]
    fn make_constant_calls(&self) -> Result<(), QueryError> {
        let mut spare = Spare::default();
        let mut evaluator = Evaluator { binds: &self.binds, clock: self.clock, parts: None, spare: &mut spare };
        let calls = self.select.constant_calls();
        calls.into_iter().try_for_each(|call| evaluator.evaluate(call, &mut NoRow, &mut Vec::new()).map(|_| ()))
    }

    fn emit_static_only(&mut self) {
        self.is_static_pending = false;
        if self.passes(None) {
            self.emit(None);
        }
    }

    /// Whether the row is one of the result, by ALLOW FILTERING's conditions.
    fn passes(&mut self, row: Option<(ClusteringRef<'_>, LiveRow<'_>)>) -> bool {
        if self.select.filters.is_empty() {
            return true;
        }
        if self.conditions.is_none() && self.error.is_none() {
            match Conditions::new(self.select, &self.binds) {
                Ok(conditions) => self.conditions = Some(conditions),
                Err(error) => self.error = Some(error),
            }
        }
        let Some(conditions) = &mut self.conditions else { return false };
        let statics = Cells::of_static(&self.buffer.static_row, self.has_static, self.now_in_seconds, self.hiding);
        let mut source = RowSource::new(&self.buffer.key, row, statics);
        let columns = self.select.table.partition_key().len();
        conditions.pass(|selected| match selected {
            Selected::Elements { column, is_static, shape } => {
                let mut value = Vec::new();
                let is_there = source.cells(*is_static).assemble(*column, *shape, &self.select.table, &mut value);
                is_there.then_some(Cow::Owned(value))
            }
            selected => source.bytes(selected, columns).map(Cow::Borrowed),
        })
    }

    /// Binds the parts that are selected, if there are any and it was not done.
    fn bind_parts(&mut self) {
        if self.parts.is_none() && !self.select.parts.is_empty() {
            match BoundParts::new(self.select, &self.binds) {
                Ok(parts) => self.parts = Some(parts),
                Err(error) => {
                    self.error.get_or_insert(error);
                }
            }
        }
    }

    /// Adds a row to the result and counts it.
    #[inline]
    fn emit(&mut self, row: Option<(ClusteringRef<'_>, LiveRow<'_>)>) {
        if !self.select.parts.is_empty() {
            self.bind_parts();
        }
        let Output::Rows(columns) = &self.select.output else { return self.add_to_group(row) };
        let start = self.out.len();
        self.write(columns, row);
        if !self.select.sort.is_empty() {
            let clustering = row.map(|(clustering, _)| clustering);
            let order = place_in_order(self.select, |position| clustering?.components().nth(position));
            self.unsorted.add(order, start..self.out.len(), self.partitions);
        }
        self.count_row();
    }

    /// Writes a row's values.
    #[inline]
    fn write(&mut self, columns: &[Selected], row: Option<(ClusteringRef<'_>, LiveRow<'_>)>) {
        let statics = Cells::of_static(&self.buffer.static_row, self.has_static, self.now_in_seconds, self.hiding);
        let mut values = RowValues {
            maker: Maker { select: self.select, parts: self.parts.as_ref(), now_in_seconds: self.now_in_seconds },
            source: RowSource::new(&self.buffer.key, row, statics),
            token: self.token,
            number: Number::default(),
        };
        if self.select.expressions.is_empty() && self.select.json.is_none() {
            for selected in columns {
                let value = values.value(selected, &mut self.buffer.value);
                self.writer.value(self.out, value);
            }
            return self.writer.end_row();
        }
        let mut evaluator = Evaluator {
            binds: &self.binds,
            clock: self.clock,
            parts: self.parts.as_ref(),
            spare: &mut self.buffer.spare,
        };
        let mut cells = RowCells::new(self.select, &mut self.writer, self.out, &mut self.buffer.json);
        for selected in columns {
            let Selected::Computed(index) = selected else {
                cells.add(values.value(selected, &mut self.buffer.value));
                continue;
            };
            let value = &mut self.buffer.value;
            value.clear();
            let expression = &self.select.expressions[usize::from(*index)];
            match evaluator.evaluate(expression, &mut values, value) {
                Ok(is_there) => cells.add(is_there.then_some(value)),
                Err(error) => {
                    self.error.get_or_insert(error);
                    cells.add(None);
                }
            }
        }
        cells.end();
    }

    /// Counts a row of the result.
    #[inline]
    fn count_row(&mut self) {
        self.limits.rows -= 1;
        self.limits.page -= 1;
        self.partition_left = self.partition_left.saturating_sub(1);
        let length = self.writer.frame_length(self.out);
        if self.length.is_due(length) {
            self.count_length(length);
        }
    }

    /// Ends the page, or the result, where it is long.
    #[cold]
    fn count_length(&mut self, length: usize) {
        match self.length.count(length, self.out) {
            Ok(false) => {}
            Ok(true) => self.limits.page = 0,
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
    }

    /// Whether a row that lives is there without what belongs to dropped columns.
    fn is_shown(&self, row: &LiveRow<'_>) -> bool {
        let Some(table) = self.hiding else { return true };
        row.liveness().is_some() || row.cells().any(|cell| !table.hides(cell.column, cell.timestamp))
    }

    /// The present partition as a row of SELECT DISTINCT.
    fn emit_distinct(&mut self) -> Flow {
        self.is_distinct_pending = false;
        if self.passes(None) {
            self.emit(None);
        }
        match self.flow() {
            Flow::Stop => {
                self.stopped_at = Some(self.partition_end());
                Flow::Stop
            }
            _ => Flow::SkipPartition,
        }
    }

    /// Ends the read, which met too many tombstones.
    #[cold]
    fn refuse_tombstones(&mut self) -> Flow {
        self.error.get_or_insert(QueryError::TooManyTombstones);
        Flow::Stop
    }

    /// Whether a row that is met is one of the result, not of a group.
    fn is_row_written(&self) -> bool {
        matches!(self.select.output, Output::Rows(_))
    }

    /// Whether to go on after a row or a partition.
    #[inline]
    fn flow(&self) -> Flow {
        if self.error.is_some() || self.length.wanted().is_some() || self.filled() != Filled::No {
            Flow::Stop
        } else if self.partition_left == 0 {
            Flow::SkipPartition
        } else {
            Flow::Continue
        }
    }
}

impl RowSink for RowEmitter<'_> {
    fn partition(&mut self, token: Token, key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        let is_same = self.has_partition && self.buffer.key == key;
        if !is_same && (self.is_static_pending || self.group.is_some()) {
            if self.is_static_pending {
                self.emit_static_only();
            }
            self.end_group();
            if self.flow() == Flow::Stop {
                // The read is already at the next partition: the page ends before it.
                self.stopped_at = Some(self.partition_end());
                return Flow::Stop;
            }
        }
        self.tombstones.enter(token);
        let static_row = static_row.filter(|row| self.is_shown(row));
        self.has_static = static_row.is_some();
        if let Some(row) = static_row {
            if !is_same {
                self.tombstones.add_static(&row);
            }
            self.buffer.static_row.clear();
            cluster::coordinator::rebuild_row(row, &mut self.buffer.static_row);
        }
        if is_same {
            let is_done = self.select.is_distinct && !self.is_distinct_pending;
            return if self.partition_left == 0 || is_done { Flow::SkipPartition } else { Flow::Continue };
        }
        self.token = token;
        self.has_partition = true;
        self.is_distinct_pending = false;
        self.partitions += 1;
        self.buffer.key.clear();
        self.buffer.key.extend_from_slice(key);
        self.partition_left = self.limits.per_partition;
        if self.select.is_distinct {
            // Without a static row it is the row that follows which says that the partition is there, if it is shown.
            if !self.has_static {
                self.is_distinct_pending = true;
                return Flow::Continue;
            }
            return self.emit_distinct();
        }
        self.is_static_pending = self.has_static && self.select.shows_static_only();
        Flow::Continue
    }

    #[inline]
    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        if self.tombstones.is_read_over() {
            self.end_read(None);
        }
        self.tombstones.add_row(&row);
        if self.tombstones.are_too_many() {
            return self.refuse_tombstones();
        }
        if self.hiding.is_some() && !self.is_shown(&row) {
            return Flow::Continue;
        }
        if self.is_distinct_pending {
            return self.emit_distinct();
        }
        self.is_static_pending = false;
        let length = row.stored_length();
        if length > LONG_ROW && self.is_row_written() && self.length.wants_room_for(length, self.out.len()) {
            return Flow::Stop;
        }
        let row = Some((clustering, row));
        if self.passes(row) {
            self.emit(row);
        }
        self.flow()
    }

    fn tombstones(&mut self, token: Token, count: impl FnOnce(&TombstoneRule<'_>) -> u32) -> Flow {
        match self.tombstones.add(token, count) {
            true => Flow::Continue,
            false => self.refuse_tombstones(),
        }
    }
}
