//! Memtables become files: what was written is there, in memory, in files and after every start; the log gets shorter.
#![allow(clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use mutation::{ClusteringRef, LiveRow, ReadCommand};
use runtime::Runtime;
use schema::ColumnId;
use storage::reader::ReadDone;
use storage::{Ack, Flow, RowSink, Shard};
use topology::{Sharder, Token, token_of};

use crate::harness::*;

/// The data files below a folder: those of live tables, or those of snapshots.
fn data_files(folder: &Folder, in_snapshots: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.path.join("data")];
    while let Some(path) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&path) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with("-Data.db") {
                found.push(path);
            }
        }
    }
    found.retain(|path| path.components().any(|part| part.as_os_str() == "snapshots") == in_snapshots);
    found.sort();
    found
}

/// Copies a whole folder.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder can be made");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("a file can be copied");
        }
    }
}

/// Writes rows, waiting wherever memory or the log have no room.
async fn write_patiently(runtime: &Runtime, shard: &Shard, numbers: std::ops::Range<u32>, value: &[u8]) {
    let mut last = None;
    for number in numbers {
        last = Some(apply(shard, &mutation(TABLE, number, 1, value)).await);
        runtime.maybe_yield().await;
    }
    if let Some(Ack::When(sequence)) = last {
        shard.wait_synced(sequence).await.expect("the disk works");
    }
}

#[test]
fn what_was_flushed_is_read_and_is_there_after_a_start() {
    let folder = Folder::new("flush");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |_, shard| {
        write_rows(&shard, TABLE, 0..2000, &[1; 300]).await;
        write_rows(&shard, OTHER, 0..10, b"v").await;
        let before = shard.files_version(TABLE);
        shard.flush(TABLE).await.expect("it is flushed");
        assert!(shard.files_version(TABLE) > before);
        let stats = shard.stats();
        assert_eq!((stats.flushes, stats.files, stats.partitions), (1, 1, 10));
        write_rows(&shard, TABLE, 1990..2100, b"newer").await;
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..2100).collect::<Vec<_>>());
        shard.flush(TABLE).await.expect("it is flushed");
        shard.flush(TABLE).await.expect("there is nothing to flush");
        assert_eq!(shard.stats().files, 2);
        write_rows(&shard, TABLE, 2100..2150, b"v").await;
    })
    .expect("the shard opens");
    assert_eq!(data_files(&folder, false).len(), 2);
    for boot in 2..4 {
        with_shard(&setup.boot(boot), async |_, shard| {
            assert_eq!(read_all_rows(&shard, TABLE).await, (0..2150).collect::<Vec<_>>());
            assert_eq!(read_all_rows(&shard, OTHER).await, (0..10).collect::<Vec<_>>());
            let stats = shard.stats();
            assert_eq!((stats.replayed, stats.files), (60, 2), "only what no file has is replayed");
        })
        .expect("the shard opens");
    }
}

#[test]
fn segments_go_when_what_they_hold_is_in_files() {
    let folder = Folder::new("flush-log");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |runtime, shard| {
        write_rows(&shard, OTHER, 0..10, b"v").await;
        write_rows(&shard, TABLE, 0..4000, &[1; 300]).await;
        let before = shard.stats().log_segments;
        assert!(before >= 5, "{before}");
        shard.flush(TABLE).await.expect("it is flushed");
        let what = "the first one stays, for the other table's sake, and the one that is written to";
        until(&runtime, what, || shard.stats().log_segments <= 2).await;
        assert_eq!(shard.stats().log_segments, 2, "{what}");
        shard.flush(OTHER).await.expect("it is flushed");
        until(&runtime, "one is left", || shard.stats().log_segments == 1).await;
    })
    .expect("the shard opens");
    let rows = with_shard(&setup.boot(2), async |_, shard| {
        assert_eq!(shard.stats().replayed, 0);
        (read_all_rows(&shard, TABLE).await, read_all_rows(&shard, OTHER).await)
    });
    assert_eq!(rows.expect("the shard opens"), ((0..4000).collect(), (0..10).collect()));
}

