//! Files become fewer, and what is read stays: by request, in the background, while the table is written to, truncated or dropped.
#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;
use std::time::Duration;

use mutation::{Deletion, MutationEncoder};
use runtime::Runtime;
use sstable::own::OwnComponent;
use sstable::statistics::Statistics;
use sstable::{Component, Descriptor};
use storage::{Garbage, Shard};
use topology::token_of;

use crate::harness::*;

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

async fn until(runtime: &Runtime, what: &str, is_so: impl Fn() -> bool) {
    let begun = runtime.now();
    while !is_so() {
        assert!(runtime.now() - begun < AT_MOST, "{what}");
        runtime.sleep(Duration::from_millis(5)).await;
    }
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

/// The partitions that files have, each counted as often as it stands in one.
fn partitions(shard: &Shard) -> u64 {
    shard.table_figures(TABLE, true).expect("the table is here").partitions
}

#[test]
fn garbage_that_other_files_hide_is_collected_file_by_file() {
    let folder = Folder::new("garbage");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |_, shard| {
        write_at(&shard, 0..100, 1, b"old").await;
        flush(&shard).await;
        for number in 0..50 {
            apply(&shard, &deletion(number, 10)).await;
        }
        write_at(&shard, 50..75, 10, b"new").await;
        flush(&shard).await;
        assert_eq!((shard.stats().files, partitions(&shard)), (2, 175));
        shard.collect_garbage(TABLE, Garbage::Deleted).await.expect("the disk works");
        // What was deleted is gone from the first file, and then the deletions, which hide nothing any more, from the second.
        assert_eq!((shard.stats().files, partitions(&shard)), (2, 75));
        assert_eq!(read_all_rows(&shard, TABLE).await, (50..100).collect::<Vec<_>>());
        shard.collect_garbage(TABLE, Garbage::Overwritten).await.expect("the disk works");
        assert_eq!((shard.stats().files, partitions(&shard)), (2, 50));
        assert_eq!(read_all_rows(&shard, TABLE).await, (50..100).collect::<Vec<_>>());
        shard.collect_garbage(OTHER, Garbage::Deleted).await.expect("there is nothing to do");
    })
    .expect("the shard opens");
    with_shard(&setup.boot(2), async |_, shard| {
        assert_eq!(read_all_rows(&shard, TABLE).await, (50..100).collect::<Vec<_>>());
    })
    .expect("the shard opens");
}

