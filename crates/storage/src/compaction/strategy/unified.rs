//! `UnifiedCompactionStrategy`: levels by density, and files of a level are merged where too many overlap.
//!
//! Source of the rules: Cassandra 5.0's class of that name, its `Controller`, `ShardManager` and `Overlaps`.

use std::collections::BTreeSet;

use topology::Token;

use crate::compaction::strategy::options::Given;
use crate::compaction::strategy::{Cut, FileDescription, INPUTS_MAX, TableFacts, Task, Why, span};

/// Its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Unified {
    /// For each level W; the last one for all that follow.
    scaling: Vec<i32>,
    target_bytes: u64,
    min_bytes: u64,
    base_shard_count: u32,
    /// How much of a growing density goes into larger files instead of more.
    growth: f64,
    flush_bytes: u64,
    files_max: usize,
    inclusion: Inclusion,
    /// Seconds between two looks for expired files.
    pub expired_check_seconds: u64,
}

/// What is compacted with a set of overlapping files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inclusion {
    /// Nothing.
    None,
    /// What overlaps one of them.
    Single,
    /// What overlaps one of those, and so on.
    Transitive,
}

/// The parts of the ring are at most so many times as many as the base.
const SPLIT_SHIFT_MAX: u32 = 20;
/// What a flush is taken to make at least.
const FLUSH_BYTES_MIN: u64 = 1 << 20;

/// Files of one range of densities.
struct Level {
    index: usize,
    files: Vec<usize>,
}

/// Files that are to be compacted together, the oldest last.
struct Bucket {
    sets: Vec<BTreeSet<usize>>,
    overlap: usize,
    by_age: Vec<usize>,
}

/// W of a parameter: T4 is 2, N is 0, L4 is −2, other numbers are themselves.
fn scaling_of(text: &str) -> Option<i32> {
    let text = text.trim().to_ascii_uppercase();
    let number = |digits: &str| digits.parse::<i32>().ok();
    match text.as_bytes().first()? {
        b'N' => Some(0),
        b'T' => number(&text[1..]).map(|fanout| fanout.max(2) - 2),
        b'L' => number(&text[1..]).map(|fanout| 2 - fanout.max(2)),
        _ => number(&text),
    }
}

impl Unified {
    pub(super) fn of(given: &Given<'_>) -> Unified {
        let scaling: Option<Vec<i32>> =
            given.text("scaling_parameters").unwrap_or("T4").split(',').map(scaling_of).collect();
        let inclusion = match given.text("overlap_inclusion_method").unwrap_or_default().to_ascii_uppercase().as_str() {
            "NONE" => Inclusion::None,
            "SINGLE" => Inclusion::Single,
            _ => Inclusion::Transitive,
        };
        let files_max = given.number("max_sstables_to_compact").filter(|count: &i64| *count > 0);
        Unified {
            scaling: scaling.filter(|all| !all.is_empty()).unwrap_or_else(|| vec![2]),
            target_bytes: given.bytes("target_sstable_size").unwrap_or(1 << 30).max(1),
            min_bytes: given.bytes("min_sstable_size").unwrap_or(100 << 20),
            base_shard_count: given.number("base_shard_count").unwrap_or(4_u32).max(1),
            growth: given.share("sstable_growth").unwrap_or(0.333).clamp(0.0, 1.0),
            flush_bytes: given.bytes("flush_size_override").unwrap_or(0),
            files_max: files_max.and_then(|count| usize::try_from(count).ok()).unwrap_or(32),
            inclusion,
            expired_check_seconds: given.number("expired_sstable_check_frequency_seconds").unwrap_or(600),
        }
    }

    fn scaling(&self, level: usize) -> i32 {
        self.scaling[level.min(self.scaling.len() - 1)]
    }

    /// How many times a level's densities are as great as those of the one before.
    fn fanout(&self, level: usize) -> usize {
        let w = self.scaling(level);
        2 + w.unsigned_abs() as usize
    }

    /// How many files overlap when they are compacted.
    fn threshold(&self, level: usize) -> usize {
        2 + self.scaling(level).max(0) as usize
    }

