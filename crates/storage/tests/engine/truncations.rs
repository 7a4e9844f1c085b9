//! Truncations between the moment at which they have their position and the one at which that is durable: what is read, written, counted and flushed
//! meanwhile, and power cuts at each step.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use runtime::sim::{Disk, Ended, HostId, Keep, World, WorldOptions};
use runtime::{AlignedBuf, OpenOptions, Runtime};
use storage::{ReplayPosition, Shard, StorageOptions, Truncations};
use topology::Sharder;

use crate::harness::*;

const DATA: &str = "/data";
/// The position, once it is durable. The metadata log keeps it in the product.
const FACT: &str = "/data/fact";
/// Of the world's time.
const AT_MOST: Duration = Duration::from_secs(3600);
/// Rows from before the truncation, in a file and in memory.
const OLD: std::ops::Range<u32> = 0..60;

async fn open(runtime: &Runtime, boot: u64, truncations: &Truncations) -> Shard {
    let mut options = StorageOptions::new(DATA, boot, 16 << 20);
    options.segment_bytes = 128 << 10;
    options.compacts = false;
    options.planted = planted();
    let schema = schema_of(&[TABLE], true);
    let opened = Shard::open(runtime, options, Sharder::new(1), &schema, truncations).await;
    let shard = opened.unwrap_or_else(|error| panic!("start {boot}: {error}"));
    shard.retire_old_segments().await.expect("there are none");
    shard
}

async fn make_durable(runtime: &Runtime, position: ReplayPosition) {
    let (path, new) = (Path::new(FACT), Path::new("/data/fact.new"));
    let options = OpenOptions { write: true, create: true, ..OpenOptions::default() };
    let file = runtime.open(new, options).await.expect("the disk works");
    let mut bytes = AlignedBuf::zeroed(4096);
    bytes[..8].copy_from_slice(&position.boot.to_be_bytes());
    bytes[8..16].copy_from_slice(&position.sequence.to_be_bytes());
    file.write_at(bytes, 0).await.0.expect("the disk works");
    file.sync_all().await.expect("the disk works");
    runtime.rename(new, path).await.expect("the disk works");
    runtime.sync_dir(Path::new(DATA)).await.expect("the disk works");
}

/// The position that a start goes by: the durable one, or else the log's end, where the truncation is decided.
async fn position_at_start(runtime: &Runtime, boot: u64, is_decided: bool) -> Truncations {
    let durable = match runtime.exists(Path::new(FACT)).await.expect("the disk works") {
        true => {
            let bytes = runtime.read_file(Path::new(FACT)).await.expect("the disk works");
            let number = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
            Some(ReplayPosition { boot: number(0), shard: 0, sequence: number(8) })
        }
        false => None,
    };
    let position = durable.or_else(|| is_decided.then(|| ReplayPosition::before_boot(boot, 0)));
    position.into_iter().map(|position| (TABLE, vec![position])).collect()
}

/// The knowledge of a client at some moment.
#[derive(Debug, Clone, Default)]
struct Known {
    /// The truncation is in the cluster's log.
    is_decided: bool,
    /// A reader has missed the old rows.
    is_seen: bool,
    /// Rows that were acknowledged after that.
    kept: Vec<u32>,
}

/// A truncation with writes and reads between its steps.
async fn truncate_in_steps(runtime: Runtime, known: Rc<RefCell<Known>>, step: Rc<Cell<u32>>) {
    let shard = open(&runtime, 1, &Truncations::new()).await;
    write_rows(&shard, TABLE, 0..30, b"v").await;
    shard.flush(TABLE).await.expect("the disk works");
    write_rows(&shard, TABLE, 30..60, b"v").await;
    let next = async |at: u32| {
        // One row at a time, each after a look.
        for number in at * 100..at * 100 + 3 {
            let rows = read_all_rows(&shard, TABLE).await;
            known.borrow_mut().is_seen |= !rows.contains(&OLD.start);
            write_rows(&shard, TABLE, number..number + 1, b"v").await;
            shard.drain().await.expect("the disk works");
            let mut known = known.borrow_mut();
            if known.is_seen {
                known.kept.push(number);
            }
        }
        step.set(at);
        runtime.yield_now().await;
    };
    next(1).await;
    known.borrow_mut().is_decided = true;
    let position = shard.begin_truncation(TABLE);
    next(2).await;
    make_durable(&runtime, position).await;
    next(3).await;
    shard.truncation_is_durable(TABLE, position);
    next(4).await;
    shard.discard_truncated(TABLE, position, "1").await;
    next(5).await;
    shard.flush(TABLE).await.expect("the disk works");
    next(6).await;
    assert!(known.borrow().is_seen && known.borrow().kept.len() == 9);
}

