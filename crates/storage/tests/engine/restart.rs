//! Starts after an orderly end, with every mode and limit.
#![allow(clippy::disallowed_methods)]

use runtime::Group;
use storage::{Ack, ApplyError, StorageOptions, SyncError};

use crate::harness::*;

#[test]
fn what_was_written_is_there_after_each_start() {
    let folder = Folder::new("restart");
    let setup = Setup::new(&folder, 1);
    for boot in 1..5u32 {
        let rows = with_shard(&setup.boot(u64::from(boot)), async move |_, shard| {
            let before = read_rows(&shard, TABLE);
            write_rows(&shard, TABLE, boot * 1000..boot * 1000 + 700, &[7; 300]).await;
            (before, read_rows(&shard, TABLE), shard.stats())
        });
        let (before, after, stats) = rows.expect("the shard opens");
        let expected = |until: u32| (1..until).flat_map(|boot| boot * 1000..boot * 1000 + 700).collect::<Vec<_>>();
        assert_eq!(before, expected(boot));
        assert_eq!(after, expected(boot + 1));
        assert_eq!(stats.replayed, u64::from(boot - 1) * 700);
        assert!(stats.log_groups > 10 && stats.log_segments >= u64::from(boot), "{stats:?}");
    }
}

/// Boots, and where each ends, on every shard.
fn ends_of(setup: &Setup, shards: u16, rows: std::ops::Range<u32>) -> Vec<Vec<(u64, u64)>> {
    with_shards(setup, shards, true, move |_, shard| {
        let rows = rows.clone();
        async move {
            write_rows(&shard, TABLE, rows, &[7; 300]).await;
            storage::log_ends(&shard).into_iter().map(|end| (end.boot, end.sequence)).collect()
        }
    })
}

/// Another node holds them against what it heard before: a lower one says that the disk is an older one.
#[test]
fn the_ends_of_earlier_boots_stay_as_segments_go_and_shards_change() {
    let folder = Folder::new("ends");
    let setup = Setup::new(&folder, 1);
    let first = ends_of(&setup, 1, 0..700);
    let [end] = first[0][..] else { panic!("one boot has written: {first:?}") };
    assert!(end.0 == 1 && end.1 > 700 * 300, "{first:?}");
    assert_eq!(ends_of(&setup.boot(2), 1, 0..0), first, "a boot that does not write");
    // The segments go with a flush, and the boot after that has the list alone.
    with_shard(&setup.boot(3), async |runtime, shard| {
        shard.flush(TABLE).await.expect("it is flushed");
        write_rows(&shard, TABLE, 0..700, &[7; 300]).await;
        shard.flush(TABLE).await.expect("it is flushed");
        until(&runtime, "old segments go", || shard.stats().log_segments == 1).await;
    })
    .expect("the shard opens");
    let fourth = ends_of(&setup.boot(4), 1, 0..0);
    assert!(fourth[0].starts_with(&[end]) && fourth[0].len() == 2, "{fourth:?}");
    // Other shards read the segments of this count, which go then.
    let fifth = ends_of(&setup.boot(5), 2, 0..0);
    assert!(fifth[0].starts_with(&fourth[0]), "{fifth:?}");
    let mut seventh = ends_of(&setup.boot(6), 2, 0..10).swap_remove(0);
    assert!(seventh.starts_with(&fourth[0]) && seventh.last().is_some_and(|end| end.0 == 6), "{seventh:?}");
    for boot in 7..20 {
        seventh = ends_of(&setup.boot(boot), 1, 0..10).swap_remove(0);
    }
    let boots: Vec<u64> = seventh.iter().map(|end| end.0).collect();
    assert_eq!(boots, (11..20).collect::<Vec<_>>(), "of the running boot and eight before it");
}

#[test]
fn a_start_without_a_write_makes_no_segment() {
    let folder = Folder::new("idle");
    with_shard(&Setup::new(&folder, 1), async |_, _| ()).expect("the shard opens");
    assert!(folder.segments(0).is_empty());
}

