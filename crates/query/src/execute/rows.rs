//! The sink that turns live rows into a result, straight from the memtable's slices into the reply.

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use cql_protocol::RowsWriter;
use mutation::{ClusteringRef, LiveRow, Position, TombstoneRule};
use runtime::Runtime;
use schema::Table;
use storage::{Flow, RowSink};
use topology::Token;

use super::expressions::{Evaluator, Spare, write_json};
use super::filter::Conditions;
use super::groups::Grouping;
use super::parts::BoundParts;
use super::row_source::{Cells, Maker, Number, RowSource, RowValues};
use super::tombstones::{ManyTombstones, TombstoneCount};
use crate::clock::TimestampClock;
use crate::error::{QueryError, invalid};
use crate::guardrails::Threshold;
use crate::plan::{Binds, JsonColumn, Output, Select, Selected};

/// A page ends early when its frame gets longer than this: a client takes fewer rows than it asked for, and the next page.
pub(crate) const PAGE_BYTES_MAX: usize = 16 << 20;

/// A result that is not asked for in pages is refused when its frame gets longer than this.
pub(crate) const RESULT_BYTES_MAX: usize = 64 << 20;

/// How often a growing result is counted: shorter ones are not.
pub(crate) const LENGTH_STEP: usize = 1 << 20;
/// The length at which it is counted first: before its buffer, which doubles as it grows, would come to two mebibytes.
const LENGTH_FIRST: usize = LENGTH_STEP / 4 * 3;

/// A row that makes a result grow by so much that it may not be moved again.
const LONG_ROW: usize = 256 << 10;

/// A result that is long enough to be counted, together with the others of its shard.
pub(crate) struct LongResult<'e> {
    all: &'e Cell<usize>,
    counted: usize,
    max: usize,
}

impl<'e> LongResult<'e> {
    /// A result that takes nothing yet of the `max` bytes that `all` may have.
    #[inline]
    pub(crate) fn new(all: &'e Cell<usize>, max: usize) -> Self {
        LongResult { all, counted: 0, max }
    }

    /// Counts it as `length` bytes long; false, and nothing changed, if that is too much.
    fn count(&mut self, length: usize) -> bool {
        let all = self.all.get() - self.counted + length;
        if all > self.max {
            return false;
        }
        self.all.set(all);
        self.counted = length;
        true
    }
}

impl Drop for LongResult<'_> {
    fn drop(&mut self) {
        self.all.set(self.all.get() - self.counted);
    }
}

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
    unsorted: Vec<UnsortedRow>,
    /// Where the page ended, if that is not where the read ended.
    stopped_at: Option<Position>,
    error: Option<QueryError>,
    /// The frame's length at which it is counted again.
    length_counted: usize,
    has_addresses: bool,
    /// How much of `out` was touched, if that is known.
    room: usize,
    /// The room with which the result is to be begun again.
    wanted: Option<usize>,
    long: LongResult<'e>,
    tombstones: TombstoneCount<'e>,
}

