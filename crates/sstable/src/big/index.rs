//! Index.db: every partition's key and place, in order.
//!
//! ```text
//! key: u16 length, bytes │ position in Data.db: vint │ bytes that follow: vint
//! of a wide partition:     bytes before its first row: vint │ deletion │ blocks: vint │ each block │ where each is, from the first: u32
//! ```
//!
//! (Source: Cassandra 5.0's `RowIndexEntry`; the same since 3.0, but that deletions changed in `oa`.)

use std::cmp::Ordering;

use mutation::Deletion;
use schema::Column;
use stdx::{ReadError, Reader, varint};
use topology::{Token, token_of};

use super::blocks::{self, BLOCK_OFFSET_LENGTH};
use crate::blocks::Blocks;
use crate::pages::{LookupError, Pages, read, read_some};
use crate::{Corrupt, Version, deletion};

/// The most bytes of an entry between its key and its blocks: four numbers and a deletion.
const HEAD_LENGTH_MAX: usize = 4 * varint::LENGTH_MAX + Deletion::LENGTH;

/// A partition's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Where the partition begins in Data.db.
    pub data_position: u64,
    /// Where the next entry begins in Index.db.
    pub next: u64,
    /// The partition's deletion; known only if it has blocks.
    pub deletion: Option<Deletion>,
    /// How many blocks it has; 0: it is not wide.
    pub block_count: u32,
    /// Where the first block's description is in Index.db.
    pub(super) blocks_at: u64,
}

impl Entry {
    /// Where the offsets of the blocks' descriptions begin.
    pub(super) fn offsets_at(&self) -> u64 {
        self.next - u64::from(self.block_count) * BLOCK_OFFSET_LENGTH as u64
    }
}

/// How entries are read.
#[derive(Debug, Clone, Copy)]
pub struct Index {
    /// The file's length, bytes.
    pub length: u64,
    /// The SSTable's version.
    pub version: Version,
}

impl Index {
    /// The entry at `position`, whose key is put into `key`; `None` at the file's end.
    pub fn entry(
        &self,
        pages: &(impl Pages + ?Sized),
        position: u64,
        key: &mut Vec<u8>,
    ) -> Result<Option<Entry>, LookupError> {
        if position == self.length {
            return Ok(None);
        }
        key.clear();
        read(pages, position, 2, key)?;
        let length = usize::from(u16::from_be_bytes([key[0], key[1]]));
        key.clear();
        read(pages, position + 2, length, key)?;
        let base = position + 2 + length as u64;
        let mut bytes = [0; HEAD_LENGTH_MAX];
        let bytes = read_some(pages, base, &mut bytes)?;
        match self.decode(bytes, base) {
            Ok(Some(entry)) => Ok(Some(entry)),
            Ok(None) => Err(Corrupt::new(base, "an entry is longer than the file").into()),
            Err(error) => Err(Corrupt::new(base, error.to_string()).into()),
        }
    }

    /// What stands behind the key; `None`: the lengths do not fit.
    fn decode(&self, bytes: &[u8], base: u64) -> Result<Option<Entry>, ReadError> {
        let mut reader = Reader::new(bytes);
        let data_position = reader.varint()?;
        let length = reader.varint()?;
        let body = base + (bytes.len() - reader.remaining()) as u64;
        let Some(next) = body.checked_add(length).filter(|&next| next <= self.length) else { return Ok(None) };
        if length == 0 {
            return Ok(Some(Entry { data_position, next, deletion: None, block_count: 0, blocks_at: next }));
        }
        reader.varint()?;
        let deletion = deletion::read(self.version, &mut reader)?;
        let count = reader.varint()?;
        let blocks_at = base + (bytes.len() - reader.remaining()) as u64;
        let Ok(block_count) = u32::try_from(count) else { return Ok(None) };
        let entry = Entry { data_position, next, deletion, block_count, blocks_at };
        let fits = next.checked_sub(blocks_at).is_some_and(|left| left / BLOCK_OFFSET_LENGTH as u64 >= count);
        Ok(fits.then_some(entry))
    }

    /// The entry of a key, looked for from `from` on ([`super::Summary::seek`]). Entries out of order are refused.
    pub fn find(
        &self,
        pages: &(impl Pages + ?Sized),
        from: u64,
        token: Token,
        key: &[u8],
    ) -> Result<Option<Entry>, LookupError> {
        let (mut position, mut found) = (from, Vec::new());
        let mut before: Option<(Token, Vec<u8>)> = None;
        while let Some(entry) = self.entry(pages, position, &mut found)? {
            let found_token = token_of(&found);
            if before.as_ref().is_some_and(|(t, k)| (*t, &k[..]) >= (found_token, &found[..])) {
                return Err(Corrupt::new(position, "partitions are out of order").into());
            }
            match found_token.cmp(&token).then_with(|| found[..].cmp(key)) {
                Ordering::Less => {}
                Ordering::Equal => return Ok(Some(entry)),
                Ordering::Greater => return Ok(None),
            }
            let last = before.get_or_insert_with(|| (found_token, Vec::new()));
            last.0 = found_token;
            std::mem::swap(&mut last.1, &mut found);
            position = entry.next;
        }
        Ok(None)
    }

    /// The blocks that may hold rows or markers between the places of the forms `start` and `end`
    /// ([`crate::byte_comparable::bound`]), and where a range deletion may hold in all of the slice, one block behind it. The last block's end may be
    /// behind the byte that ends the partition.
    pub fn blocks(
        &self,
        pages: &(impl Pages + ?Sized),
        entry: &Entry,
        columns: &[Column],
        start: &[u8],
        end: &[u8],
    ) -> Result<Blocks, LookupError> {
        blocks::find(self.version, *entry, columns, pages, start, end).map(Blocks::Big)
    }
}
