//! The digest of a page of data: a hash of its canonical items, by which replicas are compared without sending what they have.
//!
//! Canonical is what the page says, however it is laid down: without what deletions in it shadow, without tombstones and expired data from before a second that
//! the coordinator names (`gc_before`), for replicas purge those at different times; deleted ranges as changes of the deletion that holds, each told once; and
//! without cells of dropped columns. Equal digests mean equal items, and that the next page begins at the same place. Different ones may
//! mean no more than that two pages ended elsewhere. `docs/internals/reads.md` lists the bytes that are hashed.

use mutation::{CellRef, DecodeError, Deletion, Expiry, Liveness, Position, RowRef};
use planted::{Bug, Planted};
use schema::Table;
use stdx::Reader;
use storage::reader::{DataItem, Page, read_data_item};
use topology::{Token, murmur3};

/// A digest: equal for pages that say the same.
pub(crate) type Digest = [u8; 16];

/// Bytes that are collected before they are hashed.
const CHUNK: usize = 4 << 10;
/// Bytes of a long value that are hashed without a pause.
const STEP: usize = 64 << 10;

/// The kinds of canonical items.
mod kind {
    pub const PARTITION: u8 = 1;
    pub const RANGE: u8 = 2;
    pub const ROW: u8 = 3;
    pub const STATIC_ROW: u8 = 4;
    pub const MORE_AFTER: u8 = 5;
    pub const END: u8 = 6;
}

/// The parts of a canonical row.
mod part {
    pub const LIVENESS: u8 = 1;
    pub const DELETION: u8 = 2;
    pub const CELL: u8 = 3;
    pub const TOMBSTONE: u8 = 4;
}

/// The rule of what is canonical in a read.
#[derive(Clone, Copy)]
pub(crate) struct DigestRule<'t> {
    /// The table that is read.
    pub(crate) table: &'t Table,
    /// The second at which expiry is judged.
    pub(crate) now_in_seconds: u32,
    /// Deletions and expired data of before this second are left out.
    pub(crate) gc_before: u32,
    /// A bug planted on purpose.
    pub(crate) planted: Planted,
}

impl<'t> DigestRule<'t> {
    /// The rule of a read at a second.
    pub(crate) fn of(table: &'t Table, now_in_seconds: u32, planted: Planted) -> Self {
        let gc_before = now_in_seconds.saturating_sub(table.options.gc_grace_seconds);
        DigestRule { table, now_in_seconds, gc_before, planted }
    }

    fn is_purgeable(&self, since: u32) -> bool {
        since < self.gc_before && !self.planted.is(Bug::DigestWithPurgeable)
    }

    fn timestamp(&self, timestamp: i64) -> [u8; 8] {
        if self.planted.is(Bug::DigestWithoutTimestamps) { [0; 8] } else { timestamp.to_be_bytes() }
    }

    /// A deletion, unless it is left out.
    pub(crate) fn left_of(&self, deletion: Option<Deletion>) -> Option<Deletion> {
        deletion.filter(|deletion| !self.is_purgeable(deletion.local_deletion_time))
    }

    /// A row's liveness, unless it is left out.
    pub(crate) fn left_of_liveness(&self, liveness: Option<Liveness>) -> Option<Liveness> {
        let is_over = |expiry: Expiry| self.is_purgeable(expiry.local_deletion_time);
        liveness.filter(|liveness| !self.has_expired(liveness.expiry).is_some_and(is_over))
    }

    /// True if a cell is not left out.
    pub(crate) fn keeps(&self, cell: &CellRef<'_>) -> bool {
        self.kept(cell) != Kept::Nothing
    }

    fn has_expired(&self, expiry: Option<Expiry>) -> Option<Expiry> {
        expiry.filter(|expiry| !expiry.is_live(self.now_in_seconds))
    }

    /// As a compaction leaves a cell: one that has expired becomes the tombstone of its writing, until that is purgeable.
    fn kept(&self, cell: &CellRef<'_>) -> Kept {
        if !self.table.dropped.is_empty() && self.table.hides(cell.column, cell.timestamp) {
            return Kept::Nothing;
        }
        if let Some(second) = cell.tombstone {
            return if self.is_purgeable(second) { Kept::Nothing } else { Kept::Whole };
        }
        let Some(expiry) = self.has_expired(cell.expiry) else { return Kept::Whole };
        let written = expiry.local_deletion_time.saturating_sub(expiry.ttl);
        match self.is_purgeable(expiry.local_deletion_time) || self.is_purgeable(written) {
            true => Kept::Nothing,
            false => Kept::Expired(written),
        }
    }
}

