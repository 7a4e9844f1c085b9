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
            for files in sstables_at(&runtime, &folder).await.expect("they are there").found {
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

/// A folder of its own, and gone at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("helenus-filetools-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the temporary folder can be written");
        Scratch(path)
    }

    /// Copies the components of which `data` is the data, those that are `kept`.
    fn copy(&self, runtime: &Runtime, data: &Path, kept: impl Fn(Component) -> bool) -> Files {
        let source = Files::of(runtime, data).expect("a data file");
        let files = Files::of(runtime, &self.0.join(data.file_name().expect("a name"))).expect("a data file");
        for component in Component::ALL.into_iter().filter(|component| kept(*component)) {
            if let Ok(bytes) = std::fs::read(source.path(component)) {
                std::fs::write(files.path(component), bytes).expect("it can be written");
            }
        }
        files
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_only_checks_others_may_be_missing() {
    let main = |runtime: Runtime| async move {
        let mut plain = 0;
        for path in fixtures() {
            let scratch = Scratch::new("checks");
            let dispensable = [Component::Crc, Component::Digest, Component::Filter, Component::Summary];
            // TOC.txt still lists them.
            let files = scratch.copy(&runtime, &path, |component| !dispensable.contains(&component));
            plain += u32::from(!files.has(Component::CompressionInfo).await.expect("a folder can be looked into"));
            if let Err(error) = verify(&runtime, &files).await {
                panic!("{}: {error}", path.display());
            }
        }
        assert!(plain > 0, "no file without compression");
    };
    runtime::run(runtime::Options::default(), vec![main]).expect("one shard runs");
}

#[test]
fn what_cannot_be_read_is_named() {
    let main = |runtime: Runtime| async move {
        let all = fixtures();
        let one = |version: &str| all.iter().find(|path| path.to_string_lossy().contains(version)).expect("a fixture");
        for needed in [Component::Statistics, Component::Index] {
            let scratch = Scratch::new("needed");
            let files = scratch.copy(&runtime, one("/nb-1-big"), |component| component != needed);
            let error = verify(&runtime, &files).await.expect_err("it cannot be read").to_string();
            assert!(error.contains(&format!("required components are missing: {}", needed.name())), "{error}");
        }
        let scratch = Scratch::new("named");
        std::fs::write(scratch.0.join("la-1-big-Data.db"), b"rows").expect("it can be written");
        scratch.copy(&runtime, one("/nb-1-big"), |component| component != Component::Data);
        let Sstables { found, unreadable } = sstables_at(&runtime, &scratch.0).await.expect("they are there");
        assert!(found.is_empty());
        let unreadable: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
        assert!(unreadable[0].contains("la-1-big-Data.db: unsupported SSTable version"), "{unreadable:?}");
        assert!(unreadable[1].contains("nb-1-big-Data.db: required components are missing: Data.db"), "{unreadable:?}");
    };
    runtime::run(runtime::Options::default(), vec![main]).expect("one shard runs");
}

#[test]
fn a_file_of_another_partitioner_is_refused() {
    let main = |runtime: Runtime| async move {
        let scratch = Scratch::new("partitioner");
        let all = fixtures();
        let path = all.iter().find(|path| path.to_string_lossy().contains("/da-1-bti")).expect("a fixture");
        let files = scratch.copy(&runtime, path, |_| true);
        let mut statistics = files.statistics().await.expect("it is sound");
        statistics.partitioner = "org.apache.cassandra.dht.ByteOrderedPartitioner".to_owned();
        std::fs::write(files.path(Component::Statistics), statistics.write()).expect("it can be written");
        let error = verify(&runtime, &files).await.expect_err("it is in another order");
        assert!(matches!(error, ToolError::Partitioner { .. }), "{error}");
    };
    runtime::run(runtime::Options::default(), vec![main]).expect("one shard runs");
}