#[test]
fn more_fits_than_the_memory_holds() {
    let folder = Folder::new("flush-memory");
    let mut setup = Setup::new(&folder, 1);
    setup.options.memory_bytes = 8 << 20;
    with_shard(&setup, async |runtime, shard| {
        write_patiently(&runtime, &shard, 0..60_000, &[7; 500]).await;
        let stats = shard.stats();
        assert!(stats.memory_used <= 8 << 20, "{stats:?}");
        assert!(stats.flushes >= 4, "{stats:?}");
        assert_eq!(read_all_rows(&shard, TABLE).await.len(), 60_000);
    })
    .expect("the shard opens");
    let rows = with_shard(&setup.boot(2), async |_, shard| read_all_rows(&shard, TABLE).await.len());
    assert_eq!(rows.expect("the shard opens"), 60_000);
}

/// A flush that fails keeps the memtable: it is read, and the flush is tried again until it succeeds.
#[test]
fn a_flush_that_fails_is_tried_again() {
    let folder = Folder::new("flush-fails");
    let setup = Setup::new(&folder, 1);
    std::fs::write(folder.path.join("data"), b"in the way").expect("a file can be made");
    with_shard(&setup, async |runtime, shard| {
        write_rows(&shard, TABLE, 0..100, b"v").await;
        let error = shard.flush(TABLE).await.expect_err("there is no folder").to_string();
        assert!(error.contains("/data/ks/t1-"), "{error}");
        write_rows(&shard, TABLE, 100..200, b"v").await;
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..200).collect::<Vec<_>>());
        std::fs::remove_file(folder.path.join("data")).expect("it can be removed");
        until(&runtime, "the flush is tried again", || shard.stats().flushes == 1).await;
        shard.flush(TABLE).await.expect("it is flushed");
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..200).collect::<Vec<_>>());
        assert_eq!(shard.stats().partitions, 0);
    })
    .expect("the shard opens");
    let rows = with_shard(&setup.boot(2), async |_, shard| read_all_rows(&shard, TABLE).await);
    assert_eq!(rows.expect("the shard opens"), (0..200).collect::<Vec<_>>());
}

/// Values that no compression makes shorter, so that a changed byte of them could pass.
fn value_of(number: u32) -> Vec<u8> {
    let mut state = u64::from(number) + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..100).map(|_| next()).collect()
}

/// Keys with their values.
#[derive(Default)]
struct Values {
    key: u32,
    values: Vec<(u32, Vec<u8>)>,
}

impl RowSink for Values {
    fn partition(&mut self, _: Token, key: &[u8], _: Option<LiveRow<'_>>) -> Flow {
        self.key = u32::from_be_bytes(key.try_into().expect("a key of four bytes"));
        Flow::Continue
    }

    fn row(&mut self, _: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let value = row.cell(ColumnId(1)).map(|cell| cell.value.to_vec()).unwrap_or_default();
        self.values.push((self.key, value));
        Flow::Continue
    }
}

/// Reads all rows, and then each by its key: what both give, or the error.
async fn read_both_ways(shard: &Shard, count: u32) -> Result<Vec<(u32, Vec<u8>)>, String> {
    let mut all = Values::default();
    let read = shard.read_through(&ReadCommand::all(TABLE, 1), &mut all).await;
    assert_eq!(read.map_err(|error| error.to_string())?, ReadDone::Complete);
    all.values.sort();
    let mut single = Values::default();
    for number in 0..count {
        let key = key_of(number);
        let command = ReadCommand::partition(TABLE, token_of(&key), &key, 1);
        let read = shard.read_through(&command, &mut single).await;
        assert_eq!(read.map_err(|error| error.to_string())?, ReadDone::Complete);
    }
    assert_eq!(single.values, all.values, "a row is found by its key if it is there at all");
    Ok(all.values)
}

