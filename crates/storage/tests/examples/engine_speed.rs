//! What the engine costs: CPU per write and per read with a million rows of the published table in memory, and the
//! speed of a replay. `cargo run --release -p helenus-storage-tests --example engine_speed [rows] [folder]`.
//!
//! CPU time of the thread is what counts, as the gate of a request does; the disk's part shows only where the log makes
//! writes wait.
use std::path::{Path, PathBuf};
use std::time::Duration;

use cql_types::CqlType;
use mutation::{ClusteringRef, LiveRow, MutationEncoder, Position, ReadCommand};
use runtime::{Options, Runtime};
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::{Ack, ApplyError, Flow, ReadEnd, RowSink, Shard, StorageOptions, SyncMode, Truncations};
use topology::{ReplicationStrategy, Sharder, Token, token_of};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TABLE: TableId = TableId([1; 16]);
const COLUMNS: u16 = 5;
const VALUE_BYTES: usize = 58;
/// Operations between two turns of the loop: a deep pipeline's.
const DEPTH: u64 = 128;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().map_or(1_000_000, |rows| rows.parse().expect("a count of rows"));
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from).join("helenus-engine-speed");
    let periodic = SyncMode::Periodic { period: Duration::from_secs(10) };
    for (name, sync) in [("periodic", periodic), ("group", SyncMode::Group)] {
        println!("{name}");
        start(&folder, 1, sync, move |runtime, shard| measure(runtime, shard, rows));
        let log = folder.join("commitlog");
        start(&folder, 2, sync, move |runtime, shard| async move {
            println!("  replayed {} mutations", shard.stats().replayed);
            runtime.remove_dir_all(&log).await.expect("the folder was made above");
        });
    }
}

fn start<Fut: Future<Output = ()>>(
    folder: &Path,
    boot: u64,
    sync: SyncMode,
    body: impl FnOnce(Runtime, Shard) -> Fut + Send,
) {
    let mut options = StorageOptions::new(folder, boot, 8 << 30);
    options.sync = sync;
    let main = async move |runtime: Runtime| {
        let (began, cpu) = (runtime.now(), cpu_nanos(&runtime).await);
        let opened = Shard::open(&runtime, options, Sharder::new(1), &schema(), &Truncations::new()).await;
        let shard = opened.expect("the shard opens");
        println!("  open: {:?}, {} ms of CPU", runtime.now() - began, (cpu_nanos(&runtime).await - cpu) / 1_000_000);
        body(runtime.clone(), shard).await;
        let stats = runtime.stats();
        println!("  longest poll {:?}, {} over 1 ms", stats.longest_poll, stats.stalls_over_1ms);
    };
    runtime::run(Options::default(), vec![main]).expect("a shard starts");
}

async fn measure(runtime: Runtime, shard: Shard, rows: u64) {
    for round in 0..2 {
        write_all(&runtime, &shard, rows, round).await;
    }
    for _ in 0..2 {
        read_all(&runtime, &shard, rows).await;
    }
    scan(&runtime, &shard, rows).await;
}

async fn write_all(runtime: &Runtime, shard: &Shard, rows: u64, round: u64) {
    let mut bytes = Vec::new();
    let (began, cpu) = (runtime.now(), cpu_nanos(runtime).await);
    for number in 0..rows {
        encode(number, 1, &mut bytes);
        std::hint::black_box(&bytes);
        if number % DEPTH == 0 {
            runtime.yield_now().await;
        }
    }
    let of_caller = cpu_nanos(runtime).await - cpu;
    let cpu = cpu_nanos(runtime).await;
    let mut last = Ack::Now;
    for index in 0..rows {
        // Rows are overwritten in another order than the one they lie in.
        let number = if round == 0 { index } else { index.wrapping_mul(2_654_435_761) % rows };
        encode(number, (round * rows + index) as i64, &mut bytes);
        loop {
            match shard.apply(&bytes) {
                Ok(ack) => break last = ack,
                Err(ApplyError::LogBusy) => shard.room().await,
                Err(error) => panic!("{error}"),
            }
        }
        if index % DEPTH == 0 {
            runtime.yield_now().await;
        }
    }
    if let Ack::When(sequence) = last {
        shard.wait_synced(sequence).await.expect("the disk works");
    }
    let cpu = (cpu_nanos(runtime).await - cpu).saturating_sub(of_caller);
    let stats = shard.stats();
    println!(
        "  write {round}: {} ns of CPU each with the log's task, without encoding; {:?} in all; {} B/row in memory; {} groups, {} MB written",
        cpu / rows,
        runtime.now() - began,
        stats.memory_used as u64 / rows,
        stats.log_groups,
        stats.log_written >> 20,
    );
}

