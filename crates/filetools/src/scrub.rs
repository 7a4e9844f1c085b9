//! `helenus sstable scrub`: damaged SSTables of a folder are written anew with what can be read of them.
//!
//! ```text
//! verify   what is sound stays as it is
//! source   data as far as its chunks are as their checksums say: where it cannot be read, it says where it can again
//! starts   the index: where partitions begin, and the blocks of wide ones; it is asked only where data cannot be read
//! keeper   what was read, in order, into a new SSTable in a folder beside
//! place    the damaged one gets further names in a snapshot, then the new one takes its names
//! ```
//!
//! Nothing that can be read is lost: of a damaged partition the rows before the damage are kept, and, where the index knows blocks of it, those behind it. Nothing
//! is invented: what has no checksum that fits is not read. A deleted range whose end cannot be read ends where it is last known to hold.
//! An index is not trusted where Helenus.db says otherwise. Without Statistics.db's header, or without CompressionInfo.db, no row can be
//! read.

mod keeper;
mod place;
mod source;
mod starts;

use std::path::Path;
use std::rc::Rc;

use runtime::Runtime;
use schema::{Table, TableOptions};
use sstable::checksum::crc32;
use sstable::helenus_component::{ComponentSum, HelenusComponent, Origin};
use sstable::statistics::Statistics;
use sstable::{Component, Corrupt, Format, Generation, Header};
use storage::{Estimates, SstableWriter};

use crate::arguments::ScrubArguments;
use crate::data::Chunks;
use crate::error::ToolError;
use crate::files::{Files, table_with};
use crate::scrub::keeper::{Keeper, Kept};
use crate::scrub::place::Place;
use crate::scrub::source::{Damage, Source};
use crate::scrub::starts::Starts;
use crate::verify::{Sstables, sstables_at, verify};

/// Scrubs all SSTables of a folder, and prints a line for each; fails if any could not be saved at all.
pub(crate) async fn run(runtime: &Runtime, arguments: &ScrubArguments) -> Result<(), ToolError> {
    let place = Place::take(runtime, &arguments.folder).await?;
    let (mut left, mut all) = (0, 0);
    let Sstables { found, unreadable } = sstables_at(runtime, &arguments.folder).await?;
    for error in unreadable {
        (all, left) = (all + 1, left + 1);
        println!("no row can be recovered; leaving it unchanged: {error}");
    }
    for files in found {
        all += 1;
        match scrub(&files, &place).await? {
            Scrubbed::Sound(counts) => println!("{}: sound: {counts}", files.descriptor),
            Scrubbed::Saved(kept) => {
                println!("{}: {kept}; the damaged SSTable is in {}", files.descriptor, place.snapshot().display());
            }
            Scrubbed::Left(why) => {
                left += 1;
                println!("{}: no row can be recovered; leaving it unchanged: {why}", files.descriptor);
            }
        }
    }
    if left > 0 { Err(ToolError::Left { left, all }) } else { Ok(()) }
}

/// What came of an SSTable.
#[derive(Debug)]
pub(crate) enum Scrubbed {
    /// It is as it should be.
    Sound(crate::verify::Counts),
    /// It was written anew.
    Saved(Kept),
    /// It stays as it is.
    Left(String),
}

/// Scrubs one SSTable.
pub(crate) async fn scrub(files: &Files, place: &Place) -> Result<Scrubbed, ToolError> {
    let damage = match verify(&files.runtime, files).await {
        Ok(counts) => return Ok(Scrubbed::Sound(counts)),
        Err(damage) => damage,
    };
    if files.descriptor.format() != Format::Bti {
        // What is written has another name, which a manifest does not know.
        return Ok(Scrubbed::Left(format!("{damage}; scrub supports only SSTables of version da")));
    }
    let what_is_left = match Salvage::open(files).await {
        Ok(what_is_left) => what_is_left,
        Err(why) => return Ok(Scrubbed::Left(format!("{damage}; {why}"))),
    };
    let folder = place.prepare(&files.descriptor).await?;
    match what_is_left.write(&folder).await? {
        Some(kept) => {
            place.replace(files).await?;
            Ok(Scrubbed::Saved(kept))
        }
        None => {
            place.give_up(&files.descriptor).await?;
            Ok(Scrubbed::Left(damage.to_string()))
        }
    }
}

/// What is needed to read a damaged SSTable.
struct Salvage<'s> {
    files: &'s Files,
    own: Option<HelenusComponent>,
    header: Header,
    statistics: Option<Statistics>,
    table: Rc<Table>,
    source: Source,
}