/// The digest of a page as a replica made it. Others run in between.
pub(crate) async fn digest_of(
    page: &Page,
    rule: &DigestRule<'_>,
    pause: impl AsyncFn(),
) -> Result<Digest, DecodeError> {
    let mut digesting = Digesting { rule, hash: Hash::default(), partition: None, kept: Vec::new() };
    let mut reader = Reader::new(&page.items);
    while let Some(item) = read_data_item(&mut reader)? {
        digesting.item(item, &pause).await;
        pause().await;
    }
    digesting.end_partition();
    digesting.more_after(page.more_after.as_ref());
    Ok(digesting.hash.finish())
}

/// The partition of which items are seen.
struct Partition<'p> {
    token: Token,
    key: &'p [u8],
    deletion: Option<Deletion>,
    /// The range's deletion that holds at the present place, purgeable or not.
    range: Option<Deletion>,
    /// The canonical change that was hashed last.
    told: Option<Deletion>,
    /// A change that was not told yet, for another may follow at its place, or none of it may be canonical.
    change: Option<(Option<&'p [u8]>, Option<Deletion>)>,
    /// Its beginning was hashed.
    is_begun: bool,
}

struct Digesting<'d, 'p, 't> {
    rule: &'d DigestRule<'t>,
    hash: Hash,
    partition: Option<Partition<'p>>,
    /// The places of the row's cells that are canonical.
    kept: Vec<Kept>,
}

/// The part of a cell that is canonical.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Nothing,
    Whole,
    /// It has expired: the tombstone of its last second.
    Expired(u32),
}

impl<'p> Digesting<'_, 'p, '_> {
    async fn item(&mut self, item: DataItem<'p>, pause: &impl AsyncFn()) {
        match item {
            DataItem::Partition { token, key, deletion, static_row } => {
                let is_same = self.partition.as_ref().is_some_and(|known| (known.token, known.key) == (token, key));
                if is_same {
                    // It goes on: more may be known of its deletion, and its static row was hashed.
                    let known = self.partition.as_mut().expect("it was seen above");
                    known.deletion = Deletion::max_of(known.deletion, deletion);
                    return;
                }
                self.end_partition();
                let (range, told, change, is_begun) = (None, None, None, false);
                self.partition = Some(Partition { token, key, deletion, range, told, change, is_begun });
                if !self.rule.table.clustering().is_empty() {
                    self.begin_if_deleted();
                }
                if let Some(row) = static_row {
                    self.row(kind::STATIC_ROW, &[], row, deletion, pause).await;
                }
            }
            DataItem::Range { at, deletion } => {
                let Some(partition) = &mut self.partition else { return };
                if partition.change.is_some_and(|(place, _)| place != at) {
                    self.tell_change();
                }
                let Some(partition) = &mut self.partition else { return };
                partition.range = deletion;
                partition.change = Some((at, deletion));
            }
            DataItem::Row { clustering, row } => {
                let Some(partition) = &mut self.partition else { return };
                if self.rule.table.clustering().is_empty() {
                    // Where a partition has one row, memtables keep its deletion with the row, and files with the partition.
                    partition.deletion = Deletion::max_of(partition.deletion, row.deletion());
                }
                let shadow = Deletion::max_of(partition.deletion, partition.range);
                self.begin_if_deleted();
                self.tell_change();
                self.row(kind::ROW, clustering.bytes(), row, shadow, pause).await;
            }
        }
    }

    /// Tells a change of what is deleted, if it is one: a range under a deletion of the whole partition that is later says nothing.
    fn tell_change(&mut self) {
        let Some(partition) = &mut self.partition else { return };
        let Some((at, deletion)) = partition.change.take() else { return };
        let shadows = |whole: Deletion, range: Deletion| range.max(whole) == whole;
        let own = deletion.filter(|range| partition.deletion.is_none_or(|whole| !shadows(whole, *range)));
        let left = self.rule.left_of(own);
        if partition.told == left {
            return;
        }
        partition.told = left;
        self.begin();
        self.hash.push(&[kind::RANGE]);
        self.hash.push_bytes(at.unwrap_or_default());
        self.push_deletion(left);
    }

    /// Tells that the partition begins, before the first that is said of it.
    fn begin(&mut self) {
        let Some(partition) = self.partition.as_mut().filter(|partition| !partition.is_begun) else { return };
        partition.is_begun = true;
        let (token, key, deletion) = (partition.token, partition.key, partition.deletion);
        self.hash.push(&[kind::PARTITION]);
        self.hash.push(&token.0.to_be_bytes());
        self.hash.push_bytes(key);
        self.push_deletion(self.rule.left_of(deletion));
    }

    fn begin_if_deleted(&mut self) {
        if self.partition.as_ref().is_some_and(|partition| self.rule.left_of(partition.deletion).is_some()) {
            self.begin();
        }
    }

    fn end_partition(&mut self) {
        self.begin_if_deleted();
        self.tell_change();
        self.partition = None;
    }

