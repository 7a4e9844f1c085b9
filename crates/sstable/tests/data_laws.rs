//! Laws of Data.db's writer and reader on random partitions: what is written is read, and bytes from anywhere do no harm.

mod items;
mod tables;
mod writing;

use cql_types::{CqlType, Field, comparable, compose, samples};
use items::{Kept, read_all};
use mutation::{CellRef, ClusteringRef, Deletion, Expiry, Liveness, RowBuilder, RowRef};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use schema::{ColumnId, Table};
use sstable::data::{DataReader, DataWriter, Item, Step, WritableCheck};
use sstable::marshal::ClusteringType;
use sstable::statistics::FileFacts;
use sstable::{EncodingStats, Header, HeaderColumn, Version};
use tables::{Ids, table_of};
use writing::write_all;

/// Types of one cell that are put together of others.
const FROZEN: [&str; 5] =
    ["frozen<list<int>>", "frozen<map<text, varint>>", "tuple<int, text>", "vector<float, 2>", "vector<text, 2>"];

/// Types of several cells.
const COMPLEX: [&str; 9] = [
    "list<text>",
    "set<int>",
    "set<text>",
    "set<decimal>",
    "set<frozen<list<varint>>>",
    "map<text, int>",
    "map<timeuuid, text>",
    "map<frozen<tuple<int, text>>, blob>",
    "udt",
];

fn ty(name: &str) -> CqlType {
    if name != "udt" {
        return CqlType::parse(name).expect("a type");
    }
    let field = |name: &str, ty| Field { name: name.to_owned(), ty };
    let fields = vec![field("a", CqlType::Int), field("b", CqlType::Text), field("c", CqlType::Blob)];
    CqlType::Udt { keyspace: "ks".to_owned(), name: "u".to_owned(), fields, frozen: false }
}

/// A value that may stand in a cell of the type.
fn value(ty: &CqlType) -> BoxedStrategy<Vec<u8>> {
    let parts = |types: Vec<CqlType>| {
        let of = ty.clone();
        let is_vector = matches!(ty, CqlType::Vector { .. });
        let part =
            |ty| value(ty).prop_filter("a vector has no empty parts", move |part| !is_vector || !part.is_empty());
        let values: Vec<_> = types.iter().map(part).collect();
        values.prop_map(move |parts| {
            compose(&of, &parts.iter().map(|part| Some(&part[..])).collect::<Vec<_>>()).expect("its parts make a value")
        })
    };
    match ty {
        CqlType::Text | CqlType::Ascii => "[\\x00ab]{0,4}".prop_map(String::into_bytes).boxed(),
        CqlType::Blob => vec(any::<u8>(), 0..200).boxed(),
        CqlType::Inet => prop_oneof![vec(any::<u8>(), 4), vec(any::<u8>(), 16)].boxed(),
        CqlType::Varint => vec(any::<u8>(), 1..4).boxed(),
        CqlType::Decimal => (any::<i8>(), vec(any::<u8>(), 1..4))
            .prop_map(|(scale, unscaled)| [&i32::from(scale).to_be_bytes()[..], &unscaled].concat())
            .boxed(),
        CqlType::Duration => Just(vec![2, 4, 6]).boxed(),
        CqlType::Boolean => (0_u8..2).prop_map(|byte| vec![byte]).boxed(),
        CqlType::Timeuuid => vec(any::<u8>(), 16)
            .prop_map(|mut uuid| {
                uuid[6] = 0x10 | uuid[6] & 0x0f;
                uuid
            })
            .boxed(),
        CqlType::List { element, .. } => parts(vec![(**element).clone(); 2]).boxed(),
        CqlType::Map { key, value, .. } => parts(vec![(**key).clone(), (**value).clone()]).boxed(),
        CqlType::Tuple(elements) => parts(elements.clone()).boxed(),
        CqlType::Vector { element, dimension } => parts(vec![(**element).clone(); *dimension as usize]).boxed(),
        fixed => {
            let length = fixed.fixed_len().expect("all others are of one length");
            prop_oneof![9 => vec(any::<u8>(), length), 1 => Just(Vec::new())].boxed()
        }
    }
}

fn timestamp() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 1_700_000_000_000_000_i64..1_700_000_000_000_010, 1 => any::<i64>().prop_filter("not deleted", |t| *t > i64::MIN)]
}

fn second() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 1_700_000_000_u32..1_700_000_100, 1 => any::<u32>()]
}

