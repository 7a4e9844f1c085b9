//! The result of a read of a system table: made-up rows that meet its conditions, as they are or in groups, up to the page's end.

use std::borrow::Cow;

use cql_protocol::RowsWriter;
use mutation::Position;
use topology::{Token, token_of};

use super::call::Call;
use super::read::paging_key;
use super::virtual_read::PartitionRange;
use crate::clock::TimestampClock;
use crate::error::QueryError;
use crate::execute::expressions::{Evaluator, Leaves, Spare};
use crate::execute::filter::Conditions;
use crate::execute::groups::Grouping;
use crate::execute::parts::BoundParts;
use crate::execute::rows::{
    LENGTH_STEP, PAGE_BYTES_MAX, RESULT_BYTES_MAX, RowCells, RowLimits, place_in_order, too_long,
};
use crate::execute::slices::SliceBuffer;
use crate::paging::PagingState;
use crate::plan::{Binds, Order, Output, PartOf, Select, Selected};
use crate::system::{PartitionOrder, VirtualRow, partition_key};

/// A row's values; `None` is null.
type Values = Vec<Option<Vec<u8>>>;

/// A result while it is written.
pub(super) struct VirtualResult<'r> {
    select: &'r Select,
    binds: &'r Binds<'r>,
    clock: &'r TimestampClock,
    out: &'r mut Vec<u8>,
    start: usize,
    writer: RowsWriter,
    conditions: Conditions<'r>,
    slices: SliceBuffer,
    parts: BoundParts<'r>,
    limits: RowLimits,
    /// Rows up to here were on the pages before.
    after: Option<Position>,
    /// The row that was added last.
    last: Option<Position>,
    partition_left: u32,
    /// The group of rows in the making, if each row of the result is one.
    group: Option<Grouping<'r>>,
    /// Its place in the order of ORDER BY.
    group_order: Vec<u8>,
    /// The rows so far with their places, if they are to be put in order at the end.
    unsorted: Vec<(Vec<u8>, Values)>,
    spare: Spare,
    json: Vec<u8>,
    is_too_long: bool,
    error: Option<QueryError>,
}