fn world(disk: Disk) -> (World<'static>, HostId) {
    let mut world = World::new(WorldOptions::new(1));
    let host = world.add_host_with(&[], disk);
    (world, host)
}

/// The disk at each boundary, with what was known before it.
fn boundaries() -> Vec<(Known, Disk)> {
    let mut disk = Disk::default();
    disk.prepare_directory(DATA);
    let (mut world, host) = world(disk);
    let (known, step) = (Rc::new(RefCell::new(Known::default())), Rc::new(Cell::new(0)));
    let of_main = (known.clone(), step.clone());
    let main = move |runtime: Runtime| truncate_in_steps(runtime, of_main.0, of_main.1);
    let started = world.start(host, false, vec![main]);
    let mut found = Vec::new();
    for at in 1..=6 {
        // Each row that is acknowledged ends a part.
        let mut part = known.borrow().clone();
        while step.get() < at {
            world.keep_boundaries(host);
            let is_more = || step.get() >= at || known.borrow().kept.len() > part.kept.len();
            assert_eq!(world.run_until(|_| is_more(), AT_MOST), Ended::Condition);
            found.extend(world.take_boundaries(host).into_iter().map(|disk| (part.clone(), disk)));
            part = known.borrow().clone();
        }
    }
    assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition);
    found
}

/// A truncation is decided; a shard takes its position; writes are acknowledged; power is cut before the position is durable, or at any other step. What was
/// acknowledged after a reader had missed the old rows is there, and what was missed does not come back.
#[test]
fn truncate_crash() {
    let boundaries = boundaries();
    let (mut images, mut kept_most) = (0, 0);
    for (number, (known, boundary)) in boundaries.iter().enumerate() {
        for keep in [Keep::Everything, Keep::Nothing, Keep::Torn { seed: number as u64 }] {
            images += 1;
            kept_most = kept_most.max(known.kept.len());
            let (mut world, host) = world(boundary.after_power_cut(keep));
            let (known, context) = (known.clone(), format!("boundary {number}, {keep:?}"));
            let main = move |runtime: Runtime| async move {
                // The first start may have been cut off before it had anything.
                let truncations = position_at_start(&runtime, 2, known.is_decided).await;
                let shard = open(&runtime, 2, &truncations).await;
                let rows = read_all_rows(&shard, TABLE).await;
                let is_back = rows.iter().any(|row| OLD.contains(row));
                assert!(!(known.is_decided && is_back), "{context}: truncated rows are back: {rows:?}");
                let lost: Vec<u32> = known.kept.iter().copied().filter(|row| !rows.contains(row)).collect();
                assert!(lost.is_empty(), "{context}: acknowledged after the truncation was seen, and lost: {lost:?}");
            };
            let started = world.start(host, false, vec![main]);
            assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition);
        }
    }
    assert!(images > 100 && kept_most > 5, "{images} images, {kept_most} rows");
}

