//! Gathers statistics while rows are written. (Source of what counts as what: Cassandra's `MetadataCollector` and
//! `Rows.collectStats`.)

use std::cmp::Ordering;

use cql_types::compare;
use mutation::{CellRef, ClusteringRef, Deletion, Expiry, RowRef};

use crate::header::Header;
use crate::marker::Marker;
use crate::statistics::cardinality::Cardinality;
use crate::statistics::histogram::{EstimatedHistogram, TombstoneHistogramBuilder};
use crate::statistics::stats::{CoveredBound, Stats};
use crate::statistics::{PARTITIONER, Statistics};

/// What the rows do not say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileFacts {
    /// The false-positive chance of the Bloom filter.
    pub bloom_filter_fp_chance: f64,
    /// The compressed data's share of the data; -1: not compressed.
    pub compression_ratio: f64,
    /// The node that writes it.
    pub host: [u8; 16],
    /// The share of the ring from the first to the last token that the writer owns, if it is known.
    pub token_space_coverage: Option<f64>,
    /// The level in leveled compaction.
    pub level: u32,
    /// When it was repaired, milliseconds since 1970; 0: it was not.
    pub repaired_at: i64,
}

/// Statistics in the making.
#[derive(Debug)]
pub struct StatisticsCollector {
    header: Header,
    cardinality: Cardinality,
    partition_sizes: EstimatedHistogram,
    cell_counts: EstimatedHistogram,
    tombstone_drop_times: TombstoneHistogramBuilder,
    timestamps: Option<(i64, i64)>,
    /// Seconds, with one behind them all for what neither is deleted nor expires.
    local_deletion_times: Option<(u64, u64)>,
    ttls: Option<(u32, u32)>,
    columns_set: u64,
    rows: u64,
    partitions: u64,
    partition_cells: u64,
    has_partition_deletions: bool,
    has_legacy_counters: bool,
    first_key: Option<Vec<u8>>,
    last_key: Vec<u8>,
    covered: Option<(CoveredBound, CoveredBound)>,
    /// The places of the open partition's first and last row or marker.
    first_place: Option<CoveredBound>,
    last_place: CoveredBound,
}

/// Behind all seconds.
const NEVER: u64 = u32::MAX as u64;

impl StatisticsCollector {
    /// Nothing yet, of rows with that header.
    pub fn new(header: &Header) -> Self {
        StatisticsCollector {
            header: header.clone(),
            cardinality: Cardinality::default(),
            partition_sizes: EstimatedHistogram::of_partition_sizes(),
            cell_counts: EstimatedHistogram::of_cell_counts(),
            tombstone_drop_times: TombstoneHistogramBuilder::default(),
            timestamps: None,
            local_deletion_times: None,
            ttls: None,
            columns_set: 0,
            rows: 0,
            partitions: 0,
            partition_cells: 0,
            has_partition_deletions: false,
            has_legacy_counters: false,
            first_key: None,
            last_key: Vec::new(),
            covered: None,
            first_place: None,
            last_place: CoveredBound::new(ClusteringRef::EMPTY, false),
        }
    }

    /// How many partitions there were.
    pub fn partitions(&self) -> u64 {
        self.partitions
    }

    /// The least and the greatest timestamp, if there is any.
    pub fn timestamps(&self) -> Option<(i64, i64)> {
        self.timestamps
    }

