//! Starts with another count of shards.
#![allow(clippy::disallowed_methods)]

use std::time::Duration;

use runtime::Runtime;
use storage::OpenError;
use topology::{Sharder, token_of};

use crate::harness::*;

/// All rows of all shards, each of which holds none but its own.
fn all_rows(setup: &Setup, count: u16) -> Vec<u32> {
    let rows = with_shards(setup, count, true, async |runtime, shard| {
        let rows = read_rows(&shard, TABLE);
        assert!(rows.iter().all(|&number| is_mine(&runtime, number)));
        rows
    });
    let mut rows: Vec<u32> = rows.into_iter().flatten().collect();
    rows.sort_unstable();
    rows
}

fn is_mine(runtime: &Runtime, number: u32) -> bool {
    Sharder::new(runtime.shard_count()).shard_of(token_of(&key_of(number))) == runtime.shard().0
}

#[test]
fn every_row_is_there_once_after_each_change_and_none_comes_back() {
    let folder = Folder::new("reshard");
    let setup = Setup::new(&folder, 1);
    with_shards(&setup, 2, true, async |runtime, shard| {
        let mine = (0..2000u32).filter(|&number| is_mine(&runtime, number));
        write_rows(&shard, TABLE, mine, &[1; 100]).await;
    });
    let expected: Vec<u32> = (0..2000).collect();
    assert_eq!(all_rows(&setup.boot(2), 1), expected);
    assert!(folder.segments(1).is_empty(), "the second shard's segments are retired");
    assert_eq!(all_rows(&setup.boot(3), 3), expected);
    // A start that ends before the old segments are retired leaves them for the next.
    with_shards(&setup.boot(4), 2, false, async |_, _| ());
    assert_eq!(all_rows(&setup.boot(5), 2), expected);
    assert_eq!(all_rows(&setup.boot(6), 2), expected);
    let positions = with_shards(&setup.boot(7), 2, true, async |_, shard| truncate(&shard, TABLE));
    let mut truncated = setup.clone();
    truncated.truncations.insert(TABLE, positions);
    assert!(all_rows(&truncated.boot(8), 3).is_empty());
    assert!(all_rows(&truncated.boot(9), 1).is_empty());
    with_shards(&truncated.boot(10), 1, true, async |runtime, shard| {
        write_rows(&shard, TABLE, 5000..5100, b"v").await;
        runtime.sleep(Duration::from_millis(1)).await;
    });
    assert_eq!(all_rows(&truncated.boot(11), 2), (5000..5100).collect::<Vec<_>>());
    assert_eq!(all_rows(&truncated.boot(12), 1), (5000..5100).collect::<Vec<_>>());
}

#[test]
fn records_of_dropped_tables_are_left_behind() {
    let folder = Folder::new("reshard-dropped");
    let mut setup = Setup::new(&folder, 1);
    with_shards(&setup, 2, true, async |runtime, shard| {
        let mine = || (0..200u32).filter(|&number| is_mine(&runtime, number));
        write_rows(&shard, TABLE, mine(), b"v").await;
        write_rows(&shard, OTHER, mine(), b"v").await;
    });
    setup.tables = vec![TABLE];
    assert_eq!(all_rows(&setup.boot(2), 1), (0..200).collect::<Vec<_>>());
}

/// Sequences of different shards say nothing about each other: what a shard wrote after its own position stays, however far
/// another shard's log had come.
#[test]
fn a_truncation_position_speaks_of_one_shard() {
    let folder = Folder::new("positions");
    let setup = Setup::new(&folder, 1);
    let positions = with_shards(&setup, 2, true, async |runtime, shard| {
        let mine = || (0..400u32).filter(|&number| is_mine(&runtime, number));
        if runtime.shard().0 == 0 {
            write_rows(&shard, TABLE, mine(), &[1; 500]).await;
        }
        let position = truncate(&shard, TABLE);
        write_rows(&shard, TABLE, mine().take(5), b"v").await;
        position
    });
    assert!(positions[0].sequence > positions[1].sequence + 10_000);
    let mut truncated = setup.boot(2);
    truncated.truncations.insert(TABLE, positions);
    assert_eq!(all_rows(&truncated, 2).len(), 10);
    assert_eq!(all_rows(&truncated.boot(3), 1).len(), 10);
}

