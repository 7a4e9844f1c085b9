//! Opens a component: reads its end, and compares it with what is expected.

use planted::Planted;
use sstable::{Corrupt, PAGE_LENGTH};

use super::builder::Totals;
use super::directory::{self, Segment};
use super::trailer::{LENGTH_BYTES, Trailer};
use super::{Identity, OpenError};

/// A whole component, without its pages.
#[derive(Debug, PartialEq, Eq)]
pub struct Component {
    pub(crate) segments: Vec<Segment>,
    sums: Vec<u32>,
    /// Where the pages' checksums begin, and what they cover ends.
    sums_at: u64,
    totals: Totals,
}

/// Outcome of opening.
#[derive(Debug, PartialEq, Eq)]
pub enum Opened {
    /// The component is whole.
    Whole(Component),
    /// More of the file's end is needed: all from this offset on.
    Needs(u64),
}

impl Component {
    /// Opens the component of `length` bytes that ends with `tail`. Some 4 KiB are enough to know how much is needed.
    ///
    /// # Errors
    ///
    /// If it is damaged, of a newer version, or of another file or index than `expected`.
    pub fn open(tail: &[u8], length: u64, expected: &Identity, planted: Planted) -> Result<Opened, OpenError> {
        let tail_at = length.checked_sub(tail.len() as u64).expect("the end of a file is no longer than the file");
        let Some((before, trailer_length)) = tail.split_last_chunk::<LENGTH_BYTES>() else {
            return needs(length, LENGTH_BYTES as u64, tail_at);
        };
        let trailer_length = u64::from(u32::from_be_bytes(*trailer_length));
        let trailer_at = (length - LENGTH_BYTES as u64).checked_sub(trailer_length).ok_or_else(|| too_short(length))?;
        if trailer_at < tail_at {
            // The longest has a generation of 65,535 bytes.
            if trailer_length > 2 * u64::from(u16::MAX) {
                return Err(damaged(trailer_at, "the trailer's length is out of range"));
            }
            return Ok(Opened::Needs(trailer_at));
        }
        let trailer = Trailer::decode(&before[(trailer_at - tail_at) as usize..], trailer_at)?;
        trailer.identity.check(expected, planted)?;
        let sums_length = 4 * u64::from(trailer.sums_count);
        if trailer.directory.checked_add(u64::from(trailer.directory_length)) != Some(trailer.sums)
            || trailer.sums.checked_add(sums_length) != Some(trailer_at)
            || trailer.sums.div_ceil(PAGE_LENGTH as u64) != u64::from(trailer.sums_count)
        {
            return Err(damaged(trailer_at, "the directory or the checksums are out of range"));
        }
        if trailer.directory < tail_at {
            return Ok(Opened::Needs(trailer.directory));
        }
        let part = |from: u64, to: u64| &before[(from - tail_at) as usize..(to - tail_at) as usize];
        let sums = part(trailer.sums, trailer_at);
        if crc32fast::hash(sums) != trailer.sums_crc {
            return Err(damaged(trailer.sums, "the checksum of the pages' checksums differs"));
        }
        Ok(Opened::Whole(Component {
            segments: directory::decode(part(trailer.directory, trailer.sums), trailer.directory)?,
            sums: sums.as_chunks::<4>().0.iter().map(|sum| u32::from_be_bytes(*sum)).collect(),
            sums_at: trailer.sums,
            totals: Totals { rows: trailer.rows, skipped: trailer.skipped },
        }))
    }

    /// Compares a page of the file with its checksum; `bytes` are those that [`sstable::Pages::page`] will give. No page is used before.
    ///
    /// # Errors
    ///
    /// If they differ. Then the component is not used any more, and built again.
    pub fn check_page(&self, number: u32, bytes: &[u8]) -> Result<(), Corrupt> {
        let offset = u64::from(number) * PAGE_LENGTH as u64;
        // The last page that is covered ends with checksums and trailer, which were compared before.
        let covered = self.sums_at.saturating_sub(offset).min(PAGE_LENGTH as u64) as usize;
        let Some(sum) = self.sums.get(number as usize) else {
            return Err(Corrupt::new(offset, "the component has no such page"));
        };
        if bytes.get(..covered).map(crc32fast::hash) != Some(*sum) {
            return Err(Corrupt::new(offset, "the page differs from its checksum"));
        }
        Ok(())
    }

    /// Rows that are in it, and those that are not.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Segments.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Terms, the sum over the segments.
    pub fn terms(&self) -> u64 {
        self.segments.iter().fold(0, |sum, segment| sum.saturating_add(segment.terms))
    }

    /// Postings, the sum over terms and segments.
    pub fn postings(&self) -> u64 {
        self.segments.iter().fold(0, |sum, segment| sum.saturating_add(segment.postings))
    }

    /// Bytes of memory that it has.
    pub fn memory_bytes(&self) -> usize {
        let terms: usize = self.segments.iter().map(|one| one.first_term.len() + one.last_term.len()).sum();
        self.segments.len() * size_of::<Segment>() + terms + self.sums.len() * 4
    }
}

fn needs(length: u64, wanted: u64, tail_at: u64) -> Result<Opened, OpenError> {
    match length.checked_sub(wanted) {
        Some(from) if from < tail_at => Ok(Opened::Needs(from)),
        _ => Err(too_short(length)),
    }
}

fn too_short(length: u64) -> OpenError {
    damaged(0, &format!("{length} bytes are too few"))
}

fn damaged(offset: u64, what: &str) -> OpenError {
    Corrupt::new(offset, what).into()
}
