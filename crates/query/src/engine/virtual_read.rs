//! Reads of system tables: their rows are made up from the snapshot part by part, looked at one by one, and let go.

use std::borrow::Cow;

use cluster::coordinator::Unavailable;
use cql_protocol::RowsWriter;
use mutation::{KeyRange, Position};
use schema::system_keyspaces;
use topology::{ConsistencyLevel, Token, token_of};

use super::Engine;
use super::now::Call;
use super::read::{is_in, paging_key, paging_state, read_level, row_limits, token_range};
use crate::clients::ClientInfo;
use crate::control::{ControlReply, ControlRequest};
use crate::error::{QueryError, invalid};
use crate::execute::filter::Conditions;
use crate::execute::parts::BoundParts;
use crate::execute::rows::{LENGTH_STEP, PAGE_BYTES_MAX, RESULT_BYTES_MAX, RowLimits};
use crate::paging::PagingState;
use crate::plan::{Binds, Comparison, InList, KeyChoice, Keys, Order, Output, PartOf, Select, Selected};
use crate::system::{VirtualRow, partition_key, shows_clients};

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
        let tokens = match &select.keys {
            Keys::Tokens { start, end } => token_range(select, start.as_deref(), end.as_deref(), binds)?,
            Keys::Choices(_) => panic!("a condition on a system table's key is a filter"),
        };
        if let (Some(state), Some(tokens)) = (&state, &tokens) {
            state.check_place(tokens)?;
        }
        let limits = row_limits(select, binds, call, state.as_ref())?;
        let partition = wanted_partition(select, binds)?;
        let head = call.reply.head(&select.columns);
        let writer = RowsWriter::begin(out, call.reply.version, call.reply.stream, &head);
        let mut result = VirtualResult::new(select, binds, limits, state, out, writer)?;
        let clients = if shows_clients(&select.table) { self.all_clients().await? } else { Vec::new() };
        let parts = catalog.system.parts(&select.table, &catalog.schema, &clients, partition);
        if let Some(tokens) = tokens {
            // What comes last may come in the last part.
            let mut reversed = Vec::new();
            for part in parts {
                match select.order {
                    Order::Stored => result.add_all(part, &tokens),
                    Order::Reversed => reversed.extend(part),
                }
                if result.is_over() {
                    break;
                }
                runtime.maybe_yield().await;
            }
            while let Some(row) = reversed.pop() {
                result.add_all([row], &tokens);
                runtime.maybe_yield().await;
            }
        }
        result.finish(call)
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

/// The first partition key column's value, if the statement asks for one.
fn wanted_partition<'a>(select: &'a Select, binds: &Binds<'a>) -> Result<Option<&'a [u8]>, QueryError> {
    for filter in &select.filters {
        if let (Selected::PartitionKey(0), Comparison::EqualToAny, InList::Operands(operands)) =
            (filter.column, filter.comparison, &filter.operands)
            && let [operand] = operands.as_slice()
        {
            return operand.key_value(&filter.name, binds).map(Some);
        }
    }
    Ok(None)
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
            is_too_long: false,
        })
    }

    /// Whether no further row is wanted.
    fn is_over(&self) -> bool {
        self.limits.rows == 0 || self.limits.page == 0 || self.is_too_long
    }

    fn add_all(&mut self, rows: impl IntoIterator<Item = VirtualRow>, tokens: &KeyRange<'_>) {
        for row in rows {
            if self.is_over() {
                return;
            }
            let key = partition_key(&self.select.table, &row);
            let token = token_of(&key);
            if is_in(tokens, token)
                && self.conditions.pass(|selected| column(self.select, &row, selected).map(Cow::Borrowed))
            {
                let place = Position { token, key, row: Some(clustering(self.select, &row)) };
                if self.after.as_ref().is_none_or(|after| is_behind(&place, after, self.select.order)) {
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
            Output::Rows(columns) => {
                for selected in columns {
                    self.value(&row, place.token, selected);
                }
                self.writer.end_row();
                self.limits.rows -= 1;
                self.limits.page -= 1;
            }
            Output::Count { .. } => {
                self.counted += 1;
                self.first_row.get_or_insert((row, place.token));
            }
        }
        self.last = Some(place);
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
            Selected::Token => self.writer.value(self.out, Some(&token.0.to_be_bytes())),
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

    fn finish(mut self, call: &Call<'_>) -> Result<(), QueryError> {
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
        // As in a stored table's pages, there may be nothing behind a full one.
        let key = &self.select.system_key;
        let is_one_row =
            self.select.table.clustering().is_empty() && !key.is_empty() && key.iter().all(KeyChoice::is_single);
        let has_more = self.limits.page == 0 && self.limits.rows > 0 && !is_one_row;
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
fn is_behind(place: &Position, after: &Position, order: Order) -> bool {
    let by_partition = (place.token, &place.key).cmp(&(after.token, &after.key));
    by_partition
        .then_with(|| match (&after.row, order) {
            (None, _) => std::cmp::Ordering::Less,
            (Some(_), Order::Stored) => place.row.cmp(&after.row),
            (Some(_), Order::Reversed) => after.row.cmp(&place.row),
        })
        .is_gt()
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
