//! Histograms: of sizes and counts in buckets that grow by a fifth, and of the times at which tombstones may go.

use crate::error::Corrupt;
use crate::statistics::fields::{Cursor, length};

/// How often values of about a size occur. Bucket `i` counts those up to `offsets[i]`, the one behind them all greater.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EstimatedHistogram {
    offsets: Vec<i64>,
    counts: Vec<i64>,
}

/// How many offsets Cassandra has for sizes of partitions, up to 2 TiB, and for counts of their cells.
const PARTITION_SIZE_OFFSETS: usize = 155;
const CELL_COUNT_OFFSETS: usize = 118;

impl EstimatedHistogram {
    /// For sizes of partitions, in bytes.
    pub fn of_partition_sizes() -> Self {
        Self::new(PARTITION_SIZE_OFFSETS)
    }

    /// For counts of a partition's cells.
    pub fn of_cell_counts() -> Self {
        Self::new(CELL_COUNT_OFFSETS)
    }

    /// Each offset is the one before, a fifth larger, rounded, and larger by 1 at least. (Source: Cassandra's
    /// `EstimatedHistogram.newOffsets`.)
    fn new(offset_count: usize) -> Self {
        let next = |&last: &i64| Some(((last as f64 * 1.2).round() as i64).max(last + 1));
        let offsets: Vec<i64> = std::iter::successors(Some(1), next).take(offset_count).collect();
        let counts = vec![0; offsets.len() + 1];
        EstimatedHistogram { offsets, counts }
    }

    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        let bucket = self.offsets.partition_point(|&offset| offset < value);
        self.counts[bucket] += 1;
    }

    /// The buckets' offsets, and how many values each has; there is one more for those above all offsets.
    pub fn buckets(&self) -> (&[i64], &[i64]) {
        (&self.offsets, &self.counts)
    }

    /// How many values there are.
    pub fn count(&self) -> i64 {
        self.counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// About what all values come to together.
    pub fn sum(&self) -> f64 {
        let offset = |bucket: usize| self.offsets.get(bucket).or(self.offsets.last()).copied().unwrap_or(0);
        self.counts.iter().enumerate().map(|(bucket, count)| offset(bucket) as f64 * *count as f64).sum()
    }

    /// The value that `share` of all are at most, as the offset of its bucket; 0 without any.
    pub fn percentile(&self, share: f64) -> i64 {
        let wanted = (self.count() as f64 * share).ceil() as i64;
        let mut seen = 0_i64;
        for (offset, count) in self.offsets.iter().chain([&i64::MAX]).zip(&self.counts) {
            seen = seen.saturating_add(*count);
            if *count > 0 && seen >= wanted {
                return *offset;
            }
        }
        0
    }

    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Corrupt> {
        let bucket_count = cursor.count(16)?;
        let (mut offsets, mut counts) = (Vec::with_capacity(bucket_count), Vec::with_capacity(bucket_count));
        for bucket in 0..bucket_count {
            let offset = cursor.i64()?;
            // The first offset is written twice: there is one less than there are buckets.
            if bucket > 0 {
                offsets.push(offset);
            }
            counts.push(cursor.i64()?);
        }
        if counts.is_empty() {
            return Err(cursor.corrupt("a histogram has no buckets"));
        }
        Ok(EstimatedHistogram { offsets, counts })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&length(self.counts.len()).to_be_bytes());
        for (bucket, count) in self.counts.iter().enumerate() {
            let offset = self.offsets.get(bucket.saturating_sub(1)).copied().unwrap_or(1);
            out.extend_from_slice(&offset.to_be_bytes());
            out.extend_from_slice(&count.to_be_bytes());
        }
    }
}

/// How many tombstones and expiring cells there are of about which local deletion time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TombstoneHistogram {
    /// Second and count, by second.
    bins: Vec<(i64, u32)>,
}

impl TombstoneHistogram {
    /// How many of them may go at `second`, about.
    pub fn count_until(&self, second: i64) -> u64 {
        self.bins.iter().take_while(|(bin, _)| *bin <= second).map(|(_, count)| u64::from(*count)).sum()
    }

    /// The bins: second and count, by second.
    pub fn bins(&self) -> &[(i64, u32)] {
        &self.bins
    }

    pub(super) fn read(cursor: &mut Cursor<'_>, has_long_points: bool) -> Result<Self, Corrupt> {
        // What the most bins may be is written, and was never of any use.
        cursor.u32()?;
        let each = if has_long_points { 12 } else { 16 };
        let bin_count = cursor.count(each)?;
        let mut bins = Vec::with_capacity(bin_count);
        for _ in 0..bin_count {
            bins.push(match has_long_points {
                true => (cursor.i64()?, cursor.u32()?),
                false => (cursor.f64()? as i64, u32::try_from(cursor.i64()?).unwrap_or(u32::MAX)),
            });
        }
        Ok(TombstoneHistogram { bins })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let bin_count = length(self.bins.len()).to_be_bytes();
        out.extend_from_slice(&bin_count);
        out.extend_from_slice(&bin_count);
        for (second, count) in &self.bins {
            out.extend_from_slice(&second.to_be_bytes());
            out.extend_from_slice(&count.to_be_bytes());
        }
    }
}

/// The most bins of a histogram of tombstones.
const BINS_MAX: usize = 100;
/// Seconds are rounded up to a multiple of this.
const ROUND_SECONDS: i64 = 60;
/// How many bins are gathered before they are made fewer.
const GATHERED_MAX: usize = 1000;

/// A histogram of tombstones in the making.
#[derive(Debug, Default)]
pub(super) struct TombstoneHistogramBuilder {
    bins: std::collections::BTreeMap<i64, u32>,
    /// The second that was added last, and how often since: times mostly repeat.
    last: Option<(i64, u32)>,
}

impl TombstoneHistogramBuilder {
    pub(super) fn add(&mut self, local_deletion_time: u32) {
        let second = i64::from(local_deletion_time);
        let second = (second + ROUND_SECONDS - 1) / ROUND_SECONDS * ROUND_SECONDS;
        match &mut self.last {
            Some((last, count)) if *last == second => *count = count.saturating_add(1),
            _ => {
                self.settle();
                self.last = Some((second, 1));
            }
        }
    }

    fn settle(&mut self) {
        let Some((second, added)) = self.last.take() else { return };
        let count = self.bins.entry(second).or_insert(0);
        *count = count.saturating_add(added);
        if self.bins.len() > GATHERED_MAX {
            self.shrink();
        }
    }

    /// Joins the two nearest bins until there are few.
    fn shrink(&mut self) {
        let mut bins: Vec<(i64, u32)> = std::mem::take(&mut self.bins).into_iter().collect();
        while bins.len() > BINS_MAX {
            let gaps = bins.windows(2).enumerate().map(|(place, pair)| (pair[1].0 - pair[0].0, place));
            let Some((_, place)) = gaps.min() else { break };
            let (right, left) = (bins.remove(place + 1), bins[place]);
            let count = u64::from(left.1) + u64::from(right.1);
            let (left_share, right_share) =
                (i128::from(left.0) * i128::from(left.1), i128::from(right.0) * i128::from(right.1));
            let mean = ((left_share + right_share) / i128::from(count.max(1))) as i64;
            bins[place] = (mean, u32::try_from(count).unwrap_or(u32::MAX));
        }
        self.bins = bins.into_iter().collect();
    }

    pub(super) fn finish(mut self) -> TombstoneHistogram {
        self.settle();
        self.shrink();
        TombstoneHistogram { bins: self.bins.into_iter().collect() }
    }
}