/// Whatever bit of whatever file is turned over: the answer is right, or an error that names the file.
#[test]
fn a_flipped_bit_in_a_file_is_an_error_or_nothing() {
    const ROWS: u32 = 300;
    let folder = Folder::new("flush-flips");
    let setup = Setup::new(&folder, 1);
    let expected: Vec<(u32, Vec<u8>)> = (0..ROWS).map(|number| (number, value_of(number))).collect();
    with_shard(&setup, async |_, shard| {
        for (number, value) in &expected {
            apply(&shard, &mutation(TABLE, *number, 1, value)).await;
        }
        shard.flush(TABLE).await.expect("it is flushed");
        assert_eq!(read_both_ways(&shard, ROWS).await.as_ref(), Ok(&expected));
    })
    .expect("the shard opens");
    let [data] = &data_files(&folder, false)[..] else { panic!("one file") };
    let (mut boot, mut errors) = (1, 0);
    for entry in std::fs::read_dir(data.parent().expect("a folder")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let whole = std::fs::read(&path).expect("it can be read");
        for page in 0..whole.len().div_ceil(4096) {
            boot += 1;
            let at = (page * 4096 + (boot as usize * 677) % 4096).min(whole.len() - 1);
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (boot % 8);
            std::fs::write(&path, &flipped).expect("it can be written");
            let opened = with_shard(&setup.boot(boot), async |_, shard| read_both_ways(&shard, ROWS).await);
            match opened.map_err(|error| error.to_string()).and_then(|read| read) {
                Ok(rows) => assert!(rows == expected, "a wrong answer after a flip at {at} of {}", path.display()),
                Err(error) => {
                    errors += 1;
                    let name = path.file_name().expect("a name").to_string_lossy();
                    assert!(error.contains(&*name) && error.contains("byte"), "{name} at {at}: {error}");
                }
            }
        }
        std::fs::write(&path, &whole).expect("it can be written");
    }
    assert!(errors > 10, "{errors} flips were noticed");
}

#[test]
fn a_log_that_is_too_long_has_tables_flushed() {
    let folder = Folder::new("flush-total");
    let mut setup = Setup::new(&folder, 1);
    setup.options.log_bytes_max = 1 << 20;
    with_shard(&setup, async |runtime, shard| {
        write_rows(&shard, OTHER, 0..10, b"v").await;
        for round in 0..10 {
            write_rows(&shard, TABLE, round * 1000..round * 1000 + 1000, &[1; 300]).await;
        }
        until(&runtime, "the log gets shorter", || shard.stats().log_segments <= 5).await;
        assert!(shard.stats().flushes >= 2, "{:?}", shard.stats());
        assert_eq!(read_all_rows(&shard, TABLE).await.len(), 10_000);
        assert_eq!(read_all_rows(&shard, OTHER).await.len(), 10);
    })
    .expect("the shard opens");
}

/// What waited for its group when its table went keeps nobody's segments.
#[test]
fn a_table_that_went_with_its_last_group_does_not_keep_the_log() {
    for is_dropped in [true, false] {
        let folder = Folder::new(&format!("flush-gone-{is_dropped}"));
        let mut setup = Setup::new(&folder, 1).periodic();
        setup.options.log_bytes_max = 1 << 20;
        setup.options.auto_snapshot = false;
        let without = Setup { tables: vec![TABLE], ..setup.clone() };
        with_shard(&setup, async |runtime, shard| {
            shard.apply(&mutation(OTHER, 1, 1, b"v")).expect("there is room");
            if is_dropped {
                shard.update_schema(&without.schema());
            } else {
                let position = truncate(&shard, OTHER);
                shard.apply(&mutation(TABLE, 0, 1, b"v")).expect("there is room");
                shard.discard_truncated(OTHER, position, "17").await;
            }
            for round in 0..10 {
                write_rows(&shard, TABLE, round * 1000..round * 1000 + 1000, &[1; 300]).await;
            }
            until(&runtime, "the log gets shorter", || shard.stats().log_segments <= 5).await;
            assert_eq!(read_all_rows(&shard, TABLE).await.len(), 10_000);
        })
        .expect("the shard opens");
    }
}

