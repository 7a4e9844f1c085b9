//! The items of a data file, one after the other, from any place that an index knows.

use std::ops::Range;

use sstable::data::{DataReader, Item, Step};

use mutation::ClusteringRef;

use crate::sstable::data_file::{DataFile, Head, ReadWindow};
use crate::sstable::error::ReadError;

/// What is done with items.
pub(super) trait Take {
    /// What comes of one.
    type Taken;

    /// Whether the row with this clustering is to be decoded. It may be asked twice for a row.
    fn wants(&mut self, _: ClusteringRef<'_>) -> bool {
        true
    }

    /// Takes an item. `false`: it is not used up, and comes again.
    fn take(&mut self, item: Item<'_>) -> (bool, Self::Taken);
}

/// A place in a data file.
pub(super) struct Input<'r> {
    file: &'r DataFile,
    window: &'r mut ReadWindow,
    reader: DataReader,
    position: u64,
}

impl<'r> Input<'r> {
    pub(super) fn new(file: &'r DataFile, window: &'r mut ReadWindow, reader: DataReader) -> Self {
        window.turn_to(file);
        Input { file, window, reader, position: 0 }
    }

    /// The reader, for the next read.
    pub(super) fn into_reader(self) -> DataReader {
        self.reader
    }

    /// The head of the partition that begins at `position`, if its blocks were read last.
    pub(super) fn kept_head(&self, position: u64) -> Option<Head> {
        let kept = self.window.head.as_ref().filter(|(kept, _)| *kept == position);
        kept.map(|(_, head)| head.clone())
    }

    /// Keeps a head for the read that goes on.
    pub(super) fn keep_head(&mut self, position: u64, head: &Head) {
        self.window.head = Some((position, head.clone()));
    }

    /// Where the next item begins in the data.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Goes to where a partition begins, of which about `expected` bytes will be read.
    pub(super) async fn seek_partition(&mut self, position: u64, expected: usize) -> Result<(), ReadError> {
        self.reader.seek_partition();
        self.seek(position, expected).await
    }

    /// Goes to where a block of rows begins.
    pub(super) async fn seek_rows(&mut self, position: u64, expected: usize) -> Result<(), ReadError> {
        self.reader.seek_row();
        self.seek(position, expected).await
    }

    /// Goes to where a block of rows begins, after which those before it will be wanted, back to `first`.
    pub(super) async fn seek_rows_back(&mut self, block: Range<u64>, first: u64) -> Result<(), ReadError> {
        self.reader.seek_row();
        self.position = block.start;
        self.window.seek_back(self.file, block, first).await
    }

    async fn seek(&mut self, position: u64, expected: usize) -> Result<(), ReadError> {
        self.position = position;
        self.window.seek(self.file, position, expected).await
    }

    /// Gives the next item to `take`.
    pub(super) async fn step<T: Take>(&mut self, take: &mut T) -> Result<T::Taken, ReadError> {
        loop {
            let bytes = self.window.bytes(self.position);
            let given = bytes.len();
            let at_least = match self.reader.next_where(bytes, |clustering| take.wants(clustering)) {
                Ok(Step::Item { item, used }) => {
                    let (is_used, taken) = take.take(item);
                    if is_used {
                        self.position += used as u64;
                    }
                    return Ok(taken);
                }
                Ok(Step::NeedMore { at_least }) => at_least,
                Err(corrupt) => return Err(ReadError::corrupt(&self.file.path)(corrupt.from_base(self.position))),
            };
            // A length that is wrong must not have the rest of the file read.
            if self.file.length() - self.position < at_least as u64 || at_least <= given {
                return Err(self.file.corrupt(self.position, "an item that begins here runs past the end of the data"));
            }
            while self.window.bytes(self.position).len() < at_least {
                self.window.extend(self.file, self.position).await?;
            }
        }
    }
}
