//! All of an SSTable compared with itself and with its table, before one that another program wrote counts as the table's.
//!
//! A read goes by the indexes and trusts them: a partition to which they do not lead is not there for a read by key, and is for a scan. A file is written by
//! the table's types: a compaction would meet values that it cannot write. So all of it is read once, from the first partition to the last, and
//! each read that could be asked of it is answered: the Bloom filter and the indexes must know each key and lead to it, and to nothing else; the
//! index of a wide partition's rows must lead to both ends of each block.
//!
//! Values are compared with their types as far as the format depends on them ([`sstable::data::WritableCheck`]); `helenus sstable verify` looks at all of them.

use std::rc::Rc;

use mutation::{Bound, Deletion};
use sstable::byte_comparable::{self, Place};
use sstable::data::check_types;
use sstable::statistics::PARTITIONER;
use sstable::{Block, Blocks};
use topology::Token;

use crate::sstable::error::ReadError;
use crate::sstable::index::{Between, Wide};
use crate::sstable::reader::Sstable;
use crate::sstable::scan::{At, Scan};

/// Bytes of one read ahead.
const AHEAD_BYTES: usize = 256 << 10;

/// The blocks of the partition that the check is in.
struct InWide {
    wide: Wide,
    begins: u64,
    blocks: Blocks,
    next: Option<Block>,
    /// The place of the last row in our own comparable form; empty if a marker came after it, or none of them.
    last_row: Vec<u8>,
}

impl Sstable {
    /// Compares what is known of the file without reading its rows with its table: the partitioner, and the types of all columns.
    pub fn check_header(&self) -> Result<(), String> {
        let Sstable { statistics, .. } = self;
        if statistics.partitioner != PARTITIONER {
            let found = &statistics.partitioner;
            return Err(format!("partitioner {found} does not match system partitioner {PARTITIONER}"));
        }
        check_types(&statistics.header, &self.view.borrow().table).map_err(|error| error.to_string())
    }

    /// Reads all of the file and compares it with its indexes; `seen` receives each partition's token. Pauses by budget.
    pub async fn check(self: &Rc<Self>, mut seen: impl FnMut(Token)) -> Result<(), ReadError> {
        let mut check = Check::begin(self).await?;
        loop {
            check.item().await?;
            if check.scan.at() == At::Partition {
                seen(check.scan.key().0);
            }
            if check.scan.at() == At::End {
                return check.end().await;
            }
            check.scan.advance().await?;
            self.runtime.maybe_yield().await;
        }
    }
}

struct Check<'c> {
    sstable: &'c Rc<Sstable>,
    scan: Scan,
    between: Between,
    /// Where the sample of the index is that leads to the last partition.
    sampled: u64,
    inside: Option<InWide>,
    /// Where the item began that the scan is at.
    item_at: u64,
    /// Where the next one begins.
    after: u64,
    /// The range deletion that holds.
    open: Option<Deletion>,
    /// The last row's or marker's place in the partition.
    place: Vec<u8>,
    scratch: Vec<u8>,
    /// The first and the last key.
    ends: Option<(Vec<u8>, Vec<u8>)>,
}