#[test]
fn a_truncation_takes_files_along_and_keeps_them_as_a_snapshot() {
    for auto_snapshot in [true, false] {
        let folder = Folder::new(&format!("flush-truncate-{auto_snapshot}"));
        let mut setup = Setup::new(&folder, 1);
        setup.options.auto_snapshot = auto_snapshot;
        let position = with_shard(&setup, async |_, shard| {
            write_rows(&shard, TABLE, 0..100, b"v").await;
            shard.flush(TABLE).await.expect("it is flushed");
            write_rows(&shard, TABLE, 100..200, b"v").await;
            shard.flush(TABLE).await.expect("it is flushed");
            let position = truncate(&shard, TABLE);
            assert!(read_all_rows(&shard, TABLE).await.is_empty());
            shard.discard_truncated(TABLE, position, "17").await;
            write_rows(&shard, TABLE, 500..510, b"v").await;
            shard.flush(TABLE).await.expect("it is flushed");
            assert_eq!(read_all_rows(&shard, TABLE).await, (500..510).collect::<Vec<_>>());
            position
        })
        .expect("the shard opens");
        assert_eq!(data_files(&folder, false).len(), 1);
        let snapshots = data_files(&folder, true);
        assert_eq!(snapshots.len(), if auto_snapshot { 2 } else { 0 });
        assert!(snapshots.iter().all(|path| path.to_string_lossy().contains("/snapshots/truncated-17-t1/")));
        setup.truncations.insert(TABLE, vec![position]);
        let rows = with_shard(&setup.boot(2), async |_, shard| read_all_rows(&shard, TABLE).await);
        assert_eq!(rows.expect("the shard opens"), (500..510).collect::<Vec<_>>());
    }
}

/// The truncation is durable, and the process ended before anything was done about the files.
#[test]
fn a_start_takes_away_what_was_truncated() {
    let folder = Folder::new("flush-truncate-late");
    let mut setup = Setup::new(&folder, 1);
    let position = with_shard(&setup, async |_, shard| {
        write_rows(&shard, TABLE, 0..100, b"v").await;
        shard.flush(TABLE).await.expect("it is flushed");
        let position = truncate(&shard, TABLE);
        write_rows(&shard, TABLE, 500..510, b"v").await;
        shard.flush(TABLE).await.expect("it is flushed");
        position
    })
    .expect("the shard opens");
    let both = Folder::new("flush-truncate-undone");
    copy(&folder.path, &both.path);
    let mut undone = setup.boot(2);
    undone.options.dir = both.path.clone();
    let rows = with_shard(&undone, async |_, shard| read_all_rows(&shard, TABLE).await).expect("the shard opens");
    assert_eq!(rows, (0..100).chain(500..510).collect::<Vec<_>>(), "a truncation that is not durable is none");
    setup.truncations.insert(TABLE, vec![position]);
    for boot in 2..4 {
        let rows = with_shard(&setup.boot(boot), async |_, shard| read_all_rows(&shard, TABLE).await);
        assert_eq!(rows.expect("the shard opens"), (500..510).collect::<Vec<_>>());
        assert_eq!((data_files(&folder, false).len(), data_files(&folder, true).len()), (1, 1));
    }
}