/// A row of a result that is put in order when all are there.
struct UnsortedRow {
    /// Its place in the order, in byte-comparable form.
    order: Vec<u8>,
    /// Where its values lie in the reply.
    bytes: Range<usize>,
    /// The partition, counted from 0. Each partition's rows are in order.
    partition: usize,
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
            unsorted: Vec::new(),
            is_distinct_pending: false,
            stopped_at: None,
            error: None,
            length_counted: LENGTH_FIRST,
            has_addresses: false,
            room: 0,
            wanted: None,
            long,
            tombstones: TombstoneCount::new(TombstoneRule::new(&select.table, now_in_seconds, select.reads_statics())),
        }
    }

    /// Has tombstones judged that a read meets. Groups are made of reads of so many rows each.
    #[inline]
    pub(crate) fn watch_tombstones(&mut self, threshold: Threshold, rows_per_read: u32) {
        let rows_max = if self.group.is_some() { rows_per_read } else { u32::MAX };
        self.tombstones.set_threshold(threshold, rows_max);
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
        self.room = room;
    }

    /// The room that the result must have to go on; what there is of it is of no use then.
    pub(crate) fn wanted(&self) -> Option<usize> {
        self.wanted
    }

    /// Whether a long row does not fit in what was touched.
    #[cold]
    fn wants_room_for(&mut self, row: usize) -> bool {
        if !matches!(self.select.output, Output::Rows(_)) {
            return false;
        }
        let needed = self.out.len() + row + LENGTH_STEP;
        if needed > self.room {
            self.wanted.get_or_insert(needed.max(self.room * 2));
        }
        self.wanted.is_some()
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

    /// Whether each row of the result is a group of rows.
    pub(crate) fn has_groups(&self) -> bool {
        self.group.is_some()
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

    /// Puts the rows of all partitions in order and keeps the first of them: each partition's are in order, so they are merged.
    pub(crate) async fn sort(&mut self, limit: u32, runtime: &Runtime) {
        self.end_partitions();
        let Some(rows_start) = self.unsorted.first().map(|row| row.bytes.start) else { return };
        let rows = std::mem::take(&mut self.unsorted);
        let mut next = BinaryHeap::new();
        for (index, row) in rows.iter().enumerate() {
            if index == 0 || rows[index - 1].partition != row.partition {
                next.push(Reverse((row.order.as_slice(), index)));
            }
        }
        let mut sorted = Vec::with_capacity(self.out.len());
        sorted.extend_from_slice(&self.out[..rows_start]);
        let mut count = 0;
        while let (Some(Reverse((_, index))), true) = (next.pop(), count < limit) {
            let row = &rows[index];
            sorted.extend_from_slice(&self.out[row.bytes.clone()]);
            count += 1;
            if let Some(following) = rows.get(index + 1).filter(|following| following.partition == row.partition) {
                next.push(Reverse((following.order.as_slice(), index + 1)));
            }
            runtime.maybe_yield().await;
        }
        *self.out = sorted;
        self.writer.keep_rows(count);
    }

    /// Completes the reply.
    pub(crate) fn finish(mut self, paging_state: Option<&[u8]>) -> Result<(), QueryError> {
        // Wrong values are refused also where no row was looked at.
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
        if !self.select.sort.is_empty() {
            let clustering = row.map(|(clustering, _)| clustering);
            let order = place_in_order(self.select, |position| clustering?.components().nth(position));
            let start = self.out.len();
            self.unsorted.push(UnsortedRow { order, bytes: start..start, partition: self.partitions });
        }
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
        } else {
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
        self.writer.end_row();
        if let Some(row) = self.unsorted.last_mut() {
            row.bytes.end = self.out.len();
        }
        self.count_row();
    }

    /// Counts a row of the result.
    #[inline]
    fn count_row(&mut self) {
        self.limits.rows -= 1;
        self.limits.page -= 1;
        self.partition_left = self.partition_left.saturating_sub(1);
        let length = self.writer.frame_length(self.out);
        if length > self.length_counted {
            self.count_long_frame(length);
        }
    }

    /// Adds a row to its group. If it begins another one, the present one is a row of the result; and if that was the last that is wanted,
    /// of the page or of the partition, the row was not looked at.
    fn add_to_group(&mut self, row: Option<(ClusteringRef<'_>, LiveRow<'_>)>) {
        let clustering = row.map(|(clustering, _)| clustering);
        self.note_first_of_group(clustering);
        match self.add_to_open_group(row) {
            Ok(true) => {}
            Ok(false) => {
                self.end_group();
                if self.filled() != Filled::No {
                    self.stopped_at = Some(self.last_of_group());
                    return;
                }
                if self.partition_left == 0 {
                    return;
                }
                self.note_first_of_group(clustering);
                if let Err(error) = self.add_to_open_group(row) {
                    self.error.get_or_insert(error);
                }
            }
            Err(error) => {
                self.error.get_or_insert(error);
                return;
            }
        }
        if self.limits.is_paged
            && let Some(clustering) = clustering
        {
            self.buffer.last.clear();
            self.buffer.last.extend_from_slice(clustering.bytes());
        }
    }

    /// Notes the place in the order of ORDER BY of a group that a row is about to begin.
    #[inline]
    fn note_first_of_group(&mut self, clustering: Option<ClusteringRef<'_>>) {
        if !self.select.sort.is_empty() && self.group.as_ref().is_some_and(|group| !group.is_open()) {
            self.group_order = place_in_order(self.select, |position| clustering?.components().nth(position));
        }
    }

    /// Adds a row to the present group; false: it is of another one.
    #[inline]
    fn add_to_open_group(&mut self, row: Option<(ClusteringRef<'_>, LiveRow<'_>)>) -> Result<bool, QueryError> {
        let group = self.group.as_mut().expect("the result's rows are groups");
        let statics = Cells::of_static(&self.buffer.static_row, self.has_static, self.now_in_seconds, self.hiding);
        let mut values = RowValues {
            maker: Maker { select: self.select, parts: self.parts.as_ref(), now_in_seconds: self.now_in_seconds },
            source: RowSource::new(&self.buffer.key, row, statics),
            token: self.token,
            number: Number::default(),
        };
        let mut evaluator = Evaluator {
            binds: &self.binds,
            clock: self.clock,
            parts: self.parts.as_ref(),
            spare: &mut self.buffer.spare,
        };
        group.add(&mut evaluator, &mut values)
    }

    /// The place of the row that was added last to a group of this partition.
    fn last_of_group(&self) -> Position {
        let mut row = Vec::new();
        let clustering = ClusteringRef::trusted(&self.buffer.last);
        for (column, value) in self.select.table.clustering().iter().zip(clustering.components()) {
            cql_types::comparable::encode(&column.ty, value, column.is_reversed(), &mut row);
        }
        Position { token: self.token, key: self.buffer.key.clone(), row: Some(row) }
    }

    /// Ends the present group, if groups end where partitions do: it is a row of the result.
    fn end_group(&mut self) {
        if !self.group.as_ref().is_some_and(|group| group.is_open() && group.is_by_key()) || self.error.is_some() {
            return;
        }
        self.write_group();
        self.count_row();
    }

    /// Writes the present group as a row of the result.
    fn write_group(&mut self) {
        self.bind_parts();
        let start = self.out.len();
        let group = self.group.as_mut().expect("the result's rows are groups");
        let mut evaluator = Evaluator {
            binds: &self.binds,
            clock: self.clock,
            parts: self.parts.as_ref(),
            spare: &mut self.buffer.spare,
        };
        let mut cells = RowCells::new(self.select, &mut self.writer, self.out, &mut self.buffer.json);
        if let Err(error) = group.end(&mut evaluator, |value| cells.add(value)) {
            self.error.get_or_insert(error);
            return;
        }
        cells.end();
        self.writer.end_row();
        if !self.select.sort.is_empty() {
            let order = std::mem::take(&mut self.group_order);
            self.unsorted.push(UnsortedRow { order, bytes: start..self.out.len(), partition: self.partitions });
        }
    }

    /// Counts a long result with the others that are in the making on this shard, and ends it where it is too long.
    #[cold]
    fn count_long_frame(&mut self, length: usize) {
        if !self.long.count(length) {
            self.error.get_or_insert(QueryError::Overloaded {
                message: "Too many bytes of results are in the making on this shard".to_owned(),
            });
            return;
        }
        self.length_counted = length + LENGTH_STEP;
        self.take_addresses();
        if length <= PAGE_BYTES_MAX {
            return;
        }
        if self.limits.is_paged {
            self.limits.page = 0;
        } else if length > RESULT_BYTES_MAX {
            let message = format!("The result is larger than {RESULT_BYTES_MAX} bytes: ask for it in pages");
            self.error.get_or_insert(invalid(message));
        }
    }

    /// A result that is about to come to a megabyte may become as long as it may: addresses are taken for all of it
    /// and memory as it is filled. Growing by and by would copy it again and again, all of it in one poll.
    #[cold]
    fn take_addresses(&mut self) {
        if self.room > 0 {
            // To move would copy all of it at once: it begins again with twice the room.
            if self.room.saturating_sub(self.out.len()) < LENGTH_STEP * 2 {
                self.wanted.get_or_insert(self.room * 2);
            }
            return;
        }
        if self.has_addresses {
            return;
        }
        self.has_addresses = true;
        let most = if self.limits.is_paged { PAGE_BYTES_MAX } else { RESULT_BYTES_MAX };
        // Not `reserve`, for which the allocator would copy what was never written too.
        let mut out = Vec::with_capacity(most + LENGTH_STEP);
        out.extend_from_slice(self.out);
        *self.out = out;
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

    /// Whether to go on after a row or a partition.
    #[inline]
    fn flow(&self) -> Flow {
        if self.error.is_some() || self.wanted.is_some() || self.filled() != Filled::No {
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
        if row.stored_length() > LONG_ROW && self.wants_room_for(row.stored_length()) {
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

/// A row of the result, value by value: as they are, or as one text of JSON.
pub(crate) struct RowCells<'w> {
    writer: &'w mut RowsWriter,
    out: &'w mut Vec<u8>,
    json: Option<(&'w [JsonColumn], &'w mut Vec<u8>)>,
    count: usize,
}

impl<'w> RowCells<'w> {
    pub(crate) fn new(
        select: &'w Select,
        writer: &'w mut RowsWriter,
        out: &'w mut Vec<u8>,
        json: &'w mut Vec<u8>,
    ) -> Self {
        json.clear();
        RowCells { writer, out, json: select.json.as_deref().map(|columns| (columns, json)), count: 0 }
    }

    pub(crate) fn add(&mut self, value: Option<&[u8]>) {
        let Some((columns, json)) = &mut self.json else { return self.writer.value(self.out, value) };
        let column = &columns[self.count];
        json.extend_from_slice(if self.count == 0 { b"{" } else { b", " });
        json.extend_from_slice(&column.name);
        json.extend_from_slice(b": ");
        match value {
            Some(value) => write_json(&column.ty, value, json),
            None => json.extend_from_slice(b"null"),
        }
        self.count += 1;
    }

    /// Writes the text, if it is one.
    pub(crate) fn end(self) {
        if let Some((_, json)) = self.json {
            json.push(b'}');
            self.writer.value(self.out, Some(json));
        }
    }
}

/// A row's place in the order of ORDER BY, by its clustering. Null, which only a partition without rows has, is least.
pub(crate) fn place_in_order<'c>(select: &Select, clustering: impl Fn(usize) -> Option<&'c [u8]>) -> Vec<u8> {
    let mut order = Vec::new();
    for &(position, is_descending) in &select.sort {
        let position = usize::from(position);
        let start = order.len();
        let value = clustering(position);
        order.push(u8::from(value.is_some()));
        if let (Some(value), Some(column)) = (value, select.table.clustering().get(position)) {
            cql_types::comparable::encode(&column.ty, value, false, &mut order);
        }
        if is_descending {
            order[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_are_counted_together_while_they_are_made() {
        let all = Cell::new(0);
        let mut first = LongResult::new(&all, 100);
        let mut second = LongResult::new(&all, 100);
        assert!(first.count(40) && second.count(50) && first.count(50));
        assert!(!first.count(51), "together they are too long");
        assert_eq!(all.get(), 100);
        drop(second);
        assert!(first.count(100));
        drop(first);
        assert_eq!(all.get(), 0);
    }
}
