//! Large writes, which are made in steps: they are whole, bounded, and nothing of them comes back that went meanwhile.
#![allow(clippy::disallowed_methods)]

use mutation::MutationEncoder;
use runtime::Group;
use schema::ColumnId;
use storage::{Ack, ApplyError, Shard};
use topology::token_of;

use crate::harness::{Folder, OTHER, Setup, TABLE, key_of, mutation, read_rows, schema_of, truncate, with_shard};

/// Rows of a batch that takes many steps.
const ROWS: u32 = 50_000;

fn setup(folder: &Folder) -> Setup {
    let mut setup = Setup::new(folder, 1);
    setup.options.segment_bytes = 32 << 20;
    setup
}

fn batch(rows: u32, value: &[u8]) -> Vec<Vec<u8>> {
    (0..rows).map(|number| mutation(TABLE, number, 1, value)).collect()
}

async fn acknowledged(shard: &Shard, ack: Ack) {
    let Ack::When(sequence) = ack else { panic!("the log syncs before it acknowledges") };
    shard.wait_synced(sequence).await.expect("the disk works");
}

#[test]
fn a_large_batch_holds_no_poll_and_is_whole_after_a_restart() {
    let folder = Folder::new("steps");
    let setup = setup(&folder);
    let polls = with_shard(&setup, async |runtime, shard| {
        let before = runtime.stats().polls;
        let writing = shard.clone();
        let wrote = runtime.spawn(Group::Query, async move {
            let batch = batch(ROWS, b"v");
            let ack = writing.apply_in_steps(&batch).await.expect("there is room");
            acknowledged(&writing, ack).await;
        });
        wrote.await;
        assert_eq!(read_rows(&shard, TABLE).len(), ROWS as usize);
        runtime.stats().polls - before
    });
    // Each step is at most 32 rows past the budget of a poll. Even at 10 ns a row there would be a few.
    assert!(polls.expect("the shard opens") > 5);
    let rows = with_shard(&setup.boot(2), async |_, shard| read_rows(&shard, TABLE).len());
    assert_eq!(rows.expect("the shard opens"), ROWS as usize);
}

#[test]
fn a_large_value_comes_back() {
    let folder = Folder::new("steps-value");
    let setup = setup(&folder);
    let rows = with_shard(&setup, async |_, shard| {
        for (number, mebibytes) in [(1, 15), (1, 3), (2, 9)] {
            let value = vec![7; mebibytes << 20];
            let write = vec![mutation(TABLE, number, i64::try_from(20 - mebibytes).expect("small"), &value)];
            let ack = shard.apply_in_steps(&write).await.expect("there is room");
            acknowledged(&shard, ack).await;
        }
        let huge = vec![mutation(TABLE, 3, 1, &vec![7; 17 << 20])];
        assert!(matches!(shard.apply_in_steps(&huge).await, Err(ApplyError::TooLarge { .. })));
        read_rows(&shard, TABLE)
    });
    assert_eq!(rows.expect("the shard opens"), [1, 2]);
    let rows = with_shard(&setup.boot(2), async |_, shard| read_rows(&shard, TABLE));
    assert_eq!(rows.expect("the shard opens"), [1, 2]);
}

#[test]
fn an_element_counts_once_beside_its_place() {
    let folder = Folder::new("steps-element");
    let setup = setup(&folder);
    // A set's element stands in the row twice: as its value, and as its place among the others.
    let element = |number: u32, mebibytes: usize| {
        let (key, value) = (key_of(number), vec![7; mebibytes << 20]);
        let path = [&value[..], &[0, 1]].concat();
        let mut out = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(&key), &key);
        let mut row = encoder.row([]);
        row.liveness(1, None).cell(ColumnId(1), 1, None, b"v").element(ColumnId(9), &path, 1, None, &value);
        encoder.finish();
        out
    };
    let rows = with_shard(&setup, async |_, shard| {
        for write in [element(1, 15), element(2, 8)] {
            let ack = shard.apply_in_steps(&[write]).await.expect("there is room");
            acknowledged(&shard, ack).await;
        }
        let huge = [element(3, 17)];
        assert!(matches!(shard.apply_in_steps(&huge).await, Err(ApplyError::TooLarge { .. })));
        read_rows(&shard, TABLE)
    });
    assert_eq!(rows.expect("the shard opens"), [1, 2]);
    let rows = with_shard(&setup.boot(2), async |_, shard| read_rows(&shard, TABLE));
    assert_eq!(rows.expect("the shard opens"), [1, 2]);
}

