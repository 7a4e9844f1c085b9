//! Files that others wrote, laid into a table's folder: a start that is told to takes them in, and nothing else that lies there.
#![allow(clippy::disallowed_methods)]

use std::path::{Path, PathBuf};

use crate::harness::*;

/// The table's folder in a data folder.
fn table_folder(folder: &Folder) -> PathBuf {
    let id: String = TABLE.0.iter().map(|byte| format!("{byte:02x}")).collect();
    folder.path.join("data/ks").join(format!("t1-{id}"))
}

/// Writes rows, flushes them, and lays the file into another folder as if another program had written it: without the component that only
/// we write. Gives the path that all its components' names begin with.
fn lay_foreign_file_into(target: &Folder, numbers: std::ops::Range<u32>) -> PathBuf {
    let name = target.path.file_name().and_then(|name| name.to_str()).expect("a name");
    let source = Folder::new(&format!("source-of-{name}-{}", numbers.start));
    let body = |_, shard: storage::Shard| async move {
        write_rows(&shard, TABLE, numbers, b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
    };
    with_shard(&Setup::new(&source, 1), body).expect("it opens");
    let folder = table_folder(target);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let mut common = PathBuf::new();
    for entry in std::fs::read_dir(table_folder(&source)).expect("there is a file") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let bytes = std::fs::read(&path).expect("it can be read");
        match name.as_str() {
            own if own.ends_with("-Helenus.db") => continue,
            list if list.ends_with("-TOC.txt") => {
                let text = String::from_utf8(bytes).expect("a list is text").replace("Helenus.db\n", "");
                std::fs::write(folder.join(list), text).expect("it can be written");
                common = folder.join(list.trim_end_matches("TOC.txt"));
            }
            other => std::fs::write(folder.join(other), bytes).expect("it can be written"),
        }
    }
    common
}

fn component(common: &Path, name: &str) -> PathBuf {
    PathBuf::from(format!("{}{name}", common.display()))
}

/// A start that takes foreign files in.
fn taking_in(folder: &Folder, boot: u64) -> Setup {
    let mut setup = Setup::new(folder, boot);
    setup.options.takes_in_foreign_files = true;
    setup
}

fn rows_after(setup: &Setup) -> Vec<u32> {
    let body = |_, shard: storage::Shard| async move { read_all_rows(&shard, TABLE).await };
    with_shard(setup, body).expect("it opens")
}

#[test]
fn a_start_takes_foreign_files_in() {
    let folder = Folder::new("foreign-taken-in");
    lay_foreign_file_into(&folder, 0..100);
    assert_eq!(rows_after(&Setup::new(&folder, 1)), Vec::<u32>::new(), "nobody asked for them");
    assert_eq!(rows_after(&taking_in(&folder, 2)), (0..100).collect::<Vec<_>>());
    // The manifest names it now: another one beside it is taken in too, and none twice.
    lay_foreign_file_into(&folder, 100..150);
    assert_eq!(rows_after(&taking_in(&folder, 3)), (0..150).collect::<Vec<_>>());
    assert_eq!(rows_after(&Setup::new(&folder, 4)), (0..150).collect::<Vec<_>>());
}

#[test]
fn shards_share_a_foreign_file() {
    let folder = Folder::new("foreign-shared");
    lay_foreign_file_into(&folder, 0..100);
    let body = |_, shard: storage::Shard| async move { read_all_rows(&shard, TABLE).await };
    let mut rows: Vec<u32> = with_shards(&taking_in(&folder, 1), 3, true, body).into_iter().flatten().collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..100).collect::<Vec<_>>());
}

#[test]
fn what_is_not_whole_or_not_readable_is_left_alone() {
    let folder = Folder::new("foreign-not-whole");
    let missing = lay_foreign_file_into(&folder, 0..10);
    std::fs::remove_file(component(&missing, "Filter.db")).expect("it is there");
    let broken = lay_foreign_file_into(&folder, 10..20);
    std::fs::write(component(&broken, "Statistics.db"), b"nonsense").expect("it can be written");
    assert_eq!(rows_after(&taking_in(&folder, 1)), Vec::<u32>::new());
    assert!(component(&missing, "Data.db").exists() && component(&broken, "Data.db").exists());
}
