//! Writes a list as its postings come, in order. At most one block of postings is in memory, and the skip table: 24 bytes for each block.

use super::{BLOCK_POSTINGS, ListRef, Posting, block};
use crate::component::Output;

/// The bytes of a block's entry in the skip table.
pub(super) const SKIP_BYTES: usize = 4 + 8 + 8 + 4;

/// Outcome of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// It has one posting, and nothing was written.
    One(Posting),
    /// It is here.
    List(ListRef),
}

/// Writes one list after the other.
#[derive(Debug, Default)]
pub(crate) struct ListWriter {
    pending: Vec<Posting>,
    skips: Vec<(Posting, u64)>,
    postings: u64,
}

impl ListWriter {
    /// Adds the next posting; one that is the same as the one before is left out.
    ///
    /// # Panics
    ///
    /// If it stands before the one before it.
    pub(crate) fn add(&mut self, posting: Posting, output: &mut Output) -> bool {
        if let Some(last) = self.pending.last() {
            if last.place() == posting.place() {
                return false;
            }
            assert!(*last < posting && last.token_head <= posting.token_head, "postings of a file come in its order");
        }
        if self.pending.len() == BLOCK_POSTINGS {
            // The last of a block stays where a repetition is looked for until the next comes.
            self.flush(output);
        }
        self.pending.push(posting);
        self.postings += 1;
        true
    }

    /// Ends the list, which has a posting at least.
    pub(crate) fn finish(&mut self, output: &mut Output) -> Written {
        if self.postings == 1 {
            self.postings = 0;
            return Written::One(self.pending.pop().expect("the only posting is pending"));
        }
        self.flush(output);
        let offset = self.skips[0].1;
        if self.skips.len() > 1 {
            for (first, at) in &self.skips {
                let from_beginning = u32::try_from(at - offset).expect("a segment's list has less than 4 GiB");
                output.bytes.extend_from_slice(&first.token_head.to_be_bytes());
                output.bytes.extend_from_slice(&first.partition.to_be_bytes());
                output.bytes.extend_from_slice(&first.row.to_be_bytes());
                output.bytes.extend_from_slice(&from_beginning.to_be_bytes());
            }
        }
        self.skips.clear();
        let postings = std::mem::take(&mut self.postings);
        Written::List(ListRef { offset, length: output.position() - offset, postings })
    }

    fn flush(&mut self, output: &mut Output) {
        self.skips.push((self.pending[0], output.position()));
        block::encode(&self.pending, &mut output.bytes);
        self.pending.clear();
    }
}
