//! What a shard's engine says of itself to operators: counters as they stand, tables by their files, compactions under way.
//!
//! All of it is read from what the engine keeps anyway, at the moment it is asked for. Nothing here is on a request's way.

use std::rc::Rc;

use schema::{TableId, system_keyspaces};
use sstable::statistics::EstimatedHistogram;
use stdx::LogHistogram;

use crate::compaction::strategy::Strategy;
use crate::reader::READS_MAX;
use crate::shard::Shard;
use crate::sstable::{FilterCounts, ReadCounts};
use crate::tables::{LiveFile, TableState};

/// What waits and what runs on a shard, and the caches it keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StorageLoad {
    /// Reads of several memtables and SSTables in flight.
    pub reads_active: u64,
    /// Reads that wait for a place among those.
    pub reads_waiting: u64,
    /// Writes that wait for memory.
    pub writes_waiting: u64,
    /// Memtables that are being written to files.
    pub flushes_active: u64,
    /// Memtables that wait for it.
    pub flushes_waiting: u64,
    /// Flushes that failed, each of which is tried again.
    pub flush_failures: u64,
    /// Bytes of index pages in memory.
    pub page_bytes: u64,
    /// How many there may be.
    pub page_bytes_max: u64,
    /// Reads of files' data and index from the device.
    pub reads: ReadCounts,
    /// Memory of open files beside their pages: Bloom filters, offsets, checksums.
    pub file_memory_bytes: u64,
    /// Bytes of all live files; of shared ones this shard's part.
    pub disk_bytes: u64,
}

/// One table on one shard.
#[derive(Debug, Clone, PartialEq)]
pub struct TableFigures {
    /// Its id.
    pub id: TableId,
    /// Its keyspace.
    pub keyspace: String,
    /// Its name.
    pub name: String,
    /// Files that are this shard's own.
    pub sstables: u64,
    /// Files that it shares with other shards.
    pub sstables_shared: u64,
    /// Files by level, where the strategy has levels.
    pub sstables_per_level: Vec<u64>,
    /// Bytes of its files, of shared ones this shard's part.
    pub disk_bytes: u64,
    /// Bytes of data in compressed files, before compression.
    pub compressible_bytes: u64,
    /// The same after compression.
    pub compressed_bytes: u64,
    /// Partitions in files, each counted in every file that has a part of it.
    pub partitions: u64,
    /// Sizes of partitions in bytes, of all files.
    pub partition_sizes: Buckets,
    /// Counts of their cells.
    pub cell_counts: Buckets,
    /// Cells in files.
    pub cells: f64,
    /// Tombstones among them that may go by their age.
    pub droppable: u64,
    /// Bytes of Bloom filters.
    pub filter_bytes: u64,
    /// How often filters let reads of one partition through, rightly or not.
    pub filter_counts: FilterCounts,
    /// How often they kept one from a file.
    pub filter_negatives: u64,
    /// Bytes of memtables.
    pub memtable_bytes: u64,
    /// Partitions in memtables.
    pub memtable_partitions: u64,
    /// Memtables that wait for a flush or are in one.
    pub memtables_frozen: u64,
    /// Memtables flushed since the start.
    pub flushes: u64,
    /// Reads that were begun since the start; later pages of one are not counted again.
    pub reads: u64,
    /// Mutations that were applied since the start.
    pub writes: u64,
    /// What reads took, microseconds, estimated from some of them.
    pub read_micros: LogHistogram,
    /// The same of writes.
    pub write_micros: LogHistogram,
    /// How many files each read was answered from.
    pub files_per_read: LogHistogram,
    /// Whether its strategy wants a compaction.
    pub wants_compaction: bool,
    /// Whether it is compacted unasked.
    pub is_autocompaction_on: bool,
}

/// Values by size: `counts[i]` of them are at most `offsets[i]`, and above the offset before; the last count is of those above all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Buckets {
    /// The buckets' upper bounds.
    pub offsets: Vec<u64>,
    /// One more than there are offsets.
    pub counts: Vec<u64>,
}