fn expiry() -> impl Strategy<Value = Option<Expiry>> {
    let expiry = (1_u32..10_000_000, second());
    option::weighted(0.2, expiry.prop_map(|(ttl, local_deletion_time)| Expiry { ttl, local_deletion_time }))
}

fn deletion() -> impl Strategy<Value = Deletion> {
    (timestamp(), second()).prop_map(|(timestamp, local_deletion_time)| Deletion { timestamp, local_deletion_time })
}

#[derive(Debug, Clone)]
struct Cell {
    timestamp: i64,
    expiry: Option<Expiry>,
    tombstone: Option<u32>,
    path: Vec<u8>,
    value: Vec<u8>,
}

fn cell(path_and_value: impl Strategy<Value = (Vec<u8>, Vec<u8>)>) -> impl Strategy<Value = Cell> {
    (timestamp(), expiry(), option::weighted(0.2, second()), path_and_value).prop_map(
        |(timestamp, expiry, tombstone, (path, value))| match tombstone {
            None => Cell { timestamp, expiry, tombstone, path, value },
            Some(_) => Cell { timestamp, expiry: None, tombstone, path, value: Vec::new() },
        },
    )
}

/// The path and value of an element.
fn element(of: &CqlType) -> BoxedStrategy<(Vec<u8>, Vec<u8>)> {
    let form = |ty: &CqlType, value: &[u8]| {
        let mut form = Vec::new();
        comparable::encode(ty, value, false, &mut form);
        form
    };
    match of.clone() {
        CqlType::List { element, .. } => (0_u64..1 << 60, any::<[u8; 8]>(), value(&element))
            .prop_map(|(time, rest, value)| ([time.to_be_bytes(), rest].concat(), value))
            .boxed(),
        CqlType::Set { element, .. } => value(&element).prop_map(move |value| (form(&element, &value), value)).boxed(),
        CqlType::Map { key, value: of, .. } => (value(&key), value(&of))
            .prop_map(move |(of_key, value)| {
                let mut entry = Vec::new();
                stdx::varint::encode(of_key.len() as u64, &mut entry);
                entry.extend_from_slice(&of_key);
                entry.extend_from_slice(&value);
                (form(&key, &of_key), entry)
            })
            .boxed(),
        CqlType::Udt { fields, .. } => (0..fields.len())
            .prop_flat_map(move |index| {
                let path = u16::try_from(index).expect("few fields").to_be_bytes().to_vec();
                (Just(path), value(&fields[index].ty))
            })
            .boxed(),
        other => panic!("{other} has one cell"),
    }
}

/// The cells of a column: of one of several perhaps a deletion, and elements.
fn cells(ty: &CqlType) -> BoxedStrategy<Vec<Cell>> {
    if !ty.is_multi_cell() {
        return cell(value(ty).prop_map(|value| (Vec::new(), value))).prop_map(|cell| vec![cell]).boxed();
    }
    let whole = (timestamp(), second()).prop_map(|(timestamp, second)| Cell {
        timestamp,
        expiry: None,
        tombstone: Some(second),
        path: Vec::new(),
        value: Vec::new(),
    });
    (option::weighted(0.4, whole), vec(cell(element(ty)), 0..4))
        .prop_map(|(whole, elements)| whole.into_iter().chain(elements).collect())
        .boxed()
}

/// A row's blob, of some of the columns.
fn row(columns: &[(ColumnId, CqlType)], is_static: bool) -> impl Strategy<Value = Vec<u8>> + use<> {
    let cells: Vec<_> = columns
        .iter()
        .map(|(id, ty)| {
            option::weighted(0.7, cells(ty).prop_map(|cells| cells)).prop_map({
                let id = *id;
                move |cells| (id, cells.unwrap_or_default())
            })
        })
        .collect();
    let liveness = (timestamp(), expiry()).prop_map(|(timestamp, expiry)| Liveness { timestamp, expiry });
    (option::of(liveness), option::weighted(0.2, deletion()), cells, any::<bool>()).prop_map(
        move |(liveness, deletion, columns, is_plain)| {
            let (liveness, deletion) = (liveness.filter(|_| !is_static), deletion.filter(|_| !is_static));
            let mut out = Vec::new();
            let mut builder = RowBuilder::begin(&out);
            deletion.into_iter().for_each(|deletion| builder.deletion(deletion));
            liveness.into_iter().for_each(|liveness| builder.liveness(liveness));
            for (column, cells) in &columns {
                for Cell { timestamp, expiry, tombstone, path, value } in cells {
                    let (mut timestamp, mut expiry) = (*timestamp, *expiry);
                    if let (true, Some(liveness)) = (is_plain, liveness) {
                        (timestamp, expiry) = (liveness.timestamp, liveness.expiry.filter(|_| tombstone.is_none()));
                    }
                    let (column, tombstone) = (*column, *tombstone);
                    let cell = CellRef { column, timestamp, expiry, tombstone, path, value, is_counter: false };
                    builder.cell(&mut out, &cell);
                }
            }
            builder.finish(&mut out);
            out
        },
    )
}

