//! A table's `compaction` option, read for use. What is wrong in it was refused when it was given; what is wrong all the same is read as
//! the default.

use std::collections::BTreeMap;

use crate::compaction::strategy::leveled::Leveled;
use crate::compaction::strategy::size_tiered::SizeTiered;
use crate::compaction::strategy::time_window::TimeWindow;
use crate::compaction::strategy::unified::Unified;
use crate::compaction::strategy::{Cut, FileDescription, TableFacts, Task, Why};

/// Which strategy, with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Strategy {
    /// `SizeTieredCompactionStrategy`.
    SizeTiered(SizeTiered),
    /// `LeveledCompactionStrategy`.
    Leveled(Leveled),
    /// `TimeWindowCompactionStrategy`.
    TimeWindow(TimeWindow),
    /// `UnifiedCompactionStrategy`.
    Unified(Unified),
}

/// What every strategy has.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    /// Whether the table is compacted unasked.
    pub is_enabled: bool,
    /// Whether a tombstone is purged only of what was repaired.
    pub only_purge_repaired: bool,
    /// Seconds before a file is rewritten for its tombstones; `None`: not given.
    pub tombstone_interval: Option<u64>,
    /// The share of droppable cells from which on it is; `None`: not given.
    pub tombstone_threshold: Option<f64>,
    /// Whether it is whatever other files overlap.
    pub is_unchecked: bool,
}

/// Seconds of a day.
const TOMBSTONE_INTERVAL: u64 = 86_400;
const TOMBSTONE_THRESHOLD: f64 = 0.2;

/// The option.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionOptions {
    /// What every strategy has.
    pub common: Common,
    /// The strategy.
    pub strategy: Strategy,
}

/// The sub-options as they are kept.
pub(super) struct Given<'o>(&'o BTreeMap<String, String>);

impl Given<'_> {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.trim().parse().ok()
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }

    /// A number of bytes with a unit, as `160MiB`; without one it is bytes.
    pub(super) fn bytes(&self, name: &str) -> Option<u64> {
        let text = self.text(name)?.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..digits].parse().ok()?;
        let unit = match text[digits..].trim().to_ascii_lowercase().trim_end_matches('b') {
            "" => 1.0,
            "k" | "ki" => 1024.0,
            "m" | "mi" => 1024.0 * 1024.0,
            "g" | "gi" => 1024.0 * 1024.0 * 1024.0,
            "t" | "ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
            _ => return None,
        };
        Some((number * unit) as u64)
    }

    /// A share: `0.3`, or `30%`.
    pub(super) fn share(&self, name: &str) -> Option<f64> {
        let text = self.text(name)?.trim();
        match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
            None => text.parse().ok(),
        }
    }
}

impl CompactionOptions {
    /// Reads the option.
    pub fn of(options: &BTreeMap<String, String>) -> CompactionOptions {
        let given = Given(options);
        let common = Common {
            is_enabled: given.text("enabled").is_none_or(|text| text.eq_ignore_ascii_case("true")),
            only_purge_repaired: given.flag("only_purge_repaired_tombstones"),
            tombstone_interval: given.number("tombstone_compaction_interval"),
            tombstone_threshold: given.number("tombstone_threshold"),
            is_unchecked: given.flag("unchecked_tombstone_compaction"),
        };
        let class = given.text("class").unwrap_or_default();
        let strategy = match class.rsplit('.').next().unwrap_or_default() {
            "LeveledCompactionStrategy" => Strategy::Leveled(Leveled::of(&given)),
            "TimeWindowCompactionStrategy" => Strategy::TimeWindow(TimeWindow::of(&given)),
            "UnifiedCompactionStrategy" => Strategy::Unified(Unified::of(&given)),
            _ => Strategy::SizeTiered(SizeTiered::of(&given)),
        };
        CompactionOptions { common, strategy }
    }

    /// Seconds between two looks for expired files; `None`: the strategy does not look.
    pub fn expired_check_seconds(&self) -> Option<u64> {
        match &self.strategy {
            Strategy::TimeWindow(strategy) => Some(strategy.expired_check_seconds),
            Strategy::Unified(strategy) => Some(strategy.expired_check_seconds),
            Strategy::SizeTiered(_) | Strategy::Leveled(_) => None,
        }
    }

    /// The one file that is worth rewriting for its tombstones: of several the smallest.
    pub(super) fn for_tombstones(&self, files: &[FileDescription], kept: &[usize], table: &TableFacts) -> Option<Task> {
        let Common { tombstone_interval, tombstone_threshold, .. } = self.common;
        let is_asked_for = tombstone_interval.is_some() || tombstone_threshold.is_some();
        if matches!(self.strategy, Strategy::TimeWindow(_)) && !is_asked_for {
            return None;
        }
        // The unified strategy has no such compactions.
        if matches!(self.strategy, Strategy::Unified(_)) {
            return None;
        }
        let worth = kept.iter().copied().filter(|file| self.is_worth_dropping(*file, files, table));
        let file = worth.min_by_key(|file| (files[*file].bytes, *file))?;
        let cut = match &self.strategy {
            Strategy::Leveled(strategy) => Cut::AtBytes(strategy.file_bytes),
            _ => Cut::Never,
        };
        Some(Task::new(vec![file], cut, files[file].level, Why::Tombstones))
    }

    fn is_worth_dropping(&self, file: usize, files: &[FileDescription], table: &TableFacts) -> bool {
        let threshold = self.common.tombstone_threshold.unwrap_or(TOMBSTONE_THRESHOLD);
        let interval = self.common.tombstone_interval.unwrap_or(TOMBSTONE_INTERVAL);
        let found = &files[file];
        if found.written_at.saturating_add(interval) > table.now || found.droppable <= threshold {
            return false;
        }
        if self.common.is_unchecked {
            return true;
        }
        found.droppable * alone(file, files) > threshold
    }
}

/// The share of a file's tokens that no other file overlaps.
fn alone(file: usize, files: &[FileDescription]) -> f64 {
    let (first, last) = files[file].tokens;
    let others = files.iter().enumerate().filter(|(other, _)| *other != file);
    let mut overlaps: Vec<(i64, i64)> = others
        .filter(|(_, other)| other.overlaps(&files[file]))
        .map(|(_, other)| (other.tokens.0.max(first).0, other.tokens.1.min(last).0))
        .collect();
    overlaps.sort_unstable();
    let mut covered = 0.0;
    let mut up_to: Option<i64> = None;
    for (start, end) in overlaps {
        let start = up_to.map_or(i128::from(start), |up_to| i128::from(start).max(i128::from(up_to) + 1));
        covered += (i128::from(end) - start + 1).max(0) as f64;
        up_to = Some(up_to.map_or(end, |up_to| up_to.max(end)));
    }
    let all = (i128::from(last.0) - i128::from(first.0) + 1) as f64;
    (1.0 - covered / all).max(0.0)
}
