//! The fixtures are sound, and what has a checksum is not with any bit turned over.

#![allow(clippy::disallowed_methods, reason = "tests look at folders directly")]

use std::path::{Path, PathBuf};

use super::*;

fn fixtures() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../sstable/testdata/cassandra")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the fixtures are there") {
            let path = entry.expect("a folder can be listed").path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.to_string_lossy().ends_with("-Data.db") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_cassandra_wrote_is_sound() {
    let main = |runtime: Runtime| async move {
        let mut wrong = Vec::new();
        let mut partitions = 0;
        for path in fixtures() {
            let files = Files::of(&runtime, &path).expect("a data file");
            match verify(&runtime, &files).await {
                Ok(counts) => partitions += counts.partitions,
                Err(error) => wrong.push(format!("{}: {error}", path.display())),
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(partitions > 8000, "{partitions} partitions");
    };
    runtime::run(runtime::Options::default(), vec![main]).expect("one shard runs");
}

/// Components of which each bit is guarded by a checksum. Of the others some say nothing that matters: there no bit may bring a panic.
const GUARDED: [Component; 3] = [Component::Data, Component::Digest, Component::Statistics];

#[test]
fn a_bit_turned_over_is_found() {
    let scratch = std::env::temp_dir().join(format!("helenus-filetools-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("the temporary folder can be written");
    let folder = scratch.clone();
    let main = move |runtime: Runtime| async move {
        for version in ["da", "oa", "nb"] {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sstable/testdata/cassandra");
            let source = root.join(version).join("statics/shared");
            for entry in std::fs::read_dir(&source).expect("the fixture is there") {
                let path = entry.expect("a folder can be listed").path();
                std::fs::copy(&path, folder.join(path.file_name().expect("a name"))).expect("it can be copied");
            }
            for files in sstables_at(&runtime, &folder).await.expect("they are there") {
                for component in Component::ALL {
                    if files.has(component).await.expect("a folder can be looked into") {
                        turn_bits(&runtime, &files, component).await;
                    }
                }
            }
        }
    };
    runtime::run(runtime::Options::default(), vec![main]).expect("one shard runs");
    let _ = std::fs::remove_dir_all(&scratch);
}

async fn turn_bits(runtime: &Runtime, files: &Files, component: Component) {
    let path = files.path(component);
    let whole = std::fs::read(&path).expect("it is there");
    let step = (whole.len() / 60).max(1);
    for at in (0..whole.len()).step_by(step) {
        let mut broken = whole.clone();
        broken[at] ^= 1 << (at % 8);
        std::fs::write(&path, &broken).expect("it can be written");
        let outcome = verify(runtime, files).await;
        assert!(
            outcome.is_err() || !GUARDED.contains(&component),
            "{}: byte {at} is another and nobody minds",
            path.display()
        );
    }
    std::fs::write(&path, &whole).expect("it can be written");
    verify(runtime, files).await.expect("it is whole again");
}
