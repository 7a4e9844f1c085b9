//! A data folder whose manifests are missing, in whole or in part, or hold nothing, while SSTables are there: refused at every start, and nothing is
//! written. Without that the tables would be empty, silently.

use std::path::{Path, PathBuf};

use cql_protocol::Consistency::One;
use runtime::{Options, Runtime};
use schema::Schema;
use storage::{Shard, StorageOptions, Truncations};
use topology::Sharder;

use crate::batches::next_boot;
use crate::harness::{Ring, host_id};
use crate::lost_metadata::{is_refused_every_time, lay, listing};

const SHARDS: u16 = 2;
const ROWS: usize = 50;
const TABLE_FOLDER: &str = "data/ks/t-6f2b1c90000011f08000000000000001";
/// Bytes of a manifest's head, which stands twice.
const HEAD_BYTES: usize = 8192;

/// A node killed after it has flushed all its tables, all of whose rows are in files and none in the log.
fn with_files() -> Ring {
    let ring = with_rows();
    let folder = ring.data_dir(0);
    flush(&folder);
    std::fs::remove_dir_all(folder.join("commitlog")).expect("it is there");
    for shard in 0..SHARDS {
        std::fs::remove_file(folder.join(format!("manifest/segments-of-shard-{shard}"))).expect("it is there");
    }
    ring
}

fn with_rows() -> Ring {
    let ring = Ring::new(&[SHARDS]);
    let node = ring.start(0);
    let mut client = node.client();
    for text in [
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE ks.t (k int PRIMARY KEY, v int) WITH id = 6f2b1c90-0000-11f0-8000-000000000001",
    ] {
        client.run(text, One);
    }
    for key in 0..ROWS {
        client.run(&format!("INSERT INTO ks.t (k, v) VALUES ({key}, 1)"), One);
    }
    ring
}

/// Starts the storage, flushes all tables on all shards, and ends it.
fn flush(dir: &Path) {
    let (boot, changes) = next_boot(dir);
    let mains: Vec<_> = (0..SHARDS)
        .map(|_| {
            let changes = changes.clone();
            move |runtime: Runtime| async move {
                let sharder = Sharder::new(runtime.shard_count());
                let options = StorageOptions { host: host_id(0), ..StorageOptions::new(dir, boot, 32 << 20) };
                let schema = Schema::empty().with_all(&changes);
                let opened = Shard::open(&runtime, options, sharder, &schema, &Truncations::new()).await;
                let shard = opened.expect("the shard opens");
                for table in schema.tables() {
                    shard.flush(table.id).await.expect("the disk works");
                }
                shard.drain().await.expect("the disk works");
            }
        })
        .collect();
    runtime::run(Options::default(), mains).expect("the shards start");
}

fn rows(ring: &Ring) -> usize {
    let node = ring.try_start(false).expect("everything is there");
    node.client().run("SELECT k FROM ks.t", One).len()
}

/// The files of the manifests, with their bytes.
fn manifests(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let all = listing(&folder.join("manifest"));
    let name = |path: &PathBuf| path.strip_prefix(folder).expect("it is in there").to_str().expect("text").to_owned();
    all.iter().filter_map(|(path, bytes)| Some((name(path), bytes.clone()?))).collect()
}

#[test]
fn files_without_manifests_are_refused_every_time() {
    let mut ring = with_files();
    let folder = ring.data_dir(0);
    let whole = manifests(&folder);
    let back = || whole.iter().for_each(|(name, bytes)| lay(&folder, name, bytes));
    let words = ["manifest", "backup", "upload/", "--import-sstables", "nothing was changed"];

    std::fs::remove_dir_all(folder.join("manifest")).expect("it is there");
    is_refused_every_time(&ring, &[&words[..], &["-Data.db", "manifest/in-force is missing"]].concat(), "no manifests");
    std::fs::create_dir(folder.join("manifest")).expect("it can be made");
    is_refused_every_time(&ring, &words, "an empty folder of manifests");
    for (name, bytes) in &whole {
        back();
        std::fs::remove_file(folder.join(name)).expect("it is there");
        is_refused_every_time(&ring, &[&words[..], &[name, "missing"]].concat(), &format!("without {name}"));
        lay(&folder, name, b"");
        is_refused_every_time(&ring, &[&words[..], &[name]].concat(), &format!("{name} without bytes"));
        lay(&folder, name, &bytes[..HEAD_BYTES]);
        is_refused_every_time(&ring, &[&words[..], &[name]].concat(), &format!("{name} without records"));
    }
    for (name, bytes) in &whole {
        lay(&folder, name, &bytes[..HEAD_BYTES]);
    }
    is_refused_every_time(&ring, &words, "no records anywhere");
    // With the manifests everything is there again, on as many shards as before or on others.
    back();
    for shards in [SHARDS, 1, 3, SHARDS] {
        ring.shards[0] = shards;
        assert_eq!(rows(&ring), ROWS, "on {shards} shards");
    }
}

#[test]
fn files_whose_manifests_are_lost_can_be_imported() {
    let ring = with_files();
    let folder = ring.data_dir(0);
    std::fs::remove_dir_all(folder.join("manifest")).expect("it is there");
    for path in listing(&folder.join("data")).into_keys().filter(|path| path.is_file()) {
        let (table, name) = (path.parent().expect("a folder"), path.file_name().expect("a name"));
        std::fs::create_dir_all(table.join("upload")).expect("a folder can be made");
        std::fs::rename(&path, table.join("upload").join(name)).expect("a file can be moved");
    }
    drop(ring.try_start_as(|config| config.import_sstables = true).expect("nothing is forgotten"));
    assert_eq!(rows(&ring), ROWS);
}

#[test]
fn manifests_that_name_no_file_are_needed_by_none() {
    let ring = with_rows();
    let folder = ring.data_dir(0);
    assert_eq!(rows(&ring), ROWS);
    // All is in the log.
    std::fs::remove_dir_all(folder.join("manifest")).expect("it is there");
    assert_eq!(rows(&ring), ROWS);
    // SSTables of another program that a person lays there are none of ours: left alone until they are asked for.
    for component in ["Data.db", "TOC.txt"] {
        lay(&folder, &format!("{TABLE_FOLDER}/da-1-bti-{component}"), b"Data.db\n");
    }
    assert_eq!(rows(&ring), ROWS);
    drop(ring.try_start_as(|config| config.import_sstables = true).expect("what cannot be read is left alone"));
    // Where manifests were lost, those may have named it.
    std::fs::remove_dir_all(folder.join("manifest")).expect("it is there");
    is_refused_every_time(
        &ring,
        &["manifest/in-force is missing", "da-1-bti-Data.db"],
        "a file that may have been imported",
    );
    drop(ring.try_start_as(|config| config.import_sstables = true).expect("it is imported, or said to be bad"));
    assert_eq!(rows(&ring), ROWS);
}
