//! Data.db and Statistics.db as real Cassandra wrote them: read, and written again to the same bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cql_types::CqlType;
use mutation::{ClusteringRef, Deletion, RowRef};
use schema::{Column, ColumnId, ColumnKind, Order, Table, TableId, TableOptions};
use sstable::compression::{ChunkDecoder, CompressionInfo};
use sstable::data::{DataReader, DataWriter, Item, Step};
use sstable::statistics::{FileFacts, Statistics};
use sstable::{Component, Descriptor, Header, HeaderColumn, Marker, Version};

/// An SSTable among the fixtures.
struct Fixture {
    folder: PathBuf,
    descriptor: Descriptor,
}

impl Fixture {
    /// All of them, or all of one version.
    fn all(version: Option<Version>) -> Vec<Fixture> {
        let mut found = Vec::new();
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/cassandra")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("the fixtures' folder is there") {
                let path = entry.expect("a folder can be listed").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if let Some((descriptor, Component::Data)) = Descriptor::parse(name)
                    && version.is_none_or(|version| version == descriptor.version)
                {
                    found.push(Fixture { folder: folder.clone(), descriptor });
                }
            }
        }
        found.sort_by(|a, b| (&a.folder, &a.descriptor).cmp(&(&b.folder, &b.descriptor)));
        assert!(found.len() > 30, "there are fixtures of each version");
        found
    }

    fn name(&self) -> String {
        self.folder.join(self.descriptor.to_string()).display().to_string()
    }

    fn read(&self, component: Component) -> Option<Vec<u8>> {
        std::fs::read(self.folder.join(self.descriptor.file_name(component))).ok()
    }

    fn statistics_bytes(&self) -> Vec<u8> {
        self.read(Component::Statistics).expect("every SSTable has Statistics.db")
    }

    fn statistics(&self) -> Statistics {
        let read = Statistics::read(self.descriptor.version, &self.statistics_bytes());
        read.unwrap_or_else(|error| panic!("{}: {error}", self.name()))
    }

    /// The data, decompressed.
    fn data(&self) -> Vec<u8> {
        let stored = self.read(Component::Data).expect("every SSTable has Data.db");
        let Some(info) = self.read(Component::CompressionInfo) else { return stored };
        let info = CompressionInfo::decode(&info, self.descriptor.version, stored.len() as u64).expect("it decodes");
        let mut decoder = ChunkDecoder::new(info.params());
        let mut data = Vec::new();
        for number in 0..info.chunk_count() {
            let chunk = info.chunk(number).expect("all chunks are there");
            let start = usize::try_from(chunk.offset).expect("a small file");
            let bytes = &stored[start..start + chunk.stored_length];
            decoder.decode(bytes, chunk.data_length, &mut data).expect("a chunk decodes");
        }
        data
    }
}

/// In which order a table's columns got their ids.
#[derive(Clone, Copy, PartialEq)]
enum Ids {
    AsWritten,
    Reversed,
}

/// A table that the rows fit.
fn table_of(header: &Header, ids: Ids) -> Table {
    let mut columns = Vec::new();
    let mut add = |name: String, ty: &CqlType, kind, position: usize, order| {
        let position = u16::try_from(position).expect("few columns");
        columns.push(Column { id: ColumnId(0), name, ty: ty.clone(), kind, position, order });
    };
    for (place, ty) in header.partition_key.iter().enumerate() {
        add(format!("partition key {place}"), ty, ColumnKind::PartitionKey, place, Order::Asc);
    }
    for (place, of) in header.clustering.iter().enumerate() {
        let order = if of.is_reversed { Order::Desc } else { Order::Asc };
        add(format!("clustering {place}"), &of.ty, ColumnKind::Clustering, place, order);
    }
    for (kind, written) in [(ColumnKind::Static, &header.statics), (ColumnKind::Regular, &header.regulars)] {
        for HeaderColumn { name, ty } in written {
            add(name.clone(), ty, kind, 0, Order::Asc);
        }
    }
    let count = u16::try_from(columns.len()).expect("few columns");
    for (column, id) in columns.iter_mut().zip(0..count) {
        column.id = ColumnId(if ids == Ids::Reversed { count - 1 - id } else { id });
    }
    Table::new(TableId([7; 16]), "ks", "t", columns, TableOptions::default())
}

