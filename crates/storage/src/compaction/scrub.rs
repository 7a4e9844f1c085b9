//! A table's files read through, each alone; one that is damaged is written anew with what can be read of it, while the node runs.
//!
//! Of a partition that is read in part the items before the damage are kept; those of partitions without any damage as they are: nothing is purged.
//! What is sound stays, whatever its age. Blocks of a wide partition behind a damage are not looked for: `helenus sstable scrub`, which works on the
//! files of a node that does not run, does that, and reads files that cannot be opened.

use std::cell::{Cell, RefCell};

use mutation::{ClusteringRef, Deletion, RowRef};
use schema::TableId;
use sstable::Marker;
use topology::Token;

use crate::compaction::compactor::Job;
use crate::compaction::merge::Sink;
use crate::compaction::outputs::Outputs;
use crate::compaction::strategy::{CompactionOptions, Cut, Task, Why};
use crate::compaction::task::{CompactionError, How};
use crate::shard::Shard;
use crate::sstable::{At, Salvage, Salvaged, Scan};
use crate::tables::LiveFile;

/// What is read ahead at a time, bytes.
const AHEAD_BYTES: usize = 1 << 20;
/// After so many items it is looked whether others want to run.
const ITEMS_PER_LOOK: usize = 8;

/// What came of scrubbing a table's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scrubbed {
    /// Files that were read through.
    pub files: u64,
    /// Those of them that were written anew.
    pub damaged: u64,
    /// Partitions of the damaged ones that are kept as they were.
    pub kept: u64,
    /// Partitions of which a part is kept.
    pub in_part: u64,
    /// Partitions that were there, by the index, and of which nothing could be read.
    pub lost: u64,
}

/// The scrub of one file.
#[derive(Default)]
pub(crate) struct Scrubbing {
    found: Cell<Scrubbed>,
    damage: RefCell<Option<String>>,
}

/// What a partition begins with.
struct Head {
    token: Token,
    key: Vec<u8>,
    deletion: Option<Deletion>,
    /// The static row's blob; empty if there is none.
    static_row: Vec<u8>,
}

/// The partition that is being copied.
#[derive(Default)]
struct Copied {
    is_open: bool,
    /// Its beginning, until there is something in it.
    head: Option<Head>,
    /// The range deletion that was written as open, and that holds behind the marker that was read last.
    written: Option<Deletion>,
    holds: Option<Deletion>,
    /// That marker, until what comes behind it was read: prefix and side.
    pending: Option<(Vec<u8>, bool)>,
    /// The clustering of the last row.
    clustering: Vec<u8>,
}

impl Scrubbing {
    /// Writes what can be read of the only input. If all can, there is nothing to exchange.
    pub(super) async fn write(
        &self,
        shard: &Shard,
        read: &[LiveFile],
        outputs: &mut Outputs,
    ) -> Result<(), CompactionError> {
        let [input] = read else { unreachable!("files are scrubbed one by one") };
        let mut salvage = Salvage::begin(&input.sstable, AHEAD_BYTES).await?;
        let mut found = Scrubbed { files: 1, ..Scrubbed::default() };
        let (mut copied, mut items) = (Copied::default(), 0usize);
        let (sharder, own) = (shard.sharder(), shard.runtime().shard().0);
        loop {
            if salvage.advance().await == Salvaged::Broken && copied.is_open {
                if copied.is_nothing() {
                    found.lost += 1;
                } else {
                    copied.begin(outputs).await?;
                    copied.close(outputs);
                    found.in_part += 1;
                }
            }
            let scan = &salvage.scan;
            match scan.at() {
                At::End => break,
                At::Partition => {
                    copied = Copied::default();
                    let (token, key) = scan.key();
                    // Partitions of a shared file that others own are theirs to scrub.
                    if !input.is_shared || sharder.shard_of(token) == own {
                        let (deletion, static_row) = scan.head();
                        let static_row = static_row.map_or_else(Vec::new, |row| row.bytes().to_vec());
                        copied.head = Some(Head { token, key: key.to_vec(), deletion, static_row });
                        copied.is_open = true;
                    }
                }
                At::PartitionEnd if copied.is_open => {
                    copied.begin(outputs).await?;
                    copied.close(outputs);
                    found.kept += 1;
                }
                At::Row | At::Marker if copied.is_open => {
                    copied.begin(outputs).await?;
                    copied.item(scan, outputs);
                }
                _ => {}
            }
            items += 1;
            if items.is_multiple_of(ITEMS_PER_LOOK) {
                outputs.pause().await?;
            }
            outputs.write_out().await?;
        }
        found.lost += salvage.lost;
        self.found.set(found);
        let Some(damage) = salvage.damage else { return Err(CompactionError::Unwanted) };
        self.damage.replace(Some(damage));
        outputs.finish().await
    }
}

