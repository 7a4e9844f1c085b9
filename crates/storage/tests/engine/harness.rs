//! Starts shards on a folder of their own, writes numbered rows and reads them back.
#![allow(clippy::disallowed_methods)]

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, Ordering::SeqCst};
use std::time::Duration;

use cql_types::CqlType;
use mutation::{ClusteringRef, LiveRow, MutationEncoder, Position, ReadCommand};
use runtime::{Options, Runtime};
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::reader::ReadDone;
use storage::{
    Ack, ApplyError, Flow, OpenError, ReadEnd, ReplayPosition, RowSink, Shard, StorageOptions, SyncMode, Truncations,
};
use topology::{ReplicationStrategy, Sharder, Token, token_of};

pub const TABLE: TableId = TableId([1; 16]);
pub const OTHER: TableId = TableId([2; 16]);
/// A table of counters, of which a setup must say that it is there.
pub const COUNTERS: TableId = TableId([3; 16]);
/// Its rows grow: `elements` is a list.
pub const GROWING: TableId = TableId([9; 16]);

/// Time in which each page of a copy is found.
pub const PAGE_TIME: Duration = Duration::from_secs(3600);

/// A folder that is empty at first and gone at the end.
pub struct Folder {
    pub path: PathBuf,
}

impl Folder {
    /// Below the target folder, so on a real file system; `HELENUS_SCRATCH` names another place.
    pub fn new(name: &str) -> Self {
        let given = std::env::var_os("HELENUS_SCRATCH").map(PathBuf::from);
        let scratch = given.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
        // Two tests beside each other may give one name.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = scratch.join(format!("{name}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the folder for tests can be written");
        Folder { path }
    }

    /// Copies all segments as they are now.
    pub fn copy_to(&self, other: &Folder) {
        let root = self.path.join("commitlog");
        for folder in std::fs::read_dir(root).expect("a folder of segments") {
            let folder = folder.expect("an entry").path();
            let target = other.path.join("commitlog").join(folder.file_name().expect("a name"));
            std::fs::create_dir_all(&target).expect("a folder can be made");
            for file in std::fs::read_dir(&folder).expect("a folder of segments") {
                let file = file.expect("an entry").path();
                std::fs::copy(&file, target.join(file.file_name().expect("a name"))).expect("a file can be copied");
            }
        }
    }

