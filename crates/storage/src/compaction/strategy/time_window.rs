//! `TimeWindowCompactionStrategy`: files of one window of time become one, which is never touched again until it expires.
//!
//! Source of the rules: Cassandra 5.0's class of that name.

use std::collections::BTreeMap;

use crate::compaction::strategy::options::Given;
use crate::compaction::strategy::size_tiered::SizeTiered;
use crate::compaction::strategy::{Cut, FileDescription, TableFacts, Task, Why, limited};

/// Its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeWindow {
    /// A window, seconds.
    pub window_seconds: i64,
    /// What of a timestamp is a second: so many of its units, or 1 and so many seconds each.
    units_per_second: i64,
    seconds_per_unit: i64,
    /// Seconds between two looks for expired files.
    pub expired_check_seconds: u64,
    /// How files of the newest window are merged.
    size_tiered: SizeTiered,
}

impl TimeWindow {
    pub(super) fn of(given: &Given<'_>) -> TimeWindow {
        let unit = match given.text("compaction_window_unit").unwrap_or("DAYS") {
            "MINUTES" => 60,
            "HOURS" => 3600,
            _ => 86_400,
        };
        let (units_per_second, seconds_per_unit) = match given.text("timestamp_resolution").unwrap_or("MICROSECONDS") {
            "NANOSECONDS" => (1_000_000_000, 1),
            "MILLISECONDS" => (1000, 1),
            "SECONDS" => (1, 1),
            "MINUTES" => (1, 60),
            "HOURS" => (1, 3600),
            "DAYS" => (1, 86_400),
            _ => (1_000_000, 1),
        };
        TimeWindow {
            window_seconds: given.number("compaction_window_size").unwrap_or(1_i64).max(1).saturating_mul(unit),
            units_per_second,
            seconds_per_unit,
            expired_check_seconds: given.number("expired_sstable_check_frequency_seconds").unwrap_or(600),
            size_tiered: SizeTiered::of(given),
        }
    }

    /// The first second of a file's window.
    fn window(&self, file: &FileDescription) -> i64 {
        let seconds = (file.timestamps.1 / self.units_per_second).saturating_mul(self.seconds_per_unit);
        seconds - seconds % self.window_seconds
    }

    pub(super) fn choose(&self, files: &[FileDescription], kept: &[usize], table: &TableFacts) -> Option<Task> {
        let mut windows: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for &file in kept {
            windows.entry(self.window(&files[file])).or_default().push(file);
        }
        // Also one whose files are gone counts.
        let newest = files.iter().map(|file| self.window(file)).max()?;
        for (window, mut of_window) in windows.into_iter().rev() {
            let inputs = if window >= newest {
                self.size_tiered.most_interesting(files, &of_window, self.size_tiered.threshold_max)
            } else if of_window.len() >= 2 {
                of_window.sort_by_key(|file| (files[*file].bytes, *file));
                of_window.truncate(self.size_tiered.threshold_max);
                Some(of_window)
            } else {
                None
            };
            if let Some(inputs) = inputs {
                return Some(Task::new(limited(inputs, table), Cut::Never, 0, Why::Window));
            }
        }
        None
    }
}
