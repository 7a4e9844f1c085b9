//! Writing an SSTable.
//!
//! ```text
//! partition, row, marker ──▶ DataWriter ──▶ data ──▶ chunks ──▶ Data.db          in write_out
//!                              │ positions            └─▶ CompressionInfo.db or CRC.db
//!                              ├─▶ RowIndexWriter ──▶ Rows.db
//!                              ├─▶ PartitionIndexWriter ──▶ Partitions.db
//!                              ├─▶ FilterBuilder ──▶ Filter.db
//!                              └─▶ StatisticsCollector ──▶ Statistics.db
//! finish: all of them synced ──▶ Digest.crc32, Helenus.db, TOC.txt synced ──▶ the folder synced
//! ```

use std::path::{Path, PathBuf};
use std::rc::Rc;

use mutation::{ClusteringRef, Deletion, RowRef};
use runtime::{Group, Runtime};
use schema::Table;
use sstable::bti::{Partition, PartitionIndexWriter, RowIndexWriter};
use sstable::byte_comparable::{self, Place};
use sstable::checksum::{ChunkChecksums, PLAIN_CHUNK_BYTES, encode_digest};
use sstable::compression::{ChunkEncoder, CompressionInfo, CompressionParams};
use sstable::data::DataWriter;
use sstable::helenus_component::{ComponentSum, HelenusComponent, Origin};
use sstable::statistics::FileFacts;
use sstable::{Component, Descriptor, EncodingStats, FilterBuilder, Generation, Header, KeyHash, Marker, Version, toc};
use topology::Token;

use crate::sstable::error::WriteError;
use crate::sstable::info::{Estimates, SstableInfo};
use crate::sstable::output::{OutputFile, WRITE_BYTES};

/// Writes one SSTable of version `da`. It is nothing before the manifest says so; one that is dropped unfinished leaves files that
/// nobody knows, so [`SstableWriter::abandon`] it.
///
/// The calls that give it data take memory and return at once: they borrow from a memtable. When [`SstableWriter::is_due`] says so,
/// [`SstableWriter::write_out`] is to be awaited.
pub struct SstableWriter {
    runtime: Runtime,
    folder: PathBuf,
    descriptor: Descriptor,
    table: Rc<Table>,
    origin: Origin,
    level: u32,
    repaired_at: i64,
    writer: DataWriter,
    chunks: Chunks,
    /// Data that is in no chunk yet; it begins at `data_offset` in the data.
    pending: Vec<u8>,
    data_offset: u64,
    open: Option<OpenPartition>,
    rows: RowIndexWriter,
    partitions: PartitionIndexWriter,
    filter: FilterBuilder,
    first: Option<Token>,
    last: Option<(Token, Vec<u8>)>,
    /// What is ready of an index.
    ready: Vec<u8>,
    data_file: OutputFile,
    partitions_file: OutputFile,
    rows_file: OutputFile,
}

/// What a long row has in a file beside what it has in a memtable, from above: its clustering, and lengths.
const BESIDE_CELLS: usize = 256 << 10;
/// Bytes of a long row that are copied before the clock is asked.
const LONG_PIECE: usize = 64 << 10;

/// The partition that is being written.
struct OpenPartition {
    token: Token,
    key: Vec<u8>,
    deletion: Option<Deletion>,
    /// Where it begins in the data.
    begins: u64,
    /// The range deletion that holds behind what was written last.
    open: Option<Deletion>,
}

/// How data becomes Data.db.
enum Chunks {
    Compressed { encoder: ChunkEncoder, info: CompressionInfo, stored: Vec<u8> },
    Plain(ChunkChecksums),
}

impl Chunks {
    fn of(table: &Table) -> Self {
        match CompressionParams::of_options(&table.options.compression) {
            Some(params) => Chunks::Compressed {
                encoder: ChunkEncoder::new(&params),
                info: CompressionInfo::new(params),
                stored: Vec::new(),
            },
            None => Chunks::Plain(ChunkChecksums::new(PLAIN_CHUNK_BYTES)),
        }
    }

    fn chunk_length(&self) -> usize {
        match self {
            Chunks::Compressed { info, .. } => info.params().chunk_length as usize,
            Chunks::Plain(checksums) => checksums.chunk_bytes() as usize,
        }
    }

    fn write(&mut self, chunk: &[u8], file: &mut OutputFile) {
        match self {
            Chunks::Compressed { encoder, info, stored } => {
                stored.clear();
                encoder.encode(chunk, stored);
                info.push(chunk.len(), stored.len());
                file.push(stored);
            }
            Chunks::Plain(checksums) => {
                checksums.push(chunk);
                file.push(chunk);
            }
        }
    }

