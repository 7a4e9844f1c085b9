//! The metadata log on the real runtime, and its bytes cut, flipped and forged.

#![expect(clippy::disallowed_methods, reason = "a test makes and damages its files outside of the shards")]

mod golden;
mod power;

use std::future::Future;
use std::path::{Path, PathBuf};

use planted::Planted;
use proptest::prelude::*;
use runtime::{Options, Runtime};
use schema::{KeyspaceDef, SchemaChange, TableId};
use storage::ReplayPosition;
use topology::{HostId, ReplicationStrategy};

use super::layout::{self, BLOCK};
use super::log::Bounds;
use super::*;

/// So that few records are many.
const SMALL: Bounds = Bounds { condense_bytes: 16 * BLOCK as u64, log_bytes_max: 256 * BLOCK as u64 };

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
    })
}

fn some_records() -> Vec<MetadataRecord> {
    vec![
        MetadataRecord::HostId(HostId([7; 16])),
        MetadataRecord::Boot(1),
        MetadataRecord::Schema(vec![keyspace("k"), SchemaChange::DropKeyspace("old".to_owned())]),
        // Longer than a block.
        MetadataRecord::Schema(vec![keyspace(&"long".repeat(3000))]),
        MetadataRecord::Truncated {
            table: TableId([9; 16]),
            positions: vec![ReplayPosition { boot: 1, shard: 3, sequence: 77 }],
        },
    ]
}

/// Writes `records` to a new log in `dir`.
fn write(dir: &Path, records: &[MetadataRecord]) {
    on_runtime(|rt| async move {
        let (log, found) = MetadataLog::open(&rt, dir).await.expect("the log opens");
        assert_eq!(found, []);
        for record in records {
            log.append(record).await.expect("a record is appended");
        }
    });
}

fn open(dir: &Path) -> Result<Vec<MetadataRecord>, String> {
    on_runtime(|rt| async move {
        MetadataLog::open(&rt, dir).await.map(|(_, records)| records).map_err(|error| error.to_string())
    })
}

/// The log's bytes without the zeros that are kept behind its last record.
fn records_of(folder: &Folder) -> Vec<u8> {
    let mut bytes = std::fs::read(folder.log()).expect("the log can be read");
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(used.next_multiple_of(BLOCK));
    bytes
}

#[test]
fn records_come_back_in_order_and_more_can_follow() {
    let folder = Folder::new("order");
    write(&folder.0, &some_records());
    assert_eq!(open(&folder.0), Ok(some_records()));
    let again = on_runtime(|rt| async move {
        let (log, mut records) = MetadataLog::open(&rt, &folder.0).await.expect("the log opens");
        log.append(&MetadataRecord::Boot(2)).await.expect("a record is appended");
        records.push(MetadataRecord::Boot(2));
        let (_, found) = MetadataLog::open(&rt, &folder.0).await.expect("the log opens");
        assert_eq!(found, records);
        found.len()
    });
    assert_eq!(again, some_records().len() + 1);
}

#[test]
fn appends_at_once_take_turns() {
    let folder = Folder::new("turns");
    on_runtime(|rt| async {
        let rt = rt;
        let (log, _) = MetadataLog::open(&rt, &folder.0).await.expect("the log opens");
        let tasks: Vec<_> = (0..20)
            .map(|number| {
                let log = log.clone();
                rt.spawn(runtime::Group::Query, async move { log.append(&MetadataRecord::Boot(number)).await })
            })
            .collect();
        for task in tasks {
            task.await.expect("a record is appended");
        }
    });
    let mut found = open(&folder.0).expect("the log opens");
    found.sort_by_key(|record| match record {
        MetadataRecord::Boot(number) => *number,
        _ => u64::MAX,
    });
    assert_eq!(found, (0..20).map(MetadataRecord::Boot).collect::<Vec<_>>());
}

#[test]
fn a_torn_end_is_dropped_and_written_over() {
    let folder = Folder::new("torn");
    write(&folder.0, &some_records());
    let whole = records_of(&folder);
    let last = whole.len() - BLOCK;
    // Cut anywhere in the last record, or its bytes never written.
    for cut in [last + 1, last + 20, last + 30] {
        std::fs::write(folder.log(), &whole[..cut]).expect("the log can be written");
        assert_eq!(open(&folder.0).as_deref(), Ok(&some_records()[..4]), "cut at {cut}");
        assert_eq!(records_of(&folder), whole[..last], "cut at {cut}");
    }
    let mut zeroed = whole.clone();
    zeroed[last..].fill(0);
    std::fs::write(folder.log(), &zeroed).expect("the log can be written");
    assert_eq!(open(&folder.0).as_deref(), Ok(&some_records()[..4]));
}

