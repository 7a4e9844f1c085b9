//! What waiting for the disk takes: a commit log with one writer, beside a bare write of the same file's kind.
//!
//! Both write blocks of 4 KiB past the page cache into a file that was filled with zeros before, and wait for the disk with
//! each. What the log takes longer is its own: encoding, checksum, group and wake-up. They take turns, and so do the reactors
//! that are asked for, so that the disk's mood falls on all.

use std::io;
use std::path::Path;
use std::time::Duration;

use cql_types::CqlType;
use mutation::MutationEncoder;
use runtime::{AlignedBuf, File, OpenOptions, Runtime};
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::{Ack, Shard, StorageOptions, Truncations};
use topology::{ReplicationStrategy, Sharder, token_of};

/// The table that is written to.
const TABLE: TableId = TableId([1; 16]);
const BLOCK: usize = 4096;
/// Small, so that changes of segments are among what is measured.
const SEGMENT_BYTES: u64 = 4 << 20;
const FILL_BYTES: usize = 256 << 10;
const VALUE: [u8; 300] = [7; 300];

/// Waiting times, shortest first.
#[derive(Debug, Clone, Default)]
pub struct Waits {
    sorted: Vec<Duration>,
}

impl Waits {
    fn add(&mut self, more: Vec<Duration>) {
        self.sorted.extend(more);
        self.sorted.sort();
    }

    /// The time that `percent` of the waits did not exceed; zero if there was none.
    pub fn percentile(&self, percent: usize) -> Duration {
        let at = (self.sorted.len() * percent / 100).min(self.sorted.len().saturating_sub(1));
        self.sorted.get(at).copied().unwrap_or_default()
    }
}

/// Waits of the bare write and of the log.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Of a bare write.
    pub bare: Waits,
    /// Of a write to the log.
    pub log: Waits,
}

impl Measured {
    /// Adds what another turn measured.
    pub fn add(&mut self, more: Measured) {
        self.bare.add(more.bare.sorted);
        self.log.add(more.log.sorted);
    }
}

/// Measures `writes` of each in the folder, which is empty.
pub async fn measure(runtime: Runtime, folder: &Path, writes: u32) -> io::Result<Measured> {
    let bare = Bare::make(&runtime, folder, u64::from(writes)).await?;
    let mut options = StorageOptions::new(folder, 1, 1 << 30);
    options.segment_bytes = SEGMENT_BYTES;
    let opened = Shard::open(&runtime, options, Sharder::new(1), &schema(), &Truncations::new()).await;
    let shard = opened.map_err(io::Error::other)?;
    // The first segment is the only one that is not filled with zeros ahead.
    let warmup = (SEGMENT_BYTES / BLOCK as u64) as u32;
    log_writes(&runtime, &shard, 0, warmup).await?;

    let mut measured = Measured::default();
    measured.bare.add(bare.write(&runtime, writes).await?);
    measured.log.add(log_writes(&runtime, &shard, warmup, writes).await?);
    Ok(measured)
}

/// A file filled with zeros.
struct Bare {
    file: File,
}

impl Bare {
    async fn make(runtime: &Runtime, folder: &Path, blocks: u64) -> io::Result<Bare> {
        let path = folder.join("bare");
        let options = OpenOptions { write: true, create: true, direct: true, dsync: true, ..OpenOptions::default() };
        let file = runtime.open(&path, options).await?;
        let mut zeros = AlignedBuf::zeroed(FILL_BYTES);
        let mut offset = 0;
        while offset < blocks * BLOCK as u64 {
            let (result, buffer) = file.write_at(zeros, offset).await;
            result?;
            zeros = buffer;
            offset += FILL_BYTES as u64;
        }
        Ok(Bare { file })
    }

    async fn write(&self, runtime: &Runtime, blocks: u32) -> io::Result<Vec<Duration>> {
        let mut waits = Vec::with_capacity(blocks as usize);
        let mut block = AlignedBuf::zeroed(BLOCK);
        for number in 0..u64::from(blocks) {
            let begun = runtime.now();
            let (result, buffer) = self.file.write_at(block, number * BLOCK as u64).await;
            result?;
            waits.push(runtime.now() - begun);
            block = buffer;
        }
        Ok(waits)
    }
}

async fn log_writes(runtime: &Runtime, shard: &Shard, from: u32, writes: u32) -> io::Result<Vec<Duration>> {
    let mut waits = Vec::with_capacity(writes as usize);
    let mut mutation = Vec::new();
    for number in from..from + writes {
        encode(&mut mutation, number);
        let begun = runtime.now();
        let Ack::When(sequence) = shard.apply(&mutation).map_err(io::Error::other)? else {
            return Err(io::Error::other("commit log does not wait for the disk"));
        };
        shard.wait_synced(sequence).await.map_err(io::Error::other)?;
        waits.push(runtime.now() - begun);
    }
    Ok(waits)
}

fn encode(out: &mut Vec<u8>, number: u32) {
    let key = number.to_be_bytes();
    out.clear();
    let mut encoder = MutationEncoder::begin(out, TABLE, token_of(&key), &key);
    encoder.row([]).liveness(1, None).cell(ColumnId(1), 1, None, &VALUE);
    encoder.finish();
}

fn schema() -> Schema {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "key", CqlType::Blob),
        Column::new(ColumnKind::Regular, ColumnId(1), "value", CqlType::Blob),
    ];
    let keyspace = KeyspaceDef {
        name: "bench".to_owned(),
        replication: Default::default(),
        strategy: ReplicationStrategy::Simple { replication_factor: 1 },
        durable_writes: true,
        tenure: 0,
    };
    let table = Table::new(TABLE, "bench", "written", columns, TableOptions::default());
    Schema::empty().with_all(&[SchemaChange::PutKeyspace(keyspace), SchemaChange::PutTable(Box::new(table))])
}
