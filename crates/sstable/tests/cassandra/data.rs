//! Data.db and Statistics.db as real Cassandra wrote them: read, and written again to the same bytes.

#![allow(clippy::disallowed_methods, reason = "a test reads fixtures from the source tree")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cql_types::CqlType;
use mutation::{CellRef, Deletion, Expiry, Liveness, RowBuilder, RowRef};
use schema::{ColumnId, DdlContext, Schema, TableId, plan_ddl};
use sstable::data::{DataReader, DataWriter};
use sstable::statistics::{FileFacts, Statistics};
use sstable::{Component, Descriptor, Header, HeaderColumn, Version};

use crate::fixtures::Fixture;
use crate::items::{Kept, read_all};
use crate::tables::{Ids, table_of};
use crate::writing::write_all;

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
            level: theirs.stats.level,
            repaired_at: theirs.stats.repaired_at,
        };
        let mut ours = writer.finish().finish(&facts);
        ours.stats.commit_log_intervals.clone_from(&theirs.stats.commit_log_intervals);
        assert_eq!(ours.stats, theirs.stats, "{name}");
    }
}

/// A list's element ids differ from run to run of Cassandra: such columns are left out.
fn differs_between_runs(column: &HeaderColumn) -> bool {
    matches!(column.ty, CqlType::List { frozen: false, .. })
}

/// What of an item two runs of Cassandra have in common.
struct Common {
    hidden: Vec<ColumnId>,
    /// Whether the clock, and the ttls that fit it, were what the script says.
    has_seconds: bool,
}

impl Common {
    fn second(&self, second: u32) -> u32 {
        if self.has_seconds { second } else { 0 }
    }

    fn deletion(&self, deletion: Option<Deletion>) -> Option<Deletion> {
        deletion.map(|deletion| Deletion { local_deletion_time: self.second(deletion.local_deletion_time), ..deletion })
    }

    fn expiry(&self, expiry: Option<Expiry>) -> Option<Expiry> {
        if self.has_seconds { expiry } else { expiry.map(|_| Expiry { ttl: 1, local_deletion_time: 0 }) }
    }

    fn row(&self, row: &[u8]) -> Vec<u8> {
        let row = RowRef::decode(row).expect("a row's blob decodes");
        let mut out = Vec::new();
        let mut builder = RowBuilder::begin(&out);
        if let Some(deletion) = self.deletion(row.deletion()) {
            builder.deletion(deletion);
        }
        if let Some(liveness) = row.liveness() {
            builder.liveness(Liveness { expiry: self.expiry(liveness.expiry), ..liveness });
        }
        for cell in row.cells().filter(|cell| !self.hidden.contains(&cell.column)) {
            let tombstone = cell.tombstone.map(|second| self.second(second));
            builder.cell(&mut out, &CellRef { tombstone, expiry: self.expiry(cell.expiry), ..cell });
        }
        builder.finish(&mut out);
        out
    }

    fn of(&self, item: &Kept) -> Kept {
        match item {
            Kept::Partition { key, deletion, static_row } => {
                let static_row = static_row.as_ref().map(|row| self.row(row));
                Kept::Partition { key: key.clone(), deletion: self.deletion(*deletion), static_row }
            }
            Kept::Row { clustering, row } => Kept::Row { clustering: clustering.clone(), row: self.row(row) },
            Kept::Marker { prefix, after, closes, opens } => {
                let (closes, opens) = (self.deletion(*closes), self.deletion(*opens));
                Kept::Marker { prefix: prefix.clone(), after: *after, closes, opens }
            }
            Kept::End => Kept::End,
        }
    }
}