fn clustering(types: &[ClusteringType], length: usize) -> impl Strategy<Value = Vec<u8>> + use<> {
    let values: Vec<_> = types[..length].iter().map(|of| value(&of.ty)).collect();
    values.prop_map(|values| {
        let mut out = vec![u8::try_from(values.len()).expect("few columns")];
        for value in values {
            stdx::varint::encode(value.len() as u64, &mut out);
            out.extend_from_slice(&value);
        }
        out
    })
}

fn unfiltered(header: &Header, regulars: &[(ColumnId, CqlType)]) -> BoxedStrategy<Kept> {
    let types = header.clustering.clone();
    let row = (clustering(&types, types.len()), row(regulars, false));
    let row = row.prop_map(|(clustering, row)| Kept::Row { clustering, row });
    let prefix = (0..=types.len()).prop_flat_map(move |length| clustering(&types, length));
    let changes = (deletion(), deletion(), 0..3).prop_map(|(a, b, kind)| match kind {
        0 => (Some(a), None),
        1 => (None, Some(b)),
        _ => (Some(a), Some(b)),
    });
    let marker = (prefix, any::<bool>(), changes).prop_map(|(prefix, after, (closes, opens))| Kept::Marker {
        prefix,
        after,
        closes,
        opens,
    });
    prop_oneof![3 => row, 1 => marker].boxed()
}

/// A partition of up to a few rows and markers.
fn partition(header: &Header, table: &Table) -> impl Strategy<Value = Vec<Kept>> + use<> {
    let ids = |columns: &[HeaderColumn]| -> Vec<(ColumnId, CqlType)> {
        let column = |column: &HeaderColumn| table.column(&column.name).map(|known| (known.id, known.ty.clone()));
        columns.iter().filter_map(column).collect()
    };
    let static_row = match header.statics.is_empty() {
        true => Just(None).boxed(),
        false => option::of(row(&ids(&header.statics), true)).boxed(),
    };
    let unfiltered = vec(unfiltered(header, &ids(&header.regulars)), 0..5);
    let deletion = option::weighted(0.2, deletion().prop_filter("as Cassandra has them", |d| d.timestamp >= 0));
    (vec(any::<u8>(), 0..20), deletion, static_row, unfiltered).prop_map(|(key, deletion, static_row, rows)| {
        // A static row of nothing is none.
        let static_row = static_row.filter(|row| !RowRef::trusted(row).is_empty());
        let head = Kept::Partition { key, deletion, static_row };
        [head].into_iter().chain(rows).chain([Kept::End]).collect()
    })
}

fn header() -> impl Strategy<Value = Header> {
    let of_one_cell: Vec<&str> = samples::NATIVES.iter().chain(&FROZEN).copied().collect();
    let simple = prop::sample::subsequence(of_one_cell.clone(), 0..5);
    let complex = prop::sample::subsequence(&COMPLEX[..], 0..4);
    let clustering = prop::sample::subsequence(of_one_cell, 0..3);
    let encoding = prop_oneof![
        Just(EncodingStats::EPOCH),
        (timestamp(), second(), 0_u32..100).prop_map(|(timestamp_min, local_deletion_time_min, ttl_min)| {
            EncodingStats { timestamp_min, local_deletion_time_min, ttl_min }
        }),
    ];
    let many = prop_oneof![5 => Just(0_usize), 1 => 55_usize..140];
    (encoding, clustering, simple.clone(), simple, complex.clone(), complex, any::<u8>(), many).prop_map(
        |(encoding, clustering, static_simple, simple, static_complex, complex, reversed, many)| {
            let column = |prefix: &str, name: &&str| HeaderColumn { name: format!("{prefix}{name}"), ty: ty(name) };
            let columns = |prefix: &str, simple: &[&str], complex: &[&str]| -> Vec<HeaderColumn> {
                simple.iter().chain(complex).map(|name| column(prefix, name)).collect()
            };
            let is_reversed = |place: usize| reversed >> place & 1 == 1;
            let clustering = clustering.iter().enumerate();
            let clustering: Vec<_> = clustering
                .map(|(place, name)| ClusteringType { ty: ty(name), is_reversed: is_reversed(place) })
                .collect();
            let statics =
                if clustering.is_empty() { Vec::new() } else { columns("s ", &static_simple, &static_complex) };
            let extra = (0..many).map(|place| HeaderColumn { name: format!("extra {place:03}"), ty: CqlType::Int });
            let regulars = extra.chain(columns("", &simple, &complex)).collect();
            Header { encoding, partition_key: vec![CqlType::Blob], clustering, statics, regulars }
        },
    )
}

