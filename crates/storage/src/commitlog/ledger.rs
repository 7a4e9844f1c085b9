//! Which segments are still needed: for each, the tables that have records in it and how far, and its logged batches.
//!
//! A segment is needed until every table in it was flushed, dropped, or truncated behind its last
//! record there; until every batch that was logged in it is delivered; and, if it says so of a batch, as long as that
//! batch's own segment is there, which would have the batch delivered once more.

use std::collections::{BTreeMap, BTreeSet};

use planted::{Bug, Planted};
use schema::TableId;

use crate::batchlog::BatchId;
use crate::commitlog::segment_list::ListedSegment;
use crate::options::ReplayPosition;

/// What one group, or one segment, has records of.
#[derive(Debug, Default)]
pub struct GroupNotes {
    /// Tables that have mutations in it.
    pub tables: Vec<TableId>,
    /// Batches that were logged in it.
    pub begun: Vec<BatchId>,
    /// Batches that it says are delivered.
    pub done: Vec<BatchId>,
}

/// One segment of this shard.
#[derive(Debug, Default)]
pub struct LedgerEntry {
    /// Its id.
    pub segment: u64,
    /// The start of the process at which it was written.
    pub boot: u64,
    /// For each table the log sequence behind its last record.
    pub tables: BTreeMap<TableId, u64>,
    /// Batches that were logged in it.
    pub begun: BTreeSet<BatchId>,
    /// Batches that it says are delivered.
    pub done: BTreeSet<BatchId>,
    /// The sequence of its first group, where that is known.
    pub start: Option<u64>,
    /// The least length of its file.
    pub bytes: u64,
    /// True if a start cut it there, after its last group.
    pub is_cut: bool,
    /// Whether it is written to no more.
    pub is_sealed: bool,
}

/// The segments of this shard.
#[derive(Debug)]
pub struct Ledger {
    shard: u16,
    entries: Vec<LedgerEntry>,
    dropped: BTreeSet<TableId>,
    truncated: BTreeMap<TableId, Vec<ReplayPosition>>,
    /// For each table the place up to which its records are in files.
    flushed: BTreeMap<TableId, ReplayPosition>,
}

impl Ledger {
    /// Knows of no segment.
    pub fn new(shard: u16) -> Self {
        Ledger {
            shard,
            entries: Vec::new(),
            dropped: BTreeSet::new(),
            truncated: BTreeMap::new(),
            flushed: BTreeMap::new(),
        }
    }

    /// How many segments there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The segments as the list of those that must be there names them.
    pub fn listed(&self) -> impl Iterator<Item = ListedSegment> {
        self.entries.iter().map(|entry| {
            let LedgerEntry { segment, boot, start, bytes, is_cut, .. } = *entry;
            ListedSegment { segment, boot, start, bytes, is_cut }
        })
    }

    /// A segment begins, or was found at the start.
    pub fn add(&mut self, entry: LedgerEntry) {
        self.entries.push(entry);
    }

    /// The last segment is full.
    pub fn seal_last(&mut self) {
        if let Some(last) = self.entries.last_mut() {
            last.is_sealed = true;
        }
    }

    /// A group that ends at `sequence` goes to the last segment.
    pub fn note(&mut self, notes: &GroupNotes, sequence: u64) {
        if let Some(last) = self.entries.last_mut() {
            for table in &notes.tables {
                last.tables.insert(*table, sequence);
            }
            last.begun.extend(&notes.begun);
            last.done.extend(&notes.done);
        }
    }

    /// The table is gone for good.
    pub fn drop_table(&mut self, table: TableId) {
        if self.entries.iter().any(|entry| entry.tables.contains_key(&table)) {
            self.dropped.insert(table);
        }
    }

    /// A table begins. Its id may be that of one that was dropped, whose records are truncated by now; what comes under the
    /// id from here on is needed.
    pub fn create_table(&mut self, table: TableId) {
        self.dropped.remove(&table);
    }