#[test]
fn the_files_of_dropped_tables_go() {
    let folder = Folder::new("flush-drop");
    let mut setup = Setup::new(&folder, 1);
    with_shard(&setup, async |_, shard| {
        for table in [TABLE, OTHER] {
            write_rows(&shard, table, 0..100, b"v").await;
            shard.flush(table).await.expect("it is flushed");
        }
        shard.update_schema(&schema_of(&[OTHER], true));
        shard.discard_dropped("23").await;
        assert_eq!(read_all_rows(&shard, OTHER).await.len(), 100);
        assert_eq!(shard.stats().files, 1);
    })
    .expect("the shard opens");
    let snapshots = data_files(&folder, true);
    assert_eq!((data_files(&folder, false).len(), snapshots.len()), (1, 1));
    assert!(snapshots[0].to_string_lossy().contains("/snapshots/dropped-23-t1/"));
    setup.tables = vec![];
    with_shard(&setup.boot(2), async |_, _| ()).expect("the shard opens");
    assert_eq!((data_files(&folder, false).len(), data_files(&folder, true).len()), (0, 2));
}

/// Without durable writes a table's log stands still, and a truncation must not take along what was written after it.
#[test]
fn a_table_that_is_not_logged_keeps_what_came_after_a_truncation() {
    let folder = Folder::new("flush-unlogged");
    let mut setup = Setup::new(&folder, 1);
    setup.durable_writes = false;
    let position = with_shard(&setup, async |_, shard| {
        write_rows(&shard, TABLE, 0..100, b"v").await;
        shard.flush(TABLE).await.expect("it is flushed");
        let position = truncate(&shard, TABLE);
        shard.discard_truncated(TABLE, position, "1").await;
        write_rows(&shard, TABLE, 500..510, b"v").await;
        shard.flush_at_end(false).await.expect("it is flushed");
        position
    })
    .expect("the shard opens");
    setup.truncations.insert(TABLE, vec![position]);
    let rows = with_shard(&setup.boot(2), async |_, shard| read_all_rows(&shard, TABLE).await);
    assert_eq!(rows.expect("the shard opens"), (500..510).collect::<Vec<_>>());
}

#[test]
fn a_truncation_during_a_flush_is_whole() {
    let folder = Folder::new("flush-truncated");
    let mut setup = Setup::new(&folder, 1);
    let position = with_shard(&setup, async |runtime, shard| {
        write_rows(&shard, TABLE, 0..3000, &[1; 300]).await;
        let flushing = shard.clone();
        let flush = runtime.spawn(runtime::Group::Query, async move { flushing.flush(TABLE).await });
        runtime.sleep(Duration::from_millis(2)).await;
        let position = truncate(&shard, TABLE);
        shard.discard_truncated(TABLE, position, "1").await;
        write_rows(&shard, TABLE, 5000..5010, b"v").await;
        flush.await.expect("what was truncated need not be flushed");
        shard.flush(TABLE).await.expect("it is flushed");
        assert_eq!(read_all_rows(&shard, TABLE).await, (5000..5010).collect::<Vec<_>>());
        until(&runtime, "one file is left", || data_files(&folder, false).len() == 1).await;
        position
    })
    .expect("the shard opens");
    setup.truncations.insert(TABLE, vec![position]);
    let rows = with_shard(&setup.boot(2), async |_, shard| read_all_rows(&shard, TABLE).await);
    assert_eq!(rows.expect("the shard opens"), (5000..5010).collect::<Vec<_>>());
}

/// A large write is merged in steps: a flush that begins between two of them lacks a part of it, which the log must keep.
#[test]
fn a_large_write_beside_a_flush_is_whole_after_a_start() {
    let folder = Folder::new("flush-steps");
    let setup = Setup::new(&folder, 1);
    let mutations: Vec<Vec<u8>> = (0..400).map(|number| mutation(TABLE, number, 1, &[3; 200])).collect();
    with_shard(&setup, async |runtime, shard| {
        let writing = shard.clone();
        let write = runtime.spawn(runtime::Group::Query, async move { writing.apply_in_steps(&mutations).await });
        let before = shard.stats().partitions;
        until(&runtime, "the write begins", || shard.stats().partitions > before).await;
        shard.flush(TABLE).await.expect("it is flushed");
        write.await.expect("it is written");
        shard.drain().await.expect("the disk works");
    })
    .expect("the shard opens");
    let rows = with_shard(&setup.boot(2), async |_, shard| read_all_rows(&shard, TABLE).await);
    assert_eq!(rows.expect("the shard opens"), (0..400).collect::<Vec<_>>());
}

