//! What can be read is kept: single bytes of each component and of each chunk are turned over, and what does not touch them must be there.

#![allow(clippy::disallowed_methods, reason = "tests look at folders directly")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sstable::Descriptor;
use sstable::data::Item;

use super::*;

/// A partition as text: its head, its rows and markers; and where it lies in the data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Partition {
    head: String,
    items: Vec<String>,
    begins: u64,
    ends: u64,
}

async fn partitions(files: &Files) -> BTreeMap<Vec<u8>, Partition> {
    let statistics = files.statistics().await.expect("it is whole");
    let table = crate::files::table_of(&statistics.header);
    let mut reader = files.reader(&statistics.header, &table).expect("it fits");
    let mut data = files.data().await.expect("it is whole");
    let mut found: BTreeMap<Vec<u8>, Partition> = BTreeMap::new();
    let mut key_now = Vec::new();
    loop {
        let begins = data.position();
        let took = data.next(&mut reader, |item, ends| match item {
            Item::Partition { key, deletion, static_row } => {
                key_now = key.to_vec();
                let head = format!("{deletion:?} {:?}", static_row.map(|row| row.bytes().to_vec()));
                found.insert(key_now.clone(), Partition { head, begins, ..Partition::default() });
            }
            Item::PartitionEnd => found.get_mut(&key_now).expect("it was begun").ends = ends,
            Item::Row { clustering, row } => {
                let text = format!("{:?} {:?}", clustering.bytes(), row.bytes());
                found.get_mut(&key_now).expect("it was begun").items.push(text);
            }
            other => found.get_mut(&key_now).expect("it was begun").items.push(format!("{other:?}")),
        });
        if took.await.expect("it is whole").is_none() {
            return found;
        }
    }
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("helenus-scrub-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the temporary folder can be written");
        Scratch(path)
    }

    /// Empties it, and lays a fixture's files there.
    fn lay(&self, files: &BTreeMap<String, Vec<u8>>) {
        let _ = std::fs::remove_dir_all(&self.0);
        std::fs::create_dir_all(&self.0).expect("the temporary folder can be written");
        for (name, bytes) in files {
            std::fs::write(self.0.join(name), bytes).expect("it can be written");
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn fixture(name: &str) -> BTreeMap<String, Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sstable/testdata/cassandra/da").join(name);
    let entries = std::fs::read_dir(&root).expect("the fixture is there");
    let entries = entries.map(|entry| entry.expect("an entry").path());
    let file = |path: PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        (name, std::fs::read(&path).expect("it can be read"))
    };
    entries.filter(|path| path.is_file()).map(file).collect()
}

/// Writes the fixture's rows as we write them, with Helenus.db: what scrub makes of one whose Filter.db knows no key.
async fn as_our_own(
    runtime: &Runtime,
    scratch: &Scratch,
    files: &BTreeMap<String, Vec<u8>>,
) -> BTreeMap<String, Vec<u8>> {
    let mut broken = files.clone();
    let filters = broken.iter_mut().filter(|(name, _)| name.ends_with("-Filter.db"));
    filters.for_each(|(_, bytes)| bytes[8..].fill(0));
    scratch.lay(&broken);
    let place = Place::take(runtime, &scratch.0).await.expect("it is free");
    for files in sstables_at(runtime, &scratch.0).await.expect("they are there").found {
        let before = partitions(&files).await;
        match scrub(&files, &place).await.expect("the disk works") {
            Scrubbed::Saved(kept) => {
                assert_eq!((kept.whole, kept.in_part, kept.lost, kept.unknown), (before.len() as u64, 0, 0, 0));
            }
            other => panic!("{other:?}"),
        }
        verify(runtime, &files).await.expect("it is sound");
        let items = |found: BTreeMap<Vec<u8>, Partition>| -> Vec<_> {
            found.into_iter().map(|(key, found)| (key, found.head, found.items)).collect()
        };
        assert_eq!(items(partitions(&files).await), items(before));
    }
    let entries = std::fs::read_dir(&scratch.0).expect("there is a folder").map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.path().is_file());
    let file = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().expect("a name");
        (name, std::fs::read(entry.path()).expect("it can be read"))
    };
    files.map(file).collect()
}

/// Turns bytes of one component over, one after the other, and scrubs; `loses`: which part of the data is then unreadable.
async fn turn_over(
    runtime: &Runtime,
    scratch: &Scratch,
    files: &BTreeMap<String, Vec<u8>>,
    component: Component,
    places: &[usize],
) {
    scratch.lay(files);
    let sound = sstables_at(runtime, &scratch.0).await.expect("they are there").found.remove(0);
    let before = partitions(&sound).await;
    let chunks = sound.chunks(sound.data().await.expect("it is whole").progress().1).await.expect("they are whole");
    let name = sound.descriptor.file_name(component);
    let stored_length = files[&sound.descriptor.file_name(Component::Data)].len() as u64;
    for &at in places {
        let mut broken = files.clone();
        broken.get_mut(&name).expect("it is there")[at] ^= 0x41;
        scratch.lay(&broken);
        let place = Place::take(runtime, &scratch.0).await.expect("it is free");
        let files = Files::of(runtime, &scratch.0.join(&name)).expect("it is one");
        let context = format!("{name}, byte {at}");
        let damaged = damaged_data(&chunks, component, at, stored_length);
        let scrubbed = scrub(&files, &place).await.expect("the disk works");
        let after = match &scrubbed {
            Scrubbed::Saved(_) => {
                verify(runtime, &files).await.unwrap_or_else(|error| panic!("{context}: {error}"));
                assert!(place.snapshot().join(&name).exists(), "{context}: the damaged one is kept");
                partitions(&files).await
            }
            Scrubbed::Sound(_) => partitions(&files).await,
            // Nothing at all lies outside the damage.
            Scrubbed::Left(_) if component == Component::Data => BTreeMap::new(),
            Scrubbed::Left(_) if matches!(component, Component::Statistics | Component::CompressionInfo) => continue,
            Scrubbed::Left(why) => panic!("{context}: {why}"),
        };
        for (key, expected) in &before {
            let touches =
                damaged.as_ref().is_some_and(|range| expected.begins < range.end && range.start < expected.ends);
            match after.get(key) {
                Some(found) if !touches => {
                    let of = |partition: &Partition| (partition.head.clone(), partition.items.clone());
                    assert_eq!(of(found), of(expected), "{context}: partition {key:?}");
                }
                None if !touches => panic!("{context}: partition {key:?} at {} is lost, {scrubbed:?}", expected.begins),
                // Nothing is invented in what is kept in part.
                Some(found) => {
                    let rows = found.items.iter().filter(|item| !item.starts_with("Marker"));
                    rows.for_each(|row| assert!(expected.items.contains(row), "{context}: {row}"));
                }
                None => {}
            }
        }
        assert!(after.keys().all(|key| before.contains_key(key)), "{context}: a partition that was never there");
    }
}

