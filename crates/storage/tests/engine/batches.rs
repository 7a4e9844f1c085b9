//! Logged batches: kept until they are said to be delivered, on whichever shards the next start has.

use std::time::Duration;

use runtime::{Group, Runtime};
use storage::{Ack, BatchHead, BatchName, ReplayPosition, Shard, UnfinishedBatch};
use topology::HostId;

use crate::harness::*;

fn batch(numbers: std::ops::Range<u32>) -> Vec<Vec<u8>> {
    numbers.map(|number| mutation(TABLE, number, 1, b"batched")).collect()
}

/// The head of a batch whose write begins in this call.
fn head(runtime: &Runtime) -> BatchHead {
    BatchHead { created: runtime.wall_clock_micros(), copy_of: None }
}

async fn log(runtime: &Runtime, shard: &Shard, mutations: &[Vec<u8>]) -> storage::BatchId {
    log_as(&head(runtime), shard, mutations).await
}

async fn log_as(head: &BatchHead, shard: &Shard, mutations: &[Vec<u8>]) -> storage::BatchId {
    let slices: Vec<&[u8]> = mutations.iter().map(Vec::as_slice).collect();
    let (id, sequence) = shard.log_batch(head, &slices).expect("there is room");
    shard.wait_synced(sequence).await.expect("the disk works");
    id
}

fn mutations_of(batches: Vec<UnfinishedBatch>) -> Vec<Vec<u8>> {
    batches.into_iter().flat_map(|batch| batch.mutations).collect()
}

#[test]
fn a_batch_is_found_until_it_is_finished() {
    let folder = Folder::new("batch");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        log(&runtime, &shard, &batch(0..10)).await;
        let done = log(&runtime, &shard, &batch(10..20)).await;
        assert!(read_rows(&shard, TABLE).is_empty(), "logging applies nothing");
        shard.finish_batch(done);
        shard.drain().await.expect("the disk works");
    })
    .expect("it opens");
    let found = with_shard(&setup.boot(2), async |_, shard: Shard| {
        assert!(read_rows(&shard, TABLE).is_empty(), "replay applies nothing: the coordinator delivers");
        let found = shard.take_unfinished_batches();
        assert_eq!(shard.take_unfinished_batches(), []);
        assert_eq!(shard.unfinished_batches(), 1);
        found
    })
    .expect("it opens");
    assert_eq!(mutations_of(found), batch(0..10));
    with_shard(&setup.boot(3), async |_, shard: Shard| {
        let [found] = <[UnfinishedBatch; 1]>::try_from(shard.take_unfinished_batches()).expect("one is unfinished");
        shard.finish_batch(found.id);
        shard.drain().await.expect("the disk works");
    })
    .expect("it opens");
    let left = with_shard(&setup.boot(4), async |_, shard: Shard| shard.take_unfinished_batches());
    assert_eq!(left.expect("it opens"), []);
}

#[test]
fn a_batch_follows_a_change_of_the_shard_count() {
    let folder = Folder::new("batch-reshard");
    let setup = Setup::new(&folder, 1);
    with_shards(&setup, 2, true, async |runtime: Runtime, shard| {
        let first = u32::from(runtime.shard().0) * 100;
        log(&runtime, &shard, &batch(first..first + 10)).await;
        let done = log(&runtime, &shard, &batch(first + 50..first + 60)).await;
        shard.finish_batch(done);
        shard.drain().await.expect("the disk works");
    });
    let mut expected: Vec<Vec<u8>> = batch(0..10).into_iter().chain(batch(100..110)).collect();
    expected.sort();
    for (boot, shards) in [(2, 1), (3, 3), (4, 2), (5, 2)] {
        let found = with_shards(&setup.boot(boot), shards, true, async |_, shard| shard.take_unfinished_batches());
        let mut found = mutations_of(found.into_iter().flatten().collect());
        found.sort();
        assert_eq!(found, expected, "at start {boot} with {shards} shards");
    }
    // A start that ended before the old segments went has both: delivering twice is delivering once.
    with_shards(&setup.boot(6), 1, false, async |_, _| ());
    let found = with_shards(&setup.boot(7), 1, true, async |_, shard| shard.take_unfinished_batches());
    let mut found = mutations_of(found.into_iter().flatten().collect());
    found.sort();
    found.dedup();
    assert_eq!(found, expected);
}