#[test]
fn periodic_acknowledges_at_once_and_loses_nothing_in_an_orderly_end() {
    let folder = Folder::new("periodic");
    let setup = Setup::new(&folder, 1).periodic();
    with_shard(&setup, async |_, shard| {
        // The first has no place on the disk yet: it waits for the first segment.
        let Ack::When(first) = apply(&shard, &mutation(TABLE, 1, 1, b"v")).await else { panic!("no segment is there") };
        shard.wait_synced(first).await.expect("the disk works");
        assert_eq!(apply(&shard, &mutation(TABLE, 1, 2, b"v")).await, Ack::Now);
        assert_eq!(shard.synced(), first);
        write_rows(&shard, TABLE, 0..3000, &[1; 300]).await;
        assert!(shard.synced().0 > 0);
    })
    .expect("the shard opens");
    let rows = with_shard(&setup.boot(2), async |_, shard| read_rows(&shard, TABLE)).expect("the shard opens");
    assert_eq!(rows, (0..3000).collect::<Vec<_>>());
}

/// A record without a place stays in memory for as long as the disk is full, which may be longer than the period.
#[test]
fn periodic_acknowledges_nothing_that_has_no_place_on_the_disk() {
    let folder = Folder::new("placeless");
    let mut setup = Setup::new(&folder, 1).periodic();
    // More than any disk has: no segment can be made.
    setup.options.disk_reserve = 1 << 60;
    with_shard(&setup, async |_, shard| {
        let Ack::When(first) = apply(&shard, &mutation(TABLE, 1, 1, b"v")).await else { panic!("no segment is there") };
        assert_eq!(shard.wait_synced(first).await, Err(SyncError::DiskFull));
        assert_eq!(shard.apply(&mutation(TABLE, 2, 1, b"v")), Err(ApplyError::DiskFull));
    })
    .expect("the shard opens");
}

#[test]
fn a_group_ack_comes_after_the_sync() {
    let folder = Folder::new("group");
    with_shard(&Setup::new(&folder, 1), async |_, shard| {
        let Ack::When(first) = apply(&shard, &mutation(TABLE, 1, 1, b"v")).await else { panic!("not synced yet") };
        let Ack::When(second) = apply(&shard, &mutation(TABLE, 2, 1, b"v")).await else { panic!("not synced yet") };
        assert!(second > first && shard.synced() < first);
        shard.wait_synced(second).await.expect("the disk works");
        assert!(shard.synced() >= second);
        assert_eq!(shard.stats().log_groups, 1, "one write covers both");
    })
    .expect("the shard opens");
}

/// Writers of two halves that began one group apart, each writing again as soon as it is answered.
#[test]
fn groups_gather_clients_that_write_again_at_once() {
    const WRITERS: u32 = 32;
    const WRITES: u32 = 100;
    let folder = Folder::new("gather");
    let groups = with_shard(&Setup::new(&folder, 1), async |runtime, shard| {
        let writer = |writer: u32| {
            let shard = shard.clone();
            runtime.spawn(Group::Query, async move {
                for write in 0..WRITES {
                    let row = mutation(TABLE, writer * WRITES + write, 1, &[1; 100]);
                    let Ack::When(sequence) = apply(&shard, &row).await else { panic!("not synced yet") };
                    shard.wait_synced(sequence).await.expect("the disk works");
                }
            })
        };
        // A group may grow while its segment is made, so that is done before.
        write_rows(&shard, TABLE, [u32::MAX].into_iter(), &[1; 100]).await;
        let first: Vec<_> = (0..WRITERS / 2).map(writer).collect();
        // The first half's group is on its way when the second half writes for the first time.
        while runtime.stats().operations == 0 {
            runtime.yield_now().await;
        }
        let second: Vec<_> = (WRITERS / 2..WRITERS).map(writer).collect();
        for writer in first.into_iter().chain(second) {
            writer.await;
        }
        shard.stats().log_groups
    })
    .expect("the shard opens");
    let (all_together, two_halves) = (u64::from(WRITES), u64::from(WRITES) * 2);
    assert!(groups < (all_together + two_halves) / 2, "{groups} groups: the halves did not come together");
}

