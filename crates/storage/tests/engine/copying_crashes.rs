//! A unit that becomes files, on simulated machines: power cuts at every boundary, each call of the disk failed once, given up at every step, and beside DROP, a full
//! memory and compactions. It is there as a whole or not at all, and nothing of it stays where it is not.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use mutation::{Deletion, MutationEncoder, MutationRef};
use runtime::Runtime;
use runtime::sim::{Disk, DiskError, DiskFault, Ended, HostId, Keep, World, WorldOptions};
use schema::{Schema, SchemaChange};
use storage::{
    Copied, CopyError, CopyName, CopySource, CopyTarget, PurgeHold, Shard, StorageOptions, Truncations, confirmed,
    forget_confirmed, operations_confirmed,
};
use topology::operations::OperationId;
use topology::{Sharder, Token, TokenRange, TokenRanges, token_of};

use crate::harness::*;

const DATA: &str = "/data";
/// Of the world's time.
const AT_MOST: Duration = Duration::from_secs(3600);
const ALL: TokenRange = TokenRange { after: Token::MIN, end: Token::MAX };
/// The range that the unit confirms.
const CONFIRMED: TokenRange = TokenRange { after: Token(-5), end: Token::MAX };
/// Rows that the table has before, and those that are received.
const BEFORE: std::ops::Range<u32> = 0..30;
const RECEIVED: std::ops::Range<u32> = 20..90;

/// Tombstones may be purged at once.
fn schema() -> Schema {
    let schema = schema_of(&[TABLE, OTHER], true);
    let mut table = (**schema.table_by_id(TABLE).expect("it is there")).clone();
    table.options.gc_grace_seconds = 0;
    schema.with_all(&[SchemaChange::PutTable(Box::new(table))])
}

async fn open_with(runtime: &Runtime, boot: u64, schema: &Schema) -> Shard {
    // A unit has several files soon.
    let mut options = StorageOptions::new(DATA, boot, 2 << 20);
    options.segment_bytes = 128 << 10;
    options.compacts = false;
    options.auto_snapshot = false;
    options.planted = planted();
    let opened = Shard::open(runtime, options, Sharder::new(1), schema, &Truncations::new()).await;
    let shard = opened.unwrap_or_else(|error| panic!("start {boot}: {error}"));
    shard.retire_old_segments().await.expect("there are none");
    shard
}

async fn open(runtime: &Runtime, boot: u64) -> Shard {
    open_with(runtime, boot, &schema()).await
}

fn world(disk: Disk) -> (World<'static>, HostId) {
    let mut world = World::new(WorldOptions::new(1));
    let host = world.add_host_with(&[], disk);
    (world, host)
}

fn empty_disk() -> Disk {
    let mut disk = Disk::default();
    disk.prepare_directory(DATA);
    disk
}

/// Runs something on a machine to its end.
fn run<Fut: Future<Output = ()> + 'static>(
    world: &mut World<'static>,
    host: HostId,
    main: impl FnOnce(Runtime) -> Fut + 'static,
) {
    let started = world.start(host, false, vec![main]);
    assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition);
}

/// A unit all of which was received, and of which the first files are written.
async fn received(shard: &Shard) -> CopyTarget {
    let mut target = CopyTarget::begin(shard, TABLE, ALL).expect("the table is there");
    for number in RECEIVED {
        target.put(&mutation(TABLE, number, 1, &[7; 5_000])).await.expect("it belongs there");
    }
    target
}

/// The copy that the unit is confirmed for.
const COPY: CopyName = CopyName { operation: OperationId(3), copy: [9; 16] };

/// The same, of a copy for an operation.
async fn received_for_operation(shard: &Shard) -> CopyTarget {
    let mut target = received(shard).await;
    target.confirm(COPY, CONFIRMED);
    target
}

/// True if the unit is confirmed.
fn is_confirmed(shard: &Shard) -> bool {
    let confirmed = confirmed(shard, COPY);
    assert!(confirmed.is_none() || confirmed == TokenRanges::of([CONFIRMED]), "{confirmed:?}");
    !confirmed.is_none()
}

async fn fill(shard: &Shard) {
    write_rows(shard, TABLE, BEFORE, &[1; 200]).await;
    shard.flush(TABLE).await.expect("the disk works");
}

fn before() -> Vec<u32> {
    BEFORE.collect()
}

