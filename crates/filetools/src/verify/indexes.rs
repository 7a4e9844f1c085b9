//! The indexes beside the rows: each must lead to every partition and every block, in order.

use mutation::{ClusteringRef, Deletion};
use runtime::Runtime;
use schema::Table;
use sstable::big::{Entry, Index, Summary};
use sstable::bti::{Partition, PartitionCursor, PartitionIndex, RowIndex};
use sstable::byte_comparable::{self, Place};
use sstable::{Block, Blocks, Component, Format};
use topology::token_of;

use crate::error::ToolError;
use crate::files::Files;
use crate::pages::PagedFile;
use crate::verify::rows::Walk;

/// The indexes of one SSTable, and how far they were followed.
pub(super) struct Indexes<'i> {
    table: &'i Table,
    kind: Kind,
    /// Blocks of the partition that were not come by, and where it begins.
    blocks: Option<Blocks>,
    next_block: Option<Block>,
    partition_at: u64,
}

enum Kind {
    Bti { partitions: PagedFile, rows: PagedFile, index: PartitionIndex, cursor: PartitionCursor },
    Big { file: PagedFile, index: Index, position: u64, summary: Option<Summary> },
}

impl<'i> Indexes<'i> {
    pub(super) async fn open(runtime: &Runtime, files: &Files, table: &'i Table) -> Result<Self, ToolError> {
        let kind = match files.descriptor.format() {
            Format::Bti => {
                let mut partitions = PagedFile::open(runtime, files, Component::Partitions).await?;
                let rows = PagedFile::open(runtime, files, Component::Rows).await?;
                let length = partitions.length;
                let index = partitions.look(|pages| PartitionIndex::open(pages, length)).await?;
                let cursor = index.start();
                Kind::Bti { partitions, rows, index, cursor }
            }
            Format::Big => {
                let file = PagedFile::open(runtime, files, Component::Index).await?;
                let index = Index { length: file.length, version: files.descriptor.version };
                let summary = match files.has(Component::Summary).await? {
                    true => {
                        let summary = Summary::decode(files.read(Component::Summary).await?);
                        Some(summary.map_err(ToolError::corrupt(&files.path(Component::Summary)))?)
                    }
                    false => None,
                };
                Kind::Big { file, index, position: 0, summary }
            }
        };
        Ok(Indexes { table, kind, blocks: None, next_block: None, partition_at: 0 })
    }

    /// A partition begins at `position` of the data.
    pub(super) async fn partition(
        &mut self,
        key: &[u8],
        position: u64,
        deletion: Option<Deletion>,
    ) -> Result<(), ToolError> {
        self.partition_at = position;
        let [start, end] = [Place::Before, Place::After].map(|place| {
            let mut form = Vec::new();
            byte_comparable::clustering(&[], ClusteringRef::EMPTY, place, &mut form);
            form
        });
        let key_text = || format!("the key 0x{}", crate::text::hex(key));
        match &mut self.kind {
            Kind::Bti { partitions, rows, cursor, .. } => {
                let found = partitions.look(|pages| cursor.clone().next(pages)).await?;
                // A second time, now that the pages are there: a cursor moves only when it succeeds.
                partitions.look(|pages| cursor.next(pages)).await?;
                match found {
                    Some(Partition::Data(at)) if at == position => {}
                    Some(Partition::Rows(entry)) => {
                        let mut found_key = Vec::new();
                        let index = rows.look(|pages| RowIndex::open(pages, entry, &mut found_key)).await?;
                        if found_key != key || index.data_position != position || index.deletion != deletion {
                            return Err(rows.wrong(entry, format!("expected the entry of {}", key_text())));
                        }
                        self.blocks = Some(rows.look(|pages| index.blocks(pages, &start, &end)).await?);
                    }
                    _ => {
                        let what = format!("points to {found:?} for {}, which is at {position}", key_text());
                        return Err(partitions.wrong(0, what));
                    }
                }
            }
            Kind::Big { file, index, position: at, summary } => {
                let mut found_key = Vec::new();
                let entry = file.look(|pages| index.entry(pages, *at, &mut found_key)).await?;
                let Some(entry) = entry.filter(|entry| found_key == key && entry.data_position == position) else {
                    return Err(file.wrong(*at, format!("expected the entry of {}", key_text())));
                };
                if let Some(summary) = summary {
                    let from = summary.seek(token_of(key), key);
                    let found = file.look(|pages| index.find(pages, from, token_of(key), key)).await?;
                    if found.map(|entry: Entry| entry.data_position) != Some(position) {
                        return Err(file.wrong(from, format!("Summary.db does not point to {}", key_text())));
                    }
                }
                *at = entry.next;
                if entry.block_count > 0 {
                    let columns = self.table.clustering();
                    let blocks = file.look(|pages| index.blocks(pages, &entry, columns, &start, &end)).await?;
                    self.blocks = Some(blocks);
                }
            }
        }
        self.advance().await
    }

    /// A row or a marker begins at `position` of the data, where that range deletion holds.
    pub(super) async fn inside(&mut self, position: u64, open: Option<Deletion>) -> Result<(), ToolError> {
        let offset = position - self.partition_at;
        let Some(block) = self.next_block.filter(|block| block.begins <= offset) else { return Ok(()) };
        if block.begins < offset || block.open != open {
            let what = format!("block {block:?} does not begin at the row at byte {offset} of its partition");
            return Err(self.blocks_file().wrong(0, what));
        }
        self.advance().await
    }

    /// The partition ends.
    pub(super) async fn partition_end(&mut self) -> Result<(), ToolError> {
        self.blocks = None;
        match self.next_block.take() {
            Some(block) => Err(self.blocks_file().wrong(0, format!("block {block:?} is not in the partition"))),
            None => Ok(()),
        }
    }

    /// The data ends: so must the indexes.
    pub(super) async fn end(&mut self, walk: &Walk<'_>) -> Result<(), ToolError> {
        match &mut self.kind {
            Kind::Bti { partitions, index, cursor, .. } => {
                if let Some(place) = partitions.look(|pages| cursor.next(pages)).await? {
                    return Err(partitions.wrong(0, format!("points to {place:?}, after the last partition")));
                }
                let last = walk.last_key.as_ref().map(|(_, key)| key);
                let is_same = (Some(&index.first_key), Some(&index.last_key)) == (walk.first_key.as_ref(), last);
                if !is_same || index.count != walk.counts.partitions {
                    return Err(partitions.wrong(0, "first key, last key or count does not match"));
                }
            }
            Kind::Big { file, position, .. } => {
                if *position != file.length {
                    return Err(file.wrong(*position, "extra entry after the last partition"));
                }
            }
        }
        Ok(())
    }

    async fn advance(&mut self) -> Result<(), ToolError> {
        let Some(blocks) = &mut self.blocks else { return Ok(()) };
        let file = match &mut self.kind {
            Kind::Bti { rows, .. } => rows,
            Kind::Big { file, .. } => file,
        };
        self.next_block = file.look(|pages| blocks.next(pages)).await?;
        Ok(())
    }

    fn blocks_file(&self) -> &PagedFile {
        match &self.kind {
            Kind::Bti { rows, .. } => rows,
            Kind::Big { file, .. } => file,
        }
    }
}