#[test]
fn limits_refuse_before_anything_is_kept() {
    let folder = Folder::new("limits");
    let mut setup = Setup::new(&folder, 1);
    setup.options.memory_bytes = 8 << 20;
    setup.options.log_buffer_bytes = 64 << 10;
    // What is in the way of the tables' folder keeps memtables in memory.
    std::fs::write(folder.path.join("data"), b"").expect("a file can be made");
    with_shard(&setup, async |_, shard| {
        let huge = mutation(TABLE, 1, 1, &vec![0; 200 << 10]);
        assert!(matches!(shard.apply(&huge), Err(ApplyError::TooLarge { .. })));
        let unknown = mutation(schema::TableId([9; 16]), 1, 1, b"v");
        assert!(matches!(shard.apply(&unknown), Err(ApplyError::UnknownTable(_))));
        assert!(matches!(shard.apply(b"nonsense"), Err(ApplyError::Malformed(_))));
        let busy = (0..).find_map(|number| shard.apply(&mutation(TABLE, number, 1, &[0; 1000])).err());
        assert_eq!(busy, Some(ApplyError::LogBusy));
        shard.room().await;
        let large = mutation(TABLE, 0, 2, &[0; 100 << 10]);
        apply(&shard, &large).await;
        let mut number = 1000;
        let refused = loop {
            number += 1;
            if let Err(error) = apply_or_wait(&shard, &mutation(TABLE, number, 1, &[0; 1000])).await {
                break error;
            }
        };
        assert!(matches!(refused, ApplyError::Overloaded { .. }), "{refused}");
        assert!(refused.to_string().ends_with("flushes fail (see the log)"), "{refused}");
        let stats = shard.stats();
        assert!(stats.memory_used <= stats.memory_budget, "{stats:?}");
        assert!(!read_all_rows(&shard, TABLE).await.contains(&number));
        truncate(&shard, TABLE);
        apply(&shard, &mutation(TABLE, number, 1, &[0; 1000])).await;
        shard.drain().await.expect("the disk works");
    })
    .expect("the shard opens");
}

#[test]
fn a_batch_is_one_record() {
    let folder = Folder::new("batch");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |_, shard| {
        let (a, b) = (mutation(TABLE, 1, 1, b"v"), mutation(OTHER, 2, 1, b"v"));
        shard.apply_batch(&[&a, &b]).expect("there is room");
        shard.drain().await.expect("the disk works");
        let unknown = mutation(schema::TableId([9; 16]), 3, 1, b"v");
        assert!(shard.apply_batch(&[&a, &unknown]).is_err());
    })
    .expect("the shard opens");
    let rows = with_shard(&setup.boot(2), async |_, shard| (read_rows(&shard, TABLE), read_rows(&shard, OTHER)));
    assert_eq!(rows.expect("the shard opens"), (vec![1], vec![2]));
}

#[test]
fn truncated_and_dropped_tables_do_not_come_back() {
    let folder = Folder::new("truncate");
    let mut setup = Setup::new(&folder, 1);
    let position = with_shard(&setup, async |_, shard| {
        write_rows(&shard, TABLE, 0..500, &[1; 300]).await;
        write_rows(&shard, OTHER, 0..10, b"v").await;
        let position = truncate(&shard, TABLE);
        assert!(read_rows(&shard, TABLE).is_empty());
        write_rows(&shard, TABLE, 600..610, b"v").await;
        position
    })
    .expect("the shard opens");
    setup.truncations.insert(TABLE, vec![position]);
    let rows = with_shard(&setup.boot(2), async |_, shard| (read_rows(&shard, TABLE), read_rows(&shard, OTHER)));
    assert_eq!(rows.expect("the shard opens"), ((600..610).collect(), (0..10).collect()));
    setup.tables = vec![OTHER];
    let rows = with_shard(&setup.boot(3), async |_, shard| (read_rows(&shard, TABLE), read_rows(&shard, OTHER)));
    assert_eq!(rows.expect("the shard opens"), (vec![], (0..10).collect()));
}

#[test]
fn segments_of_dropped_tables_are_used_again() {
    let folder = Folder::new("release");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |runtime, shard| {
        for round in 0..12u32 {
            write_rows(&shard, TABLE, round * 1000..round * 1000 + 1000, &[1; 300]).await;
            let position = truncate(&shard, TABLE);
            shard.discard_truncated(TABLE, position, "1").await;
            runtime.yield_now().await;
        }
        write_rows(&shard, TABLE, 7..8, b"v").await;
        until(&runtime, "segments are used again", || shard.stats().log_segments <= 3).await;
    })
    .expect("the shard opens");
    assert!(folder.segments(0).len() <= 4, "{:?}", folder.segments(0));
    let rows = with_shard(&setup.boot(2), async |_, shard| read_rows(&shard, TABLE)).expect("the shard opens");
    assert!(rows.contains(&7));
}

