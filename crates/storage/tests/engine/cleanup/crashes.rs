//! Power cuts at every boundary of a cleanup, and each of its disk calls failed once, on simulated machines: no kept row is lost, and a cleanup that has ended stays so.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use runtime::Runtime;
use runtime::sim::{Disk, DiskError, DiskFault, Ended, HostId, Keep, World, WorldOptions};
use storage::{Shard, StorageOptions, Truncations};
use topology::Sharder;

use super::{between, is_kept, kept};
use crate::harness::*;

const DATA: &str = "/data";
/// Of the world's time.
const AT_MOST: Duration = Duration::from_secs(3600);

async fn open(runtime: &Runtime, boot: u64) -> Shard {
    let mut options = StorageOptions::new(DATA, boot, 16 << 20);
    options.segment_bytes = 128 << 10;
    options.compacts = false;
    options.planted = planted();
    let schema = schema_of(&[TABLE], true);
    let opened = Shard::open(runtime, options, Sharder::new(1), &schema, &Truncations::new()).await;
    let shard = opened.unwrap_or_else(|error| panic!("start {boot}: {error}"));
    shard.retire_old_segments().await.expect("there are none");
    shard
}

fn outside() -> impl Iterator<Item = u32> {
    // Within one gap of what is kept.
    between(i64::MAX / 10 * 2, i64::MAX / 10 * 4).take(20)
}

/// A file with rows of both, one with rows that are not kept, and rows of both in memory.
async fn fill(shard: &Shard) {
    write_rows(shard, TABLE, 0..60, &[1; 200]).await;
    shard.flush(TABLE).await.expect("the disk works");
    write_rows(shard, TABLE, outside(), &[1; 200]).await;
    shard.flush(TABLE).await.expect("the disk works");
    write_rows(shard, TABLE, 60..120, &[1; 200]).await;
}

fn all() -> BTreeSet<u32> {
    (0..120).chain(outside()).collect()
}

fn expected() -> Vec<u32> {
    all().into_iter().filter(|number| is_kept(*number)).collect()
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

async fn clean_up(shard: &Shard) -> Result<storage::Cleaned, storage::CompactionError> {
    let kept = Rc::new(kept());
    storage::clean_up(shard, TABLE, || Rc::clone(&kept)).await
}

/// The disk at each boundary of a cleanup, and when it has ended.
fn boundaries() -> (Vec<Disk>, usize) {
    let (mut world, host) = world(empty_disk());
    let (begins, ends, over) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
    let (begun, ended, is_over) = (begins.clone(), ends.clone(), over.clone());
    let main = move |runtime: Runtime| async move {
        let shard = open(&runtime, 1).await;
        fill(&shard).await;
        begun.set(true);
        runtime.yield_now().await;
        let cleaned = clean_up(&shard).await.expect("the disk works");
        assert_eq!((cleaned.removed, cleaned.rewritten), (1, 2));
        assert_eq!(read_all_rows(&shard, TABLE).await, expected());
        ended.set(true);
        runtime.yield_now().await;
        // Something later is on the disk, and something not yet.
        write_rows(&shard, TABLE, expected().into_iter().take(3), &[1; 200]).await;
        is_over.set(true);
    };
    let started = world.start(host, false, vec![main]);
    assert_eq!(world.run_until(|_| begins.get(), AT_MOST), Ended::Condition);
    world.keep_boundaries(host);
    assert_eq!(world.run_until(|_| ends.get(), AT_MOST), Ended::Condition);
    let mut all = world.take_boundaries(host);
    let while_it_ran = all.len();
    world.keep_boundaries(host);
    assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition);
    assert!(over.get());
    all.extend(world.take_boundaries(host));
    (all, while_it_ran)
}

#[test]
fn a_power_cut_at_any_step_loses_no_kept_row_and_a_cleanup_that_has_ended_stays_so() {
    let (boundaries, while_it_ran) = boundaries();
    let mut seen = BTreeSet::new();
    let mut counts = BTreeSet::new();
    for (number, boundary) in boundaries.iter().enumerate() {
        let base = number as u64 * 8;
        let reordered = (0..3).map(|order| Keep::Reordered { seed: base + order });
        for keep in [Keep::Everything, Keep::Nothing, Keep::Torn { seed: base }].into_iter().chain(reordered) {
            let disk = boundary.after_power_cut(keep);
            let has_ended = number >= while_it_ran;
            if !seen.insert((disk.digest(), has_ended)) {
                continue;
            }
            let (mut world, host) = world(disk);
            let found = Rc::new(Cell::new(0));
            let count = found.clone();
            let main = move |runtime: Runtime| async move {
                let shard = open(&runtime, 2).await;
                let context = format!("boundary {number}, {keep:?}");
                let rows: BTreeSet<u32> = read_all_rows(&shard, TABLE).await.into_iter().collect();
                count.set(rows.len());
                assert!(expected().iter().all(|row| rows.contains(row)), "{context}: kept rows are lost");
                assert!(rows.is_subset(&all()), "{context}");
                if has_ended {
                    assert_eq!(rows.into_iter().collect::<Vec<_>>(), expected(), "{context}: dropped rows are back");
                }
                clean_up(&shard).await.expect("the disk works");
                assert_eq!(read_all_rows(&shard, TABLE).await, expected(), "{context}, cleaned again");
            };
            let started = world.start(host, false, vec![main]);
            let ended = world.run_until(|_| started.is_over(), AT_MOST);
            assert_eq!(ended, Ended::Condition, "boundary {number}, {keep:?}");
            counts.insert(found.get());
        }
    }
    assert!(seen.len() > 40, "{} images of {} boundaries", seen.len(), boundaries.len());
    assert!(while_it_ran < boundaries.len(), "some are of after its end");
    assert!(counts.len() > 3, "some are of before a step, some of after it: {counts:?}");
}

/// Runs a cleanup while one call of the disk fails. Gives the disk's calls before and after it, and whether it failed.
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
        let cleaned = clean_up(&shard).await;
        has_failed.set(cleaned.is_err());
        let rows: BTreeSet<u32> = read_all_rows(&shard, TABLE).await.into_iter().collect();
        assert!(expected().iter().all(|row| rows.contains(row)), "{cleaned:?}");
        assert!(cleaned.is_err() || rows.len() == expected().len(), "{cleaned:?}");
        clean_up(&shard).await.expect("the disk works again");
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
    let (before, after, _) = with_fault(None);
    let mut failures = 0;
    for number in before..before + (after - before) * 2 / 3 {
        for error in [DiskError::Medium, DiskError::Full] {
            let (_, _, failed) = with_fault(Some(DiskFault::at(number, error)));
            failures += u32::from(failed);
        }
    }
    assert!(failures > 20, "{failures} cleanups failed of those with calls {before} to {after}");
}