impl<'c> Check<'c> {
    async fn begin(sstable: &'c Rc<Sstable>) -> Result<Check<'c>, ReadError> {
        let between = sstable.index.seek(None).await?;
        let scan = Scan::begin(sstable, AHEAD_BYTES).await?;
        Ok(Check {
            sstable,
            scan,
            between,
            sampled: 0,
            inside: None,
            item_at: 0,
            after: 0,
            open: None,
            place: Vec::new(),
            scratch: Vec::new(),
            ends: None,
        })
    }

    fn wrong(&self, what: impl Into<String>) -> ReadError {
        self.sstable.data.corrupt(self.item_at, what)
    }

    async fn item(&mut self) -> Result<(), ReadError> {
        (self.item_at, self.after) = (self.after, self.scan.position());
        match self.scan.at() {
            At::Partition => self.partition().await,
            At::Row | At::Marker => self.row_or_marker().await,
            At::PartitionEnd => self.partition_end().await,
            At::End => Ok(()),
        }
    }

    async fn partition(&mut self) -> Result<(), ReadError> {
        let Sstable { index, view, .. } = &**self.sstable;
        let (token, key) = (self.scan.key().0, self.scan.key().1.to_vec());
        let (begins, before) = (self.item_at, self.between.clone());
        let Some((known, place)) = index.next_with_key(&mut self.between).await? else {
            return Err(self.wrong("the index does not point to a partition"));
        };
        if place.data_position != begins || known.is_some_and(|known| known != key) {
            let what = format!("the index points to byte {} instead of this partition", place.data_position);
            return Err(self.wrong(what));
        }
        if !self.sstable.may_contain(token, &key) {
            return Err(self.wrong("the partition key is outside the index bounds or the Bloom filter"));
        }
        if !index.leads_to((token, &key), begins, &before, &mut self.sampled).await? {
            return Err(self.wrong("the index does not map the partition key to this partition"));
        }
        let (deletion, static_row) = self.scan.head();
        if let Some(row) = static_row {
            view.borrow().shape.fit.check_row(&row).map_err(|what| self.wrong(what))?;
        }
        if place.wide.as_ref().is_some_and(|wide| wide.deletion != deletion) {
            return Err(self.wrong("the partition deletion in the index differs"));
        }
        self.open = None;
        self.place.clear();
        match &mut self.ends {
            Some((_, last)) => *last = key,
            None => self.ends = Some((key.clone(), key)),
        }
        let Some(wide) = place.wide else { return Ok(()) };
        let table = view.borrow().table.clone();
        let mut blocks = index.blocks(&wide, &table, Bound::UNBOUNDED, Bound::UNBOUNDED).await?;
        let next = index.first_block(&mut blocks).await?;
        self.inside = Some(InWide { wide, begins, blocks, next, last_row: Vec::new() });
        Ok(())
    }

    async fn row_or_marker(&mut self) -> Result<(), ReadError> {
        let view = self.sstable.view.borrow().clone();
        let open = self.open;
        let (is_row, place) = match self.scan.at() {
            At::Row => (true, Place::Row),
            _ => {
                let marker = self.scan.marker();
                if marker.closes != open {
                    return Err(self.wrong(format!("a marker closes {:?} where {open:?} is open", marker.closes)));
                }
                self.open = marker.opens;
                (false, if marker.after { Place::After } else { Place::Before })
            }
        };
        let (clustering, row) = self.scan.row();
        let fit = &view.shape.fit;
        let fits = if is_row { fit.check_clustering(clustering) } else { fit.check_prefix(clustering) };
        fits.map_err(|what| self.wrong(what))?;
        self.scratch.clear();
        byte_comparable::clustering(view.table.clustering(), clustering, place, &mut self.scratch);
        if !self.place.is_empty() && self.scratch <= self.place {
            return Err(self.wrong("rows are out of order"));
        }
        if is_row {
            view.shape.fit.check_row(&row).map_err(|what| self.wrong(what))?;
        }
        std::mem::swap(&mut self.place, &mut self.scratch);
        self.block(is_row, open).await
    }

    /// The row or marker that the scan is at, before which that range deletion holds, is at the beginning of a block or within one.
    async fn block(&mut self, is_row: bool, open: Option<Deletion>) -> Result<(), ReadError> {
        let Some(mut inside) = self.inside.take() else { return Ok(()) };
        let offset = self.item_at - inside.begins;
        let row = self.scan.place().filter(|_| is_row).unwrap_or_default().to_vec();
        if let Some(block) = inside.next.filter(|block| block.begins <= offset) {
            if block.begins < offset || block.open != open {
                return Err(
                    self.wrong(format!("the index block {block:?} does not match byte {offset} of the partition"))
                );
            }
            self.lead_to(&inside, &inside.last_row, offset.saturating_sub(1)).await?;
            self.lead_to(&inside, &row, offset).await?;
            inside.next = self.sstable.index.first_block(&mut inside.blocks).await?;
        }
        inside.last_row = row;
        self.inside = Some(inside);
        Ok(())
    }

    /// Looks for a row as a read of it does: the block to which the index leads begins at most at byte `most` of the partition.
    async fn lead_to(&self, inside: &InWide, row: &[u8], most: u64) -> Result<(), ReadError> {
        if row.is_empty() {
            return Ok(());
        }
        let (index, table) = (&self.sstable.index, self.sstable.view.borrow().table.clone());
        let start = Bound { prefix: row, inclusive: true };
        let mut blocks = index.blocks(&inside.wide, &table, start, Bound::UNBOUNDED).await?;
        match index.first_block(&mut blocks).await? {
            Some(block) if block.begins <= most => Ok(()),
            found => Err(self.wrong(format!("the index maps a row to {found:?}, not to the block that contains it"))),
        }
    }

    async fn partition_end(&mut self) -> Result<(), ReadError> {
        if self.open.is_some() {
            return Err(self.wrong("a partition ends within a deleted range"));
        }
        let Some(inside) = self.inside.take() else { return Ok(()) };
        if let Some(block) = inside.next {
            return Err(self.wrong(format!("the index block {block:?} is not in the partition")));
        }
        let most = (self.item_at - inside.begins).saturating_sub(1);
        self.lead_to(&inside, &inside.last_row, most).await
    }

    async fn end(&mut self) -> Result<(), ReadError> {
        if let Some(place) = self.sstable.index.next(&mut self.between).await? {
            let what = format!("the index points to byte {}, after the last partition", place.data_position);
            return Err(self.wrong(what));
        }
        let Some((first, last)) = &self.ends else { return Err(self.wrong("the sstable has no partition")) };
        if self.sstable.index.ends() != (&first[..], &last[..]) {
            return Err(self.wrong("the first and last partition keys of the index differ"));
        }
        Ok(())
    }
}
