//! Beside a cleanup: writes, flushes, compactions, truncations, drops, an operation that gives the node more; and one that an operator stops.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use runtime::{Group, Runtime, TaskHandle};
use storage::CompactionError;

use super::*;

/// So little that a file's rewriting does not end by itself.
const SLOW: u64 = 4 << 10;

/// Begins a cleanup and waits until it writes a file.
async fn begin_slowly(
    runtime: &Runtime,
    shard: &Shard,
    kept: &Rc<RefCell<Rc<TokenRanges>>>,
) -> TaskHandle<Result<Cleaned, CompactionError>> {
    shard.set_compaction_throughput(SLOW);
    let (cleaning, kept) = (shard.clone(), Rc::clone(kept));
    let cleanup = runtime
        .spawn(Group::Maintenance, async move { storage::clean_up(&cleaning, TABLE, || kept.borrow().clone()).await });
    until(runtime, "a file is being written", || shard.running_compaction().is_some_and(|running| running.written > 0))
        .await;
    cleanup
}

fn shared(kept: TokenRanges) -> Rc<RefCell<Rc<TokenRanges>>> {
    Rc::new(RefCell::new(Rc::new(kept)))
}

/// Of 4 KiB that are not compressed to nothing: what is written goes out several times.
fn value() -> Vec<u8> {
    (0..4096u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

async fn fill(shard: &Shard, files: u32) {
    for file in 0..files {
        write_rows(shard, TABLE, file * 300..file * 300 + 300, &value()).await;
        shard.flush(TABLE).await.expect("the disk works");
    }
}

#[test]
fn a_cleanup_that_is_stopped_leaves_the_file_as_it_was_and_is_done_again() {
    let folder = Folder::new("cleanup-stopped");
    let laid = &folder;
    with_shard(&Setup::new(&folder, 1), async |runtime: Runtime, shard: Shard| {
        fill(&shard, 2).await;
        let files = data_files(laid);
        let cleanup = begin_slowly(&runtime, &shard, &shared(kept())).await;
        let running = shard.running_compaction().expect("it was seen");
        assert_eq!((running.keyspace.as_str(), running.table.as_str()), ("ks", "t1"));
        assert!(running.input > 300 * 4096, "{running:?}");
        assert!(shard.stop_compaction(Some(running.number)));
        let stopped = runtime.timeout(Duration::from_secs(60), cleanup).await.expect("it was slept through");
        assert!(matches!(stopped, Err(CompactionError::Stopped)), "{stopped:?}");
        assert_eq!(data_files(laid), files, "what it wrote is removed");
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..600).collect::<Vec<_>>());
        shard.set_compaction_throughput(0);
        assert_eq!(clean_up(&shard, TABLE, kept()).await.rewritten, 2);
        assert_eq!(read_all_rows(&shard, TABLE).await, kept_of(0..600));
    })
    .expect("the shard opens");
}

#[test]
fn what_an_operation_brings_meanwhile_stays() {
    let folder = Folder::new("cleanup-gains");
    let setup = Setup::new(&folder, 1);
    let expected = with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        fill(&shard, 1).await;
        let present = shared(kept());
        let cleanup = begin_slowly(&runtime, &shard, &present).await;
        // From here on all tokens are the node's, and what it is sent of them is in files before the next step.
        present.replace(Rc::new(TokenRanges::all()));
        write_rows(&shard, TABLE, 5_000..5_100, b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
        shard.set_compaction_throughput(0);
        // It sleeps for what it has written before.
        shard.stop_compaction(None);
        assert!(matches!(cleanup.await, Err(CompactionError::Stopped)));
        let cleaned = storage::clean_up(&shard, TABLE, || present.borrow().clone()).await.expect("the disk works");
        assert_eq!(cleaned, Cleaned::default());
        // The same where it goes on: the first step by what is kept first, the second by all.
        let asked = Cell::new(0);
        let cleaned = storage::clean_up(&shard, TABLE, || {
            asked.set(asked.get() + 1);
            Rc::new(if asked.get() <= 2 { kept() } else { TokenRanges::all() })
        });
        assert_eq!(cleaned.await.expect("the disk works").rewritten, 1);
        assert_eq!(asked.get(), 3, "before each step");
        let rows = read_all_rows(&shard, TABLE).await;
        assert!(rows.iter().filter(|row| **row >= 5_000).count() == 100, "{rows:?}");
        rows
    })
    .expect("the shard opens");
    assert_eq!(expected, kept_of(0..300).into_iter().chain(5_000..5_100).collect::<Vec<_>>());
    let rows = with_shard(&setup.boot(2), async |_, shard: Shard| read_all_rows(&shard, TABLE).await);
    assert_eq!(rows.expect("the shard opens"), expected);
}

#[test]
fn what_is_truncated_meanwhile_does_not_come_back() {
    let folder = Folder::new("cleanup-truncate");
    let mut setup = Setup::new(&folder, 1);
    setup.options.auto_snapshot = false;
    let position = with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        fill(&shard, 2).await;
        let cleanup = begin_slowly(&runtime, &shard, &shared(kept())).await;
        let position = truncate(&shard, TABLE);
        shard.discard_truncated(TABLE, position, "1").await;
        shard.set_compaction_throughput(0);
        write_rows(&shard, TABLE, kept_of(5_000..5_020).into_iter(), b"value").await;
        // It sleeps for what it has written before.
        shard.stop_compaction(None);
        match cleanup.await {
            Ok(cleaned) => assert_eq!(cleaned.rewritten, 0, "nothing of what was truncated is exchanged"),
            Err(error) => assert!(matches!(error, CompactionError::Stopped), "{error}"),
        }
        clean_up(&shard, TABLE, kept()).await;
        assert_eq!(read_all_rows(&shard, TABLE).await, kept_of(5_000..5_020));
        position
    });
    setup.truncations.insert(TABLE, vec![position.expect("the shard opens")]);
    let rows = with_shard(&setup.boot(2), async |_, shard: Shard| read_all_rows(&shard, TABLE).await);
    assert_eq!(rows.expect("the shard opens"), kept_of(5_000..5_020));
}

