//! Power cuts at every boundary of a compaction, and each of its disk calls failed once, on simulated machines: what is read is the same,
//! and a compaction that was cut short is done again.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use mutation::{Deletion, MutationEncoder};
use runtime::Runtime;
use runtime::sim::{Disk, DiskError, DiskFault, Ended, HostId, Keep, World, WorldOptions};
use schema::{Schema, SchemaChange};
use storage::{Shard, StorageOptions, Truncations};
use topology::{Sharder, token_of};

use crate::harness::*;

const DATA: &str = "/data";
/// Of the world's time.
const AT_MOST: Duration = Duration::from_secs(3600);

/// Tombstones may be purged at once.
fn schema() -> Schema {
    let schema = schema_of(&[TABLE], true);
    let mut table = (**schema.table_by_id(TABLE).expect("it is there")).clone();
    table.options.gc_grace_seconds = 0;
    schema.with_all(&[SchemaChange::PutTable(Box::new(table))])
}

async fn open(runtime: &Runtime, boot: u64) -> Shard {
    let mut options = StorageOptions::new(DATA, boot, 16 << 20);
    options.segment_bytes = 128 << 10;
    options.compacts = false;
    options.planted = planted();
    let opened = Shard::open(runtime, options, Sharder::new(1), &schema(), &Truncations::new()).await;
    let shard = opened.unwrap_or_else(|error| panic!("start {boot}: {error}"));
    shard.retire_old_segments().await.expect("there are none");
    shard
}

fn deletion(number: u32) -> Vec<u8> {
    let key = key_of(number);
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(&key), &key);
    encoder.partition_deletion(Deletion { timestamp: 10, local_deletion_time: 1_000 });
    encoder.finish();
    out
}

/// Three files of rows, some of them deleted.
async fn fill(shard: &Shard) {
    for round in 0..3u32 {
        write_rows(shard, TABLE, round * 30..round * 30 + 60, &[1; 200]).await;
        for number in round * 30 + 5..round * 30 + 10 {
            apply(shard, &deletion(number)).await;
        }
        shard.flush(TABLE).await.expect("the disk works");
    }
}

/// What is read then.
fn expected() -> Vec<u32> {
    (0..120).filter(|number| !(5..10).contains(&(number % 30)) || *number >= 90).collect()
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

/// The disk at each boundary of a compaction.
fn boundaries() -> Vec<Disk> {
    let (mut world, host) = world(empty_disk());
    let begins = Rc::new(Cell::new(false));
    let begun = begins.clone();
    let main = move |runtime: Runtime| async move {
        let shard = open(&runtime, 1).await;
        fill(&shard).await;
        begun.set(true);
        runtime.yield_now().await;
        shard.compact(TABLE).await.expect("the disk works");
        assert_eq!(shard.stats().files, 1);
        assert_eq!(read_all_rows(&shard, TABLE).await, expected());
    };
    let started = world.start(host, false, vec![main]);
    assert_eq!(world.run_until(|_| begins.get(), AT_MOST), Ended::Condition);
    world.keep_boundaries(host);
    assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition);
    world.take_boundaries(host)
}

#[test]
fn a_power_cut_at_any_step_leaves_the_inputs_or_the_outputs() {
    let boundaries = boundaries();
    let mut seen = BTreeSet::new();
    let mut files = BTreeSet::new();
    for (number, boundary) in boundaries.iter().enumerate() {
        let base = number as u64 * 8;
        let reordered = (0..3).map(|order| Keep::Reordered { seed: base + order });
        for keep in [Keep::Everything, Keep::Nothing, Keep::Torn { seed: base }].into_iter().chain(reordered) {
            let disk = boundary.after_power_cut(keep);
            if !seen.insert(disk.digest()) {
                continue;
            }
            let (mut world, host) = world(disk);
            let found = Rc::new(Cell::new(0));
            let count = found.clone();
            let main = move |runtime: Runtime| async move {
                let shard = open(&runtime, 2).await;
                count.set(shard.stats().files);
                let context = format!("boundary {number}, {keep:?}");
                assert_eq!(read_all_rows(&shard, TABLE).await, expected(), "{context}");
                shard.compact(TABLE).await.expect("the disk works");
                assert_eq!(shard.stats().files, 1, "{context}");
                assert_eq!(read_all_rows(&shard, TABLE).await, expected(), "{context}, compacted again");
            };
            let started = world.start(host, false, vec![main]);
            let ended = world.run_until(|_| started.is_over(), AT_MOST);
            assert_eq!(ended, Ended::Condition, "boundary {number}, {keep:?}");
            files.insert(found.get());
        }
    }
    assert!(seen.len() > 30, "{} images of {} boundaries", seen.len(), boundaries.len());
    assert_eq!(files.into_iter().collect::<Vec<_>>(), [1, 3], "some are from before the exchange, some from behind it");
}

