//! Writes that find the memory full: they wait while a flush makes room, and are refused where none does.
#![allow(clippy::disallowed_methods)]

use std::time::Duration;

use mutation::{ClusteringRef, LiveRow, MutationEncoder, ReadCommand};
use runtime::{Group, Runtime};
use schema::ColumnId;
use storage::{Ack, ApplyError, Flow, RowSink, Shard};
use topology::{Token, token_of};

use crate::harness::*;

/// By then a flush has been tried again.
const RETRY_AT_MOST: Duration = Duration::from_secs(60);

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
            let mut admission = shard.write_admission();
            admission.after(error).await.expect("a flush makes room");
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
        assert!(words.contains("memtable memory of the shard is full") && words.contains("flushes fail"), "{words}");
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

/// Where nothing is given.
struct Nowhere;

impl RowSink for Nowhere {
    fn partition(&mut self, _: Token, _: &[u8], _: Option<LiveRow<'_>>) -> Flow {
        panic!("a partition is given");
    }

    fn row(&mut self, _: ClusteringRef<'_>, _: LiveRow<'_>) -> Flow {
        panic!("a row is given");
    }
}

/// A table whose folder cannot be written to is flushed when that is mended; others are until then, at the end too.
#[test]
fn a_table_that_cannot_be_flushed_does_not_keep_others_from_it() {
    let folder = Folder::new("room-one-fails");
    let keyspace = folder.path.join("data/ks");
    let in_the_way = keyspace.join(format!("t1-{}", "01".repeat(16)));
    std::fs::create_dir_all(&keyspace).expect("it can be made");
    std::fs::write(&in_the_way, b"in the way").expect("a file can be made");
    with_shard(&unlogged(&folder), async |runtime, shard| {
        write_rows(&shard, TABLE, 0..20, b"value").await;
        shard.flush(TABLE).await.expect_err("its folder cannot be made");
        write_rows(&shard, OTHER, 20..40, b"value").await;
        shard.flush(OTHER).await.expect("its folder can");
        write_rows(&shard, OTHER, 40..60, b"value").await;
        shard.flush_at_end(true).await.expect_err("one of them cannot be flushed");
        assert_eq!(shard.stats().flushes, 2, "the other one can");
        std::fs::remove_file(&in_the_way).expect("it is there");
        let flushed = async {
            while shard.stats().flushes < 3 {
                runtime.sleep(Duration::from_millis(10)).await;
            }
        };
        runtime.timeout(RETRY_AT_MOST, flushed).await.expect("it is tried again");
    })
    .expect("the shard opens");
}

/// One more element for a row of [`GROWING`].
fn element(row: u32, number: u32, bytes: usize) -> Vec<u8> {
    let key = key_of(row);
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, GROWING, token_of(&key), &key);
    encoder.row([]).element(ColumnId(1), &u128::from(number).to_be_bytes(), 1, None, &vec![7; bytes]);
    encoder.finish();
    out
}

/// What a row comes to does not go to the room that its memtable's chunk has left, where the update alone would.
#[test]
fn rows_that_grow_are_refused_too_while_flushes_fail() {
    const APPENDED: usize = 3000;
    for first in [600 << 10, 300 << 10] {
        let folder = Folder::new("room-grows");
        let mut setup = unlogged(&folder);
        setup.tables = vec![GROWING];
        setup.options.memory_bytes = 16 << 20;
        std::fs::write(folder.path.join("data"), b"in the way").expect("a file can be made");
        with_shard(&setup, async |_, shard| {
            const ROWS: u32 = 16;
            for row in 0..ROWS {
                shard.apply(&element(row, 0, first)).expect("there is room");
            }
            let more = (ROWS..6000).map(|number| element(number % ROWS, number, APPENDED));
            let refused = more.into_iter().find_map(|element| shard.apply(&element).err());
            let stats = shard.stats();
            let refused = refused.unwrap_or_else(|| panic!("nothing was refused: {stats:?}"));
            assert!(matches!(refused, ApplyError::MemoryBusy | ApplyError::Overloaded { .. }), "{refused}");
            // By the row that was merged last.
            assert!(stats.memory_used <= stats.memory_budget + (2 << 20), "{stats:?}");
        })
        .expect("the shard opens");
    }
}

/// Reads of what is in files make indexes of nothing: no flush would give their memory back.
#[test]
fn reads_take_no_memory_for_data() {
    let folder = Folder::new("room-reads");
    let mut setup = setup(&folder);
    setup.options.memory_bytes = 4 << 20;
    with_shard(&setup, async |_, shard| {
        write_rows(&shard, TABLE, 0..20, b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
        let before = shard.stats().memory_used;
        for number in 0..5000 {
            let key = key_of(number % 20);
            shard.prefetch_partition(TABLE, token_of(&key));
            let command = ReadCommand::partition(TABLE, token_of(&key), &key, 1);
            assert!(shard.read(&command, &mut Nowhere).would_block(), "it is in a file");
        }
        assert_eq!(shard.stats().memory_used, before);
    })
    .expect("the shard opens");
}

#[test]
fn what_never_fits_is_refused_at_once() {
    let folder = Folder::new("room-never");
    let mut setup = setup(&folder);
    setup.options.memory_bytes = 1 << 20;
    with_shard(&setup, async |runtime: Runtime, shard| {
        let before = runtime.stats().polls;
        let refused = apply_or_wait(&shard, &mutation(TABLE, 1, 1, &vec![1; 100 << 10])).await;
        let refused = refused.expect_err("there is no room for a chunk").to_string();
        assert!(refused.ends_with("the write needs more than the whole budget"), "{refused}");
        assert_eq!(runtime.stats().polls, before, "it waited");
    })
    .expect("the shard opens");
}