    pub(super) fn choose(&self, files: &[FileDescription], kept: &[usize], table: &TableFacts) -> Option<Task> {
        let mut best: Option<(usize, Level, Vec<BTreeSet<usize>>)> = None;
        for level in self.levels(files, kept, table) {
            let sets = overlap_sets(files, &level.files);
            let overlap = sets.iter().map(BTreeSet::len).max().unwrap_or(0);
            let is_larger = best.as_ref().is_none_or(|(known, ..)| overlap > *known);
            if is_larger {
                best = Some((overlap, level, sets));
            }
        }
        // As Cassandra has it: where the level with the largest overlap has no need, no other has one that matters more.
        let (overlap, level, sets) = best?;
        if overlap < self.threshold(level.index) {
            return None;
        }
        let bucket = self.buckets(files, &level, sets).into_iter().find(|bucket| bucket.overlap == overlap)?;
        let inputs = self.pick(&level, bucket, table);
        if inputs.len() < 2 {
            return None;
        }
        let cut = self.cut(files, &inputs, table);
        Some(Task::new(inputs, cut, 0, Why::Overlap(overlap as u32)))
    }

    /// The files by density, in levels; empty levels are left out.
    fn levels(&self, files: &[FileDescription], kept: &[usize], table: &TableFacts) -> Vec<Level> {
        let mut by_density: Vec<(f64, usize)> = kept.iter().map(|file| (files[*file].density(table), *file)).collect();
        by_density.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let flush_bytes = if self.flush_bytes > 0 { self.flush_bytes } else { table.flush_bytes };
        let flush_bytes = flush_bytes.max(FLUSH_BYTES_MIN) as f64;
        // Some leeway for flushes that are a little smaller, and not so much that one file less would reach the next level.
        let first = flush_bytes * (1.0 - 0.9 / self.fanout(0) as f64);
        let mut max = (first * self.fanout(0) as f64).floor();
        let mut levels: Vec<Level> = Vec::new();
        let mut index = 0;
        for (density, file) in by_density {
            while density >= max && max.is_finite() {
                index += 1;
                max = (max * self.fanout(index) as f64).floor();
            }
            match levels.last_mut().filter(|level| level.index == index) {
                Some(level) => level.files.push(file),
                None => levels.push(Level { index, files: vec![file] }),
            }
        }
        levels
    }

    /// The sets with as many files as are compacted, each with what goes with it.
    fn buckets(&self, files: &[FileDescription], level: &Level, sets: Vec<BTreeSet<usize>>) -> Vec<Bucket> {
        let threshold = self.threshold(level.index);
        let mut buckets = Vec::new();
        let mut taken = 0;
        let mut at = 0;
        while at < sets.len() {
            if sets[at].len() < threshold {
                at += 1;
                continue;
            }
            let (mut begin, mut end) = (at, at + 1);
            if self.inclusion != Inclusion::None {
                let mut target = sets[at].clone();
                while begin > taken && !sets[begin - 1].is_disjoint(&target) {
                    begin -= 1;
                    if self.inclusion == Inclusion::Transitive {
                        target.extend(&sets[begin]);
                    }
                }
                while end < sets.len() && !sets[end].is_disjoint(&target) {
                    if self.inclusion == Inclusion::Transitive {
                        target.extend(&sets[end]);
                    }
                    end += 1;
                }
            }
            buckets.push(Bucket::of(files, &sets[begin..end]));
            taken = end;
            at = end;
        }
        buckets
    }

    /// What of a bucket is compacted: all of it, unless much has gathered.
    fn pick(&self, level: &Level, bucket: Bucket, table: &TableFacts) -> Vec<usize> {
        let fanout = self.fanout(level.index);
        let most = INPUTS_MAX.min(table.inputs_max);
        let files_max = self.files_max.max(fanout);
        let overlap = bucket.overlap;
        let wanted = if overlap <= fanout {
            overlap
        } else if overlap <= fanout * self.fanout(level.index + 1) || files_max == fanout {
            overlap.min(files_max)
        } else {
            self.pick_size(level, overlap.min(files_max))
        };
        bucket.oldest(wanted, most)
    }