/// A header, its table, and partitions.
fn sstable() -> impl Strategy<Value = (Header, Table, Vec<Kept>)> {
    let ids = prop_oneof![Just(Ids::AsWritten), Just(Ids::Reversed)];
    (header(), ids).prop_flat_map(|(header, ids)| {
        let table = table_of(&header, ids);
        let partitions = vec(partition(&header, &table), 1..4);
        (Just(header), Just(table), partitions.prop_map(|partitions| partitions.concat()))
    })
}

fn fits(fit: &WritableCheck, item: &Kept) -> bool {
    match item {
        Kept::Partition { static_row, .. } => static_row.as_ref().is_none_or(|row| row_fits(fit, row)),
        Kept::Row { clustering, row } => {
            ClusteringRef::decode(clustering).is_ok_and(|clustering| fit.check_clustering(clustering).is_ok())
                && row_fits(fit, row)
        }
        Kept::Marker { prefix, .. } => {
            ClusteringRef::decode(prefix).is_ok_and(|prefix| fit.check_prefix(prefix).is_ok())
        }
        Kept::End => true,
    }
}

fn row_fits(fit: &WritableCheck, row: &[u8]) -> bool {
    RowRef::decode(row).is_ok_and(|row| fit.check_row(&row).is_ok())
}

/// Of a clustering's encoding every two bytes are changed. That of a vector of texts is then also one of several values, more than the
/// table has clustering columns.
#[test]
fn a_changed_clustering_is_refused_or_written() {
    let clustering = vec![ClusteringType { ty: ty("vector<text, 2>"), is_reversed: true }];
    let (encoding, partition_key) = (EncodingStats::EPOCH, vec![CqlType::Blob]);
    let header = Header { encoding, partition_key, clustering, statics: Vec::new(), regulars: Vec::new() };
    let table = table_of(&header, Ids::AsWritten);
    let fit = WritableCheck::of(&table);
    let mut row = Vec::new();
    let mut builder = RowBuilder::begin(&row);
    builder.liveness(Liveness { timestamp: 1, expiry: None });
    builder.finish(&mut row);
    let closes = Some(Deletion { timestamp: 1, local_deletion_time: 1 });
    let sound = [1, 4, 1, b'a', 1, b'b'];
    let (mut written, mut refused) = (Vec::new(), Vec::new());
    for (first, second) in (0..sound.len()).flat_map(|first| (0..first).map(move |second| (first, second))) {
        for (a, b) in (0..8).flat_map(|a| (0..8).map(move |b| (a, b))) {
            let mut bytes = sound.to_vec();
            (bytes[first], bytes[second]) = (a, b);
            let marker = Kept::Marker { prefix: bytes.clone(), after: true, closes, opens: None };
            for item in [Kept::Row { clustering: bytes.clone(), row: row.clone() }, marker] {
                if !fits(&fit, &item) {
                    refused.push(bytes.clone());
                    continue;
                }
                let head = Kept::Partition { key: b"key".to_vec(), deletion: None, static_row: None };
                let items = [head, item, Kept::End];
                let data = write_all(&mut DataWriter::new(&table, &header).unwrap(), &items);
                let mut reader = DataReader::new(Version::DA, &header, &table).unwrap();
                assert_eq!(read_all(&mut reader, &data, "written"), items);
                written.push(bytes.clone());
            }
        }
    }
    let times = |of: &[Vec<u8>], bytes: &[u8]| of.iter().filter(|other| *other == bytes).count();
    assert_eq!(times(&refused, &[3, 0, 1, b'a', 1, b'b']), 2, "three values, of which the first is empty");
    assert_eq!(times(&refused, &[1, 4, 2, b'a', 2, b'b']), 2, "a vector whose last element is cut");
    assert_eq!(times(&written, &[1, 4, 1, 7, 1, 7]), 2, "another vector");
    assert_eq!(times(&written, &[1, 4, 0, 2, 1, b'b']), 2, "an empty element, and one of two bytes");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read((header, table, items) in sstable()) {
        let fit = WritableCheck::of(&table);
        prop_assert!(items.iter().all(|item| fits(&fit, item)), "{:?}", items);
        let mut writer = DataWriter::new(&table, &header).unwrap();
        let bytes = write_all(&mut writer, &items);
        let mut reader = DataReader::new(Version::DA, &header, &table).unwrap();
        prop_assert_eq!(&read_all(&mut reader, &bytes, "written"), &items);

        let facts = FileFacts { bloom_filter_fp_chance: 0.01, compression_ratio: -1.0, host: [1; 16], token_space_coverage: None, level: 0, repaired_at: 0 };
        let statistics = writer.finish().finish(&facts);
        let again = sstable::statistics::Statistics::read(Version::DA, &statistics.write());
        prop_assert_eq!(again, Ok(statistics));
    }

    /// Whatever a row holds: if it passes where mutations come in, it can be written, and what was written can be read.
    #[test]
    fn what_fits_can_be_written(
        (header, table, mut items) in sstable(),
        changes in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..30),
    ) {
        for (item, at, byte) in changes {
            let index = item.index(items.len());
            let bytes = match &mut items[index] {
                Kept::Row { clustering, .. } if at.index(5) == 0 => clustering,
                Kept::Row { row, .. } | Kept::Partition { static_row: Some(row), .. } => row,
                Kept::Marker { prefix, .. } => prefix,
                _ => continue,
            };
            let at = at.index(bytes.len());
            // Small differences are more often still a row.
            bytes[at] = if byte < 128 { byte } else { bytes[at] ^ 1 << (byte % 8) };
        }
        let fit = WritableCheck::of(&table);
        items.retain_mut(|item| match item {
            Kept::Partition { static_row, .. } => {
                static_row.take_if(|row| !row_fits(&fit, row));
                true
            }
            item => fits(&fit, item),
        });
        let bytes = write_all(&mut DataWriter::new(&table, &header).unwrap(), &items);
        let read = read_all(&mut DataReader::new(Version::DA, &header, &table).unwrap(), &bytes, "written");
        prop_assert_eq!(read.len(), items.len());
    }

    /// Flipped and cut bytes give errors or other rows, which are as good as any: no panic, and no row that takes much more
    /// memory than the bytes it was read from.
    #[test]
    fn broken_bytes_do_no_harm(
        (header, table, items) in sstable(),
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = write_all(&mut DataWriter::new(&table, &header).unwrap(), &items);
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        for version in [Version::DA, Version::NB] {
            let mut reader = DataReader::new(version, &header, &table).unwrap();
            let (mut start, mut read) = (0, Vec::new());
            while let Ok(Step::Item { item, used }) = reader.next(&bytes[start..]) {
                prop_assert!(used > 0 && used <= bytes.len() - start);
                if let Item::Row { row, .. } | Item::Partition { static_row: Some(row), .. } = item {
                    prop_assert!(RowRef::decode(row.bytes()).is_ok());
                    prop_assert!(row.bytes().len() <= 64 + 32 * used, "{} bytes of {used}", row.bytes().len());
                }
                read.push(Kept::of(&item));
                start += used;
            }
            // What could be read can be written, and read again.
            if !matches!(read.last(), None | Some(Kept::End)) {
                read.push(Kept::End);
            }
            for item in &mut read {
                if let Kept::Partition { deletion, .. } = item {
                    // There is no room in `da` for these; nothing is that old.
                    *deletion = deletion.filter(|deletion| deletion.timestamp.to_be_bytes()[0] != 0x80);
                }
            }
            let again = write_all(&mut DataWriter::new(&table, &header).unwrap(), &read);
            let mut reader = DataReader::new(Version::DA, &header, &table).unwrap();
            prop_assert_eq!(&read_all(&mut reader, &again, "written again"), &read);
        }
    }
}
