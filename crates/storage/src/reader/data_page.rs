//! A page of data as a replica gives it for reconciliation: rows with their tombstones, and what is deleted around them.
//!
//! ```text
//! page:      item*
//! partition: 1 u8 | token i64 | vint length, key | deletion | vint length, static row (0: none)
//! range:     2 u8 | 0, or 1 and vint length, place | deletion
//! row:       3 u8 | vint length, clustering | vint length, row
//! deletion:  0 u8, or 1 and timestamp i64, local deletion time u32
//! ```
//!
//! A range says: from the place on, in the direction of the read, this deletion holds, or none.
//!
//! A read that pauses tells again of the partition and of what holds: within a page that is not written again. So pages of the same data end at the same place,
//! wherever a replica paused, and their digests can be compared.

use std::ops::Range;

use mutation::{ClusteringRef, DecodeError, Deletion, RowRef};
use stdx::{Reader, varint};
use topology::Token;

use crate::reader::page_room::PageRoom;
use crate::sink::DataSink;

const PARTITION: u8 = 1;
const RANGE: u8 = 2;
const ROW: u8 = 3;

/// What a page of data may hold. At least one item is always there, so that a reader makes progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataPageLimits {
    /// Items after which none is added: rows, and each partition and each change of what is deleted.
    pub items: u32,
    /// Encoded bytes after which no item is added.
    pub bytes: u32,
}

/// Collects data into a page until its limits are reached.
#[derive(Debug)]
pub struct DataPageWriter {
    limits: DataPageLimits,
    items: Vec<u8>,
    count: u32,
    room: PageRoom,
    present: Option<Present>,
}

/// The page's last words of the partition that is being read.
#[derive(Debug)]
struct Present {
    token: Token,
    key: Range<usize>,
    deletion: Option<Deletion>,
    static_row: Range<usize>,
    /// The range's deletion; `None`: an earlier page said it.
    range: Option<Option<Deletion>>,
}

impl DataPageWriter {
    /// An empty page.
    pub fn new(limits: DataPageLimits) -> Self {
        DataPageWriter { limits, items: Vec::new(), count: 0, room: PageRoom::default(), present: None }
    }

    /// The memory that it must have for a long row. What it holds then is of no use.
    pub fn wanted(&self) -> Option<usize> {
        self.room.wanted()
    }

    /// Begins again with memory as [`runtime::Runtime::touched`] makes it.
    pub fn begin_again(&mut self, memory: Vec<u8>) {
        (self.room, self.items, self.count, self.present) = (PageRoom::of(&memory), memory, 0, None);
    }

    /// The items.
    pub fn into_bytes(self) -> Vec<u8> {
        self.items
    }

    /// Gives where the bytes lie.
    fn push_bytes(&mut self, bytes: &[u8]) -> Range<usize> {
        varint::encode(bytes.len() as u64, &mut self.items);
        let start = self.items.len();
        self.items.extend_from_slice(bytes);
        start..self.items.len()
    }

    /// True if the page has said the same of this partition already.
    fn has_said(&self, token: Token, key: &[u8], deletion: Option<Deletion>, static_row: &[u8]) -> bool {
        self.present.as_ref().is_some_and(|present| {
            present.token == token
                && self.items[present.key.clone()] == *key
                && present.deletion == deletion
                && self.items[present.static_row.clone()] == *static_row
        })
    }

    fn push_deletion(&mut self, deletion: Option<Deletion>) {
        self.items.push(u8::from(deletion.is_some()));
        if let Some(deletion) = deletion {
            self.items.extend_from_slice(&deletion.to_bytes());
        }
    }
}

impl DataSink for DataPageWriter {
    fn partition(&mut self, token: Token, key: &[u8], deletion: Option<Deletion>, static_row: Option<RowRef<'_>>) {
        let static_row = static_row.map_or(&[][..], |row| row.bytes());
        if self.has_said(token, key, deletion, static_row) || !self.room.takes(self.items.len(), static_row.len()) {
            return;
        }
        let range = match &self.present {
            // The first may go on where an earlier page ended.
            None => None,
            Some(present) if present.token == token && self.items[present.key.clone()] == *key => present.range,
            Some(_) => Some(None),
        };
        self.count = self.count.saturating_add(1);
        self.items.push(PARTITION);
        self.items.extend_from_slice(&token.0.to_be_bytes());
        let key = self.push_bytes(key);
        self.push_deletion(deletion);
        let static_row = self.push_bytes(static_row);
        self.present = Some(Present { token, key, deletion, static_row, range });
    }

