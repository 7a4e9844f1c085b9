//! Reads of system tables: their rows are made up from the snapshot part by part, looked at one by one, and let go.

use std::borrow::Cow;
use std::ops::{Bound, RangeBounds};

use cluster::coordinator::Unavailable;
use cql_protocol::{RowsWriter, Value};
use mutation::{KeyRange, Position};
use schema::{Table, system_keyspaces};
use topology::{ConsistencyLevel, Token, token_of};

use super::Engine;
use super::now::Call;
use super::read::{is_in, limit, paging_key, paging_state, read_level, row_limits, token_range};
use crate::clients::ClientInfo;
use crate::control::{ControlReply, ControlRequest};
use crate::error::{QueryError, invalid};
use crate::execute::filter::Conditions;
use crate::execute::key::keys;
use crate::execute::parts::BoundParts;
use crate::execute::rows::{LENGTH_STEP, PAGE_BYTES_MAX, RESULT_BYTES_MAX, RowLimits, place_in_order};
use crate::paging::{InvalidPagingState, PagingState};
use crate::plan::{Binds, Keys, Order, Output, PartOf, Select, Selected, TokenEnd, TokenValue};
use crate::system::{PartitionOrder, VirtualRow, partition_key, shows_clients};

impl Engine {
    /// Answers a SELECT from a system table.
    pub(super) async fn select_virtual(
        &self,
        select: &Select,
        binds: &Binds<'_>,
        call: &Call<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        check_level(&select.table.keyspace, read_level(call.params.consistency)?)?;
        let runtime = &self.inner.runtime;
        let catalog = self.catalog();
        let state = paging_state(select, call, binds)?;
        let mut wanted = match select.system_key.is_empty() {
            true => None,
            false => Some(keys(&select.table, &select.system_key, binds)?),
        };
        let order = if wanted.is_some() { PartitionOrder::Keys } else { PartitionOrder::of(&select.table) };
        let range = PartitionRange::new(select, binds)?;
        if let Some(state) = &state {
            range.check_place(&select.table, state)?;
            if let Some(keys) = &mut wanted {
                // Partitions before the one where the page before ended are done.
                let done = keys.iter().position(|key| *key == state.position.key).ok_or(InvalidPagingState)?;
                keys.drain(..done);
            }
        }
        let limits = row_limits(select, binds, call, state.as_ref())?;
        let head = call.reply.head(&select.columns);
        let writer = RowsWriter::begin(out, call.reply.version, call.reply.stream, &head);
        let mut result = VirtualResult::new(select, binds, limits, state, out, writer)?;
        let clients = if shows_clients(&select.table) { self.all_clients().await? } else { Vec::new() };
        let partitions: Vec<Option<&[u8]>> = match &wanted {
            None => vec![None],
            Some(keys) => keys.iter().map(|key| Some(key.as_slice())).collect(),
        };
        for partition in partitions {
            if result.is_over() {
                break;
            }
            // Rows come the other way round only of partitions that are named: what comes last may come in the last part.
            let mut reversed = Vec::new();
            for part in catalog.system.parts(&select.table, &catalog.schema, &clients, partition) {
                match select.order {
                    Order::Stored => result.add_all(part, order, &range),
                    Order::Reversed => reversed.extend(part),
                }
                if result.is_over() {
                    break;
                }
                runtime.maybe_yield().await;
            }
            while let Some(row) = reversed.pop() {
                result.add_all([row], order, &range);
                runtime.maybe_yield().await;
            }
            runtime.maybe_yield().await;
        }
        if !select.sort.is_empty() {
            result.sort(limit(select.limit.as_ref(), binds)?);
        }
        let last_key = wanted.as_ref().and_then(|keys| keys.last()).map(Vec::as_slice);
        result.finish(call, last_key)
    }

    async fn all_clients(&self) -> Result<Vec<ClientInfo>, QueryError> {
        let replies = self.on_all_shards(|| ControlRequest::Clients).await?;
        let clients = replies.into_iter().filter_map(|(_, reply)| match reply {
            ControlReply::Clients(clients) => Some(clients),
            _ => None,
        });
        Ok(clients.flatten().collect())
    }
}

/// Each node has the tables of `system` and `system_schema` for itself, which is one replica; virtual tables have no levels.
fn check_level(keyspace: &str, level: ConsistencyLevel) -> Result<(), QueryError> {
    let required = match level {
        ConsistencyLevel::Two => 2,
        ConsistencyLevel::Three => 3,
        _ => 1,
    };
    if required > 1 && !system_keyspaces::is_virtual(keyspace) {
        return Err(Unavailable { level, required, alive: 1 }.into());
    }
    Ok(())
}

