//! A row of a result, value by value: as they are, or as one text of JSON.

use cql_protocol::RowsWriter;

use crate::execute::expressions::write_json;
use crate::plan::{JsonColumn, Select};

/// Where a row's values go.
pub(crate) struct RowCells<'w> {
    writer: &'w mut RowsWriter,
    out: &'w mut Vec<u8>,
    json: Option<(&'w [JsonColumn], &'w mut Vec<u8>)>,
    count: usize,
}

impl<'w> RowCells<'w> {
    /// Of a row that begins at the end of `out`. `json` is a buffer.
    pub(crate) fn new(
        select: &'w Select,
        writer: &'w mut RowsWriter,
        out: &'w mut Vec<u8>,
        json: &'w mut Vec<u8>,
    ) -> Self {
        json.clear();
        RowCells { writer, out, json: select.json.as_deref().map(|columns| (columns, json)), count: 0 }
    }

    /// Adds the next value, or null.
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

    /// Ends the row: writes the text, if it is one.
    pub(crate) fn end(self) {
        if let Some((_, json)) = self.json {
            json.push(b'}');
            self.writer.value(self.out, Some(json));
        }
        self.writer.end_row();
    }
}