#[test]
fn damage_before_the_last_record_is_refused_with_its_place() {
    let folder = Folder::new("damage");
    write(&folder.0, &some_records());
    let whole = std::fs::read(folder.log()).expect("the log can be read");
    for flipped in [BLOCK + 3, BLOCK + 17, BLOCK + 25, 2 * BLOCK + 1, 4 * BLOCK + 100, 5 * BLOCK] {
        let mut bytes = whole.clone();
        bytes[flipped] ^= 0x40;
        std::fs::write(folder.log(), &bytes).expect("the log can be written");
        let error = open(&folder.0).expect_err("damage is refused");
        // The fourth record takes several blocks.
        let offset = if flipped >= 4 * BLOCK { 4 * BLOCK } else { flipped / BLOCK * BLOCK };
        assert!(error.contains(&format!("is damaged at byte {offset}")), "flipped {flipped}: {error}");
        assert!(error.contains("metadata.log"), "{error}");
    }
}

#[test]
fn another_format_is_refused_in_one_sentence() {
    let folder = Folder::new("format");
    write(&folder.0, &some_records());
    let mut bytes = std::fs::read(folder.log()).expect("the log can be read");
    bytes[..BLOCK].copy_from_slice(&layout::file_header_of(2));
    std::fs::write(folder.log(), &bytes).expect("the log can be written");
    let error = open(&folder.0).expect_err("a newer format is refused");
    assert!(error.ends_with("was written in format version 2 by a newer Helenus, and this one reads up to version 1"));
    std::fs::write(folder.log(), b"something else").expect("the log can be written");
    assert!(open(&folder.0).expect_err("another file is refused").contains("is not a metadata log"));
}

/// A log of `count` records that come to little: one keyspace put and dropped again and again.
fn long_log(count: u64) -> Vec<u8> {
    let mut records = some_records();
    for number in 0..count {
        records.push(MetadataRecord::Boot(number));
        records.push(MetadataRecord::Schema(vec![keyspace("again")]));
        records.push(MetadataRecord::Schema(vec![SchemaChange::DropKeyspace("again".to_owned())]));
    }
    layout::file_of(records.iter().map(MetadataRecord::to_bytes))
}

#[test]
fn a_long_log_is_written_anew() {
    let folder = Folder::new("long");
    let long = long_log(400);
    std::fs::write(folder.log(), &long).expect("the log can be written");
    let records = open(&folder.0).expect("the log opens");
    assert_eq!(records[..2], [MetadataRecord::HostId(HostId([7; 16])), MetadataRecord::Boot(399)]);
    // The truncated table is not in the schema, and the rest is one record.
    assert_eq!(records.len(), 3);
    let length = records_of(&folder).len();
    assert!(length < long.len() / 100, "{length}");
    assert_eq!(open(&folder.0).as_ref(), Ok(&records));
    let more = on_runtime(|rt| async move {
        let (log, _) = MetadataLog::open(&rt, &folder.0).await.expect("the log opens");
        log.append(&MetadataRecord::Boot(400)).await.expect("a record is appended");
        MetadataLog::open(&rt, &folder.0).await.map(|(_, records)| records).expect("the log opens")
    });
    assert_eq!(more.last(), Some(&MetadataRecord::Boot(400)));
    assert_eq!(more[..3], records);
}

#[test]
fn condensing_keeps_the_schema_and_the_last_truncations() {
    let position = |boot, shard, sequence| ReplayPosition { boot, shard, sequence };
    let table = schema::Table::new(
        TableId([9; 16]),
        "k",
        "t",
        vec![schema::Column::new(schema::ColumnKind::PartitionKey, schema::ColumnId(0), "k", cql_types::CqlType::Int)],
        schema::TableOptions::default(),
    );
    let mut records = some_records();
    records.push(MetadataRecord::Schema(vec![SchemaChange::PutTable(Box::new(table))]));
    records.push(MetadataRecord::Truncated {
        table: TableId([9; 16]),
        positions: vec![position(2, 3, 1), position(2, 0, 5)],
    });
    let condensed = condense::condense(&records);
    let schema_of = |records: &[MetadataRecord]| {
        let changes = records.iter().filter_map(|record| match record {
            MetadataRecord::Schema(changes) => Some(changes.clone()),
            _ => None,
        });
        schema::Schema::empty().with_all(&changes.flatten().collect::<Vec<_>>()).version()
    };
    assert_eq!(schema_of(&condensed), schema_of(&records));
    assert_eq!(
        condensed.last(),
        Some(&MetadataRecord::Truncated {
            table: TableId([9; 16]),
            positions: vec![position(2, 0, 5), position(2, 3, 1)],
        })
    );
    assert_eq!(condense::condense(&condensed), condensed);
}

