//! A shard's start: its log is read back into memtables, and what other shard counts left is made its own.
//!
//! What the manifests say of files is in [`files`].

mod files;
mod foreign_files;
mod list;
mod lost_manifests;
mod refresh;
mod sets;
mod survey;
mod upload;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mutation::MutationRef;
use planted::{Bug, Planted};
use runtime::Runtime;
use schema::TableId;
use topology::Sharder;

use crate::batch_head::BatchHead;
use crate::batchlog::{BatchId, UnfinishedBatch};
use crate::commitlog::{
    self, FoundSegment, LedgerEntry, ListedSegment, RecordKind, SegmentHead, SegmentList, SegmentStream, io_error,
};
use crate::error::{ApplyError, OpenError};
use crate::options::{ReplayPosition, StorageOptions, Truncations};
use crate::shard::{Engine, Shard};

pub(crate) use files::{CoveredElsewhere, FoundFiles};
pub use foreign_files::{OtherReplicas, find_files_at_start};
pub use lost_manifests::{DoubtfulManifests, doubt_manifests};
pub use refresh::FilesToTakeIn;
pub use survey::{find_data, last_boot_in_data, shards_in_data};

/// Records between two looks at the clock.
const RECORDS_PER_LOOK: usize = 32;

/// The segments found at a start.
pub(crate) struct Found {
    /// Those of this shard, by boot.
    own: Vec<Vec<FoundSegment>>,
    /// Those of other shard counts, of all shards.
    foreign: Vec<Vec<FoundSegment>>,
    /// Above all ids in this shard's folder.
    pub next_segment: u64,
}

impl Found {
    /// Looks through the folders of all shards. Gives the list of what must be in this shard's own as well.
    pub async fn look(
        runtime: &Runtime,
        options: &StorageOptions,
        sharder: Sharder,
    ) -> Result<(Found, SegmentList), OpenError> {
        let shard = runtime.shard().0;
        let own_folder = commitlog::shard_folder(&options.dir, shard);
        make_folder(runtime, &options.dir, &own_folder, options.planted).await?;
        let found = commitlog::find_segments(runtime, options, sharder.shards).await?;
        let in_own_folder = found.iter().filter(|segment| segment.folder_shard == shard);
        let list = SegmentList::open(runtime, &options.dir, shard).await?;
        let listed = list.listed().unwrap_or_default().segments;
        let ids = in_own_folder.map(|segment| segment.head.segment).chain(listed.iter().map(|listed| listed.segment));
        let next_segment = ids.max().map_or(1, |last| last + 1);
        // Other shards may be writing to their folders already.
        for segment in found.iter().filter(|segment| segment.folder_shard == shard) {
            if segment.head.boot >= options.boot {
                let what = format!(
                    "the segment is of boot {}, not before the current boot {}",
                    segment.head.boot, options.boot
                );
                return Err(OpenError::Corrupt { path: segment.path.clone(), offset: 0, what });
            }
        }
        // What is salvaged is logged anew, as what another shard count left is.
        let is_salvaged = |head: &SegmentHead| options.salvage && head.boot < options.boot;
        let is_foreign =
            |segment: &FoundSegment| segment.head.shard_count != sharder.shards || is_salvaged(&segment.head);
        let (foreign, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_foreign);
        let own = others.into_iter().filter(|segment| segment.folder_shard == shard).collect();
        let found = Found { own: commitlog::streams(own), foreign: commitlog::streams(foreign), next_segment };
        Ok((found, list))
    }

    /// The segments of other shard counts in this shard's folder, as a list of what must be there names them.
    fn kept(&self, shard: u16) -> Vec<ListedSegment> {
        let in_own_folder = self.foreign.iter().flatten().filter(|segment| segment.folder_shard == shard);
        let listed = in_own_folder.map(|found| {
            let SegmentHead { segment, boot, .. } = found.head;
            found.listed.unwrap_or(ListedSegment { segment, boot, start: None, bytes: 0, is_cut: false })
        });
        listed.collect()
    }

    /// The segments of other shard counts.
    pub fn into_foreign(self) -> Vec<FoundSegment> {
        self.foreign.into_iter().flatten().collect()
    }
}

/// Makes a shard's folder and makes its name durable: segments whose folder a power cut forgets are gone with it.
async fn make_folder(runtime: &Runtime, data: &Path, folder: &Path, planted: Planted) -> Result<(), OpenError> {
    runtime.create_dir_all(folder).await.map_err(io_error(folder))?;
    if planted.is(Bug::ShardFolderNotSynced) {
        return Ok(());
    }
    for parent in folder.ancestors().skip(1).take_while(|parent| parent.starts_with(data)) {
        runtime.sync_dir(parent).await.map_err(io_error(parent))?;
    }
    Ok(())
}