#[test]
fn a_file_system_without_direct_io_will_do() {
    // /dev/shm is a tmpfs, which refuses O_DIRECT on older kernels.
    let mut options = StorageOptions::new(format!("/dev/shm/helenus-test-{}", std::process::id()), 1, 1 << 30);
    options.segment_bytes = 256 << 10;
    let folder = Folder { path: options.dir.clone() };
    let setup = Setup {
        options,
        tables: vec![TABLE],
        durable_writes: true,
        truncations: Default::default(),
        compaction: Vec::new(),
        caching: false,
        gc_grace_seconds: None,
    };
    with_shard(&setup, async |_, shard| write_rows(&shard, TABLE, 0..100, b"v").await).expect("the shard opens");
    let rows = with_shard(&setup.boot(2), async |_, shard| read_rows(&shard, TABLE)).expect("the shard opens");
    assert_eq!(rows, (0..100).collect::<Vec<_>>());
    drop(folder);
}

/// A recycled segment still holds groups of its earlier life behind its own: they are not its own, and it is what its new head says.
#[test]
fn a_recycled_segment_has_one_life_only() {
    let folder = Folder::new("recycled");
    let mut setup = Setup::new(&folder, 1);
    let position = with_shard(&setup, async |runtime, shard| {
        let mut position = truncate(&shard, TABLE);
        for round in 0..8u32 {
            write_rows(&shard, TABLE, round * 1000..round * 1000 + 1000, &[1; 300]).await;
            position = truncate(&shard, TABLE);
            shard.discard_truncated(TABLE, position, "1").await;
            runtime.sleep(std::time::Duration::from_millis(20)).await;
        }
        // Into a recycled segment, and not far.
        write_rows(&shard, TABLE, 9000..9800, &[1; 300]).await;
        position
    })
    .expect("the shard opens");
    setup.truncations.insert(TABLE, vec![position]);
    let rows = with_shard(&setup.boot(2), async |_, shard| read_rows(&shard, TABLE)).expect("the shard opens");
    assert_eq!(rows, (9000..9800).collect::<Vec<_>>());
}

/// A power cut in the first group of a segment, when those before it are gone: that it names what was durable before does not make it
/// one of those.
#[test]
fn a_torn_group_may_be_the_first_that_is_left() {
    let folder = Folder::new("torn-first");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |runtime, shard| {
        write_rows(&shard, TABLE, 0..3000, &[1; 300]).await;
        let position = truncate(&shard, TABLE);
        shard.discard_truncated(TABLE, position, "1").await;
        until(&runtime, "one segment is left", || folder.segments(0).len() == 1).await;
    })
    .expect("the shard opens");
    let [segment] = &folder.segments(0)[..] else { panic!("one segment is left") };
    let mut bytes = std::fs::read(segment).expect("it can be read");
    bytes[4096 + 100] ^= 1;
    bytes[8192..].fill(0);
    std::fs::write(segment, bytes).expect("it can be written");
    let rows = with_shard(&setup.boot(2), async |_, shard| read_rows(&shard, TABLE)).expect("the shard opens");
    assert_eq!(rows, []);
}

/// A truncation of one table lets nothing go that another table needs.
#[test]
fn segments_stay_while_any_table_needs_them() {
    let folder = Folder::new("needed");
    let mut setup = Setup::new(&folder, 1);
    let position = with_shard(&setup, async |runtime, shard| {
        let mut position = truncate(&shard, TABLE);
        for round in 0..8u32 {
            write_rows(&shard, OTHER, round * 10..round * 10 + 10, b"v").await;
            write_rows(&shard, TABLE, round * 1000..round * 1000 + 1000, &[1; 300]).await;
            position = truncate(&shard, TABLE);
            shard.discard_truncated(TABLE, position, "1").await;
            runtime.sleep(std::time::Duration::from_millis(20)).await;
        }
        position
    })
    .expect("the shard opens");
    setup.truncations.insert(TABLE, vec![position]);
    let rows = with_shard(&setup.boot(2), async |_, shard| (read_rows(&shard, TABLE), read_rows(&shard, OTHER)));
    assert_eq!(rows.expect("the shard opens"), (vec![], (0..80).collect()));
}