#[test]
fn what_was_truncated_or_dropped_between_two_steps_stays_so() {
    let folder = Folder::new("steps-truncate");
    let mut setup = setup(&folder);
    let (position, left) = with_shard(&setup, async |runtime, shard| {
        let writing = shard.clone();
        let wrote = runtime.spawn(Group::Query, async move {
            let mut batch = batch(ROWS, b"v");
            batch.extend((0..ROWS).map(|number| mutation(OTHER, number, 1, b"v")));
            writing.apply_in_steps(&batch).await
        });
        // Some rows are there, and most are not yet.
        while read_rows(&shard, TABLE).is_empty() {
            runtime.yield_now().await;
        }
        let position = truncate(&shard, TABLE);
        shard.update_schema(&schema_of(&[TABLE], true));
        let seen = read_rows(&shard, TABLE).len();
        wrote.await.expect("it was begun");
        shard.drain().await.expect("the disk works");
        assert_eq!(seen, 0);
        let stats = shard.stats();
        assert!(stats.memory_used < 1 << 20, "nothing is kept for it: {stats:?}");
        (position, read_rows(&shard, TABLE).len())
    })
    .expect("the shard opens");
    assert_eq!(left, 0, "rows came back after the truncation");
    setup.truncations.insert(TABLE, vec![position]);
    setup.tables = vec![TABLE];
    let rows = with_shard(&setup.boot(2), async |_, shard| read_rows(&shard, TABLE).len());
    assert_eq!(rows.expect("the shard opens"), 0);
}

#[test]
fn a_table_made_anew_under_the_same_id_gets_nothing_of_the_old_ones_steps() {
    let folder = Folder::new("steps-made-anew");
    with_shard(&setup(&folder), async |runtime, shard| {
        let make_anew = || {
            shard.update_schema(&schema_of(&[OTHER], true));
            shard.update_schema(&schema_of(&[OTHER, TABLE], true));
        };
        let writing = shard.clone();
        let wrote = runtime.spawn(Group::Query, async move { writing.apply_in_steps(&batch(ROWS, b"v")).await });
        while read_rows(&shard, TABLE).is_empty() {
            runtime.yield_now().await;
        }
        make_anew();
        wrote.await.expect("it was begun");
        assert_eq!(read_rows(&shard, TABLE).len(), 0, "rows of the dropped table are in the new one");

        // What was checked against the old table, and not begun, is not of the new one's shape perhaps.
        let writing = shard.clone();
        let wrote = runtime.spawn(Group::Query, async move { writing.apply_in_steps(&batch(ROWS, b"v")).await });
        runtime.yield_now().await;
        assert!(read_rows(&shard, TABLE).is_empty(), "it is still being checked");
        make_anew();
        assert_eq!(wrote.await, Err(ApplyError::UnknownTable(TABLE)));
        assert_eq!(read_rows(&shard, TABLE).len(), 0);
    })
    .expect("the shard opens");
}

#[test]
fn a_batch_of_tiny_rows_fits_a_small_budget() {
    let folder = Folder::new("steps-budget");
    let mut setup = setup(&folder);
    setup.options.memory_bytes = 64 << 20;
    // What is in the way of the tables' folder keeps memtables in memory.
    std::fs::write(folder.path.join("data"), b"").expect("a file can be made");
    with_shard(&setup, async |_, shard| {
        let rows = batch(10_000, b"v");
        let slices: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        shard.apply_batch(&slices).expect("a megabyte of rows fits 64 MiB");
        shard.drain().await.expect("the disk works");
        shard.apply_in_steps(&batch(ROWS, b"v")).await.expect("five megabytes of rows fit 64 MiB");
        shard.drain().await.expect("the disk works");
        let stats = shard.stats();
        assert!(stats.memory_used < 16 << 20, "what was reserved is given back: {stats:?}");
        let large: Vec<Vec<u8>> = (0..14).map(|number| mutation(TABLE, number, 2, &vec![1; 1 << 20])).collect();
        let mut written = 0;
        let refused = loop {
            match shard.apply_in_steps(&large).await {
                Ok(_) => written += 1,
                Err(error) => break error,
            }
            assert!(written < 100, "the budget is never met");
            truncate(&shard, OTHER);
            shard.drain().await.expect("the disk works");
            let again = (0..14).map(|number| mutation(TABLE, 100_000 + written * 14 + number, 2, &vec![1; 1 << 20]));
            if let Err(error) = shard.apply_in_steps(&again.collect::<Vec<_>>()).await {
                break error;
            }
        };
        assert!(matches!(refused, ApplyError::Overloaded { .. }), "{refused}");
        let stats = shard.stats();
        assert!(stats.memory_used <= stats.memory_budget, "{stats:?}");
    })
    .expect("the shard opens");
}
