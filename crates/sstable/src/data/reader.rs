//! Reads partitions from bytes that come piece by piece.

use mutation::{ClusteringRef, Deletion, RowRef};
use schema::{ColumnKind, Table};
use stdx::{ReadError, Reader};

use crate::data::cell::{Fault, Times};
use crate::data::clustering::{BoundKind, read_prefix_lengths, read_values};
use crate::data::columns::{Columns, UnknownColumn, check_key};
use crate::data::flags::{extended, unfiltered};
use crate::data::row_reader::{RowFlags, RowReader};
use crate::deletion;
use crate::error::Corrupt;
use crate::header::Header;
use crate::marker::Marker;
use crate::marshal;
use crate::version::Version;

/// The next thing in Data.db. It borrows from the bytes and from the reader's own buffers.
#[derive(Debug, Clone, Copy)]
pub enum Item<'a> {
    /// A partition begins.
    Partition {
        /// Its key.
        key: &'a [u8],
        /// The deletion of all of it.
        deletion: Option<Deletion>,
        /// Its static row, if there is anything in it.
        static_row: Option<RowRef<'a>>,
    },
    /// A row.
    Row {
        /// Its clustering.
        clustering: ClusteringRef<'a>,
        /// What is in it.
        row: RowRef<'a>,
    },
    /// A row that was not wanted.
    SkippedRow,
    /// A place where the range deletion that holds changes.
    Marker(Marker<'a>),
    /// The partition ends.
    PartitionEnd,
}

/// What came of a step.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// Something was read.
    Item {
        /// It.
        item: Item<'a>,
        /// How many bytes it took: the next step begins behind them.
        used: usize,
    },
    /// The bytes end in the middle: come again with the same bytes and those behind them.
    NeedMore {
        /// How many bytes are needed at least, those given among them. A number from the file, perhaps a wrong one: whoever
        /// has no such bytes knows that the file is broken, before any memory is taken.
        at_least: usize,
    },
}

/// Reads one SSTable's rows for one table.
#[derive(Debug)]
pub struct DataReader {
    version: Version,
    times: Times,
    fixed_lengths: Vec<Option<usize>>,
    statics: Columns,
    regulars: Columns,
    is_inside_partition: bool,
    clustering: Vec<u8>,
    row: Vec<u8>,
    row_reader: RowReader,
}

impl DataReader {
    /// A reader that stands between two partitions.
    pub fn new(version: Version, header: &Header, table: &Table) -> Result<Self, UnknownColumn> {
        check_key(header, table)?;
        Ok(DataReader {
            version,
            times: Times::new(header.encoding),
            fixed_lengths: header.clustering.iter().map(|of| marshal::fixed_length(&of.ty)).collect(),
            statics: Columns::new(&header.statics, ColumnKind::Static, table)?,
            regulars: Columns::new(&header.regulars, ColumnKind::Regular, table)?,
            is_inside_partition: false,
            clustering: Vec::new(),
            row: Vec::new(),
            row_reader: RowReader::default(),
        })
    }

    /// Goes to the beginning of a partition: the next bytes are of one.
    pub fn seek_partition(&mut self) {
        self.is_inside_partition = false;
    }

    /// Goes to a row or marker inside a partition, as a row index knows them: the next bytes are of one.
    pub fn seek_row(&mut self) {
        self.is_inside_partition = true;
    }

    /// Reads what stands at the beginning of `bytes`.
    pub fn next<'a>(&'a mut self, bytes: &'a [u8]) -> Result<Step<'a>, Corrupt> {
        self.next_where(bytes, |_| true)
    }