async fn read_all(runtime: &Runtime, shard: &Shard, rows: u64) {
    let mut sink = Sum(0);
    let cpu = cpu_nanos(runtime).await;
    for index in 0..rows {
        let number = index.wrapping_mul(2_654_435_761) % rows;
        let key = key_of(number);
        let command = ReadCommand::partition(TABLE, token_of(&key), &key, 1);
        assert_eq!(shard.read(&command, &mut sink).done(), Some(ReadEnd::Complete));
        if index % DEPTH == 0 {
            runtime.yield_now().await;
        }
    }
    println!("  read: {} ns of CPU each ({})", (cpu_nanos(runtime).await - cpu) / rows, sink.0 % 10);
}

async fn scan(runtime: &Runtime, shard: &Shard, rows: u64) {
    let mut sink = Sum(0);
    let cpu = cpu_nanos(runtime).await;
    let mut after: Option<Position> = None;
    loop {
        let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..ReadCommand::all(TABLE, 1) };
        match shard.read(&command, &mut sink).done().expect("nothing was flushed") {
            ReadEnd::Complete => break,
            ReadEnd::Paused(position) | ReadEnd::Stopped(position) => after = Some(position),
        }
        runtime.yield_now().await;
    }
    println!("  scan: {} ns of CPU per row ({})", (cpu_nanos(runtime).await - cpu) / rows, sink.0 % 10);
}

/// Reads all values, as writing them to a reply does.
struct Sum(u64);

impl RowSink for Sum {
    fn partition(&mut self, _: Token, key: &[u8], _: Option<LiveRow<'_>>) -> Flow {
        self.0 += key.len() as u64;
        Flow::Continue
    }

    fn row(&mut self, _: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        for cell in row.cells() {
            self.0 += cell.value.iter().step_by(64).map(|&byte| u64::from(byte)).sum::<u64>();
        }
        Flow::Continue
    }
}

fn key_of(number: u64) -> [u8; 10] {
    let mut key = [b'k'; 10];
    key[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key
}

fn encode(number: u64, timestamp: i64, out: &mut Vec<u8>) {
    out.clear();
    let key = key_of(number);
    let mut encoder = MutationEncoder::begin(out, TABLE, token_of(&key), &key);
    let mut row = encoder.row([]);
    row.liveness(timestamp, None);
    for column in 1..=COLUMNS {
        row.cell(ColumnId(column), timestamp, None, &[column as u8; VALUE_BYTES]);
    }
    encoder.finish();
}

fn schema() -> Schema {
    let mut columns = vec![Column::new(ColumnKind::PartitionKey, ColumnId(0), "key", CqlType::Blob)];
    columns.extend(
        (1..=COLUMNS).map(|id| Column::new(ColumnKind::Regular, ColumnId(id), format!("C{}", id - 1), CqlType::Blob)),
    );
    let def = KeyspaceDef {
        name: "ks".to_owned(),
        replication: Default::default(),
        strategy: ReplicationStrategy::Simple { replication_factor: 1 },
        durable_writes: true,
        tenure: 0,
    };
    let table = Table::new(TABLE, "ks", "standard1", columns, TableOptions::default());
    Schema::empty().with_all(&[SchemaChange::PutKeyspace(def), SchemaChange::PutTable(Box::new(table))])
}

/// CPU time of the process: its helper threads, too, work for the shard.
async fn cpu_nanos(runtime: &Runtime) -> u64 {
    let tasks = Path::new("/proc/self/task");
    let mut sum = 0;
    for task in runtime.read_dir(tasks).await.expect("Linux has /proc") {
        let path = tasks.join(task.name).join("schedstat");
        let statistics = runtime.read_file(&path).await.expect("Linux with scheduler statistics");
        let first = statistics.split(|&byte| byte == b' ').next().and_then(|nanos| std::str::from_utf8(nanos).ok());
        sum += first.and_then(|nanos| nanos.parse::<u64>().ok()).expect("nanoseconds come first");
    }
    sum
}
