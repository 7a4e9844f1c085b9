//! Random operations against a model in memory, with flushes, compactions, copies that the shard receives of its own data, cleanups, starts, other shard counts,
//! truncations and time that passes.
//!
//! `HELENUS_MODEL_OPERATIONS` says how many, and `HELENUS_MODEL_SEED` which.
#![allow(clippy::disallowed_methods)]

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use cql_types::CqlType;
use mutation::{Bound, ClusteringBound, ClusteringRef, Deletion, Expiry, LiveRow, MutationEncoder, ReadCommand, Slice};
use runtime::{Options, Runtime};
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::reader::ReadDone;
use storage::{
    Ack, ApplyError, CopyError, CopySource, CopyTarget, Flow, Garbage, ReplayPosition, RowSink, Shard, StorageOptions,
    Truncations,
};
use topology::{ReplicationStrategy, Sharder, Token, TokenRange, TokenRanges, token_of};

use crate::harness::{Folder, Meeting, PAGE_TIME, planted, truncate};

const TABLE: TableId = TableId([5; 16]);
const STATIC: ColumnId = ColumnId(2);
const VALUE: ColumnId = ColumnId(3);
/// What is done without being asked for more.
const OPERATIONS: usize = 6_000;
/// Operations between two starts, at most.
const SESSION_MAX: u64 = 400;
const PARTITIONS: u64 = 12;
const ROWS: u64 = 30;

/// xorshift64*: the same operations from the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A cell as the latest write left it: of two the later one stays, whether its value lives or not.
#[derive(Debug, Clone, Default)]
struct Cell {
    timestamp: i64,
    value: Vec<u8>,
    expires_at: Option<u32>,
}

#[derive(Debug, Clone, Default)]
struct Partition {
    deleted: i64,
    static_cell: Option<Cell>,
    rows: BTreeMap<i32, Cell>,
    rows_deleted: BTreeMap<i32, i64>,
    /// First row, last row, both inside; timestamp.
    ranges: Vec<(i32, i32, i64)>,
}

impl Partition {
    fn lives(cell: &Cell, deleted: i64, now: u32) -> bool {
        cell.timestamp > deleted && cell.expires_at.is_none_or(|at| now < at)
    }

    fn static_value(&self, now: u32) -> Option<Vec<u8>> {
        let cell = self.static_cell.as_ref().filter(|cell| Self::lives(cell, self.deleted, now));
        cell.map(|cell| cell.value.clone())
    }

    fn rows(&self, first: i32, last: i32, now: u32) -> Vec<(i32, Vec<u8>)> {
        let mut rows = Vec::new();
        for (&row, cell) in &self.rows {
            let of_ranges = self.ranges.iter().filter(|range| (range.0..=range.1).contains(&row)).map(|range| range.2);
            let of_row = self.rows_deleted.get(&row).copied();
            let deleted = of_ranges.chain(of_row).chain([self.deleted]).max().unwrap_or(self.deleted);
            if (first..=last).contains(&row) && Self::lives(cell, deleted, now) {
                rows.push((row, cell.value.clone()));
            }
        }
        rows
    }

    fn put(place: &mut Option<Cell>, cell: Cell) {
        if place.as_ref().is_none_or(|known| known.timestamp < cell.timestamp) {
            *place = Some(cell);
        }
    }
}

/// What is read of a partition: its static value, and its rows.
type Answer = (Option<Vec<u8>>, Vec<(i32, Vec<u8>)>);

#[derive(Debug, Clone)]
enum Step {
    Write {
        partition: u64,
        mutation: Vec<u8>,
    },
    Flush,
    Compact,
    Collect(Garbage),
    /// The shard begins to receive a copy of its own data.
    BeginCopy,
    /// It has all of it.
    EndCopy,
    /// The node loses the tokens of these partitions, and drops what it has of them.
    Clean(BTreeSet<u64>),
    Truncate,
    Read {
        partition: u64,
        first: i32,
        last: i32,
        reversed: bool,
        now: u32,
        answer: Answer,
    },
    Scan {
        now: u32,
        answers: BTreeMap<Vec<u8>, Answer>,
    },
}

fn key_of(partition: u64) -> Vec<u8> {
    (partition as u32).to_be_bytes().to_vec()
}