    /// A partition begins.
    pub(crate) fn partition(&mut self, key: &[u8], deletion: Option<Deletion>) {
        self.partitions += 1;
        self.partition_cells = 0;
        self.cardinality.add(key);
        if self.first_key.is_none() {
            self.first_key = Some(key.to_vec());
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        if let Some(deletion) = deletion {
            self.has_partition_deletions = true;
            self.deletion(deletion);
        }
    }

    /// A row, or a static row, with values or elements in `columns_set` columns. `is_deletion` says of a cell whether it is the
    /// deletion of a whole column of several cells; `None`: it is not written.
    pub(crate) fn row(
        &mut self,
        row: &RowRef<'_>,
        columns_set: u64,
        is_deletion: impl Fn(&CellRef<'_>) -> Option<bool>,
    ) {
        if row.is_empty() {
            return;
        }
        self.rows += 1;
        self.columns_set += columns_set;
        if let Some(liveness) = row.liveness() {
            self.timestamp(liveness.timestamp);
            self.life(liveness.expiry, None);
        }
        if let Some(deletion) = row.deletion() {
            self.deletion(deletion);
        }
        for cell in row.cells() {
            match (is_deletion(&cell), cell.tombstone) {
                (Some(true), Some(local_deletion_time)) => {
                    self.deletion(Deletion { timestamp: cell.timestamp, local_deletion_time });
                }
                (Some(_), tombstone) => {
                    self.partition_cells += 1;
                    self.timestamp(cell.timestamp);
                    self.life(cell.expiry, tombstone);
                }
                (None, _) => {}
            }
        }
    }

    /// A counter has parts of kinds that are made no more.
    pub(crate) fn legacy_counter(&mut self) {
        self.has_legacy_counters = true;
    }

    /// A deletion, of whatever it is.
    pub(crate) fn deletion(&mut self, deletion: Deletion) {
        self.timestamp(deletion.timestamp);
        self.local_deletion_time(u64::from(deletion.local_deletion_time));
        self.tombstone_drop_times.add(deletion.local_deletion_time);
    }

    /// Where a row is.
    pub(crate) fn place(&mut self, clustering: ClusteringRef<'_>) {
        if self.first_place.is_none() {
            self.first_place = Some(CoveredBound::of_row(clustering, self.header.clustering.len(), false));
        }
        self.last_place.set(clustering, self.header.clustering.len(), true);
    }

    /// Where a marker is. Its deletions are given on their own.
    pub(crate) fn marker(&mut self, marker: &Marker<'_>) {
        if self.first_place.is_none() {
            self.first_place = Some(CoveredBound::new(marker.prefix, marker.after));
        }
        self.last_place.set(marker.prefix, marker.prefix.len(), marker.after);
    }

    /// The partition ends, after so many bytes.
    pub(crate) fn end_partition(&mut self, length: u64) {
        self.partition_sizes.add(length);
        self.cell_counts.add(self.partition_cells);
        let Some(first) = self.first_place.take() else { return };
        match &mut self.covered {
            None => self.covered = Some((first, self.last_place.clone())),
            Some((start, end)) => {
                if order(&self.header, &first, start).is_lt() {
                    *start = first;
                }
                if order(&self.header, &self.last_place, end).is_gt() {
                    end.clone_from(&self.last_place);
                }
            }
        }
    }

    /// Statistics.db's content.
    pub fn finish(self, facts: &FileFacts) -> Statistics {
        let (timestamp_min, timestamp_max) = self.timestamps.unwrap_or((i64::MIN, i64::MAX));
        let (second_min, second_max) = self.local_deletion_times.unwrap_or((NEVER, NEVER));
        let (ttl_min, ttl_max) = self.ttls.unwrap_or((0, 0));
        let second = |second: u64| u32::try_from(second).ok().filter(|&second| second != u32::MAX);
        // Nothing is between a place behind all rows and one before them.
        let nothing =
            || (CoveredBound::new(ClusteringRef::EMPTY, true), CoveredBound::new(ClusteringRef::EMPTY, false));
        let stats = Stats {
            partition_sizes: self.partition_sizes,
            cell_counts: self.cell_counts,
            commit_log_intervals: Vec::new(),
            timestamp_min,
            timestamp_max,
            local_deletion_time_min: second(second_min),
            local_deletion_time_max: second(second_max),
            ttl_min,
            ttl_max,
            compression_ratio: facts.compression_ratio,
            tombstone_drop_times: self.tombstone_drop_times.finish(),
            level: facts.level,
            repaired_at: facts.repaired_at,
            covered_clustering: Some(self.covered.unwrap_or_else(nothing)),
            has_legacy_counter_shards: self.has_legacy_counters,
            columns_set: self.columns_set.cast_signed(),
            rows: self.rows.cast_signed(),
            pending_repair: None,
            is_transient: false,
            originating_host: Some(facts.host),
            has_partition_deletions: self.has_partition_deletions,
            key_range: Some((self.first_key.unwrap_or_default(), self.last_key)),
            token_space_coverage: facts.token_space_coverage,
        };
        Statistics {
            partitioner: PARTITIONER.to_owned(),
            bloom_filter_fp_chance: facts.bloom_filter_fp_chance,
            cardinality: self.cardinality.write(),
            stats,
            header: self.header,
        }
    }

    #[inline]
    fn timestamp(&mut self, timestamp: i64) {
        let (min, max) = self.timestamps.unwrap_or((timestamp, timestamp));
        self.timestamps = Some((min.min(timestamp), max.max(timestamp)));
    }

    #[inline]
    fn local_deletion_time(&mut self, second: u64) {
        let (min, max) = self.local_deletion_times.unwrap_or((second, second));
        self.local_deletion_times = Some((min.min(second), max.max(second)));
    }

    /// How long a cell or a row's liveness lives.
    #[inline]
    fn life(&mut self, expiry: Option<Expiry>, tombstone: Option<u32>) {
        let ttl = expiry.map_or(0, |expiry| expiry.ttl);
        let (min, max) = self.ttls.unwrap_or((ttl, ttl));
        self.ttls = Some((min.min(ttl), max.max(ttl)));
        match tombstone.or(expiry.map(|expiry| expiry.local_deletion_time)) {
            None => self.local_deletion_time(NEVER),
            Some(second) => {
                self.local_deletion_time(u64::from(second));
                self.tombstone_drop_times.add(second);
            }
        }
    }
}

/// Which of two places among rows comes first.
fn order(header: &Header, a: &CoveredBound, b: &CoveredBound) -> Ordering {
    let values = a.prefix().components().zip(b.prefix().components());
    for ((a, b), of) in values.zip(&header.clustering) {
        let order = compare(&of.ty, a, b);
        let order = if of.is_reversed { order.reverse() } else { order };
        if order.is_ne() {
            return order;
        }
    }
    match a.prefix().len().cmp(&b.prefix().len()) {
        Ordering::Equal => a.after.cmp(&b.after),
        // Null comes before all values.
        Ordering::Less if a.has_nulls() => Ordering::Less,
        Ordering::Greater if b.has_nulls() => Ordering::Greater,
        // Rows with the shorter prefix begin before the longer one's place, or end behind it.
        Ordering::Less if a.after => Ordering::Greater,
        Ordering::Less => Ordering::Less,
        Ordering::Greater if b.after => Ordering::Less,
        Ordering::Greater => Ordering::Greater,
    }
}
