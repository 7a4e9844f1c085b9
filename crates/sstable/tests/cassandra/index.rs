//! The indexes that real Cassandra wrote: every partition and row is found where Data.db has it, and what we write of the same data is
//! the same bytes.

use cql_types::comparable;
use mutation::{Bound, ClusteringRef, Deletion};
use schema::{Column, Table};
use sstable::big::{Index, Summary};
use sstable::bti::{Partition, PartitionIndex, PartitionIndexWriter, RowIndex, RowIndexWriter};
use sstable::byte_comparable::{self, Place};
use sstable::data::{DataReader, Item, Step};
use sstable::statistics::Statistics;
use sstable::{Block, Blocks, Component, Filter, FilterBuilder, Format, KeyHash, LookupError, Marker, PAGE_LENGTH};
use topology::{Token, token_of};

use crate::fixtures::Fixture;
use crate::tables::{Ids, table_of};

/// A row or marker as it lies in Data.db.
struct Unfiltered {
    /// From the partition's beginning.
    begins: u64,
    ends: u64,
    /// Its clustering, as mutations have it.
    clustering: Vec<u8>,
    place: Place,
    /// The range deletion that holds behind it.
    open: Option<Deletion>,
}

struct Found {
    key: Vec<u8>,
    token: Token,
    position: u64,
    deletion: Option<Deletion>,
    rows: Vec<Unfiltered>,
    /// Where the rows end.
    ends: u64,
}

fn partitions(fixture: &Fixture, statistics: &Statistics, table: &Table) -> Vec<Found> {
    let data = fixture.data();
    let mut reader = DataReader::new(fixture.descriptor.version, &statistics.header, table).expect("columns are known");
    let mut found: Vec<Found> = Vec::new();
    let (mut at, mut open_before) = (0, None);
    while at < data.len() {
        let Step::Item { item, used } = reader.next(&data[at..]).expect("the data is good") else {
            panic!("{}: all bytes are there", fixture.name())
        };
        let (begins, ends) = (at as u64, (at + used) as u64);
        let mut add = |clustering: ClusteringRef<'_>, place, open| {
            let partition = found.last_mut().expect("rows are in partitions");
            let (begins, ends) = (begins - partition.position, ends - partition.position);
            partition.rows.push(Unfiltered { begins, ends, clustering: clustering.bytes().to_vec(), place, open });
            partition.ends = ends;
        };
        match item {
            Item::Partition { key, deletion, .. } => {
                let (key, token) = (key.to_vec(), token_of(key));
                found.push(Found { key, token, position: begins, deletion, rows: Vec::new(), ends: used as u64 });
                open_before = None;
            }
            Item::Row { clustering, .. } => add(clustering, Place::Row, open_before),
            Item::Marker(Marker { prefix, after, opens, .. }) => {
                open_before = opens;
                add(prefix, if after { Place::After } else { Place::Before }, opens);
            }
            Item::SkippedRow => panic!("every row is wanted"),
            Item::PartitionEnd => {}
        }
        at += used;
    }
    assert!(!found.is_empty());
    found
}

fn form_of(columns: &[Column], row: &Unfiltered, out: &mut Vec<u8>) {
    byte_comparable::clustering(columns, ClusteringRef::trusted(&row.clustering), row.place, out);
}

/// The bounds of a slice of one row, made of our own comparable form.
fn slice_of(columns: &[Column], row: &Unfiltered) -> (Vec<u8>, Vec<u8>) {
    let mut prefix = Vec::new();
    for (column, value) in columns.iter().zip(ClusteringRef::trusted(&row.clustering).components()) {
        comparable::encode(&column.ty, value, column.is_reversed(), &mut prefix);
    }
    let bound = Bound { prefix: &prefix, inclusive: true };
    let (mut start, mut end) = (Vec::new(), Vec::new());
    byte_comparable::bound(columns, bound, true, &mut start);
    byte_comparable::bound(columns, bound, false, &mut end);
    (start, end)
}