impl Copied {
    /// Whether only its key was read.
    fn is_nothing(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.deletion.is_none() && head.static_row.is_empty())
    }

    /// Begins it in the output, if that is not done.
    async fn begin(&mut self, outputs: &mut Outputs) -> Result<(), CompactionError> {
        let Some(Head { token, key, deletion, static_row }) = self.head.take() else { return Ok(()) };
        let static_row = Some(&static_row).filter(|row| !row.is_empty()).map(|row| RowRef::trusted(row));
        outputs.partition(token, &key, deletion, static_row).await
    }

    fn item(&mut self, scan: &Scan, outputs: &mut Outputs) {
        self.write_marker(outputs);
        if scan.at() == At::Row {
            let (clustering, row) = scan.row();
            outputs.row(clustering, row);
            self.clustering.clear();
            self.clustering.extend_from_slice(clustering.bytes());
        } else {
            let marker = scan.marker();
            self.holds = marker.opens;
            self.pending = Some((marker.prefix.bytes().to_vec(), marker.after));
        }
    }

    fn write_marker(&mut self, outputs: &mut Outputs) {
        let Some((prefix, after)) = self.pending.take() else { return };
        let prefix = ClusteringRef::trusted(&prefix);
        outputs.marker(&Marker { prefix, after, closes: self.written, opens: self.holds });
        self.written = self.holds;
    }

    /// The partition ends. A range whose end could not be read ends where it is last known to hold.
    fn close(&mut self, outputs: &mut Outputs) {
        if self.written.is_some() {
            let (prefix, after) = self.pending.take().unwrap_or_else(|| (self.clustering.clone(), true));
            let prefix = ClusteringRef::trusted(&prefix);
            outputs.marker(&Marker { prefix, after, closes: self.written, opens: None });
        }
        *self = Copied::default();
    }
}

impl Shard {
    /// Reads each of the table's files that are live now through, and writes those anew that are damaged. A damaged one goes; whoever wants to keep it makes a
    /// snapshot before. A file that is compacted meanwhile is passed over.
    pub async fn scrub(&self, table: TableId) -> Result<Scrubbed, CompactionError> {
        let mut all = Scrubbed::default();
        let Some((_, files)) = self.files_of(table) else { return Ok(all) };
        for file in files {
            let _turn = self.compactor().turn.acquire().await;
            let Some((definition, files)) = self.files_of(table) else { return Ok(all) };
            let is_it = |other: &LiveFile| std::rc::Rc::ptr_eq(&other.sstable, &file.sstable);
            let Some(place) = files.iter().position(is_it) else { continue };
            let (descriptions, _) = self.describe(&definition, &files);
            let level = descriptions[place].level;
            let task = Task { inputs: vec![place], expired: Vec::new(), cut: Cut::Never, level, why: Why::Request };
            let scrubbing = Scrubbing::default();
            let done = self.run_task(&definition, &files, &task, false, How::Scrub(&scrubbing)).await?;
            let found = scrubbing.found.get();
            all.files += 1;
            if let Some(done) = done {
                stdx::sometimes!("damaged file scrubbed");
                let damage = scrubbing.damage.take().unwrap_or_default();
                tracing::warn!(
                    file = %file.sstable.descriptor(), table = %format!("{}.{}", definition.keyspace, definition.name),
                    damage, kept = found.kept, in_part = found.in_part, lost = found.lost,
                    "scrubbed damaged sstable; rewrote it from its readable rows"
                );
                all.damaged += 1;
                all.kept += found.kept;
                all.in_part += found.in_part;
                all.lost += found.lost;
                let options = CompactionOptions::of(&definition.options.compaction);
                self.note(&Job { table: definition, options, files, descriptions, task }, done);
            }
        }
        Ok(all)
    }
}
