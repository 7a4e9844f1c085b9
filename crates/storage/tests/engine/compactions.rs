//! Files become fewer, and what is read stays: by request, in the background, while the table is written to, truncated or dropped.
#![allow(clippy::disallowed_methods)]

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use mutation::{Deletion, MutationEncoder};
use sstable::helenus_component::HelenusComponent;
use sstable::statistics::Statistics;
use sstable::{Component, Descriptor};
use storage::Shard;
use topology::token_of;

use crate::harness::*;

mod asked;
mod meanwhile;
mod same;

/// By then what is waited for has happened.
const AT_MOST: Duration = Duration::from_secs(60);

/// The components of one kind in a table's folder.
fn components(folder: &Folder, component: &str) -> Vec<PathBuf> {
    let Ok(tables) = std::fs::read_dir(folder.path.join("data/ks")) else { return Vec::new() };
    let mut found = Vec::new();
    for table in tables {
        let entries = std::fs::read_dir(table.expect("an entry").path()).expect("a table's folder");
        found.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    found.retain(|path| path.to_string_lossy().ends_with(component));
    found
}

/// Deletes a row that was made long before grace.
fn deletion(number: u32, timestamp: i64) -> Vec<u8> {
    let key = key_of(number);
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(&key), &key);
    encoder.partition_deletion(Deletion { timestamp, local_deletion_time: 1_000 });
    encoder.finish();
    out
}

async fn write_at(shard: &Shard, numbers: impl Iterator<Item = u32>, timestamp: i64, value: &[u8]) {
    for number in numbers {
        apply(shard, &mutation(TABLE, number, timestamp, value)).await;
    }
    shard.drain().await.expect("the disk works");
}

async fn flush(shard: &Shard) {
    shard.flush(TABLE).await.expect("it is flushed");
}

fn in_background(folder: &Folder) -> Setup {
    let mut setup = Setup::new(folder, 1);
    setup.options.compacts = true;
    setup
}

#[test]
fn a_request_makes_one_file_of_all_and_nothing_is_lost() {
    let folder = Folder::new("compact");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |_, shard| {
        for round in 0..5u32 {
            write_at(&shard, round * 100..round * 100 + 200, i64::from(round) + 1, &[1; 300]).await;
            flush(&shard).await;
        }
        assert_eq!(shard.stats().files, 5);
        let version = shard.files_version(TABLE);
        shard.compact(TABLE).await.expect("they are compacted");
        assert!(shard.files_version(TABLE) > version);
        let stats = shard.stats();
        assert_eq!((stats.files, stats.compactions, stats.compacted.inputs, stats.compacted.outputs), (1, 1, 5, 1));
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..600).collect::<Vec<_>>());
        write_rows(&shard, TABLE, 600..610, b"v").await;
    })
    .expect("the shard opens");
    assert_eq!(components(&folder, "-Data.db").len(), 1, "the inputs are removed");
    for boot in 2..4 {
        with_shard(&setup.boot(boot), async |_, shard| {
            assert_eq!(read_all_rows(&shard, TABLE).await, (0..610).collect::<Vec<_>>());
            assert_eq!(shard.stats().replayed, 10, "what was flushed stays covered");
        })
        .expect("the shard opens");
    }
}

#[test]
fn when_nothing_is_left_there_is_no_file() {
    let folder = Folder::new("compact-to-nothing");
    let mut setup = Setup::new(&folder, 1);
    setup.gc_grace_seconds = Some(0);
    with_shard(&setup, async |_, shard| {
        write_at(&shard, 0..50, 1, b"v").await;
        flush(&shard).await;
        for number in 0..50 {
            apply(&shard, &deletion(number, 2)).await;
        }
        flush(&shard).await;
        assert_eq!(shard.stats().files, 2);
        shard.compact(TABLE).await.expect("they are compacted");
        assert_eq!(shard.stats().files, 0);
        assert!(read_all_rows(&shard, TABLE).await.is_empty());
    })
    .expect("the shard opens");
    assert!(components(&folder, "").is_empty(), "no component is left");
    let rows = with_shard(&setup.boot(2), async |_, shard| read_all_rows(&shard, TABLE).await);
    assert!(rows.expect("the shard opens").is_empty());
}

#[test]
fn tombstones_within_grace_stay() {
    let folder = Folder::new("compact-grace");
    // Longer ago than any tombstone.
    let mut setup = Setup::new(&folder, 1);
    setup.gc_grace_seconds = Some(u32::MAX);
    with_shard(&setup, async |_, shard| {
        write_at(&shard, 0..10, 1, b"v").await;
        for number in 0..10 {
            apply(&shard, &deletion(number, 2)).await;
        }
        flush(&shard).await;
        shard.compact(TABLE).await.expect("it is compacted");
        assert_eq!(shard.stats().files, 1);
        write_at(&shard, 0..10, 2, b"late").await;
        assert!(read_all_rows(&shard, TABLE).await.is_empty(), "what is as old stays deleted");
    })
    .expect("the shard opens");
}