impl<'s> Salvage<'s> {
    async fn open(files: &'s Files) -> Result<Salvage<'s>, ToolError> {
        let own = match files.read(Component::Helenus).await {
            Ok(bytes) => HelenusComponent::decode(&bytes).ok(),
            Err(_) => None,
        };
        let compression_info = files.read(Component::CompressionInfo).await;
        let bytes = files.read(Component::Statistics).await?;
        let version = files.descriptor.version;
        let header = Statistics::read_header(version, &bytes);
        let header = header.map_err(ToolError::corrupt(&files.path(Component::Statistics)))?;
        let statistics = Statistics::read(version, &bytes).ok();
        let is_as_told = |sum: &ComponentSum| match &compression_info {
            Ok(bytes) => (bytes.len() as u64, crc32(bytes)) == (sum.length, sum.crc),
            Err(_) => false,
        };
        if let Some(sum) = own.as_ref().and_then(|own| own.sum(Component::CompressionInfo))
            && !is_as_told(sum)
        {
            let what = Corrupt::new(0, "does not match its checksum in Helenus.db, and without it no row is readable");
            return Err(ToolError::corrupt(&files.path(Component::CompressionInfo))(what));
        }
        let source = Source::open(files, own.as_ref()).await?;
        let mut options = TableOptions { compression: compression(source.chunks()), ..TableOptions::default() };
        if let Some(statistics) = &statistics {
            options.bloom_filter_fp_chance = statistics.bloom_filter_fp_chance;
        }
        let table = Rc::new(table_with(&header, options));
        Ok(Salvage { files, own, header, statistics, table, source })
    }

    /// Writes what can be read into an SSTable of the same name in `folder`. `None`: nothing can.
    async fn write(mut self, folder: &Path) -> Result<Option<Kept>, ToolError> {
        let origin = self.own.as_ref().map_or_else(Origin::default, |own| own.origin.clone());
        let estimates = self.estimates();
        let generation: Generation = self.files.descriptor.generation.clone();
        let runtime = self.files.runtime.clone();
        let writer = SstableWriter::create(&runtime, folder, generation, &self.table, estimates, origin).await?;
        let mut keeper = Keeper::new(&self.table, writer);
        let read = self.read(&mut keeper).await;
        if read.is_err() || keeper.is_empty() || self.source.is_contradicted() {
            keeper.abandon().await;
            return read.map(|()| None);
        }
        keeper.finish().await.map(Some)
    }

    fn estimates(&self) -> Estimates {
        let encoding = self.header.encoding;
        let stats = self.statistics.as_ref().map(|statistics| &statistics.stats);
        let partitions =
            stats.map_or(self.source.length() / 256, |stats| stats.partition_sizes.count().cast_unsigned());
        Estimates {
            partitions: partitions.max(1),
            timestamp_min: Some(encoding.timestamp_min),
            local_deletion_time_min: Some(encoding.local_deletion_time_min),
            ttl_min: Some(encoding.ttl_min),
            dropped: Vec::new(),
            level: stats.map_or(0, |stats| stats.level),
            repaired_at: stats.map_or(0, |stats| stats.repaired_at),
        }
    }

    /// Reads partition after partition; behind a damage the next one that the index knows.
    async fn read(&mut self, keeper: &mut Keeper) -> Result<(), ToolError> {
        let mut reader = self.files.reader(&self.header, &self.table)?;
        let mut starts: Option<Starts> = None;
        let mut begins = 0;
        while begins < self.source.length() {
            reader.seek_partition();
            let mut damage = match self.source.partition(begins, &mut reader, keeper).await? {
                Ok(next) => {
                    begins = next;
                    continue;
                }
                Err(damage) => damage,
            };
            if starts.is_none() {
                starts = Some(Starts::load(self.files, self.own.as_ref()).await);
            }
            let starts = starts.as_mut().expect("it was loaded above");
            let mut behind = None;
            while let Some(block) = starts.block_behind(begins, &damage).await {
                // Rows behind the damage: their partition may have to be begun, by what its index says of it.
                if !keeper.goes_on(&block) {
                    break;
                }
                reader.seek_row();
                match self.source.partition(begins + block.begins, &mut reader, keeper).await? {
                    Ok(next) => {
                        behind = Some(next);
                        break;
                    }
                    Err(further) => damage = Damage { until: further.until.max(damage.until + 1), ..further },
                }
            }
            if behind.is_none() {
                keeper.broken();
            }
            let next = behind.or_else(|| starts.behind(begins));
            let Some(next) = next else {
                keeper.lost_rest(damage.at, self.source.length(), starts.is_whole());
                return Ok(());
            };
            begins = next;
        }
        Ok(())
    }
}

/// The table's option that compresses as the chunks are compressed.
fn compression(chunks: &Chunks) -> std::collections::BTreeMap<String, String> {
    let Chunks::Compressed(info, _) = chunks else { return Default::default() };
    let params = info.params();
    let mut options: std::collections::BTreeMap<String, String> = params.options.iter().cloned().collect();
    options.insert("class".to_owned(), params.compressor.name().to_owned());
    options.insert("chunk_length_in_kb".to_owned(), (params.chunk_length / 1024).to_string());
    options
}

#[cfg(test)]
mod tests;
