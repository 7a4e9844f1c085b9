//! Statements over data in files: what fails, and what must not be answered from memory alone.

use std::path::{Path, PathBuf};

use cql_protocol::{Consistency, ErrorCode, QueryParams, Value};

use crate::harness::{Folder, run_node_with};
use crate::requests::{KEYSPACE, fill, ints, must};

/// The files of data below a folder.
fn data_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(path) = folders.pop() {
        for entry in std::fs::read_dir(&path).expect("a folder can be read") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.to_string_lossy().ends_with("-Data.db") => found.push(path),
                false => {}
            }
        }
    }
    found
}

#[test]
fn a_damaged_file_is_a_read_failure_and_what_is_in_memory_is_answered() {
    let folder = Folder::new("files-damaged");
    run_node_with(folder.path(), 1, |client, _, storage| {
        let folder = &folder;
        async move {
            must(&client, KEYSPACE).await;
            // What the row cache has is answered whatever becomes of the file.
            let caching = "caching = {'keys': 'NONE', 'rows_per_partition': 'NONE'}";
            must(&client, &format!("CREATE TABLE ks.t (k int PRIMARY KEY, v text, w int) WITH {caching}")).await;
            fill(&client, 500).await;
            storage.flush_at_end(true).await.expect("all is flushed");
            must(&client, "INSERT INTO ks.t (k, v) VALUES (1000000, 'later')").await;
            assert_eq!(ints(&client.query("SELECT k FROM ks.t WHERE k = 7").await), [7]);
            assert_eq!(ints(&client.query("SELECT k FROM ks.t").await).len(), 501);
            for path in data_files(folder.path()) {
                let mut bytes = std::fs::read(&path).expect("the file can be read");
                bytes.iter_mut().for_each(|byte| *byte ^= 0x10);
                std::fs::write(&path, bytes).expect("the file can be written");
            }
            for text in ["SELECT k FROM ks.t WHERE k = 7", "SELECT k FROM ks.t", "SELECT COUNT(*) FROM ks.t"] {
                let error = client.query(text).await.error();
                assert_eq!(error.code(), ErrorCode::ReadFailure, "{text}: {error}");
                assert!(!error.message.contains("Data.db"), "the client is told no path: {error}");
            }
            // No file can have it, so none is asked.
            let later = "SELECT k FROM ks.t WHERE k = 1000000";
            assert_eq!(ints(&client.query(later).await), [1_000_000]);
        }
    });
}

#[test]
fn a_read_before_a_write_finds_what_was_flushed() {
    let folder = Folder::new("files-lists");
    run_node_with(folder.path(), 1, |client, _, storage| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.l (k int PRIMARY KEY, l list<int>)").await;
        must(&client, "INSERT INTO ks.l (k, l) VALUES (1, [10, 20, 30])").await;
        storage.flush_at_end(true).await.expect("all is flushed");
        must(&client, "UPDATE ks.l SET l = l + [40] WHERE k = 1").await;
        must(&client, "UPDATE ks.l SET l[1] = 21 WHERE k = 1").await;
        must(&client, "DELETE l[0] FROM ks.l WHERE k = 1").await;
        storage.flush_at_end(true).await.expect("all is flushed");
        must(&client, "UPDATE ks.l SET l = l - [30] WHERE k = 1").await;
        let list = client.query("SELECT l FROM ks.l WHERE k = 1").await;
        let expected = [2, 4, 21, 4, 40].map(i32::to_be_bytes).concat();
        assert!(list.body().windows(expected.len()).any(|window| window == expected), "{:?}", list.body());
        let beyond = client.query("UPDATE ks.l SET l[2] = 5 WHERE k = 1").await.error();
        assert_eq!(beyond.code(), ErrorCode::Invalid, "{beyond}");
    });
}

#[test]
fn rows_that_say_nothing_make_no_file() {
    let folder = Folder::new("files-nothing");
    run_node_with(folder.path(), 1, |client, _, storage| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text, w int)").await;
        let update = client.prepare("UPDATE ks.t SET v = ? WHERE k = ?").await;
        client.execute_values(&update.id, &[Value::Unset, Value::Bytes(&[0, 0, 0, 1])]).await;
        storage.flush_at_end(true).await.expect("there is nothing to write");
        assert_eq!(storage.stats().files, 0);
        assert!(ints(&client.query("SELECT k FROM ks.t").await).is_empty());
    });
}

#[test]
fn pages_go_on_while_tables_are_flushed() {
    let folder = Folder::new("files-pages");
    run_node_with(folder.path(), 1, |client, _, storage| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text, w int)").await;
        fill(&client, 1_000).await;
        let mut found = Vec::new();
        let mut state: Option<Vec<u8>> = None;
        loop {
            let params = QueryParams {
                page_size: Some(90),
                paging_state: state.as_deref(),
                ..QueryParams::new(Consistency::One)
            };
            let reply = client.query_with("SELECT k FROM ks.t", params).await;
            found.extend(ints(&reply));
            state = crate::requests::paging_state(&reply);
            if state.is_none() {
                break;
            }
            must(&client, &format!("UPDATE ks.t SET w = 1 WHERE k = {}", found.len())).await;
            storage.flush_at_end(true).await.expect("all is flushed");
        }
        found.sort_unstable();
        assert_eq!(found, (0..1_000).collect::<Vec<_>>());
    });
}
