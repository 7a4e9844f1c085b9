//! `helenus sstable dump`: an SSTable as JSON, in the layout of Cassandra's `sstabledump`, so that either's output can be read by whoever
//! reads the other's.
//!
//! It deviates in one thing: a counter's value is the counter, where Cassandra shows the first bytes of its parts.

mod layout;

use std::io::Write as _;

use cql_types::CqlType;
use mutation::{CellRef, ClusteringRef, Deletion, Liveness, RowRef};
use runtime::Runtime;
use schema::{Column, Table};
use sstable::data::Item;
use sstable::{Header, Marker};
use stdx::Reader;

use crate::arguments::DumpArguments;
use crate::dump::layout::Layout;
use crate::error::ToolError;
use crate::files::{Files, table_of};
use crate::text;

/// So much is gathered before it is printed.
const PRINT_BYTES: usize = 64 << 10;

/// Prints the files one after the other.
pub(crate) async fn run(runtime: &Runtime, arguments: &DumpArguments) -> Result<(), ToolError> {
    for path in &arguments.files {
        let files = Files::of(runtime, path)?;
        dump(runtime, &files, arguments, |text| {
            let printed = std::io::stdout().write_all(text.as_bytes());
            printed.map_err(|source| ToolError::Print { source })
        })
        .await?;
    }
    Ok(())
}

/// Gives the dump to `print`, piece by piece.
async fn dump(
    runtime: &Runtime,
    files: &Files,
    arguments: &DumpArguments,
    mut print: impl FnMut(&str) -> Result<(), ToolError>,
) -> Result<(), ToolError> {
    let header = files.statistics().await?.header;
    let table = table_of(&header);
    let mut reader = files.reader(&header, &table)?;
    let mut data = files.data().await?;
    let now_in_seconds = u32::try_from(runtime.wall_clock_micros() / 1_000_000).unwrap_or(0);
    let mut dump = Dump { table: &table, header: &header, now_in_seconds, arguments, out: Layout::default() };
    dump.out.begin_list();
    let mut position = 0;
    while let Some(behind) = data
        .next(&mut reader, |item, behind| {
            dump.item(item, position, behind);
            behind
        })
        .await?
    {
        position = behind;
        if dump.out.len() > PRINT_BYTES {
            print(&dump.out.take())?;
        }
    }
    dump.out.end_list();
    print(&dump.out.take())
}

struct Dump<'d> {
    table: &'d Table,
    header: &'d Header,
    now_in_seconds: u32,
    arguments: &'d DumpArguments,
    out: Layout,
}