impl Buckets {
    /// Adds what a file says. Files that count in other buckets (of another version) are told by their offsets.
    fn add(&mut self, histogram: &EstimatedHistogram) {
        let (offsets, counts) = histogram.buckets();
        let number = |value: i64| u64::try_from(value).unwrap_or(0);
        if self.offsets.is_empty() {
            self.offsets = offsets.iter().copied().map(number).collect();
            self.counts = vec![0; counts.len()];
        }
        for (bucket, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let place = match offsets.get(bucket) {
                Some(offset) => self.offsets.partition_point(|own| *own < number(*offset)),
                None => self.offsets.len(),
            };
            self.counts[place] += number(*count);
        }
    }
}

/// The purpose of a compaction that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionKind {
    /// Any but those below.
    Compaction,
    /// Tokens that the node does not keep are dropped.
    Cleanup,
}

/// A compaction under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCompaction {
    /// Counts the shard's compactions since the start.
    pub number: u64,
    /// Its purpose.
    pub kind: CompactionKind,
    /// The table's keyspace.
    pub keyspace: String,
    /// The table.
    pub table: String,
    /// Bytes of data written, before compression. What is purged is not written.
    pub written: u64,
    /// Bytes of its inputs' data, before compression.
    pub input: u64,
}

/// A compaction that came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedCompaction {
    /// That of [`RunningCompaction`].
    pub number: u64,
    /// The table's keyspace.
    pub keyspace: String,
    /// The table.
    pub table: String,
    /// When its files were exchanged, milliseconds since 1970.
    pub ended_ms: i64,
    /// Bytes on the disk of the files that it read.
    pub bytes_in: u64,
    /// Those of the files that it wrote.
    pub bytes_out: u64,
    /// Partitions that were in one of the files, in two, in three and so on.
    pub merged: Vec<u64>,
}

impl Shard {
    /// What waits and what runs.
    pub fn load(&self) -> StorageLoad {
        let engine = self.engine_ref();
        let frozen: usize = engine.tables.iter().map(|table| table.frozen.len()).sum();
        let is_flushing = self.flusher().is_writing();
        let files = || engine.tables.iter().flat_map(|table| &table.files);
        let reads = self.reads();
        StorageLoad {
            reads_active: (READS_MAX - reads.available().min(READS_MAX)) as u64,
            reads_waiting: reads.waiting() as u64,
            writes_waiting: self.flusher().writes_waiting() as u64,
            flushes_active: u64::from(is_flushing),
            flushes_waiting: (frozen as u64).saturating_sub(u64::from(is_flushing)),
            flush_failures: self.flusher().failure_count(),
            page_bytes: self.pages().bytes() as u64,
            page_bytes_max: self.options().page_cache_bytes as u64,
            reads: self.pages().counts(),
            file_memory_bytes: files().map(|file| file.sstable.memory_bytes() as u64).sum(),
            disk_bytes: files().map(|file| self.part(file, file.sstable.disk_bytes())).sum(),
        }
    }

    /// The ids of all tables of users, by id.
    pub fn table_ids(&self) -> Vec<TableId> {
        let is_users = |table: &&TableState| !system_keyspaces::is_system(&table.definition.keyspace);
        self.engine_ref().tables.iter().filter(is_users).map(|table| table.id).collect()
    }