/// What of the data cannot be read when a byte of a component is another.
fn damaged_data(chunks: &Chunks, component: Component, at: usize, stored: u64) -> Option<std::ops::Range<u64>> {
    if component != Component::Data {
        return None;
    }
    let mut all = (0..).map_while(|number| chunks.chunk(number, stored));
    let chunk = all.find(|chunk| {
        // Behind a compressed chunk stands its checksum.
        (chunk.offset..chunk.offset + chunk.stored_length as u64).contains(&(at as u64))
    });
    chunk.map(|chunk| chunk.data_offset..chunk.data_offset + chunk.data_length as u64)
}

/// The samples that make up all places.
const SAMPLES: usize = 3;

/// The third of the places that `HELENUS_SAMPLE` chooses, which a change's run sets by its commit's hash; all where it is not set.
fn sampled(places: impl Iterator<Item = usize>) -> Vec<usize> {
    let sample: Option<usize> =
        std::env::var("HELENUS_SAMPLE").ok().map(|number| number.parse().expect("HELENUS_SAMPLE is a number"));
    let of_sample = |index: usize| sample.is_none_or(|sample| index % SAMPLES == sample % SAMPLES);
    places.enumerate().filter(|(index, _)| of_sample(*index)).map(|(_, place)| place).collect()
}

const FIXTURES: [&str; 9] = [
    "many/many",
    "wide/wide",
    "wide/narrow",
    "tombstones/mixed",
    "collections/collected",
    "statics/shared",
    "compression/plain",
    "compression/zstd",
    "compacted/lz4",
];

fn on_a_shard<Fut: Future<Output = ()>>(main: impl FnOnce(Runtime) -> Fut + Send) {
    runtime::run(runtime::Options::default(), vec![main]).expect("one shard runs");
}

#[test]
fn what_does_not_touch_a_damage_is_kept() {
    on_a_shard(async |runtime: Runtime| {
        for name in FIXTURES {
            let scratch = Scratch::new(&name.replace('/', "-"));
            let theirs = fixture(name);
            let own = as_our_own(&runtime, &scratch, &theirs).await;
            for files in [&theirs, &own] {
                let data = files.iter().find(|(name, _)| name.ends_with("-Data.db")).expect("there is data");
                // All over it. Each scrub waits for the disk some ten times.
                let step = (data.1.len() / 20).max(1);
                let places = sampled((0..data.1.len()).step_by(step));
                turn_over(&runtime, &scratch, files, Component::Data, &places).await;
                for component in Component::ALL {
                    let of_it = files.iter().find(|(name, _)| name.ends_with(component.name()));
                    let Some((_, bytes)) = of_it.filter(|_| component != Component::Data) else { continue };
                    let step = (bytes.len() / 3).max(1);
                    let places = sampled((0..bytes.len()).step_by(step));
                    turn_over(&runtime, &scratch, files, component, &places).await;
                }
            }
        }
    });
}

#[test]
fn a_run_that_was_cut_short_is_ended_by_the_next() {
    on_a_shard(async |runtime: Runtime| {
        let scratch = Scratch::new("cut-short");
        let theirs = fixture("many/many");
        let own = as_our_own(&runtime, &scratch, &theirs).await;
        scratch.lay(&own);
        let place = Place::take(&runtime, &scratch.0).await.expect("it is free");
        let files = sstables_at(&runtime, &scratch.0).await.expect("they are there").found.remove(0);
        // A whole one beside a damaged one, of which a part was moved.
        let beside = place.prepare(&files.descriptor).await.expect("the disk works");
        let mut list = String::new();
        for (name, bytes) in &own {
            let (_, component) = Descriptor::parse(name).expect("a component");
            list += &format!("{}\n", component.name());
            if component > Component::Filter {
                std::fs::write(beside.join(name), bytes).expect("it can be written");
                std::fs::write(scratch.0.join(name), b"damaged").expect("it can be written");
            }
        }
        std::fs::write(beside.join("complete"), list).expect("it can be written");
        verify(&runtime, &files).await.expect_err("it is of two makings");
        Place::take(&runtime, &scratch.0).await.expect("it is free");
        verify(&runtime, &files).await.expect("the move was ended");
        assert!(!beside.exists());
        // One that never became whole is removed.
        place.prepare(&files.descriptor).await.expect("the disk works");
        Place::take(&runtime, &scratch.0).await.expect("it is free");
        assert!(!beside.exists());
        verify(&runtime, &files).await.expect("it is as it was");
    });
}
