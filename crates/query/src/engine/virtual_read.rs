//! Reads of system tables: all their rows are made up from the snapshot, then looked at one by one.

use std::borrow::Cow;
use std::ops::Bound as TokenBound;

use cql_protocol::response::insert_warnings;
use cql_protocol::{RowsWriter, Value};
use mutation::KeyRange;
use topology::token_of;

use super::Engine;
use super::now::Call;
use super::read::{is_in, limit, read_level, token_range};
use crate::error::QueryError;
use crate::execute::bind::generate;
use crate::execute::filter::Conditions;
use crate::execute::parts::BoundParts;
use crate::plan::{Binds, Comparison, InList, Keys, Order, Output, PartOf, Select, Selected};
use crate::system::{VirtualRow, partition_key};

impl Engine {
    /// Answers a SELECT from a system table. The result is one page: such tables are small.
    pub(super) fn select_virtual(
        &self,
        select: &Select,
        values: &[Value<'_>],
        call: &Call<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        read_level(call.params.consistency)?;
        let generated = generate(&call.plan.generators, values, &self.inner.clock)?;
        let binds = Binds { values, generated: &generated, long_texts_checked: false };
        let catalog = self.catalog();
        let partition = wanted_partition(select, &binds)?;
        let rows = catalog.system.rows(&select.table, &catalog.schema, partition);
        let reply_start = out.len();
        let mut result = VirtualRead::begin(select, &binds, call, rows, out)?;
        while result.next() {}
        result.finish();
        insert_warnings(out, reply_start, select.warning().as_slice());
        Ok(())
    }

    /// The same for a schema of any size, with pauses.
    pub(super) async fn select_virtual_in_steps(
        &self,
        select: &Select,
        values: &[Value<'_>],
        call: &Call<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        read_level(call.params.consistency)?;
        let generated = generate(&call.plan.generators, values, &self.inner.clock)?;
        let binds = Binds { values, generated: &generated, long_texts_checked: false };
        let catalog = self.catalog();
        let partition = wanted_partition(select, &binds)?;
        let runtime = &self.inner.runtime;
        let rows = catalog.system.rows_in_steps(&select.table, &catalog.schema, partition, runtime).await;
        let reply_start = out.len();
        let mut result = VirtualRead::begin(select, &binds, call, rows, out)?;
        while result.next() {
            runtime.maybe_yield().await;
        }
        result.finish();
        insert_warnings(out, reply_start, select.warning().as_slice());
        Ok(())
    }
}

/// Rows on their way into a result. Each is let go when it was looked at: all at once would take long.
struct VirtualRead<'r, 'v> {
    rows: std::vec::IntoIter<VirtualRow>,
    tokens: Option<KeyRange<'static>>,
    is_full: bool,
    result: VirtualResult<'r, 'v>,
}

impl<'r, 'v> VirtualRead<'r, 'v> {
    fn begin(
        select: &'r Select,
        binds: &'r Binds<'v>,
        call: &Call<'_>,
        mut rows: Vec<VirtualRow>,
        out: &'r mut Vec<u8>,
    ) -> Result<Self, QueryError> {
        if select.order == Order::Reversed {
            rows.reverse();
        }
        let tokens = match &select.keys {
            Keys::Tokens { start, end } => token_range(select, start.as_deref(), end.as_deref(), binds)?,
            Keys::Choices(_) => Some(KeyRange::Tokens { start: TokenBound::Unbounded, end: TokenBound::Unbounded }),
        };
        let head = call.reply.head(&select.columns);
        let writer = RowsWriter::begin(out, call.reply.version, call.reply.stream, &head);
        let result = VirtualResult::new(select, binds, out, writer)?;
        Ok(VirtualRead { rows: rows.into_iter(), tokens, is_full: false, result })
    }

    /// Looks at the next row; false when there is none.
    fn next(&mut self) -> bool {
        let Some(row) = self.rows.next() else { return false };
        let token = || token_of(&partition_key(&self.result.select.table, &row));
        if !self.is_full && is_in(self.tokens.as_ref(), token) {
            self.is_full = !self.result.add(&row);
        }
        true
    }

    fn finish(self) {
        self.result.finish();
    }
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
    writer: RowsWriter,
    conditions: Conditions<'r>,
    parts: BoundParts<'r>,
    rows_left: u32,
    per_partition: u32,
    partition: Option<Vec<u8>>,
    partition_left: u32,
    counted: u64,
}

impl<'r, 'v> VirtualResult<'r, 'v> {
    fn new(
        select: &'r Select,
        binds: &'r Binds<'v>,
        out: &'r mut Vec<u8>,
        writer: RowsWriter,
    ) -> Result<Self, QueryError> {
        let rows_left = limit(select.limit.as_ref(), binds)?;
        let per_partition = match select.is_distinct {
            true => 1,
            false => limit(select.per_partition_limit.as_ref(), binds)?,
        };
        Ok(VirtualResult {
            select,
            binds,
            out,
            writer,
            conditions: Conditions::new(select, binds)?,
            parts: BoundParts::new(select, binds)?,
            rows_left,
            per_partition,
            partition: None,
            partition_left: per_partition,
            counted: 0,
        })
    }

    /// Adds a row if it meets the conditions. Gives whether more are wanted.
    fn add(&mut self, row: &VirtualRow) -> bool {
        let select = self.select;
        if !self.conditions.pass(|selected| column(select, row, selected).map(Cow::Borrowed)) {
            return true;
        }
        let key = partition_key(&select.table, row);
        if self.partition.as_ref() != Some(&key) {
            self.partition = Some(key);
            self.partition_left = self.per_partition;
        }
        if self.partition_left == 0 {
            return true;
        }
        self.partition_left -= 1;
        self.counted += 1;
        let Output::Rows(columns) = &select.output else { return true };
        for selected in columns {
            self.value(row, selected);
        }
        self.writer.end_row();
        self.rows_left -= 1;
        self.rows_left > 0
    }

    fn value(&mut self, row: &VirtualRow, selected: &Selected) {
        match selected {
            Selected::Token => {
                let token = token_of(&partition_key(&self.select.table, row));
                self.writer.value(self.out, Some(&token.0.to_be_bytes()));
            }
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

    fn finish(mut self) {
        if let Output::Count { columns } = &self.select.output {
            for column in columns {
                match column {
                    None => self.writer.value(self.out, Some(&self.counted.to_be_bytes())),
                    Some(_) => self.writer.value(self.out, None),
                }
            }
            self.writer.end_row();
        }
        self.writer.finish(self.out, None);
    }
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