    /// One table; `None`: it is not here. A brief look leaves out what has to be worked out: histograms, and whether it wants a compaction.
    pub fn table_figures(&self, id: TableId, is_brief: bool) -> Option<TableFigures> {
        let wants_compaction = !is_brief && self.wants_compaction(id);
        let has_levels = self.strategy_of(id).is_some_and(|strategy| matches!(strategy, Strategy::Leveled(_)));
        let engine = self.engine_ref();
        let table = engine.tables.get(id)?;
        let now = self.runtime().wall_clock_micros() / 1_000_000;
        let gc_before = now.saturating_sub(i64::from(table.definition.options.gc_grace_seconds));
        let mut figures = self.of_memory(table);
        figures.wants_compaction = wants_compaction;
        for file in &table.files {
            let (sstable, stats) = (&file.sstable, &file.sstable.statistics().stats);
            if file.is_shared {
                figures.sstables_shared += 1
            } else {
                figures.sstables += 1
            }
            if has_levels {
                let level = stats.level as usize;
                figures.sstables_per_level.resize(figures.sstables_per_level.len().max(level + 1), 0);
                figures.sstables_per_level[level] += 1;
            }
            figures.disk_bytes += self.part(file, sstable.disk_bytes());
            if stats.compression_ratio >= 0.0 {
                let bytes = self.part(file, sstable.data_bytes());
                figures.compressible_bytes += bytes;
                figures.compressed_bytes += (bytes as f64 * stats.compression_ratio) as u64;
            }
            figures.partitions += self.part(file, sstable.partitions());
            figures.filter_bytes += sstable.filter_bytes() as u64;
            if !is_brief {
                figures.partition_sizes.add(&stats.partition_sizes);
                figures.cell_counts.add(&stats.cell_counts);
                figures.cells += stats.cell_counts.sum();
                figures.droppable += stats.tombstone_drop_times.count_until(gc_before);
            }
        }
        Some(figures)
    }

    fn of_memory(&self, table: &TableState) -> TableFigures {
        let memtables = || table.memtables();
        TableFigures {
            id: table.id,
            keyspace: table.definition.keyspace.clone(),
            name: table.definition.name.clone(),
            sstables: 0,
            sstables_shared: 0,
            sstables_per_level: Vec::new(),
            disk_bytes: 0,
            compressible_bytes: 0,
            compressed_bytes: 0,
            partitions: 0,
            partition_sizes: Buckets::default(),
            cell_counts: Buckets::default(),
            cells: 0.0,
            droppable: 0,
            filter_bytes: 0,
            filter_counts: table.filter_counts(),
            filter_negatives: table.filter_negatives.get(),
            memtable_bytes: memtables().map(|memtable| memtable.bytes() as u64).sum(),
            memtable_partitions: memtables().map(|memtable| u64::from(memtable.partition_count())).sum(),
            memtables_frozen: table.frozen.len() as u64,
            flushes: table.flushes,
            reads: table.reads.get(),
            writes: table.writes,
            read_micros: table.read_latencies.micros(),
            write_micros: table.write_latencies.micros(),
            files_per_read: table.files_per_read.of_all(table.reads.get()),
            wants_compaction: false,
            is_autocompaction_on: self.compacts_unasked(&table.definition),
        }
    }

    /// This shard's part of what a file has.
    fn part(&self, file: &LiveFile, whole: u64) -> u64 {
        if file.is_shared { whole / u64::from(self.sharder().shards.max(1)) } else { whole }
    }

    fn strategy_of(&self, id: TableId) -> Option<Strategy> {
        let definition = self.engine_ref().tables.get(id).map(|table| Rc::clone(&table.definition))?;
        Some(crate::compaction::strategy::CompactionOptions::of(&definition.options.compaction).strategy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_files_add_up() {
        let mut first = EstimatedHistogram::of_cell_counts();
        [1, 1, 30].into_iter().for_each(|value| first.add(value));
        let mut second = EstimatedHistogram::of_partition_sizes();
        second.add(u64::MAX);
        second.add(2);
        let mut buckets = Buckets::default();
        buckets.add(&first);
        buckets.add(&second);
        assert_eq!(buckets.counts.len(), buckets.offsets.len() + 1);
        assert_eq!(buckets.counts.iter().sum::<u64>(), 5);
        assert_eq!((buckets.offsets[0], buckets.counts[0], buckets.counts[1]), (1, 2, 1));
        let of_thirty = buckets.offsets.partition_point(|offset| *offset < 30);
        assert_eq!(buckets.counts[of_thirty], 1);
        assert_eq!(buckets.counts.last(), Some(&1), "what is above all offsets");
    }
}
