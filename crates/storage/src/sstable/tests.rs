//! SSTables are judged by memtables: what a memtable tells a sink, the files that were written of it tell too, call by call.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use cql_types::CqlType;
use mutation::{
    ClusteringRef, Deletion, Expiry, MutationEncoder, MutationRef, Position, ReadCommand, RowRef, shadow_row,
};
use runtime::Runtime;
use runtime::sim::{DiskFault, Ended, World, WorldOptions};
use schema::{Column, ColumnId, ColumnKind, Order, Table, TableId, TableOptions};
use sstable::helenus_component::Origin;
use sstable::{Generation, Marker};
use topology::{Token, token_of};

use super::*;
use crate::memtable::{ChunkPool, Memtable, Scratch, TableShape, successor};
use crate::sink::{DataSink, ReadEnd};

mod cassandra;
mod device_reads;
mod faults;
mod flips;
mod same_as_memtable;

pub(super) const TABLE: TableId = TableId([7; 16]);
pub(super) const NOW: u32 = 1_700_000_000;

/// A folder that is empty at first and gone at the end.
pub(super) struct Folder(pub(super) PathBuf);

#[allow(clippy::disallowed_methods)]
impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("helenus-sstable-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the folder for tests can be written");
        Folder(path)
    }
}

#[allow(clippy::disallowed_methods)]
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `body` on a real shard, with a folder of its own.
pub(super) fn on_disk<T, Fut>(name: &str, body: impl FnOnce(Runtime, PathBuf) -> Fut + Send) -> T
where
    T: Send,
    Fut: Future<Output = T>,
{
    let folder = Folder::new(name);
    let path = folder.0.clone();
    let main = move |runtime: Runtime| body(runtime, path);
    let results = runtime::run(runtime::Options::default(), vec![main]).expect("a shard starts");
    results.into_iter().next().expect("one shard, one result")
}

/// Runs `body` on a simulated shard.
pub(super) fn simulated<T, Fut>(seed: u64, body: impl FnOnce(Runtime, PathBuf) -> Fut) -> T
where
    T: 'static,
    Fut: Future<Output = T> + 'static,
{
    simulated_with(seed, None, body).0
}

/// Runs `body` on a simulated shard whose disk fails as told. Gives the count of its calls too.
pub(super) fn simulated_with<T, Fut>(
    seed: u64,
    fault: Option<DiskFault>,
    body: impl FnOnce(Runtime, PathBuf) -> Fut,
) -> (T, u64)
where
    T: 'static,
    Fut: Future<Output = T> + 'static,
{
    let mut world = World::new(WorldOptions::new(seed));
    let host = world.add_host(&[]);
    world.set_disk_faults(host, fault.into_iter().collect());
    let main = |runtime: Runtime| {
        let folder = PathBuf::from("/data");
        let body = body(runtime.clone(), folder.clone());
        async move {
            // The first call may be the one that fails.
            while runtime.create_dir_all(&folder).await.is_err() {}
            body.await
        }
    };
    let started = world.start(host, false, vec![main]);
    let ended = world.run_until(|_| started.is_over(), Duration::from_secs(3600));
    assert_eq!(ended, Ended::Condition, "the shard comes to its end");
    let calls = world.disk_calls(host);
    (started.take_outputs().expect("it is over").pop().expect("one shard, one output"), calls)
}

/// The column ids of the tests' tables.
pub(super) const STATIC: ColumnId = ColumnId(10);
pub(super) const VALUE: ColumnId = ColumnId(11);
pub(super) const OTHER: ColumnId = ColumnId(12);

/// A table with clustering columns of these types and directions; if there is more than one, with a static column.
pub(super) fn table(clustering: &[(&str, Order)], compression: &[(&str, &str)]) -> Rc<Table> {
    let mut columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "key", CqlType::Blob),
        Column::new(ColumnKind::Regular, VALUE, "value", CqlType::Blob),
        Column::new(ColumnKind::Regular, OTHER, "other", CqlType::Int),
    ];
    for (position, (ty, order)) in (0u16..).zip(clustering) {
        let (id, ty) = (ColumnId(1 + position), CqlType::parse(ty).expect("a type"));
        let column = Column::new(ColumnKind::Clustering, id, format!("c{position}"), ty);
        columns.push(column.at(position).ordered(*order));
    }
    if clustering.len() > 1 {
        columns.push(Column::new(ColumnKind::Static, STATIC, "shared", CqlType::Text));
    }
    let compression = compression.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Rc::new(Table::new(TABLE, "ks", "t", columns, TableOptions { compression, ..TableOptions::default() }))
}

/// A range's bound: its components' values, and whether rows that begin with them are inside.
pub(super) type RangeBound = (Vec<Vec<u8>>, bool);