fn is_mine(runtime: &Runtime, number: u32) -> bool {
    Sharder::new(runtime.shard_count()).shard_of(token_of(&key_of(number))) == runtime.shard().0
}

/// All rows of all shards, each of which gives none but its own.
fn rows_of_all(setup: &Setup, count: u16, retire: bool) -> Vec<u32> {
    let rows = with_shards(setup, count, retire, async |runtime, shard| {
        let rows = read_all_rows(&shard, TABLE).await;
        assert!(rows.iter().all(|&number| is_mine(&runtime, number)));
        rows
    });
    let mut rows: Vec<u32> = rows.into_iter().flatten().collect();
    rows.sort_unstable();
    rows
}

#[test]
fn files_of_another_shard_count_are_every_shards() {
    let folder = Folder::new("flush-reshard");
    let mut setup = Setup::new(&folder, 1);
    with_shards(&setup, 2, true, async |runtime, shard| {
        let mine = |range: std::ops::Range<u32>| range.filter(|&number| is_mine(&runtime, number)).collect::<Vec<_>>();
        write_rows(&shard, TABLE, mine(0..1000).into_iter(), &[1; 100]).await;
        shard.flush(TABLE).await.expect("it is flushed");
        write_rows(&shard, TABLE, mine(1000..1200).into_iter(), &[1; 100]).await;
    });
    let expected: Vec<u32> = (0..1200).collect();
    // A start that ends before the manifests of the new count hold leaves the old ones.
    assert_eq!(rows_of_all(&setup.boot(2), 3, false), expected);
    assert_eq!(rows_of_all(&setup.boot(3), 1, false), expected);
    assert_eq!(rows_of_all(&setup.boot(4), 3, true), expected);
    let manifests = || {
        let names = std::fs::read_dir(folder.path.join("manifest")).expect("a folder");
        let mut names: Vec<String> =
            names.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        // The lists of the commit log's segments lie there too.
        names.retain(|name| !name.starts_with("segments-of-shard-"));
        names.sort();
        names
    };
    assert_eq!(manifests(), ["in-force", "shard-0-of-3", "shard-1-of-3", "shard-2-of-3"]);
    with_shards(&setup.boot(5), 3, true, async |runtime, shard| {
        write_rows(&shard, TABLE, (1200..1500).filter(|&number| is_mine(&runtime, number)), b"v").await;
        shard.flush(TABLE).await.expect("it is flushed");
    });
    assert_eq!(rows_of_all(&setup.boot(6), 1, true), (0..1500).collect::<Vec<_>>());
    assert_eq!(rows_of_all(&setup.boot(7), 2, true), (0..1500).collect::<Vec<_>>());
    assert_eq!(data_files(&folder, false).len(), 5);
    // Shared files go when all shards have let them go.
    let positions = with_shards(&setup.boot(8), 2, true, async |_, shard| {
        let position = truncate(&shard, TABLE);
        shard.discard_truncated(TABLE, position, "9").await;
        position
    });
    assert_eq!(data_files(&folder, false).len(), 5);
    setup.truncations.insert(TABLE, positions);
    assert!(rows_of_all(&setup.boot(9), 2, true).is_empty());
    assert_eq!((data_files(&folder, false).len(), data_files(&folder, true).len()), (0, 5));
    assert!(rows_of_all(&setup.boot(10), 3, true).is_empty());
}