impl Shard {
    /// Reads back this shard's own segments, which stay what they are.
    pub(crate) async fn replay_own(&self, found: &Found, truncations: &Truncations) -> Result<(), OpenError> {
        let mut batches = FoundBatches::default();
        let mut streams = Vec::new();
        for segments in &found.own {
            let mut entries: Vec<LedgerEntry> = segments.iter().map(ledger_entry).collect();
            let mut stream = SegmentStream::new(self.runtime(), segments, self.options());
            while let Some(group) = stream.next().await? {
                let segment = group.segment;
                self.log().note_end(segment.head.boot, group.end);
                let index = segments.iter().position(|other| other.head.segment == segment.head.segment);
                let entry = &mut entries[index.expect("a group's segment is one of the stream's")];
                for (index, record) in group.records().enumerate() {
                    let (sequence, record) = record.expect("the stream has checked the group");
                    match batches.take(self, segment, sequence, record, truncations)? {
                        Some(BatchRecord::Begun(id)) => _ = entry.begun.insert(id),
                        Some(BatchRecord::Done(id)) => _ = entry.done.insert(id),
                        None => {}
                    }
                    if commitlog::kind_of(record) != RecordKind::Mutations {
                        continue;
                    }
                    // A record may have tens of thousands of mutations.
                    for (place, mutation) in commitlog::mutations(record).enumerate() {
                        if let Some(table) = self.replay_mutation(segment, sequence, mutation, truncations)? {
                            entry.tables.insert(table, group.end);
                        }
                        if (index + place + 1) % RECORDS_PER_LOOK == 0 {
                            self.runtime().maybe_yield().await;
                        }
                    }
                }
            }
            for (mut entry, end) in entries.into_iter().zip(stream.ends()) {
                (entry.bytes, entry.is_cut) = (end, true);
                self.log().add_old(entry);
            }
            streams.push(stream);
        }
        self.log().keep_listed(found.kept(self.runtime().shard().0));
        // Synced first, as the list is to say that all that was read is there; cut last, as it must not ask for more than there is.
        for stream in &streams {
            stream.sync().await?;
        }
        if self.log().update_list().await.is_ok() {
            for stream in &streams {
                stream.cut().await?;
            }
        }
        let is_forgotten = self.planted().is(Bug::UnfinishedBatchForgotten);
        for batch in batches.unfinished().filter(|_| !is_forgotten) {
            self.unfinished().find(batch);
        }
        Ok(())
    }

    /// Applies a record's mutation if it counts. Gives its table then.
    fn replay_mutation(
        &self,
        segment: &FoundSegment,
        sequence: u64,
        mutation: Option<&[u8]>,
        truncations: &Truncations,
    ) -> Result<Option<TableId>, OpenError> {
        let mutation = decode(segment, sequence, mutation)?;
        if !is_wanted(segment, sequence, mutation.table(), truncations, self.planted()) {
            stdx::sometimes!("truncated record left out");
            return Ok(None);
        }
        let covered = self.manifest().contents().covered.get(&mutation.table()).copied();
        if covered.is_some_and(|covered| is_covered(segment, sequence, &covered)) {
            stdx::sometimes!("record in a file left out");
            return Ok(None);
        }
        stdx::sometimes!("replay");
        match self.engine().replay(&mutation) {
            Ok(is_known) => Ok(is_known.then(|| mutation.table())),
            Err(what) => Err(corrupt(segment, sequence, what.to_owned())),
        }
    }