/// All tokens but those of some partitions.
fn all_but(lost: &BTreeSet<u64>) -> TokenRanges {
    let tokens: BTreeSet<Token> = lost.iter().map(|partition| token_of(&key_of(*partition))).collect();
    let Some(&last) = tokens.last() else { return TokenRanges::all() };
    let before = std::iter::once(last).chain(tokens.iter().copied());
    TokenRanges::of(before.zip(&tokens).map(|(after, lost)| TokenRange { after, end: Token(lost.0 - 1) }))
}

/// What tombstones a run has: within grace, so that writes may come late; or long ago, so that compactions purge them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tombstones {
    Kept,
    Purged,
}

/// The compaction option of a run.
fn compaction(seed: u64) -> BTreeMap<String, String> {
    let options: &[(&str, &str)] = match seed % 4 {
        0 => &[
            ("class", "LeveledCompactionStrategy"),
            ("sstable_size_in_mb", "1"),
            ("min_threshold", "2"),
            ("provide_overlapping_tombstones", "ROW"),
        ],
        1 => &[("class", "UnifiedCompactionStrategy"), ("scaling_parameters", "N"), ("min_sstable_size", "1KiB")],
        2 => &[("class", "SizeTieredCompactionStrategy"), ("min_threshold", "2")],
        _ => &[
            ("class", "TimeWindowCompactionStrategy"),
            ("expired_sstable_check_frequency_seconds", "0"),
            ("provide_overlapping_tombstones", "CELL"),
        ],
    };
    options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn schema(seed: u64, tombstones: Tombstones) -> Schema {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "key", CqlType::Blob),
        Column::new(ColumnKind::Clustering, ColumnId(1), "row", CqlType::Int),
        Column::new(ColumnKind::Static, STATIC, "shared", CqlType::Blob),
        Column::new(ColumnKind::Regular, VALUE, "value", CqlType::Blob),
    ];
    let keyspace = KeyspaceDef {
        name: "model".to_owned(),
        replication: Default::default(),
        strategy: ReplicationStrategy::Simple { replication_factor: 1 },
        durable_writes: true,
        tenure: 0,
    };
    let mut options = TableOptions { compaction: compaction(seed), ..TableOptions::default() };
    options.caching.insert("rows_per_partition".into(), "ALL".into());
    if tombstones == Tombstones::Purged {
        options.gc_grace_seconds = 0;
    }
    let table = Table::new(TABLE, "model", "t", columns, options);
    Schema::empty().with_all(&[SchemaChange::PutKeyspace(keyspace), SchemaChange::PutTable(Box::new(table))])
}

struct Model {
    random: Random,
    tombstones: Tombstones,
    partitions: BTreeMap<u64, Partition>,
    now: u32,
    timestamp: i64,
    used: BTreeSet<i64>,
    /// A copy is being received, which may bring back what a cleanup drops meanwhile.
    is_copying: bool,
}

impl Model {
    /// The next operation, with the answer that it must have.
    fn step(&mut self) -> Step {
        self.now += u32::from(self.random.below(8) == 0);
        let partition = self.random.below(PARTITIONS);
        match self.random.below(100) {
            0..55 => self.write(partition),
            55..58 if self.random.below(6) == 0 => Step::Compact,
            55..58 if self.random.below(8) == 0 => match self.random.below(2) {
                0 => Step::Collect(Garbage::Deleted),
                _ => Step::Collect(Garbage::Overwritten),
            },
            55..58 if self.random.below(4) == 0 => {
                self.is_copying = self.random.below(2) == 0;
                if self.is_copying { Step::BeginCopy } else { Step::EndCopy }
            }
            55..58 if !self.is_copying && self.random.below(8) == 0 => {
                let lost: BTreeSet<u64> = (0..PARTITIONS).filter(|_| self.random.below(4) == 0).collect();
                self.partitions.retain(|partition, _| !lost.contains(partition));
                Step::Clean(lost)
            }
            55..58 => Step::Flush,
            58 if self.random.below(20) == 0 => {
                self.partitions.clear();
                Step::Truncate
            }
            58..60 => self.scan(),
            _ => {
                let (a, b) = (self.random.below(ROWS) as i32, self.random.below(ROWS) as i32);
                let (first, last) = if self.random.below(3) == 0 { (i32::MIN, i32::MAX) } else { (a.min(b), a.max(b)) };
                let known = self.partitions.entry(partition).or_default();
                let answer = (known.static_value(self.now), known.rows(first, last, self.now));
                let reversed = self.random.below(2) == 0;
                Step::Read { partition, first, last, reversed, now: self.now, answer }
            }
        }
    }

