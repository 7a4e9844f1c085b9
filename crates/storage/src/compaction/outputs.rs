//! Where a compaction writes: one SSTable after the other, cut as the task says, each of them begun in the manifest before it is.

use std::path::PathBuf;
use std::rc::Rc;

use mutation::{ClusteringRef, Deletion, RowRef};
use planted::Bug;
use schema::Table;
use sstable::helenus_component::Origin;
use sstable::{Descriptor, Marker, Version};
use topology::Token;

use crate::compaction::merge::Sink;
use crate::compaction::strategy::{Cut, FILES_MAX};
use crate::compaction::task::CompactionError;
use crate::manifest::{FileName, LiveRecord, Record};
use crate::shard::Shard;
use crate::space::{self, DiskReservation};
use crate::sstable::{Estimates, SstableWriter, WriteError};
use crate::tables::Content;

/// What is written between two looks at what the disk has left, bytes.
const LOOK_BYTES: u64 = 16 << 20;

/// The outputs of one compaction.
pub struct Outputs {
    pub(super) shard: Shard,
    pub(super) table: Rc<Table>,
    /// The table's folder, below the data's and whole.
    pub(crate) folder: (String, PathBuf),
    pub(super) cut: Cut,
    /// The most there may be.
    pub(super) most: usize,
    pub(crate) estimates: Estimates,
    pub(super) origin: Origin,
    /// Those that are written.
    pub(crate) finished: Vec<FileName>,
    pub(super) current: Option<(FileName, SstableWriter)>,
    /// The one that is being created: something of it may be there.
    pub(super) beginning: Option<FileName>,
    /// True if they are a copy's: an operator who stops the compaction under way does not mean them.
    pub(super) is_copy: bool,
    /// The part of the ring that the current one is in.
    pub(super) part: u32,
    /// What of the current one was counted against the throughput.
    pub(super) counted: u64,
    /// Bytes of data written.
    pub(crate) bytes: u64,
    /// Partitions of one input, of two, of three and so on.
    pub(super) merged: Vec<u64>,
    /// How many they were when it was last looked at what the disk has left.
    pub(super) looked_at: u64,
    /// Whether anybody wants them still.
    pub(super) is_wanted: Box<dyn Fn() -> bool>,
}

impl Sink for Outputs {
    async fn partition(
        &mut self,
        token: Token,
        key: &[u8],
        deletion: Option<Deletion>,
        static_row: Option<RowRef<'_>>,
    ) -> Result<(), CompactionError> {
        let part = self.part_of(token);
        let is_full = self.current.as_ref().is_some_and(|(_, writer)| match self.cut {
            Cut::Never => false,
            Cut::AtBytes(bytes) => writer.data_bytes() >= bytes,
            Cut::AtParts(_) => part != self.part,
        });
        if is_full && self.finished.len() + 1 < self.most {
            stdx::sometimes!("output cut");
            self.finish().await?;
        }
        self.part = part;
        let writer = match &mut self.current {
            Some((_, writer)) => writer,
            None => self.begin().await?,
        };
        writer.partition(token, key, deletion, static_row);
        Ok(())
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        self.writer().row(clustering, row);
    }

    fn marker(&mut self, marker: &Marker<'_>) {
        self.writer().marker(marker);
    }

    /// At the pace that is allowed.
    async fn write_out(&mut self) -> Result<(), CompactionError> {
        let Some((_, writer)) = self.current.as_mut().filter(|(_, writer)| writer.is_due()) else { return Ok(()) };
        writer.write_out().await?;
        let written = writer.data_bytes() - self.counted;
        self.counted += written;
        self.bytes += written;
        if !(self.is_wanted)() {
            return Err(CompactionError::Unwanted);
        }
        let shard = &self.shard;
        if self.bytes >= self.looked_at + LOOK_BYTES {
            // Others take room too.
            self.looked_at = self.bytes;
            let (path, reserve) = (&self.folder.1, shard.options().disk_reserve);
            let room = space::require(shard.runtime(), path, reserve, DiskReservation::Compaction, 0).await;
            room.map_err(WriteError::io(path))?;
        }
        shard.compactor().throttle(shard.runtime(), written).await;
        Ok(())
    }

