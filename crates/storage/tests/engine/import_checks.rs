//! Files that a start or a refresh is to import: what a read could not answer is refused by its name and stays where it was, and what only checks
//! others need not be there.
#![allow(clippy::disallowed_methods)]

use std::path::{Path, PathBuf};

use sstable::statistics::Statistics;
use sstable::{HeaderColumn, Version};

use crate::foreign::*;
use crate::harness::*;

/// Lays a foreign file into `upload/`.
fn lay_into_upload(folder: &Folder, numbers: std::ops::Range<u32>) -> PathBuf {
    let upload = table_folder(folder).join("upload");
    let (first, elsewhere) = (numbers.start, Folder::new(&format!("on-its-way-{}-{}", numbers.start, numbers.end)));
    let common = lay_foreign_file_into(&elsewhere, numbers);
    std::fs::create_dir_all(&upload).expect("a folder can be made");
    let name = common.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
    for other in names_in(common.parent().expect("a folder")) {
        std::fs::copy(common.with_file_name(&other), upload.join(&other)).expect("it can be copied");
    }
    assert!(upload.join(&name).with_file_name(format!("{name}Data.db")).exists(), "rows from {first} on");
    upload.join(name)
}

/// Changes Statistics.db, which is whole again then, with its checksums.
fn change_statistics(common: &Path, change: impl FnOnce(&mut Statistics)) {
    let path = component(common, "Statistics.db");
    let mut statistics =
        Statistics::read(Version::DA, &std::fs::read(&path).expect("it is there")).expect("it is sound");
    change(&mut statistics);
    std::fs::write(&path, statistics.write()).expect("it can be written");
}

fn of_another_partitioner(common: &Path) {
    let other = "org.apache.cassandra.dht.ByteOrderedPartitioner";
    change_statistics(common, |statistics| statistics.partitioner = other.to_owned());
}

fn with_another_column(common: &Path) {
    change_statistics(common, |statistics| {
        let column = &mut statistics.header.regulars[0];
        *column = HeaderColumn { name: "unknown".to_owned(), ty: column.ty.clone() };
    });
}

/// Gives the file the index of another one, which leads to other places.
fn with_the_index_of_another(common: &Path) {
    let elsewhere = Folder::new("another-index");
    let other = lay_foreign_file_into(&elsewhere, 5000..5050);
    let index = component(&other, "Partitions.db");
    std::fs::copy(index, component(common, "Partitions.db")).expect("it can be copied");
}

fn without(names: &'static [&'static str]) -> impl Fn(&Path) {
    move |common| names.iter().for_each(|name| std::fs::remove_file(component(common, name)).expect("it is there"))
}