    fn scan(&self) -> Step {
        let answers = self.partitions.iter().map(|(partition, known)| {
            let answer = (known.static_value(self.now), known.rows(i32::MIN, i32::MAX, self.now));
            (key_of(*partition), answer)
        });
        let answers = answers.filter(|(_, answer)| answer.0.is_some() || !answer.1.is_empty()).collect();
        Step::Scan { now: self.now, answers }
    }

    fn write(&mut self, partition: u64) -> Step {
        // Each write has a timestamp of its own, and some come late.
        self.timestamp += 1 + self.random.below(3) as i64;
        let is_late = self.tombstones == Tombstones::Kept && self.random.below(6) == 0;
        let late = if is_late { self.random.below(40) as i64 * 8 } else { 0 };
        let mut timestamp = (self.timestamp * 8 - late).max(1);
        while !self.used.insert(timestamp) {
            timestamp += 1;
        }
        let row = self.random.below(ROWS) as i32;
        let known = self.partitions.entry(partition).or_default();
        let key = key_of(partition);
        let mut mutation = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut mutation, TABLE, token_of(&key), &key);
        // By the clock that compactions go by.
        let local_deletion_time = match self.tombstones {
            Tombstones::Kept => self.now,
            Tombstones::Purged => 1_000,
        };
        let deletion = Deletion { timestamp, local_deletion_time };
        match self.random.below(20) {
            0 => {
                known.deleted = known.deleted.max(timestamp);
                encoder.partition_deletion(deletion);
            }
            1..3 => {
                let last = row + self.random.below(8) as i32;
                let (start, end) = (row.to_be_bytes(), (last + 1).to_be_bytes());
                let is_inclusive = self.random.below(2) == 0;
                let inside = last.to_be_bytes();
                known.ranges.push((row, last, timestamp));
                let end = if is_inclusive { &inside[..] } else { &end[..] };
                encoder.range_tombstone(
                    ClusteringBound { prefix: &[&start], inclusive: true },
                    ClusteringBound { prefix: &[end], inclusive: is_inclusive },
                    deletion,
                );
            }
            3..5 => {
                let deleted = known.rows_deleted.entry(row).or_default();
                *deleted = timestamp.max(*deleted);
                encoder.row([&row.to_be_bytes()[..]]).deletion(deletion);
            }
            choice => {
                let length = self.random.below(300) as usize + 1;
                let value: Vec<u8> = (0..length).map(|_| self.random.next() as u8).collect();
                let ttl = (self.random.below(6) == 0).then(|| 1 + self.random.below(40) as u32);
                let is_over = self.tombstones == Tombstones::Purged && self.random.below(2) == 0;
                let from = if is_over { 1_000 } else { self.now };
                let expiry = ttl.map(|ttl| Expiry { ttl, local_deletion_time: from + ttl });
                let expires_at = expiry.map(|expiry| expiry.local_deletion_time);
                let cell = Cell { timestamp, value: value.clone(), expires_at };
                if choice == 5 {
                    Partition::put(&mut known.static_cell, cell);
                    encoder.static_row().cell(STATIC, timestamp, expiry, &value);
                } else {
                    let mut place = known.rows.remove(&row);
                    Partition::put(&mut place, cell);
                    known.rows.extend(place.map(|cell| (row, cell)));
                    encoder
                        .row([&row.to_be_bytes()[..]])
                        .liveness(timestamp, expiry)
                        .cell(VALUE, timestamp, expiry, &value);
                }
            }
        }
        encoder.finish();
        Step::Write { partition, mutation }
    }
}

#[derive(Default)]
struct Sink {
    answers: BTreeMap<Vec<u8>, Answer>,
    order: Vec<i32>,
    key: Vec<u8>,
}

impl RowSink for Sink {
    fn partition(&mut self, _: Token, key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        self.key = key.to_vec();
        let answer = self.answers.entry(key.to_vec()).or_default();
        answer.0 = static_row.and_then(|row| row.cell(STATIC)).map(|cell| cell.value.to_vec());
        Flow::Continue
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let component = clustering.components().next().expect("one clustering column");
        let number = i32::from_be_bytes(component.try_into().expect("an int"));
        let value = row.cell(VALUE).map(|cell| cell.value.to_vec()).unwrap_or_default();
        self.order.push(number);
        self.answers.get_mut(&self.key).expect("it was announced").1.push((number, value));
        Flow::Continue
    }
}

