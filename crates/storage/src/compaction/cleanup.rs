//! Cleanup: a table's partitions whose tokens lie outside of the ranges that a node keeps are dropped.
//!
//! Goal: a file is read only where it has tokens of both, and of such a file the ranges that are kept. Each step is one compaction, so a crash at any point leaves
//! a file as it was or without what was dropped. Rejected: to hold the turn of compactions from the first file to the last, and to read each file whole through a filter.
//!
//! The files that one step takes and the ranges that it keeps are looked at in one call. What an operation brings to the shard comes after it was installed, so it is
//! in no file that a step takes by the ranges kept before. See `docs/internals/compaction.md`.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use schema::{Table, TableId};
use sstable::Descriptor;
use topology::{Token, TokenRanges};

use crate::compaction::compactor::Job;
use crate::compaction::strategy::{CompactionOptions, Cut, INPUTS_MAX, Task, Why};
use crate::compaction::task::{CompactionError, How};
use crate::error::FlushError;
use crate::manifest::Record;
use crate::options::ReplayPosition;
use crate::shard::Shard;
use crate::sstable::Sstable;
use crate::tables::LiveFile;

/// The rest between two looks at large writes under way.
const MERGE_REST: Duration = Duration::from_millis(1);
/// The rest when a table's files changed under a step.
const CHANGED_REST: Duration = Duration::from_millis(10);

/// The outcome of a table's cleanup on one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cleaned {
    /// Files that were removed unread: no token of theirs is kept.
    pub removed: u64,
    /// Files that were rewritten without what is not kept.
    pub rewritten: u64,
}

/// A step of a cleanup.
enum Step {
    /// The files that have no kept token.
    Remove(Vec<usize>),
    /// A file that has kept tokens, and others.
    Rewrite(usize),
}

impl Step {
    fn places(&self) -> &[usize] {
        match self {
            Step::Remove(places) => places,
            Step::Rewrite(place) => std::slice::from_ref(place),
        }
    }
}

/// The files that were found to have no token but kept ones.
struct Clean {
    kept: Rc<TokenRanges>,
    files: BTreeSet<Descriptor>,
}

/// Drops the table's partitions whose tokens are not among the kept ones. `kept` is asked before each step, and gives the tokens that are kept at that moment.
///
/// When it returns, no live file has other tokens, and no start brings back what was written before the call. Writes of other tokens that come meanwhile are dropped
/// too if a flush takes them along. Snapshots stay. Where all tokens are kept, or the table is not there, nothing is done.
///
/// After an error what was dropped so far stays so, and a later cleanup does the rest.
pub async fn clean_up(
    shard: &Shard,
    table: TableId,
    kept: impl Fn() -> Rc<TokenRanges>,
) -> Result<Cleaned, CompactionError> {
    let mut all = Cleaned::default();
    let mut clean = Clean { kept: kept(), files: BTreeSet::new() };
    if clean.kept.is_all() {
        return Ok(all);
    }
    cover(shard, table).await?;
    loop {
        let turn = shard.compactor().turn.acquire().await;
        let Some((definition, files)) = shard.files_of(table) else { return Ok(all) };
        let now = kept();
        if *now != *clean.kept {
            clean = Clean { kept: now, files: BTreeSet::new() };
        }
        let Some(step) = next_step(shard, &files, &mut clean).await? else { return Ok(all) };
        if !are_covered(shard, table, step.places().iter().map(|place| &files[*place])) {
            // A flush since then, beside a large write.
            drop(turn);
            cover(shard, table).await?;
            continue;
        }
        match carry_out(shard, &definition, files, &step, &clean.kept).await? {
            true => match step {
                Step::Remove(places) => all.removed += places.len() as u64,
                Step::Rewrite(_) => all.rewritten += 1,
            },
            false => {
                drop(turn);
                shard.runtime().sleep(CHANGED_REST).await;
            }
        }
    }
}

/// Has all that was written to a table so far in files, and no start replay it. A flush beside a large write does not say so, nor is there one where memory has nothing.
async fn cover(shard: &Shard, table: TableId) -> Result<(), CompactionError> {
    let position = shard.log().position();
    let is_merging = || shard.engine_ref().merging.iter().any(|begun| begun.0 < position.sequence);
    while is_merging() {
        shard.runtime().sleep(MERGE_REST).await;
    }
    shard.wait_in_force().await?;
    shard.flush(table).await?;
    let is_known = shard.engine_ref().tables.get(table).is_some();
    if is_known && !is_covered_to(shard, table, &position) {
        stdx::sometimes!("log covered before a cleanup");
        shard.manifest().append(Record::Covered(table, position)).await?;
        shard.log().flushed(table, position);
    }
    Ok(())
}

