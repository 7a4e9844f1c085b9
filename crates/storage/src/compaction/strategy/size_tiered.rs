//! `SizeTieredCompactionStrategy`: files of about one size are merged.
//!
//! Source of the rules: Cassandra 5.0's class of that name.

use crate::compaction::strategy::options::Given;
use crate::compaction::strategy::{Cut, FileDescription, TableFacts, Task, Why, limited};

/// Its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeTiered {
    /// A file is in a bucket from this many times its mean on.
    pub bucket_low: f64,
    /// Up to this many times.
    pub bucket_high: f64,
    /// Files below this are all of one size.
    pub small_bytes: u64,
    /// Files of one size before they are merged.
    pub threshold_min: usize,
    /// The most that are merged at once.
    pub threshold_max: usize,
}

const SMALL_BYTES: u64 = 50 << 20;

impl SizeTiered {
    pub(super) fn of(given: &Given<'_>) -> SizeTiered {
        let threshold_min = given.number("min_threshold").unwrap_or(4).max(2);
        SizeTiered {
            bucket_low: given.number("bucket_low").unwrap_or(0.5),
            bucket_high: given.number("bucket_high").unwrap_or(1.5),
            small_bytes: given.number("min_sstable_size").unwrap_or(SMALL_BYTES),
            threshold_min,
            threshold_max: given.number("max_threshold").unwrap_or(32).max(threshold_min),
        }
    }

    pub(super) fn choose(&self, files: &[FileDescription], kept: &[usize], table: &TableFacts) -> Option<Task> {
        let inputs = self.most_interesting(files, kept, self.threshold_max)?;
        Some(Task::new(limited(inputs, table), Cut::Never, 0, Why::Size))
    }

    /// Files of about one size: of the bucket with the smallest files. (Cassandra takes the one that is read most, and this one where
    /// none is read; how often a file is read is not known here.)
    pub(super) fn most_interesting(
        &self,
        files: &[FileDescription],
        kept: &[usize],
        threshold_max: usize,
    ) -> Option<Vec<usize>> {
        let buckets = self.buckets(files, kept);
        let full = buckets.into_iter().filter(|bucket| bucket.len() >= self.threshold_min);
        let trimmed = full.map(|mut bucket| {
            bucket.truncate(threshold_max);
            bucket
        });
        let mean = |bucket: &[usize]| bucket.iter().map(|file| files[*file].bytes).sum::<u64>() / bucket.len() as u64;
        trimmed.min_by_key(|bucket| mean(bucket))
    }

    /// All files by size, the smallest of each bucket first.
    fn buckets(&self, files: &[FileDescription], kept: &[usize]) -> Vec<Vec<usize>> {
        let mut sorted = kept.to_vec();
        sorted.sort_by_key(|file| (files[*file].bytes, *file));
        let mut buckets: Vec<(u64, Vec<usize>)> = Vec::new();
        for file in sorted {
            let bytes = files[file].bytes;
            let fits = |mean: u64| {
                let (size, of_bucket) = (bytes as f64, mean as f64);
                (size > of_bucket * self.bucket_low && size < of_bucket * self.bucket_high)
                    || (bytes < self.small_bytes && mean < self.small_bytes)
            };
            match buckets.iter_mut().find(|(mean, _)| fits(*mean)) {
                Some((mean, bucket)) => {
                    let sum = bucket.iter().map(|file| files[*file].bytes).sum::<u64>() + bytes;
                    bucket.push(file);
                    *mean = sum / bucket.len() as u64;
                }
                None => buckets.push((bytes, vec![file])),
            }
        }
        buckets.into_iter().map(|(_, bucket)| bucket).collect()
    }
}
