//! Reads a mutation from bytes that may come from anywhere: everything is checked before anything is handed out.

use schema::TableId;
use stdx::Reader;
use topology::Token;

use crate::clustering::ClusteringRef;
use crate::encoder::{item_kind, mutation_flag};
use crate::error::DecodeError;
use crate::life::Deletion;
use crate::row::RowRef;
use crate::{VERSION, VERSION_WITH_ELEMENTS};

/// One end of a range tombstone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundRef<'a> {
    /// The first components of a clustering; none: the partition's end.
    pub prefix: ClusteringRef<'a>,
    /// Whether rows that begin with `prefix` are inside.
    pub inclusive: bool,
}

/// The deletion of the rows between two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeTombstoneRef<'a> {
    /// Where it begins.
    pub start: BoundRef<'a>,
    /// Where it ends.
    pub end: BoundRef<'a>,
    /// The deletion.
    pub deletion: Deletion,
}

/// One of a mutation's parts.
#[derive(Debug, Clone, Copy)]
pub enum Item<'a> {
    /// The partition's static row.
    StaticRow(RowRef<'a>),
    /// A row.
    Row(ClusteringRef<'a>, RowRef<'a>),
    /// A range of rows is deleted.
    RangeTombstone(RangeTombstoneRef<'a>),
}

/// A partition update, checked.
#[derive(Debug, Clone, Copy)]
pub struct MutationRef<'a> {
    bytes: &'a [u8],
    table: TableId,
    token: Token,
    key: &'a [u8],
    partition_deletion: Option<Deletion>,
    items: &'a [u8],
    item_count: usize,
}

/// Behind version, flags and the table's id.
const TOKEN_AT: usize = 2 + 16;

impl<'a> MutationRef<'a> {
    /// The mutation that is all of `bytes`.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut mutation = Self::head(bytes)?;
        let mut reader = Reader::new(mutation.items);
        while !reader.is_empty() {
            read_item(&mut reader, RowRef::decode)?;
            mutation.item_count += 1;
        }
        Ok(mutation)
    }

    fn head(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8()?;
        if version != VERSION && version != VERSION_WITH_ELEMENTS {
            return Err(DecodeError::NewerVersion { found: version, known: VERSION_WITH_ELEMENTS });
        }
        let flags = reader.u8()?;
        if flags & !mutation_flag::ALL != 0 {
            return Err(DecodeError::Unknown { what: "a mutation's flags", value: flags });
        }
        let table = TableId(reader.array()?);
        let token = Token(reader.i64()?);
        let key = reader.varint_bytes()?;
        let partition_deletion = match flags & mutation_flag::PARTITION_DELETION != 0 {
            true => Some(Deletion::from_bytes(reader.array()?)),
            false => None,
        };
        let items = reader.rest();
        Ok(MutationRef { bytes, table, token, key, partition_deletion, items, item_count: 0 })
    }

    /// The token in an encoding, which is not looked at further.
    #[inline]
    pub fn token_in(bytes: &[u8]) -> Option<Token> {
        let token = bytes.get(TOKEN_AT..)?.first_chunk()?;
        Some(Token(i64::from_be_bytes(*token)))
    }

    /// The encoding.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The table.
    #[inline]
    pub fn table(&self) -> TableId {
        self.table
    }

    /// The partition's token.
    #[inline]
    pub fn token(&self) -> Token {
        self.token
    }

    /// The partition's key.
    #[inline]
    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    /// The deletion of the whole partition, which comes before all items.
    #[inline]
    pub fn partition_deletion(&self) -> Option<Deletion> {
        self.partition_deletion
    }

    /// How many items there are.
    #[inline]
    pub fn item_count(&self) -> usize {
        self.item_count
    }

    /// Whether it says nothing: it deletes no partition and has no items.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.partition_deletion.is_none() && self.items.is_empty()
    }

    /// The rows and range tombstones as they were written.
    #[inline]
    pub fn items(&self) -> Items<'a> {
        Items { reader: Reader::new(self.items) }
    }
}

/// The items of a mutation.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<Item<'a>> {
        if self.reader.is_empty() {
            return None;
        }
        // `MutationRef::decode` has gone through all of it.
        read_item(&mut self.reader, |row| Ok(RowRef::trusted(row))).ok()
    }
}

#[inline]
fn read_item<'a>(
    reader: &mut Reader<'a>,
    row: impl FnOnce(&'a [u8]) -> Result<RowRef<'a>, DecodeError>,
) -> Result<Item<'a>, DecodeError> {
    match reader.u8()? {
        item_kind::ROW => {
            let clustering = ClusteringRef::read(reader)?;
            Ok(Item::Row(clustering, row(read_blob(reader)?)?))
        }
        item_kind::STATIC_ROW => Ok(Item::StaticRow(row(read_blob(reader)?)?)),
        item_kind::RANGE_TOMBSTONE => {
            let start = read_bound(reader)?;
            let end = read_bound(reader)?;
            let deletion = Deletion::from_bytes(reader.array()?);
            Ok(Item::RangeTombstone(RangeTombstoneRef { start, end, deletion }))
        }
        value => Err(DecodeError::Unknown { what: "a mutation's item", value }),
    }
}

#[inline]
fn read_blob<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let length = reader.u32()?;
    Ok(reader.bytes(length as usize)?)
}

fn read_bound<'a>(reader: &mut Reader<'a>) -> Result<BoundRef<'a>, DecodeError> {
    let inclusive = match reader.u8()? {
        0 => false,
        1 => true,
        value => return Err(DecodeError::Unknown { what: "a bound's inclusiveness", value }),
    };
    Ok(BoundRef { prefix: ClusteringRef::read(reader)?, inclusive })
}

#[cfg(test)]
mod tests;
