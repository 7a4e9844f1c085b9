//! What the row cache saves and costs: CPU per point read of a row of the published table from files without a cache, from the
//! cache, and from a memtable; CPU of fills, and of a flush over rows that are cached.
//! `cargo run --release -p helenus-storage-tests --example cache_speed [rows] [folder]`.

#[path = "cache_speed/published.rs"]
mod published;

use std::path::PathBuf;

use mutation::ReadCommand;
use runtime::{Options, Runtime};
use storage::reader::ReadDone;
use storage::{ApplyError, ReadEnd, Shard, StorageOptions, SyncMode, Truncations};
use topology::{Sharder, token_of};

use published::{Sum, TABLE, cpu_nanos, encode, key_of, schema};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Operations between two turns of the loop: a deep pipeline's.
const DEPTH: u64 = 128;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rows: u64 = arguments.next().map_or(200_000, |rows| rows.parse().expect("a count of rows"));
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from).join("helenus-cache-speed");
    for row_cache_bytes in [0, 1 << 30] {
        println!("{}", if row_cache_bytes == 0 { "without a cache" } else { "with a cache" });
        let mut options = StorageOptions::new(&folder, 1, 1 << 30);
        options.row_cache_bytes = row_cache_bytes;
        options.memtables_and_cache_bytes = 4 << 30;
        options.compacts = false;
        options.sync = SyncMode::Periodic { period: std::time::Duration::from_secs(10) };
        let path = folder.clone();
        let main = async move |runtime: Runtime| {
            // What a run before has left.
            let _ = runtime.remove_dir_all(&path).await;
            let opened = Shard::open(&runtime, options, Sharder::new(1), &schema(), &Truncations::new()).await;
            let shard = opened.expect("the shard opens");
            shard.retire_old_segments().await.expect("there are none");
            measure(&runtime, &shard, rows, row_cache_bytes > 0).await;
            let stats = runtime.stats();
            runtime.remove_dir_all(&path).await.expect("it was made above");
            println!("  longest poll {:?}, {} over 1 ms", stats.longest_poll, stats.stalls_over_1ms);
        };
        runtime::run(Options::default(), vec![main]).expect("a shard starts");
    }
}

async fn measure(runtime: &Runtime, shard: &Shard, rows: u64, has_cache: bool) {
    write_all(runtime, shard, rows, 0).await;
    read_here(runtime, shard, rows, "from the memtable").await;
    flush(runtime, shard, rows, "flush").await;
    read_through(runtime, shard, rows, if has_cache { "from a file, with a fill" } else { "from a file" }).await;
    if !has_cache {
        read_through(runtime, shard, rows, "from a file again").await;
        return;
    }
    read_here(runtime, shard, rows, "from the cache").await;
    read_here(runtime, shard, rows, "from the cache again").await;
    read_here(runtime, shard, rows.min(10_000), "from the cache, few rows").await;
    write_all(runtime, shard, rows, 1).await;
    read_through(runtime, shard, rows, "from memtable and cache together").await;
    flush(runtime, shard, rows, "flush, every row cached").await;
    read_here(runtime, shard, rows, "from the cache after it").await;
    println!("  {:?}", shard.cache_counters());
}

async fn write_all(runtime: &Runtime, shard: &Shard, rows: u64, round: i64) {
    let mut bytes = Vec::new();
    for number in 0..rows {
        encode(number, round, &mut bytes);
        loop {
            match shard.apply(&bytes) {
                Ok(_) => break,
                Err(ApplyError::LogBusy) => shard.room().await,
                Err(error) => panic!("{error}"),
            }
        }
        if number % DEPTH == 0 {
            runtime.yield_now().await;
        }
    }
    shard.drain().await.expect("the disk works");
}

async fn flush(runtime: &Runtime, shard: &Shard, rows: u64, what: &str) {
    let (began, cpu) = (runtime.now(), cpu_nanos(runtime).await);
    shard.flush(TABLE).await.expect("it can be written");
    let cpu = cpu_nanos(runtime).await - cpu;
    println!("  {what}: {} ns of CPU a row, {:?} in all", cpu / rows, runtime.now() - began);
}

/// Reads in one call each.
async fn read_here(runtime: &Runtime, shard: &Shard, rows: u64, what: &str) {
    let reads = rows.max(200_000);
    let mut sink = Sum(0);
    let cpu = cpu_nanos(runtime).await;
    for index in 0..reads {
        let key = key_of(index.wrapping_mul(2_654_435_761) % rows);
        let command = ReadCommand::partition(TABLE, token_of(&key), &key, 1);
        assert_eq!(shard.read(&command, &mut sink).done(), Some(ReadEnd::Complete));
        if index % DEPTH == 0 {
            runtime.yield_now().await;
        }
    }
    println!("  {what}: {} ns of CPU a read ({})", (cpu_nanos(runtime).await - cpu) / reads, sink.0 % 10);
}

/// Reads as tasks do.
async fn read_through(runtime: &Runtime, shard: &Shard, rows: u64, what: &str) {
    let mut sink = Sum(0);
    let cpu = cpu_nanos(runtime).await;
    for index in 0..rows {
        let key = key_of(index.wrapping_mul(2_654_435_761) % rows);
        let command = ReadCommand::partition(TABLE, token_of(&key), &key, 1);
        assert!(shard.read(&command, &mut sink).would_block());
        let done = shard.read_through(&command, &mut sink).await.expect("the file can be read");
        assert_eq!(done, ReadDone::Complete);
        if index % DEPTH == 0 {
            runtime.yield_now().await;
        }
    }
    println!("  {what}: {} ns of CPU a read ({})", (cpu_nanos(runtime).await - cpu) / rows, sink.0 % 10);
}