#[test]
fn what_is_dropped_meanwhile_leaves_nothing() {
    let folder = Folder::new("cleanup-drop");
    let mut setup = Setup::new(&folder, 1);
    setup.options.auto_snapshot = false;
    with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        fill(&shard, 2).await;
        // At a pace at which the next piece comes soon, and the end does not.
        shard.set_compaction_throughput(256 << 10);
        let cleaning = shard.clone();
        let kept = Rc::new(kept());
        let cleanup = runtime
            .spawn(Group::Maintenance, async move { storage::clean_up(&cleaning, TABLE, || Rc::clone(&kept)).await });
        let writes = || shard.running_compaction().is_some_and(|running| running.written > 0);
        until(&runtime, "a file is being written", writes).await;
        shard.update_schema(&schema_of(&[OTHER], true));
        shard.discard_dropped("1").await;
        let cleaned = cleanup.await.expect("a table that is gone is clean");
        assert_eq!(cleaned, Cleaned::default());
    })
    .expect("the shard opens");
    assert_eq!(data_files(&folder), BTreeSet::new());
}

#[test]
fn writes_flushes_and_compactions_go_on_beside_it() {
    let folder = Folder::new("cleanup-beside");
    let mut setup = Setup::new(&folder, 1);
    setup.options.compacts = true;
    setup.compaction = vec![("class", "SizeTieredCompactionStrategy"), ("min_threshold", "2")];
    let expected = with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        for file in 0..6u32 {
            write_rows(&shard, TABLE, file * 300..file * 300 + 400, b"value").await;
            shard.flush(TABLE).await.expect("the disk works");
        }
        let writing = shard.clone();
        let wrote = runtime.spawn(Group::Query, async move {
            for round in 0..10u32 {
                let numbers = kept_of(10_000 + round * 100..10_000 + round * 100 + 100);
                write_rows(&writing, TABLE, numbers.into_iter(), b"later").await;
                writing.flush(TABLE).await.expect("the disk works");
            }
        });
        let mut looks = 0;
        let (cleaning, is_done) = (shard.clone(), Rc::new(Cell::new(false)));
        let done = Rc::clone(&is_done);
        let cleanup = runtime.spawn(Group::Maintenance, async move {
            let cleaned = clean_up(&cleaning, TABLE, kept()).await;
            done.set(true);
            cleaned
        });
        while !is_done.get() {
            let rows = read_all_rows(&shard, TABLE).await;
            assert!(kept_of(0..1_900).iter().all(|row| rows.binary_search(row).is_ok()), "kept rows are missing");
            looks += 1;
            runtime.yield_now().await;
        }
        assert!(looks > 0);
        cleanup.await;
        wrote.await;
        let expected = kept_of((0..1_900).chain(10_000..11_000));
        assert_eq!(read_all_rows(&shard, TABLE).await, expected);
        shard.compact(TABLE).await.expect("the disk works");
        assert_eq!(read_all_rows(&shard, TABLE).await, expected);
        expected
    })
    .expect("the shard opens");
    let rows = with_shard(&setup.boot(2), async |_, shard: Shard| read_all_rows(&shard, TABLE).await);
    assert_eq!(rows.expect("the shard opens"), expected);
}

#[test]
fn what_is_flushed_beside_a_large_write_is_not_brought_back_by_the_log() {
    const ROWS: u32 = 50_000;
    let folder = Folder::new("cleanup-large-write");
    let mut setup = Setup::new(&folder, 1);
    setup.options.segment_bytes = 32 << 20;
    with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        let writing = shard.clone();
        let wrote = runtime.spawn(Group::Query, async move {
            let batch: Vec<Vec<u8>> = (0..ROWS).map(|number| mutation(OTHER, number, 1, b"value")).collect();
            writing.apply_in_steps(&batch).await
        });
        while read_rows(&shard, OTHER).is_empty() {
            runtime.yield_now().await;
        }
        for number in 0..100 {
            apply(&shard, &mutation(TABLE, number, 1, b"value")).await;
        }
        assert!(read_rows(&shard, OTHER).len() < ROWS as usize, "it is still being merged");
        // The large write's record comes before the rows, so this says of none of them that the log need not have it.
        shard.flush(TABLE).await.expect("the disk works");
        wrote.await.expect("there is room");
        assert_eq!(clean_up(&shard, TABLE, kept()).await.rewritten, 1);
        shard.drain().await.expect("the disk works");
    })
    .expect("the shard opens");
    with_shard(&setup.boot(2), async |_, shard: Shard| {
        assert_eq!(read_all_rows(&shard, TABLE).await, kept_of(0..100));
        assert_eq!(read_all_rows(&shard, OTHER).await.len(), ROWS as usize);
    })
    .expect("the shard opens");
}