/// The partitions that token() restricts a SELECT to, whatever its condition says beside.
enum PartitionRange {
    /// Those with these tokens; `None`: no partition.
    Tokens(Option<KeyRange<'static>>),
    /// Of a virtual table, whose tokens are its keys: those at these places.
    Keys(Bound<Vec<u8>>, Bound<Vec<u8>>),
}

impl PartitionRange {
    fn new(select: &Select, binds: &Binds<'_>) -> Result<Self, QueryError> {
        let Keys::Tokens { start, end } = &select.keys else {
            panic!("a condition on a system table's key is a filter");
        };
        if PartitionOrder::of(&select.table) == PartitionOrder::Tokens {
            return Ok(PartitionRange::Tokens(token_range(select, start.as_deref(), end.as_deref(), binds)?));
        }
        let bound = |end: Option<&TokenEnd>| -> Result<(Bound<Vec<u8>>, bool), QueryError> {
            let Some(end) = end else { return Ok((Bound::Unbounded, true)) };
            let key = token_key(&end.value, binds)?;
            let place = PartitionOrder::Keys.place(&select.table, key);
            let bound = if end.is_inclusive { Bound::Included(place) } else { Bound::Excluded(place) };
            Ok((bound, key.is_empty()))
        };
        let (start, _) = bound(start.as_deref())?;
        // The smallest token stands for the end of all where a range ends, as in Cassandra.
        let end = match bound(end.as_deref())? {
            (_, true) => Bound::Unbounded,
            (end, false) => end,
        };
        Ok(PartitionRange::Keys(start, end))
    }

    /// Whether a partition is inside.
    fn has(&self, table: &Table, token: Token, key: &[u8]) -> bool {
        match self {
            PartitionRange::Tokens(range) => range.as_ref().is_some_and(|range| is_in(range, token)),
            PartitionRange::Keys(Bound::Unbounded, Bound::Unbounded) => true,
            PartitionRange::Keys(start, end) => {
                (start.as_ref(), end.as_ref()).contains(&PartitionOrder::Keys.place(table, key))
            }
        }
    }

    /// Refuses a page that begins where the statement does not read.
    fn check_place(&self, table: &Table, state: &PagingState) -> Result<(), InvalidPagingState> {
        match self.has(table, state.position.token, &state.position.key) {
            true => Ok(()),
            false => Err(InvalidPagingState),
        }
    }
}

/// The key that stands for a virtual table's token. The statement's plan says that it has one column.
fn token_key<'a>(value: &'a TokenValue, binds: &Binds<'a>) -> Result<&'a [u8], QueryError> {
    let operand = match value {
        TokenValue::Given(operand) => operand,
        TokenValue::OfKey(operands) => operands.first().expect("a key has a column"),
    };
    match operand.value(binds)? {
        Value::Bytes(key) => Ok(key),
        Value::Null => Err(invalid("Invalid null token value")),
        Value::Unset => Err(invalid("Invalid unset value for argument in call to function token")),
    }
}

/// A result while it is written.
struct VirtualResult<'r, 'v> {
    select: &'r Select,
    binds: &'r Binds<'v>,
    out: &'r mut Vec<u8>,
    start: usize,
    writer: RowsWriter,
    conditions: Conditions<'r>,
    parts: BoundParts<'r>,
    limits: RowLimits,
    /// Rows up to here were on the pages before.
    after: Option<Position>,
    /// The row that was added last.
    last: Option<Position>,
    partition_left: u32,
    counted: u64,
    /// The other columns beside a COUNT, of the first row.
    first_row: Option<(VirtualRow, Token)>,
    /// The rows so far with their places, if they are to be put in order at the end.
    unsorted: Vec<(Vec<u8>, VirtualRow, Token)>,
    is_too_long: bool,
}

impl<'r, 'v> VirtualResult<'r, 'v> {
    fn new(
        select: &'r Select,
        binds: &'r Binds<'v>,
        limits: RowLimits,
        state: Option<PagingState>,
        out: &'r mut Vec<u8>,
        writer: RowsWriter,
    ) -> Result<Self, QueryError> {
        let limits = RowLimits { per_partition: if select.is_distinct { 1 } else { limits.per_partition }, ..limits };
        let partition_left = state.as_ref().map_or(limits.per_partition, |state| state.rows_left_in_partition);
        let after = state.map(|state| state.position);
        Ok(VirtualResult {
            select,
            binds,
            start: out.len(),
            out,
            writer,
            conditions: Conditions::new(select, binds)?,
            parts: BoundParts::new(select, binds)?,
            limits,
            last: after.clone(),
            after,
            partition_left,
            counted: 0,
            first_row: None,
            unsorted: Vec::new(),
            is_too_long: false,
        })
    }