/// A change to a file, and the words of the refusal.
type Refusal = (Box<dyn Fn(&Path)>, &'static str);

fn refusals() -> Vec<Refusal> {
    vec![
        (
            Box::new(of_another_partitioner),
            "partitioner org.apache.cassandra.dht.ByteOrderedPartitioner does not match system partitioner \
             org.apache.cassandra.dht.Murmur3Partitioner",
        ),
        (Box::new(with_another_column), "table t1 has no column unknown, not even a dropped one"),
        (Box::new(with_the_index_of_another), "the index"),
        (Box::new(without(&["Statistics.db"])), "required components are missing: Statistics.db"),
        (Box::new(without(&["Rows.db", "Partitions.db"])), "required components are missing: Partitions.db, Rows.db"),
        (Box::new(without(&["Data.db"])), "required components are missing: Data.db"),
    ]
}

fn name_of(common: &Path) -> String {
    common.file_name().and_then(|name| name.to_str()).expect("a name").trim_end_matches('-').to_owned()
}

#[test]
fn a_refresh_refuses_what_could_not_be_read_and_the_table_stays_readable() {
    let folder = Folder::new("refresh-refuses");
    let laid = &folder;
    let body = |_, shard: storage::Shard| async move {
        write_rows(&shard, TABLE, 0..10, b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
        for ((damage, expected), from) in refusals().into_iter().zip((1000..).step_by(100)) {
            let in_upload = lay_into_upload(laid, from..from + 50);
            let in_folder = lay_foreign_file_into(laid, from + 50..from + 100);
            damage(&in_upload);
            damage(&in_folder);
            let left = refresh(&shard).await;
            assert_eq!(left.len(), 2, "{expected}: {left:?}");
            for (common, sentence) in [(&in_upload, &left[0]), (&in_folder, &left[1])] {
                assert!(sentence.contains(&name_of(common)) && sentence.contains(expected), "{expected}: {sentence}");
                assert!(component(common, "TOC.txt").exists(), "{expected}: it stays where it was");
                for name in names_in(common.parent().expect("a folder")) {
                    if name.starts_with(&name_of(common)) {
                        std::fs::remove_file(common.with_file_name(name)).expect("it is there");
                    }
                }
            }
            assert_eq!(read_all_rows(&shard, TABLE).await, (0..10).collect::<Vec<_>>());
        }
        write_rows(&shard, TABLE, 10..20, b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
        shard.compact(TABLE).await.expect("nothing of another partitioner is among the files");
    };
    with_shard(&Setup::new(&folder, 1), body).expect("it opens");
}

#[test]
fn a_start_refuses_what_could_not_be_read_and_serves() {
    let folder = Folder::new("start-refuses");
    let mut damaged = Vec::new();
    for ((damage, _), from) in refusals().into_iter().zip((1000..).step_by(100)) {
        for common in [lay_into_upload(&folder, from..from + 50), lay_foreign_file_into(&folder, from + 50..from + 100)]
        {
            damage(&common);
            damaged.push(common);
        }
    }
    lay_into_upload(&folder, 0..10);
    let setup = Setup::new(&folder, 1);
    assert_eq!(find_files(&setup), 1);
    assert_eq!(rows_after(&setup), (0..10).collect::<Vec<_>>());
    assert!(damaged.iter().all(|common| component(common, "TOC.txt").exists()), "they stay where they were");
}

#[test]
fn what_only_checks_others_need_not_be_there() {
    let folder = Folder::new("only-checks");
    let laid = &folder;
    let body = |_, shard: storage::Shard| async move {
        let lacking: [&[&str]; 3] =
            [&["TOC.txt"], &["Digest.crc32", "Filter.db"], &["TOC.txt", "Digest.crc32", "Filter.db"]];
        for (lacking, from) in lacking.into_iter().zip((0..).step_by(50)) {
            let common = lay_into_upload(laid, from..from + 50);
            lacking.iter().for_each(|name| std::fs::remove_file(component(&common, name)).expect("it is there"));
            assert_eq!(refresh(&shard).await, Vec::<String>::new(), "without {lacking:?}");
            assert_eq!(read_all_rows(&shard, TABLE).await, (0..from + 50).collect::<Vec<_>>(), "without {lacking:?}");
            assert!(!component(&common, "Data.db").exists());
        }
        // In the table's folder the list says that a file is whole.
        let common = lay_foreign_file_into(laid, 500..550);
        std::fs::remove_file(component(&common, "Filter.db")).expect("it is there");
        assert_eq!(refresh(&shard).await, Vec::<String>::new());
        shard.compact(TABLE).await.expect("the disk works");
        assert_eq!(read_all_rows(&shard, TABLE).await.len(), 200);
    };
    with_shard(&Setup::new(&folder, 1), body).expect("it opens");
    assert_eq!(rows_after(&Setup::new(&folder, 2)).len(), 200);
}

#[test]
fn a_set_that_is_passed_over_is_named() {
    let folder = Folder::new("passed-over");
    let upload = table_folder(&folder).join("upload");
    std::fs::create_dir_all(&upload).expect("a folder can be made");
    for path in [upload.join("la-1-big-Data.db"), table_folder(&folder).join("ms-1-big-Data.db")] {
        std::fs::write(path, b"rows").expect("it can be written");
    }
    // Without a list, and of a name that no flush gives.
    std::fs::write(table_folder(&folder).join("nb-1-big-Data.db"), b"rows").expect("it can be written");
    let body = |_, shard: storage::Shard| async move { refresh(&shard).await };
    let left = with_shard(&Setup::new(&folder, 1), body).expect("it opens");
    let expected = [
        "cannot import la-1-big-Data.db from upload/",
        "ms-1-big-Data.db",
        "cannot import nb-1-big: TOC.txt is missing",
    ];
    assert_eq!(left.len(), expected.len(), "{left:?}");
    assert!(expected.iter().all(|name| left.iter().any(|sentence| sentence.contains(name))), "{left:?}");
}
