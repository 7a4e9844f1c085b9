//! `LeveledCompactionStrategy`: levels of files that do not overlap, each some times as large as the one before.
//!
//! Source of the rules: Cassandra 5.0's `LeveledManifest`.

use crate::compaction::strategy::options::Given;
use crate::compaction::strategy::size_tiered::SizeTiered;
use crate::compaction::strategy::{Cut, FileDescription, INPUTS_MAX, TableFacts, Task, Why};

/// Its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Leveled {
    /// An output's bytes.
    pub file_bytes: u64,
    /// How many times a level is as large as the one before.
    pub fanout: u64,
    /// How files of level 0 are merged among themselves when there are very many.
    size_tiered: SizeTiered,
}

/// The levels above 0.
const LEVELS: u32 = 8;
/// The most files of level 0 that are merged at once; when there are more, they are merged by size first.
const OF_LEVEL_0_MAX: usize = 32;
/// So much more than it may have before a level is compacted.
const SCORE_MIN: f64 = 1.001;

impl Leveled {
    pub(super) fn of(given: &Given<'_>) -> Leveled {
        Leveled {
            file_bytes: given.number("sstable_size_in_mb").unwrap_or(160_u64).max(1) << 20,
            fanout: given.number("fanout_size").unwrap_or(10_u64).max(1),
            size_tiered: SizeTiered::of(given),
        }
    }

    /// How much a level may have.
    fn bytes_max(&self, level: u32) -> f64 {
        match level {
            0 => 4.0 * self.file_bytes as f64,
            _ => (self.fanout as f64).powi(level as i32) * self.file_bytes as f64,
        }
    }

    pub(super) fn choose(&self, files: &[FileDescription], kept: &[usize], table: &TableFacts) -> Option<Task> {
        let mut levels: Vec<Vec<usize>> = vec![Vec::new(); LEVELS as usize + 1];
        for &file in kept {
            levels[files[file].level.min(LEVELS) as usize].push(file);
        }
        for level in &mut levels[1..] {
            level.sort_by_key(|file| (files[*file].tokens, *file));
        }
        let most = INPUTS_MAX.min(table.inputs_max);
        // What is left out of a task would overlap its outputs: it is done as a whole or not at all.
        let task = self.mend(files, &levels, most).or_else(|| self.of_levels(files, &levels, table, most));
        task.filter(|task| task.inputs.len() <= most)
    }

    /// Files of a level that overlap, as they come of another strategy or another shard count: they are merged within their level.
    fn mend(&self, files: &[FileDescription], levels: &[Vec<usize>], most: usize) -> Option<Task> {
        for (level, of_level) in (1..).zip(&levels[1..]) {
            let Some(pair) = of_level.windows(2).find(|pair| files[pair[0]].overlaps(&files[pair[1]])) else {
                continue;
            };
            let mut inputs = vec![pair[0]];
            let mut last = files[pair[0]].tokens.1;
            let begins = of_level.iter().position(|file| *file == pair[0]).unwrap_or(0);
            for file in &of_level[begins + 1..] {
                if files[*file].tokens.0 > last || inputs.len() == most {
                    break;
                }
                inputs.push(*file);
                last = last.max(files[*file].tokens.1);
            }
            return Some(Task::new(inputs, Cut::AtBytes(self.file_bytes), level, Why::Level(level)));
        }
        None
    }

    fn of_levels(
        &self,
        files: &[FileDescription],
        levels: &[Vec<usize>],
        table: &TableFacts,
        most: usize,
    ) -> Option<Task> {
        let bytes = |of_level: &[usize]| of_level.iter().map(|file| files[*file].bytes).sum::<u64>() as f64;
        let level_0 = || self.of_many_in_level_0(files, &levels[0], most);
        for level in (1..LEVELS).rev() {
            let of_level = &levels[level as usize];
            if bytes(of_level) / self.bytes_max(level) > SCORE_MIN {
                // Very many files in level 0 make reads slow: they go before it.
                let task = level_0().or_else(|| self.of_level(files, levels, level, table, most));
                if task.is_some() {
                    return task;
                }
            }
        }
        if levels[0].is_empty() {
            return None;
        }
        level_0().or_else(|| self.of_level_0(files, levels, most))
    }