    fn range(&mut self, at: Option<&[u8]>, deletion: Option<Deletion>) {
        if self.room.wanted().is_some() || self.present.as_ref().is_some_and(|present| present.range == Some(deletion))
        {
            return;
        }
        if let Some(present) = &mut self.present {
            present.range = Some(deletion);
        }
        self.count = self.count.saturating_add(1);
        self.items.push(RANGE);
        self.items.push(u8::from(at.is_some()));
        if let Some(at) = at {
            let _ = self.push_bytes(at);
        }
        self.push_deletion(deletion);
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        if !self.room.takes(self.items.len(), row.bytes().len()) {
            return;
        }
        self.count = self.count.saturating_add(1);
        self.items.push(ROW);
        let _ = self.push_bytes(clustering.bytes());
        let _ = self.push_bytes(row.bytes());
    }

    fn is_full(&self) -> bool {
        self.count >= self.limits.items
            || self.items.len() >= self.limits.bytes as usize
            || self.room.wanted().is_some()
    }
}

/// One thing in a page.
#[derive(Debug, Clone, Copy)]
pub enum DataItem<'a> {
    /// A partition begins or goes on.
    Partition {
        /// Its token.
        token: Token,
        /// Its key.
        key: &'a [u8],
        /// The deletion of the whole partition.
        deletion: Option<Deletion>,
        /// Its static row.
        static_row: Option<RowRef<'a>>,
    },
    /// What is deleted changes.
    Range {
        /// From where on; `None`: from before all rows to come.
        at: Option<&'a [u8]>,
        /// The deletion.
        deletion: Option<Deletion>,
    },
    /// A row of the partition.
    Row {
        /// Its clustering.
        clustering: ClusteringRef<'a>,
        /// The row.
        row: RowRef<'a>,
    },
}

/// Takes the next item out of a page; `None` at its end. Everything is checked.
pub fn read_data_item<'a>(reader: &mut Reader<'a>) -> Result<Option<DataItem<'a>>, DecodeError> {
    read_item(reader, RowRef::decode, ClusteringRef::decode)
}

/// [`read_data_item`] for a page that was made right here of checked rows.
pub(super) fn read_trusted_item<'a>(reader: &mut Reader<'a>) -> Result<Option<DataItem<'a>>, DecodeError> {
    read_item(reader, |bytes| Ok(RowRef::trusted(bytes)), |bytes| Ok(ClusteringRef::trusted(bytes)))
}

fn read_item<'a>(
    reader: &mut Reader<'a>,
    row: impl Fn(&'a [u8]) -> Result<RowRef<'a>, DecodeError>,
    clustering: impl Fn(&'a [u8]) -> Result<ClusteringRef<'a>, DecodeError>,
) -> Result<Option<DataItem<'a>>, DecodeError> {
    if reader.is_empty() {
        return Ok(None);
    }
    let item = match reader.u8()? {
        PARTITION => {
            let token = Token(reader.i64()?);
            let key = reader.varint_bytes()?;
            let deletion = read_deletion(reader)?;
            let static_row = match reader.varint_bytes()? {
                [] => None,
                bytes => Some(row(bytes)?),
            };
            DataItem::Partition { token, key, deletion, static_row }
        }
        RANGE => {
            let at = match reader.u8()? {
                0 => None,
                1 => Some(reader.varint_bytes()?),
                value => return Err(DecodeError::Unknown { what: "a range's place", value }),
            };
            DataItem::Range { at, deletion: read_deletion(reader)? }
        }
        ROW => {
            let clustering = clustering(reader.varint_bytes()?)?;
            DataItem::Row { clustering, row: row(reader.varint_bytes()?)? }
        }
        value => return Err(DecodeError::Unknown { what: "a data page's item", value }),
    };
    Ok(Some(item))
}

fn read_deletion(reader: &mut Reader<'_>) -> Result<Option<Deletion>, DecodeError> {
    match reader.u8()? {
        0 => Ok(None),
        1 => Ok(Some(Deletion::from_bytes(reader.array()?))),
        value => Err(DecodeError::Unknown { what: "a deletion's flag", value }),
    }
}
