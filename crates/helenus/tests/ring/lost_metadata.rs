//! A data folder whose metadata log is missing, empty or older than the data: refused at every start, and nothing is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cql_protocol::Consistency::One;

use crate::harness::Ring;

const LOG: &str = "metadata.log";
/// Bytes of a metadata log's header.
const HEADER_BYTES: usize = 4096;

/// Files to lay into a folder: names and bytes.
type Files<'a> = &'a [(&'a str, &'a [u8])];

/// All that is in a folder: names, and the bytes of files.
pub fn listing(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("an entry").path();
            let bytes = (!path.is_dir()).then(|| std::fs::read(&path).expect("the file can be read"));
            if bytes.is_none() {
                folders.push(path.clone());
            }
            all.insert(path, bytes);
        }
    }
    all
}

pub fn lay(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder can be made");
    std::fs::write(path, bytes).expect("a file can be written");
}

/// Several starts, of which each is refused with these words and leaves the folder as it is.
pub fn is_refused_every_time(ring: &Ring, words: &[&str], of: &str) {
    let before = listing(&ring.data_dir(0));
    for start in 1..=4 {
        let Err(sentence) = ring.try_start(false) else { panic!("{of}: start {start} is ready") };
        for words in words {
            assert!(sentence.contains(words), "{of}, start {start}: {sentence}");
        }
        let after = listing(&ring.data_dir(0));
        assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "{of}, start {start}");
        assert!(before == after, "{of}, start {start}: bytes were changed");
    }
}

/// A ring of one with a table, rows of which some are in a file and some in the log, and a snapshot.
fn with_rows() -> Ring {
    let ring = Ring::new(&[2]);
    let node = ring.start(0);
    let mut client = node.client();
    for text in [
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE ks.t (k int PRIMARY KEY, v int)",
        "CREATE TABLE ks.gone (k int PRIMARY KEY, v int)",
        "INSERT INTO ks.gone (k, v) VALUES (1, 1)",
        "TRUNCATE ks.gone",
    ] {
        client.run(text, One);
    }
    for key in 0..50 {
        client.run(&format!("INSERT INTO ks.t (k, v) VALUES ({key}, 1)"), One);
    }
    ring
}

#[test]
fn data_without_a_metadata_log_is_refused_every_time() {
    let lost = ["metadata.log", "backup", "schema.cql", "nodetool refresh"];
    let ring = with_rows();
    let folder = ring.data_dir(0);
    let log = std::fs::read(folder.join(LOG)).expect("the log is there");
    let headless = [&[0; HEADER_BYTES][..], &log[HEADER_BYTES..]].concat();
    let with_bytes = [
        ("an empty log", Vec::new()),
        ("a log of zeros", vec![0; log.len()]),
        ("a log without its head", headless),
        ("a log that is shorter than its head", log[..100].to_vec()),
        ("a log without a record", log[..HEADER_BYTES].to_vec()),
    ];
    for (of, bytes) in with_bytes {
        lay(&folder, LOG, &bytes);
        is_refused_every_time(&ring, &lost, of);
    }
    std::fs::remove_file(folder.join(LOG)).expect("it is there");
    is_refused_every_time(&ring, &lost, "no log");
    std::fs::remove_file(folder.join("helenus.lock")).expect("it is there");
    is_refused_every_time(&ring, &lost, "neither log nor lock");
    lay(&folder, "metadata.log.new", &log);
    is_refused_every_time(&ring, &lost, "a log that was being compacted");
    std::fs::remove_file(folder.join("metadata.log.new")).expect("it is there");
    for part in ["manifest", "data"] {
        std::fs::remove_dir_all(folder.join(part)).expect("it is there");
        is_refused_every_time(&ring, &lost, &format!("without {part}"));
    }
    // With the log everything is there again, as far as no file was taken away.
    lay(&folder, LOG, &log);
    let node = ring.try_start(false).expect("the log is put back");
    assert_eq!(node.client().run("SELECT k FROM ks.t", One).len(), 50);
}

#[test]
fn any_file_of_data_counts() {
    for name in [
        "commitlog/shard-0/0000000000000001.log",
        "commitlog/shard-7/0000000000000001.spare",
        "manifest/in-force",
        "data/system/paxos-1/da-1-bti-Data.db",
        "data/ks/t-1/snapshots/tag/schema.cql",
    ] {
        let ring = Ring::new(&[1]);
        lay(&ring.data_dir(0), name, b"");
        is_refused_every_time(&ring, &["metadata.log", name], name);
    }
}

#[test]
fn folders_without_data_are_new() {
    let whole = Ring::new(&[1]);
    drop(whole.start(0));
    let log = std::fs::read(whole.data_dir(0).join(LOG)).expect("the log is there");
    let cases: [(&str, &[&str], Files<'_>); 7] = [
        ("nothing", &[], &[]),
        ("empty folders", &["commitlog/shard-0", "data/ks/t-1", "manifest"], &[]),
        ("what a file system has of its own", &[], &[("lost+found/1", b"x"), ("commitlog/lost+found/2", b"x")]),
        ("files of others", &[], &[("notes.txt", b"x"), ("helenus.lock", b"")]),
        ("a first start cut short before the log", &[], &[("helenus.lock", b""), ("metadata.log.new", &log[..512])]),
        ("a first start cut short before its first record", &[], &[(LOG, &log[..HEADER_BYTES])]),
        ("a first start cut short before it was counted", &[], &[(LOG, &log[..2 * HEADER_BYTES])]),
    ];
    for (of, folders, files) in cases {
        let ring = Ring::new(&[1]);
        for folder in folders {
            std::fs::create_dir_all(ring.data_dir(0).join(folder)).expect("a folder can be made");
        }
        for (name, bytes) in files {
            lay(&ring.data_dir(0), name, bytes);
        }
        for start in 1..=2 {
            drop(ring.try_start(false).unwrap_or_else(|sentence| panic!("{of}, start {start}: {sentence}")));
        }
    }
}

/// A metadata log from a backup does not know the starts since: whether the schema was changed meanwhile cannot be told.
#[test]
fn a_metadata_log_older_than_the_data_is_refused_every_time() {
    for is_flushed in [false, true] {
        let ring = with_rows();
        let folder = ring.data_dir(0);
        let old = std::fs::read(folder.join(LOG)).expect("the log is there");
        for start in 0..3 {
            let node = ring.start(0);
            let mut client = node.client();
            client.run(&format!("INSERT INTO ks.t (k, v) VALUES (10{start}, 1)"), One);
            client.run("CREATE TABLE IF NOT EXISTS ks.late (k int PRIMARY KEY)", One);
            client.run("TRUNCATE ks.gone", One);
            client.run(&format!("INSERT INTO ks.gone (k, v) VALUES ({start}, 1)"), One);
        }
        if is_flushed {
            // Only manifests know of the starts then.
            let node = ring.start(0);
            node.client().run("INSERT INTO ks.gone (k, v) VALUES (9, 1)", One);
            node.client().run("TRUNCATE ks.gone", One);
            drop(node);
            std::fs::remove_dir_all(folder.join("commitlog")).expect("it is there");
        }
        lay(&folder, LOG, &old);
        is_refused_every_time(&ring, &["metadata.log is older", "--salvage-commitlog"], "an old log");
        let node = ring.try_start(true).expect("it is wanted so");
        let rows = node.client().run("SELECT k FROM ks.t", One).len();
        assert_eq!(rows, if is_flushed { 0 } else { 53 });
        drop(node);
        ring.try_start(false).expect("the log is of the last start again");
    }
}