    /// Reads the segments of other shard counts, and makes what this shard owns now a part of its own log. Gives the paths of
    /// those that are damaged, where that is no error.
    pub(crate) async fn adopt_foreign(
        &self,
        found: &Found,
        sharder: Sharder,
        truncations: &Truncations,
        covered: &CoveredElsewhere,
    ) -> Result<Vec<PathBuf>, OpenError> {
        let planted = self.planted();
        let salvage = self.options().salvage;
        let mut damaged = Vec::new();
        // What was logged on a shard of other numbers is this shard's to deliver, if the numbers say so.
        let (shard, shards) = (self.runtime().shard().0, sharder.shards);
        let mut batches: BTreeMap<u16, FoundBatches> = BTreeMap::new();
        for segments in &found.foreign {
            let mut stream = SegmentStream::new(self.runtime(), segments, self.options());
            while let Some(group) = stream.next().await? {
                let segment = group.segment;
                if segment.folder_shard == shard {
                    self.log().note_end(segment.head.boot, group.end);
                }
                for (index, record) in group.records().enumerate() {
                    let (sequence, record) = match record {
                        Ok(record) => record,
                        Err(_) if salvage => continue,
                        Err(bad) => panic!("the stream has checked the group: {}", bad.what),
                    };
                    let of_folder = batches.entry(segment.folder_shard).or_default();
                    if of_folder.take(self, segment, sequence, record, truncations)?.is_some() {
                        continue;
                    }
                    let mut mine = Vec::new();
                    for mutation in commitlog::mutations(record) {
                        let mutation = decode(segment, sequence, mutation)?;
                        let sharder = match planted.is(Bug::ReplayToFormerOwner) {
                            true => Sharder::new(segment.head.shard_count),
                            false => sharder,
                        };
                        let is_mine = sharder.shard_of(mutation.token()) == self.runtime().shard().0;
                        let is_known = self.engine().tables.get(mutation.table()).is_some();
                        let is_covered = covered.of(&segment.head, mutation.table());
                        let is_covered = is_covered.is_some_and(|covered| self::is_covered(segment, sequence, covered));
                        let is_wanted = is_wanted(segment, sequence, mutation.table(), truncations, planted);
                        if is_mine && is_known && is_wanted && !is_covered {
                            stdx::sometimes!("reshard");
                            mine.push(mutation.bytes());
                        }
                    }
                    self.adopt(segment, sequence, &mine).await?;
                    if index % RECORDS_PER_LOOK == 0 {
                        self.runtime().maybe_yield().await;
                    }
                }
            }
            damaged.extend(stream.damaged().map(|segment| segment.path.clone()));
        }
        let mine = batches.into_iter().filter(|(folder, _)| folder % shards == shard);
        for batch in mine.flat_map(|(_, batches)| batches.unfinished()) {
            self.adopt_batch(batch).await?;
        }
        if planted.is(Bug::RetiredBeforeSynced) {
            return Ok(damaged);
        }
        let appended = self.log().appended();
        self.wait_synced(appended).await.map_err(|error| {
            OpenError::Options(format!("cannot replay the commit log of another shard count: {error}"))
        })?;
        Ok(damaged)
    }

    /// Logs a batch of another shard count as if it were new.
    async fn adopt_batch(&self, UnfinishedBatch { id, head, mutations }: UnfinishedBatch) -> Result<(), OpenError> {
        let slices: Vec<&[u8]> = mutations.iter().map(Vec::as_slice).collect();
        let id = loop {
            match self.append_batch_record(&head, &slices) {
                Ok((id, _)) => break id,
                Err(ApplyError::LogBusy) => self.room().await,
                // The old segments are still there: the next start does it again.
                Err(error) => {
                    let BatchId { boot, sequence } = id;
                    let what = format!("cannot replay the batch logged at sequence {sequence} of boot {boot}: {error}");
                    return Err(OpenError::Options(what));
                }
            }
        };
        self.unfinished().find_again(UnfinishedBatch { id, head, mutations });
        Ok(())
    }

    /// Applies one record's mutations as if they were new.
    async fn adopt(&self, segment: &FoundSegment, sequence: u64, mutations: &[&[u8]]) -> Result<(), OpenError> {
        if mutations.is_empty() {
            return Ok(());
        }
        loop {
            let is_small = crate::is_small(mutations.len(), mutations.iter().map(|mutation| mutation.len()).sum());
            let applied = match is_small {
                true => self.adopt_mutations(mutations),
                false => self.adopt_in_steps(mutations).await,
            };
            match applied {
                Ok(_) => return Ok(()),
                Err(ApplyError::LogBusy) => self.room().await,
                // The old segments are still there: the next start, with more room, does it again.
                Err(error @ (ApplyError::DiskFull | ApplyError::Poisoned)) => {
                    let what = format!("cannot replay the commit log of another shard count: {error}");
                    return Err(OpenError::Options(what));
                }
                // It is sound, and segments were larger when it was written.
                Err(error @ ApplyError::TooLarge { .. }) => {
                    let what = format!(
                        "cannot replay a record of another shard count: {error}; restore the earlier commitlog_segment_size"
                    );
                    return Err(OpenError::Options(what));
                }
                Err(error) => return Err(corrupt(segment, sequence, error.to_string())),
            }
        }
    }
}

