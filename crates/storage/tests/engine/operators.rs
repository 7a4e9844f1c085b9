//! What operators ask of an engine: snapshots that are one moment's set, and compactions as they are told.
#![allow(clippy::disallowed_methods)]

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use mutation::{ClusteringRef, LiveRow, ReadCommand};
use runtime::{Group, Runtime};
use storage::reader::ReadDone;
use storage::{CompactionError, FilterCounts, Flow, RowSink, Shard, SnapshotError, TableFigures};
use topology::{Token, token_of};

use crate::harness::*;

fn table_folder(folder: &Folder) -> PathBuf {
    let id: String = TABLE.0.iter().map(|byte| format!("{byte:02x}")).collect();
    folder.path.join("data/ks").join(format!("t1-{id}"))
}

async fn snapshot(shard: &Shard, tag: &str) -> Result<(), SnapshotError> {
    shard.begin_snapshot(tag, &[TABLE]).await?;
    shard.name_for_snapshot(tag, TABLE).await?;
    shard.end_snapshot(tag, TABLE, "CREATE TABLE").await
}

/// The rows that a node finds which is started on nothing but a snapshot's files, taken for those of another program: what the manifest
/// knew of them is gone.
fn rows_of_snapshot(snapshot: &Path, name: &str) -> Vec<u32> {
    let restored = Folder::new(name);
    let folder = table_folder(&restored);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    for entry in std::fs::read_dir(snapshot).expect("there is a snapshot") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        match name.as_str() {
            "manifest.json" | "schema.cql" => {}
            own if own.ends_with("-Helenus.db") => {}
            list if list.ends_with("-TOC.txt") => {
                let text = std::fs::read_to_string(&path).expect("a list is text").replace("Helenus.db\n", "");
                std::fs::write(folder.join(list), text).expect("it can be written");
            }
            _ => drop(std::fs::copy(&path, folder.join(name)).expect("it can be copied")),
        }
    }
    let setup = Setup::new(&restored, 1);
    crate::foreign::find_files(&setup);
    with_shard(&setup, async |_, shard| read_all_rows(&shard, TABLE).await).expect("it opens")
}

#[test]
fn a_snapshot_is_whole_while_files_are_exchanged() {
    const ROUNDS: u32 = 12;
    const ROWS: u32 = 40;
    let folder = Folder::new("snapshot-while-compacting");
    let counts = with_shard(&Setup::new(&folder, 1), async |runtime: Runtime, shard: Shard| {
        let mut counts: Vec<u32> = Vec::new();
        for round in 0..ROUNDS {
            for part in 0..3 {
                let from = (round * 3 + part) * ROWS;
                write_rows(&shard, TABLE, from..from + ROWS, &[7; 200]).await;
                shard.flush(TABLE).await.expect("it is flushed");
            }
            let (compacting, is_over) = (shard.clone(), Rc::new(Cell::new(false)));
            let over = is_over.clone();
            let compaction = runtime.spawn(Group::Compaction, async move {
                let result = compacting.compact(TABLE).await;
                over.set(true);
                result
            });
            // One after the other, so that some are in the middle of it when files are exchanged and removed.
            let mut count = 0;
            while !is_over.get() || count == 0 {
                snapshot(&shard, &format!("round-{round}-{count}")).await.expect("there is a snapshot");
                count += 1;
            }
            compaction.await.expect("the disk works");
            counts.push(count);
        }
        counts
    })
    .expect("the shard opens");
    for (round, count) in counts.into_iter().enumerate() {
        for number in 0..count {
            let path = table_folder(&folder).join("snapshots").join(format!("round-{round}-{number}"));
            let manifest = std::fs::read_to_string(path.join("manifest.json")).expect("it came to its end");
            let data = std::fs::read_dir(&path).expect("there is a snapshot").filter(|entry| {
                let name = entry.as_ref().expect("an entry").file_name().into_string().expect("a name");
                name.ends_with("-Data.db") && manifest.contains(&format!("\"{name}\""))
            });
            assert_eq!(data.count(), manifest.matches("-Data.db").count(), "{manifest}");
            // The last few are those beside the exchange.
            if number + 3 >= count {
                let expected: Vec<u32> = (0..(round as u32 + 1) * 3 * ROWS).collect();
                let found = rows_of_snapshot(&path, &format!("restored-{round}-{number}"));
                assert_eq!(found, expected, "round {round}, snapshot {number} of {count}");
            }
        }
    }
}