/// A memtable, and what the places in it are made of.
pub(super) struct Model {
    pub(super) table: Rc<Table>,
    pub(super) memtable: Memtable,
    pool: ChunkPool,
    scratch: Scratch,
    /// For the place of each range's end its components, and whether it is behind them.
    places: BTreeMap<Vec<u8>, (Vec<u8>, bool)>,
}

impl Model {
    pub(super) fn new(table: &Rc<Table>) -> Self {
        let memtable = Memtable::new(TableShape::of(table));
        let pool = ChunkPool::new(1 << 30);
        let mut model =
            Model { table: table.clone(), memtable, pool, scratch: Scratch::default(), places: BTreeMap::new() };
        model.places.insert(Vec::new(), (vec![0], false));
        model
    }

    /// Applies a mutation of the partition `key`.
    pub(super) fn write(&mut self, key: &[u8], write: impl FnOnce(&mut MutationEncoder<'_>)) {
        let mut bytes = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut bytes, TABLE, token_of(key), key);
        write(&mut encoder);
        encoder.finish();
        let mutation = MutationRef::decode(&bytes).expect("what was encoded");
        self.memtable.apply(&mut self.pool, &mut self.scratch, &mutation);
    }

    /// Writes a row: columns and values; no value deletes.
    pub(super) fn row(&mut self, key: &[u8], clustering: &[&[u8]], timestamp: i64, value: &[u8]) {
        self.write(key, |encoder| {
            let mut row = encoder.row(clustering.iter().copied());
            row.liveness(timestamp, None).cell(VALUE, timestamp, None, value);
        });
    }

    /// Deletes a range of rows.
    pub(super) fn range(&mut self, key: &[u8], start: &RangeBound, end: &RangeBound, deletion: Deletion) {
        let shape = TableShape::of(&self.table);
        for ((components, inclusive), is_start) in [(start, true), (end, false)] {
            let mut prefix = vec![components.len() as u8];
            for component in components {
                stdx::varint::encode(component.len() as u64, &mut prefix);
                prefix.extend_from_slice(component);
            }
            let mut place = Vec::new();
            shape.comparable(ClusteringRef::trusted(&prefix), &mut place);
            let after = is_start != *inclusive && !components.is_empty();
            if after {
                let Some(above) = successor(&place) else { continue };
                place = above;
            }
            self.places.entry(place).or_insert((prefix, after));
        }
        let (starts, ends): (Vec<&[u8]>, Vec<&[u8]>) =
            (start.0.iter().map(|value| &value[..]).collect(), end.0.iter().map(|value| &value[..]).collect());
        self.write(key, |encoder| {
            encoder.range_tombstone(
                mutation::ClusteringBound { prefix: &starts, inclusive: start.1 },
                mutation::ClusteringBound { prefix: &ends, inclusive: end.1 },
                deletion,
            );
        });
    }

    /// Writes an SSTable of all that is in the memtable.
    pub(super) async fn flush(&self, runtime: &Runtime, folder: &Path) -> SstableInfo {
        self.try_flush(runtime, folder).await.expect("files can be written")
    }

    pub(super) async fn try_flush(&self, runtime: &Runtime, folder: &Path) -> Result<SstableInfo, WriteError> {
        let origin = Origin { shard_count: 1, ..Origin::default() };
        let estimates = Estimates { partitions: u64::from(self.memtable.partition_count()), ..Estimates::default() };
        let generation = Generation::Unique("3gw5_0lzc_1cb5c2ghfzwy2irqxx".to_owned());
        let writer = SstableWriter::create(runtime, folder, generation, &self.table, estimates, origin).await?;
        let mut sink = Flush { model: self, writer, key: None, open: None };
        let mut after: Option<Position> = None;
        loop {
            let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..ReadCommand::all(TABLE, NOW) };
            match self.memtable.read_data(&command, &mut sink) {
                ReadEnd::Complete => break,
                ReadEnd::Stopped(position) | ReadEnd::Paused(position) => after = Some(position),
            }
            if sink.writer.is_due()
                && let Err(error) = sink.writer.write_out().await
            {
                sink.writer.abandon().await;
                return Err(error);
            }
        }
        sink.end_partition();
        sink.writer.finish().await
    }

    pub(super) async fn open(&self, runtime: &Runtime, folder: &Path) -> Rc<Sstable> {
        let info = self.flush(runtime, folder).await;
        let pages = PageCache::new(1 << 20);
        Sstable::open(runtime, &pages, folder, info.descriptor, &self.table).await.expect("what was written opens")
    }
}

/// Writes what a memtable tells.
struct Flush<'m> {
    model: &'m Model,
    writer: SstableWriter,
    key: Option<Vec<u8>>,
    open: Option<Deletion>,
}