#[test]
fn a_tombstone_stays_while_memory_holds_what_it_hides() {
    let folder = Folder::new("compact-memory");
    let mut setup = Setup::new(&folder, 1);
    setup.gc_grace_seconds = Some(0);
    with_shard(&setup, async |_, shard| {
        apply(&shard, &deletion(7, 10)).await;
        apply(&shard, &deletion(8, 10)).await;
        flush(&shard).await;
        // It came late; the tombstone was there.
        write_at(&shard, 7..8, 5, b"hidden").await;
        shard.compact(TABLE).await.expect("it is compacted");
        assert!(read_all_rows(&shard, TABLE).await.is_empty(), "it does not come back");
        flush(&shard).await;
        assert!(read_all_rows(&shard, TABLE).await.is_empty());
        shard.compact(TABLE).await.expect("they are compacted");
        assert!(read_all_rows(&shard, TABLE).await.is_empty());
        assert_eq!(shard.stats().files, 0, "both are gone");
    })
    .expect("the shard opens");
}

#[test]
fn a_tombstone_stays_while_a_file_outside_holds_what_it_hides() {
    let folder = Folder::new("compact-outside");
    let mut setup = in_background(&folder);
    setup.gc_grace_seconds = Some(0);
    setup.compaction = vec![("class", "SizeTieredCompactionStrategy"), ("min_sstable_size", "0")];
    with_shard(&setup, async |runtime, shard| {
        // A file that is far larger than the others.
        write_at(&shard, 0..2000, 1, &[3; 300]).await;
        flush(&shard).await;
        for round in 0..4u32 {
            for number in round * 10..round * 10 + 10 {
                apply(&shard, &deletion(number, 10)).await;
            }
            flush(&shard).await;
        }
        until(&runtime, "the small files are compacted", || shard.stats().compactions == 1).await;
        assert_eq!(shard.stats().files, 2);
        assert_eq!(read_all_rows(&shard, TABLE).await, (40..2000).collect::<Vec<_>>());
        shard.compact(TABLE).await.expect("they are compacted");
        assert_eq!(read_all_rows(&shard, TABLE).await, (40..2000).collect::<Vec<_>>());
    })
    .expect("the shard opens");
}

#[test]
fn four_flushes_are_compacted_unasked_and_not_where_it_is_turned_off() {
    for is_enabled in [true, false] {
        let folder = Folder::new("compact-unasked");
        let mut setup = in_background(&folder);
        let enabled = if is_enabled { "true" } else { "false" };
        setup.compaction = vec![("class", "SizeTieredCompactionStrategy"), ("enabled", enabled)];
        with_shard(&setup, async move |runtime, shard| {
            for round in 0..4u32 {
                write_rows(&shard, TABLE, round * 50..round * 50 + 100, &[1; 100]).await;
                flush(&shard).await;
            }
            if is_enabled {
                until(&runtime, "the files are compacted", || shard.stats().files == 1).await;
            } else {
                runtime.sleep(Duration::from_millis(300)).await;
                assert_eq!(shard.stats().files, 4);
            }
            assert_eq!(read_all_rows(&shard, TABLE).await, (0..250).collect::<Vec<_>>());
        })
        .expect("the shard opens");
    }
}

/// A row that was over long ago.
fn expired(number: u32, timestamp: i64) -> Vec<u8> {
    let key = key_of(number);
    let expiry = Some(mutation::Expiry { ttl: 10, local_deletion_time: 1_000 });
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(&key), &key);
    encoder.row([]).liveness(timestamp, expiry).cell(schema::ColumnId(1), timestamp, expiry, b"over");
    encoder.finish();
    out
}

fn by_windows(folder: &Folder) -> Setup {
    let mut setup = in_background(folder);
    setup.gc_grace_seconds = Some(0);
    setup.compaction =
        vec![("class", "TimeWindowCompactionStrategy"), ("expired_sstable_check_frequency_seconds", "0")];
    setup
}

#[test]
fn an_expired_file_goes_unread() {
    let folder = Folder::new("compact-expired");
    with_shard(&by_windows(&folder), async |runtime, shard| {
        for number in 0..50 {
            apply(&shard, &expired(number, 10)).await;
        }
        flush(&shard).await;
        // It is counted when its components are removed too.
        until(&runtime, "the file goes", || shard.stats().compactions == 1).await;
        assert_eq!(shard.stats().files, 0);
        let compacted = shard.stats().compacted;
        assert_eq!((compacted.inputs, compacted.outputs, compacted.bytes), (1, 0, 0));
    })
    .expect("the shard opens");
    assert!(components(&folder, "").is_empty(), "no component is left");
}

