//! What was read, in order, into a new SSTable.

use std::rc::Rc;

use mutation::{ClusteringRef, Deletion, RowRef};
use schema::Table;
use sstable::Marker;
use sstable::byte_comparable::{self, Place};
use sstable::data::Item;
use storage::SstableWriter;
use topology::{Token, token_of};

use crate::error::ToolError;
use crate::scrub::starts::BlockBehind;

/// What was kept.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Partitions that are kept as they were.
    pub(crate) whole: u64,
    /// Partitions of which something could not be read.
    pub(crate) in_part: u64,
    /// Partitions that are known to have been there, of which nothing could be read.
    pub(crate) lost: u64,
    /// Rows, of both.
    pub(crate) rows: u64,
    /// Bytes of data at the end of which nobody knows what was in them.
    pub(crate) unknown: u64,
}

impl std::fmt::Display for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Kept { whole, in_part, lost, rows, unknown } = self;
        write!(f, "kept {whole} partitions, and {in_part} in part, with {rows} rows; lost {lost} partitions")?;
        if *unknown > 0 {
            write!(f, " and everything in the last {unknown} bytes of data")?;
        }
        Ok(())
    }
}

/// Whether more of a partition may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Took {
    /// It may.
    More,
    /// The partition ended.
    End,
}

/// A marker that is written when what comes behind it is known.
struct Pending {
    prefix: Vec<u8>,
    after: bool,
}

/// What stands before a partition's rows.
struct Head {
    deletion: Option<Deletion>,
    /// The static row's blob; empty if there is none.
    static_row: Vec<u8>,
}

/// Takes items and writes them.
pub(super) struct Keeper {
    table: Rc<Table>,
    writer: SstableWriter,
    kept: Kept,
    /// The partition that was begun last.
    last: Option<(Token, Vec<u8>)>,
    is_open: bool,
    /// What it begins with, until there is something in it.
    head: Option<Head>,
    /// Whether nothing was written yet.
    is_empty: bool,
    /// Whether something of it could not be read.
    is_damaged: bool,
    /// The last place in it, and the clustering there.
    place: Vec<u8>,
    scratch: Vec<u8>,
    clustering: Vec<u8>,
    /// The range deletion that holds by what was read, and by what was written.
    holds: Option<Deletion>,
    written: Option<Deletion>,
    pending: Option<Pending>,
}

impl Keeper {
    pub(super) fn new(table: &Rc<Table>, writer: SstableWriter) -> Keeper {
        Keeper {
            table: table.clone(),
            writer,
            kept: Kept::default(),
            last: None,
            is_open: false,
            head: None,
            is_empty: true,
            is_damaged: false,
            place: Vec::new(),
            scratch: Vec::new(),
            clustering: Vec::new(),
            holds: None,
            written: None,
            pending: None,
        }
    }

    /// Whether nothing was kept.
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Takes what was read next. The error: it cannot stand there.
    pub(super) fn take(&mut self, item: Item<'_>) -> Result<Took, &'static str> {
        match item {
            Item::Partition { key, deletion, static_row } => {
                let static_row = static_row.map_or_else(Vec::new, |row| row.bytes().to_vec());
                self.begin(key, Head { deletion, static_row })?;
                self.is_damaged = false;
            }
            Item::Row { clustering, row } => {
                self.advance(clustering, Place::Row)?;
                self.write_head();
                self.write_marker(clustering);
                self.writer.row(clustering, row);
                self.clustering.clear();
                self.clustering.extend_from_slice(clustering.bytes());
                self.kept.rows += 1;
            }
            Item::SkippedRow => unreachable!("all rows are wanted"),
            Item::Marker(Marker { prefix, after, closes: _, opens }) => {
                self.advance(prefix, if after { Place::After } else { Place::Before })?;
                if self.pending.is_some() {
                    self.write_marker(prefix);
                }
                self.holds = opens;
                self.pending = Some(Pending { prefix: prefix.bytes().to_vec(), after });
            }
            Item::PartitionEnd => {
                self.write_head();
                self.close();
                let count = if self.is_damaged { &mut self.kept.in_part } else { &mut self.kept.whole };
                *count += 1;
                return Ok(Took::End);
            }
        }
        Ok(Took::More)
    }

    fn begin(&mut self, key: &[u8], head: Head) -> Result<(), &'static str> {
        let token = token_of(key);
        if self.last.as_ref().is_some_and(|(last, of)| (*last, &of[..]) >= (token, key)) {
            return Err("partitions are out of order");
        }
        self.last = Some((token, key.to_vec()));
        self.head = Some(head);
        self.is_open = true;
        self.place.clear();
        (self.holds, self.written, self.pending) = (None, None, None);
        Ok(())
    }

