//! The answer to a conditional statement: whether it was applied and, if not, what was there.

use cql_protocol::response::{ColumnSpec, RowsHead, Specs};
use cql_protocol::{RowsWriter, Version};
use cql_types::CqlType;
use functions::Call;
use mutation::{ClusteringRef, LiveRow, RowRef};
use schema::{Column, ColumnMask, Table};

use super::{CurrentRows, Request};
use crate::error::QueryError;
use crate::execute::row_source::RowSource;
use crate::plan::{Planning, Selected};

/// The result's first column.
const APPLIED: &str = "[applied]";

impl Request<'_> {
    /// Appends the whole frame. `refusing` is what was read, if that was not as the conditions ask for. A mask may fail; one that is not called does not.
    pub(crate) fn write_result(
        &self,
        refusing: Option<&CurrentRows<'_>>,
        (version, stream): (Version, i16),
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        let ty = CqlType::Boolean;
        let table = self.table;
        let applied = [u8::from(refusing.is_none())];
        let shown = match refusing {
            Some(current) if current.static_row().is_some() || current.rows().len() > 0 => self.shown_columns(),
            _ => Vec::new(),
        };
        let mut specs = Vec::with_capacity(1 + shown.len());
        specs.push(spec(table, APPLIED, &ty));
        specs.extend(shown.iter().map(|column| spec(table, &column.name, &column.ty)));
        // Columns differ from one answer to the next, so they are always described, and never under an id.
        let head = RowsHead { columns: Specs::Columns(&specs), new_metadata_id: None };
        let mut writer = RowsWriter::begin(out, version, stream, &head);
        match refusing.filter(|_| !shown.is_empty()) {
            None => {
                writer.value(out, Some(&applied));
                writer.end_row();
            }
            Some(current) => {
                let shown: Vec<Shown<'_>> = shown.iter().map(|column| Shown::new(column, table, self.masked)).collect();
                let mut row = |row: Option<(&[u8], &[u8])>| {
                    writer.value(out, Some(&applied));
                    self.write_row(current, row, &shown, &mut writer, out)?;
                    writer.end_row();
                    Ok::<_, QueryError>(())
                };
                match current.rows().len() {
                    0 => row(None)?,
                    _ => {
                        current.rows().try_for_each(|one| row(Some((one.clustering.as_slice(), one.row.as_slice()))))?
                    }
                }
            }
        }
        writer.finish(out, None);
        Ok(())
    }

    /// One row that was read, or the static row alone.
    fn write_row(
        &self,
        current: &CurrentRows<'_>,
        row: Option<(&[u8], &[u8])>,
        columns: &[Shown<'_>],
        writer: &mut RowsWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        let (_, key) = self.key();
        let now = current.now_in_seconds();
        let live =
            |(clustering, row)| (ClusteringRef::trusted(clustering), LiveRow::new(RowRef::trusted(row), None, now));
        let mut source = RowSource::new(key, row.map(live), current.cells(current.static_row()));
        let key_columns = self.table.partition_key().len();
        let (mut made, mut masked) = (Vec::new(), Vec::new());
        for Shown { selected, mask } in columns {
            let value = match selected {
                Selected::Elements { column, is_static, shape } => {
                    made.clear();
                    let cells = source.cells(*is_static);
                    cells.assemble(*column, *shape, self.table, &mut made).then_some(made.as_slice())
                }
                selected => source.bytes(selected, key_columns),
            };
            let value = match mask {
                None => value,
                Some(mask) => {
                    masked.clear();
                    mask.evaluate(value, &mut masked)?.then_some(masked.as_slice())
                }
            };
            writer.value(out, value);
        }
        Ok(())
    }

    /// The columns beside `[applied]`: all where it was asked whether a row exists, else those of the conditions, each once; in a batch with
    /// the primary key before them, since its rows are to be told apart.
    fn shown_columns(&self) -> Vec<&Column> {
        let Some(conditions) = &self.shown else { return self.table.columns().iter().collect() };
        let key = self.table.columns().iter().filter(|column| self.is_batch && column.kind.is_key());
        let mut shown: Vec<&Column> = key.collect();
        for condition in conditions {
            let Some(column) = self.table.column(&condition.name) else { continue };
            if !shown.iter().any(|known| known.id == column.id) {
                shown.push(column);
            }
        }
        shown
    }
}

/// A column of the result.
struct Shown<'t> {
    selected: Selected,
    /// The mask that its values are shown through.
    mask: Option<Masking<'t>>,
}

/// A column's mask. Without a call, as a damaged log may have it, it gives null.
struct Masking<'t> {
    mask: &'t ColumnMask,
    call: Option<Call>,
}

impl<'t> Shown<'t> {
    fn new(column: &'t Column, table: &Table, masked: bool) -> Self {
        let mask = column.mask.as_deref().filter(|_| masked);
        let mask = mask.map(|mask| Masking { mask, call: mask.call(&column.ty) });
        Shown { selected: Selected::of_column(column).of_stored(table), mask }
    }
}

impl Masking<'_> {
    /// Appends the masked value; false: it is null.
    fn evaluate(&self, value: Option<&[u8]>, out: &mut Vec<u8>) -> Result<bool, QueryError> {
        let Some(call) = &self.call else { return Ok(false) };
        let constants = self.mask.arguments.iter().map(|argument| argument.value.as_deref());
        let arguments: Vec<Option<&[u8]>> = std::iter::once(value).chain(constants).collect();
        Ok(call.evaluate(&arguments, &mut Planning, out)?)
    }
}

fn spec<'a>(table: &'a Table, name: &'a str, ty: &'a CqlType) -> ColumnSpec<'a> {
    ColumnSpec { keyspace: &table.keyspace, table: &table.name, name, ty }
}