/// Holds a wide partition's blocks against its rows.
fn check_blocks(
    name: &str,
    columns: &[Column],
    partition: &Found,
    file: &[u8],
    count: u32,
    blocks: impl Fn(&[u8], &[u8]) -> Result<Blocks, LookupError>,
) {
    let mut whole = blocks(&[0x20], &[0x60]).expect("a good file");
    let mut all: Vec<Block> = std::iter::from_fn(|| whole.next(file).expect("a good file")).collect();
    let mut back = blocks(&[0x20], &[0x60]).expect("a good file");
    let reversed: Vec<Block> = std::iter::from_fn(|| back.next_back(file).expect("a good file")).collect();
    assert!(all.iter().rev().eq(&reversed), "{name}");
    assert_eq!(all.len(), count as usize, "{name}");
    // Some versions count the byte that ends the partition to the last block.
    let last = all.last_mut().expect("a wide partition has blocks");
    assert!(last.ends == partition.ends || last.ends == partition.ends + 1, "{name}");
    last.ends = partition.ends;
    let mut open = None;
    let mut rows = partition.rows.iter().peekable();
    for block in &all {
        assert_eq!(rows.peek().map(|row| row.begins), Some(block.begins), "{name}: a block begins with a row");
        assert_eq!(block.open, open, "{name}: at {}", block.begins);
        while let Some(row) = rows.next_if(|row| row.begins < block.ends) {
            assert!(row.ends <= block.ends, "{name}: a block ends with a row");
            open = row.open;
        }
    }
    assert!(rows.peek().is_none(), "{name}: each row is in a block");
    // Of each row its own block is read, and seldom one beside it.
    let (mut slices, mut read) = (0, 0);
    for row in &partition.rows {
        let own = all.iter().find(|block| (block.begins..block.ends).contains(&row.begins)).expect("it is in a block");
        let (start, end) = slice_of(columns, row);
        let mut found = blocks(&start, &end).expect("a good file");
        let mut has_own = false;
        while let Some(block) = found.next(file).expect("a good file") {
            has_own |= block.begins == own.begins;
            read += 1;
        }
        assert!(has_own, "{name}: the row at {} is in the block at {}", row.begins, own.begins);
        slices += 1;
    }
    assert!(read <= slices + slices / 10 + 1, "{name}: {read} blocks for {slices} rows");
}

/// What `da` has of one SSTable.
struct Tries {
    partitions: Vec<u8>,
    rows: Vec<u8>,
    filter: Vec<u8>,
}

fn write(partitions: &[Found], columns: &[Column], chance: f64) -> Tries {
    let (mut index, mut rows) = (PartitionIndexWriter::new(), RowIndexWriter::new(columns));
    let mut filter = FilterBuilder::new(partitions.len() as u64, chance);
    let mut written = Tries { partitions: Vec::new(), rows: Vec::new(), filter: Vec::new() };
    for partition in partitions {
        for row in &partition.rows {
            rows.add(row.begins, row.ends, row.open, |out| form_of(columns, row, out), &mut written.rows);
        }
        let Found { key, token, position, deletion, ends, .. } = partition;
        let entry = rows.end_partition(key, *position, *deletion, *ends, &mut written.rows);
        let place = entry.map_or(Partition::Data(*position), Partition::Rows);
        let hash = KeyHash::of(key);
        index.add(*token, key, hash, place, &mut written.partitions);
        filter.add(hash);
    }
    index.finish(&mut written.partitions);
    filter.finish().encode(&mut written.filter);
    written
}

