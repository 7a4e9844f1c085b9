//! What happens while a compaction runs: truncations, drops, flushes, reads, a start, a snapshot.

use runtime::Runtime;
use storage::Shard;

use super::*;

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
    // The output has begun, and its end is far: each piece of it waits for its time.
    let is_begun = || shard.running_compaction().is_some_and(|running| running.written > 0);
    until(runtime, "the output is begun", is_begun).await;
    assert_eq!((shard.stats().files, shard.stats().compactions), (4, 0));
}

async fn until_given_up(runtime: &Runtime, shard: &Shard) {
    until(runtime, "the compaction ends", || shard.running_compaction().is_none()).await;
}

#[test]
fn what_is_truncated_meanwhile_does_not_come_back() {
    let folder = Folder::new("compact-truncate");
    let setup = slowly(&folder);
    let position = with_shard(&setup, async |runtime, shard| {
        begin_slowly(&runtime, &shard).await;
        let position = truncate(&shard, TABLE);
        shard.discard_truncated(TABLE, position, "1").await;
        write_rows(&shard, TABLE, 5000..5010, b"v").await;
        flush(&shard).await;
        until_given_up(&runtime, &shard).await;
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
        truncate(&shard, TABLE)
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
        shard.update_schema(&schema_of(&[OTHER], true));
        shard.discard_dropped("1").await;
        until_given_up(&runtime, &shard).await;
        until(&runtime, "neither inputs nor outputs are left", || components(&folder, "").is_empty()).await;
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
        let position = truncate(&shard, TABLE);
        shard.discard_truncated(TABLE, position, "1").await;
        until_given_up(&runtime, &shard).await;
        until(&runtime, "neither inputs nor outputs are left", || components(&folder, "-Data.db").is_empty()).await;
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