/// Runs a compaction while one call of the disk fails. Gives the disk's calls before and behind it, and whether it failed.
fn with_fault(fault: Option<DiskFault>) -> (u64, u64, bool) {
    let (mut world, host) = world(empty_disk());
    world.set_disk_faults(host, fault.into_iter().collect());
    let (begins, failed) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
    let (begun, has_failed) = (begins.clone(), failed.clone());
    let main = move |runtime: Runtime| async move {
        let shard = open(&runtime, 1).await;
        fill(&shard).await;
        begun.set(true);
        runtime.yield_now().await;
        let compacted = shard.compact(TABLE).await;
        has_failed.set(compacted.is_err());
        assert_eq!(shard.stats().files, if compacted.is_err() { 3 } else { 1 }, "{compacted:?}");
        assert_eq!(read_all_rows(&shard, TABLE).await, expected(), "{compacted:?}");
        shard.compact(TABLE).await.expect("the disk works again");
        assert_eq!(read_all_rows(&shard, TABLE).await, expected());
    };
    let started = world.start(host, false, vec![main]);
    assert_eq!(world.run_until(|_| begins.get(), AT_MOST), Ended::Condition);
    let before = world.disk_calls(host);
    assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition);
    (before, world.disk_calls(host), failed.get())
}

#[test]
fn each_call_of_the_disk_fails_once_and_nothing_is_lost() {
    // The second compaction and the reads are among the calls; a read that fails is another test's.
    let (before, behind, _) = with_fault(None);
    let mut failures = 0;
    for number in before..before + (behind - before) / 3 {
        for error in [DiskError::Medium, DiskError::Full] {
            let (_, _, failed) = with_fault(Some(DiskFault::at(number, error)));
            failures += u32::from(failed);
        }
    }
    assert!(failures > 20, "{failures} compactions failed of those with calls {before} to {behind}");
}

/// The data files in the table's folder.
async fn data_files(runtime: &Runtime) -> usize {
    let folder = std::path::PathBuf::from(format!("{DATA}/data/ks/t1-{}", "01".repeat(16)));
    let entries = runtime.read_dir(&folder).await.expect("the table has a folder");
    entries.iter().filter(|entry| entry.name.ends_with("-Data.db")).count()
}

#[test]
fn two_shards_compact_the_files_of_one_and_shard_0_removes_them_while_they_serve() {
    let (mut world, host) = world(empty_disk());
    let one = |boot: u64, is_first: bool| {
        move |runtime: Runtime| async move {
            let shard = open(&runtime, boot).await;
            if is_first {
                fill(&shard).await;
            }
            assert_eq!(read_all_rows(&shard, TABLE).await, expected());
        }
    };
    let first = world.start(host, false, vec![one(1, true)]);
    assert_eq!(world.run_until(|_| first.is_over(), AT_MOST), Ended::Condition);
    let opened = Rc::new(Cell::new(0));
    let rows = Rc::new(Cell::new(0));
    let two = || {
        let (opened, rows) = (opened.clone(), rows.clone());
        move |runtime: Runtime| async move {
            let mut options = StorageOptions::new(DATA, 2, 16 << 20);
            options.segment_bytes = 128 << 10;
            options.planted = planted();
            let mut table = (**schema().table_by_id(TABLE).expect("it is there")).clone();
            table.options.compaction.insert("min_threshold".to_owned(), "2".to_owned());
            let schema = schema().with_all(&[SchemaChange::PutTable(Box::new(table))]);
            let shard = Shard::open(&runtime, options, Sharder::new(2), &schema, &Truncations::new()).await;
            let shard = shard.expect("the shard opens");
            opened.set(opened.get() + 1);
            while opened.get() < 2 {
                runtime.sleep(Duration::from_millis(1)).await;
            }
            shard.retire_old_segments().await.expect("they can be removed");
            runtime.sleep(Duration::from_secs(200)).await;
            assert_eq!(shard.stats().files, 1, "its own part of the three");
            rows.set(rows.get() + read_all_rows(&shard, TABLE).await.len());
            assert_eq!(data_files(&runtime).await, 2, "one of each shard; the shared ones are gone");
        }
    };
    let second = world.start(host, false, vec![two(), two()]);
    assert_eq!(world.run_until(|_| second.is_over(), AT_MOST), Ended::Condition);
    assert_eq!(rows.get(), expected().len());
    let third = world.start(host, false, vec![one(3, false)]);
    assert_eq!(world.run_until(|_| third.is_over(), AT_MOST), Ended::Condition);
}