    /// So many that the output lands where it would have if compactions had not been late.
    fn pick_size(&self, level: &Level, limit: usize) -> usize {
        let mut index = level.index;
        let mut next = self.fanout(index);
        let mut size;
        loop {
            size = next;
            index += 1;
            next = next.saturating_mul(self.fanout(index));
            if next > limit {
                break;
            }
        }
        if self.scaling(level.index) < 0 { size * (limit / size).max(1) } else { size }
    }

    /// Into how many parts of the ring the outputs are cut.
    pub(super) fn cut(&self, files: &[FileDescription], inputs: &[usize], table: &TableFacts) -> Cut {
        let bytes = inputs.iter().map(|file| files[*file].bytes).sum::<u64>() as f64;
        let partitions = inputs.iter().map(|file| files[*file].partitions).sum::<u64>();
        let first = inputs.iter().map(|file| files[*file].tokens.0).min().unwrap_or(Token(i64::MIN));
        let last = inputs.iter().map(|file| files[*file].tokens.1).max().unwrap_or(Token(i64::MAX));
        match self.parts(bytes / span((first, last), partitions, table)) {
            1 => Cut::Never,
            parts => Cut::AtParts(parts),
        }
    }

    fn parts(&self, density: f64) -> u32 {
        let base = self.base_shard_count;
        if self.min_bytes > 0 {
            let count = density / self.min_bytes as f64;
            if count < f64::from(base) {
                // Only to divisors of the base, so that what is a boundary here is one on every level above.
                let power = highest_bit(count as u32 | 1);
                return power.min(base & base.wrapping_neg());
            }
        }
        let count = density / (self.target_bytes as f64 * f64::from(base));
        let exponent = count.log2() * (1.0 - self.growth) + 0.5;
        // Also what is no number comes to the base.
        let shift = if exponent >= 0.0 { (exponent as u32).min(SPLIT_SHIFT_MAX) } else { 0 };
        base.saturating_mul(1 << shift)
    }
}

fn highest_bit(number: u32) -> u32 {
    1 << (31 - number.leading_zeros())
}

/// For each stretch of tokens that lies in as many files as its neighbours or more: the files. No file is in sets that do not follow each other.
fn overlap_sets(files: &[FileDescription], of_level: &[usize]) -> Vec<BTreeSet<usize>> {
    let mut by_first = of_level.to_vec();
    by_first.sort_by_key(|file| (files[*file].tokens.0, *file));
    let mut sets = Vec::new();
    let mut active: BTreeSet<usize> = BTreeSet::new();
    for file in by_first {
        let begins = files[file].tokens.0;
        let is_over = |active: &usize| files[*active].tokens.1 < begins;
        if active.iter().any(is_over) {
            sets.push(active.clone());
            active.retain(|active| !is_over(active));
        }
        active.insert(file);
    }
    if !active.is_empty() {
        sets.push(active);
    }
    sets
}

impl Bucket {
    fn of(files: &[FileDescription], sets: &[BTreeSet<usize>]) -> Bucket {
        let all: BTreeSet<usize> = sets.iter().flatten().copied().collect();
        let mut by_age: Vec<usize> = all.into_iter().collect();
        by_age.sort_by_key(|file| (std::cmp::Reverse(files[*file].timestamps.1), *file));
        let overlap = sets.iter().map(BTreeSet::len).max().unwrap_or(0);
        Bucket { sets: sets.to_vec(), overlap, by_age }
    }

    /// The oldest files, at most so many of each set and in all.
    fn oldest(&self, of_set: usize, most: usize) -> Vec<usize> {
        let mut taken = Vec::new();
        let mut counts = vec![0; self.sets.len()];
        for &file in self.by_age.iter().rev() {
            let mut is_over = taken.len() == most;
            for (set, count) in self.sets.iter().zip(&mut counts) {
                if set.contains(&file) {
                    *count += 1;
                    is_over |= *count > of_set;
                }
            }
            if is_over {
                break;
            }
            taken.push(file);
        }
        taken
    }
}