impl Dump<'_> {
    /// Prints an item that begins at `position` and ends before `behind`.
    fn item(&mut self, item: Item<'_>, position: u64, behind: u64) {
        match item {
            Item::Partition { key, .. } if self.arguments.keys => {
                self.out.entry();
                self.key(key);
            }
            _ if self.arguments.keys => {}
            Item::Partition { key, deletion, static_row } => {
                self.out.entry();
                self.out.begin_object();
                self.out.field("table kind");
                self.out.string("REGULAR");
                self.out.field("partition");
                self.out.begin_object();
                self.out.field("key");
                self.key(key);
                self.out.field("position");
                self.out.raw(&behind.to_string());
                if let Some(deletion) = deletion {
                    self.deletion(deletion);
                }
                self.out.end_object();
                self.out.field("rows");
                self.out.begin_list();
                if let Some(row) = static_row {
                    self.row("static_block", behind, None, row);
                }
            }
            Item::Row { clustering, row } => self.row("row", position, Some(clustering), row),
            Item::SkippedRow => {}
            Item::Marker(marker) => self.marker(&marker),
            Item::PartitionEnd => {
                self.out.end_list();
                self.out.end_object();
            }
        }
    }

    fn key(&mut self, key: &[u8]) {
        let types = &self.header.partition_key;
        let parts: Vec<String> = match &types[..] {
            [single] => vec![text::plain(single, key)],
            several => {
                let mut reader = Reader::new(key);
                let mut part = |ty: &CqlType| {
                    let length = reader.u16().ok()?;
                    let value = reader.bytes(usize::from(length)).ok()?;
                    reader.u8().ok()?;
                    Some(text::plain(ty, value))
                };
                several.iter().map_while(&mut part).collect()
            }
        };
        self.out.compact_list(parts.iter().map(|part| {
            let mut quoted = String::new();
            text::write_string(part, &mut quoted);
            quoted
        }));
    }

    fn row(&mut self, kind: &str, position: u64, clustering: Option<ClusteringRef<'_>>, row: RowRef<'_>) {
        self.out.entry();
        self.out.begin_object();
        self.out.field("type");
        self.out.string(kind);
        self.out.field("position");
        self.out.raw(&position.to_string());
        if let Some(clustering) = clustering {
            self.clustering(clustering, "null");
        }
        let liveness = row.liveness();
        if let Some(liveness) = liveness {
            self.liveness(liveness);
        }
        if let Some(deletion) = row.deletion() {
            self.deletion(deletion);
        }
        self.out.field("cells");
        self.out.begin_list();
        for cell in row.cells() {
            self.cell(&cell, liveness);
        }
        self.out.end_list();
        self.out.end_object();
    }

    fn liveness(&mut self, liveness: Liveness) {
        self.out.field("liveness_info");
        self.out.begin_compact_object();
        self.out.field("tstamp");
        let time = self.timestamp(liveness.timestamp);
        self.out.string(&time);
        if let Some(expiry) = liveness.expiry {
            self.expiry(expiry);
        }
        self.out.end_object();
    }

    fn expiry(&mut self, expiry: mutation::Expiry) {
        self.out.field("ttl");
        self.out.raw(&expiry.ttl.to_string());
        self.out.field("expires_at");
        let time = self.seconds(expiry.local_deletion_time);
        self.out.string(&time);
        self.out.field("expired");
        self.out.raw(if expiry.local_deletion_time < self.now_in_seconds { "true" } else { "false" });
    }

    fn deletion(&mut self, deletion: Deletion) {
        self.out.field("deletion_info");
        self.out.begin_compact_object();
        self.out.field("marked_deleted");
        let time = self.timestamp(deletion.timestamp);
        self.out.string(&time);
        self.out.field("local_delete_time");
        let time = self.seconds(deletion.local_deletion_time);
        self.out.string(&time);
        self.out.end_object();
    }

    fn cell(&mut self, cell: &CellRef<'_>, liveness: Option<Liveness>) {
        let column = self.table.column_by_id(cell.column).expect("the table was made of the header");
        self.out.entry();
        self.out.begin_compact_object();
        self.out.field("name");
        self.out.string(&cql_syntax::quote_identifier(&column.name));
        if let (true, true, Some(local_deletion_time)) =
            (column.ty.is_multi_cell(), cell.path.is_empty(), cell.tombstone)
        {
            self.deletion(Deletion { timestamp: cell.timestamp, local_deletion_time });
            self.out.end_object();
            return;
        }
        let shown = Shown::of(column, cell);
        if let Some(path) = &shown.path {
            self.out.field("path");
            let mut quoted = String::new();
            text::write_string(path, &mut quoted);
            self.out.compact_list(std::iter::once(quoted));
        }
        if let Some(local_deletion_time) = cell.tombstone {
            self.out.field("deletion_info");
            self.out.begin_compact_object();
            self.out.field("local_delete_time");
            let time = self.seconds(local_deletion_time);
            self.out.string(&time);
            self.out.end_object();
            // From here on Cassandra writes the cell line by line.
            self.out.spread();
        } else {
            self.out.field("value");
            self.out.raw(&shown.value);
        }
        if liveness.is_none_or(|liveness| liveness.timestamp != cell.timestamp) {
            self.out.field("tstamp");
            let time = self.timestamp(cell.timestamp);
            self.out.string(&time);
        }
        if let Some(expiry) = cell.expiry {
            let is_the_rows =
                liveness.and_then(|liveness| liveness.expiry).is_some_and(|of_row| of_row.ttl == expiry.ttl);
            if !is_the_rows {
                self.expiry(expiry);
            }
        }
        self.out.end_object();
    }

    fn marker(&mut self, marker: &Marker<'_>) {
        self.out.entry();
        self.out.begin_object();
        self.out.field("type");
        let is_boundary = marker.opens.is_some() && marker.closes.is_some();
        self.out.string(if is_boundary { "range_tombstone_boundary" } else { "range_tombstone_bound" });
        // A place behind a prefix is included by the range that ends there and excluded by the one that begins.
        let mut bound = |name: &str, is_inclusive: bool, deletion: Option<Deletion>| {
            let Some(deletion) = deletion else { return };
            self.out.field(name);
            self.out.begin_object();
            self.out.field("type");
            self.out.string(if is_inclusive { "inclusive" } else { "exclusive" });
            self.clustering(marker.prefix, "\"*\"");
            self.deletion(deletion);
            self.out.end_object();
        };
        bound("start", !marker.after, marker.opens);
        bound("end", marker.after, marker.closes);
        self.out.end_object();
    }

    /// All of a row's clustering, or of a bound's the first values. The others are of a row null, of a bound stars.
    fn clustering(&mut self, clustering: ClusteringRef<'_>, missing: &str) {
        if clustering.is_empty() {
            return;
        }
        self.out.field("clustering");
        let values = clustering.components().map(Some).chain(std::iter::repeat(None));
        let shown = self.header.clustering.iter().zip(values).map(|(of, value)| match value {
            Some(value) => {
                let mut json = String::new();
                text::write_json(&of.ty, value, &mut json);
                json
            }
            None => missing.to_owned(),
        });
        self.out.compact_list(shown);
    }

    fn timestamp(&self, micros: i64) -> String {
        if self.arguments.raw_times {
            return micros.to_string();
        }
        // As Cassandra counts: the second is cut off towards 1970, the fraction is of the second before.
        text::instant(micros / 1_000_000, micros.rem_euclid(1_000_000) as u32 * 1000)
    }

    fn seconds(&self, seconds: u32) -> String {
        match self.arguments.raw_times {
            true => seconds.to_string(),
            false => text::instant(i64::from(seconds), 0),
        }
    }
}

