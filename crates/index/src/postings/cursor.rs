//! A place between the postings of a list, which moves forward. After an error the call may be tried again: no posting is lost or given twice.

use sstable::{Corrupt, LookupError, Pages};

use super::list::SKIP_BYTES;
use super::{BLOCK_POSTINGS, ListRef, Posting, block};
use crate::pages;

/// A place in a list.
#[derive(Debug)]
pub(crate) struct ListCursor {
    list: ListRef,
    /// The block after the decoded one, and where it begins.
    next_block: u64,
    next_at: u64,
    decoded: Vec<Posting>,
    /// The next posting of the decoded block.
    at: usize,
    last: Option<Posting>,
}

impl ListCursor {
    /// Before the first posting.
    pub(crate) fn new(list: ListRef) -> ListCursor {
        ListCursor { list, next_block: 0, next_at: list.offset, decoded: Vec::new(), at: 0, last: None }
    }

    /// The posting after the place, which it moves over.
    pub(crate) fn next(&mut self, pages: &(impl Pages + ?Sized)) -> Result<Option<Posting>, LookupError> {
        while self.at == self.decoded.len() {
            if self.next_block == self.list.blocks() {
                return Ok(None);
            }
            self.load(pages)?;
        }
        self.at += 1;
        Ok(Some(self.decoded[self.at - 1]))
    }

    /// Moves forward over all postings for which `is_before` holds; it holds for none after one for which it does not.
    pub(crate) fn seek(
        &mut self,
        pages: &(impl Pages + ?Sized),
        is_before: impl Fn(&Posting) -> bool,
    ) -> Result<(), LookupError> {
        self.at += self.decoded[self.at..].partition_point(&is_before);
        if self.at < self.decoded.len() || self.next_block == self.list.blocks() {
            return Ok(());
        }
        // The first block that begins at the target or after it; the one before may have it.
        let (mut low, mut high) = (self.next_block, self.list.blocks());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.list.blocks() == 1 || is_before(&self.skip(pages, middle)?.0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == self.next_block {
            return Ok(());
        }
        if low - 1 > self.next_block {
            let (_, at) = self.skip(pages, low - 1)?;
            (self.next_block, self.next_at) = (low - 1, at);
        }
        self.load(pages)?;
        self.at = self.decoded.partition_point(&is_before);
        Ok(())
    }

    /// Decodes the next block. Nothing changes on an error.
    fn load(&mut self, pages: &(impl Pages + ?Sized)) -> Result<(), LookupError> {
        let is_last = self.next_block + 1 == self.list.blocks();
        let available = self.skips_at()?.checked_sub(self.next_at);
        let available = available.ok_or_else(|| Corrupt::new(self.next_at, "a block lies beyond its list"))?;
        let mut scratch = Vec::new();
        let length = available.min(block::LENGTH_MAX as u64) as usize;
        let bytes = pages::bytes(pages, self.next_at, length, &mut scratch)?;
        let mut decoded = Vec::with_capacity(self.postings_of_next() as usize);
        let taken = block::decode(bytes, self.next_at, &mut decoded)?;
        if decoded.len() as u64 != self.postings_of_next() || (is_last && taken as u64 != available) {
            return Err(Corrupt::new(self.next_at, "a block is not as long as its list says").into());
        }
        let first = &decoded[0];
        if self.last.is_some_and(|last| first.place() <= last.place() || first.token_head < last.token_head) {
            return Err(Corrupt::new(self.next_at, "the blocks of a list do not ascend").into());
        }
        self.last = decoded.last().copied();
        (self.decoded, self.at) = (decoded, 0);
        self.next_block += 1;
        self.next_at += taken as u64;
        Ok(())
    }

    fn postings_of_next(&self) -> u64 {
        let before = self.next_block * BLOCK_POSTINGS as u64;
        (self.list.postings - before).min(BLOCK_POSTINGS as u64)
    }

    /// Where the blocks end.
    fn skips_at(&self) -> Result<u64, Corrupt> {
        let blocks = self.list.blocks();
        let skips = if blocks > 1 { blocks.checked_mul(SKIP_BYTES as u64) } else { Some(0) };
        let length = skips.and_then(|skips| self.list.length.checked_sub(skips));
        let length = length.ok_or_else(|| Corrupt::new(self.list.offset, "a list is too short for its blocks"))?;
        Ok(self.list.offset + length)
    }

    /// The first posting of a block of several, and where the block begins.
    fn skip(&self, pages: &(impl Pages + ?Sized), block: u64) -> Result<(Posting, u64), LookupError> {
        let at = self.skips_at()? + block * SKIP_BYTES as u64;
        let mut scratch = Vec::new();
        let bytes = pages::bytes(pages, at, SKIP_BYTES, &mut scratch)?;
        let mut reader = stdx::Reader::new(bytes);
        let mut entry = || -> Result<_, stdx::ReadError> {
            let token_head = reader.u32()?;
            let posting = Posting { partition: reader.u64()?, row: reader.u64()?, token_head };
            Ok((posting, reader.u32()?))
        };
        let (posting, from_beginning) = entry().expect("an entry has four numbers");
        Ok((posting, self.list.offset + u64::from(from_beginning)))
    }
}