async fn open_small(rt: &Runtime, dir: &Path) -> (MetadataLog, Vec<MetadataRecord>) {
    MetadataLog::open_bounded(rt, dir, Planted::NONE, SMALL).await.expect("the log opens")
}

/// A put of a keyspace that takes `blocks` blocks.
fn large(name: &str, blocks: usize) -> MetadataRecord {
    MetadataRecord::Schema(vec![keyspace(&format!("{name}{}", "x".repeat(blocks * BLOCK - BLOCK / 2)))])
}

fn truncation(sequence: u64) -> MetadataRecord {
    let positions = vec![ReplayPosition { boot: 1, shard: 3, sequence }];
    MetadataRecord::Truncated { table: TableId([9; 16]), positions }
}

/// The keyspaces that are there after these records.
fn keyspaces(records: &[MetadataRecord]) -> Vec<String> {
    let changes = records.iter().filter_map(|record| match record {
        MetadataRecord::Schema(changes) => Some(changes.clone()),
        _ => None,
    });
    let schema = schema::Schema::empty().with_all(&changes.flatten().collect::<Vec<_>>());
    schema.keyspaces().keys().map(|name| name.to_string()).collect()
}

#[test]
fn an_open_log_never_grows_past_what_a_start_reads() {
    let folder = Folder::new("grows");
    let blocks = on_runtime(|rt| async {
        let rt = rt;
        let (log, _) = open_small(&rt, &folder.0).await;
        for record in some_records() {
            log.append(&record).await.expect("a record is appended");
        }
        let mut blocks_max = 0;
        // Twice as many as are read.
        for number in 0..2 * 4 * 256 {
            let record = match number % 3 {
                0 => MetadataRecord::Schema(vec![keyspace("again")]),
                1 => truncation(number),
                _ => MetadataRecord::Schema(vec![SchemaChange::DropKeyspace("again".to_owned())]),
            };
            log.append(&record).await.expect("a record is appended");
            blocks_max = blocks_max.max(std::fs::metadata(folder.log()).expect("it is there").len() / BLOCK as u64);
        }
        log.append(&MetadataRecord::Boot(2)).await.expect("a record is appended");
        blocks_max
    });
    assert!(blocks < 100, "{blocks} blocks, of which up to 32 are reserve");
    let records = on_runtime(|rt| async move { open_small(&rt, &folder.0).await.1 });
    assert_eq!(records[0], MetadataRecord::HostId(HostId([7; 16])));
    assert_eq!(records.last(), Some(&MetadataRecord::Boot(2)));
    assert_eq!(keyspaces(&records), ["again".to_owned(), "k".to_owned(), "long".repeat(3000)]);
}

#[test]
fn a_schema_that_would_fill_the_log_is_refused_and_what_gives_room_back_is_not() {
    let folder = Folder::new("fills");
    on_runtime(|rt| async {
        let rt = rt;
        let (log, _) = open_small(&rt, &folder.0).await;
        let mut taken = 0;
        let refusal = loop {
            assert!(taken < 100, "a thousand blocks are taken, and a start reads as many");
            match log.append(&large(&format!("k{taken}"), 10)).await {
                Ok(()) => taken += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refusal, MetadataError::Full { bytes_max, .. } if bytes_max == SMALL.log_bytes_max / 2));
        assert!(refusal.to_string().ends_with("drop what is not needed"), "{refusal}");
        // 128 blocks, and nine and a half a keyspace when they are one record.
        assert_eq!(taken, 13);
        log.check().expect("it takes records");
        for number in 0..1000 {
            log.append(&truncation(number)).await.expect("a truncation is taken");
        }
        assert!(matches!(log.append(&large("more", 10)).await, Err(MetadataError::Full { .. })));
        let (_, records) = open_small(&rt, &folder.0).await;
        assert_eq!(keyspaces(&records).len(), taken);
        let dropped = keyspaces(&records)[0].clone();
        let drop = MetadataRecord::Schema(vec![SchemaChange::DropKeyspace(dropped)]);
        log.append(&drop).await.expect("a drop is taken");
        log.append(&large("more", 10)).await.expect("there is room again");
        let (_, records) = open_small(&rt, &folder.0).await;
        assert_eq!(keyspaces(&records).len(), taken);
    });
}