impl<'r> VirtualResult<'r> {
    pub(super) fn new(
        select: &'r Select,
        (binds, clock): (&'r Binds<'r>, &'r TimestampClock),
        limits: RowLimits,
        state: Option<PagingState>,
        out: &'r mut Vec<u8>,
        writer: RowsWriter,
    ) -> Result<Self, QueryError> {
        let limits = RowLimits { per_partition: if select.is_distinct { 1 } else { limits.per_partition }, ..limits };
        let partition_left = state.as_ref().map_or(limits.per_partition, |state| state.rows_left_in_partition);
        let after = state.map(|state| state.position);
        let mut slices = SliceBuffer::default();
        slices.fill(select, binds)?;
        Ok(VirtualResult {
            select,
            binds,
            clock,
            start: out.len(),
            out,
            writer,
            conditions: Conditions::new(select, binds)?,
            slices,
            parts: BoundParts::new(select, binds)?,
            limits,
            last: after.clone(),
            after,
            partition_left,
            group: match &select.output {
                Output::Rows(_) => None,
                Output::Groups(groups) => Some(Grouping::new(groups)),
            },
            group_order: Vec::new(),
            unsorted: Vec::new(),
            spare: Spare::default(),
            json: Vec::new(),
            is_too_long: false,
            error: None,
        })
    }

    /// Whether no further row is wanted.
    pub(super) fn is_over(&self) -> bool {
        self.limits.rows == 0 || self.limits.page == 0 || self.is_too_long || self.error.is_some()
    }

    pub(super) fn add_all(
        &mut self,
        rows: impl IntoIterator<Item = VirtualRow>,
        order: PartitionOrder,
        range: &PartitionRange,
    ) {
        let table = &self.select.table;
        for row in rows {
            if self.is_over() {
                return;
            }
            let key = partition_key(table, &row);
            let token = token_of(&key);
            if !range.has(table, token, &key)
                || !self.conditions.pass(|selected| column(self.select, &row, selected).map(Cow::Borrowed))
            {
                continue;
            }
            let clustering = clustering(self.select, &row);
            if !self.slices.has(&clustering) {
                continue;
            }
            let place = Position { token, key, row: Some(clustering) };
            if self.after.as_ref().is_none_or(|after| is_behind(&place, after, order, self.select)) {
                self.add(row, place);
            }
        }
    }

    /// Adds a row that meets the conditions and was on no page before.
    fn add(&mut self, row: VirtualRow, place: Position) {
        let is_same = self.last.as_ref().is_some_and(|last| last.key == place.key);
        if is_same && self.select.is_distinct {
            return;
        }
        if !is_same {
            self.end_group();
            if self.is_over() {
                return;
            }
            self.partition_left = self.limits.per_partition;
        }
        if self.partition_left == 0 && self.group.as_ref().is_none_or(|group| !group.is_open()) {
            return;
        }
        if self.group.is_some() {
            return self.add_to_group(&row, place);
        }
        let Output::Rows(columns) = &self.select.output else { panic!("groups were seen to") };
        self.partition_left -= 1;
        let mut values = Vec::with_capacity(columns.len());
        let leaves = &mut VirtualValues { select: self.select, parts: &self.parts, row: &row, token: place.token };
        let mut evaluator =
            Evaluator { binds: self.binds, clock: self.clock, parts: Some(&self.parts), spare: &mut self.spare };
        for selected in columns {
            let mut value = Vec::new();
            let is_there = match selected {
                Selected::Computed(index) => {
                    evaluator.evaluate(&self.select.expressions[usize::from(*index)], leaves, &mut value)
                }
                selected => Ok(leaves.selected(selected, &mut value)),
            };
            match is_there {
                Ok(is_there) => values.push(is_there.then_some(value)),
                Err(error) => {
                    self.error.get_or_insert(error);
                    return;
                }
            }
        }
        match self.select.sort.is_empty() {
            true => self.write(&values),
            false => self.unsorted.push((self.order_of(&row), values)),
        }
        self.last = Some(place);
        self.count_length();
    }

    fn order_of(&self, row: &VirtualRow) -> Vec<u8> {
        let first = self.select.table.partition_key().len();
        place_in_order(self.select, |position| row.get(first + position)?.as_deref())
    }

    /// Adds a row to its group. If it begins another one, the present one is a row of the result; and if that was the last that is wanted,
    /// of the page or of the partition, the row was not looked at.
    fn add_to_group(&mut self, row: &VirtualRow, place: Position) {
        if let Err(error) = self.try_to_group(row, place) {
            self.error.get_or_insert(error);
        }
    }

    fn try_to_group(&mut self, row: &VirtualRow, place: Position) -> Result<(), QueryError> {
        self.note_first_of_group(row);
        if !self.add_to_open_group(row, place.token)? {
            self.end_group();
            if self.is_over() || self.partition_left == 0 {
                return Ok(());
            }
            self.note_first_of_group(row);
            self.add_to_open_group(row, place.token)?;
        }
        self.last = Some(place);
        Ok(())
    }

    /// Notes the place in the order of ORDER BY of a group that a row is about to begin.
    fn note_first_of_group(&mut self, row: &VirtualRow) {
        if !self.select.sort.is_empty() && self.group.as_ref().is_some_and(|group| !group.is_open()) {
            self.group_order = self.order_of(row);
        }
    }

    /// Adds a row to the present group; false: it is of another one.
    fn add_to_open_group(&mut self, row: &VirtualRow, token: Token) -> Result<bool, QueryError> {
        let group = self.group.as_mut().expect("the result's rows are groups");
        let parts = &self.parts;
        let mut values = VirtualValues { select: self.select, parts, row, token };
        let mut evaluator =
            Evaluator { binds: self.binds, clock: self.clock, parts: Some(parts), spare: &mut self.spare };
        group.add(&mut evaluator, &mut values)
    }

    /// Ends the present group, if groups end where partitions do: it is a row of the result.
    fn end_group(&mut self) {
        if self.group.as_ref().is_some_and(|group| group.is_open() && group.is_by_key()) && self.error.is_none() {
            self.write_group();
            self.partition_left -= 1;
            self.count_length();
        }
    }

    /// Writes the present group as a row of the result.
    fn write_group(&mut self) {
        let group = self.group.as_mut().expect("the result's rows are groups");
        let mut evaluator =
            Evaluator { binds: self.binds, clock: self.clock, parts: Some(&self.parts), spare: &mut self.spare };
        let mut values = Vec::new();
        if let Err(error) = group.end(&mut evaluator, |value| values.push(value.map(<[u8]>::to_vec))) {
            self.error.get_or_insert(error);
            return;
        }
        match self.select.sort.is_empty() {
            true => self.write(&values),
            false => self.unsorted.push((std::mem::take(&mut self.group_order), values)),
        }
    }

    /// Puts the rows of all partitions in order and writes the first of them.
    pub(super) fn sort(&mut self, limit: u32) {
        self.end_group();
        let mut rows = std::mem::take(&mut self.unsorted);
        rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.limits.rows = limit;
        for (_, values) in rows {
            if self.is_over() {
                return;
            }
            self.write(&values);
            self.count_length();
        }
    }

    fn write(&mut self, values: &[Option<Vec<u8>>]) {
        let mut cells = RowCells::new(self.select, &mut self.writer, self.out, &mut self.json);
        values.iter().for_each(|value| cells.add(value.as_deref()));
        cells.end();
        self.limits.rows -= 1;
        self.limits.page -= 1;
    }

    /// Ends the page, or the result, where it is long.
    fn count_length(&mut self) {
        let length = self.out.len() - self.start;
        if self.limits.is_paged && length > PAGE_BYTES_MAX {
            self.limits.page = 0;
        }
        if length > LENGTH_STEP {
            // Addresses for all that it may become: growing by and by would copy it again and again.
            let most = if self.limits.is_paged { PAGE_BYTES_MAX } else { RESULT_BYTES_MAX };
            self.out.reserve((most + LENGTH_STEP).saturating_sub(length));
        }
        self.is_too_long = length > RESULT_BYTES_MAX;
    }

    /// `last_key` is the last of the partitions that the statement names, if it names any.
    pub(super) fn finish(mut self, call: &Call<'_>, last_key: Option<&[u8]>) -> Result<(), QueryError> {
        if self.is_too_long {
            return Err(too_long());
        }
        self.end_group();
        if self.select.output.is_one_group() && self.error.is_none() {
            self.write_group();
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        // As in a stored table's pages, there may be nothing behind a full one, unless the last partition that is named was seen
        // to its end.
        let is_at_end = self.partition_left == 0 || self.select.table.clustering().is_empty();
        let is_last = self.last.as_ref().is_some_and(|place| Some(place.key.as_slice()) == last_key);
        let has_more = self.limits.page == 0 && self.limits.rows > 0 && !(is_last && is_at_end);
        let state = self.last.filter(|_| has_more).map(|position| {
            let position = match self.select.is_distinct {
                true => Position { row: None, ..position },
                false => position,
            };
            let left = self.partition_left;
            PagingState { position, rows_left: self.limits.rows, rows_left_in_partition: left }.encode(&paging_key(
                self.select,
                call,
                self.binds,
            ))
        });
        self.writer.finish(self.out, state.as_deref());
        Ok(())
    }
}

/// The values of a made-up row.
struct VirtualValues<'l> {
    select: &'l Select,
    parts: &'l BoundParts<'l>,
    row: &'l VirtualRow,
    token: Token,
}

impl Leaves for VirtualValues<'_> {
    fn selected(&mut self, selected: &Selected, out: &mut Vec<u8>) -> bool {
        let table = &self.select.table;
        let value = match selected {
            Selected::Token => match PartitionOrder::of(table) {
                PartitionOrder::Tokens => Some(Cow::Owned(self.token.0.to_be_bytes().to_vec())),
                PartitionOrder::Keys => Some(Cow::Owned(partition_key(table, self.row))),
            },
            Selected::Part { index, .. } => {
                let part = self.select.parts.get(usize::from(*index)).filter(|part| part.what == PartOf::Value);
                let value = part.and_then(|part| column(self.select, self.row, &part.column?));
                value.and_then(|value| self.parts.value(*index, value))
            }
            selected => column(self.select, self.row, selected).map(Cow::Borrowed),
        };
        match value {
            Some(value) => {
                out.extend_from_slice(&value);
                true
            }
            None => false,
        }
    }
}