    /// Begins the partition in the new one, if that is not done.
    fn write_head(&mut self) {
        let (Some(Head { deletion, static_row }), Some((token, key))) = (self.head.take(), &self.last) else { return };
        let static_row = Some(&static_row).filter(|row| !row.is_empty()).map(|row| RowRef::trusted(row));
        self.writer.partition(*token, key, deletion, static_row);
        self.is_empty = false;
    }

    /// Rows and markers ascend.
    fn advance(&mut self, prefix: ClusteringRef<'_>, place: Place) -> Result<(), &'static str> {
        self.scratch.clear();
        byte_comparable::clustering(self.table.clustering(), prefix, place, &mut self.scratch);
        if !self.place.is_empty() && self.scratch <= self.place {
            return Err("rows are out of order");
        }
        std::mem::swap(&mut self.place, &mut self.scratch);
        Ok(())
    }

    /// Writes the change of the deletion that holds, if there is one: where a marker said so, or else before what was read behind a damage.
    fn write_marker(&mut self, next: ClusteringRef<'_>) {
        let pending = self.pending.take();
        if self.holds == self.written {
            return;
        }
        self.write_head();
        let (prefix, after) = match &pending {
            Some(pending) => (ClusteringRef::trusted(&pending.prefix), pending.after),
            None => (next, false),
        };
        self.writer.marker(&Marker { prefix, after, closes: self.written, opens: self.holds });
        self.written = self.holds;
    }

    /// Ends what is open in the partition, where it is last known to hold.
    fn close(&mut self) {
        let pending = self.pending.take();
        if self.written.is_some() {
            let (prefix, after) = match &pending {
                Some(pending) => (ClusteringRef::trusted(&pending.prefix), pending.after),
                None => (ClusteringRef::trusted(&self.clustering), true),
            };
            self.writer.marker(&Marker { prefix, after, closes: self.written, opens: None });
        }
        (self.holds, self.written) = (None, None);
        self.is_open = false;
    }

    /// Makes ready for the rows of a block behind a damage. If nothing of the partition was read, it is begun as its index says. False: it
    /// cannot stand here.
    pub(super) fn goes_on(&mut self, block: &BlockBehind) -> bool {
        let BlockBehind { key, deletion, open, .. } = block;
        if self.is_open {
            // What was open ends where it is last known to hold; more of the partition comes.
            self.close();
            self.is_open = true;
        } else if self.begin(key, Head { deletion: *deletion, static_row: Vec::new() }).is_err() {
            return false;
        }
        self.is_damaged = true;
        self.holds = *open;
        true
    }

    /// The partition was damaged, and no more of it comes.
    pub(super) fn broken(&mut self) {
        // Of a partition of which only the key was read there is nothing to keep.
        let says_nothing = |head: &Head| head.deletion.is_none() && head.static_row.is_empty();
        if self.is_open && !self.head.as_ref().is_some_and(says_nothing) {
            self.write_head();
            self.close();
            self.kept.in_part += 1;
        } else {
            (self.head, self.is_open) = (None, false);
            self.kept.lost += 1;
        }
    }

    /// What lies behind is lost too.
    pub(super) fn lost_rest(&mut self, at: u64, length: u64, is_known: bool) {
        if !is_known {
            self.kept.unknown = length - at;
        }
    }

    /// Writes what has gathered.
    pub(super) async fn write_out(&mut self) -> Result<(), ToolError> {
        if self.writer.is_due() {
            self.writer.write_out().await?;
        }
        Ok(())
    }

    pub(super) async fn finish(self) -> Result<Kept, ToolError> {
        self.writer.finish().await?;
        Ok(self.kept)
    }

    pub(super) async fn abandon(self) {
        self.writer.abandon().await;
    }
}