/// The old segments hold the only durable copy until the new records are on the disk: at no moment may a copy of the folder miss a row.
#[test]
fn old_segments_go_only_when_the_new_records_are_on_the_disk() {
    let folder = Folder::new("retired");
    let setup = Setup::new(&folder, 1);
    with_shards(&setup, 2, true, async |runtime, shard| {
        let mine = (0..3000u32).filter(|&number| is_mine(&runtime, number));
        write_rows(&shard, TABLE, mine, &[1; 100]).await;
    });
    let copy = Folder::new("retired-copy");
    // The moment after the old segments went, before the shard does anything else.
    with_shards(&setup.boot(2), 1, true, async |_, _| folder.copy_to(&copy));
    assert!(copy.segments(1).is_empty(), "the old segments are gone");
    let mut copied = setup.boot(3);
    copied.options.dir.clone_from(&copy.path);
    assert_eq!(all_rows(&copied, 1), (0..3000).collect::<Vec<_>>());
}

/// What was logged stays durable through a change of the shard count, although its keyspace asks for no log any more.
#[test]
fn records_are_taken_over_whatever_the_keyspace_asks_for_today() {
    let folder = Folder::new("durable-once");
    let mut setup = Setup::new(&folder, 1);
    with_shards(&setup, 2, true, async |runtime, shard| {
        let mine = (0..300u32).filter(|&number| is_mine(&runtime, number));
        write_rows(&shard, TABLE, mine, b"v").await;
    });
    setup.durable_writes = false;
    assert_eq!(all_rows(&setup.boot(2), 1), (0..300).collect::<Vec<_>>());
    assert_eq!(all_rows(&setup.boot(3), 1), (0..300).collect::<Vec<_>>());
    assert_eq!(all_rows(&setup.boot(4), 3), (0..300).collect::<Vec<_>>());
    assert_eq!(all_rows(&setup.boot(5), 3), (0..300).collect::<Vec<_>>());
}

#[test]
fn a_record_that_fits_no_segment_of_today_is_not_called_damage() {
    let folder = Folder::new("reshard-smaller");
    let mut setup = Setup::new(&folder, 1);
    setup.options.segment_bytes = 4 << 20;
    let number = (0..).find(|&number| Sharder::new(2).shard_of(token_of(&key_of(number))) == 0).expect("half of them");
    with_shards(&setup, 2, true, async |runtime, shard| {
        if is_mine(&runtime, number) {
            write_rows(&shard, TABLE, [number].into_iter(), &vec![1; 1 << 20]).await;
        }
    });
    let mut smaller = setup.boot(2);
    smaller.options.segment_bytes = 256 << 10;
    let refused = with_shard(&smaller, async |_, _| ()).expect_err("it does not fit");
    assert!(
        matches!(&refused, OpenError::Options(what) if what.contains("restore the earlier commitlog_segment_size")),
        "{refused}"
    );
    assert_eq!(all_rows(&setup.boot(3), 1), [number]);
}

#[test]
fn what_a_shard_that_is_no_more_left_unfinished_goes() {
    let folder = Folder::new("reshard-leftovers");
    let setup = Setup::new(&folder, 1);
    with_shards(&setup, 2, true, async |runtime, shard| {
        write_rows(&shard, TABLE, (0..100u32).filter(|&number| is_mine(&runtime, number)), b"v").await;
    });
    let left =
        ["0000000000000009.new", "0000000000000007.spare"].map(|name| folder.path.join("commitlog/shard-1").join(name));
    for path in &left {
        std::fs::write(path, [0; 4096]).expect("the folder can be written");
    }
    assert_eq!(all_rows(&setup.boot(2), 1).len(), 100);
    assert!(left.iter().all(|path| !path.exists()), "nobody else will ever remove them");
}
