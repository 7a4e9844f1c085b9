//! The blocks of a wide partition as its entry in Index.db describes them.
//!
//! ```text
//! first row or marker │ last row or marker │ begins: vint, from the partition's beginning │ length − 64 KiB: signed vint
//! │ 1 and the range deletion that is open at its end, or 0
//! row or marker    4 │ values               or: kind of bound │ count: u16 │ values
//! ```
//!
//! (Source: Cassandra 5.0's `IndexInfo`, `ClusteringPrefix`.)

use mutation::{ClusteringRef, Deletion};
use schema::Column;
use stdx::{Reader, varint};

use super::index::Entry;
use crate::blocks::Block;
use crate::byte_comparable::{self, Place};
use crate::data::clustering::{BoundKind, read_prefix_lengths, read_values};
use crate::pages::{LookupError, Pages, read};
use crate::{Corrupt, Version, deletion, marshal};

/// The bytes of an offset of a block's description.
pub(super) const BLOCK_OFFSET_LENGTH: usize = 4;

/// What is taken from a block's length before it is stored.
const LENGTH_BASE: i64 = 64 << 10;

/// The kind of a clustering that is a row's.
const ROW: u8 = 4;

/// The blocks of a slice.
#[derive(Debug, Clone)]
pub struct RowBlocks {
    version: Version,
    entry: Entry,
    fixed_lengths: Vec<Option<usize>>,
    /// The blocks that were not given yet.
    left: std::ops::Range<u32>,
}

/// Which row or marker of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    First,
    Last,
}

/// What a block's description says beside its edges.
struct Described {
    begins: u64,
    ends: u64,
    open_behind: Option<Deletion>,
}

/// The blocks between two places.
pub(super) fn find(
    version: Version,
    entry: Entry,
    columns: &[Column],
    pages: &(impl Pages + ?Sized),
    start: &[u8],
    end: &[u8],
) -> Result<RowBlocks, LookupError> {
    let fixed_lengths = columns.iter().map(|column| marshal::fixed_length(&column.ty)).collect();
    let mut blocks = RowBlocks { version, entry, fixed_lengths, left: 0..entry.block_count };
    let mut form = Vec::new();
    let first = blocks.search(entry.block_count, |blocks, number| {
        blocks.edge(pages, number, Edge::Last, columns, &mut form)?;
        Ok(form[..] >= *start)
    })?;
    let behind = blocks.search(entry.block_count, |blocks, number| {
        blocks.edge(pages, number, Edge::First, columns, &mut form)?;
        Ok(form[..] > *end)
    })?;
    // A slice between two blocks has none of its own, but what is open there is known from the next.
    blocks.left = first..behind.max((first + 1).min(entry.block_count));
    Ok(blocks)
}

