//! The metadata log on the real runtime, with the schema as a domain: the harness of the crate's tests.

#![expect(clippy::disallowed_methods, reason = "a test makes and damages its files outside of the shards")]

mod asking;
mod bugs;
mod chance;
mod compaction;
mod driver;
mod entries;
mod full;
mod golden;
mod group;
mod members;
mod power;
mod reading;
mod wire;

use std::collections::BTreeSet;
use std::future::Future;
use std::path::{Path, PathBuf};

use runtime::{Options, Runtime};
use schema::{KeyspaceDef, Schema, SchemaChange};
use topology::{HostId, ReplicationStrategy};

use super::file::Bounds;
use super::file::layout::{self, BLOCK};
use super::*;

/// So that few records are many.
const SMALL: Bounds = Bounds { compact_bytes: 16 * BLOCK as u64, log_bytes_max: 256 * BLOCK as u64 };

const TABLE: [u8; 16] = [9; 16];

/// A folder of its own for one test, removed when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("helenus-metadata-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder for the test can be made");
        Folder(path)
    }

    fn log(&self) -> PathBuf {
        self.0.join("metadata.log")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The schema, as the product registers it.
struct SchemaDomain;

impl Domain for SchemaDomain {
    const ID: DomainId = DomainId::SCHEMA;
    const NAME: &'static str = "schema";
    const VERSION: u8 = schema::domain::VERSION;
    type State = Schema;
    type Change = Vec<SchemaChange>;

    fn decode(_: u8, bytes: &[u8]) -> Result<Vec<SchemaChange>, DecodeError> {
        schema::domain::decode(bytes).map_err(|error| match error {
            schema::DecodeError::NewerVersion { version, supported } => {
                DecodeError::NewerVersion { version, supported }
            }
            error => DecodeError::Invalid { problem: error.to_string() },
        })
    }

    fn apply(state: &Schema, changes: Vec<Vec<SchemaChange>>) -> Schema {
        state.with_all(&changes.concat())
    }

    fn snapshot(state: &Schema) -> Option<Vec<u8>> {
        schema::domain::snapshot(state)
    }

    fn gives_room_back(changes: &Vec<SchemaChange>) -> bool {
        schema::domain::gives_room_back(changes)
    }

    fn live_tables(state: &Schema) -> BTreeSet<[u8; 16]> {
        schema::domain::live_tables(state)
    }
}

fn domains() -> Domains {
    Domains::none().with::<SchemaDomain>()
}

/// Runs `work` on a runtime of one shard.
fn on_runtime<T: Send, Fut: Future<Output = T>>(work: impl FnOnce(Runtime) -> Fut + Send) -> T {
    let mut results = runtime::run(Options::default(), vec![work]).expect("a runtime of one shard starts");
    results.pop().expect("one shard gives one result")
}

fn keyspace(name: &str) -> SchemaChange {
    SchemaChange::PutKeyspace(KeyspaceDef {
        name: name.to_owned(),
        replication: [
            ("class".to_owned(), "org.apache.cassandra.locator.SimpleStrategy".to_owned()),
            ("replication_factor".to_owned(), "1".to_owned()),
        ]
        .into(),
        strategy: ReplicationStrategy::Simple { replication_factor: 1 },
        durable_writes: true,
        tenure: 0,
    })
}

fn host_id() -> Record {
    Fact::HostId(HostId([7; 16])).into()
}

fn boot(number: u64) -> Record {
    Fact::Boot(number).into()
}

fn schema_record(changes: Vec<SchemaChange>) -> Record {
    let (domain, version) = (DomainId::SCHEMA, schema::domain::VERSION);
    Entry::of(Part { domain, version, bytes: schema::domain::encode(&changes) }).into()
}

fn truncated(positions: Vec<Position>) -> Record {
    Fact::Truncated(Truncation { table: TABLE, positions, mark: None }).into()
}

fn truncation(sequence: u64) -> Record {
    truncated(vec![Position { boot: 1, shard: 3, sequence }])
}

fn some_records() -> Vec<Record> {
    vec![
        host_id(),
        boot(1),
        schema_record(vec![keyspace("k"), SchemaChange::DropKeyspace("old".to_owned())]),
        // Longer than a block.
        schema_record(vec![keyspace(&"long".repeat(3000))]),
        truncation(77),
    ]
}

/// The numbers of the starts among `records`.
fn boots(records: &[Record]) -> Vec<u64> {
    let boots = records.iter().filter_map(|record| match record {
        Record::Local(Fact::Boot(number)) => Some(*number),
        _ => None,
    });
    boots.collect()
}

/// The schema that `records` result in.
fn schema_of(records: &[Record]) -> Schema {
    let parts = records.iter().flat_map(|record| match record {
        Record::Entry(entry) => entry.parts(),
        Record::Local(_) | Record::Group(_) | Record::Several(_) => &[],
    });
    let changes = parts.flat_map(|part| schema::domain::decode(&part.bytes).expect("changes of the schema"));
    Schema::empty().with_all(&changes.collect::<Vec<_>>())
}

/// The keyspaces that are there after these records.
fn keyspaces(records: &[Record]) -> Vec<String> {
    schema_of(records).keyspaces().keys().map(|name| name.to_string()).collect()
}

/// Opens the log in `dir` and reads which records it has from then on.
async fn open_log(rt: &Runtime, dir: &Path) -> Result<(MetadataLog, Vec<Record>), MetadataError> {
    let opened = MetadataLog::open(rt, dir, &domains()).await?;
    Ok((opened.log, records_on(rt, dir).await))
}

async fn open_small(rt: &Runtime, dir: &Path) -> (MetadataLog, Vec<Record>) {
    let opened = MetadataLog::open_bounded(rt, dir, &domains(), SMALL).await.expect("the log opens");
    (opened.log, records_on(rt, dir).await)
}

/// The whole records of the log in `dir`.
async fn records_on(rt: &Runtime, dir: &Path) -> Vec<Record> {
    let path = dir.join("metadata.log");
    let options = runtime::OpenOptions { read: true, ..runtime::OpenOptions::default() };
    let file = rt.open(&path, options).await.expect("the log is there");
    let length = file.len().await.expect("it has a length");
    let buffer = runtime::AlignedBuf::with_capacity(usize::try_from(length).expect("it is short") + BLOCK);
    let (read, bytes) = file.read_at(buffer, 0).await;
    assert_eq!(read.expect("the log can be read") as u64, length);
    let (mut records, mut offset) = (Vec::new(), BLOCK);
    while let layout::Found::Record(found) = layout::find(&bytes, offset, records.len() as u64) {
        records.push(Record::decode(found.payload).expect("a record"));
        offset = found.end;
    }
    records
}

/// Writes `records` to a new log in `dir`.
fn write(dir: &Path, records: &[Record]) {
    on_runtime(|rt| async move {
        let (log, found) = open_log(&rt, dir).await.expect("the log opens");
        assert_eq!(found, []);
        for record in records {
            log.append(record).await.expect("a record is appended");
        }
    });
}

fn open(dir: &Path) -> Result<Vec<Record>, String> {
    on_runtime(
        |rt| async move { open_log(&rt, dir).await.map(|(_, records)| records).map_err(|error| error.to_string()) },
    )
}

/// The log's bytes without the zeros that are kept after its last record.
fn records_of(folder: &Folder) -> Vec<u8> {
    let mut bytes = std::fs::read(folder.log()).expect("the log can be read");
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(used.next_multiple_of(BLOCK));
    bytes
}

/// A put of a keyspace that takes `blocks` blocks.
fn large(name: &str, blocks: usize) -> Record {
    schema_record(vec![keyspace(&format!("{name}{}", "x".repeat(blocks * BLOCK - BLOCK / 2)))])
}

/// A log of `count` records of little meaning: one keyspace put and dropped again and again.
fn long_log(count: u64) -> Vec<u8> {
    let mut records = some_records();
    for number in 0..count {
        records.push(boot(number));
        records.push(schema_record(vec![keyspace("again")]));
        records.push(schema_record(vec![SchemaChange::DropKeyspace("again".to_owned())]));
    }
    layout::file_of(records.iter().map(Record::to_bytes))
}
