//! Writes that find the memory full: they wait while a flush makes room, and are refused where none does.
#![allow(clippy::disallowed_methods)]

use std::time::Duration;

use runtime::{Group, Runtime};
use storage::{Ack, ApplyError, Shard};

use crate::harness::*;

/// By then a flush has been tried again.
const RETRY_AT_MOST: Duration = Duration::from_secs(30);

/// Little memory: some ten thousand rows.
fn setup(folder: &Folder) -> Setup {
    let mut setup = Setup::new(folder, 1);
    setup.options.memory_bytes = 8 << 20;
    setup
}

fn row(number: u32) -> Vec<u8> {
    mutation(TABLE, number, 1, &[7; 500])
}

/// The same for a table that is not logged: its writes never wait for the log, and so let no flush run.
fn unlogged(folder: &Folder) -> Setup {
    Setup { durable_writes: false, ..setup(folder) }
}

/// Writes until a write is refused. Gives the refusal and the number of the refused row.
fn fill(shard: &Shard, first: u32) -> (ApplyError, u32) {
    let refused = (first..first + 100_000).find_map(|number| Some((shard.apply(&row(number)).err()?, number)));
    refused.expect("8 MiB do not hold 50 MB of rows")
}

#[test]
fn a_write_that_finds_memory_full_waits_for_the_flush() {
    let folder = Folder::new("room");
    with_shard(&unlogged(&folder), async |_, shard| {
        let mut refused = Vec::new();
        let mut next = 0;
        for _ in 0..4 {
            let (error, number) = fill(&shard, next);
            assert_eq!(error, ApplyError::MemoryBusy);
            assert!(error.is_busy());
            let mut waiting = shard.waiting();
            waiting.after(error).await.expect("a flush makes room");
            apply_or_wait(&shard, &row(number)).await.expect("a flush makes room");
            refused.push(number);
            next = number + 1;
        }
        let stats = shard.stats();
        assert!(stats.memory_used <= stats.memory_budget, "{stats:?}");
        assert!(stats.flushes >= 2, "{stats:?}");
        let rows = read_all_rows(&shard, TABLE).await;
        assert_eq!(rows, (0..next).collect::<Vec<_>>(), "those that waited too: {refused:?}");
    })
    .expect("the shard opens");
}

#[test]
fn many_writers_are_slowed_and_none_is_refused() {
    const WRITERS: u32 = 200;
    const ROWS_EACH: u32 = 400;
    let folder = Folder::new("room-writers");
    with_shard(&setup(&folder), async |runtime: Runtime, shard| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let shard = shard.clone();
                runtime.spawn(Group::Query, async move {
                    for number in writer * ROWS_EACH..(writer + 1) * ROWS_EACH {
                        if let Ack::When(sequence) = apply_or_wait(&shard, &row(number)).await.expect("it waits") {
                            shard.wait_synced(sequence).await.expect("the disk works");
                        }
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await;
        }
        let stats = shard.stats();
        assert!(stats.memory_used <= stats.memory_budget, "{stats:?}");
        assert!(stats.flushes >= 4, "{stats:?}");
        assert_eq!(read_all_rows(&shard, TABLE).await.len(), (WRITERS * ROWS_EACH) as usize);
    })
    .expect("the shard opens");
}

#[test]
fn a_write_is_refused_while_flushes_fail_and_taken_when_they_succeed() {
    let folder = Folder::new("room-fails");
    let obstacle = folder.path.join("data");
    std::fs::write(&obstacle, b"in the way").expect("a file can be made");
    with_shard(&unlogged(&folder), async |runtime: Runtime, shard| {
        let (mut error, number) = fill(&shard, 0);
        if error == ApplyError::MemoryBusy {
            // The flush has not failed yet.
            error = apply_or_wait(&shard, &row(number)).await.expect_err("no flush makes room");
        }
        let words = error.to_string();
        assert!(words.contains("memory for data is full") && words.contains("cannot be flushed"), "{words}");
        assert!(!error.is_busy());
        std::fs::remove_file(&obstacle).expect("it can be removed");
        let begun = runtime.now();
        while apply_or_wait(&shard, &row(number)).await.is_err() {
            assert!(runtime.now() - begun < RETRY_AT_MOST, "the flush is not tried again");
            runtime.sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..=number).collect::<Vec<_>>());
    })
    .expect("the shard opens");
}

#[test]
fn what_never_fits_is_refused_at_once() {
    let folder = Folder::new("room-never");
    let mut setup = setup(&folder);
    setup.options.memory_bytes = 1 << 20;
    with_shard(&setup, async |runtime: Runtime, shard| {
        let begun = runtime.now();
        let refused = apply_or_wait(&shard, &mutation(TABLE, 1, 1, &vec![1; 100 << 10])).await;
        let refused = refused.expect_err("there is no room for a chunk").to_string();
        assert!(refused.ends_with("the write needs more than there is"), "{refused}");
        assert!(runtime.now() - begun < Duration::from_secs(1), "it waited");
    })
    .expect("the shard opens");
}