/// A cell's path and value.
struct Shown {
    path: Option<String>,
    value: String,
}

impl Shown {
    fn of(column: &Column, cell: &CellRef<'_>) -> Shown {
        let mut value = String::new();
        if !column.ty.is_multi_cell() {
            text::write_json(&column.ty, cell.shown(), &mut value);
            return Shown { path: None, value };
        }
        let path = sstable::data::element_path(&column.ty, cell).unwrap_or_default();
        let path = match &column.ty {
            CqlType::List { element, .. } => {
                text::write_json(element, cell.value, &mut value);
                text::plain(&CqlType::Timeuuid, &path)
            }
            CqlType::Set { element, .. } => {
                value.push_str("\"\"");
                text::plain(element, &path)
            }
            CqlType::Map { key, value: of, .. } => {
                let mut reader = Reader::new(cell.value);
                // The value stands behind the key.
                if reader.varint_bytes().is_ok() {
                    text::write_json(of, reader.rest(), &mut value);
                }
                text::plain(key, &path)
            }
            CqlType::Udt { fields, .. } => {
                let index = path.first_chunk().map(|index| usize::from(u16::from_be_bytes(*index)));
                let field = index.and_then(|index| fields.get(index));
                if let Some(field) = field {
                    text::write_json(&field.ty, cell.value, &mut value);
                }
                field.map_or_else(|| text::hex(&path), |field| field.name.clone())
            }
            _ => text::hex(&path),
        };
        Shown { path: Some(path), value }
    }
}

#[cfg(test)]
mod tests;