    /// The segments of one shard, by id.
    pub fn segments(&self, shard: u16) -> Vec<PathBuf> {
        let folder = self.path.join("commitlog").join(format!("shard-{shard}"));
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        paths.sort();
        paths
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn table(id: TableId, name: &str) -> Table {
    let columns = match id {
        COUNTERS => vec![
            Column::new(ColumnKind::PartitionKey, ColumnId(0), "key", CqlType::Blob),
            Column::new(ColumnKind::Regular, ColumnId(1), "n", CqlType::Counter),
            Column::new(ColumnKind::Regular, ColumnId(2), "m", CqlType::Counter),
            Column::new(ColumnKind::Static, ColumnId(3), "total", CqlType::Counter),
            Column::new(ColumnKind::Clustering, ColumnId(4), "c", CqlType::Int),
        ],
        GROWING => {
            let elements = CqlType::List { element: Box::new(CqlType::Blob), frozen: false };
            vec![
                Column::new(ColumnKind::PartitionKey, ColumnId(0), "key", CqlType::Blob),
                Column::new(ColumnKind::Regular, ColumnId(1), "elements", elements),
            ]
        }
        _ => vec![
            Column::new(ColumnKind::PartitionKey, ColumnId(0), "key", CqlType::Blob),
            Column::new(ColumnKind::Regular, ColumnId(1), "value", CqlType::Blob),
        ],
    };
    Table::new(id, "ks", name, columns, TableOptions::default())
}

pub fn schema_of(tables: &[TableId], durable_writes: bool) -> Schema {
    let def = KeyspaceDef {
        name: "ks".to_owned(),
        replication: Default::default(),
        strategy: ReplicationStrategy::Simple { replication_factor: 1 },
        durable_writes,
        tenure: 0,
    };
    let mut changes = vec![SchemaChange::PutKeyspace(def)];
    for &id in tables {
        changes.push(SchemaChange::PutTable(Box::new(table(id, &format!("t{}", id.0[0])))));
    }
    Schema::empty().with_all(&changes)
}

/// The bug that `HELENUS_PLANT` names, where bugs are compiled in.
pub fn planted() -> planted::Planted {
    #[cfg(feature = "planted")]
    if let Ok(name) = std::env::var("HELENUS_PLANT") {
        return planted::Planted::named(&name).expect("a bug of the list");
    }
    planted::Planted::NONE
}

/// How a test opens its shards.
#[derive(Clone)]
pub struct Setup {
    pub options: StorageOptions,
    pub tables: Vec<TableId>,
    /// Whether the tables' keyspace asks for the log.
    pub durable_writes: bool,
    pub truncations: Truncations,
    /// The tables' compaction option, if it is not the default.
    pub compaction: Vec<(&'static str, &'static str)>,
    /// Whether the tables' partitions are kept in the row cache.
    pub caching: bool,
    /// The tables' grace; `None`: the default.
    pub gc_grace_seconds: Option<u32>,
}

impl Setup {
    pub fn new(folder: &Folder, boot: u64) -> Self {
        let mut options = StorageOptions::new(&folder.path, boot, 1 << 30);
        options.segment_bytes = 256 << 10;
        // Tests count files; those of compactions ask for them.
        options.compacts = false;
        options.planted = planted();
        Setup {
            options,
            tables: vec![TABLE, OTHER],
            durable_writes: true,
            truncations: Truncations::new(),
            compaction: Vec::new(),
            caching: false,
            gc_grace_seconds: None,
        }
    }

    pub fn boot(&self, boot: u64) -> Self {
        let mut setup = self.clone();
        setup.options.boot = boot;
        setup
    }

    pub fn periodic(mut self) -> Self {
        self.options.sync = SyncMode::Periodic { period: Duration::from_secs(3600) };
        self
    }

    /// The tables, with their options.
    pub fn schema(&self) -> Schema {
        let schema = schema_of(&self.tables, self.durable_writes);
        let altered = self.tables.iter().filter_map(|id| schema.table_by_id(*id)).map(|table| {
            let mut table = (**table).clone();
            if !self.compaction.is_empty() {
                let pairs = self.compaction.iter();
                table.options.compaction = pairs.map(|(name, value)| ((*name).into(), (*value).into())).collect();
            }
            let cached = if self.caching { "ALL" } else { "NONE" };
            for key in ["keys", "rows_per_partition"] {
                table.options.caching.insert(key.into(), cached.into());
            }
            table.options.gc_grace_seconds = self.gc_grace_seconds.unwrap_or(table.options.gc_grace_seconds);
            SchemaChange::PutTable(Box::new(table))
        });
        schema.with_all(&altered.collect::<Vec<_>>())
    }

    async fn open(self, runtime: Runtime, shards: u16) -> Result<Shard, OpenError> {
        let schema = self.schema();
        Shard::open(&runtime, self.options, Sharder::new(shards), &schema, &self.truncations).await
    }
}

/// Opens one shard and runs `body` on it.
pub fn with_shard<T, Fut>(setup: &Setup, body: impl FnOnce(Runtime, Shard) -> Fut + Send) -> Result<T, OpenError>
where
    T: Send,
    Fut: Future<Output = T>,
{
    let setup = setup.clone();
    let main = move |runtime: Runtime| async move {
        let shard = setup.open(runtime.clone(), 1).await?;
        shard.retire_old_segments().await?;
        Ok(body(runtime, shard).await)
    };
    let mut results = runtime::run(Options::default(), vec![main]).expect("a shard starts");
    results.pop().expect("one shard, one result")
}

/// Opens `count` shards, retires old segments as a node does, and runs `body` on each.
pub fn with_shards<T, Fut>(
    setup: &Setup,
    count: u16,
    retire: bool,
    body: impl Fn(Runtime, Shard) -> Fut + Send + Clone,
) -> Vec<T>
where
    T: Send,
    Fut: Future<Output = T>,
{
    let meeting = Meeting::of(count);
    let mains: Vec<_> = (0..count)
        .map(|_| {
            let (setup, body, meeting) = (setup.clone(), body.clone(), meeting.clone());
            move |runtime: Runtime| async move {
                let meeting = meeting.attend();
                let shard = setup.open(runtime.clone(), count).await.expect("the shard opens");
                meeting.wait(1);
                if retire {
                    shard.retire_old_segments().await.expect("old segments can be removed");
                }
                let result = body(runtime, shard.clone()).await;
                meeting.wait(2);
                result
            }
        })
        .collect();
    runtime::run(Options::default(), mains).expect("the shards start")
}

/// Where shards wait for each other; not for one that has panicked.
#[derive(Default)]
pub struct Meeting {
    shards: usize,
    arrived: AtomicUsize,
    is_over: AtomicBool,
}

impl Meeting {
    /// One of so many shards.
    pub fn of(shards: u16) -> Arc<Meeting> {
        Arc::new(Meeting { shards: usize::from(shards), ..Meeting::default() })
    }

    /// To be held by each shard: a panic ends the meeting.
    pub fn attend(self: Arc<Self>) -> Attending {
        Attending(self)
    }
}

/// A shard's part in a meeting.
pub struct Attending(Arc<Meeting>);

impl Attending {
    /// Waits until all shards have come here `times` times.
    pub fn wait(&self, times: usize) {
        let meeting = &*self.0;
        meeting.arrived.fetch_add(1, SeqCst);
        while meeting.arrived.load(SeqCst) < times * meeting.shards {
            assert!(!meeting.is_over.load(SeqCst), "another shard has panicked");
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

impl Drop for Attending {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_over.store(true, SeqCst);
        }
    }
}

/// Waits until it is so, for as long as no machine takes that does not hang.
pub async fn until(runtime: &Runtime, what: &str, is_so: impl Fn() -> bool) {
    let begun = runtime.now();
    while !is_so() {
        assert!(runtime.now() - begun < Duration::from_secs(60), "{what}");
        runtime.sleep(Duration::from_millis(5)).await;
    }
}

pub fn key_of(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

pub fn mutation(table: TableId, number: u32, timestamp: i64, value: &[u8]) -> Vec<u8> {
    let key = key_of(number);
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, table, token_of(&key), &key);
    encoder.row([]).liveness(timestamp, None).cell(ColumnId(1), timestamp, None, value);
    encoder.finish();
    out
}

/// Applies a mutation, waiting for room where there is none.
pub async fn apply(shard: &Shard, mutation: &[u8]) -> Ack {
    match apply_or_wait(shard, mutation).await {
        Ok(ack) => ack,
        Err(error) => panic!("the write was refused: {error}"),
    }
}

/// Applies a mutation as whoever serves requests does.
pub async fn apply_or_wait(shard: &Shard, mutation: &[u8]) -> Result<Ack, ApplyError> {
    let mut admission = shard.write_admission();
    loop {
        match shard.apply(mutation) {
            Ok(ack) => return Ok(ack),
            Err(error) => admission.after(error).await?,
        }
    }
}

/// Writes rows and waits until they are safe.
pub async fn write_rows(shard: &Shard, table: TableId, numbers: impl Iterator<Item = u32>, value: &[u8]) {
    for number in numbers {
        if let Ack::When(sequence) = apply(shard, &mutation(table, number, 1, value)).await {
            // Some wait at once, so that there are many groups.
            if number % 16 == 0 {
                shard.wait_synced(sequence).await.expect("the disk works");
            }
        }
    }
    shard.drain().await.expect("the disk works");
}

/// Writes rows to another table until memtables have all of the shard's memory.
pub async fn fill_memory(runtime: &Runtime, shard: &Shard, first: u32) {
    for number in first.. {
        match shard.apply(&mutation(OTHER, number, 1, &[7; 2_000])) {
            Ok(_) => {}
            Err(ApplyError::MemoryBusy) => return,
            // Less than that is in the log's buffers when it has caught up.
            Err(ApplyError::LogBusy) => runtime.sleep(Duration::from_micros(100)).await,
            Err(error) => panic!("the write was refused: {error}"),
        }
    }
}

#[derive(Default)]
struct Keys {
    keys: Vec<u32>,
}

impl RowSink for Keys {
    fn partition(&mut self, _: Token, key: &[u8], _: Option<LiveRow<'_>>) -> Flow {
        self.keys.push(u32::from_be_bytes(key.try_into().expect("a key of four bytes")));
        Flow::Continue
    }

    fn row(&mut self, _: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        assert!(row.cell(ColumnId(1)).is_some());
        Flow::Continue
    }
}

/// A truncation whose position is durable at once: for tests of what comes after, which hand it to the next start.
pub fn truncate(shard: &Shard, table: TableId) -> ReplayPosition {
    let position = shard.begin_truncation(table);
    shard.truncation_is_durable(table, position);
    position
}

/// The numbers of all rows in the table, ascending.
pub fn read_rows(shard: &Shard, table: TableId) -> Vec<u32> {
    let mut sink = Keys::default();
    let mut after: Option<Position> = None;
    loop {
        let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..ReadCommand::all(table, 1) };
        match shard.read(&command, &mut sink).done().expect("nothing was flushed") {
            ReadEnd::Complete => break,
            ReadEnd::Paused(position) | ReadEnd::Stopped(position) => after = Some(position),
        }
    }
    sink.keys.sort_unstable();
    sink.keys
}

/// The numbers of all rows in the table, ascending, from wherever they lie.
pub async fn read_all_rows(shard: &Shard, table: TableId) -> Vec<u32> {
    read_all_rows_at(shard, table, 1).await
}

/// The same, as of a second.
pub async fn read_all_rows_at(shard: &Shard, table: TableId, now_in_seconds: u32) -> Vec<u32> {
    let mut sink = Keys::default();
    let command = ReadCommand::all(table, now_in_seconds);
    let done = shard.read_through(&command, &mut sink).await.expect("the files can be read");
    assert_eq!(done, ReadDone::Complete);
    sink.keys.sort_unstable();
    sink.keys
}