    /// Whether no further row is wanted.
    fn is_over(&self) -> bool {
        self.limits.rows == 0 || self.limits.page == 0 || self.is_too_long
    }

    fn add_all(&mut self, rows: impl IntoIterator<Item = VirtualRow>, order: PartitionOrder, range: &PartitionRange) {
        let table = &self.select.table;
        for row in rows {
            if self.is_over() {
                return;
            }
            let key = partition_key(table, &row);
            let token = token_of(&key);
            if range.has(table, token, &key)
                && self.conditions.pass(|selected| column(self.select, &row, selected).map(Cow::Borrowed))
            {
                let place = Position { token, key, row: Some(clustering(self.select, &row)) };
                if self.after.as_ref().is_none_or(|after| is_behind(&place, after, order, self.select)) {
                    self.add(row, place);
                }
            }
        }
    }

    /// Adds a row that meets the conditions and was on no page before.
    fn add(&mut self, row: VirtualRow, place: Position) {
        if self.last.as_ref().is_none_or(|last| last.key != place.key) {
            self.partition_left = self.limits.per_partition;
        }
        if self.partition_left == 0 {
            return;
        }
        self.partition_left -= 1;
        match &self.select.output {
            Output::Rows(_) if !self.select.sort.is_empty() => {
                let first = self.select.table.partition_key().len();
                let order = place_in_order(self.select, |position| row.get(first + position)?.as_deref());
                self.unsorted.push((order, row, place.token));
            }
            Output::Rows(_) => self.write(&row, place.token),
            Output::Count { .. } => {
                self.counted += 1;
                self.first_row.get_or_insert((row, place.token));
            }
        }
        self.last = Some(place);
        self.count_length();
    }

    /// Puts the rows of all partitions in order and writes the first of them.
    fn sort(&mut self, limit: u32) {
        let mut rows = std::mem::take(&mut self.unsorted);
        rows.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        self.limits.rows = limit;
        for (_, row, token) in rows {
            if self.is_over() {
                return;
            }
            self.write(&row, token);
            self.count_length();
        }
    }

    fn write(&mut self, row: &VirtualRow, token: Token) {
        if let Output::Rows(columns) = &self.select.output {
            for selected in columns {
                self.value(row, token, selected);
            }
            self.writer.end_row();
            self.limits.rows -= 1;
            self.limits.page -= 1;
        }
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

    fn value(&mut self, row: &VirtualRow, token: Token, selected: &Selected) {
        match selected {
            Selected::Token => match PartitionOrder::of(&self.select.table) {
                PartitionOrder::Tokens => self.writer.value(self.out, Some(&token.0.to_be_bytes())),
                PartitionOrder::Keys => self.writer.value(self.out, Some(&partition_key(&self.select.table, row))),
            },
            Selected::Generated(index) => {
                let value = self.binds.generated.get(usize::from(*index));
                self.writer.value(self.out, value.map(Vec::as_slice));
            }
            Selected::Part { index, .. } => {
                let part = self.select.parts.get(usize::from(*index)).filter(|part| part.what == PartOf::Value);
                let value = part.and_then(|part| column(self.select, row, &part.column));
                let value = value.and_then(|value| self.parts.value(*index, value));
                self.writer.value(self.out, value.as_deref());
            }
            selected => self.writer.value(self.out, column(self.select, row, selected)),
        }
    }

    /// `last_key` is the last of the partitions that the statement names, if it names any.
    fn finish(mut self, call: &Call<'_>, last_key: Option<&[u8]>) -> Result<(), QueryError> {
        if self.is_too_long {
            return Err(invalid(format!("the result is longer than {RESULT_BYTES_MAX} bytes; ask for it in pages")));
        }
        if let Output::Count { columns } = &self.select.output {
            let first_row = self.first_row.take();
            for selected in columns {
                match (selected, &first_row) {
                    (None, _) => self.writer.value(self.out, Some(&self.counted.to_be_bytes())),
                    (Some(selected), Some((row, token))) => self.value(row, *token, selected),
                    (Some(_), None) => self.writer.value(self.out, None),
                }
            }
            self.writer.end_row();
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
