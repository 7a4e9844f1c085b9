//! Files that others wrote, laid into a table's folder: a start that is told to takes them in, and nothing else that lies there.
#![allow(clippy::disallowed_methods)]

use std::path::{Path, PathBuf};

use crate::harness::*;

/// The table's folder in a data folder.
pub fn table_folder(folder: &Folder) -> PathBuf {
    let id: String = TABLE.0.iter().map(|byte| format!("{byte:02x}")).collect();
    folder.path.join("data/ks").join(format!("t1-{id}"))
}

/// Writes rows, flushes them, and lays the file into another folder as if another program had written it: without the component that only
/// we write. Gives the path that all its components' names begin with.
pub fn lay_foreign_file_into(target: &Folder, numbers: std::ops::Range<u32>) -> PathBuf {
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

pub fn component(common: &Path, name: &str) -> PathBuf {
    PathBuf::from(format!("{}{name}", common.display()))
}

/// A start that imports files, when shard 0 has looked for them.
fn importing(folder: &Folder, boot: u64) -> Setup {
    let setup = Setup::new(folder, boot);
    find_files(&setup);
    setup
}

pub fn rows_after(setup: &Setup) -> Vec<u32> {
    let body = |_, shard: storage::Shard| async move { read_all_rows(&shard, TABLE).await };
    with_shard(setup, body).expect("it opens")
}

#[test]
fn a_start_takes_foreign_files_in() {
    let folder = Folder::new("foreign-taken-in");
    lay_foreign_file_into(&folder, 0..100);
    assert_eq!(rows_after(&Setup::new(&folder, 1)), Vec::<u32>::new(), "nobody asked for them");
    assert_eq!(rows_after(&importing(&folder, 2)), (0..100).collect::<Vec<_>>());
    // The manifest names it now: another one beside it is taken in too, and none twice.
    lay_foreign_file_into(&folder, 100..150);
    assert_eq!(rows_after(&importing(&folder, 3)), (0..150).collect::<Vec<_>>());
    assert_eq!(rows_after(&Setup::new(&folder, 4)), (0..150).collect::<Vec<_>>());
}

/// Copies a snapshot's files to the table's `upload/`, all of them, as a person does.
fn lay_into_upload(folder: &Folder, tag: &str) -> PathBuf {
    let upload = table_folder(folder).join("upload");
    std::fs::create_dir_all(&upload).expect("a folder can be made");
    for entry in std::fs::read_dir(table_folder(folder).join("snapshots").join(tag)).expect("there is a snapshot") {
        let path = entry.expect("an entry").path();
        std::fs::copy(&path, upload.join(path.file_name().expect("a name"))).expect("it can be copied");
    }
    upload
}

/// The step of shard 0 before a start that imports files; gives the number of files of `upload/` that it moved.
pub fn find_files(setup: &Setup) -> u64 {
    let setup = setup.clone();
    let main = move |runtime: runtime::Runtime| async move {
        storage::find_files_at_start(&runtime, &setup.options.dir, &setup.schema()).await
    };
    let mut found = runtime::run(runtime::Options::default(), vec![main]).expect("a shard starts");
    found.pop().expect("one shard").expect("the disk works")
}

/// Makes a snapshot of some rows, writes others over them, and compacts: no file of the snapshot is the table's any more.
fn snapshot_and_compact(folder: &Folder) {
    let body = |_, shard: storage::Shard| async move {
        for round in 0..3 {
            write_rows(&shard, TABLE, round * 50..round * 50 + 50, b"value").await;
            shard.flush(TABLE).await.expect("the disk works");
        }
        shard.begin_snapshot("kept", &[TABLE]).await.expect("it is made");
        shard.name_for_snapshot("kept", TABLE).await.expect("it is made");
        shard.end_snapshot("kept", TABLE, "CREATE TABLE").await.expect("it is made");
        write_rows(&shard, TABLE, 200..210, b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
        shard.compact(TABLE).await.expect("the disk works");
    };
    with_shard(&Setup::new(folder, 1), body).expect("it opens");
}

#[test]
fn a_snapshot_is_brought_back_into_its_own_table() {
    let folder = Folder::new("snapshot-brought-back");
    snapshot_and_compact(&folder);
    let upload = lay_into_upload(&folder, "kept");
    // All that the table had is gone.
    let mut setup = Setup::new(&folder, 2);
    let truncated = vec![storage::ReplayPosition { boot: 1, shard: 0, sequence: u64::MAX }];
    setup.truncations.insert(TABLE, truncated);
    assert_eq!(find_files(&setup), 3);
    assert_eq!(rows_after(&setup), (0..150).collect::<Vec<_>>());
    let left: Vec<String> = names_in(&upload);
    assert_eq!(left, ["manifest.json", "schema.cql"], "what was taken in is not there any more");
    assert_eq!(find_files(&setup.boot(3)), 0, "nothing is taken in twice");
    assert_eq!(rows_after(&setup.boot(3)), (0..150).collect::<Vec<_>>());
    // Compacted and gone, it can be brought back once more.
    with_shard(&setup.boot(4), async |_, shard: storage::Shard| shard.compact(TABLE).await.expect("the disk works"))
        .expect("it opens");
    lay_into_upload(&folder, "kept");
    let mut again = setup.boot(5);
    let truncated = [1, 2, 3, 4].map(|boot| storage::ReplayPosition { boot, shard: 0, sequence: u64::MAX });
    again.truncations.insert(TABLE, truncated.to_vec());
    assert_eq!(find_files(&again), 3);
    assert_eq!(rows_after(&again), (0..150).collect::<Vec<_>>());
    assert_eq!(
        names_in(&table_folder(&folder).join("snapshots/kept")).len(),
        3 * 9 + 2,
        "the snapshot has its files yet"
    );
}

pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("there is a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect();
    names.sort();
    names
}

#[test]
fn what_was_copied_in_part_is_not_taken_in() {
    let folder = Folder::new("upload-in-part");
    snapshot_and_compact(&folder);
    let upload = lay_into_upload(&folder, "kept");
    let names = names_in(&upload);
    let data: Vec<&String> = names.iter().filter(|name| name.ends_with("-Data.db")).collect();
    // One whose data is cut, one that lacks what Helenus.db knows; the third is whole.
    let whole = std::fs::read(upload.join(data[0])).expect("it can be read");
    std::fs::write(upload.join(data[0]), &whole[..whole.len() / 2]).expect("it can be written");
    std::fs::remove_file(upload.join(data[1].replace("Data.db", "Filter.db"))).expect("it is there");
    let mut setup = Setup::new(&folder, 2);
    setup.truncations.insert(TABLE, vec![storage::ReplayPosition { boot: 1, shard: 0, sequence: u64::MAX }]);
    assert_eq!(find_files(&setup), 1);
    assert_eq!(rows_after(&setup).len(), 50);
    assert!(upload.join(data[0]).exists() && upload.join(data[1]).exists() && !upload.join(data[2]).exists());
    // What was missing comes later.
    std::fs::write(upload.join(data[0]), whole).expect("it can be written");
    assert_eq!(find_files(&setup.boot(3)), 1);
    assert_eq!(rows_after(&setup.boot(3)).len(), 100);
}

#[test]
fn shards_share_a_foreign_file() {
    let folder = Folder::new("foreign-shared");
    lay_foreign_file_into(&folder, 0..100);
    let body = |_, shard: storage::Shard| async move { read_all_rows(&shard, TABLE).await };
    let mut rows: Vec<u32> = with_shards(&importing(&folder, 1), 3, true, body).into_iter().flatten().collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..100).collect::<Vec<_>>());
}