#[test]
fn an_expired_file_stays_while_memory_holds_what_it_hides() {
    let folder = Folder::new("compact-expired-memory");
    let mut setup = by_windows(&folder);
    setup.options.compacts = false;
    with_shard(&setup, async |_, shard| {
        apply(&shard, &expired(3, 10)).await;
        flush(&shard).await;
        // It came late.
        write_at(&shard, 3..4, 5, b"hidden").await;
    })
    .expect("the shard opens");
    setup.options.compacts = true;
    with_shard(&setup.boot(2), async |runtime, shard| {
        until(&runtime, "memory is flushed, to know what it holds", || shard.stats().flushes == 1).await;
        runtime.sleep(Duration::from_millis(200)).await;
        assert!(read_all_rows_at(&shard, TABLE, 2_000).await.is_empty(), "what was hidden stays so");
    })
    .expect("the shard opens");
}

#[test]
fn where_only_repaired_tombstones_are_purged_none_is() {
    let folder = Folder::new("compact-repaired");
    let mut setup = Setup::new(&folder, 1);
    setup.gc_grace_seconds = Some(0);
    setup.compaction = vec![("class", "SizeTieredCompactionStrategy"), ("only_purge_repaired_tombstones", "true")];
    with_shard(&setup, async |_, shard| {
        apply(&shard, &deletion(7, 10)).await;
        flush(&shard).await;
        shard.compact(TABLE).await.expect("it is compacted");
        assert_eq!(shard.stats().files, 1, "the tombstone stays");
    })
    .expect("the shard opens");
}

/// Levels and tokens of the files in the folder.
fn levels(folder: &Folder) -> Vec<(u32, i64, i64)> {
    let read = |path: PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let (descriptor, _) = Descriptor::parse(&name).expect("a component's name");
        let own = path.with_file_name(descriptor.file_name(Component::Helenus));
        let statistics = Statistics::read(descriptor.version, &std::fs::read(&path).ok()?).expect("it is whole");
        let own = HelenusComponent::decode(&std::fs::read(own).ok()?).expect("it is whole");
        let (first, last) = own.tokens[0];
        Some((statistics.stats.level, first.0, last.0))
    };
    let mut found: Vec<_> = components(folder, "-Statistics.db").into_iter().filter_map(read).collect();
    found.sort_unstable();
    found
}

#[test]
fn files_of_a_level_do_not_overlap() {
    let folder = Folder::new("compact-levels");
    let mut setup = in_background(&folder);
    setup.options.compaction_throughput = 0;
    setup.compaction = vec![
        ("class", "LeveledCompactionStrategy"),
        ("sstable_size_in_mb", "1"),
        ("fanout_size", "2"),
        ("min_threshold", "2"),
    ];
    with_shard(&setup, async |runtime, shard| {
        for round in 0..8u32 {
            // Some rows again and again, others once: what no chunk compresses.
            for number in round * 300..round * 300 + 700 {
                let mut state = u64::from(round * 10_000 + number) + 1;
                let value: Vec<u8> = std::iter::repeat_with(|| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 56) as u8
                })
                .take(2000)
                .collect();
                apply(&shard, &mutation(TABLE, number * 7, i64::from(round) + 1, &value)).await;
            }
            flush(&shard).await;
        }
        // The compactor is a task of this thread: what it has not begun after so many turns it never will.
        let idle_turns = Cell::new(0);
        let is_done = || {
            let is_idle = shard.running_compaction().is_none();
            idle_turns.set(if is_idle { idle_turns.get() + 1 } else { 0 });
            is_idle && (!shard.wants_compaction(TABLE) || idle_turns.get() > 400)
        };
        until(&runtime, "no file is to be compacted any more", is_done).await;
        assert!(!shard.wants_compaction(TABLE), "the compactor leaves files alone that it should compact");
        let compactions = shard.stats().compactions;
        assert!(compactions > 1, "{compactions} compactions");
        assert_eq!(read_all_rows(&shard, TABLE).await.len(), 2800);
    })
    .expect("the shard opens");
    let levels = levels(&folder);
    assert!(levels.iter().any(|(level, ..)| *level > 0), "{levels:?}");
    for pair in levels.windows(2) {
        let is_apart = pair[0].0 != pair[1].0 || pair[0].2 < pair[1].1;
        assert!(is_apart || pair[0].0 == 0, "files of a level overlap: {levels:?}");
    }
}