    /// The component that is beside Data.db, and its bytes.
    fn component(&self) -> (Component, Vec<u8>) {
        match self {
            Chunks::Compressed { info, .. } => (Component::CompressionInfo, info.encode()),
            Chunks::Plain(checksums) => (Component::Crc, checksums.encode()),
        }
    }

    fn ratio(&self) -> f64 {
        match self {
            Chunks::Compressed { info, .. } => info.stored_length() as f64 / info.data_length().max(1) as f64,
            Chunks::Plain(_) => -1.0,
        }
    }
}

impl SstableWriter {
    /// Begins one in `folder`, which is there.
    pub async fn create(
        runtime: &Runtime,
        folder: &Path,
        generation: Generation,
        table: &Rc<Table>,
        estimates: Estimates,
        origin: Origin,
    ) -> Result<SstableWriter, WriteError> {
        let descriptor = Descriptor { version: Version::DA, generation };
        let dropped = table.dropped.values().map(|dropped| &dropped.column);
        let dropped = dropped.filter(|column| estimates.dropped.contains(&column.id));
        let header = Header::of_table(table, estimates.encoding()).with_dropped(dropped);
        let writer = DataWriter::new(table, &header).expect("a header of a table fits the table");
        let mut files = Vec::new();
        for component in [Component::Data, Component::Partitions, Component::Rows] {
            let path = folder.join(descriptor.file_name(component));
            match OutputFile::create(runtime, component, path).await {
                Ok(file) => files.push(file),
                Err(error) => {
                    remove(runtime, files.iter().map(|file| file.path().to_owned())).await;
                    return Err(error);
                }
            }
        }
        let [data_file, partitions_file, rows_file] =
            files.try_into().unwrap_or_else(|_| unreachable!("three files were made"));
        Ok(SstableWriter {
            runtime: runtime.clone(),
            folder: folder.to_owned(),
            descriptor,
            table: table.clone(),
            origin,
            level: estimates.level,
            repaired_at: estimates.repaired_at,
            writer,
            chunks: Chunks::of(table),
            pending: Vec::new(),
            data_offset: 0,
            open: None,
            rows: RowIndexWriter::new(table.clustering()),
            partitions: PartitionIndexWriter::new(),
            filter: FilterBuilder::new(estimates.partitions, table.options.bloom_filter_fp_chance),
            first: None,
            last: None,
            ready: Vec::new(),
            data_file,
            partitions_file,
            rows_file,
        })
    }

    /// Its files' names.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// How many bytes of data there are so far, before compression.
    pub fn data_bytes(&self) -> u64 {
        self.data_offset + self.pending.len() as u64
    }

    /// The next partition, in the order of tokens, then of keys. The one before it ends.
    pub fn partition(&mut self, token: Token, key: &[u8], deletion: Option<Deletion>, static_row: Option<RowRef<'_>>) {
        self.end_partition();
        if let Some((last_token, last_key)) = &self.last {
            assert!((*last_token, &last_key[..]) < (token, key), "partitions ascend");
        }
        self.first.get_or_insert(token);
        let begins = self.data_bytes();
        self.writer.partition(&mut self.pending, key, deletion, static_row);
        self.open = Some(OpenPartition { token, key: key.to_vec(), deletion, begins, open: None });
    }