/// What was read, kept.
#[derive(Debug, Clone, PartialEq)]
enum Kept {
    Partition { key: Vec<u8>, deletion: Option<Deletion>, static_row: Option<Vec<u8>> },
    Row { clustering: Vec<u8>, row: Vec<u8> },
    Marker { prefix: Vec<u8>, after: bool, closes: Option<Deletion>, opens: Option<Deletion> },
    End,
}

impl Kept {
    fn of(item: &Item<'_>) -> Kept {
        match *item {
            Item::Partition { key, deletion, static_row } => {
                let static_row = static_row.map(|row| row.bytes().to_vec());
                Kept::Partition { key: key.to_vec(), deletion, static_row }
            }
            Item::Row { clustering, row } => {
                Kept::Row { clustering: clustering.bytes().to_vec(), row: row.bytes().to_vec() }
            }
            Item::SkippedRow => panic!("every row is wanted"),
            Item::Marker(Marker { prefix, after, closes, opens }) => {
                Kept::Marker { prefix: prefix.bytes().to_vec(), after, closes, opens }
            }
            Item::PartitionEnd => Kept::End,
        }
    }
}

/// Reads all of `data`, with never more bytes before the reader than it asked for.
fn read_all(reader: &mut DataReader, data: &[u8], name: &str) -> Vec<Kept> {
    let (mut kept, mut start, mut end) = (Vec::new(), 0, 0);
    while start < data.len() {
        match reader.next(&data[start..end]).unwrap_or_else(|error| panic!("{name}: {}", error.from_base(start as u64)))
        {
            Step::NeedMore { at_least } => {
                assert!(at_least > end - start, "{name}: it asks for more");
                end = start + at_least;
                assert!(end <= data.len(), "{name}: at {start} it asks for {at_least} bytes, beyond the end");
            }
            Step::Item { item, used } => {
                kept.push(Kept::of(&item));
                start += used;
            }
        }
    }
    kept
}

fn write_all(writer: &mut DataWriter, items: &[Kept]) -> Vec<u8> {
    let mut out = Vec::new();
    for item in items {
        match item {
            Kept::Partition { key, deletion, static_row } => {
                let row = static_row.as_ref().map(|row| RowRef::decode(row).expect("a row's blob decodes"));
                writer.partition(&mut out, key, *deletion, row);
            }
            Kept::Row { clustering, row } => {
                let clustering = ClusteringRef::decode(clustering).expect("a clustering decodes");
                writer.row(&mut out, clustering, RowRef::decode(row).expect("a row's blob decodes"));
            }
            Kept::Marker { prefix, after, closes, opens } => {
                let prefix = ClusteringRef::decode(prefix).expect("a prefix decodes");
                writer.marker(&mut out, &Marker { prefix, after: *after, closes: *closes, opens: *opens });
            }
            Kept::End => {
                writer.end_partition(&mut out);
            }
        }
    }
    out
}

fn has_counters(header: &Header) -> bool {
    header.statics.iter().chain(&header.regulars).any(|column| column.ty == CqlType::Counter)
}

/// Every SSTable of every version is read whole, whatever ids the table's columns have.
#[test]
fn all_versions_are_read() {
    let mut versions = BTreeMap::new();
    for fixture in Fixture::all(None) {
        let (name, version) = (fixture.name(), fixture.descriptor.version);
        let (statistics, data) = (fixture.statistics(), fixture.data());
        for ids in [Ids::AsWritten, Ids::Reversed] {
            let table = table_of(&statistics.header, ids);
            let mut reader = DataReader::new(version, &statistics.header, &table).expect("the columns are known");
            let items = read_all(&mut reader, &data, &name);
            assert_eq!(items.last(), Some(&Kept::End), "{name}");
            let rows = items.iter().filter(|item| match item {
                Kept::Row { row, .. } | Kept::Partition { static_row: Some(row), .. } => {
                    RowRef::decode(row).expect("a row's blob decodes");
                    true
                }
                _ => false,
            });
            assert_eq!(rows.count() as i64, statistics.stats.rows, "{name}");
            *versions.entry(version).or_insert(0) += 1;
        }
    }
    assert!(versions.len() >= 4, "da, oa, nb and me are read: {versions:?}");
}