impl Flush<'_> {
    fn end_partition(&mut self) {
        if let Some(open) = self.open.take() {
            let prefix = ClusteringRef::EMPTY;
            self.writer.marker(&Marker { prefix, after: true, closes: Some(open), opens: None });
        }
    }
}

impl DataSink for Flush<'_> {
    fn partition(&mut self, token: Token, key: &[u8], deletion: Option<Deletion>, static_row: Option<RowRef<'_>>) {
        if self.key.as_deref() != Some(key) {
            self.end_partition();
            self.key = Some(key.to_vec());
            self.writer.partition(token, key, deletion, static_row);
        }
    }

    fn range(&mut self, at: Option<&[u8]>, deletion: Option<Deletion>) {
        if deletion == self.open {
            return;
        }
        let (prefix, after) = &self.model.places[at.unwrap_or_default()];
        let prefix = ClusteringRef::trusted(prefix);
        self.writer.marker(&Marker { prefix, after: *after, closes: self.open, opens: deletion });
        self.open = deletion;
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        self.writer.row(clustering, row);
    }

    fn is_full(&self) -> bool {
        false
    }
}

/// The calls of a sink, as text.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) calls: Vec<String>,
    /// What fills it: rows alone, or all calls.
    pub(super) counts_rows_alone: bool,
    pub(super) left: usize,
    key: Vec<u8>,
    range: Option<Deletion>,
    /// The calls without those that a new page repeats.
    pub(super) once: Vec<String>,
    /// Whether rows are shown as deletions from outside leave them: a memtable drops early what those cover.
    pub(super) is_shadowing: bool,
    deletion: Option<Deletion>,
}

impl Calls {
    pub(super) fn new(calls_max: usize, counts_rows_alone: bool) -> Self {
        let (calls, once) = (Vec::new(), Vec::new());
        Calls {
            calls,
            counts_rows_alone,
            left: calls_max,
            key: Vec::new(),
            range: None,
            once,
            is_shadowing: false,
            deletion: None,
        }
    }

    /// What the deletions from outside leave of a row.
    fn left_of(&self, row: RowRef<'_>) -> Option<String> {
        // In a table without clustering columns a memtable has the partition's deletion in the row.
        let shadow = Deletion::max_of(Deletion::max_of(self.deletion, self.range), row.deletion());
        let mut left = Vec::new();
        match shadow {
            Some(shadow) => shadow_row(&row, shadow, &mut left).then(|| describe(RowRef::trusted(&left))),
            None => Some(describe(row)),
        }
    }

    fn push(&mut self, call: String, is_row: bool, is_news: bool) {
        if is_news {
            self.once.push(call.clone());
        }
        self.calls.push(call);
        if is_row || !self.counts_rows_alone {
            self.left = self.left.saturating_sub(1);
        }
    }
}

pub(super) fn describe(row: RowRef<'_>) -> String {
    let cells: Vec<String> = row.cells().map(|cell| format!("{cell:?}")).collect();
    format!("{:?} {:?} {}", row.deletion(), row.liveness(), cells.join(" "))
}

impl DataSink for Calls {
    fn partition(&mut self, token: Token, key: &[u8], deletion: Option<Deletion>, static_row: Option<RowRef<'_>>) {
        let is_next = self.key != key;
        if is_next {
            (self.key, self.range, self.deletion) = (key.to_vec(), None, deletion);
        }
        if self.is_shadowing {
            let static_row = static_row.and_then(|row| self.left_of(row));
            return self.push(format!("partition {key:?} {static_row:?}"), false, is_next);
        }
        let static_row = static_row.map(describe);
        self.push(format!("partition {token:?} {key:?} {deletion:?} {static_row:?}"), false, is_next);
    }

    fn range(&mut self, at: Option<&[u8]>, deletion: Option<Deletion>) {
        let is_change = self.range != deletion;
        self.range = deletion;
        self.push(format!("range {at:?} {deletion:?}"), false, is_change);
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        let components: Vec<&[u8]> = clustering.components().collect();
        if self.is_shadowing {
            let Some(left) = self.left_of(row) else { return };
            return self.push(format!("row {components:?} {left}"), true, true);
        }
        self.push(format!("row {components:?} {}", describe(row)), true, true);
    }

    fn is_full(&self) -> bool {
        self.left == 0
    }
}

/// Some random numbers.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(super) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    pub(super) fn deletion(&mut self) -> Deletion {
        Deletion { timestamp: self.below(40) as i64, local_deletion_time: NOW - self.below(1000) as u32 }
    }

    pub(super) fn expiry(&mut self) -> Option<Expiry> {
        let ttl = 1 + self.below(100) as u32;
        self.one_in(5).then(|| Expiry { ttl, local_deletion_time: NOW + ttl })
    }
}