#[test]
fn snapshots_are_listed_and_removed_and_their_names_are_folders() {
    let folder = Folder::new("snapshot-list");
    with_shard(&Setup::new(&folder, 1), async |_, shard: Shard| {
        assert_eq!(shard.snapshots().await.expect("the disk works"), []);
        write_rows(&shard, TABLE, 0..10, b"value").await;
        shard.flush(TABLE).await.expect("it is flushed");
        for wrong in ["", "..", "a/b"] {
            assert!(matches!(snapshot(&shard, wrong).await, Err(SnapshotError::Name { .. })), "{wrong}");
        }
        snapshot(&shard, "first").await.expect("there is a snapshot");
        assert!(matches!(snapshot(&shard, "first").await, Err(SnapshotError::Exists { .. })));
        let listed = shard.snapshots().await.expect("the disk works");
        assert_eq!(listed.len(), 1);
        assert_eq!(
            (listed[0].tag.as_str(), listed[0].keyspace.as_str(), listed[0].table.as_str()),
            ("first", "ks", "t1")
        );
        let bytes_before = listed[0].only;
        assert!(listed[0].total > bytes_before, "the table has its files yet");
        // A compaction takes the table's files away, and not the snapshot's.
        write_rows(&shard, TABLE, 10..20, b"value").await;
        shard.flush(TABLE).await.expect("it is flushed");
        shard.compact(TABLE).await.expect("the disk works");
        let listed = shard.snapshots().await.expect("the disk works");
        assert_eq!(listed[0].only, listed[0].total);
        assert_eq!(shard.clear_snapshots(|tag, _, _| tag == "other").await.expect("the disk works"), 0);
        let is_meant = |tag: &str, keyspace: &str, table: &str| (tag, keyspace, table) == ("first", "ks", "t1");
        assert_eq!(shard.clear_snapshots(is_meant).await.expect("the disk works"), 1);
        assert_eq!(shard.snapshots().await.expect("the disk works"), []);
    })
    .expect("the shard opens");
}

#[test]
fn a_table_that_is_left_alone_is_not_compacted_until_it_is_told_to() {
    let folder = Folder::new("left-alone");
    let mut setup = Setup::new(&folder, 1);
    setup.options.compacts = true;
    setup.compaction = vec![("class", "SizeTieredCompactionStrategy")];
    with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        shard.set_autocompaction(TABLE, false);
        for round in 0..5 {
            write_rows(&shard, TABLE, round * 10..round * 10 + 10, &[1; 100]).await;
            shard.flush(TABLE).await.expect("it is flushed");
        }
        // Each flush woke the compactor, which found nothing that it may do.
        runtime.sleep(Duration::from_millis(50)).await;
        let figures = shard.table_figures(TABLE, false).expect("the table is here");
        assert_eq!((figures.sstables, shard.stats().compactions), (5, 0));
        assert!(!figures.is_autocompaction_on && !figures.wants_compaction);
        assert_eq!((figures.writes, figures.flushes, figures.partitions), (50, 5, 50));
        assert_eq!(figures.partition_sizes.counts.iter().sum::<u64>(), 50);
        shard.set_autocompaction(TABLE, true);
        let begun = runtime.now();
        // What took part in it is removed before it is over.
        while shard.stats().files > 1 || shard.running_compaction().is_some() {
            assert!(runtime.now() - begun < Duration::from_secs(60), "it is not compacted");
            runtime.sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(shard.table_figures(TABLE, true).map(|figures| (figures.sstables, figures.reads)), Some((1, 0)));
        assert_eq!(read_all_rows(&shard, TABLE).await.len(), 50);
        assert_eq!(shard.table_figures(TABLE, true).map(|figures| figures.reads), Some(1));
        assert!(shard.load().disk_bytes > 0);
    })
    .expect("the shard opens");
}

#[test]
fn the_limit_of_compactions_can_be_changed_while_they_run() {
    let folder = Folder::new("throughput");
    let mut setup = Setup::new(&folder, 1);
    // A byte a second: it would take hours.
    setup.options.compaction_throughput = 1;
    with_shard(&setup, async |runtime: Runtime, shard: Shard| {
        assert_eq!(shard.compaction_throughput(), 1);
        for round in 0..2 {
            write_rows(&shard, TABLE, round * 10..round * 10 + 10, &[1; 100]).await;
            shard.flush(TABLE).await.expect("it is flushed");
        }
        shard.set_compaction_throughput(0);
        let compacted = runtime.timeout(Duration::from_secs(60), shard.compact(TABLE)).await;
        compacted.expect("it is not held back").expect("the disk works");
        assert_eq!(shard.stats().files, 1);
    })
    .expect("the shard opens");
}