/// Carries out the steps of one session on a shard, as far as they are its own. Gives the positions of truncations.
async fn carry_out(runtime: Runtime, shard: Shard, steps: &[Step], seed: u64) -> Vec<ReplayPosition> {
    let mut positions = Vec::new();
    let (mut last, mut copying) = (None, None);
    let sharder = Sharder::new(runtime.shard_count());
    let owns = |key: &[u8]| sharder.shard_of(token_of(key)) == runtime.shard().0;
    for (place, step) in steps.iter().enumerate() {
        let context = || format!("step {place} of a session from seed {seed}, shard {}", runtime.shard().0);
        match step {
            Step::Write { partition, mutation } if owns(&key_of(*partition)) => loop {
                match shard.apply(mutation) {
                    Ok(ack) => {
                        last = Some(ack);
                        break;
                    }
                    Err(ApplyError::LogBusy) => shard.room().await,
                    Err(error) => panic!("{}: {error}", context()),
                }
            },
            Step::Write { .. } => {}
            Step::Compact => shard.compact(TABLE).await.unwrap_or_else(|error| panic!("{}: {error}", context())),
            Step::Collect(garbage) => {
                let collected = shard.collect_garbage(TABLE, *garbage).await;
                collected.unwrap_or_else(|error| panic!("{}: {error}", context()));
            }
            Step::Clean(lost) => {
                let kept = Rc::new(all_but(lost));
                let cleaned = storage::clean_up(&shard, TABLE, || Rc::clone(&kept)).await;
                cleaned.unwrap_or_else(|error| panic!("{}: {error}", context()));
            }
            Step::Flush => shard.flush(TABLE).await.unwrap_or_else(|error| panic!("{}: {error}", context())),
            Step::BeginCopy => {
                let source =
                    CopySource::open(&shard, TABLE).await.unwrap_or_else(|error| panic!("{}: {error}", context()));
                let mut target = CopyTarget::begin(&shard, TABLE, TokenRange::ALL).expect("the table is there");
                let mut rest = Vec::new();
                for range in source.cut(TokenRange { after: Token::MIN, end: Token::MAX }, 2_000) {
                    let mut scan = source.scan(range);
                    loop {
                        let page = scan.page(1 + place * 37 % 3_000, PAGE_TIME).await;
                        let page = page.unwrap_or_else(|error| panic!("{}: {error}", context()));
                        rest.extend(page.mutations);
                        if page.is_last {
                            break;
                        }
                    }
                }
                // A part of it comes before what is done next, and comes again.
                for mutation in rest.iter().step_by(3) {
                    target.put(mutation).await.unwrap_or_else(|error| panic!("{}: {error}", context()));
                }
                copying = Some((target, rest, positions.len()));
            }
            Step::EndCopy => {
                let Some((mut target, rest, truncations)) = copying.take() else { continue };
                let received = async {
                    for mutation in rest.iter().rev() {
                        target.put(mutation).await?;
                    }
                    target.finish().await
                };
                match received.await {
                    Ok(_) => assert_eq!(positions.len(), truncations, "{}: what was truncated is gone", context()),
                    Err(error) => assert!(
                        matches!(error, CopyError::Gone) && positions.len() > truncations,
                        "{}: {error}",
                        context()
                    ),
                }
            }
            Step::Truncate => {
                let position = truncate(&shard, TABLE);
                // Half of them are left to the next start.
                if place % 2 == 0 {
                    shard.discard_truncated(TABLE, position, "1").await;
                }
                positions.push(position);
            }
            Step::Read { partition, first, last, reversed, now, answer } if owns(&key_of(*partition)) => {
                let key = key_of(*partition);
                let prefix = |row: i32| {
                    let mut prefix = Vec::new();
                    cql_types::comparable::encode(&CqlType::Int, &row.to_be_bytes(), false, &mut prefix);
                    prefix
                };
                let (start, end) = (prefix(*first), prefix(*last));
                let slices = [Slice {
                    start: Bound { prefix: &start, inclusive: true },
                    end: Bound { prefix: &end, inclusive: true },
                }];
                let command = ReadCommand {
                    slices: &slices,
                    reversed: *reversed,
                    ..ReadCommand::partition(TABLE, token_of(&key), &key, *now)
                };
                let mut sink = Sink::default();
                let read = shard.read_through(&command, &mut sink).await;
                let done = read.unwrap_or_else(|error| panic!("{}: {error}", context()));
                assert_eq!(done, ReadDone::Complete);
                let is_sorted = if *reversed {
                    sink.order.is_sorted_by(|a, b| a > b)
                } else {
                    sink.order.is_sorted_by(|a, b| a < b)
                };
                assert!(is_sorted, "{}: rows in order", context());
                let mut found = sink.answers.remove(&key).unwrap_or_default();
                found.1.sort();
                assert_eq!(&found, answer, "{}: partition {partition}, {first}..={last} at {now}", context());
            }
            Step::Read { .. } => {}
            Step::Scan { now, answers } => {
                let mut sink = Sink::default();
                let read = shard.read_through(&ReadCommand::all(TABLE, *now), &mut sink).await;
                let done = read.unwrap_or_else(|error| panic!("{}: {error}", context()));
                assert_eq!(done, ReadDone::Complete);
                let expected: BTreeMap<Vec<u8>, Answer> = answers
                    .iter()
                    .filter(|(key, _)| owns(key))
                    .map(|(key, answer)| (key.clone(), answer.clone()))
                    .collect();
                assert_eq!(sink.answers, expected, "{}: a scan at {now}", context());
            }
        }
        runtime.maybe_yield().await;
    }
    if let Some(Ack::When(sequence)) = last {
        shard.wait_synced(sequence).await.expect("the disk works");
    }
    positions
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn random_operations_come_to_what_the_model_says() {
    run("model", Tombstones::Kept, 0, 1);
}

#[test]
fn random_operations_come_to_what_the_model_says_while_tombstones_are_purged() {
    for strategy in 0..4 {
        run("model-purged", Tombstones::Purged, strategy, 4);
    }
}

/// Does one in `part` of what is asked for.
fn run(name: &str, tombstones: Tombstones, strategy: u64, part: usize) {
    let operations = from_environment("HELENUS_MODEL_OPERATIONS").map_or(OPERATIONS, |count| count as usize) / part;
    let seed = from_environment("HELENUS_MODEL_SEED").unwrap_or(1);
    let strategy = seed + strategy;
    let folder = Folder::new(name);
    let random = Random(strategy.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    // Ahead of the clock that compactions go by: what they take for expired is so for every read.
    let begins = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    let begins = u32::try_from(begins).expect("32 bits") + 1_000;
    let mut model = Model {
        random,
        tombstones,
        partitions: BTreeMap::new(),
        now: begins,
        timestamp: 1_000,
        used: BTreeSet::new(),
        is_copying: false,
    };
    let mut truncations = Truncations::new();
    let (mut done, mut boot) = (0, 0);
    while done < operations {
        boot += 1;
        let count = 1 + model.random.below(3) as u16;
        let length = 1 + model.random.below(SESSION_MAX) as usize;
        model.is_copying = false;
        // A start must come to the same before anything is done.
        let steps: Vec<Step> = std::iter::once(model.scan()).chain((0..length).map(|_| model.step())).collect();
        done += length;
        let mut options = StorageOptions::new(&folder.path, boot, 16 << 20);
        options.segment_bytes = 64 << 10;
        options.log_bytes_max = 128 << 10;
        options.auto_snapshot = false;
        options.row_cache_bytes = 1 << 20;
        options.planted = planted();
        let meeting = Meeting::of(count);
        let mains: Vec<_> = (0..count)
            .map(|_| {
                let (options, truncations, steps, meeting) = (options.clone(), &truncations, &steps, meeting.clone());
                move |runtime: Runtime| async move {
                    let meeting = meeting.attend();
                    let sharder = Sharder::new(count);
                    let schema = schema(strategy, tombstones);
                    let shard = Shard::open(&runtime, options, sharder, &schema, truncations).await;
                    let shard = shard.unwrap_or_else(|error| panic!("start {boot} from seed {seed}: {error}"));
                    meeting.wait(1);
                    shard.retire_old_segments().await.expect("old segments can be removed");
                    let positions = carry_out(runtime, shard, steps, seed).await;
                    meeting.wait(2);
                    positions
                }
            })
            .collect();
        let positions = runtime::run(Options::default(), mains).expect("the shards start");
        truncations.entry(TABLE).or_default().extend(positions.into_iter().flatten());
    }
}
