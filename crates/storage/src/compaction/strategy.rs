//! Which files are to be compacted: pure functions from descriptions of a table's live files and its options to at most one task.
//!
//! One file for each strategy; what they share is here: descriptions, tasks, and which single file is worth rewriting for its
//! tombstones. `docs/internals/compaction.md` says the rules in words and where they are from.

mod leveled;
mod options;
mod size_tiered;
mod time_window;
mod unified;

use topology::Token;

pub use options::{CompactionOptions, Strategy};

/// The most inputs of one task: they fit in one record of the manifest with the outputs.
pub const INPUTS_MAX: usize = 64;
/// The most inputs and outputs together.
pub const FILES_MAX: usize = 96;

/// The inclusive share of the ring that one token takes.
const RING: f64 = 18_446_744_073_709_551_616.0;
/// Files of fewer partitions lie on the ring by chance: their span says nothing.
const PARTITIONS_FOR_SPAN: u64 = 100;
/// The least span that is taken for one: 2⁻⁴⁸.
const SPAN_MIN: f64 = 1.0 / (1u64 << 48) as f64;

/// What a strategy knows of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileDescription {
    /// The length of all its components, bytes.
    pub bytes: u64,
    /// The tokens of its first and last partition.
    pub tokens: (Token, Token),
    /// About how many partitions it has.
    pub partitions: u64,
    /// The least and the greatest timestamp.
    pub timestamps: (i64, i64),
    /// The last second at which something in it was deleted or expires; `None`: something is and does neither.
    pub local_deletion_time_max: Option<u32>,
    /// The share of its cells that may be purged by now, about.
    pub droppable: f64,
    /// Its level.
    pub level: u32,
    /// When it was written, seconds since 1970.
    pub written_at: u64,
}

impl FileDescription {
    /// Whether some token may be in both.
    pub fn overlaps(&self, other: &FileDescription) -> bool {
        self.tokens.0 <= other.tokens.1 && other.tokens.0 <= self.tokens.1
    }

    /// The share of the ring between its first and last token.
    fn span(&self, table: &TableFacts) -> f64 {
        span(self.tokens, self.partitions, table)
    }

    /// Its bytes by its span.
    fn density(&self, table: &TableFacts) -> f64 {
        self.bytes as f64 / self.span(table)
    }
}

/// The share of the ring that so many partitions between two tokens stand for.
fn span(tokens: (Token, Token), partitions: u64, table: &TableFacts) -> f64 {
    let span = ((i128::from(tokens.1.0) - i128::from(tokens.0.0)) as f64 + 1.0) / RING;
    if partitions >= PARTITIONS_FOR_SPAN && span >= SPAN_MIN {
        return span;
    }
    let by_partitions = (partitions.max(1) as f64 / table.partitions.max(1) as f64).min(1.0);
    span.max(by_partitions)
}

/// What a strategy knows of the table and the moment.
#[derive(Debug, Clone, Default)]
pub struct TableFacts {
    /// Seconds since 1970.
    pub now: u64,
    /// The table's `gc_grace_seconds`.
    pub gc_grace_seconds: u64,
    /// About how many partitions the table has.
    pub partitions: u64,
    /// How long its flushed files are, about, bytes; 0: not known.
    pub flush_bytes: u64,
    /// Whether it is to be looked for expired files.
    pub checks_expired: bool,
    /// Behind this token the next file of a level is taken: for each level what was compacted last.
    pub compacted_up_to: Vec<Option<Token>>,
    /// The most inputs, where the disk is nearly full.
    pub inputs_max: usize,
}

impl TableFacts {
    /// What was deleted or expired before this second may be purged.
    pub fn gc_before(&self) -> u64 {
        self.now.saturating_sub(self.gc_grace_seconds)
    }
}

/// How outputs are cut, always at a partition's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Not at all.
    Never,
    /// When one has so many bytes before compression.
    AtBytes(u64),
    /// At so many even parts of the ring.
    AtParts(u32),
}

/// Why something is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// There are many of about one size.
    Size,
    /// A level has more than it may.
    Level(u32),
    /// They are of one window of time.
    Window,
    /// So many overlap.
    Overlap(u32),
    /// One has many tombstones.
    Tombstones,
    /// All in it is over.
    Expired,
    /// It was asked for.
    Request,
}