#[test]
fn what_is_not_whole_or_not_readable_is_left_alone() {
    let folder = Folder::new("foreign-not-whole");
    let missing = lay_foreign_file_into(&folder, 0..10);
    std::fs::remove_file(component(&missing, "Rows.db")).expect("it is there");
    let broken = lay_foreign_file_into(&folder, 10..20);
    std::fs::write(component(&broken, "Statistics.db"), b"nonsense").expect("it can be written");
    assert_eq!(rows_after(&importing(&folder, 1)), Vec::<u32>::new());
    assert!(component(&missing, "Data.db").exists() && component(&broken, "Data.db").exists());
}

/// A refresh of one shard. What was left alone.
pub async fn refresh(shard: &storage::Shard) -> Vec<String> {
    let files = shard.find_files_to_take_in(TABLE, &|_| None).await.expect("the disk works");
    shard.name_files_to_take_in(&files).await.expect("the disk works");
    shard.open_files_taken_in(&files).await.expect("the disk works");
    shard.clear_files_taken_in(&files).await.expect("the disk works");
    files.left_alone
}

fn has_list(folder: &Folder) -> bool {
    names_in(&table_folder(folder)).iter().any(|name| name.starts_with("being-taken-in"))
}

#[test]
fn a_running_shard_takes_files_in() {
    let folder = Folder::new("refreshed");
    let mut setup = Setup::new(&folder, 1);
    setup.caching = true;
    let laid = &folder;
    let body = |_, shard: storage::Shard| async move {
        write_rows(&shard, TABLE, 0..10, b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
        assert_eq!(read_all_rows(&shard, TABLE).await.len(), 10);
        lay_foreign_file_into(laid, 5..100);
        assert_eq!(refresh(&shard).await, Vec::<String>::new());
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..100).collect::<Vec<_>>());
        // What is there is not taken in again, what comes later is.
        lay_foreign_file_into(laid, 100..120);
        assert_eq!(refresh(&shard).await, Vec::<String>::new());
        assert_eq!(refresh(&shard).await, Vec::<String>::new());
        assert_eq!(shard.stats().files, 3);
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..120).collect::<Vec<_>>());
        shard.compact(TABLE).await.expect("the disk works");
        assert_eq!(refresh(&shard).await, Vec::<String>::new());
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..120).collect::<Vec<_>>());
    };
    with_shard(&setup, body).expect("it opens");
    assert!(!has_list(&folder));
    assert_eq!(rows_after(&setup.boot(2)), (0..120).collect::<Vec<_>>());
}

