//! What the index knows of places in the data: where partitions begin, and the blocks of wide ones.
//!
//! It is asked where data could not be read, and may be damaged itself: what it says is taken up to the first page that is not as Helenus.db
//! says, or leads nowhere.

use mutation::{ClusteringRef, Deletion};
use sstable::bti::{Partition, PartitionIndex, RowIndex};
use sstable::byte_comparable::{self, Place};
use sstable::helenus_component::HelenusComponent;
use sstable::{Block, Component};

use crate::error::ToolError;
use crate::files::Files;
use crate::pages::PagedFile;
use crate::scrub::source::Damage;

/// A block of a wide partition that may be read.
pub(super) struct BlockBehind {
    /// The partition's key.
    pub(super) key: Vec<u8>,
    /// Its deletion.
    pub(super) deletion: Option<Deletion>,
    /// Where the block begins, from the partition's beginning.
    pub(super) begins: u64,
    /// The range deletion that holds there.
    pub(super) open: Option<Deletion>,
}

/// A partition's blocks.
struct Wide {
    begins: u64,
    key: Vec<u8>,
    deletion: Option<Deletion>,
    blocks: Vec<Block>,
}

/// All that the index knows.
pub(super) struct Starts {
    rows: Option<PagedFile>,
    /// Where partitions begin, ascending, and where Rows.db tells of their blocks.
    found: Vec<(u64, Option<u64>)>,
    is_whole: bool,
    /// The blocks that were asked for last.
    wide: Option<Wide>,
}

impl Starts {
    /// Reads Partitions.db, as far as it can be.
    pub(super) async fn load(files: &Files, own: Option<&HelenusComponent>) -> Starts {
        let sums = |component| own.and_then(|own| own.sum(component)).map(|sum| sum.pages.clone());
        let rows = PagedFile::open(&files.runtime, files, Component::Rows).await;
        let rows = rows.ok().map(|rows| rows.with_sums(sums(Component::Rows)));
        let mut starts = Starts { rows, found: Vec::new(), is_whole: false, wide: None };
        if let Ok(partitions) = PagedFile::open(&files.runtime, files, Component::Partitions).await {
            let walked = starts.walk(partitions.with_sums(sums(Component::Partitions))).await;
            starts.is_whole = walked.is_ok();
        }
        starts
    }

    async fn walk(&mut self, mut partitions: PagedFile) -> Result<(), ToolError> {
        let length = partitions.length;
        let index = partitions.look(|pages| PartitionIndex::open(pages, length)).await?;
        let mut cursor = index.start();
        while let Some(found) = partitions.look(|pages| cursor.next(pages)).await? {
            let start = match (found, &mut self.rows) {
                (Partition::Data(position), _) => (position, None),
                (Partition::Rows(entry), Some(rows)) => {
                    let mut key = Vec::new();
                    let opened = rows
                        .look(|pages| {
                            key.clear();
                            RowIndex::open(pages, entry, &mut key)
                        })
                        .await;
                    // Where this one begins is lost, and the next may be found all the same.
                    let Ok(opened) = opened else { continue };
                    (opened.data_position, Some(entry))
                }
                (Partition::Rows(_), None) => continue,
            };
            if self.found.last().is_some_and(|(before, _)| *before >= start.0) {
                return Err(partitions.wrong(0, "the entry points backwards"));
            }
            self.found.push(start);
        }
        Ok(())
    }

    /// Whether all of the index could be read.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Where the next partition behind a place begins.
    pub(super) fn behind(&self, position: u64) -> Option<u64> {
        let place = self.found.partition_point(|(begins, _)| *begins <= position);
        self.found.get(place).map(|(begins, _)| *begins)
    }

    /// The first block behind a damage of the partition that begins at `begins`, if it is known to have any.
    pub(super) async fn block_behind(&mut self, begins: u64, damage: &Damage) -> Option<BlockBehind> {
        if self.wide.as_ref().is_none_or(|wide| wide.begins != begins) {
            self.wide = Some(self.blocks_of(begins).await?);
        }
        let Wide { key, deletion, blocks, .. } = self.wide.as_ref()?;
        let is_behind = |block: &&Block| begins + block.begins >= damage.until && begins + block.begins > damage.at;
        let block = blocks.iter().find(is_behind)?;
        Some(BlockBehind { key: key.clone(), deletion: *deletion, begins: block.begins, open: block.open })
    }

    async fn blocks_of(&mut self, begins: u64) -> Option<Wide> {
        let place = self.found.binary_search_by_key(&begins, |(begins, _)| *begins).ok()?;
        let entry = self.found[place].1?;
        let rows = self.rows.as_mut()?;
        let mut key = Vec::new();
        let index = rows
            .look(|pages| {
                key.clear();
                RowIndex::open(pages, entry, &mut key)
            })
            .await
            .ok()?;
        let [start, end] = [Place::Before, Place::After].map(|place| {
            let mut form = Vec::new();
            byte_comparable::clustering(&[], ClusteringRef::EMPTY, place, &mut form);
            form
        });
        let mut left = rows.look(|pages| index.blocks(pages, &start, &end)).await.ok()?;
        let mut blocks = Vec::new();
        // Those before the first page that cannot be read are of use too.
        while let Ok(Some(block)) = rows.look(|pages| left.next(pages)).await {
            blocks.push(block);
        }
        Some(Wide { begins, key, deletion: index.deletion, blocks })
    }
}