fn all() -> Vec<u32> {
    (BEFORE.start..RECEIVED.end).collect()
}

/// The disk at each boundary of a unit's end.
fn boundaries() -> Vec<Disk> {
    let (mut world, host) = world(empty_disk());
    let begins = Rc::new(Cell::new(false));
    let begun = begins.clone();
    let main = move |runtime: Runtime| async move {
        let shard = open(&runtime, 1).await;
        fill(&shard).await;
        let target = received_for_operation(&shard).await;
        begun.set(true);
        runtime.yield_now().await;
        assert!(target.finish().await.expect("the disk works").files > 1);
        assert_eq!((read_all_rows(&shard, TABLE).await, is_confirmed(&shard)), (all(), true));
    };
    let started = world.start(host, false, vec![main]);
    assert_eq!(world.run_until(|_| begins.get(), AT_MOST), Ended::Condition);
    world.keep_boundaries(host);
    assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition);
    world.take_boundaries(host)
}

/// Planted: unit-listed-unsynced.
#[test]
fn a_power_cut_at_any_step_leaves_all_of_the_unit_or_nothing() {
    let boundaries = boundaries();
    let mut seen = BTreeSet::new();
    let mut rows = BTreeSet::new();
    for (number, boundary) in boundaries.iter().enumerate() {
        let base = number as u64 * 8;
        let reordered = (0..2).map(|order| Keep::Reordered { seed: base + order });
        for keep in [Keep::Everything, Keep::Nothing, Keep::Torn { seed: base }].into_iter().chain(reordered) {
            let disk = boundary.after_power_cut(keep);
            if !seen.insert(disk.digest()) {
                continue;
            }
            let (mut world, host) = world(disk);
            let found = Rc::new(Cell::new(0));
            let count = found.clone();
            run(&mut world, host, move |runtime: Runtime| async move {
                let shard = open(&runtime, 2).await;
                let context = format!("boundary {number}, {keep:?}");
                let read = read_all_rows(&shard, TABLE).await;
                assert!(read == before() || read == all(), "{context}: {read:?}");
                assert_eq!(is_confirmed(&shard), read == all(), "{context}: it is confirmed if it is there");
                assert_eq!(data_files(&runtime).await, shard.stats().files as usize, "{context}: no file is left over");
                count.set(read.len());
                received(&shard).await.finish().await.expect("the disk works");
                shard.compact(TABLE).await.expect("the disk works");
                assert_eq!(read_all_rows(&shard, TABLE).await, all(), "{context}, received again");
            });
            rows.insert(found.get());
        }
    }
    assert!(seen.len() > 20, "{} images of {} boundaries", seen.len(), boundaries.len());
    assert_eq!(rows.into_iter().collect::<Vec<_>>(), [before().len(), all().len()], "some of each");
}

/// The data files in the table's folder.
async fn data_files(runtime: &Runtime) -> usize {
    let folder = std::path::PathBuf::from(format!("{DATA}/data/ks/t1-{}", "01".repeat(16)));
    let entries = runtime.read_dir(&folder).await.unwrap_or_default();
    entries.iter().filter(|entry| entry.name.ends_with("-Data.db")).count()
}

/// Waits until the disk has no files but those that are read, and memtables have no memory.
async fn until_nothing_is_left(runtime: &Runtime, shard: &Shard, context: &str) {
    let began = runtime.now();
    while data_files(runtime).await != shard.stats().files as usize || shard.stats().memory_used > 0 {
        assert!(runtime.now() - began < Duration::from_secs(600), "{context}: {:?}", shard.stats());
        runtime.sleep(Duration::from_millis(10)).await;
    }
}

