//! Writes partitions as Cassandra 5.0 does, in version `da`.

use mutation::{ClusteringRef, Deletion, RowBuilder, RowRef};
use schema::{ColumnKind, Table};
use stdx::varint;

use crate::data::cell::Times;
use crate::data::clustering::{BoundKind, write_row_values, write_values};
use crate::data::columns::{Columns, UnknownColumn, check_key};
use crate::data::flags::{extended, unfiltered};
use crate::data::row_writer::RowWriter;
use crate::deletion;
use crate::header::Header;
use crate::marker::Marker;
use crate::marshal;
use crate::statistics::StatisticsCollector;

/// Writes one SSTable's rows.
///
/// Partitions come in the order of their tokens and keys, rows and markers in the order of their clusterings: that is
/// for whoever calls. All calls append to a buffer, which may be emptied between them.
#[derive(Debug)]
pub struct DataWriter {
    times: Times,
    fixed_lengths: Vec<Option<usize>>,
    statics: Columns,
    regulars: Columns,
    /// How many bytes the open partition has.
    length: u64,
    /// Where in it the last row or marker began; 0 before the first.
    last_start: u64,
    is_partition_open: bool,
    deletions: Vec<u8>,
    row_writer: RowWriter,
    empty_row: Vec<u8>,
    collector: StatisticsCollector,
}

impl DataWriter {
    /// A writer of rows of `table` that have the header's columns. Cells of columns that are not in the header, because
    /// they were dropped, are left out.
    pub fn new(table: &Table, header: &Header) -> Result<Self, UnknownColumn> {
        check_key(header, table)?;
        let mut empty_row = Vec::new();
        RowBuilder::begin(&empty_row).finish(&mut empty_row);
        Ok(DataWriter {
            times: Times::new(header.encoding),
            fixed_lengths: header.clustering.iter().map(|of| marshal::fixed_length(&of.ty)).collect(),
            statics: Columns::new(&header.statics, ColumnKind::Static, table)?,
            regulars: Columns::new(&header.regulars, ColumnKind::Regular, table)?,
            length: 0,
            last_start: 0,
            is_partition_open: false,
            deletions: Vec::new(),
            row_writer: RowWriter::default(),
            empty_row,
            collector: StatisticsCollector::new(header),
        })
    }

    /// Begins a partition. What it appends is the partition's head, which row indexes do not count to the rows.
    pub fn partition(
        &mut self,
        out: &mut Vec<u8>,
        key: &[u8],
        deletion: Option<Deletion>,
        static_row: Option<RowRef<'_>>,
    ) {
        assert!(!self.is_partition_open, "a partition ends before the next begins");
        (self.is_partition_open, self.length, self.last_start) = (true, 0, 0);
        let start = out.len();
        let key_length = u16::try_from(key.len()).expect("a partition key has at most 65,535 bytes");
        out.extend_from_slice(&key_length.to_be_bytes());
        out.extend_from_slice(key);
        deletion::put(deletion, out);
        self.collector.partition(key, deletion);
        if !self.statics.all.is_empty() {
            let empty = RowRef::trusted(&self.empty_row);
            let row = static_row.unwrap_or(empty);
            let (flags, body) = self.row_writer.write(&row, &self.statics, &self.times, &mut self.collector);
            out.extend_from_slice(&[flags | unfiltered::EXTENSION, extended::IS_STATIC]);
            write_sized(body, 0, out);
        }
        self.length += (out.len() - start) as u64;
    }

    /// Adds a row.
    pub fn row(&mut self, out: &mut Vec<u8>, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        let start = out.len();
        let body = self.begin_row(out, clustering, row);
        out.extend_from_slice(body);
        self.end_row(clustering, (out.len() - start) as u64);
    }

    /// [`DataWriter::row`] but for the row's body, which it gives: a long one may be appended piece by piece, before
    /// [`DataWriter::end_row`].
    pub fn begin_row(&mut self, out: &mut Vec<u8>, clustering: ClusteringRef<'_>, row: RowRef<'_>) -> &[u8] {
        let columns = self.fixed_lengths.len();
        assert!(
            clustering.len() == columns || (1..columns).contains(&clustering.len()),
            "a row has a value for each clustering column, or for the first ones"
        );
        let (flags, body) = self.row_writer.write(&row, &self.regulars, &self.times, &mut self.collector);
        out.push(flags);
        write_row_values(clustering, &self.fixed_lengths, out);
        write_sizes(body.len(), self.length - self.last_start, out);
        body
    }

    /// The row that was begun has `length` bytes, all of which were appended.
    pub fn end_row(&mut self, clustering: ClusteringRef<'_>, length: u64) {
        self.collector.place(clustering);
        self.added(length);
    }

    /// Whether a row of `bytes` has to wait for buffers to grow.
    pub fn lacks_room(&self, bytes: usize) -> bool {
        self.row_writer.room() < bytes
    }

    /// Takes two empty buffers in the place of those that rows are put together in.
    pub fn take_room(&mut self, first: Vec<u8>, second: Vec<u8>) {
        self.row_writer.take_room(first, second);
    }

    /// Adds a place where the range deletion that holds changes.
    pub fn marker(&mut self, out: &mut Vec<u8>, marker: &Marker<'_>) {
        let start = out.len();
        out.push(unfiltered::IS_MARKER);
        out.push(BoundKind::of(marker).byte());
        let count = u16::try_from(marker.prefix.len()).expect("a clustering has at most 255 values");
        out.extend_from_slice(&count.to_be_bytes());
        write_values(marker.prefix, &self.fixed_lengths, out);
        self.deletions.clear();
        for deletion in [marker.closes, marker.opens].into_iter().flatten() {
            self.times.write_deletion(Some(deletion), &mut self.deletions);
            self.collector.deletion(deletion);
        }
        write_sized(&self.deletions, self.length - self.last_start, out);
        self.collector.marker(marker);
        self.added((out.len() - start) as u64);
    }

    /// Ends the partition. Gives its length.
    pub fn end_partition(&mut self, out: &mut Vec<u8>) -> u64 {
        assert!(self.is_partition_open, "a partition that ends has begun");
        self.is_partition_open = false;
        out.push(unfiltered::END_OF_PARTITION);
        self.collector.end_partition(self.length + 1);
        self.length + 1
    }

    /// What was learnt of the rows.
    pub fn finish(self) -> StatisticsCollector {
        assert!(!self.is_partition_open, "the last partition has ended");
        self.collector
    }

    fn added(&mut self, length: u64) {
        assert!(self.is_partition_open, "rows and markers stand in a partition");
        self.last_start = self.length;
        self.length += length;
    }
}

/// Appends the sizes of a row or marker and its body. (Source: Cassandra counts the size of what stood before as part of
/// the body.)
fn write_sized(body: &[u8], length_before: u64, out: &mut Vec<u8>) {
    write_sizes(body.len(), length_before, out);
    out.extend_from_slice(body);
}

fn write_sizes(body: usize, length_before: u64, out: &mut Vec<u8>) {
    varint::encode((body + varint::encoded_len(length_before)) as u64, out);
    varint::encode(length_before, out);
}