#[test]
fn a_truncation_takes_along_what_was_taken_in_before_it_alone() {
    let folder = Folder::new("refreshed-truncated");
    let setup = Setup::new(&folder, 1);
    let laid = &folder;
    let body = |_, shard: storage::Shard| async move {
        let truncated = async || {
            let position = truncate(&shard, TABLE);
            shard.discard_truncated(TABLE, position, "1").await;
            position
        };
        write_rows(&shard, TABLE, 0..10, b"value").await;
        let first = truncated().await;
        // Nothing was written since.
        lay_foreign_file_into(laid, 100..110);
        assert_eq!(refresh(&shard).await, Vec::<String>::new());
        assert_eq!(read_all_rows(&shard, TABLE).await, (100..110).collect::<Vec<_>>());
        first
    };
    let first = with_shard(&setup, body).expect("it opens");
    let mut again = setup.boot(2);
    again.truncations.insert(TABLE, vec![first]);
    let body = |_, shard: storage::Shard| async move {
        assert_eq!(read_all_rows(&shard, TABLE).await, (100..110).collect::<Vec<_>>());
        let position = truncate(&shard, TABLE);
        shard.discard_truncated(TABLE, position, "2").await;
        position
    };
    let second = with_shard(&again, body).expect("it opens");
    let mut last = setup.boot(3);
    last.truncations.insert(TABLE, vec![first, second]);
    assert_eq!(rows_after(&last), Vec::<u32>::new());
}

#[test]
fn a_refresh_brings_back_a_snapshot_and_says_what_it_leaves_alone() {
    let folder = Folder::new("refreshed-upload");
    snapshot_and_compact(&folder);
    let mut setup = Setup::new(&folder, 2);
    setup.truncations.insert(TABLE, vec![storage::ReplayPosition { boot: 1, shard: 0, sequence: u64::MAX }]);
    let laid = &folder;
    let body = |_, shard: storage::Shard| async move {
        assert_eq!(read_all_rows(&shard, TABLE).await, Vec::<u32>::new());
        let upload = lay_into_upload(laid, "kept");
        let names = names_in(&upload);
        let data: Vec<&String> = names.iter().filter(|name| name.ends_with("-Data.db")).collect();
        let whole = std::fs::read(upload.join(data[0])).expect("it can be read");
        std::fs::write(upload.join(data[0]), &whole[..whole.len() / 2]).expect("it can be written");
        let broken = lay_foreign_file_into(laid, 300..310);
        std::fs::write(component(&broken, "Statistics.db"), b"nonsense").expect("it can be written");
        let left = refresh(&shard).await;
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(left[0].contains(data[0].trim_end_matches("-Data.db")), "{left:?}");
        assert!(left[0].contains("Data.db does not match its checksum in Helenus.db"), "{left:?}");
        assert!(left[1].contains("cannot import foreign sstable"), "{left:?}");
        assert_eq!(read_all_rows(&shard, TABLE).await.len(), 100);
        // Mended, it comes too.
        std::fs::write(upload.join(data[0]), whole).expect("it can be written");
        assert_eq!(refresh(&shard).await.len(), 1);
        assert_eq!(read_all_rows(&shard, TABLE).await, (0..150).collect::<Vec<_>>());
    };
    with_shard(&setup, body).expect("it opens");
    assert_eq!(rows_after(&setup.boot(3)), (0..150).collect::<Vec<_>>());
}