#[test]
fn shared_files_are_compacted_by_each_shard_and_go_when_all_have_done_so() {
    let folder = Folder::new("compact-shared");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |_, shard| {
        for round in 0..2u32 {
            write_rows(&shard, TABLE, round * 300..round * 300 + 300, &[1; 100]).await;
            flush(&shard).await;
        }
    })
    .expect("the shard opens");
    // One shard of two compacts them, the other does not.
    with_shards(&setup.boot(2), 2, true, async |runtime, shard| {
        if runtime.shard().0 == 0 {
            shard.compact(TABLE).await.expect("they are compacted");
            assert_eq!(shard.stats().files, 1);
        }
    });
    assert_eq!(components(&folder, "-Data.db").len(), 3, "the other shard needs the shared ones");
    let read = |setup: &Setup, count| {
        let rows = with_shards(setup, count, true, async |_, shard| read_all_rows(&shard, TABLE).await);
        let mut rows: Vec<u32> = rows.into_iter().flatten().collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(read(&setup.boot(3), 2), (0..600).collect::<Vec<_>>());
    assert_eq!(read(&setup.boot(4), 3), (0..600).collect::<Vec<_>>(), "another count takes all over");
    with_shards(&setup.boot(5), 2, true, async |_, shard| shard.compact(TABLE).await.expect("they are compacted"));
    assert_eq!(read(&setup.boot(6), 2), (0..600).collect::<Vec<_>>());
    assert_eq!(components(&folder, "-Data.db").len(), 2, "one for each shard; a start has swept the rest");
    assert_eq!(read(&setup.boot(7), 1), (0..600).collect::<Vec<_>>());
}

#[test]
fn nothing_is_purged_while_a_shared_file_may_come_back() {
    let folder = Folder::new("compact-shared-purge");
    let mut setup = Setup::new(&folder, 1);
    setup.gc_grace_seconds = Some(0);
    with_shard(&setup, async |_, shard| {
        write_at(&shard, 0..300, 1, &[1; 100]).await;
        flush(&shard).await;
    })
    .expect("the shard opens");
    with_shards(&setup.boot(2), 2, true, async |runtime, shard| {
        if runtime.shard().0 == 0 {
            let mine = (0..300).filter(|number| topology::Sharder::new(2).shard_of(token_of(&key_of(*number))) == 0);
            for number in mine {
                apply(&shard, &deletion(number, 2)).await;
            }
            flush(&shard).await;
            shard.compact(TABLE).await.expect("they are compacted");
            assert!(read_all_rows(&shard, TABLE).await.is_empty());
            // The shared file is released now, and lies there for the other shard.
            shard.compact(TABLE).await.expect("it is compacted again");
            assert_eq!(shard.stats().files, 1, "the tombstones are needed");
        }
    });
    let left = with_shard(&setup.boot(3), async |_, shard| read_all_rows(&shard, TABLE).await);
    let left = left.expect("the shard opens");
    let is_of_second = |number: &u32| topology::Sharder::new(2).shard_of(token_of(&key_of(*number))) == 1;
    assert_eq!(left, (0..300).filter(is_of_second).collect::<Vec<_>>(), "what was deleted does not come back");
}

#[test]
fn an_expired_file_stays_while_a_shared_file_may_come_back() {
    let folder = Folder::new("compact-shared-expired");
    let mut setup = Setup::new(&folder, 1);
    setup.gc_grace_seconds = Some(0);
    setup.compaction =
        vec![("class", "TimeWindowCompactionStrategy"), ("expired_sstable_check_frequency_seconds", "0")];
    with_shard(&setup, async |_, shard| {
        write_at(&shard, 0..300, 1, &[1; 100]).await;
        flush(&shard).await;
    })
    .expect("the shard opens");
    let is_of = |shard: u16, number: &u32| topology::Sharder::new(2).shard_of(token_of(&key_of(*number))) == shard;
    let mut second = setup.boot(2);
    second.options.compacts = true;
    with_shards(&second, 2, true, async |runtime, shard| {
        if runtime.shard().0 == 0 {
            for number in (0..300).filter(|number| is_of(0, number)) {
                apply(&shard, &deletion(number, 2)).await;
            }
            flush(&shard).await;
            shard.compact(TABLE).await.expect("they are compacted");
            // Nothing but tombstones that are long over is left in the one file. Others give the background something to do: expired files come
            // before it.
            let compacted = shard.stats().compactions;
            for round in 0..4 {
                write_at(&shard, (1_000..1_100).filter(|number| is_of(0, number)), 10 + round, &[1; 100]).await;
                flush(&shard).await;
            }
            until(&runtime, "something is compacted", || shard.stats().compactions > compacted).await;
        }
    });
    let left = with_shard(&setup.boot(3), async |_, shard| read_all_rows(&shard, TABLE).await);
    let mut left = left.expect("the shard opens");
    left.retain(|number| *number < 300);
    assert_eq!(
        left,
        (0..300).filter(|number| is_of(1, number)).collect::<Vec<_>>(),
        "what was deleted does not come back"
    );
}