    /// The partition's next row, in the table's order.
    pub fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        let begins = self.data_bytes();
        self.writer.row(&mut self.pending, clustering, row);
        self.index_row(begins, clustering, Place::Row);
    }

    /// [`SstableWriter::row`] for a row however long, letting others run in between.
    pub async fn row_in_steps(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        let bytes = row.bytes().len() + BESIDE_CELLS;
        if self.writer.lacks_room(bytes) {
            let (first, second) = (self.runtime.touched(bytes).await, self.runtime.touched(bytes).await);
            self.writer.take_room(first, second);
        }
        if self.pending.capacity() - self.pending.len() < bytes {
            let mut larger = Vec::with_capacity(self.pending.len() + bytes);
            larger.extend_from_slice(&self.pending);
            self.pending = larger;
        }
        let (begins, start) = (self.data_bytes(), self.pending.len());
        let body = self.writer.begin_row(&mut self.pending, clustering, row);
        for piece in body.chunks(LONG_PIECE) {
            self.pending.extend_from_slice(piece);
            self.runtime.maybe_yield().await;
        }
        self.writer.end_row(clustering, (self.pending.len() - start) as u64);
        self.index_row(begins, clustering, Place::Row);
    }

    /// The next place in the partition where the deleted ranges change. The last of a partition opens nothing.
    pub fn marker(&mut self, marker: &Marker<'_>) {
        let begins = self.data_bytes();
        self.writer.marker(&mut self.pending, marker);
        let open = self.open.as_mut().expect("a marker stands in a partition");
        assert_eq!(open.open, marker.closes, "a marker closes what was opened");
        open.open = marker.opens;
        self.index_row(begins, marker.prefix, if marker.after { Place::After } else { Place::Before });
    }

    fn index_row(&mut self, begins: u64, clustering: ClusteringRef<'_>, place: Place) {
        let ends = self.data_bytes();
        let open = self.open.as_ref().expect("rows stand in a partition");
        let columns = self.table.clustering();
        self.rows.add(
            begins - open.begins,
            ends - open.begins,
            open.open,
            |out| byte_comparable::clustering(columns, clustering, place, out),
            &mut self.ready,
        );
        self.rows_file.push(&self.ready);
        self.ready.clear();
    }

    fn end_partition(&mut self) {
        let Some(open) = self.open.take() else { return };
        assert_eq!(open.open, None, "the last marker of a partition opens nothing");
        let ends = self.data_bytes() - open.begins;
        self.writer.end_partition(&mut self.pending);
        let OpenPartition { token, key, deletion, begins, .. } = open;
        let entry = self.rows.end_partition(&key, begins, deletion, ends, &mut self.ready);
        self.rows_file.push(&self.ready);
        self.ready.clear();
        let place = entry.map_or(Partition::Data(begins), Partition::Rows);
        let hash = KeyHash::of(&key);
        self.filter.add(hash);
        self.partitions.add(token, &key, hash, place, &mut self.ready);
        self.partitions_file.push(&self.ready);
        self.ready.clear();
        self.last = Some((token, key));
    }

    /// Whether so much has gathered that [`SstableWriter::write_out`] is to be awaited now.
    pub fn is_due(&self) -> bool {
        self.pending.len() >= WRITE_BYTES || self.partitions_file.is_due() || self.rows_file.is_due()
    }

    /// Compresses and writes what has gathered, as far as it makes large writes. Lets others run.
    pub async fn write_out(&mut self) -> Result<(), WriteError> {
        let whole = self.pending.len() / self.chunks.chunk_length() * self.chunks.chunk_length();
        self.write_data(whole).await?;
        for file in [&mut self.data_file, &mut self.partitions_file, &mut self.rows_file] {
            file.write_out().await?;
        }
        Ok(())
    }

    /// Makes chunks of so many bytes.
    async fn write_data(&mut self, length: usize) -> Result<(), WriteError> {
        let chunk_length = self.chunks.chunk_length();
        for begins in (0..length).step_by(chunk_length) {
            let chunk = &self.pending[begins..length.min(begins + chunk_length)];
            self.chunks.write(chunk, &mut self.data_file);
            if self.data_file.is_due() {
                self.data_file.write_out().await?;
            }
            self.runtime.maybe_yield().await;
        }
        self.pending.drain(..length);
        self.data_offset += length as u64;
        Ok(())
    }

    /// Writes what is left and all other components, and waits until they and their names are on the disk. On an error all its
    /// files are removed.
    pub async fn finish(self) -> Result<SstableInfo, WriteError> {
        let (runtime, folder, descriptor) = (self.runtime.clone(), self.folder.clone(), self.descriptor.clone());
        let result = self.write_all().await;
        if result.is_err() {
            remove(&runtime, all_paths(&folder, &descriptor)).await;
        }
        result
    }

    async fn write_all(mut self) -> Result<SstableInfo, WriteError> {
        self.end_partition();
        let (first, last) = (self.first, self.last.take().map(|(token, _)| token));
        let tokens = first.zip(last).expect("an SSTable has a partition");
        if let Err(error) = self.write_data(self.pending.len()).await {
            give_up([self.data_file, self.partitions_file, self.rows_file]).await;
            return Err(error);
        }
        let data_bytes = self.data_bytes();
        while !self.partitions.finish_some(&mut self.ready) {
            self.partitions_file.push(&self.ready);
            self.ready.clear();
            self.runtime.maybe_yield().await;
        }
        self.partitions_file.push(&self.ready);
        let collector = self.writer.finish();
        let (partitions, timestamps) = (collector.partitions(), collector.timestamps().unwrap_or((i64::MAX, i64::MIN)));
        let statistics = collector.finish(&FileFacts {
            bloom_filter_fp_chance: self.table.options.bloom_filter_fp_chance,
            compression_ratio: self.chunks.ratio(),
            host: self.origin.host,
            token_space_coverage: Some(token_space_coverage(tokens)),
            level: self.level,
            repaired_at: self.repaired_at,
        });
        let rows = statistics.stats.rows.max(0).cast_unsigned();
        let (filter, (chunks, of_chunks), statistics) =
            (self.filter.finish(), self.chunks.component(), statistics.write());
        let head = filter.head();
        let small: [(Component, Vec<&[u8]>); 3] = [
            (Component::Filter, std::iter::once(&head[..]).chain(filter.pieces()).collect()),
            (chunks, vec![&of_chunks]),
            (Component::Statistics, vec![&statistics]),
        ];
        let files = Files { runtime: &self.runtime, folder: &self.folder, descriptor: &self.descriptor };
        let mut outputs = vec![self.data_file, self.partitions_file, self.rows_file];
        for (component, pieces) in small {
            match files.make(component, &pieces).await {
                Ok(file) => outputs.push(file),
                Err(error) => {
                    give_up(outputs).await;
                    return Err(error);
                }
            }
        }
        let mut sums = sync_all(&self.runtime, outputs).await?;
        let mut components: Vec<Component> = sums.iter().map(|sum| sum.component).collect();
        components.extend([Component::Digest, Component::Toc, Component::Helenus]);
        // The first is Data.db's.
        let digest = encode_digest(sums[0].crc);
        sums.push(files.make(Component::Digest, &[&digest]).await?.finish().await?);
        let disk_bytes: u64 = sums.iter().map(|sum| sum.length).sum();
        let own = HelenusComponent { origin: self.origin, tokens: vec![tokens], sums }.encode();
        let list = toc::encode(&components);
        let last = vec![files.make(Component::Helenus, &[&own]).await?, files.make(Component::Toc, &[&list]).await?];
        let last = sync_all(&self.runtime, last).await?;
        self.runtime.sync_dir(&self.folder).await.map_err(WriteError::io(&self.folder))?;
        Ok(SstableInfo {
            descriptor: self.descriptor,
            tokens,
            partitions,
            rows,
            data_bytes,
            disk_bytes: disk_bytes + last.iter().map(|sum| sum.length).sum::<u64>(),
            timestamps,
        })
    }

    /// Removes its files.
    pub async fn abandon(self) {
        let (runtime, paths) = (self.runtime.clone(), all_paths(&self.folder, &self.descriptor));
        give_up([self.data_file, self.partitions_file, self.rows_file]).await;
        remove(&runtime, paths).await;
    }
}