impl Engine {
    /// Merges a mutation read from the log. The budget does not count: what was acknowledged is kept, and new writes
    /// are refused until there is room again. False if the table is gone.
    fn replay(&mut self, mutation: &MutationRef<'_>) -> Result<bool, &'static str> {
        let Engine { tables, pool, scratch, .. } = self;
        let Some(table) = tables.get_mut(mutation.table()) else { return Ok(false) };
        table.memtable.shape().check(mutation)?;
        table.memtable.apply(pool, scratch, mutation);
        self.counts.replayed += 1;
        Ok(true)
    }
}

/// A record about a logged batch.
enum BatchRecord {
    Begun(BatchId),
    Done(BatchId),
}

/// The logged batches of one shard's log, as it is read.
#[derive(Default)]
struct FoundBatches {
    batches: BTreeMap<BatchId, (BatchHead, Vec<Vec<u8>>)>,
}

impl FoundBatches {
    /// Takes the record if it is about a batch.
    fn take(
        &mut self,
        shard: &Shard,
        segment: &FoundSegment,
        sequence: u64,
        record: &[u8],
        truncations: &Truncations,
    ) -> Result<Option<BatchRecord>, OpenError> {
        match commitlog::kind_of(record) {
            RecordKind::Mutations => Ok(None),
            RecordKind::BatchDone { boot, sequence } => {
                let id = BatchId { boot, sequence };
                self.batches.remove(&id);
                Ok(Some(BatchRecord::Done(id)))
            }
            RecordKind::LoggedBatch(head) => {
                let mut mutations = Vec::new();
                for mutation in commitlog::mutations(record) {
                    let mutation = decode(segment, sequence, mutation)?;
                    let is_known = shard.engine().tables.get(mutation.table()).is_some();
                    if is_known && is_wanted(segment, sequence, mutation.table(), truncations, shard.planted()) {
                        mutations.push(mutation.bytes().to_vec());
                    }
                }
                let id = BatchId { boot: segment.head.boot, sequence };
                // A record without a head is of a program that knew no age: it is as old as this start.
                let without_head = || BatchHead { created: shard.runtime().wall_clock_micros(), copy_of: None };
                self.batches.insert(id, (head.unwrap_or_else(without_head), mutations));
                Ok(Some(BatchRecord::Begun(id)))
            }
        }
    }

    fn unfinished(self) -> impl Iterator<Item = UnfinishedBatch> {
        self.batches.into_iter().map(|(id, (head, mutations))| UnfinishedBatch { id, head, mutations })
    }
}

fn ledger_entry(segment: &FoundSegment) -> LedgerEntry {
    let (head, start) = (segment.head, segment.listed.and_then(|listed| listed.start));
    LedgerEntry { segment: head.segment, boot: head.boot, start, is_sealed: true, ..LedgerEntry::default() }
}

/// Whether no truncation of the table came after the record. Positions speak of one shard; a later boot's is after all
/// of an earlier one's.
fn is_wanted(
    segment: &FoundSegment,
    sequence: u64,
    table: TableId,
    truncations: &Truncations,
    planted: Planted,
) -> bool {
    if planted.is(Bug::TruncationIgnored) {
        return true;
    }
    let head = &segment.head;
    let positions = truncations.get(&table).map_or(&[][..], Vec::as_slice);
    let is_of_shard = |at: &&ReplayPosition| at.shard == head.shard || planted.is(Bug::PositionsComparedAcrossShards);
    !positions.iter().filter(is_of_shard).any(|at| (head.boot, sequence) < (at.boot, at.sequence))
}

/// Whether the record is in a file: it lies before the place up to which its table's records of this log are.
fn is_covered(segment: &FoundSegment, sequence: u64, covered: &ReplayPosition) -> bool {
    (segment.head.boot, sequence) < (covered.boot, covered.sequence)
}

fn decode<'a>(segment: &FoundSegment, sequence: u64, mutation: Option<&'a [u8]>) -> Result<MutationRef<'a>, OpenError> {
    let Some(bytes) = mutation else {
        return Err(corrupt(segment, sequence, "no mutation".to_owned()));
    };
    MutationRef::decode(bytes).map_err(|error| corrupt(segment, sequence, error.to_string()))
}

fn corrupt(segment: &FoundSegment, sequence: u64, what: String) -> OpenError {
    let what = format!("cannot apply the record at sequence {sequence}: {what}");
    OpenError::Corrupt { path: segment.path.clone(), offset: 0, what }
}