    /// Level 0 by size.
    fn of_many_in_level_0(&self, files: &[FileDescription], level_0: &[usize], most: usize) -> Option<Task> {
        if level_0.len() <= OF_LEVEL_0_MAX {
            return None;
        }
        let inputs = self.size_tiered.most_interesting(files, level_0, self.size_tiered.threshold_max.min(most))?;
        Some(Task::new(inputs, Cut::Never, 0, Why::Size))
    }

    /// One file of a level, behind what was taken last, with what it overlaps in the next.
    fn of_level(
        &self,
        files: &[FileDescription],
        levels: &[Vec<usize>],
        level: u32,
        table: &TableFacts,
        most: usize,
    ) -> Option<Task> {
        let of_level = &levels[level as usize];
        let up_to = table.compacted_up_to.get(level as usize).copied().flatten();
        let is_behind = |file: &usize| up_to.is_none_or(|up_to| files[*file].tokens.0 > up_to);
        let begins = of_level.iter().position(is_behind).unwrap_or(0);
        let candidates = of_level[begins..].iter().chain(&of_level[..begins]);
        let mut with_overlaps = candidates.map(|file| {
            let mut inputs = vec![*file];
            inputs.extend(overlapping(files, &inputs, &levels[level as usize + 1]));
            inputs
        });
        let inputs = with_overlaps.find(|inputs| inputs.len() <= most)?;
        Some(Task::new(inputs, Cut::AtBytes(self.file_bytes), level + 1, Why::Level(level)))
    }

    /// What overlaps the oldest file of level 0, there and in level 1.
    fn of_level_0(&self, files: &[FileDescription], levels: &[Vec<usize>], most: usize) -> Option<Task> {
        let mut by_age = levels[0].clone();
        by_age.sort_by_key(|file| (files[*file].timestamps.1, *file));
        let mut inputs: Vec<usize> = Vec::new();
        for &file in &by_age {
            let overlaps = |other: &usize| files[*other].overlaps(&files[file]);
            if inputs.len() < OF_LEVEL_0_MAX.min(most) && (inputs.is_empty() || inputs.iter().any(overlaps)) {
                inputs.push(file);
            }
        }
        let bytes = inputs.iter().map(|file| files[*file].bytes).sum::<u64>();
        if bytes > self.file_bytes {
            let of_level_1 = overlapping(files, &inputs, &levels[1]);
            // Of level 1 all that overlaps must be there, or the level would overlap itself; so rather less of level 0.
            let mut fewer = inputs.clone();
            let mut above = of_level_1;
            while fewer.len() + above.len() > most && fewer.len() > 1 {
                fewer.pop();
                above = overlapping(files, &fewer, &levels[1]);
            }
            if (2..=most).contains(&(fewer.len() + above.len())) {
                fewer.extend(above);
                return Some(Task::new(fewer, Cut::AtBytes(self.file_bytes), 1, Why::Level(0)));
            }
        }
        // They are too little to be worth a level.
        if inputs.len() < 2 || bytes > self.file_bytes {
            return None;
        }
        Some(Task::new(inputs, Cut::Never, 0, Why::Level(0)))
    }

    /// How all of a table is cut, and the level where it belongs.
    pub(super) fn of_all(&self, files: &[FileDescription], inputs: &[usize]) -> (Cut, u32) {
        let bytes = inputs.iter().map(|file| files[*file].bytes).sum::<u64>() as f64;
        let level = (1..LEVELS).find(|level| bytes <= self.bytes_max(*level)).unwrap_or(LEVELS);
        (Cut::AtBytes(self.file_bytes), level)
    }
}

/// Those of `others` between the first and the last token of `inputs`: not only what one of them overlaps, since an output may lie between
/// two.
fn overlapping(files: &[FileDescription], inputs: &[usize], others: &[usize]) -> Vec<usize> {
    let first = inputs.iter().map(|file| files[*file].tokens.0).min();
    let last = inputs.iter().map(|file| files[*file].tokens.1).max();
    let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
    let is_between = |file: &&usize| files[**file].tokens.0 <= last && first <= files[**file].tokens.1;
    others.iter().filter(is_between).copied().collect()
}