    /// The same; rows that are not `wanted` are not decoded.
    pub fn next_where<'a>(
        &'a mut self,
        bytes: &'a [u8],
        wanted: impl FnOnce(ClusteringRef<'_>) -> bool,
    ) -> Result<Step<'a>, Corrupt> {
        let mut reader = Reader::new(bytes);
        let found = match self.is_inside_partition {
            true => self.unfiltered(&mut reader, wanted),
            false => self.partition(&mut reader),
        };
        let offset = bytes.len() - reader.remaining();
        match found {
            Ok(item) => Ok(Step::Item { item: self.item(item), used: offset }),
            Err(Fault::Read(ReadError::Truncated { wanted, left })) => {
                Ok(Step::NeedMore { at_least: bytes.len().saturating_add(wanted.saturating_sub(left)) })
            }
            Err(fault) => Err(Corrupt::new(offset as u64, fault.to_string())),
        }
    }

    /// What was found, with the reader's buffers.
    fn item<'a>(&'a mut self, found: Found<'a>) -> Item<'a> {
        let clustering = ClusteringRef::trusted(&self.clustering);
        match found {
            Found::Partition { key, deletion } => {
                self.is_inside_partition = true;
                let static_row = Some(&self.row).filter(|row| !row.is_empty()).map(|row| RowRef::trusted(row));
                Item::Partition { key, deletion, static_row: static_row.filter(|row| !row.is_empty()) }
            }
            Found::Row => Item::Row { clustering, row: RowRef::trusted(&self.row) },
            Found::SkippedRow => Item::SkippedRow,
            Found::Marker { after, closes, opens } => Item::Marker(Marker { prefix: clustering, after, closes, opens }),
            Found::End => {
                self.is_inside_partition = false;
                Item::PartitionEnd
            }
        }
    }

    fn partition<'a>(&mut self, reader: &mut Reader<'a>) -> Result<Found<'a>, Fault> {
        let key_length = reader.u16()?;
        let key = reader.bytes(usize::from(key_length))?;
        let deletion = deletion::read(self.version, reader)?;
        self.row.clear();
        if !self.statics.all.is_empty() {
            let flags = read_flags(reader)?;
            if flags.has(unfiltered::IS_MARKER | unfiltered::END_OF_PARTITION)
                || flags.extended & extended::IS_STATIC == 0
            {
                return Err(Fault::Wrong("a partition lacks its static row"));
            }
            self.row(reader, flags, true)?;
        }
        Ok(Found::Partition { key, deletion })
    }

    fn unfiltered<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        wanted: impl FnOnce(ClusteringRef<'_>) -> bool,
    ) -> Result<Found<'a>, Fault> {
        let flags = read_flags(reader)?;
        if flags.has(unfiltered::END_OF_PARTITION) {
            return match flags.flags {
                unfiltered::END_OF_PARTITION => Ok(Found::End),
                _ => Err(Fault::Wrong("invalid flags at a partition's end")),
            };
        }
        if flags.has(unfiltered::IS_MARKER) {
            return match flags.flags {
                unfiltered::IS_MARKER => self.marker(reader),
                _ => Err(Fault::Wrong("invalid flags of a marker")),
            };
        }
        if flags.extended & extended::IS_STATIC != 0 {
            return Err(Fault::Wrong("a static row stands among the others"));
        }
        read_values(reader, &self.fixed_lengths, &mut self.clustering)?;
        if !wanted(ClusteringRef::trusted(&self.clustering)) {
            body(reader)?;
            return Ok(Found::SkippedRow);
        }
        self.row.clear();
        self.row(reader, flags, false)?;
        Ok(Found::Row)
    }

    /// Reads a row's sizes and body. A body that is all there and yet too short is wrong, however many bytes follow.
    fn row(&mut self, reader: &mut Reader<'_>, flags: RowFlags, is_static: bool) -> Result<(), Fault> {
        let mut rest = *reader;
        let mut inner = body(&mut rest)?;
        let columns = if is_static { &self.statics } else { &self.regulars };
        let read = self.row_reader.read(&mut inner, flags, columns, &self.times, &mut self.row);
        if let Err(fault) = read {
            *reader = Reader::new(&reader.peek()[reader.remaining() - rest.remaining() - inner.remaining()..]);
            return Err(whole(fault));
        }
        *reader = rest;
        Ok(())
    }

    fn marker<'a>(&mut self, reader: &mut Reader<'a>) -> Result<Found<'a>, Fault> {
        let kind = BoundKind::read(reader)?;
        let lengths = read_prefix_lengths(reader, &self.fixed_lengths)?;
        read_values(reader, lengths, &mut self.clustering)?;
        let mut inner = body(reader)?;
        let mut deletion = || {
            let deletion = self.times.read_deletion(&mut inner).map_err(whole)?;
            deletion.ok_or(Fault::Wrong("a marker deletes nothing"))
        };
        let first = deletion()?;
        let second = if kind.closes && kind.opens { Some(deletion()?) } else { None };
        if !inner.is_empty() {
            return Err(Fault::Wrong("a marker is shorter than it says"));
        }
        let (closes, opens) = kind.deletions(first, second);
        Ok(Found::Marker { after: kind.after, closes, opens })
    }
}

/// An item without what stands in the reader's buffers.
enum Found<'a> {
    Partition { key: &'a [u8], deletion: Option<Deletion> },
    Row,
    SkippedRow,
    Marker { after: bool, closes: Option<Deletion>, opens: Option<Deletion> },
    End,
}

#[inline]
fn read_flags(reader: &mut Reader<'_>) -> Result<RowFlags, Fault> {
    let flags = reader.u8()?;
    let extended = if flags & unfiltered::EXTENSION != 0 { reader.u8()? } else { 0 };
    if extended & !extended::ALL != 0 {
        return Err(Fault::Wrong("invalid flags of a row"));
    }
    Ok(RowFlags { flags, extended })
}

/// Takes the body that follows, without the size of what stood before, which stands first in it.
#[inline]
fn body<'a>(reader: &mut Reader<'a>) -> Result<Reader<'a>, Fault> {
    let mut body = Reader::new(reader.varint_bytes()?);
    body.varint().map_err(|error| whole(error.into()))?;
    Ok(body)
}

/// A fault in bytes that are all there: no more of them would help.
#[cold]
fn whole(fault: Fault) -> Fault {
    match fault {
        Fault::Read(ReadError::Truncated { .. }) => Fault::Wrong("a row or marker is longer than it says"),
        other => other,
    }
}
