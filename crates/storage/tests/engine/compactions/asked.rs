//! What a person asks for beside a major compaction: that garbage is collected, that damaged files are scrubbed.

use storage::{Garbage, Shard};

use super::*;

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

/// PartitionLocks a byte in the middle of a file over.
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