/// The older versions' files hold what those of `da` hold, from the same statements.
#[test]
fn older_versions_hold_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/cassandra");
    let mut compared = BTreeMap::new();
    for newest in Fixture::all(Some(Version::DA)) {
        let header = newest.statistics().header;
        if has_counters(&header) {
            // Counters have the server's clock.
            continue;
        }
        let table = table_of(&header, Ids::AsWritten);
        let mut reader = DataReader::new(Version::DA, &header, &table).expect("the columns are known");
        let expected = read_all(&mut reader, &newest.data(), &newest.name());
        let columns = header.statics.iter().chain(&header.regulars);
        let differing = columns.filter(|column| differs_between_runs(column));
        let hidden = differing.filter_map(|column| table.column(&column.name)).map(|column| column.id).collect();
        let mut common = Common { hidden, has_seconds: true };
        let below = newest.folder.strip_prefix(root.join("da")).expect("it lies among those of its version");
        for version in Version::READ.into_iter().filter(|&version| version != Version::DA) {
            let folder = root.join(version.name()).join(below);
            let descriptor = Descriptor { version, generation: newest.descriptor.generation.clone() };
            let older = Fixture { folder, descriptor };
            let is_3 = version.name() == "me";
            // 3.x has the machine's clock, and keeps tombstones that are new by it.
            if older.read(Component::Data).is_none() || is_3 && older.is_compacted() {
                continue;
            }
            let name = older.name();
            let mut reader = DataReader::new(version, &older.statistics().header, &table)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let items = read_all(&mut reader, &older.data(), &name);
            common.has_seconds = !is_3;
            // What a statement wrote that 3.x does not know is not in its files.
            let partitions = keys(&items);
            let expected = expected.split_inclusive(|item| *item == Kept::End);
            let expected = expected.filter(|partition| !is_3 || keys(partition).is_subset(&partitions)).flatten();
            let expected: Vec<Kept> = expected.map(|item| common.of(item)).collect();
            let items: Vec<Kept> = items.iter().map(|item| common.of(item)).collect();
            assert_eq!(items.iter().zip(&expected).find(|(a, b)| a != b), None, "{name}");
            assert_eq!(items.len(), expected.len(), "{name}");
            *compared.entry(version).or_insert(0) += 1;
        }
    }
    assert!(compared.len() >= 3 && compared.values().all(|&count| count > 20), "{compared:?}");
}

/// The keys of the partitions among what was read.
fn keys(items: &[Kept]) -> BTreeSet<&[u8]> {
    let keys = items.iter().filter_map(|item| match item {
        Kept::Partition { key, .. } => Some(&key[..]),
        _ => None,
    });
    keys.collect()
}