    async fn row(
        &mut self,
        kind: u8,
        clustering: &[u8],
        row: RowRef<'_>,
        shadow: Option<Deletion>,
        pause: &impl AsyncFn(),
    ) {
        let deletion = row.deletion().filter(|own| shadow.is_none_or(|shadow| own.max(shadow) != shadow));
        let strictest = Deletion::max_of(deletion, shadow);
        let is_kept = |timestamp: i64| strictest.is_none_or(|deletion| !deletion.deletes(timestamp));
        let deletion = self.rule.left_of(deletion);
        let liveness = row.liveness().filter(|liveness| is_kept(liveness.timestamp));
        let liveness = self.rule.left_of_liveness(liveness);
        let mut kept = std::mem::take(&mut self.kept);
        kept.clear();
        kept.extend(row.cells().map(|cell| match is_kept(cell.timestamp) {
            true => self.rule.kept(&cell),
            false => Kept::Nothing,
        }));
        if deletion.is_some() || liveness.is_some() || kept.iter().any(|kept| *kept != Kept::Nothing) {
            self.begin();
            self.hash.push(&[kind]);
            self.hash.push_bytes(clustering);
            if let Some(liveness) = liveness {
                self.hash.push(&[part::LIVENESS]);
                self.hash.push(&self.rule.timestamp(liveness.timestamp));
                self.push_expiry(liveness.expiry);
            }
            if let Some(deletion) = deletion {
                self.hash.push(&[part::DELETION]);
                self.push_deletion(Some(deletion));
            }
            for (cell, kept) in row.cells().zip(&kept) {
                self.cell(&cell, *kept, pause).await;
            }
        }
        self.kept = kept;
    }

    async fn cell(&mut self, cell: &CellRef<'_>, kept: Kept, pause: &impl AsyncFn()) {
        let tombstone = match kept {
            Kept::Nothing => return,
            Kept::Whole => cell.tombstone,
            Kept::Expired(second) => Some(second),
        };
        self.hash.push(&[if tombstone.is_some() { part::TOMBSTONE } else { part::CELL }]);
        self.hash.push(&cell.column.0.to_be_bytes());
        self.hash.push_bytes(cell.path);
        self.hash.push(&self.rule.timestamp(cell.timestamp));
        if let Some(second) = tombstone {
            self.hash.push(&second.to_be_bytes());
            return;
        }
        self.push_expiry(cell.expiry);
        self.hash.push(&[u8::from(cell.is_counter)]);
        self.hash.push(&(cell.value.len() as u64).to_be_bytes());
        for step in cell.value.chunks(STEP) {
            self.hash.push(step);
            if step.len() == STEP {
                pause().await;
            }
        }
    }

    fn push_deletion(&mut self, deletion: Option<Deletion>) {
        self.hash.push(&[u8::from(deletion.is_some())]);
        if let Some(deletion) = deletion {
            self.hash.push(&self.rule.timestamp(deletion.timestamp));
            self.hash.push(&deletion.local_deletion_time.to_be_bytes());
        }
    }

    fn push_expiry(&mut self, expiry: Option<Expiry>) {
        self.hash.push(&[u8::from(expiry.is_some())]);
        if let Some(expiry) = expiry {
            self.hash.push(&expiry.ttl.to_be_bytes());
            self.hash.push(&expiry.local_deletion_time.to_be_bytes());
        }
    }

    /// Tells where the next page begins: what is not in this page was not compared.
    fn more_after(&mut self, position: Option<&Position>) {
        let Some(position) = position else { return self.hash.push(&[kind::END]) };
        self.hash.push(&[kind::MORE_AFTER]);
        self.hash.push(&position.token.0.to_be_bytes());
        self.hash.push_bytes(&position.key);
        self.hash.push(&[u8::from(position.row.is_some())]);
        self.hash.push_bytes(position.row.as_deref().unwrap_or_default());
    }
}

/// Murmur3 over what is pushed, in chunks of which each is hashed with the hash of those before it.
#[derive(Default)]
struct Hash {
    state: Digest,
    chunk: Vec<u8>,
}

impl Hash {
    fn push(&mut self, mut bytes: &[u8]) {
        while self.chunk.len() + bytes.len() >= CHUNK {
            let (now, later) = bytes.split_at(CHUNK - self.chunk.len());
            self.chunk.extend_from_slice(now);
            self.fold();
            bytes = later;
        }
        self.chunk.extend_from_slice(bytes);
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        self.push(&(bytes.len() as u64).to_be_bytes());
        self.push(bytes);
    }

    fn fold(&mut self) {
        self.chunk.extend_from_slice(&self.state);
        let [high, low] = murmur3::hash_both(&self.chunk).map(i64::to_be_bytes);
        self.state[..8].copy_from_slice(&high);
        self.state[8..].copy_from_slice(&low);
        self.chunk.clear();
    }

    fn finish(mut self) -> Digest {
        self.fold();
        self.state
    }
}

#[cfg(test)]
mod tests;