#[test]
fn rows_are_read_until_the_position_is_durable_and_none_is_flushed() {
    let folder = Folder::new("truncation-open");
    with_shard(&Setup::new(&folder, 1), async |runtime, shard| {
        write_rows(&shard, TABLE, 0..10, b"v").await;
        shard.flush(TABLE).await.expect("it is flushed");
        write_rows(&shard, TABLE, 10..20, b"v").await;
        let position = shard.begin_truncation(TABLE);
        write_rows(&shard, TABLE, 20..30, b"v").await;
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..30).collect::<Vec<_>>());
        let flushing = shard.clone();
        let flush = runtime.spawn(runtime::Group::Query, async move { flushing.flush(TABLE).await });
        // Another table is flushed meanwhile.
        write_rows(&shard, OTHER, 0..10, b"v").await;
        shard.flush(OTHER).await.expect("it is flushed");
        assert_eq!(shard.stats().flushes, 2);
        shard.truncation_is_durable(TABLE, position);
        flush.await.expect("it is flushed");
        shard.discard_truncated(TABLE, position, "1").await;
        assert_eq!(read_all_rows(&shard, TABLE).await, (20..30).collect::<Vec<_>>());
        assert_eq!(shard.stats().files, 2);
    })
    .expect("the shard opens");
}

#[test]
fn an_abandoned_truncation_leaves_the_table_as_it_was() {
    let folder = Folder::new("truncation-abandoned");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |_, shard| {
        write_rows(&shard, TABLE, 0..10, b"v").await;
        shard.begin_truncation(TABLE);
        write_rows(&shard, TABLE, 10..20, b"v").await;
        shard.abandon_truncation(TABLE);
        shard.flush(TABLE).await.expect("it is flushed");
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..20).collect::<Vec<_>>());
        // A later one takes all of it along.
        let position = truncate(&shard, TABLE);
        shard.discard_truncated(TABLE, position, "1").await;
        assert!(read_all_rows(&shard, TABLE).await.is_empty());
        assert!(shard.stats().files == 0);
    })
    .expect("the shard opens");
}

/// The position of a start that truncates lies after all earlier starts, on whatever shards, and before what this one writes or imports.
#[test]
fn a_start_truncates_what_earlier_ones_have() {
    let folder = Folder::new("truncation-at-start");
    let mut setup = Setup::new(&folder, 1);
    with_shard(&setup, async |_, shard| {
        write_rows(&shard, TABLE, 0..10, b"v").await;
        shard.flush(TABLE).await.expect("it is flushed");
        write_rows(&shard, TABLE, 10..20, b"v").await;
    })
    .expect("the shard opens");
    setup = setup.boot(2);
    setup.truncations.insert(TABLE, vec![ReplayPosition::before_boot(2, 0)]);
    with_shard(&setup, async |_, shard| {
        assert!(read_all_rows(&shard, TABLE).await.is_empty());
        write_rows(&shard, TABLE, 20..30, b"v").await;
    })
    .expect("the shard opens");
    let rows = with_shard(&setup.boot(3), async |_, shard| read_all_rows(&shard, TABLE).await);
    assert_eq!(rows.expect("the shard opens"), (20..30).collect::<Vec<_>>());
}

/// A large write that begins after the position is whole, however it lies to the truncation's end.
#[test]
fn a_large_write_after_the_position_is_not_cut_off() {
    let folder = Folder::new("truncation-steps");
    let mut setup = Setup::new(&folder, 1);
    // A record is at most half of a segment.
    setup.options.segment_bytes = StorageOptions::SEGMENT_BYTES;
    const ROWS: u32 = 20_000;
    let position = with_shard(&setup, async |runtime, shard| {
        write_rows(&shard, TABLE, 50_000..50_010, b"v").await;
        let position = shard.begin_truncation(TABLE);
        let writing = shard.clone();
        let wrote = runtime.spawn(runtime::Group::Query, async move {
            let batch: Vec<Vec<u8>> = (0..ROWS).map(|number| mutation(TABLE, number, 1, b"v")).collect();
            writing.apply_in_steps(&batch).await
        });
        let count = async || read_all_rows(&shard, TABLE).await.len();
        while count().await <= 10 {
            runtime.yield_now().await;
        }
        shard.truncation_is_durable(TABLE, position);
        wrote.await.expect("there is room");
        shard.drain().await.expect("the disk works");
        assert_eq!(count().await, ROWS as usize);
        position
    })
    .expect("the shard opens");
    setup = setup.boot(2);
    setup.truncations.insert(TABLE, vec![position]);
    let rows = with_shard(&setup, async |_, shard| read_all_rows(&shard, TABLE).await.len());
    assert_eq!(rows.expect("the shard opens"), ROWS as usize);
}