/// Whether the rows of `place` come after where the page before ended.
fn is_behind(place: &Position, after: &Position, order: PartitionOrder, select: &Select) -> bool {
    if place.key != after.key {
        let of = |key| order.place(&select.table, key);
        return of(&place.key) > of(&after.key);
    }
    match (&after.row, select.order) {
        (None, _) => false,
        (Some(_), Order::Stored) => place.row > after.row,
        (Some(_), Order::Reversed) => place.row < after.row,
    }
}

/// The byte-comparable clustering of a row.
fn clustering(select: &Select, row: &VirtualRow) -> Vec<u8> {
    let mut out = Vec::new();
    let columns = select.table.clustering();
    for (column, value) in columns.iter().zip(row.iter().skip(select.table.partition_key().len())) {
        let value = value.as_deref().unwrap_or_default();
        cql_types::comparable::encode(&column.ty, value, column.is_reversed(), &mut out);
    }
    out
}

/// The value of a column; what a stored cell would have beside it, a made-up one has not.
fn column<'a>(select: &Select, row: &'a VirtualRow, selected: &Selected) -> Option<&'a [u8]> {
    let table = &select.table;
    let index = match selected {
        Selected::PartitionKey(position) => Some(usize::from(*position)),
        Selected::Clustering(position) => Some(table.partition_key().len() + usize::from(*position)),
        Selected::Regular(column) | Selected::Static(column) | Selected::Elements { column, .. } => {
            table.column_index_by_id(*column)
        }
        _ => None,
    };
    row.get(index?)?.as_deref()
}