#[test]
fn tries_and_filters_are_written_again_to_the_same_bytes() {
    let (mut count, mut wide) = (0, 0);
    for fixture in Fixture::all(None).into_iter().filter(|fixture| fixture.descriptor.format() == Format::Bti) {
        let (name, statistics) = (fixture.name(), fixture.statistics());
        let table = table_of(&statistics.header, Ids::AsWritten);
        let partitions = partitions(&fixture, &statistics, &table);
        let read = |component| fixture.read(component).expect("each SSTable has it");
        let written = write(&partitions, table.clustering(), statistics.bloom_filter_fp_chance);
        assert!(written.partitions == read(Component::Partitions), "{name}: Partitions.db has other bytes");
        assert!(written.rows == read(Component::Rows), "{name}: Rows.db has other bytes");
        let is_same_filter = written.filter == read(Component::Filter);
        assert!(is_same_filter || fixture.is_compacted(), "{name}: Filter.db has other bytes");
        count += 1;
        wide += usize::from(!written.rows.is_empty());
    }
    assert!(count > 40 && wide > 3, "{count} SSTables, {wide} with wide partitions");
}

#[test]
fn tries_lead_to_partitions_and_rows() {
    for fixture in Fixture::all(None).into_iter().filter(|fixture| fixture.descriptor.format() == Format::Bti) {
        let (name, statistics) = (fixture.name(), fixture.statistics());
        let table = table_of(&statistics.header, Ids::AsWritten);
        let partitions = partitions(&fixture, &statistics, &table);
        let file = fixture.read(Component::Partitions).expect("each SSTable has it");
        let rows = fixture.read(Component::Rows).expect("each SSTable has it");
        let index = PartitionIndex::open(&file[..], file.len() as u64).expect("a good file");
        assert_eq!(index.count, partitions.len() as u64, "{name}");
        assert_eq!(index.first_key, partitions[0].key, "{name}");
        assert_eq!(index.last_key, partitions[partitions.len() - 1].key, "{name}");
        let mut cursor = index.start();
        for partition in &partitions {
            let mut form = Vec::new();
            byte_comparable::key(partition.token, &partition.key, &mut form);
            let place = index.find(&file[..], &form, KeyHash::of(&partition.key)).expect("a good file");
            assert_eq!(cursor.next(&file[..]), Ok(place), "{name}");
            match place.expect("it is there") {
                Partition::Data(position) => assert_eq!(position, partition.position, "{name}"),
                Partition::Rows(position) => {
                    let mut key = Vec::new();
                    let wide = RowIndex::open(&rows[..], position, &mut key).expect("a good file");
                    assert_eq!((&key, wide.data_position), (&partition.key, partition.position), "{name}");
                    assert_eq!(wide.deletion, partition.deletion, "{name}");
                    let find = |start: &[u8], end: &[u8]| wide.blocks(&rows[..], start, end);
                    check_blocks(&name, table.clustering(), partition, &rows, wide.block_count, find);
                }
            }
        }
        assert_eq!(cursor.next(&file[..]), Ok(None), "{name}");
    }
}

#[test]
fn sorted_indexes_lead_to_partitions_and_rows() {
    let (mut versions, mut wide) = (std::collections::BTreeSet::new(), 0);
    for fixture in Fixture::all(None).into_iter().filter(|fixture| fixture.descriptor.format() == Format::Big) {
        let (name, statistics) = (fixture.name(), fixture.statistics());
        let version = fixture.descriptor.version;
        versions.insert(version);
        let table = table_of(&statistics.header, Ids::AsWritten);
        let partitions = partitions(&fixture, &statistics, &table);
        let file = fixture.read(Component::Index).expect("each SSTable has it");
        let summary = fixture.read(Component::Summary).expect("each SSTable has it");
        let summary = Summary::decode(summary).expect("a good file");
        assert_eq!(summary.first_key, partitions[0].key, "{name}");
        assert_eq!(summary.last_key, partitions[partitions.len() - 1].key, "{name}");
        assert_eq!(summary.len(), partitions.len().div_ceil(128), "{name}");
        let index = Index { length: file.len() as u64, version };
        let (mut position, mut key) = (0, Vec::new());
        for partition in &partitions {
            let entry = index.entry(&file[..], position, &mut key).expect("a good file").expect("one more");
            assert_eq!((&key, entry.data_position), (&partition.key, partition.position), "{name}");
            let from = summary.seek(partition.token, &partition.key);
            assert!(from <= position, "{name}");
            let found = index.find(&file[..], from, partition.token, &partition.key);
            assert_eq!(found, Ok(Some(entry)), "{name}");
            if entry.block_count > 0 {
                assert_eq!(entry.deletion, partition.deletion, "{name}");
                let columns = table.clustering();
                let find = |start: &[u8], end: &[u8]| index.blocks(&file[..], &entry, columns, start, end);
                check_blocks(&name, columns, partition, &file, entry.block_count, find);
                wide += 1;
            }
            position = entry.next;
        }
        assert_eq!(index.entry(&file[..], position, &mut key), Ok(None), "{name}");
        finds_no_others(&name, &partitions, |token, key| {
            index.find(&file[..], summary.seek(token, key), token, key).expect("a good file").is_some()
        });
    }
    assert!(versions.len() >= 3 && wide > 8, "{versions:?}, {wide} wide partitions");
}