    /// What the table held before `position` is gone.
    pub fn truncate(&mut self, table: TableId, position: ReplayPosition) {
        if position.shard == self.shard {
            self.truncated.entry(table).or_default().push(position);
        }
    }

    /// What the table's records hold up to `position` is in files.
    pub fn flush(&mut self, table: TableId, position: ReplayPosition) {
        assert_eq!(position.shard, self.shard, "a flush speaks of its own shard's log");
        self.flushed.insert(table, position);
    }

    /// Whether no record of the table, of which the last in some segment ends at `end`, is needed.
    fn is_gone(&self, boot: u64, table: &TableId, end: u64) -> bool {
        let truncated = self.truncated.get(table).map_or(&[][..], Vec::as_slice);
        let is_behind = |at: &ReplayPosition| boot < at.boot || (boot == at.boot && end <= at.sequence);
        self.dropped.contains(table) || truncated.iter().chain(self.flushed.get(table)).any(is_behind)
    }

    /// The tables that need the oldest segment of those that any table needs, the one that is written to aside.
    pub fn oldest_tables(&self) -> Vec<TableId> {
        let needed_in = |entry: &LedgerEntry| -> Vec<TableId> {
            let needed = entry.tables.iter().filter(|(table, end)| !self.is_gone(entry.boot, table, **end));
            needed.map(|(table, _)| *table).collect()
        };
        let sealed = self.entries.iter().take_while(|entry| entry.is_sealed);
        sealed.map(needed_in).find(|tables| !tables.is_empty()).unwrap_or_default()
    }