#[test]
fn starts_are_taken_and_read_past_all_bounds() {
    let folder = Folder::new("starts");
    // As a log that no version may write any more.
    let records = (0..3 * 256).map(MetadataRecord::Boot).chain([large("k", 250)]);
    std::fs::write(folder.log(), layout::file_of(records.map(|record| record.to_bytes()))).expect("it can be written");
    for number in 0..3 {
        on_runtime(|rt| async {
            let rt = rt;
            let (log, records) = open_small(&rt, &folder.0).await;
            assert_eq!(keyspaces(&records).len(), 1);
            log.append(&MetadataRecord::Boot(1000 + number)).await.expect("a start is taken");
        });
    }
}

/// Has writing the log anew fail for lack of room.
fn fill_disk(folder: &Folder) {
    std::os::unix::fs::symlink("/dev/full", folder.0.join("metadata.log.new")).expect("a link can be made");
}

/// Whether there is something where the log is written anew; a link that leads nowhere counts.
fn has_new(folder: &Folder) -> bool {
    folder.0.join("metadata.log.new").symlink_metadata().is_ok()
}

#[test]
fn a_long_log_opens_as_it_is_on_a_full_disk() {
    let folder = Folder::new("long-full");
    let long = long_log(400);
    std::fs::write(folder.log(), &long).expect("the log can be written");
    fill_disk(&folder);
    let more = on_runtime(|rt| async {
        let rt = rt;
        let (log, records) = MetadataLog::open(&rt, &folder.0).await.expect("the log opens");
        assert_eq!(records.len(), some_records().len() + 3 * 400);
        assert_eq!(records[..5], some_records());
        log.append(&MetadataRecord::Boot(400)).await.expect("a record is appended");
        records.len() + 1
    });
    assert!(!has_new(&folder), "what was begun is removed");
    assert!(records_of(&folder).starts_with(&long));
    assert_eq!(records_of(&folder).len() - long.len(), BLOCK);
    // With room it is written anew.
    assert!(open(&folder.0).expect("the log opens").len() < more);
}

#[test]
fn an_open_log_stays_as_it_is_on_a_full_disk() {
    let folder = Folder::new("grows-full");
    on_runtime(|rt| async {
        let rt = rt;
        let (log, _) = open_small(&rt, &folder.0).await;
        fill_disk(&folder);
        let mut number = 0;
        while has_new(&folder) {
            number += 1;
            assert!(number < 100, "it is written anew in vain");
            log.append(&MetadataRecord::Boot(number)).await.expect("a record is appended");
        }
        let all: Vec<_> = (1..=number).map(MetadataRecord::Boot).collect();
        assert_eq!(MetadataLog::open(&rt, &folder.0).await.expect("the log opens").1, all);
        // It is tried again when the log has grown further.
        for more in 1..=number + 1 {
            log.append(&MetadataRecord::Boot(number + more)).await.expect("a record is appended");
        }
        let (_, records) = MetadataLog::open(&rt, &folder.0).await.expect("the log opens");
        assert_eq!(records.last(), Some(&MetadataRecord::Boot(2 * number + 1)));
        assert!(records.len() < all.len(), "{} records", records.len());
    });
}

#[test]
fn condensing_keeps_the_truncation_before_a_table_that_is_made_again() {
    let [before, behind] = [truncation(1), truncation(2)];
    let schema = MetadataRecord::Schema(vec![keyspace("k")]);
    let condensed = condense::condense(&[before.clone(), schema.clone(), behind.clone()]);
    assert_eq!(condensed, [schema.clone(), behind]);
    assert_eq!(condense::condense(&[before, schema.clone()]), [schema]);
}

#[test]
fn a_start_that_was_cut_short_leaves_no_log() {
    let folder = Folder::new("unnamed");
    std::fs::write(folder.0.join("metadata.log.new"), b"HEL").expect("the file can be written");
    write(&folder.0, &some_records());
    assert_eq!(open(&folder.0), Ok(some_records()));
}

proptest! {
    #[test]
    fn no_bytes_make_a_record_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = MetadataRecord::decode(&bytes);
    }

    #[test]
    fn a_flipped_bit_is_never_read_as_a_record(place in 0usize..BLOCK, bit in 0u8..8) {
        let mut payload = Vec::new();
        some_records()[2].encode(&mut payload);
        let mut file = vec![0; BLOCK];
        file.extend(layout::frame_record(0, &payload));
        file[BLOCK + place] ^= 1 << bit;
        match layout::find(&file, BLOCK, 0) {
            layout::Found::Record(record) => prop_assert_eq!(record.payload, payload),
            layout::Found::TornTail => {}
            layout::Found::End | layout::Found::Damage => prop_assert!(false, "one record alone is whole or torn"),
        }
    }
}