/// What is to be compacted. Files are named by their places in the list of descriptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Those that are merged, ascending.
    pub inputs: Vec<usize>,
    /// Those that go without being read, ascending.
    pub expired: Vec<usize>,
    /// How the outputs are cut.
    pub cut: Cut,
    /// The outputs' level.
    pub level: u32,
    /// What for.
    pub why: Why,
}

impl Task {
    fn new(mut inputs: Vec<usize>, cut: Cut, level: u32, why: Why) -> Task {
        inputs.sort_unstable();
        Task { inputs, expired: Vec::new(), cut, level, why }
    }
}

/// What is to be compacted next, if anything.
pub fn choose(options: &CompactionOptions, files: &[FileDescription], table: &TableFacts) -> Option<Task> {
    let may_expire = matches!(options.strategy, Strategy::TimeWindow(_) | Strategy::Unified(_));
    let mut expired = if may_expire && table.checks_expired { expired(files, table) } else { Vec::new() };
    expired.truncate(INPUTS_MAX);
    // Those that go anyway are not compacted.
    let kept: Vec<usize> = (0..files.len()).filter(|file| !expired.contains(file)).collect();
    let task = match &options.strategy {
        Strategy::SizeTiered(strategy) => strategy.choose(files, &kept, table),
        Strategy::Leveled(strategy) => strategy.choose(files, &kept, table),
        Strategy::TimeWindow(strategy) => strategy.choose(files, &kept, table),
        Strategy::Unified(strategy) => strategy.choose(files, &kept, table),
    };
    if !expired.is_empty() {
        // By themselves: it takes no time, and what is compacted next has more room for it.
        return Some(Task { inputs: Vec::new(), expired, cut: Cut::Never, level: 0, why: Why::Expired });
    }
    task.or_else(|| options.for_tombstones(files, &kept, table))
}

/// What is compacted when a person asks for all of it; the files that are left need another round.
pub fn choose_all(options: &CompactionOptions, files: &[FileDescription], table: &TableFacts) -> Option<Task> {
    let mut inputs: Vec<usize> = (0..files.len()).collect();
    if inputs.is_empty() {
        return None;
    }
    // Of too many the smallest first: what they come to is an input of the next round.
    inputs.sort_by_key(|file| (files[*file].bytes, *file));
    inputs.truncate(INPUTS_MAX.min(table.inputs_max));
    let is_last = inputs.len() == files.len();
    let (cut, level) = match &options.strategy {
        _ if !is_last => (Cut::Never, 0),
        Strategy::SizeTiered(_) | Strategy::TimeWindow(_) => (Cut::Never, 0),
        Strategy::Leveled(strategy) => strategy.of_all(files, &inputs),
        Strategy::Unified(strategy) => (strategy.cut(files, &inputs, table), 0),
    };
    Some(Task::new(inputs, cut, level, Why::Request))
}

/// The files of which all is over, and that hide nothing that is not.
pub fn expired(files: &[FileDescription], table: &TableFacts) -> Vec<usize> {
    let gc_before = table.gc_before();
    let mut candidates: Vec<usize> = (0..files.len()).filter(|file| is_over(&files[*file], gc_before)).collect();
    // One that has to stay may have something that a newer one hides: so the newest are looked at first, and what stays counts
    // for all that follow.
    candidates.sort_by_key(|file| (std::cmp::Reverse(files[*file].timestamps.1), *file));
    let mut staying: Vec<usize> = (0..files.len()).filter(|file| !candidates.contains(file)).collect();
    loop {
        let hides = |file: &usize| {
            let (candidate, mut overlapping) = (&files[*file], staying.iter().map(|staying| &files[*staying]));
            overlapping.any(|other| other.overlaps(candidate) && other.timestamps.0 <= candidate.timestamps.1)
        };
        let Some(place) = candidates.iter().position(hides) else { break };
        staying.push(candidates.remove(place));
    }
    candidates.sort_unstable();
    candidates
}

fn is_over(file: &FileDescription, gc_before: u64) -> bool {
    file.local_deletion_time_max.is_some_and(|second| u64::from(second) < gc_before)
}

/// As many of the files as may be inputs of one task.
fn limited(mut inputs: Vec<usize>, table: &TableFacts) -> Vec<usize> {
    inputs.truncate(INPUTS_MAX.min(table.inputs_max));
    inputs
}

#[cfg(test)]
mod tests;