    /// Takes out the segments that nobody needs.
    pub fn release(&mut self, planted: Planted) -> Vec<u64> {
        let entries = std::mem::take(&mut self.entries);
        let done: BTreeSet<BatchId> = entries.iter().flat_map(|entry| &entry.done).copied().collect();
        let begun: BTreeMap<BatchId, u64> =
            entries.iter().flat_map(|entry| entry.begun.iter().map(|&id| (id, entry.segment))).collect();
        let (kept, released_entries): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| {
            let is_gone_whole = entry.tables.iter().all(|(table, &end)| self.is_gone(entry.boot, table, end))
                || planted.is(Bug::SegmentReusedWhileNeeded);
            let has_unfinished = !entry.begun.is_subset(&done);
            let in_another = |id: &BatchId| begun.get(id).is_some_and(|segment| *segment != entry.segment);
            !entry.is_sealed || has_unfinished || entry.done.iter().any(in_another) || !is_gone_whole
        });
        self.entries = kept;
        let entries = &self.entries;
        self.dropped.retain(|table| entries.iter().any(|entry| entry.tables.contains_key(table)));
        self.truncated.retain(|table, _| entries.iter().any(|entry| entry.tables.contains_key(table)));
        released_entries.iter().map(|entry| entry.segment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TableId = TableId([1; 16]);
    const B: TableId = TableId([2; 16]);

    fn entry(segment: u64, boot: u64, tables: &[(TableId, u64)]) -> LedgerEntry {
        LedgerEntry {
            segment,
            boot,
            tables: tables.iter().copied().collect(),
            is_sealed: true,
            ..LedgerEntry::default()
        }
    }

    #[test]
    fn a_segment_goes_when_all_in_it_is_gone() {
        let mut ledger = Ledger::new(0);
        ledger.add(entry(1, 1, &[(A, 500)]));
        ledger.add(entry(2, 2, &[(A, 100), (B, 90)]));
        ledger.add(entry(3, 2, &[(A, 300)]));
        assert!(ledger.release(Planted::NONE).is_empty());
        ledger.truncate(A, ReplayPosition { boot: 2, shard: 1, sequence: 1000 });
        assert!(ledger.release(Planted::NONE).is_empty(), "another shard's position says nothing here");
        ledger.truncate(A, ReplayPosition { boot: 2, shard: 0, sequence: 299 });
        assert_eq!(ledger.release(Planted::NONE), [1]);
        ledger.drop_table(B);
        assert_eq!(ledger.release(Planted::NONE), [2]);
        ledger.truncate(A, ReplayPosition { boot: 2, shard: 0, sequence: 300 });
        assert_eq!(ledger.release(Planted::NONE), [3]);
    }

    #[test]
    fn a_segment_goes_when_all_in_it_is_in_files() {
        let mut ledger = Ledger::new(0);
        ledger.add(entry(1, 1, &[(A, 500)]));
        ledger.add(entry(2, 2, &[(A, 100), (B, 90)]));
        ledger.add(LedgerEntry { is_sealed: false, ..entry(3, 2, &[(A, 300)]) });
        assert_eq!(ledger.oldest_tables(), [A]);
        ledger.flush(A, ReplayPosition { boot: 2, shard: 0, sequence: 99 });
        assert_eq!(ledger.release(Planted::NONE), [1]);
        assert_eq!(ledger.oldest_tables(), [A, B]);
        ledger.flush(A, ReplayPosition { boot: 2, shard: 0, sequence: 400 });
        assert!(ledger.release(Planted::NONE).is_empty());
        assert_eq!(ledger.oldest_tables(), [B]);
        ledger.flush(B, ReplayPosition { boot: 2, shard: 0, sequence: 400 });
        assert_eq!(ledger.release(Planted::NONE), [2], "the last one is written to");
        assert!(ledger.oldest_tables().is_empty());
    }

    #[test]
    fn a_table_with_the_id_of_a_dropped_one_keeps_its_segments() {
        let mut ledger = Ledger::new(0);
        ledger.add(entry(1, 1, &[(A, 500), (B, 400)]));
        ledger.drop_table(A);
        ledger.truncate(A, ReplayPosition { boot: 1, shard: 0, sequence: 500 });
        ledger.create_table(A);
        ledger.add(entry(2, 1, &[(A, 900)]));
        assert!(ledger.release(Planted::NONE).is_empty(), "segment 2 holds the new table's records");
        ledger.drop_table(B);
        assert_eq!(ledger.release(Planted::NONE), [1]);
    }

    #[test]
    fn a_batch_keeps_its_segment_and_then_the_note_that_it_is_delivered() {
        let id = BatchId { boot: 1, sequence: 40 };
        let mut ledger = Ledger::new(0);
        ledger.add(LedgerEntry { begun: BTreeSet::from([id]), ..entry(1, 1, &[(A, 500)]) });
        ledger.add(entry(2, 1, &[(B, 700)]));
        ledger.add(LedgerEntry { done: BTreeSet::from([id]), ..entry(3, 1, &[(B, 800)]) });
        ledger.drop_table(B);
        assert_eq!(
            ledger.release(Planted::NONE),
            [2],
            "segment 1 is there, and without segment 3 would deliver the batch again"
        );
        ledger.drop_table(A);
        assert_eq!(ledger.release(Planted::NONE), [1]);
        assert_eq!(ledger.release(Planted::NONE), [3], "with the batch its note may go");

        ledger.add(LedgerEntry { begun: BTreeSet::from([id]), ..entry(4, 1, &[]) });
        assert!(ledger.release(Planted::NONE).is_empty(), "it is not delivered");
        ledger.add(entry(5, 1, &[(TableId([3; 16]), 900)]));
        assert_eq!(ledger.oldest_tables(), [TableId([3; 16])], "no flush frees segment 4");
    }

    #[test]
    fn the_segment_being_written_stays() {
        let mut ledger = Ledger::new(0);
        ledger.add(LedgerEntry { segment: 1, boot: 1, ..LedgerEntry::default() });
        ledger.note(&GroupNotes { tables: vec![A], ..GroupNotes::default() }, 10);
        ledger.drop_table(A);
        assert!(ledger.release(Planted::NONE).is_empty());
        ledger.seal_last();
        assert_eq!(ledger.release(Planted::NONE), [1]);
    }
}