/// A counter is the sum of its parts: what a real Cassandra answered after each flush.
#[test]
fn counters_are_sums() {
    for (table, file, expected) in [
        ("counted", "1", vec![("m", i64::MAX), ("n", 3), ("m", -7)]),
        ("counted", "2", vec![("n", 103)]),
        ("with_static", "1", vec![("total", 45), ("n", 4), ("n", 3), ("n", 3)]),
        ("with_static", "2", vec![("total", 1045)]),
    ] {
        let fixtures = Fixture::all(None).into_iter();
        let fixtures = fixtures.filter(|fixture| fixture.folder.ends_with(format!("counters/{table}")));
        let fixtures: Vec<Fixture> =
            fixtures.filter(|fixture| fixture.descriptor.generation.to_string() == file).collect();
        assert!(fixtures.len() >= 4, "there are counters of each version");
        for fixture in fixtures {
            let (name, header) = (fixture.name(), fixture.statistics().header);
            let table = table_of(&header, Ids::AsWritten);
            let mut reader =
                DataReader::new(fixture.descriptor.version, &header, &table).expect("the columns are known");
            let mut found = Vec::new();
            for item in read_all(&mut reader, &fixture.data(), &name) {
                let (Kept::Row { row, .. } | Kept::Partition { static_row: Some(row), .. }) = item else { continue };
                for cell in RowRef::trusted(&row).cells().filter(|cell| !cell.is_tombstone()) {
                    let column = table.column_by_id(cell.column).expect("the column is the table's");
                    assert!(cell.is_counter, "{name}");
                    let sum = cell.shown().try_into().map(i64::from_be_bytes).expect("a count has eight bytes");
                    found.push((column.name.clone(), sum));
                }
            }
            let expected: Vec<(String, i64)> = expected.iter().map(|(name, sum)| ((*name).to_owned(), *sum)).collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}

/// Statistics.db of 3.x, which has no checksums, with `cut` done to its stats part.
fn of_3_with_stats(bytes: &[u8], cut: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    let count = number(0);
    let starts: Vec<usize> = (0..count).map(|place| number(8 + place * 8)).chain([bytes.len()]).collect();
    let mut parts: Vec<Vec<u8>> = starts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect();
    let stats = (0..count).find(|place| number(4 + place * 8) == 2).expect("there are stats");
    cut(&mut parts[stats]);
    let mut out = bytes[..4].to_vec();
    let mut position = 4 + 8 * count;
    for (place, part) in parts.iter().enumerate() {
        out.extend_from_slice(&bytes[4 + place * 8..8 + place * 8]);
        out.extend_from_slice(&u32::try_from(position).expect("a small file").to_be_bytes());
        position += part.len();
    }
    [out, parts.concat()].concat()
}

/// Versions of which there are no files are those there are without what came later: the ends of the stats part, one after
/// the other.
#[test]
fn statistics_of_versions_between_are_read() {
    const HOST: usize = 1 + 16;
    const POSITION: usize = 12;
    let mut count = 0;
    for fixture in Fixture::all(Version::parse("me")) {
        let (name, bytes, newest) = (fixture.name(), fixture.statistics_bytes(), fixture.statistics());
        let host = if newest.stats.originating_host.is_some() { HOST } else { 1 };
        let intervals = 4 + 2 * POSITION * newest.stats.commit_log_intervals.len();
        for (version, cut) in
            [("md", host), ("mc", host), ("mb", host + intervals), ("ma", host + intervals + POSITION)]
        {
            let older = of_3_with_stats(&bytes, |stats| stats.truncate(stats.len() - cut));
            let read = Statistics::read(Version::parse(version).expect("a version"), &older);
            let mut read = read.unwrap_or_else(|error| panic!("{name} as {version}: {error}"));
            read.stats.originating_host = newest.stats.originating_host;
            read.stats.commit_log_intervals.clone_from(&newest.stats.commit_log_intervals);
            assert_eq!(read.stats.covered_clustering.is_some(), version == "md", "{name} as {version}");
            read.stats.covered_clustering.clone_from(&newest.stats.covered_clustering);
            assert_eq!(read, newest, "{name} as {version}");
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

/// The schema that the statements beside a keyspace's tables make.
fn schema_of(keyspace: &str, text: &str) -> Schema {
    let create =
        format!("CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}");
    let mut schema = Schema::empty();
    for statement in std::iter::once(create.as_str()).chain(text.split(";\n").filter(|text| !text.trim().is_empty())) {
        let parsed = cql_syntax::parse(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        let context = DdlContext {
            current_keyspace: Some(keyspace),
            new_id: TableId([1; 16]),
            datacenters: &BTreeMap::new(),
            strategies: &topology::Strategies::default(),
            now_micros: 1_700_000_000_000_000,
            masks_enabled: false,
        };
        let plan = plan_ddl(&schema, &parsed, &context).unwrap_or_else(|error| panic!("{statement}: {error}"));
        schema = schema.with_all(&plan.changes);
    }
    schema
}

/// With the tables that the statements make, altered ones too, all files are read; and types are called what Cassandra
/// calls them.
#[test]
fn files_are_read_with_the_tables_of_their_statements() {
    let (mut read, mut same_types, mut of_dropped) = (0, 0, 0);
    for fixture in Fixture::all(None) {
        let name = fixture.name();
        let folder_name = |path: &Path| path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let keyspace_folder = fixture.folder.parent().expect("a keyspace's folder");
        let keyspace = folder_name(keyspace_folder);
        let text = std::fs::read_to_string(keyspace_folder.join("schema.cql")).expect("a keyspace has its statements");
        let schema = schema_of(&keyspace, &text);
        let table = schema.table(&keyspace, &folder_name(&fixture.folder)).expect("the statements make the table");
        let header = fixture.statistics().header;
        let mut reader = DataReader::new(fixture.descriptor.version, &header, table)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for item in read_all(&mut reader, &fixture.data(), &name) {
            if let Kept::Row { row, .. } = item {
                let row = RowRef::decode(&row).expect("a row's blob decodes");
                of_dropped += row.cells().filter(|cell| table.hides(cell.column, cell.timestamp)).count();
            }
        }
        read += 1;
        let ours = Header::of_table(table, header.encoding);
        let key = sstable::marshal::partition_key_types(table.partition_key(), header.partition_key.len());
        assert_eq!((key, &ours.clustering), (header.partition_key.iter().collect(), &header.clustering), "{name}");
        if keyspace == "dropped" {
            continue;
        }
        for (ours, theirs) in [(&ours.statics, &header.statics), (&ours.regulars, &header.regulars)] {
            let order: Vec<_> =
                ours.iter().filter(|column| theirs.iter().any(|other| other.name == column.name)).collect();
            assert_eq!(order, theirs.iter().collect::<Vec<_>>(), "{name}");
            same_types += theirs.len();
        }
    }
    assert!(read > 150 && same_types > 500 && of_dropped > 3, "{read} {same_types} {of_dropped}");
}