#[test]
fn a_file_that_is_missing_is_one_sentence() {
    let folder = Folder::new("flush-missing");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |_, shard| {
        write_rows(&shard, TABLE, 0..100, b"v").await;
        shard.flush(TABLE).await.expect("it is flushed");
    })
    .expect("the shard opens");
    let [file] = &data_files(&folder, false)[..] else { panic!("one file") };
    std::fs::rename(file, folder.path.join("elsewhere")).expect("it can be moved");
    let error = with_shard(&setup.boot(2), async |_, _| ()).expect_err("a file is missing").to_string();
    assert!(error.contains("ks.t1") && error.contains("-bti-Data.db"), "{error}");
    std::fs::rename(folder.path.join("elsewhere"), file).expect("it can be moved back");
    let rows = with_shard(&setup.boot(3), async |_, shard| read_all_rows(&shard, TABLE).await);
    assert_eq!(rows.expect("the shard opens").len(), 100);
}

#[test]
fn a_manifest_of_many_files_is_written_anew_in_pieces() {
    const RECORD_BYTES: usize = 8192;
    let folder = Folder::new("flush-manifest-long");
    let setup = Setup::new(&folder, 1);
    let flush_many = with_shard(&setup, async |_, shard| {
        for round in 0..70 {
            write_rows(&shard, TABLE, round * 10..round * 10 + 10, b"v").await;
            shard.flush(TABLE).await.expect("it is flushed");
        }
    });
    flush_many.expect("the shard opens");
    let files = data_files(&folder, false).len();
    assert!(files >= 70, "nothing compacts them: {files}");
    let manifest = folder.path.join("manifest").join("shard-0-of-1");
    let mut worn = std::fs::read(&manifest).expect("it can be read");
    worn[5] ^= 0x10;
    std::fs::write(&manifest, &worn).expect("it can be written");
    for boot in 2..4 {
        let rows = with_shard(&setup.boot(boot), async |_, shard| read_all_rows(&shard, TABLE).await);
        assert_eq!(rows.expect("the shard opens").len(), 700, "start {boot}");
        let anew = std::fs::read(&manifest).expect("it can be read");
        assert!(anew.len() < worn.len() && anew.len() > files * RECORD_BYTES, "start {boot}: {} bytes", anew.len());
        assert!(anew[..RECORD_BYTES / 2] == anew[RECORD_BYTES / 2..RECORD_BYTES], "its head is whole in both copies");
    }
}

#[test]
fn a_damaged_manifest_is_told_and_a_flipped_bit_is_none() {
    let folder = Folder::new("flush-manifest");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |_, shard| {
        for round in 0..3 {
            write_rows(&shard, TABLE, round * 100..round * 100 + 100, b"v").await;
            shard.flush(TABLE).await.expect("it is flushed");
        }
    })
    .expect("the shard opens");
    let manifest = folder.path.join("manifest").join("shard-0-of-1");
    let whole = std::fs::read(&manifest).expect("it can be read");
    for at in (5..whole.len()).step_by(2048) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        std::fs::write(&manifest, flipped).expect("it can be written");
        let setup = setup.boot(2 + at as u64);
        let rows = with_shard(&setup, async |_, shard| read_all_rows(&shard, TABLE).await);
        assert_eq!(rows.expect("a copy of it is whole").len(), 300, "a bit flipped at {at}");
    }
    let mut damaged = whole.clone();
    damaged[8192..3 * 8192].fill(0x55);
    std::fs::write(&manifest, damaged).expect("it can be written");
    let error = with_shard(&setup.boot(1 << 20), async |_, _| ()).expect_err("it is damaged").to_string();
    assert!(error.contains("shard-0-of-1: damaged at byte 8192"), "{error}");
    std::fs::remove_file(&manifest).expect("it can be removed");
    let error = with_shard(&setup.boot(1 << 21), async |_, _| ()).expect_err("it is missing").to_string();
    assert!(error.contains("shard-0-of-1"), "{error}");
}