#[test]
fn what_was_truncated_or_dropped_since_is_not_delivered() {
    let folder = Folder::new("batch-truncated");
    let setup = Setup::new(&folder, 1);
    let both = || [mutation(TABLE, 1, 1, b"a"), mutation(OTHER, 2, 1, b"b")].to_vec();
    let position: ReplayPosition = with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        let id = log(&runtime, &shard, &both()).await;
        assert!(shard.is_batch_wanted(id, &both()[0]) && shard.is_batch_wanted(id, &both()[1]));
        let position = truncate(&shard, TABLE);
        assert!(!shard.is_batch_wanted(id, &both()[0]), "it was logged before");
        assert!(shard.is_batch_wanted(id, &both()[1]));
        let later = log(&runtime, &shard, &batch(7..8)).await;
        assert!(shard.is_batch_wanted(later, &batch(7..8)[0]), "it was logged behind");
        position
    })
    .expect("it opens");
    let mut truncated = setup.boot(2);
    truncated.truncations.insert(TABLE, vec![position]);
    let found = with_shard(&truncated, async |_, shard: Shard| shard.take_unfinished_batches()).expect("it opens");
    assert_eq!(mutations_of(found), [mutation(OTHER, 2, 1, b"b"), batch(7..8).remove(0)]);
    let mut dropped = truncated.boot(3);
    dropped.tables = vec![TABLE];
    let found = with_shard(&dropped, async |_, shard: Shard| shard.take_unfinished_batches()).expect("it opens");
    assert_eq!(mutations_of(found), batch(7..8));
}

#[test]
fn the_segment_of_an_unfinished_batch_stays() {
    let folder = Folder::new("batch-segments");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        log(&runtime, &shard, &batch(0..5)).await;
        for number in 0..2000 {
            if let Ack::When(_) = apply(&shard, &mutation(OTHER, number, 1, &[7; 1000])).await {}
        }
        shard.drain().await.expect("the disk works");
        assert!(shard.stats().log_segments > 3, "the rows take several segments");
        shard.update_schema(&schema_of(&[TABLE], true));
        assert_eq!(shard.stats().log_segments, 2, "the batch's and the one being written");
    })
    .expect("it opens");
    let mut dropped = setup.boot(2);
    dropped.tables = vec![TABLE];
    let found = with_shard(&dropped, async |_, shard: Shard| shard.take_unfinished_batches()).expect("it opens");
    assert_eq!(mutations_of(found), batch(0..5));
}

#[test]
fn unfinished_batches_are_bounded() {
    let folder = Folder::new("batch-bound");
    with_shard(&Setup::new(&folder, 1), async |runtime: Runtime, shard: Shard| {
        let large = vec![mutation(TABLE, 1, 1, &[7; 100_000])];
        let mut ids = Vec::new();
        for _ in 0..670 {
            ids.push(log(&runtime, &shard, &large).await);
        }
        let refused = loop {
            let slices: Vec<&[u8]> = large.iter().map(Vec::as_slice).collect();
            match shard.log_batch(&head(&runtime), &slices) {
                Ok((id, _)) => ids.push(id),
                Err(storage::ApplyError::LogBusy) => shard.room().await,
                Err(error) => break error,
            }
            assert!(ids.len() < 700, "64 MiB of batches are enough");
        };
        assert!(matches!(refused, storage::ApplyError::Overloaded { .. }), "{refused}");
        for id in ids {
            shard.finish_batch(id);
        }
        log(&runtime, &shard, &large).await;
    })
    .expect("it opens");
}

#[test]
fn notes_of_delivered_batches_do_not_outgrow_a_segment() {
    const BATCHES: u32 = 4000;
    let folder = Folder::new("batch-notes");
    let mut setup = Setup::new(&folder, 1);
    setup.options.segment_bytes = 64 << 10;
    with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        let mut ids = Vec::new();
        for number in 0..BATCHES {
            let mutation = mutation(TABLE, number, 1, b"b");
            let id = loop {
                match shard.log_batch(&head(&runtime), &[&mutation]) {
                    Ok((id, _)) => break id,
                    Err(storage::ApplyError::LogBusy) => shard.room().await,
                    Err(error) => panic!("{error}"),
                }
            };
            ids.push(id);
        }
        shard.drain().await.expect("the disk works");
        // All of these notes together are longer than a segment.
        ids.into_iter().for_each(|id| shard.finish_batch(id));
        assert_eq!(shard.unfinished_batches(), 0);
        // What found no room at once is noted when there is some.
        for _ in 0..20 {
            let drained = runtime.timeout(Duration::from_secs(60), shard.drain()).await;
            drained.expect("the log goes on").expect("the disk works");
            runtime.sleep(Duration::from_millis(5)).await;
        }
    })
    .expect("it opens");
    let found = with_shard(&setup.boot(2), async |_, shard: Shard| shard.take_unfinished_batches()).expect("it opens");
    assert_eq!(found.len(), 0, "each is noted");
}