/// Reads one row as whoever serves requests does.
async fn read_row(shard: &Shard, number: u32) -> usize {
    let key = key_of(number);
    let command = ReadCommand::partition(TABLE, token_of(&key), &key, 1);
    let mut rows = Count(0);
    if shard.read(&command, &mut rows).would_block() {
        let done = shard.read_through(&command, &mut rows).await.expect("the files can be read");
        assert_eq!(done, ReadDone::Complete);
    }
    rows.0
}

struct Count(usize);

impl RowSink for Count {
    fn partition(&mut self, _: Token, _: &[u8], _: Option<LiveRow<'_>>) -> Flow {
        Flow::Continue
    }

    fn row(&mut self, _: ClusteringRef<'_>, _: LiveRow<'_>) -> Flow {
        self.0 += 1;
        Flow::Continue
    }
}

fn figures(shard: &Shard) -> TableFigures {
    shard.table_figures(TABLE, true).expect("there is a table")
}

#[test]
fn what_reads_and_writes_take_is_told_by_table() {
    const ROWS: u32 = 400;
    /// What one that is timed may stand for.
    const SLACK: u64 = 64;
    for setup in [Setup::new, |folder: &Folder, boot| Setup::new(folder, boot).periodic()] {
        let folder = Folder::new("latencies");
        with_shard(&setup(&folder, 1), async |runtime: Runtime, shard: Shard| {
            assert_eq!((figures(&shard).read_micros.count(), figures(&shard).write_micros.count()), (0, 0));
            write_rows(&shard, TABLE, 0..ROWS, b"value").await;
            let rows = u64::from(ROWS);
            // A write is timed until its sync, of which this hears no sooner than others.
            let deadline = runtime.now() + Duration::from_secs(60);
            while figures(&shard).write_micros.count() < rows && runtime.now() < deadline {
                runtime.yield_now().await;
            }
            let written = figures(&shard);
            assert_eq!(written.writes, rows);
            assert!((rows..rows + SLACK).contains(&written.write_micros.count()), "{:?}", written.write_micros);
            assert_eq!(shard.table_figures(OTHER, true).expect("there is a table").write_micros.count(), 0);
            for number in 0..ROWS {
                assert_eq!(read_row(&shard, number).await, 1);
            }
            let read = figures(&shard);
            assert_eq!(read.reads, rows);
            assert!((rows..rows + SLACK).contains(&read.read_micros.count()), "{:?}", read.read_micros);
            // Reads of files are all timed.
            shard.flush(TABLE).await.expect("it is flushed");
            for number in 0..ROWS {
                assert_eq!(read_row(&shard, number).await, 1);
            }
            let through = figures(&shard);
            assert_eq!(through.reads, 2 * rows);
            assert_eq!(through.files_per_read.counts()[..3], [rows, rows, 0], "half of them of a file");
            assert_eq!(through.read_micros.count(), read.read_micros.count() + rows);
            assert!(through.read_micros.sum() > read.read_micros.sum(), "reads of the device take a microsecond");
        })
        .expect("the shard opens");
    }
}

#[test]
fn a_batch_and_a_write_in_steps_are_timed_too() {
    let folder = Folder::new("latencies-of-batches");
    with_shard(&Setup::new(&folder, 1).periodic(), async |_, shard: Shard| {
        let mutations = [mutation(TABLE, 1, 1, b"one"), mutation(OTHER, 2, 1, b"two")];
        let slices: Vec<&[u8]> = mutations.iter().map(Vec::as_slice).collect();
        // The first record of a start waits for a segment; those after it are acknowledged, and counted, at once.
        write_rows(&shard, OTHER, 0..1, b"first").await;
        let of_other = || shard.table_figures(OTHER, true).expect("there is a table");
        let before = of_other().writes;
        shard.apply_batch(&slices).expect("there is room");
        assert_eq!((figures(&shard).writes, figures(&shard).write_micros.count()), (1, 1));
        shard.apply_in_steps(&mutations).await.expect("there is room");
        assert_eq!((figures(&shard).writes, figures(&shard).write_micros.count()), (2, 2));
        // The first one may be timed, when its sync is noticed.
        let (writes, timed) = (of_other().writes - before, of_other().write_micros.count());
        assert!(writes == 2 && timed <= 1, "a batch is one write of its first table: {writes} writes, {timed} timed");
    })
    .expect("the shard opens");
}

