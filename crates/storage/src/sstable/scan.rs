//! All items of an SSTable, one after the other: for a compaction, which reads a file from its beginning to its end.
//!
//! Other than a read it tells markers as they stand in the file, with their prefixes and sides, which cannot be told from the
//! places that a [`crate::DataSink`] hears of.

mod next_token;

use std::rc::Rc;

use mutation::{ClusteringRef, Deletion, RowRef};
use sstable::Marker;
use sstable::data::{DataReader, Item, Step};
use topology::{Token, token_of};

use crate::memtable::successor;
use crate::sstable::data_file::ReadWindow;
use crate::sstable::error::ReadError;
use crate::sstable::reader::{Sstable, View};

/// What a scan is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// A partition's head.
    Partition,
    /// A row.
    Row,
    /// A marker.
    Marker,
    /// A partition's end.
    PartitionEnd,
    /// The end of the file.
    End,
}

/// A scan over one file. What it is at lies in its own buffers.
pub struct Scan {
    sstable: Rc<Sstable>,
    view: Rc<View>,
    window: ReadWindow,
    reader: DataReader,
    position: u64,
    /// Where the partition begins that it is at or in, or that it could not read.
    begins: u64,
    at: At,
    token: Token,
    key: Vec<u8>,
    deletion: Option<Deletion>,
    /// A row's blob, or that of the static row; empty if there is none.
    row: Vec<u8>,
    clustering: Vec<u8>,
    /// The place in our own comparable form; `None`: behind all rows.
    place: Option<Vec<u8>>,
    marker: (bool, Option<Deletion>, Option<Deletion>),
}

impl Scan {
    /// A scan that is at the first partition. What it reads ahead is at most `ahead_max` bytes at a time.
    pub async fn begin(sstable: &Rc<Sstable>, ahead_max: usize) -> Result<Scan, ReadError> {
        let mut scan = Scan::idle(sstable, ahead_max)?;
        scan.advance().await?;
        Ok(scan)
    }

    /// A scan that is nowhere yet: at the end, until it is told to [`Scan::seek`].
    pub fn idle(sstable: &Rc<Sstable>, ahead_max: usize) -> Result<Scan, ReadError> {
        let view = sstable.view.borrow().clone();
        let reader = sstable.new_reader(&view.table)?;
        let mut scan = Scan {
            sstable: sstable.clone(),
            view,
            window: ReadWindow::bounded(ahead_max),
            reader,
            position: 0,
            begins: 0,
            at: At::End,
            token: Token(0),
            key: Vec::new(),
            deletion: None,
            row: Vec::new(),
            clustering: Vec::new(),
            place: Some(Vec::new()),
            marker: (false, None, None),
        };
        scan.window.turn_to(&sstable.data);
        scan.reader.seek_partition();
        Ok(scan)
    }

    /// Where the partition begins that it is at or in, or that it could not read.
    pub(super) fn begins(&self) -> u64 {
        self.begins
    }

    /// Goes to the partition that begins at a place in the data. It must be behind the one that was read last.
    pub(super) async fn seek_at(&mut self, position: u64) -> Result<(), ReadError> {
        self.at = At::PartitionEnd;
        self.position = position;
        self.reader.seek_partition();
        self.advance().await
    }

    /// Tries again what [`Scan::advance`] could not do, and reads no more for it than the chunks that it takes: what was read ahead may have been
    /// what is damaged.
    pub(super) async fn again(&mut self) -> Result<(), ReadError> {
        self.window = ReadWindow::bounded(0);
        self.window.turn_to(&self.sstable.data);
        self.advance().await
    }

    /// Where it is in the data.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Goes to the end.
    pub(super) fn end(&mut self) {
        self.at = At::End;
        self.position = self.sstable.data.length();
    }

    /// Whether the partition may be in the file.
    pub fn may_contain(&self, token: Token, key: &[u8]) -> bool {
        self.sstable.may_contain(token, key)
    }

    /// Goes to the partition of a key. False: it is not in the file, and the scan is at the end.
    pub async fn seek(&mut self, token: Token, key: &[u8]) -> Result<bool, ReadError> {
        self.at = At::End;
        let Some(place) = self.sstable.index.find(token, key).await? else { return Ok(false) };
        self.position = place.data_position;
        self.reader.seek_partition();
        // Any partition may come next.
        self.token = Token(i64::MIN);
        self.key.clear();
        self.advance().await?;
        if self.at != At::Partition || self.key != key {
            // Only the first bytes of a key are in the trie.
            self.at = At::End;
            return Ok(false);
        }
        Ok(true)
    }