#[test]
fn a_large_batch_is_logged_in_steps() {
    let folder = Folder::new("batch-steps");
    let mut setup = Setup::new(&folder, 1);
    setup.options.segment_bytes = 32 << 20;
    let large: Vec<Vec<u8>> = (0..12).map(|number| mutation(TABLE, number, 1, &vec![7; 1 << 20])).collect();
    let polls = with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        let before = runtime.stats().polls;
        let (writing, batch, head) = (shard.clone(), large.clone(), head(&runtime));
        let logged = runtime.spawn(Group::Query, async move {
            let slices: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
            let (_, sequence) = writing.log_batch_in_steps(&head, &slices).await.expect("there is room");
            writing.wait_synced(sequence).await.expect("the disk works");
            let twice: Vec<&[u8]> = slices.iter().chain(&slices).copied().collect();
            assert!(matches!(
                writing.log_batch_in_steps(&head, &twice).await,
                Err(storage::ApplyError::TooLarge { .. })
            ));
        });
        logged.await;
        assert_eq!(shard.unfinished_batches(), 1);
        runtime.stats().polls - before
    });
    assert!(polls.expect("it opens") > 5);
    let found = with_shard(&setup.boot(2), async |_, shard: Shard| shard.take_unfinished_batches());
    assert_eq!(mutations_of(found.expect("it opens")), large);
}

/// Planted: batch-outlives-grace.
#[test]
fn a_batch_older_than_gc_grace_is_not_delivered() {
    let folder = Folder::new("batch-age");
    let setup = Setup::new(&folder, 1);
    let grace = i64::from(schema_of(&[TABLE], true).table_by_id(TABLE).expect("it is there").options.gc_grace_seconds);
    let aged = |runtime: &Runtime, seconds: i64| BatchHead {
        created: runtime.wall_clock_micros() - seconds * 1_000_000,
        copy_of: None,
    };
    let mutation = batch(0..1);
    with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        let old = log_as(&aged(&runtime, grace + 1), &shard, &mutation).await;
        let young = log_as(&aged(&runtime, grace - 1000), &shard, &mutation).await;
        assert!(!shard.is_batch_wanted(old, &mutation[0]), "its tombstones may be purged");
        assert!(shard.is_batch_wanted(young, &mutation[0]));
        shard.finish_batch(young);
        assert!(!shard.is_batch_wanted(young, &mutation[0]), "it is finished");
        shard.drain().await.expect("the disk works");
    })
    .expect("it opens");
    // However often the process starts, and on however many shards: the age is that of the write.
    for (boot, shards) in [(2, 1), (3, 2), (4, 1)] {
        let wanted = with_shards(&setup.boot(boot), shards, true, async |_, shard: Shard| {
            let found = shard.take_unfinished_batches();
            let wanted = |batch: &UnfinishedBatch| shard.is_batch_wanted(batch.id, &batch.mutations[0]);
            found.iter().map(wanted).collect::<Vec<_>>()
        });
        assert_eq!(wanted.concat(), [false], "at start {boot}");
    }
}

#[test]
fn a_copy_is_found_under_the_name_of_its_batch() {
    let folder = Folder::new("batch-copy");
    let mut setup = Setup::new(&folder, 1);
    setup.options.segment_bytes = 32 << 20;
    let name = BatchName { host_id: HostId([9; 16]), boot: 70, shard: 3, sequence: 1 << 40 };
    let head = BatchHead { created: 1_700_000_000_000_000, copy_of: Some(name) };
    let large = || vec![mutation(TABLE, 8, 1, &vec![7; 1 << 20])];
    with_shard(&setup, async |_, shard: Shard| {
        log_as(&head, &shard, &batch(0..3)).await;
        let large = large();
        let (_, sequence) = shard.log_batch_in_steps(&head, &[&large[0]]).await.expect("there is room");
        shard.wait_synced(sequence).await.expect("the disk works");
    })
    .expect("it opens");
    for (boot, shards) in [(2, 1), (3, 2), (4, 1)] {
        let found = with_shards(&setup.boot(boot), shards, true, async |_, shard| shard.take_unfinished_batches());
        let found = found.concat();
        assert!(found.len() == 2 && found.iter().all(|batch| batch.head == head), "at start {boot}: {found:?}");
        let mut mutations = mutations_of(found);
        mutations.sort_by_key(Vec::len);
        assert_eq!(mutations, [batch(0..3), large()].concat());
    }
}