#[test]
fn memory_hides_nothing_from_the_collection_of_garbage() {
    let folder = Folder::new("garbage-in-memory");
    with_shard(&Setup::new(&folder, 1), async |_, shard| {
        write_at(&shard, 0..10, 1, b"old").await;
        flush(&shard).await;
        write_at(&shard, 0..10, 10, b"new").await;
        shard.collect_garbage(TABLE, Garbage::Overwritten).await.expect("the disk works");
        assert_eq!(shard.stats().files, 1);
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..10).collect::<Vec<_>>());
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

/// A shard whose compaction of four files is under way, held up by the throughput that it has.
fn slowly(folder: &Folder) -> Setup {
    let mut setup = in_background(folder);
    setup.options.auto_snapshot = false;
    setup.options.compaction_throughput = 512 << 10;
    setup
}

async fn begin_slowly(runtime: &Runtime, shard: &Shard) {
    for round in 0..4u32 {
        write_rows(shard, TABLE, round * 500..round * 500 + 500, &[1; 300]).await;
        flush(shard).await;
    }
    // The output has begun, and its end is far.
    runtime.sleep(Duration::from_millis(100)).await;
    assert_eq!((shard.stats().files, shard.stats().compactions), (4, 0));
}

#[test]
fn what_is_truncated_meanwhile_does_not_come_back() {
    let folder = Folder::new("compact-truncate");
    let setup = slowly(&folder);
    let position = with_shard(&setup, async |runtime, shard| {
        begin_slowly(&runtime, &shard).await;
        let position = shard.truncate(TABLE);
        shard.truncation_is_durable(TABLE, position, "1").await;
        write_rows(&shard, TABLE, 5000..5010, b"v").await;
        flush(&shard).await;
        runtime.sleep(Duration::from_secs(2)).await;
        assert_eq!((shard.stats().files, shard.stats().compactions), (1, 0));
        assert_eq!(read_all_rows(&shard, TABLE).await, (5000..5010).collect::<Vec<_>>());
        position
    });
    assert_eq!(components(&folder, "-Data.db").len(), 1, "what the compaction wrote is gone");
    let mut setup = setup.boot(2);
    setup.truncations.insert(TABLE, vec![position.expect("the shard opens")]);
    let rows = with_shard(&setup, async |_, shard| read_all_rows(&shard, TABLE).await);
    assert_eq!(rows.expect("the shard opens"), (5000..5010).collect::<Vec<_>>());
}

#[test]
fn a_truncation_takes_what_a_compaction_made_of_older_files() {
    let folder = Folder::new("compact-then-truncate");
    let mut setup = Setup::new(&folder, 1);
    setup.options.auto_snapshot = false;
    let position = with_shard(&setup, async |_, shard| {
        for round in 0..2u32 {
            write_rows(&shard, TABLE, round * 10..round * 10 + 10, b"v").await;
            flush(&shard).await;
        }
        shard.compact(TABLE).await.expect("they are compacted");
        // Durable, and the node ends before anything is done about it.
        shard.truncate(TABLE)
    });
    let mut setup = setup.boot(2);
    setup.truncations.insert(TABLE, vec![position.expect("the shard opens")]);
    let rows = with_shard(&setup, async |_, shard| read_all_rows(&shard, TABLE).await);
    assert!(rows.expect("the shard opens").is_empty());
    assert!(components(&folder, "-Data.db").is_empty());
}

#[test]
fn what_is_dropped_meanwhile_leaves_nothing() {
    let folder = Folder::new("compact-drop");
    let setup = slowly(&folder);
    with_shard(&setup, async |runtime, shard| {
        begin_slowly(&runtime, &shard).await;
        shard.drop_table(TABLE);
        shard.discard_dropped("1").await;
        runtime.sleep(Duration::from_secs(2)).await;
        assert_eq!(shard.stats().compactions, 0);
    })
    .expect("the shard opens");
    assert!(components(&folder, "").is_empty(), "neither inputs nor outputs are left");
}

#[test]
fn what_is_flushed_meanwhile_stays() {
    let folder = Folder::new("compact-flush");
    let setup = slowly(&folder);
    with_shard(&setup, async |runtime, shard| {
        begin_slowly(&runtime, &shard).await;
        write_rows(&shard, TABLE, 5000..5010, b"v").await;
        flush(&shard).await;
        let expected: Vec<u32> = (0..2000).chain(5000..5010).collect();
        assert_eq!(read_all_rows(&shard, TABLE).await, expected);
        until(&runtime, "the compaction ends", || shard.stats().compactions == 1).await;
        assert_eq!(shard.stats().files, 2);
        assert_eq!(read_all_rows(&shard, TABLE).await, expected);
    })
    .expect("the shard opens");
    let rows = with_shard(&setup.boot(2), async |_, shard| read_all_rows(&shard, TABLE).await.len());
    assert_eq!(rows.expect("the shard opens"), 2010);
}

#[test]
fn reads_see_the_same_while_files_are_exchanged() {
    let folder = Folder::new("compact-read");
    with_shard(&slowly(&folder), async |runtime, shard| {
        begin_slowly(&runtime, &shard).await;
        let expected: Vec<u32> = (0..2000).collect();
        let begun = runtime.now();
        let mut behind = 0;
        while behind < 3 {
            behind += u32::from(shard.stats().compactions > 0);
            assert_eq!(read_all_rows(&shard, TABLE).await, expected);
            assert!(runtime.now() - begun < AT_MOST, "the compaction ends");
        }
        assert_eq!(shard.stats().files, 1);
    })
    .expect("the shard opens");
}

#[test]
fn a_start_removes_what_a_compaction_did_not_end() {
    let folder = Folder::new("compact-cut-short");
    let mut setup = slowly(&folder);
    with_shard(&setup, async |runtime, shard| begin_slowly(&runtime, &shard).await).expect("the shard opens");
    assert!(components(&folder, "-Data.db").len() > 4, "an output was begun");
    setup.options.compacts = false;
    let rows = with_shard(&setup.boot(2), async |_, shard| read_all_rows(&shard, TABLE).await);
    assert_eq!(rows.expect("the shard opens"), (0..2000).collect::<Vec<_>>());
    assert_eq!(components(&folder, "-Data.db").len(), 4);
}

#[test]
fn a_snapshot_holds_the_inputs_of_a_compaction_that_runs() {
    let folder = Folder::new("compact-snapshot");
    let mut setup = slowly(&folder);
    setup.options.auto_snapshot = true;
    with_shard(&setup, async |runtime, shard| {
        begin_slowly(&runtime, &shard).await;
        let position = shard.truncate(TABLE);
        shard.truncation_is_durable(TABLE, position, "1").await;
        runtime.sleep(Duration::from_secs(2)).await;
    })
    .expect("the shard opens");
    assert!(components(&folder, "-Data.db").is_empty(), "neither inputs nor outputs are left");
    let tables = std::fs::read_dir(folder.path.join("data/ks")).expect("a keyspace's folder");
    let table = tables.map(|table| table.expect("an entry").path()).next().expect("a table's folder");
    let snapshot = std::fs::read_dir(table.join("snapshots/truncated-1-t1")).expect("a snapshot");
    let names = snapshot.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.collect();
    assert_eq!(names.iter().filter(|name| name.ends_with("-Data.db")).count(), 4, "{names:?}");
    assert_eq!(names.iter().filter(|name| name.ends_with("-TOC.txt")).count(), 4, "{names:?}");
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
        let own = OwnComponent::decode(&std::fs::read(own).ok()?).expect("it is whole");
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
        let mut last = 0;
        loop {
            runtime.sleep(Duration::from_millis(400)).await;
            let now = shard.stats().compactions;
            if now == last {
                break;
            }
            last = now;
        }
        assert!(last > 1, "{last} compactions");
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

mod same {
    //! A table of two clustering columns, one of them descending: bounds of ranges are prefixes of one or two values, on either side.

    use std::collections::BTreeMap;

    use cql_types::CqlType;
    use mutation::{ClusteringBound, ClusteringRef, Deletion, Expiry, LiveRow, MutationEncoder, ReadCommand};
    use runtime::{Options, Runtime};
    use schema::{
        Column, ColumnId, ColumnKind, KeyspaceDef, Order, ReplicationStrategy, Schema, SchemaChange, Table, TableId,
        TableOptions,
    };
    use storage::reader::ReadDone;
    use storage::{Flow, RowSink, Shard, StorageOptions, Truncations};
    use topology::{Sharder, Token, token_of};

    use crate::harness::{Folder, planted};

    const TABLE: TableId = TableId([8; 16]);
    const SHARED: ColumnId = ColumnId(3);
    const ONE: ColumnId = ColumnId(4);
    const TWO: ColumnId = ColumnId(5);

    fn schema(seed: u64) -> Schema {
        let column = |id: u16, name: &str, ty: CqlType, kind: ColumnKind, position: u16, order: Order| Column {
            id: ColumnId(id),
            name: name.to_owned(),
            ty,
            kind,
            position,
            order,
        };
        let columns = vec![
            column(0, "key", CqlType::Int, ColumnKind::PartitionKey, 0, Order::Asc),
            column(1, "word", CqlType::Text, ColumnKind::Clustering, 0, Order::Asc),
            column(2, "number", CqlType::Int, ColumnKind::Clustering, 1, Order::Desc),
            column(SHARED.0, "shared", CqlType::Text, ColumnKind::Static, 0, Order::Asc),
            column(ONE.0, "one", CqlType::Text, ColumnKind::Regular, 0, Order::Asc),
            column(TWO.0, "two", CqlType::Text, ColumnKind::Regular, 0, Order::Asc),
        ];
        let keyspace = KeyspaceDef {
            name: "same".to_owned(),
            replication: Default::default(),
            strategy: ReplicationStrategy::Simple { replication_factor: 1 },
            durable_writes: true,
        };
        let pairs: &[(&str, &str)] = match seed % 2 {
            0 => &[("class", "SizeTieredCompactionStrategy")],
            _ => &[("class", "UnifiedCompactionStrategy"), ("min_sstable_size", "0"), ("base_shard_count", "3")],
        };
        let compaction = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        // Half of the runs purge what was deleted long ago.
        let gc_grace_seconds = if seed % 4 < 2 { 0 } else { u32::MAX };
        let options = TableOptions { compaction, gc_grace_seconds, ..TableOptions::default() };
        let table = Table::new(TABLE, "same", "t", columns, options);
        Schema::empty().with_all(&[SchemaChange::PutKeyspace(keyspace), SchemaChange::PutTable(Box::new(table))])
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit
        }
    }

    fn mutation(random: &mut Random, timestamp: i64) -> Vec<u8> {
        let key = (random.below(6) as i32).to_be_bytes();
        let words: [&[u8]; 4] = [b"", b"a", b"ab", b"\xc3\xbf"];
        let word = |random: &mut Random| words[random.below(4) as usize];
        let number = |random: &mut Random| (random.below(5) as i32 - 2).to_be_bytes();
        let deletion = Deletion { timestamp, local_deletion_time: 1_000 };
        let mut out = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(&key), &key);
        match random.below(10) {
            0 if random.below(4) == 0 => encoder.partition_deletion(deletion),
            0 => {
                encoder.static_row().cell(SHARED, timestamp, None, &timestamp.to_be_bytes());
            }
            1 => {
                let (word, number) = (word(random), number(random));
                encoder.row([word, &number[..]]).deletion(deletion);
            }
            2..5 => {
                let (mut from, mut to) = ((word(random), number(random)), (word(random), number(random)));
                // Words ascend, numbers descend.
                if (from.0, -i32::from_be_bytes(from.1)) > (to.0, -i32::from_be_bytes(to.1)) {
                    std::mem::swap(&mut from, &mut to);
                }
                let (start, end) = ([from.0, &from.1[..]], [to.0, &to.1[..]]);
                let start =
                    ClusteringBound { prefix: &start[..random.below(3) as usize], inclusive: random.below(2) == 0 };
                let end = ClusteringBound { prefix: &end[..random.below(3) as usize], inclusive: random.below(2) == 0 };
                encoder.range_tombstone(start, end, deletion);
            }
            choice => {
                let (word, number) = (word(random), number(random));
                let expiry = (choice == 9).then_some(Expiry { ttl: 50, local_deletion_time: 1_050 });
                let value = timestamp.to_be_bytes();
                let mut row = encoder.row([word, &number[..]]);
                let row = row.liveness(timestamp, expiry).cell(ONE, timestamp, expiry, &value);
                if choice > 7 {
                    row.cell(TWO, timestamp, expiry, &value);
                }
            }
        }
        encoder.finish();
        out
    }

    type Rows = BTreeMap<Vec<u8>, (Option<Vec<u8>>, Vec<(Vec<u8>, Vec<(u16, i64, Vec<u8>)>)>)>;

    #[derive(Default)]
    struct Sink {
        rows: Rows,
        key: Vec<u8>,
    }

    impl RowSink for Sink {
        fn partition(&mut self, _: Token, key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
            self.key = key.to_vec();
            let shared = static_row.and_then(|row| row.cell(SHARED)).map(|cell| cell.value.to_vec());
            self.rows.entry(key.to_vec()).or_default().0 = shared;
            Flow::Continue
        }

        fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
            let cells = row.cells().map(|cell| (cell.column.0, cell.timestamp, cell.value.to_vec())).collect();
            let rows = &mut self.rows.get_mut(&self.key).expect("it was announced").1;
            rows.push((clustering.bytes().to_vec(), cells));
            Flow::Continue
        }
    }

    async fn read(shard: &Shard) -> Rows {
        let mut sink = Sink::default();
        let command = ReadCommand::all(TABLE, 2_000_000_000);
        let done = shard.read_through(&command, &mut sink).await.expect("the files can be read");
        assert_eq!(done, ReadDone::Complete);
        sink.rows
    }

    #[test]
    fn reads_give_the_same_before_and_behind() {
        for seed in 1..40u64 {
            let folder = Folder::new("compact-same");
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let mut options = StorageOptions::new(&folder.path, 1, 16 << 20);
            options.segment_bytes = 256 << 10;
            options.compacts = false;
            options.planted = planted();
            let main = move |runtime: Runtime| async move {
                let schema = schema(seed);
                let opened = Shard::open(&runtime, options, Sharder::new(1), &schema, &Truncations::new()).await;
                let shard = opened.expect("the shard opens");
                shard.retire_old_segments().await.expect("there are none");
                let mut timestamp = 0;
                for round in 0..3 {
                    for _ in 0..3 {
                        for _ in 0..random.below(60) + 1 {
                            timestamp += 1;
                            shard.apply(&mutation(&mut random, timestamp)).expect("there is room");
                        }
                        shard.flush(TABLE).await.expect("the disk works");
                    }
                    let before = read(&shard).await;
                    shard.compact(TABLE).await.expect("the disk works");
                    assert_eq!(read(&shard).await, before, "round {round} of seed {seed}");
                    // Once more, of what was compacted alone.
                    shard.compact(TABLE).await.expect("the disk works");
                    assert_eq!(read(&shard).await, before, "round {round} of seed {seed}, again");
                }
            };
            runtime::run(Options::default(), vec![main]).expect("the shard runs");
        }
    }
}

