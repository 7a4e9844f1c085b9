//! Builds a component as an SSTable's rows come, in order.

use planted::Planted;

use super::directory::{self, Segment};
use super::output::Output;
use super::segment::SegmentWriter;
use super::trailer::{Identity, Trailer};
use crate::collect::Collector;
use crate::postings::Posting;

/// Counts of a file's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Rows with at least one posting.
    pub rows: u64,
    /// Rows with a value that the index cannot take, which are not in it.
    pub skipped: u64,
}

/// Builds one component. Postings are added in the order of the file, the terms of a row in any order.
///
/// A segment is written by [`Builder::end_segment`], when the caller finds that [`Builder::memory_bytes`] of all its builders together is over its
/// bound, and at the file's end; then [`Builder::finish`] ends the file. Bytes that are ready are appended to `out`, whose content the caller may take at
/// any time: all that is ever appended, in order, is the component.
#[derive(Debug)]
pub struct Builder {
    planted: Planted,
    collector: Collector,
    writing: Option<Box<SegmentWriter>>,
    segments: Vec<Segment>,
    output: Output,
}

impl Builder {
    /// A builder at the beginning of a file.
    pub fn new(planted: Planted) -> Builder {
        Builder {
            planted,
            collector: Collector::default(),
            writing: None,
            segments: Vec::new(),
            output: Output::default(),
        }
    }

    /// Adds a posting of a term; the same one twice counts once.
    ///
    /// # Panics
    ///
    /// If the term has more than 65,535 bytes, or while a segment is written.
    pub fn add(&mut self, term: &[u8], posting: Posting) {
        assert!(self.writing.is_none(), "a segment is written before the next one is collected");
        self.collector.add(term, posting);
    }

    /// The bytes that are allocated for terms and postings. While a segment is written it falls, but for 1.5 MiB of each level of
    /// the tree and of the node that is closed.
    pub fn memory_bytes(&self) -> usize {
        self.collector.memory_bytes() + self.writing.as_ref().map_or(0, |writing| writing.memory_bytes())
    }

    /// Writes what was collected, in at most `budget` steps of some 0.2 µs; true when all of it is written.
    pub fn end_segment(&mut self, budget: usize, out: &mut Vec<u8>) -> bool {
        if self.writing.is_none() {
            if self.collector.is_empty() {
                return true;
            }
            let merge = std::mem::take(&mut self.collector).into_merge(self.planted);
            self.writing = Some(Box::new(SegmentWriter::new(merge, &self.output, self.planted)));
        }
        let segment = self.writing.as_mut().and_then(|writing| writing.write(budget, &mut self.output));
        self.output.hand_over(out);
        let is_whole = segment.is_some();
        if let Some(segment) = segment {
            self.segments.push(segment);
            self.writing = None;
        }
        is_whole
    }

    /// Appends the rest of the file. A component without postings is whole, too.
    ///
    /// # Panics
    ///
    /// If [`Builder::end_segment`] has not returned true after the last posting.
    pub fn finish(mut self, identity: Identity, totals: Totals, out: &mut Vec<u8>) {
        assert!(self.writing.is_none() && self.collector.is_empty(), "all segments are written");
        let directory = self.output.position();
        directory::encode(&self.segments, &mut self.output.bytes);
        let directory_length = u32::try_from(self.output.position() - directory).expect("segments have megabytes each");
        self.output.hand_over(out);
        let sums = self.output.sums();
        let begin = out.len();
        out.extend(sums.iter().flat_map(|sum| sum.to_be_bytes()));
        let trailer = Trailer {
            identity,
            directory,
            directory_length,
            sums: directory + u64::from(directory_length),
            sums_count: u32::try_from(sums.len()).expect("a component has less than 16 TiB"),
            sums_crc: crc32fast::hash(&out[begin..]),
            rows: totals.rows,
            skipped: totals.skipped,
        };
        trailer.encode(out);
    }
}