#[test]
fn what_filters_do_is_counted() {
    const ROWS: u32 = 1000;
    const MISSING: u32 = 8000;
    let folder = Folder::new("filters");
    with_shard(&Setup::new(&folder, 1), async |_, shard: Shard| {
        write_rows(&shard, TABLE, 0..ROWS, b"value").await;
        shard.flush(TABLE).await.expect("it is flushed");
        for number in 0..ROWS {
            assert_eq!(read_row(&shard, number).await, 1);
        }
        let found = figures(&shard);
        assert_eq!(found.filter_counts, FilterCounts { true_positives: u64::from(ROWS), false_positives: 0 });
        assert_eq!(found.filter_negatives, 0);
        for number in 0..MISSING {
            assert_eq!(read_row(&shard, ROWS + number).await, 0);
        }
        let missed = figures(&shard);
        // The table's chance is 0.01; nearly all keys lie between the file's first and last token.
        let (wrong, right) = (missed.filter_counts.false_positives, missed.filter_negatives);
        assert!((1..400).contains(&wrong), "{wrong} false positives");
        assert!((7500..=u64::from(MISSING)).contains(&(wrong + right)), "{wrong} and {right}");
        assert_eq!(missed.filter_counts.true_positives, u64::from(ROWS));
        // A file that goes takes nothing of it along.
        write_rows(&shard, TABLE, 0..1, b"value").await;
        shard.flush(TABLE).await.expect("it is flushed");
        shard.compact(TABLE).await.expect("the disk works");
        assert_eq!(figures(&shard).filter_counts, missed.filter_counts);
    })
    .expect("the shard opens");
}

#[test]
fn a_compaction_that_is_stopped_leaves_everything_as_it_was() {
    const FILES: u32 = 4;
    const ROWS: u32 = 600;
    let folder = Folder::new("stopped");
    // Of 4 KiB each: what is written goes out several times.
    let value: Vec<u8> = (0..4096u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let data_files = || {
        let entries = std::fs::read_dir(table_folder(&folder)).expect("there is a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
        names.filter(|name| name.ends_with("-Data.db") || name.contains("tmp")).count()
    };
    with_shard(&Setup::new(&folder, 1), async |runtime: Runtime, shard: Shard| {
        for file in 0..FILES {
            write_rows(&shard, TABLE, file * ROWS / 2..(file + 2) * ROWS / 2, &value).await;
            shard.flush(TABLE).await.expect("it is flushed");
        }
        let rows = read_all_rows(&shard, TABLE).await;
        assert!(!shard.stop_compaction(None), "none runs");
        // So slow that it sleeps for minutes once it has written anything.
        shard.set_compaction_throughput(4 << 10);
        for number in 1..3 {
            let compacting = shard.clone();
            let compaction = runtime.spawn(Group::Compaction, async move { compacting.compact(TABLE).await });
            let deadline = runtime.now() + Duration::from_secs(60);
            while shard.running_compaction().is_none_or(|running| running.written == 0) {
                assert!(runtime.now() < deadline, "nothing is written");
                runtime.sleep(Duration::from_millis(1)).await;
            }
            assert!(!shard.stop_compaction(Some(number + 7)), "there is none of this number");
            assert!(shard.stop_compaction(Some(number)));
            // It would have slept for longer than that.
            let stopped = runtime.timeout(Duration::from_secs(60), compaction).await.expect("it was slept through");
            assert!(matches!(stopped, Err(CompactionError::Stopped)), "{stopped:?}");
            assert_eq!(shard.running_compaction(), None);
            assert_eq!(data_files(), FILES as usize, "what it wrote is removed");
            assert_eq!(read_all_rows(&shard, TABLE).await, rows);
        }
        assert_eq!(shard.compaction_history(), []);
        shard.set_compaction_throughput(0);
        shard.compact(TABLE).await.expect("it comes to its end");
        assert_eq!((data_files(), read_all_rows(&shard, TABLE).await), (1, rows));
        let history = shard.compaction_history();
        let [ended] = history.as_slice() else { panic!("{history:?}") };
        assert_eq!((ended.number, ended.keyspace.as_str(), ended.table.as_str()), (3, "ks", "t1"));
        // The first and the last half of a file are in one alone, all others in two.
        assert_eq!(ended.merged, [u64::from(ROWS), u64::from(ROWS / 2 * (FILES - 1))]);
        let disk: u64 = figures(&shard).disk_bytes;
        assert_eq!(ended.bytes_out, disk);
        assert!(ended.bytes_in > ended.bytes_out * 3 / 2 && ended.ended_ms > 0, "{ended:?}");
    })
    .expect("the shard opens");
}