    async fn pause(&self) -> Result<(), CompactionError> {
        self.shard.runtime().maybe_yield().await;
        if self.is_copy { Ok(()) } else { self.shard.compactor().go_on() }
    }

    fn count_merged(&mut self, inputs: usize) {
        self.merged.resize(self.merged.len().max(inputs), 0);
        self.merged[inputs - 1] += 1;
    }
}

impl Outputs {
    /// Those of a copy that this shard receives, wanted as long as the table has this content.
    pub fn of_copy(
        shard: &Shard,
        table: &Rc<Table>,
        folder: (String, PathBuf),
        estimates: Estimates,
        content: Content,
    ) -> Outputs {
        let (id, wanted) = (table.id, shard.clone());
        let (host, own) = (shard.options().host.0, shard.runtime().shard().0);
        // No log has what is in it.
        let origin = Origin { host, shard_count: shard.sharder().shards, shard: own, log: Vec::new() };
        Outputs {
            shard: shard.clone(),
            table: table.clone(),
            folder,
            cut: Cut::Never,
            most: FILES_MAX,
            estimates,
            origin,
            finished: Vec::new(),
            current: None,
            beginning: None,
            is_copy: true,
            part: 0,
            counted: 0,
            bytes: 0,
            merged: Vec::new(),
            looked_at: 0,
            is_wanted: Box::new(move || {
                wanted.engine_ref().tables.get(id).is_some_and(|table| table.content == content)
            }),
        }
    }

    /// Which part of the ring a token is in.
    fn part_of(&self, token: Token) -> u32 {
        let Cut::AtParts(parts) = self.cut else { return 0 };
        let place = token.0.cast_unsigned() ^ (1 << 63);
        ((u128::from(place) * u128::from(parts)) >> 64) as u32
    }

    fn writer(&mut self) -> &mut SstableWriter {
        &mut self.current.as_mut().expect("a partition was begun").1
    }

    async fn begin(&mut self) -> Result<&mut SstableWriter, CompactionError> {
        let shard = &self.shard;
        let generation = shard.flusher().generations.next(shard.runtime());
        let descriptor = Descriptor { version: Version::DA, generation: generation.clone() };
        let name = FileName { table: self.table.id, folder: self.folder.0.clone(), descriptor };
        // Whoever gives up in between knows what to remove.
        self.beginning = Some(name.clone());
        shard.manifest().append(Record::Begun(name.clone())).await?;
        let (estimates, origin) = (self.estimates.clone(), self.origin.clone());
        let created =
            SstableWriter::create(shard.runtime(), &self.folder.1, generation, &self.table, estimates, origin).await;
        match created {
            Ok(writer) => {
                self.beginning = None;
                self.counted = 0;
                Ok(&mut self.current.insert((name, writer)).1)
            }
            Err(error) => {
                shard.remove_leftovers(&name).await;
                self.beginning = None;
                Err(error.into())
            }
        }
    }

    /// Ends the current one.
    pub async fn finish(&mut self) -> Result<(), CompactionError> {
        let Some((name, writer)) = self.current.take() else { return Ok(()) };
        self.bytes += writer.data_bytes().saturating_sub(self.counted);
        // What is left of it after an error is known by this.
        self.finished.push(name.clone());
        if self.is_copy && self.shard.planted().is(Bug::UnitListedUnsynced) {
            let end = crate::write_start(&self.shard).expect("the log takes records");
            let live = LiveRecord { name, is_shared: false, end, covered: None };
            self.shard.manifest().append(Record::Live(live)).await?;
        }
        writer.finish().await?;
        Ok(())
    }

    /// Removes all that was written.
    pub async fn give_up(mut self) {
        self.finished.extend(self.beginning.take());
        if let Some((name, writer)) = self.current.take() {
            writer.abandon().await;
            self.finished.push(name);
        }
        self.remove_finished().await;
    }

    /// Removes those that are written.
    pub async fn remove_finished(&self) {
        for name in &self.finished {
            self.shard.remove_leftovers(name).await;
        }
    }
}