/// Runs a unit's end while one call of the disk fails. Gives the disk's calls before and after it, and whether it failed.
fn with_fault(fault: Option<DiskFault>) -> (u64, u64, bool) {
    let (mut world, host) = world(empty_disk());
    world.set_disk_faults(host, fault.into_iter().collect());
    let (begins, ends, failed) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
    let (begun, ended, has_failed) = (begins.clone(), ends.clone(), failed.clone());
    let main = move |runtime: Runtime| async move {
        let shard = open(&runtime, 1).await;
        fill(&shard).await;
        let target = received_for_operation(&shard).await;
        begun.set(true);
        runtime.sleep(Duration::from_secs(1)).await;
        let finished = target.finish().await;
        ended.set(true);
        runtime.sleep(Duration::from_secs(1)).await;
        has_failed.set(finished.is_err());
        let expected = if finished.is_err() { before() } else { all() };
        assert_eq!(read_all_rows(&shard, TABLE).await, expected, "{finished:?}");
        assert_eq!(is_confirmed(&shard), finished.is_ok());
        until_nothing_is_left(&runtime, &shard, &format!("{fault:?}, {finished:?}")).await;
        received(&shard).await.finish().await.expect("the disk works again");
        assert_eq!(read_all_rows(&shard, TABLE).await, all());
    };
    let started = world.start(host, false, vec![main]);
    assert_eq!(world.run_until(|_| begins.get(), AT_MOST), Ended::Condition);
    let first = world.disk_calls(host);
    assert_eq!(world.run_until(|_| ends.get(), AT_MOST), Ended::Condition);
    let last = world.disk_calls(host);
    assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition, "{fault:?}");
    world.set_disk_faults(host, Vec::new());
    run(&mut world, host, move |runtime: Runtime| async move {
        assert_eq!(read_all_rows(&open(&runtime, 2).await, TABLE).await, all(), "{fault:?}: a start has it too");
    });
    (first, last, failed.get())
}

#[test]
fn each_call_of_the_disk_fails_once_and_the_unit_is_whole_or_gone() {
    let (first, last, _) = with_fault(None);
    let (mut failures, mut tries) = (0, 0);
    for number in first..last {
        let error = if number % 3 == 0 { DiskError::Full } else { DiskError::Medium };
        let (_, _, failed) = with_fault(Some(DiskFault::at(number, error)));
        failures += u32::from(failed);
        tries += 1;
    }
    assert!(
        failures > 10 && failures < tries,
        "{failures} of {tries} failed: some, and not where only a record is refused"
    );
}