/// Keys that are not there are not found.
fn finds_no_others(name: &str, partitions: &[Found], find: impl Fn(Token, &[u8]) -> bool) {
    for number in 0..1_000_u32 {
        let key = [&number.to_be_bytes()[..], b"absent"].concat();
        if partitions.iter().all(|partition| partition.key != key) {
            assert!(!find(token_of(&key), &key), "{name}: {number}");
        }
    }
}

#[test]
fn filters_have_their_keys_and_few_others() {
    for fixture in Fixture::all(None) {
        let (name, statistics) = (fixture.name(), fixture.statistics());
        let table = table_of(&statistics.header, Ids::AsWritten);
        let Some(bytes) = fixture.read(Component::Filter) else { continue };
        let filter = Filter::decode(&bytes, fixture.descriptor.version).expect("a good file");
        for partition in partitions(&fixture, &statistics, &table) {
            assert!(filter.may_contain(KeyHash::of(&partition.key)), "{name}");
        }
        let absent = |number: u32| KeyHash::of(&[&number.to_be_bytes()[..], b"absent"].concat());
        let let_through = (0..2_000).filter(|&number| filter.may_contain(absent(number))).count();
        let expected = 2_000.0 * statistics.bloom_filter_fp_chance;
        assert!((let_through as f64) < 2.0 * expected + 10.0, "{name}: {let_through}, where {expected} are expected");
    }
}

/// Lookups need no pages beside those on the way, and stop at the first that is not there.
#[test]
fn lookups_ask_for_the_pages_they_need() {
    struct Held<'a> {
        file: &'a [u8],
        held: std::cell::RefCell<Vec<u32>>,
    }
    impl sstable::Pages for Held<'_> {
        fn page(&self, number: u32) -> Result<&[u8], sstable::NeedPage> {
            if !self.held.borrow().contains(&number) {
                return Err(sstable::NeedPage(number));
            }
            self.file.page(number)
        }
    }
    let fixtures = Fixture::all(None);
    let name = |fixture: &&Fixture| fixture.descriptor.format() == Format::Bti && fixture.folder.ends_with("many/many");
    let fixture = fixtures.iter().find(name).expect("there is a table of many partitions");
    let file = fixture.read(Component::Partitions).expect("each SSTable has it");
    assert!(file.len() > 2 * PAGE_LENGTH);
    let statistics = fixture.statistics();
    let table = table_of(&statistics.header, Ids::AsWritten);
    let index = PartitionIndex::open(&file[..], file.len() as u64).expect("a good file");
    for partition in partitions(fixture, &statistics, &table) {
        let mut form = Vec::new();
        byte_comparable::key(partition.token, &partition.key, &mut form);
        let pages = Held { file: &file, held: std::cell::RefCell::default() };
        let place = loop {
            match index.find(&pages, &form, KeyHash::of(&partition.key)) {
                Err(LookupError::Need(number)) => pages.held.borrow_mut().push(number),
                other => break other.expect("a good file"),
            }
        };
        assert_eq!(place, Some(Partition::Data(partition.position)));
        assert!(pages.held.borrow().len() <= 2, "{:?}", pages.held.borrow());
    }
}