fn is_covered_to(shard: &Shard, table: TableId, position: &ReplayPosition) -> bool {
    let place = |position: &ReplayPosition| (position.boot, position.sequence);
    let contents = shard.manifest().contents();
    contents.covered.get(&table).is_some_and(|covered| place(covered) >= place(position))
}

/// True if no start replays what is in the files. One that the manifest does not name is none that a step takes.
fn are_covered<'f>(shard: &Shard, table: TableId, mut files: impl Iterator<Item = &'f LiveFile>) -> bool {
    files.all(|file| {
        let end = {
            let contents = shard.manifest().contents();
            let live = contents
                .live
                .iter()
                .find(|live| live.name.table == table && live.name.descriptor == *file.sstable.descriptor());
            live.map(|live| live.end)
        };
        // Files of another shard count end where this log begins.
        end.is_none_or(|end| end.sequence == 0 || is_covered_to(shard, table, &end))
    })
}

/// The next step: files that have no kept token go first, which takes no room. Then those with both, the one with the oldest data first: what a tombstone hides should
/// go before the tombstone. None: all files are clean.
async fn next_step(shard: &Shard, files: &[LiveFile], clean: &mut Clean) -> Result<Option<Step>, CompactionError> {
    let kept = Rc::clone(&clean.kept);
    let is_outside = |place: &usize| !kept.meets(files[*place].sstable.token_range());
    let outside: Vec<usize> = (0..files.len()).filter(is_outside).take(INPUTS_MAX).collect();
    if !outside.is_empty() {
        return Ok(Some(Step::Remove(outside)));
    }
    let mut places: Vec<usize> = (0..files.len()).collect();
    places.sort_by_key(|place| files[*place].sstable.timestamps().1);
    for place in places {
        let sstable = &files[place].sstable;
        if clean.files.contains(sstable.descriptor()) {
            continue;
        }
        if has_others(sstable, &kept).await? {
            return Ok(Some(Step::Rewrite(place)));
        }
        clean.files.insert(sstable.descriptor().clone());
        shard.runtime().maybe_yield().await;
    }
    Ok(None)
}

/// Carries out a step. False: a file of it is not live any more.
async fn carry_out(
    shard: &Shard,
    definition: &Rc<Table>,
    files: Vec<LiveFile>,
    step: &Step,
    kept: &TokenRanges,
) -> Result<bool, CompactionError> {
    let options = CompactionOptions::of(&definition.options.compaction);
    let (descriptions, _) = shard.describe(definition, &files);
    let (inputs, expired) = match step {
        Step::Remove(places) => (Vec::new(), places.clone()),
        Step::Rewrite(place) => (vec![*place], Vec::new()),
    };
    let level = inputs.first().map_or(0, |place| descriptions[*place].level);
    let task = Task { inputs, expired, cut: Cut::Never, level, why: Why::Request };
    let only_repaired = options.common.only_purge_repaired;
    let done = shard.run_task(definition, &files, &task, only_repaired, How::Clean(kept)).await?;
    let Some(done) = done else { return Ok(false) };
    match step {
        Step::Remove(_) => stdx::sometimes!("file without kept tokens removed"),
        Step::Rewrite(_) => stdx::sometimes!("file rewritten without tokens that are not kept"),
    }
    shard.note(&Job { table: Rc::clone(definition), options, files, descriptions, task }, done);
    Ok(true)
}

/// True if a file has a token that is not among the kept ones, of whatever shard: all shards that name a shared file find the same, and release it.
async fn has_others(sstable: &Rc<Sstable>, kept: &TokenRanges) -> Result<bool, CompactionError> {
    let (first, last) = sstable.token_range();
    if kept.covers((first, last)) {
        return Ok(false);
    }
    if !kept.contains(first) || !kept.contains(last) {
        return Ok(true);
    }
    // Its first token is kept, so no gap that begins before it ends after it.
    for gap in kept.gaps().filter(|gap| gap.0 > first && gap.0 < last) {
        if sstable.next_token(Token(gap.0.0 - 1)).await?.is_some_and(|token| token <= gap.1) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl From<FlushError> for CompactionError {
    fn from(error: FlushError) -> Self {
        CompactionError::Flush(error)
    }
}