/// Turns a byte in the middle of a file over.
fn damage(path: &std::path::Path) {
    let mut bytes = std::fs::read(path).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x20;
    std::fs::write(path, bytes).expect("it can be written");
}

#[test]
fn a_damaged_file_is_scrubbed_while_the_node_runs() {
    let folder = Folder::new("scrub");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |_, shard| {
        write_rows(&shard, TABLE, 0..400, &[7; 300]).await;
        flush(&shard).await;
        write_rows(&shard, TABLE, 400..500, &[7; 300]).await;
        flush(&shard).await;
        let whole = shard.scrub(TABLE).await.expect("the disk works");
        assert_eq!((whole.files, whole.damaged, shard.stats().compactions), (2, 0, 0), "nothing is written anew");
    })
    .expect("the shard opens");
    let mut files = components(&folder, "-Data.db");
    files.sort_by_key(|path| std::fs::metadata(path).expect("it is there").len());
    damage(&files[1]);
    with_shard(&setup.boot(2), async |_, shard| {
        let scrubbed = shard.scrub(TABLE).await.expect("the disk works");
        assert_eq!((scrubbed.files, scrubbed.damaged), (2, 1));
        assert_eq!(scrubbed.kept + scrubbed.in_part + scrubbed.lost, 400, "{scrubbed:?}");
        let rows = read_all_rows(&shard, TABLE).await;
        // A chunk is 16 KiB before compression, of rows of some 320 bytes.
        assert!(rows.len() >= 500 - 120 && rows.len() < 500, "{} rows, {scrubbed:?}", rows.len());
        assert!((400..500).all(|row| rows.contains(&row)), "the other file is as it was");
        assert_eq!(rows.len() as u64, 100 + scrubbed.kept, "{scrubbed:?}");
        shard.compact(TABLE).await.expect("all can be read");
        assert_eq!(read_all_rows(&shard, TABLE).await, rows);
        assert_eq!(shard.scrub(TABLE).await.expect("the disk works").damaged, 0);
    })
    .expect("the shard opens");
}