/// Polls something once, and then so many times. `None`: it has not ended.
async fn polled<T>(work: &mut Pin<Box<dyn Future<Output = T>>>, times: u32) -> Option<T> {
    let mut left = times;
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// How a unit's end that was polled so many times went on.
async fn end_of_unit(shard: &Shard, times: u32) -> Option<Result<Copied, CopyError>> {
    let target = received_for_operation(shard).await;
    let mut ending: Pin<Box<dyn Future<Output = _>>> = Box::pin(target.finish());
    polled(&mut ending, times).await
}

#[test]
fn a_unit_that_is_given_up_at_any_step_leaves_nothing() {
    for times in 0.. {
        let (mut world, host) = world(empty_disk());
        let over = Rc::new(Cell::new(false));
        let is_over = over.clone();
        run(&mut world, host, move |runtime: Runtime| async move {
            let shard = open(&runtime, 1).await;
            fill(&shard).await;
            let ended = end_of_unit(&shard, times).await;
            let rows = read_all_rows(&shard, TABLE).await;
            let context = format!("given up at step {times}");
            match ended {
                Some(copied) => {
                    is_over.set(true);
                    assert!(copied.is_ok() && rows == all(), "{copied:?}");
                }
                None => assert!(rows == before() || rows == all(), "{context}: {rows:?}"),
            }
            until_nothing_is_left(&runtime, &shard, &context).await;
            let rows = read_all_rows(&shard, TABLE).await.len();
            assert_eq!(data_files(&runtime).await > 1, rows > before().len(), "{context}");
        });
        run(&mut world, host, move |runtime: Runtime| async move {
            let shard = open(&runtime, 2).await;
            let rows = read_all_rows(&shard, TABLE).await;
            assert!(rows == before() || rows == all(), "a start after step {times}: {rows:?}");
            assert_eq!(is_confirmed(&shard), rows == all(), "a start after step {times}");
        });
        if over.get() {
            assert!(times > 10, "{times} steps");
            break;
        }
    }
}

#[test]
fn a_table_that_is_dropped_at_any_step_has_no_files() {
    let without = || schema_of(&[OTHER], true);
    let mut ends = BTreeSet::new();
    for times in (0..).step_by(3) {
        let (mut world, host) = world(empty_disk());
        let over = Rc::new(Cell::new(None));
        let told = over.clone();
        run(&mut world, host, move |runtime: Runtime| async move {
            let shard = open(&runtime, 1).await;
            fill(&shard).await;
            let target = received(&shard).await;
            let mut ending: Pin<Box<dyn Future<Output = _>>> = Box::pin(target.finish());
            let first = polled(&mut ending, times).await;
            shard.update_schema(&without());
            told.set(Some((first.is_some(), first.is_some())));
            if first.is_none() {
                let finished = ending.await;
                assert!(matches!(finished, Ok(_) | Err(CopyError::Gone)), "step {times}: {finished:?}");
                told.set(Some((false, finished.is_ok())));
            }
            shard.discard_dropped("1").await;
            until_nothing_is_left(&runtime, &shard, &format!("dropped at step {times}")).await;
        });
        run(&mut world, host, move |runtime: Runtime| async move {
            let shard = open_with(&runtime, 2, &without()).await;
            assert_eq!((shard.stats().files, data_files(&runtime).await), (0, 0), "step {times}");
        });
        let (is_over, is_done) = over.get().expect("the world has set both");
        ends.insert(is_done);
        if is_over {
            break;
        }
    }
    assert_eq!(ends.len(), 2, "some are listed before the table goes, some are not");
}

/// A confirmed range stays so until its operation is over, whatever becomes of the table and the manifest. Another shard count knows nothing of it.
#[test]
fn a_confirmed_unit_is_known_until_its_operation_is_over() {
    const OTHER_COPY: CopyName = CopyName { operation: OperationId(4), copy: COPY.copy };
    let (mut world, host) = world(empty_disk());
    run(&mut world, host, |runtime: Runtime| async move {
        let shard = open(&runtime, 1).await;
        received_for_operation(&shard).await.finish().await.expect("the disk works");
        let mut empty = CopyTarget::begin(&shard, TABLE, ALL).expect("the table is there");
        empty.confirm(OTHER_COPY, CONFIRMED);
        assert_eq!(empty.finish().await.expect("the disk works").files, 0);
        assert_eq!(operations_confirmed(&shard), [COPY.operation], "nothing came of the other one");
        let mut other = received(&shard).await;
        other.confirm(OTHER_COPY, CONFIRMED);
        other.finish().await.expect("the disk works");
        let position = shard.begin_truncation(TABLE);
        shard.truncation_is_durable(TABLE, position);
        shard.discard_truncated(TABLE, position, "1").await;
        // So many records that the manifest is compacted.
        for number in 0..60 {
            write_rows(&shard, TABLE, number..number + 1, b"value").await;
            shard.flush(TABLE).await.expect("the disk works");
        }
        shard.compact(TABLE).await.expect("the disk works");
    });
    run(&mut world, host, |runtime: Runtime| async move {
        let shard = open(&runtime, 2).await;
        assert!(is_confirmed(&shard));
        assert_eq!(operations_confirmed(&shard), [COPY.operation, OTHER_COPY.operation]);
        forget_confirmed(&shard, COPY.operation).await.expect("the disk works");
        assert!(!is_confirmed(&shard));
    });
    run(&mut world, host, |runtime: Runtime| async move {
        let shard = open(&runtime, 3).await;
        assert!(!is_confirmed(&shard), "it is forgotten on the disk too");
        assert_eq!(operations_confirmed(&shard), [OTHER_COPY.operation]);
    });
    let shards = |runtime: Runtime| async move {
        let options = StorageOptions::new(DATA, 4, 2 << 20);
        let opened = Shard::open(&runtime, options, Sharder::new(2), &schema(), &Truncations::new()).await;
        let shard = opened.expect("it opens under another shard count");
        assert_eq!(operations_confirmed(&shard), []);
    };
    let started = world.start(host, false, vec![shards; 2]);
    assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition);
}