/// What Cassandra wrote is what we write of it, byte for byte.
#[test]
fn data_is_written_again_to_the_same_bytes() {
    let mut same = 0;
    for fixture in Fixture::all(Some(Version::DA)) {
        let (name, header, data) = (fixture.name(), fixture.statistics().header, fixture.data());
        if has_counters(&header) {
            continue;
        }
        for ids in [Ids::AsWritten, Ids::Reversed] {
            let table = table_of(&header, ids);
            let mut reader = DataReader::new(Version::DA, &header, &table).expect("the columns are known");
            let items = read_all(&mut reader, &data, &name);
            let mut writer = DataWriter::new(&table, &header).expect("the columns are known");
            let written = write_all(&mut writer, &items);
            let differs = written.iter().zip(&data).position(|(a, b)| a != b);
            let around =
                |bytes: &[u8]| differs.map(|at| bytes[at.saturating_sub(24)..bytes.len().min(at + 24)].to_vec());
            assert_eq!((differs, around(&written)), (None, around(&data)), "{name}");
            assert_eq!(written.len(), data.len(), "{name}");
            same += 1;
        }
    }
    assert!(same > 50, "{same}");
}

/// The parts of a Statistics.db, without their checksums.
fn parts(bytes: &[u8]) -> Vec<Vec<u8>> {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    let starts: Vec<usize> = (0..number(0)).map(|place| number(12 + place * 8)).chain([bytes.len()]).collect();
    starts.windows(2).map(|pair| bytes[pair[0]..pair[1] - 4].to_vec()).collect()
}

/// Statistics are written again to the same bytes, and what is gathered while writing is what Cassandra gathered.
#[test]
fn statistics_are_cassandras() {
    for fixture in Fixture::all(Some(Version::DA)) {
        let (name, bytes, data) = (fixture.name(), fixture.statistics_bytes(), fixture.data());
        let theirs = fixture.statistics();
        assert_eq!(Statistics::read(Version::DA, &theirs.write()).as_ref(), Ok(&theirs), "{name}");
        for (place, (ours, theirs)) in parts(&theirs.write()).iter().zip(parts(&bytes)).enumerate() {
            // Behind what it holds Cassandra leaves zeros in one of the parts.
            let (same, padding) = theirs.split_at(ours.len().min(theirs.len()));
            assert!(ours == same && padding.iter().all(|&byte| byte == 0), "{name}: part {place} has other bytes");
        }
        let table = table_of(&theirs.header, Ids::AsWritten);
        let mut reader = DataReader::new(Version::DA, &theirs.header, &table).expect("the columns are known");
        let items = read_all(&mut reader, &data, &name);
        let mut writer = DataWriter::new(&table, &theirs.header).expect("the columns are known");
        write_all(&mut writer, &items);
        let facts = FileFacts {
            bloom_filter_fp_chance: theirs.bloom_filter_fp_chance,
            compression_ratio: theirs.stats.compression_ratio,
            host: theirs.stats.originating_host.expect("it is said who wrote it"),
            token_space_coverage: theirs.stats.token_space_coverage,
        };
        let mut ours = writer.finish().finish(&facts);
        ours.stats.commit_log_intervals.clone_from(&theirs.stats.commit_log_intervals);
        if has_counters(&theirs.header) {
            ours.stats.partition_sizes.clone_from(&theirs.stats.partition_sizes);
        }
        assert_eq!(ours.stats, theirs.stats, "{name}");
    }
}
