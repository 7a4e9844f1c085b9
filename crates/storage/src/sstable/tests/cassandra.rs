//! SSTables that real Cassandra wrote, of every version: they tell what a memtable with the same content tells, by key, by slice,
//! backwards, by tokens, in pages that end anywhere.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::ops::Bound as TokenBound;

use mutation::{ClusteringBound, KeyRange, Slice};
use sstable::compression::{ChunkDecoder, CompressionInfo};
use sstable::data::{DataReader, Item, Step};
use sstable::statistics::Statistics;
use sstable::{Component, Descriptor};

use super::same_as_memtable::{as_slices, check_cuts, slices_between};
use super::*;

#[path = "../../../../sstable/tests/tables/mod.rs"]
mod tables;

use tables::{Ids, table_of};

/// All SSTables among the fixtures, with their folders.
fn fixtures() -> Vec<(PathBuf, Descriptor)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../sstable/testdata/cassandra")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the fixtures' folder is there") {
            let path = entry.expect("a folder can be listed").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            match Descriptor::parse(name) {
                _ if path.is_dir() => folders.push(path),
                Some((descriptor, Component::Data)) => found.push((folder.clone(), descriptor)),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn read(folder: &Path, descriptor: &Descriptor, component: Component) -> Option<Vec<u8>> {
    std::fs::read(folder.join(descriptor.file_name(component))).ok()
}

/// The data, decompressed.
fn data(folder: &Path, descriptor: &Descriptor) -> Vec<u8> {
    let stored = read(folder, descriptor, Component::Data).expect("every SSTable has Data.db");
    let Some(info) = read(folder, descriptor, Component::CompressionInfo) else { return stored };
    let info = CompressionInfo::decode(&info, descriptor.version, stored.len() as u64).expect("it decodes");
    let mut decoder = ChunkDecoder::new(info.params());
    let mut data = Vec::new();
    for number in 0..info.chunk_count() {
        let chunk = info.chunk(number).expect("all chunks are there");
        let bytes = &stored[chunk.offset as usize..][..chunk.stored_length];
        decoder.decode(bytes, chunk.data_length, &mut data).expect("a chunk decodes");
    }
    data
}

/// A memtable of the items, and the keys and rows that are in it.
struct Content {
    model: Model,
    keys: Vec<Vec<u8>>,
    rows: Vec<Vec<Vec<u8>>>,
}

impl Content {
    /// Of all partitions in `data`.
    fn read(table: &Rc<Table>, reader: &mut DataReader, data: &[u8]) -> Content {
        let mut content = Content { model: Model::new(table), keys: Vec::new(), rows: Vec::new() };
        let components = |of: ClusteringRef<'_>| -> Vec<Vec<u8>> { of.components().map(<[u8]>::to_vec).collect() };
        let (mut key, mut open, mut position) = (Vec::new(), None, 0);
        while position < data.len() {
            let step = reader.next(&data[position..]).unwrap_or_else(|error| panic!("{error}"));
            let Step::Item { item, used } = step else { panic!("the data ends within an item") };
            position += used;
            match item {
                Item::Partition { key: next, deletion, static_row } => {
                    key = next.to_vec();
                    content.keys.push(key.clone());
                    content.model.write(&key, |encoder| {
                        deletion.iter().for_each(|deletion| encoder.partition_deletion(*deletion));
                        static_row.iter().for_each(|row| encoder.static_row_blob(*row));
                    });
                }
                Item::Row { clustering, row } => {
                    content.rows.push(components(clustering));
                    content.model.write(&key, |encoder| encoder.row_blob(clustering, row));
                }
                Item::SkippedRow => unreachable!("all rows are wanted"),
                Item::Marker(Marker { prefix, after, closes, opens }) => {
                    if let Some(deletion) = closes {
                        let start = open.take().expect("what is closed was opened");
                        content.range(&key, start, (components(prefix), after), deletion);
                    }
                    open = opens.map(|_| (components(prefix), !after));
                }
                Item::PartitionEnd => assert!(open.is_none(), "a partition ends with nothing open"),
            }
        }
        content
    }

    fn range(&mut self, key: &[u8], start: RangeBound, end: RangeBound, deletion: Deletion) {
        let starts: Vec<&[u8]> = start.0.iter().map(|value| &value[..]).collect();
        let ends: Vec<&[u8]> = end.0.iter().map(|value| &value[..]).collect();
        self.model.write(key, |encoder| {
            let start = ClusteringBound { prefix: &starts, inclusive: start.1 };
            encoder.range_tombstone(start, ClusteringBound { prefix: &ends, inclusive: end.1 }, deletion);
        });
    }

    /// A place among the rows.
    fn place(&self, random: &mut Random) -> (Vec<u8>, bool) {
        let mut prefix = Vec::new();
        if !self.rows.is_empty() {
            let row = &self.rows[random.below(self.rows.len() as u64) as usize];
            let count = random.below(row.len() as u64 + 1) as usize;
            for (column, value) in self.model.table.clustering().iter().zip(&row[..count]) {
                cql_types::comparable::encode(&column.ty, value, column.is_reversed(), &mut prefix);
            }
        }
        let inclusive = prefix.is_empty() || random.one_in(2);
        (prefix, inclusive)
    }
}

async fn same(runtime: &Runtime, folder: &Path, descriptor: &Descriptor, random: &mut Random) {
    let name = folder.join(descriptor.to_string()).display().to_string();
    let statistics = read(folder, descriptor, Component::Statistics).expect("every SSTable has Statistics.db");
    let statistics = Statistics::read(descriptor.version, &statistics).expect("it decodes");
    let ids = if random.one_in(2) { Ids::AsWritten } else { Ids::Reversed };
    let table = Rc::new(table_of(&statistics.header, ids));
    let mut reader = DataReader::new(descriptor.version, &statistics.header, &table).expect("the columns are known");
    let content = Content::read(&table, &mut reader, &data(folder, descriptor));
    let pages = PageCache::new(64 << 10);
    let sstable = Sstable::open(runtime, &pages, folder, descriptor.clone(), &table).await;
    let sstable = sstable.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(sstable.partitions(), content.keys.len() as u64, "{name}");
    sstable.check_header().unwrap_or_else(|error| panic!("{name}: {error}"));
    sstable.check(|_| ()).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    let all = ReadCommand::all(TABLE, NOW);
    let is_short = content.rows.len() < 2000;
    check_cuts(&content.model, &sstable, &all, 700, true).await;
    check_cuts(&content.model, &sstable, &ReadCommand { reversed: true, ..all }, 400, true).await;
    for read in 0..if is_short { 30 } else { 12 } {
        let places = (0..6).map(|_| content.place(random)).collect();
        let slices = slices_between(places, random);
        let slices = as_slices(&slices);
        let has_clustering = !table.clustering().is_empty();
        let slices = if read % 3 == 0 || !has_clustering { &[Slice::ALL] } else { &slices[..] };
        let key = &content.keys[random.below(content.keys.len() as u64) as usize];
        assert!(sstable.may_contain(token_of(key), key), "{name}");
        let keys = match read % 4 {
            0 => KeyRange::Tokens { start: TokenBound::Excluded(token_of(key)), end: TokenBound::Unbounded },
            1 => KeyRange::Tokens { start: TokenBound::Unbounded, end: TokenBound::Included(token_of(key)) },
            _ => KeyRange::Partition { token: token_of(key), key },
        };
        let command = ReadCommand { keys, slices, reversed: random.one_in(2), ..all };
        let calls_max = match content.rows.len() {
            0..150 => 1 + random.below(30) as usize,
            150..2000 => 20 + random.below(30) as usize,
            _ => 300,
        };
        check_cuts(&content.model, &sstable, &command, calls_max, true).await;
    }
}

/// A third of the files of each version where `HELENUS_SAMPLE` chooses one, as a change's run does by its commit's hash; else all.
#[test]
fn files_of_every_version_are_read_as_a_memtable_is() {
    let sample: Option<usize> =
        std::env::var("HELENUS_SAMPLE").ok().map(|number| number.parse().expect("HELENUS_SAMPLE is a number"));
    let versions = on_disk("cassandra", move |runtime, _| async move {
        let mut random = Random(17);
        let mut versions: BTreeMap<String, [usize; 3]> = BTreeMap::new();
        for (folder, descriptor) in fixtures() {
            let counts = versions.entry(descriptor.version.name().to_owned()).or_default();
            let place = counts.iter().sum::<usize>() % 3;
            counts[place] += 1;
            if sample.is_none_or(|sample| place == sample % 3) {
                same(&runtime, &folder, &descriptor, &mut random).await;
            }
        }
        versions
    });
    assert!(versions.len() >= 4 && versions.values().flatten().all(|&count| count > 6), "{versions:?}");
}

/// The components without which no row is found.
const NEEDED: [Component; 6] = [
    Component::Data,
    Component::Statistics,
    Component::Index,
    Component::Partitions,
    Component::Rows,
    Component::CompressionInfo,
];

#[test]
fn what_only_checks_others_is_not_needed_to_read() {
    on_disk("cassandra-needed", |runtime, scratch| async move {
        let (mut plain, mut all) = (0, 0);
        for (folder, descriptor) in fixtures() {
            for component in NEEDED {
                if let Some(bytes) = read(&folder, &descriptor, component) {
                    std::fs::write(scratch.join(descriptor.file_name(component)), bytes).expect("it can be written");
                }
            }
            let statistics =
                read(&folder, &descriptor, Component::Statistics).expect("every SSTable has Statistics.db");
            let statistics = Statistics::read(descriptor.version, &statistics).expect("it decodes");
            let table = Rc::new(table_of(&statistics.header, Ids::AsWritten));
            let pages = PageCache::new(64 << 10);
            let sstable = Sstable::open(&runtime, &pages, &scratch, descriptor.clone(), &table).await;
            let sstable = sstable.unwrap_or_else(|error| panic!("{error}"));
            sstable.check(|_| ()).await.unwrap_or_else(|error| panic!("{error}"));
            all += 1;
            plain += u32::from(read(&folder, &descriptor, Component::CompressionInfo).is_none());
            for component in NEEDED {
                let _ = std::fs::remove_file(scratch.join(descriptor.file_name(component)));
            }
        }
        assert!(plain > 0 && all > 80, "{plain} of {all} without compression");
    });
}

/// In a table whose column is of another type no client could decode what is there.
#[test]
fn a_table_of_other_types_is_not_the_files() {
    on_disk("cassandra-types", |runtime, _| async move {
        let mut refused = 0;
        for (folder, descriptor) in fixtures() {
            let statistics =
                read(&folder, &descriptor, Component::Statistics).expect("every SSTable has Statistics.db");
            let mut header = Statistics::read(descriptor.version, &statistics).expect("it decodes").header;
            let Some(column) = header.regulars.iter_mut().find(|column| column.ty == CqlType::Text) else { continue };
            column.ty = CqlType::Int;
            let table = Rc::new(table_of(&header, Ids::AsWritten));
            let pages = PageCache::new(64 << 10);
            let sstable = Sstable::open(&runtime, &pages, &folder, descriptor.clone(), &table).await;
            let error = sstable.expect("cells of the same form can be read").check_header().expect_err("other types");
            assert!(error.contains("which does not fit regular int"), "{error}");
            refused += 1;
        }
        assert!(refused > 0, "no file has a column of text");
    });
}