#[test]
fn a_unit_of_many_files_is_merged_into_few() {
    const ROWS: u32 = 2_600;
    let (mut world, host) = world(empty_disk());
    let is_left = |number: &u32| !number.is_multiple_of(7);
    run(&mut world, host, move |runtime: Runtime| async move {
        let shard = open(&runtime, 1).await;
        let mut target = CopyTarget::begin(&shard, TABLE, ALL).expect("the table is there");
        // About 50 times the memory that a unit takes; each row comes once before its deletion and once after it.
        for turn in 0..2 {
            for number in 0..ROWS {
                if !is_left(&number) {
                    target.put(&deletion(number)).await.expect("it belongs there");
                }
                if number % 2 == turn || !is_left(&number) {
                    target.put(&mutation(TABLE, number, 1, &[7; 5_000])).await.expect("it belongs there");
                }
            }
        }
        let copied = target.finish().await.expect("the disk works");
        assert!((2..=32).contains(&copied.files), "{copied:?}");
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..ROWS).filter(is_left).collect::<Vec<_>>());
        assert_eq!(says_of(&shard, 7).await, 1, "the deletion is there");
        until_nothing_is_left(&runtime, &shard, "many files").await;
    });
    run(&mut world, host, move |runtime: Runtime| async move {
        let shard = open(&runtime, 2).await;
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..ROWS).filter(is_left).collect::<Vec<_>>());
        assert_eq!(data_files(&runtime).await, shard.stats().files as usize, "what was merged is gone");
    });
}

#[test]
fn a_page_that_is_out_of_time_is_followed_by_the_rest() {
    let (mut world, host) = world(empty_disk());
    run(&mut world, host, |runtime: Runtime| async move {
        let shard = open(&runtime, 1).await;
        received(&shard).await.finish().await.expect("the disk works");
        let source = CopySource::open(&shard, TABLE).await.expect("the disk works");
        let scanned = async |bytes: usize, time: Duration| {
            let (mut scan, mut all, mut empty) = (source.scan(ALL), Vec::new(), 0);
            loop {
                let page = scan.page(bytes, time).await.expect("the disk works");
                empty += u32::from(page.mutations.is_empty());
                all.extend(page.mutations);
                if page.is_last {
                    return (all, empty);
                }
            }
        };
        let (expected, _) = scanned(usize::MAX, PAGE_TIME).await;
        // The disk takes longer than no time at all.
        let (all, empty) = scanned(usize::MAX, Duration::ZERO).await;
        assert!(empty > 0, "some page has nothing, and more follows");
        assert!(all == expected && all.len() == RECEIVED.len(), "{} of {}", all.len(), expected.len());
    });
}

#[test]
fn a_mutation_waits_a_bounded_time_for_memory() {
    let (mut world, host) = world(empty_disk());
    run(&mut world, host, |runtime: Runtime| async move {
        let shard = open(&runtime, 1).await;
        // No flush of the table begins until that is durable.
        let position = shard.begin_truncation(OTHER);
        fill_memory(&runtime, &shard, 0).await;
        let mut small = CopyTarget::begin(&shard, TABLE, ALL).expect("the table is there");
        small.put(&mutation(TABLE, 1, 1, b"value")).await.expect("it has room");
        // Writes leave a rest, which other units take: each has too little for a file.
        let mut targets = Vec::new();
        let mut began;
        let refused = loop {
            let mut target = CopyTarget::begin(&shard, TABLE, ALL).expect("the table is there");
            began = runtime.now();
            let put = target.put(&mutation(TABLE, 1, 1, &[7; 20_000])).await;
            targets.push(target);
            assert!(targets.len() < 100, "the memory is full at some time");
            if let Err(error) = put {
                break error;
            }
        };
        assert!(matches!(refused, CopyError::NoMemory { seconds: 60 }), "{refused:?}");
        assert!((60..65).contains(&(runtime.now() - began).as_secs()));
        // One that has little is not written for the little that it would give back.
        let refused = small.put(&mutation(TABLE, 2, 1, &[7; 20_000])).await;
        assert!(matches!(refused, Err(CopyError::NoMemory { seconds: 60 })), "{refused:?}");
        assert_eq!(data_files(&runtime).await, 0, "no file was made for that");
        drop((small, targets));
        shard.truncation_is_durable(OTHER, position);
        received(&shard).await.finish().await.expect("there is room again");
    });
}

fn deletion(number: u32) -> Vec<u8> {
    let key = key_of(number);
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(&key), &key);
    encoder.partition_deletion(Deletion { timestamp: 20, local_deletion_time: 1_000 });
    encoder.finish();
    out
}

/// Mutations that the table has of a partition.
async fn says_of(shard: &Shard, number: u32) -> usize {
    let source = CopySource::open(shard, TABLE).await.expect("the disk works");
    let (mut scan, mut count) = (source.scan(ALL), 0);
    loop {
        let page = scan.page(1 << 20, PAGE_TIME).await.expect("the disk works");
        let decoded = page.mutations.iter().map(|bytes| MutationRef::decode(bytes).expect("a mutation"));
        count += decoded.filter(|mutation| mutation.key() == key_of(number)).count();
        if page.is_last {
            return count;
        }
    }
}