#[test]
fn a_file_with_partitions_that_the_node_is_no_replica_of_is_left_alone() {
    let folder = Folder::new("refreshed-strange");
    let laid = &folder;
    let body = |_, shard: storage::Shard| async move {
        lay_foreign_file_into(laid, 0..100);
        let others = |token: topology::Token| (token.0 < 0).then(|| "10.0.0.2, 10.0.0.3".to_owned());
        let files = shard.find_files_to_take_in(TABLE, &others).await.expect("the disk works");
        assert!(files.is_empty());
        let [sentence] = files.left_alone.as_slice() else { panic!("{:?}", files.left_alone) };
        let words = " of its 100 partitions; the replicas of the first, of token -";
        assert!(sentence.contains(words) && sentence.ends_with(", are 10.0.0.2, 10.0.0.3"), "{sentence}");
        // Where no other is a replica, the same file is imported.
        assert_eq!(refresh(&shard).await, Vec::<String>::new());
        assert_eq!(read_all_rows(&shard, TABLE).await.len(), 100);
    };
    with_shard(&Setup::new(&folder, 1), body).expect("it opens");
}

#[test]
fn a_start_goes_on_with_a_refresh_that_was_cut_off() {
    let folder = Folder::new("refresh-cut-off");
    let laid = &folder;
    lay_foreign_file_into(laid, 0..100);
    let body = |_, shard: storage::Shard| async move {
        shard.find_files_to_take_in(TABLE, &|_| None).await.expect("the disk works");
        // What comes behind the list is not its matter.
        lay_foreign_file_into(laid, 200..210);
    };
    with_shard(&Setup::new(&folder, 1), body).expect("it opens");
    assert!(has_list(&folder));
    let body = |_, shard: storage::Shard| async move { read_all_rows(&shard, TABLE).await };
    let mut rows: Vec<u32> = with_shards(&Setup::new(&folder, 2), 3, true, body).into_iter().flatten().collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..100).collect::<Vec<_>>());
    assert!(!has_list(&folder));
}

#[test]
fn shards_take_a_file_in_step_by_step() {
    let folder = Folder::new("refreshed-shared");
    let meeting = Meeting::of(3);
    let found = std::sync::Arc::new(std::sync::Mutex::new(None));
    lay_foreign_file_into(&folder, 0..300);
    let body = {
        let (meeting, found) = (meeting.clone(), found.clone());
        move |runtime: runtime::Runtime, shard: storage::Shard| {
            let (meeting, found) = (meeting.clone().attend(), found.clone());
            async move {
                assert_eq!(read_all_rows(&shard, TABLE).await, Vec::<u32>::new());
                let leads = runtime.shard().0 == 0;
                if leads {
                    let files = shard.find_files_to_take_in(TABLE, &|_| None).await.expect("the disk works");
                    *found.lock().expect("no shard panics with it") = Some(files);
                }
                meeting.wait(1);
                let files = found.lock().expect("no shard panics with it").clone().expect("shard 0 has put it there");
                shard.name_files_to_take_in(&files).await.expect("the disk works");
                assert_eq!(read_all_rows(&shard, TABLE).await, Vec::<u32>::new(), "another shard may not name it yet");
                meeting.wait(2);
                shard.open_files_taken_in(&files).await.expect("the disk works");
                // A shard that is done with it at once takes it from nobody.
                shard.compact(TABLE).await.expect("the disk works");
                meeting.wait(3);
                if leads {
                    shard.clear_files_taken_in(&files).await.expect("the disk works");
                }
                read_all_rows(&shard, TABLE).await
            }
        }
    };
    let mut rows: Vec<u32> = with_shards(&Setup::new(&folder, 1), 3, true, body).into_iter().flatten().collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..300).collect::<Vec<_>>());
    let body = |_, shard: storage::Shard| async move { read_all_rows(&shard, TABLE).await };
    let again = with_shards(&Setup::new(&folder, 2), 2, true, body);
    assert_eq!(again.into_iter().flatten().count(), 300);
}