impl RowBlocks {
    /// The first block of which `is_behind` is true, as of all that follow it.
    fn search(
        &self,
        count: u32,
        mut is_behind: impl FnMut(&Self, u32) -> Result<bool, LookupError>,
    ) -> Result<u32, LookupError> {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_behind(self, middle)? { high = middle } else { low = middle + 1 }
        }
        Ok(low)
    }

    /// Where a block's description is, and its bytes.
    fn description(&self, pages: &(impl Pages + ?Sized), number: u32) -> Result<(u64, Vec<u8>), LookupError> {
        let offsets_at = self.entry.offsets_at();
        let is_last = number + 1 == self.entry.block_count;
        let mut bytes = Vec::with_capacity(2 * BLOCK_OFFSET_LENGTH);
        let count = if is_last { 1 } else { 2 };
        let offset_at = offsets_at + u64::from(number) * BLOCK_OFFSET_LENGTH as u64;
        read(pages, offset_at, count * BLOCK_OFFSET_LENGTH, &mut bytes)?;
        let mut offsets = Reader::new(&bytes);
        let mut offset = || offsets.u32().map(|offset| self.entry.blocks_at + u64::from(offset));
        let begins = offset().expect("it was read");
        let ends = if is_last { offsets_at } else { offset().expect("it was read") };
        let length = ends.checked_sub(begins).filter(|_| ends <= offsets_at);
        let Some(length) = length.and_then(|length| usize::try_from(length).ok()) else {
            return Err(Corrupt::new(offset_at, "a block's description lies outside of its entry").into());
        };
        bytes.clear();
        read(pages, begins, length, &mut bytes)?;
        Ok((begins, bytes))
    }

    /// Puts the byte-comparable form of a block's edge into `form`.
    fn edge(
        &self,
        pages: &(impl Pages + ?Sized),
        number: u32,
        edge: Edge,
        columns: &[Column],
        form: &mut Vec<u8>,
    ) -> Result<(), LookupError> {
        let (at, bytes) = self.description(pages, number)?;
        let mut reader = Reader::new(&bytes);
        let mut values = Vec::new();
        let corrupt = |error: String| LookupError::from(Corrupt::new(at, error));
        let mut place = self.read_edge(&mut reader, &mut values).map_err(corrupt)?;
        if edge == Edge::Last {
            place = self.read_edge(&mut reader, &mut values).map_err(corrupt)?;
        }
        form.clear();
        byte_comparable::clustering(columns, ClusteringRef::trusted(&values), place, form);
        Ok(())
    }

    /// Reads a row's clustering or a bound; its values go into `values`.
    fn read_edge(&self, reader: &mut Reader<'_>, values: &mut Vec<u8>) -> Result<Place, String> {
        let mut read = || {
            if reader.peek().first() == Some(&ROW) {
                reader.u8()?;
                read_values(reader, &self.fixed_lengths, values)?;
                return Ok(Place::Row);
            }
            let kind = BoundKind::read(reader)?;
            let lengths = read_prefix_lengths(reader, &self.fixed_lengths)?;
            read_values(reader, lengths, values)?;
            Ok(if kind.after { Place::After } else { Place::Before })
        };
        read().map_err(|fault: crate::data::cell::Fault| fault.to_string())
    }

    fn described(&self, pages: &(impl Pages + ?Sized), number: u32) -> Result<Described, LookupError> {
        let (at, bytes) = self.description(pages, number)?;
        self.read_described(&bytes).map_err(|error| Corrupt::new(at, error).into())
    }

    fn read_described(&self, bytes: &[u8]) -> Result<Described, String> {
        let mut reader = Reader::new(bytes);
        let mut values = Vec::new();
        self.read_edge(&mut reader, &mut values)?;
        self.read_edge(&mut reader, &mut values)?;
        let mut read = || {
            let begins = reader.varint()?;
            let length = varint::unzigzag(reader.varint()?).wrapping_add(LENGTH_BASE);
            let open_behind = match reader.u8()? {
                0 => None,
                _ => deletion::read(self.version, &mut reader)?,
            };
            Ok((begins, length, open_behind))
        };
        let (begins, length, open_behind) = read().map_err(|error: stdx::ReadError| error.to_string())?;
        let ends = begins.checked_add_signed(length).filter(|&ends| ends > begins);
        let ends = ends.ok_or_else(|| format!("a block of {length} bytes at {begins}"))?;
        Ok(Described { begins, ends, open_behind })
    }

    fn block(&self, pages: &(impl Pages + ?Sized), number: u32) -> Result<Block, LookupError> {
        let open = match number.checked_sub(1) {
            Some(before) => self.described(pages, before)?.open_behind,
            None => None,
        };
        let Described { begins, ends, .. } = self.described(pages, number)?;
        Ok(Block { begins, ends, open })
    }

    pub(crate) fn next(&mut self, pages: &(impl Pages + ?Sized)) -> Result<Option<Block>, LookupError> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let block = self.block(pages, self.left.start)?;
        self.left.start += 1;
        Ok(Some(block))
    }

    pub(crate) fn next_back(&mut self, pages: &(impl Pages + ?Sized)) -> Result<Option<Block>, LookupError> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let block = self.block(pages, self.left.end - 1)?;
        self.left.end -= 1;
        Ok(Some(block))
    }
}