/// When a range comes beside a compaction that has a deletion to purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comes {
    /// After some steps of the compaction, which goes on when the range is there.
    Meanwhile,
    /// When the compaction has ended; its sources are opened after some steps of that.
    Afterwards,
}

/// How a compaction went that had so many steps before a hold began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Went {
    /// The deletion is there.
    Kept,
    /// It was purged.
    Purged,
    /// It had been purged when the hold began.
    Before,
}

fn compact_and_receive(steps: u32, comes: Comes) -> Went {
    let (mut world, host) = world(empty_disk());
    let went = Rc::new(Cell::new(Went::Before));
    let told = went.clone();
    run(&mut world, host, move |runtime: Runtime| async move {
        let shard = open(&runtime, 1).await;
        for round in 0..2 {
            apply(&shard, &deletion(1)).await;
            write_rows(&shard, TABLE, 100 + round * 10..150 + round * 10, &[1; 200]).await;
            shard.flush(TABLE).await.expect("the disk works");
        }
        let compacting = shard.clone();
        let mut compaction: Pin<Box<dyn Future<Output = _>>> = Box::pin(async move { compacting.compact(TABLE).await });
        if polled(&mut compaction, steps).await.is_some() || shard.stats().files == 1 {
            return;
        }
        let hold = PurgeHold::begin(&shard, TABLE).expect("the table is there");
        if comes == Comes::Afterwards {
            compaction.as_mut().await.expect("the disk works");
            compaction = Box::pin(async { Ok(()) });
        }
        let receiving = shard.clone();
        let receiving = Box::pin(async move {
            let mut target = CopyTarget::begin(&receiving, TABLE, ALL).expect("the table is there");
            target.put(&mutation(TABLE, 1, 10, b"old")).await.expect("it belongs there");
            target.finish().await.expect("the disk works")
        });
        both(receiving, compaction).await.expect("the disk works");
        drop(hold);
        let context = format!("step {steps}, {comes:?}");
        if says_of(&shard, 1).await == 0 || read_all_rows_at(&shard, TABLE, 2_000).await.contains(&1) {
            told.set(Went::Purged);
            return;
        }
        told.set(Went::Kept);
        // Nothing is received any more: it is purged as ever.
        write_rows(&shard, TABLE, 300..301, b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
        shard.compact(TABLE).await.expect("the disk works");
        assert_eq!(says_of(&shard, 1).await, 0, "{context}: its deletion is purged");
        assert!(!read_all_rows_at(&shard, TABLE, 2_000).await.contains(&1), "{context}");
    });
    went.get()
}

/// Carries out both, the first much sooner.
async fn both<T, U>(mut one: Pin<Box<impl Future<Output = T>>>, mut other: Pin<Box<dyn Future<Output = U>>>) -> U {
    let (mut is_done, mut output, mut turn) = (false, None, 0);
    poll_fn(|context| {
        turn += 1;
        is_done = is_done || one.as_mut().poll(context).is_ready();
        if output.is_none() {
            if !is_done && turn % 16 != 0 {
                context.waker().wake_by_ref();
            } else if let Poll::Ready(ready) = other.as_mut().poll(context) {
                output = Some(ready);
            }
        }
        match (is_done, output.is_some()) {
            (true, true) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    })
    .await;
    output.expect("it is done")
}

/// A compaction that has purged a deletion does not take its files' place if a range began to come meanwhile: but where it is at its record already, by which the
/// deletion is gone before the range comes.
#[test]
fn a_compaction_that_began_before_a_range_is_received_purges_nothing() {
    const RECORD_STEPS: usize = 4;
    for comes in [Comes::Meanwhile, Comes::Afterwards] {
        let all: Vec<Went> =
            (0..).map(|steps| compact_and_receive(steps, comes)).take_while(|went| *went != Went::Before).collect();
        let kept = all.iter().take_while(|went| **went == Went::Kept).count();
        assert!(kept > 10 && all.len() - kept <= RECORD_STEPS, "{comes:?}: {all:?}");
    }
}
