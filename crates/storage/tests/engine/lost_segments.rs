//! Starts on a log whose files show that records are missing: refused with how much, or opened with an error line that says it.
#![allow(clippy::disallowed_methods)]

use std::cell::RefCell;
use std::fmt::{Debug, Write as _};
use std::path::PathBuf;
use std::sync::Once;

use runtime::{Options, Runtime};
use storage::{OpenError, Shard};
use topology::Sharder;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata};

use crate::harness::*;

const BLOCK: usize = 4096;

static COLLECTOR: Once = Once::new();

thread_local! {
    /// Errors and warnings of this thread, while [`collect_lines`] runs on it.
    static LINES: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Collects the lines of each thread that asks for them. It is the subscriber of the process, not of a thread: tracing takes a place that logs
/// first on a thread without a subscriber for disabled, on all threads.
struct Collector;

impl tracing::Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Line(String);
        impl Visit for Line {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                write!(self.0, " {}={value:?}", field.name()).expect("a string takes it");
            }
        }
        LINES.with_borrow_mut(|lines| {
            let Some(lines) = lines else { return };
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            lines.push(line.0);
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The future's output, and the lines of level WARN or ERROR that this thread logged meanwhile.
async fn collect_lines<T>(work: impl Future<Output = T>) -> (T, Vec<String>) {
    COLLECTOR.call_once(|| tracing::subscriber::set_global_default(Collector).expect("no other test sets one"));
    LINES.set(Some(Vec::new()));
    let output = work.await;
    (output, LINES.take().expect("set above"))
}

/// Opens one shard: its rows, and the lines that were logged as errors or warnings.
fn open_with(setup: &Setup) -> (Result<Vec<u32>, OpenError>, Vec<String>) {
    let setup = setup.clone();
    let main = move |runtime: Runtime| {
        collect_lines(async move {
            let schema = setup.schema();
            let shard = Shard::open(&runtime, setup.options, Sharder::new(1), &schema, &setup.truncations).await?;
            shard.retire_old_segments().await?;
            Ok(read_all_rows(&shard, TABLE).await)
        })
    };
    runtime::run(Options::default(), vec![main]).expect("a shard starts").remove(0)
}

#[test]
fn a_line_is_collected_wherever_its_place_logged_first() {
    let log = || tracing::error!("the line");
    let (sender, receiver) = std::sync::mpsc::channel();
    let (go_on, told) = std::sync::mpsc::channel::<()>();
    let main = move |_: Runtime| {
        collect_lines(async move {
            sender.send(()).expect("the other end is there");
            told.recv().expect("the other thread has logged");
            log();
        })
    };
    let collecting =
        std::thread::spawn(|| runtime::run(Options::default(), vec![main]).expect("a shard starts").remove(0).1);
    receiver.recv().expect("lines are collected");
    std::thread::spawn(log).join().expect("no panic");
    go_on.send(()).expect("the other end is there");
    assert_eq!(collecting.join().expect("no panic").len(), 1);
}

fn errors(lines: &[String]) -> Vec<&String> {
    lines.iter().filter(|line| line.starts_with("ERROR")).collect()
}

/// Both modes.
fn setups(folder: &Folder) -> [(&'static str, Setup); 2] {
    [("group", Setup::new(folder, 1)), ("periodic", Setup::new(folder, 1).periodic())]
}

/// A log of several segments, of which the last is not full; all is synced.
fn several_segments(setup: &Setup, folder: &Folder) -> Vec<PathBuf> {
    with_shard(setup, async |_, shard| write_rows(&shard, TABLE, 0..2600, &[5; 300]).await).expect("the shard opens");
    let segments = folder.segments(0);
    assert!(segments.len() >= 4, "{} segments", segments.len());
    segments
}

/// The folder as it was, whatever a start did to it.
struct Kept(Vec<(PathBuf, Vec<u8>)>);

impl Kept {
    fn of(folder: &Folder) -> Kept {
        let mut files = Vec::new();
        for part in ["commitlog/shard-0", "manifest"] {
            for entry in std::fs::read_dir(folder.path.join(part)).expect("the folder is there") {
                let path = entry.expect("an entry").path();
                let bytes = std::fs::read(&path).expect("it can be read");
                files.push((path, bytes));
            }
        }
        files.sort();
        Kept(files)
    }

    fn put_back(&self, folder: &Folder) {
        for part in ["commitlog", "manifest"] {
            let _ = std::fs::remove_dir_all(folder.path.join(part));
        }
        for (path, bytes) in &self.0 {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            std::fs::write(path, bytes).expect("it can be written");
        }
    }
}

/// Each segment in turn, and all of them: refused at every start, with what is lost; opened when that is accepted.
#[test]
fn missing_segments_are_refused_with_how_much() {
    for mode in 0..2 {
        let folder = Folder::new("missing");
        let (mode, setup) = setups(&folder)[mode].clone();
        let segments = several_segments(&setup, &folder);
        let kept = Kept::of(&folder);
        // The last one is made ahead, when the one before is half full: it need not hold anything.
        for (number, segment) in segments.iter().enumerate() {
            kept.put_back(&folder);
            std::fs::remove_file(segment).expect("it is there");
            for boot in 2..4 {
                let error = open_with(&setup.boot(boot)).0.expect_err("a segment is missing").to_string();
                let name = segment.file_name().expect("a name").to_str().expect("of letters");
                assert!(error.contains("1 commit log segments missing"), "{mode} {number}: {error}");
                assert!(error.contains(name) && error.contains("records of boot 1"), "{mode} {number}: {error}");
                assert!(error.contains("bytes") || error.contains("at least"), "{mode} {number}: {error}");
            }
            let mut accepted = setup.boot(4);
            accepted.options.salvage = true;
            let (rows, lines) = open_with(&accepted);
            let rows = rows.expect("it is accepted");
            assert!(
                errors(&lines).iter().any(|line| line.contains("commit log segments missing")),
                "{mode}: {lines:?}"
            );
            let (again, lines) = open_with(&setup.boot(5));
            assert_eq!(
                (again.expect("the log is whole"), errors(&lines).len()),
                (rows, 0),
                "{mode} {number}: {lines:?}"
            );
        }
        kept.put_back(&folder);
        std::fs::remove_dir_all(folder.path.join("commitlog")).expect("it is there");
        let error = open_with(&setup.boot(6)).0.expect_err("the log is missing").to_string();
        assert!(error.contains(&format!("{} commit log segments missing", segments.len())), "{mode}: {error}");
        kept.put_back(&folder);
        let (rows, lines) = open_with(&setup.boot(7));
        assert_eq!(rows.expect("all is there"), (0..2600).collect::<Vec<_>>(), "{mode}");
        assert_eq!(errors(&lines).len(), 0, "{mode}: {lines:?}");
    }
}

/// Segments that were released, by flushes, truncations and starts, are no loss.
#[test]
fn released_segments_are_not_missed() {
    let folder = Folder::new("not-missed");
    let mut setup = Setup::new(&folder, 1);
    let mut expected = 0;
    for boot in 1..6 {
        let position = with_shard(&setup.boot(boot), async move |runtime, shard| {
            write_rows(&shard, TABLE, 0..1500, &[5; 300]).await;
            // Keeps a segment while those after it go.
            write_rows(&shard, OTHER, 0..3, b"v").await;
            write_rows(&shard, TABLE, 1500..3000, &[5; 300]).await;
            shard.flush(TABLE).await.expect("there is room");
            write_rows(&shard, TABLE, 3000..4500, &[5; 300]).await;
            if boot % 2 == 0 {
                let position = truncate(&shard, OTHER);
                shard.discard_truncated(OTHER, position, "t").await;
                return Some(position);
            }
            runtime.sleep(std::time::Duration::from_millis(20)).await;
            None
        });
        if let Some(position) = position.expect("nothing is missed") {
            setup.truncations.insert(OTHER, vec![position]);
        }
        let (rows, lines) = open_with(&setup.boot(boot));
        drop(rows);
        assert_eq!(errors(&lines).len(), 0, "{lines:?}");
        expected = 4500;
    }
    assert_eq!(expected, 4500);
}

/// The newest segment without its head: as in Cassandra, a start with an error line.
#[test]
fn a_newest_segment_without_content_is_an_error_line() {
    for mode in 0..2 {
        let folder = Folder::new("no-content");
        let (mode, setup) = setups(&folder)[mode].clone();
        let segments = several_segments(&setup, &folder);
        let newest = segments.last().expect("several");
        let kept = Kept::of(&folder);
        let whole = std::fs::read(newest).expect("it can be read");
        for left in [&[][..], &whole[..63], &vec![0; whole.len()][..]] {
            kept.put_back(&folder);
            std::fs::write(newest, left).expect("it can be written");
            let (rows, lines) = open_with(&setup.boot(2));
            let rows = rows.unwrap_or_else(|error| panic!("{mode}, {} bytes: {error}", left.len()));
            assert_eq!(rows, (0..rows.len() as u32).collect::<Vec<_>>(), "{mode}");
            let lost = errors(&lines);
            assert_eq!(lost.len(), 1, "{mode}: {lines:?}");
            assert!(lost[0].contains("newest commit log segment") && lost[0].contains("bytes"), "{mode}: {lost:?}");
            let (again, lines) = open_with(&setup.boot(3));
            assert_eq!((again.expect("it opens"), errors(&lines).len()), (rows, 0), "{mode}: {lines:?}");
        }
        // One that no list names: its creation was interrupted.
        kept.put_back(&folder);
        let next = newest.with_file_name("00000000000000ff.log");
        std::fs::write(&next, b"").expect("it can be made");
        let (rows, lines) = open_with(&setup.boot(4));
        assert_eq!(rows.expect("it opens").len(), 2600, "{mode}");
        assert!(errors(&lines).len() == 1 && !next.exists(), "{mode}: {lines:?}");
        // Not the newest: records are known to follow.
        kept.put_back(&folder);
        for left in [&[][..], &whole[..63], &vec![0; whole.len()][..]] {
            std::fs::write(&segments[1], left).expect("it can be written");
            let error = open_with(&setup.boot(5)).0.expect_err("records follow").to_string();
            assert!(error.contains("lost: records of boot 1: log sequences"), "{mode}: {error}");
        }
    }
}

/// A segment cut below what was synced: whatever is opened without it comes with an error line.
#[test]
fn a_cut_segment_is_refused_or_an_error_line() {
    for mode in 0..2 {
        let folder = Folder::new("cut-short");
        let (mode, setup) = setups(&folder)[mode].clone();
        let segments = several_segments(&setup, &folder);
        let kept = Kept::of(&folder);
        for (number, segment) in segments.iter().enumerate() {
            let whole = std::fs::read(segment).expect("it can be read");
            for length in [64, BLOCK, 2 * BLOCK, 5 * BLOCK + 777, whole.len() - BLOCK] {
                kept.put_back(&folder);
                std::fs::write(segment, &whole[..length]).expect("it can be written");
                let (rows, lines) = open_with(&setup.boot(2));
                match rows {
                    Err(error) => assert!(error.to_string().contains("lost: "), "{mode} {number} {length}: {error}"),
                    Ok(rows) if rows.len() == 2600 => {}
                    Ok(rows) => {
                        let lost = errors(&lines);
                        assert!(
                            lost.iter().any(|line| line.contains("at_most")),
                            "{mode} {number} {length}: {lines:?}"
                        );
                        assert_eq!(rows, (0..rows.len() as u32).collect::<Vec<_>>(), "{mode} {number} {length}");
                    }
                }
            }
        }
    }
}

/// A start cuts segments to their groups: what is missing of them later is damage, wherever it is missing.
#[test]
fn what_an_earlier_start_has_read_must_be_there() {
    for mode in 0..2 {
        let folder = Folder::new("read-before");
        let (mode, setup) = setups(&folder)[mode].clone();
        several_segments(&setup, &folder);
        assert_eq!(open_with(&setup.boot(2)).0.expect("it opens").len(), 2600);
        let kept = Kept::of(&folder);
        for segment in folder.segments(0) {
            let whole = std::fs::read(&segment).expect("it can be read");
            if whole.len() <= BLOCK {
                continue;
            }
            let last = whole.len() - BLOCK;
            let zeroed = [&whole[..last], &[0; BLOCK]].concat();
            for left in [&whole[..last], &zeroed[..], &whole[..whole.len() - 1], &whole[..BLOCK]] {
                kept.put_back(&folder);
                std::fs::write(&segment, left).expect("it can be written");
                let error = open_with(&setup.boot(3)).0.expect_err("a group is missing").to_string();
                assert!(error.contains("lost: "), "{mode}: {error}");
            }
        }
    }
}

/// Zeros over groups that later ones follow: damage where they are known to have been synced.
#[test]
fn zeroed_blocks_are_refused_or_an_error_line() {
    for mode in 0..2 {
        let folder = Folder::new("zeroed");
        let (mode, setup) = setups(&folder)[mode].clone();
        let segments = several_segments(&setup, &folder);
        let kept = Kept::of(&folder);
        let whole = std::fs::read(&segments[0]).expect("it can be read");
        for blocks in [1..2, 1..5, 3..4, 3..whole.len() / BLOCK] {
            kept.put_back(&folder);
            let mut zeroed = whole.clone();
            zeroed[blocks.start * BLOCK..blocks.end * BLOCK].fill(0);
            std::fs::write(&segments[0], zeroed).expect("it can be written");
            match open_with(&setup.boot(2)) {
                (Err(error), _) => {
                    let error = error.to_string();
                    assert!(error.contains("log sequences") && error.contains(" bytes"), "{mode}: {error}");
                    assert!(error.contains("lost: ") && error.contains("of shard 0, boot 1"), "{mode}: {error}");
                }
                (Ok(rows), lines) => {
                    assert_eq!((mode, &rows), ("periodic", &(0..rows.len() as u32).collect()));
                    assert!(errors(&lines)[0].contains("commit log records lost"), "{lines:?}");
                }
            }
        }
    }
}

/// In `periodic` writes are acknowledged before they are synced: those that a power cut parts from the log's whole part are told.
#[test]
fn unsynced_records_that_are_left_out_are_an_error_line() {
    let folder = Folder::new("unsynced-told");
    let setup = Setup::new(&folder, 1).periodic();
    with_shard(&setup, async |runtime, shard| {
        write_rows(&shard, TABLE, 0..3, &[5; 300]).await;
        for number in 3..8 {
            apply(&shard, &mutation(TABLE, number, 1, &[5; 300])).await;
            runtime.sleep(std::time::Duration::from_millis(40)).await;
        }
    })
    .expect("the shard opens");
    let path = folder.segments(0).remove(0);
    let mut bytes = std::fs::read(&path).expect("the segment can be read");
    let groups = bytes.chunks(BLOCK).skip(1).take_while(|block| block[..4] == *b"hgrp").count();
    let third_from_last = BLOCK * (groups - 2);
    bytes[third_from_last..third_from_last + BLOCK].fill(0);
    std::fs::write(&path, &bytes).expect("it can be written");
    let (rows, lines) = open_with(&setup.boot(2));
    let rows = rows.expect("unsynced groups may be gone");
    assert!(rows.len() < 8 && rows == (0..rows.len() as u32).collect::<Vec<_>>(), "{rows:?}");
    let lost = errors(&lines);
    assert_eq!(lost.len(), 1, "{lines:?}");
    assert!(lost[0].contains("groups=2 records=2") && lost[0].contains("from="), "{lost:?}");
    assert_eq!(errors(&open_with(&setup.boot(3)).1).len(), 0, "what was cut off is told once");
}

/// A segment in the folder of another shard.
#[test]
fn a_segment_of_another_shard_is_refused() {
    let folder = Folder::new("wrong-shard");
    let setup = Setup::new(&folder, 1);
    with_shards(&setup, 2, true, async |_, shard| {
        write_rows(&shard, TABLE, 0..50, b"v").await;
    });
    let log = folder.path.join("commitlog");
    let name = "0000000000000001.log";
    std::fs::copy(log.join("shard-1").join(name), log.join("shard-0").join(name)).expect("both are there");
    let error = open_with(&setup.boot(2)).0.expect_err("it is the other's").to_string();
    assert!(error.contains("the segment belongs to shard 1, but is in the directory of shard 0"), "{error}");
}

/// Another shard count: the lists of all former shards are looked at, and go with their segments.
#[test]
fn segments_missing_of_another_shard_count_are_refused() {
    let folder = Folder::new("missing-of-others");
    let setup = Setup::new(&folder, 1);
    with_shards(&setup, 3, true, async |_, shard| {
        write_rows(&shard, TABLE, 0..50, b"v").await;
    });
    let segment = folder.path.join("commitlog/shard-2/0000000000000001.log");
    let bytes = std::fs::read(&segment).expect("it is there");
    std::fs::remove_dir_all(folder.path.join("commitlog/shard-2")).expect("it is there");
    let error = open_with(&setup.boot(2)).0.expect_err("a segment is missing").to_string();
    assert!(error.contains("shard-2") && error.contains("1 commit log segments missing"), "{error}");
    std::fs::create_dir_all(segment.parent().expect("a folder")).expect("it can be made");
    std::fs::write(&segment, bytes).expect("it can be written");
    for boot in 3..5 {
        let (rows, lines) = open_with(&setup.boot(boot));
        assert_eq!(rows.expect("all is there"), (0..50).collect::<Vec<_>>());
        assert_eq!(errors(&lines).len(), 0, "{lines:?}");
    }
    assert!(!folder.path.join("manifest/segments-of-shard-2").exists());
}