/// Makes an SSTable's files.
struct Files<'f> {
    runtime: &'f Runtime,
    folder: &'f Path,
    descriptor: &'f Descriptor,
}

impl Files<'_> {
    /// Makes a small component of `pieces`, which are not written yet.
    async fn make(&self, component: Component, pieces: &[&[u8]]) -> Result<OutputFile, WriteError> {
        let path = self.folder.join(self.descriptor.file_name(component));
        let mut file = OutputFile::create(self.runtime, component, path).await?;
        for piece in pieces.iter().flat_map(|piece| piece.chunks(WRITE_BYTES)) {
            file.push(piece);
            file.write_out().await?;
            self.runtime.maybe_yield().await;
        }
        Ok(file)
    }
}

/// Syncs all files at once; the disk does it together.
async fn sync_all(runtime: &Runtime, files: Vec<OutputFile>) -> Result<Vec<ComponentSum>, WriteError> {
    let syncs: Vec<_> = files.into_iter().map(|file| runtime.spawn(Group::Flush, file.finish())).collect();
    let mut sums = Vec::new();
    let mut failed = None;
    for sync in syncs {
        // All are awaited, also when one has failed: none may be under way when the files are removed.
        match sync.await {
            Ok(sum) => sums.push(sum),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(sums),
    }
}

/// Waits until nothing is written to the files any more: then they can be removed.
async fn give_up(files: impl IntoIterator<Item = OutputFile>) {
    for file in files {
        file.give_up().await;
    }
}

fn all_paths(folder: &Path, descriptor: &Descriptor) -> Vec<PathBuf> {
    Component::ALL.iter().map(|component| folder.join(descriptor.file_name(*component))).collect()
}

/// Removes files that are there. What cannot be removed has no manifest's record and goes at the next start.
async fn remove(runtime: &Runtime, paths: impl IntoIterator<Item = PathBuf>) {
    for path in paths {
        let _ = runtime.remove_file(&path).await;
    }
}

/// The share of all tokens that lie between two.
fn token_space_coverage((first, last): (Token, Token)) -> f64 {
    (i128::from(last.0) - i128::from(first.0)) as f64 / 2f64.powi(64)
}

impl Estimates {
    fn encoding(&self) -> EncodingStats {
        let unknown = EncodingStats::EPOCH;
        EncodingStats {
            timestamp_min: self.timestamp_min.unwrap_or(unknown.timestamp_min),
            local_deletion_time_min: self.local_deletion_time_min.unwrap_or(unknown.local_deletion_time_min),
            ttl_min: self.ttl_min.unwrap_or(unknown.ttl_min),
        }
    }
}