    /// Goes to the first partition after all of a token, or to the end.
    pub async fn seek_after(&mut self, after: Token) -> Result<(), ReadError> {
        let mut between = self.sstable.index.seek(Some((after, None))).await?;
        let sstable = Rc::clone(&self.sstable);
        let Some(place) = sstable.index.next(&mut between).await? else {
            self.end();
            return Ok(());
        };
        // Any partition may come next.
        self.token = Token(i64::MIN);
        self.key.clear();
        self.seek_at(place.data_position).await?;
        // It may be a little before.
        while self.at == At::Partition && self.token <= after {
            while self.at != At::PartitionEnd {
                self.advance().await?;
            }
            self.advance().await?;
        }
        Ok(())
    }

    /// What it is at.
    #[inline]
    pub fn at(&self) -> At {
        self.at
    }

    /// The partition that it is at, or in.
    #[inline]
    pub fn key(&self) -> (Token, &[u8]) {
        (self.token, &self.key)
    }

    /// Of a partition's head: the deletion, and the static row.
    pub fn head(&self) -> (Option<Deletion>, Option<RowRef<'_>>) {
        (self.deletion, Some(&self.row).filter(|row| !row.is_empty()).map(|row| RowRef::trusted(row)))
    }

    /// The place of the row or marker, before which, of one place, a marker stands. `None`: behind all rows.
    #[inline]
    pub fn place(&self) -> Option<&[u8]> {
        self.place.as_deref()
    }

    /// The row.
    #[inline]
    pub fn row(&self) -> (ClusteringRef<'_>, RowRef<'_>) {
        (ClusteringRef::trusted(&self.clustering), RowRef::trusted(&self.row))
    }

    /// The marker.
    pub fn marker(&self) -> Marker<'_> {
        let (after, closes, opens) = self.marker;
        Marker { prefix: ClusteringRef::trusted(&self.clustering), after, closes, opens }
    }

    /// Goes to the next item.
    pub async fn advance(&mut self) -> Result<(), ReadError> {
        let file = &self.sstable.data;
        if self.position >= file.length() {
            if matches!(self.at, At::Partition | At::Row | At::Marker) {
                return Err(file.corrupt(self.position, "the data ends within a partition"));
            }
            self.at = At::End;
            return Ok(());
        }
        if matches!(self.at, At::PartitionEnd | At::End) {
            self.begins = self.position;
        }
        self.window.seek(file, self.position, 1).await?;
        loop {
            let bytes = self.window.bytes(self.position);
            let given = bytes.len();
            let at_least = match self.reader.next(bytes) {
                Ok(Step::Item { item, used }) => {
                    self.position += used as u64;
                    let shape = &self.view.shape;
                    self.at = match item {
                        Item::Partition { key, deletion, static_row } => {
                            let token = token_of(key);
                            let is_behind = self.position == used as u64 || (self.token, &self.key[..]) < (token, key);
                            if !is_behind {
                                return Err(file.corrupt(self.position, "partitions are out of order"));
                            }
                            self.token = token;
                            set(&mut self.key, key);
                            self.deletion = deletion;
                            set(&mut self.row, static_row.map_or(&[][..], |row| row.bytes()));
                            At::Partition
                        }
                        Item::Row { clustering, row } => {
                            set(&mut self.clustering, clustering.bytes());
                            set(&mut self.row, row.bytes());
                            let place = self.place.get_or_insert_default();
                            place.clear();
                            shape.comparable(clustering, place);
                            At::Row
                        }
                        Item::Marker(Marker { prefix, after, closes, opens }) => {
                            set(&mut self.clustering, prefix.bytes());
                            let place = self.place.get_or_insert_default();
                            place.clear();
                            shape.comparable(prefix, place);
                            if after {
                                self.place = successor(place);
                            }
                            self.marker = (after, closes, opens);
                            At::Marker
                        }
                        Item::PartitionEnd => At::PartitionEnd,
                        Item::SkippedRow => unreachable!("all rows are wanted"),
                    };
                    return Ok(());
                }
                Ok(Step::NeedMore { at_least }) => at_least,
                Err(corrupt) => return Err(ReadError::corrupt(&file.path)(corrupt.from_base(self.position))),
            };
            // A length that is wrong must not have the rest of the file read.
            if file.length() - self.position < at_least as u64 || at_least <= given {
                return Err(file.corrupt(self.position, "an item that begins here runs past the end of the data"));
            }
            while self.window.bytes(self.position).len() < at_least {
                self.window.extend(file, self.position).await?;
            }
        }
    }
}

fn set(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.clear();
    buffer.extend_from_slice(bytes);
}
