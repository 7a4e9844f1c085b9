//! Single cases: columns that changed, values written as one, rows that are not wanted, bytes that mean nothing.

use cql_types::{CqlType, compose};
use mutation::{CellRef, ClusteringRef, Deletion, Liveness, RowBuilder, RowRef};
use schema::{Column, ColumnId, ColumnKind, DroppedColumn, Table, TableId, TableOptions};

use super::*;
use crate::header::{EncodingStats, Header};
use crate::version::Version;

fn column(id: u16, name: &str, ty: &str, kind: ColumnKind) -> Column {
    Column::new(kind, ColumnId(id), name, CqlType::parse(ty).expect("a type"))
}

fn table(regulars: &[(u16, &str, &str)]) -> Table {
    let mut columns =
        vec![column(0, "k", "int", ColumnKind::PartitionKey), column(1, "c", "text", ColumnKind::Clustering)];
    columns.extend(regulars.iter().map(|(id, name, ty)| column(*id, name, ty, ColumnKind::Regular)));
    Table::new(TableId([1; 16]), "ks", "t", columns, TableOptions::default())
}

fn with_dropped(mut table: Table, column: Column) -> Table {
    table.dropped.insert(column.name.clone(), DroppedColumn { column, dropped_at_micros: 5 });
    table
}

fn row(cells: &[CellRef<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut builder = RowBuilder::begin(&out);
    builder.liveness(Liveness { timestamp: 7, expiry: None });
    cells.iter().for_each(|cell| builder.cell(&mut out, cell));
    builder.finish(&mut out);
    out
}

fn cell(column: u16, value: &[u8]) -> CellRef<'_> {
    CellRef {
        column: ColumnId(column),
        timestamp: 7,
        expiry: None,
        tombstone: None,
        path: &[],
        value,
        is_counter: false,
    }
}

/// One partition with one row, of clustering "a".
fn written(table: &Table, row: &[u8]) -> (Header, Vec<u8>) {
    let header = Header::of_table(table, EncodingStats::EPOCH);
    let mut writer = DataWriter::new(table, &header).expect("the header is the table's");
    let mut out = Vec::new();
    writer.partition(&mut out, &[0, 0, 0, 1], None, None);
    writer.row(&mut out, ClusteringRef::trusted(&[1, 1, b'a']), RowRef::trusted(row));
    let length = writer.end_partition(&mut out);
    assert_eq!(length, out.len() as u64);
    (header, out)
}

/// The row that [`written`] wrote, read for a table.
fn read_row(header: &Header, bytes: &[u8], table: &Table) -> Vec<u8> {
    let mut reader = DataReader::new(Version::DA, header, table).expect("the columns are known");
    let mut at = 0;
    loop {
        match reader.next(&bytes[at..]) {
            Ok(Step::Item { item: Item::Row { clustering, row }, .. }) => {
                assert_eq!(clustering.bytes(), [1, 1, b'a']);
                return row.bytes().to_vec();
            }
            Ok(Step::Item { used, .. }) => at += used,
            other => panic!("a row is there: {other:?}"),
        }
    }
}

#[test]
fn a_dropped_columns_cells_keep_its_id() {
    let before = table(&[(2, "a", "int"), (3, "b", "text")]);
    let row = row(&[cell(2, &[0, 0, 0, 9]), cell(3, b"gone")]);
    let (header, bytes) = written(&before, &row);
    let after = with_dropped(table(&[(2, "a", "int")]), before.column("b").unwrap().clone());
    assert_eq!(read_row(&header, &bytes, &after), row);
}

/// As Cassandra has it: a column that came back as another is left out where it cannot be what it is now.
#[test]
fn a_dropped_column_of_another_form_is_left_out() {
    let before = table(&[(2, "a", "int"), (3, "b", "text")]);
    let (header, bytes) = written(&before, &row(&[cell(2, &[0, 0, 0, 9]), cell(3, b"gone")]));
    let dropped = column(4, "b", "set<int>", ColumnKind::Regular);
    let after = with_dropped(table(&[(2, "a", "int")]), dropped);
    assert_eq!(read_row(&header, &bytes, &after), row(&[cell(2, &[0, 0, 0, 9])]));
}

#[test]
fn an_unknown_column_is_named() {
    let (header, _) = written(&table(&[(2, "a", "int"), (3, "b", "text")]), &row(&[]));
    let error = DataReader::new(Version::DA, &header, &table(&[(2, "a", "int")])).unwrap_err();
    assert_eq!(error.to_string(), "table t has no column b, not even a dropped one");
    let other = table(&[(2, "a", "int"), (3, "b", "list<text>")]);
    let error = DataReader::new(Version::DA, &header, &other).unwrap_err();
    assert_eq!(error.to_string(), "column b of table t is of type regular text, which does not fit regular list<text>");
}

/// A column that was dropped after the memtable took its cells has no place in the header.
#[test]
fn cells_of_columns_not_in_the_header_are_left_out() {
    let table = table(&[(2, "a", "int")]);
    let (header, bytes) = written(&table, &row(&[cell(2, &[0, 0, 0, 9]), cell(3, b"gone")]));
    assert_eq!(read_row(&header, &bytes, &table), row(&[cell(2, &[0, 0, 0, 9])]));
}

/// Versions before elements wrote collections as one value: it becomes elements, and a deletion just before them.
#[test]
fn a_value_written_as_one_becomes_elements() {
    let table = table(&[(2, "l", "list<int>"), (3, "m", "map<text, int>"), (4, "s", "set<int>")]);
    let int = |value: i32| value.to_be_bytes();
    let of = |column: u16, parts: &[&[u8]]| {
        let ty = &table.column_by_id(ColumnId(column)).unwrap().ty;
        compose(ty, &parts.iter().map(|part| Some(*part)).collect::<Vec<_>>()).unwrap()
    };
    let list = of(2, &[&int(7), &int(5), &int(6)]);
    let map = of(3, &[b"a", &int(1), b"b", &int(2)]);
    let newer = CellRef { timestamp: 9, path: &[b'b', 0, 1], value: &[1, b'b', 0, 0, 0, 8], ..cell(3, &[]) };
    let set = of(4, &[&int(1), &int(2)]);
    let row = row(&[cell(2, &list), cell(3, &map), newer, cell(4, &set)]);
    let (header, bytes) = written(&table, &row);
    let read = read_row(&header, &bytes, &table);
    let row = RowRef::decode(&read).expect("the row decodes");
    let values = |column: u16| -> Vec<(i64, Vec<u8>)> {
        let cells = row.cells().filter(|cell| cell.column == ColumnId(column));
        cells.map(|cell| (cell.timestamp, cell.value.to_vec())).collect()
    };
    let of_list = [7, 5, 6].map(|value| (7, int(value).to_vec()));
    assert_eq!(values(2), [vec![(6, vec![])], of_list.to_vec()].concat());
    let entry = |key: u8, value: i32| [&[1, key][..], &int(value)].concat();
    assert_eq!(values(3), [(6, vec![]), (7, entry(b'a', 1)), (9, entry(b'b', 8))]);
    assert_eq!(values(4), [(6, vec![]), (7, int(1).to_vec()), (7, int(2).to_vec())]);
}

#[test]
fn rows_that_are_not_wanted_are_passed() {
    let table = table(&[(2, "a", "int")]);
    let (header, bytes) = written(&table, &row(&[cell(2, &[0, 0, 0, 9])]));
    let mut reader = DataReader::new(Version::DA, &header, &table).unwrap();
    let Ok(Step::Item { used, .. }) = reader.next(&bytes) else { panic!("a partition is there") };
    let rest = &bytes[used..];
    let step = reader.next_where(rest, |clustering| clustering.components().next() == Some(b"b"));
    let Ok(Step::Item { item: Item::SkippedRow, used }) = step else { panic!("the row is passed: {step:?}") };
    assert!(matches!(reader.next(&rest[used..]), Ok(Step::Item { item: Item::PartitionEnd, used: 1 })));
    // From a row index a reader goes straight to a row.
    reader.seek_row();
    assert!(matches!(reader.next(rest), Ok(Step::Item { item: Item::Row { .. }, .. })));
    reader.seek_partition();
    assert!(matches!(reader.next(&bytes), Ok(Step::Item { item: Item::Partition { .. }, .. })));
}

#[test]
fn a_partitions_deletion_keeps_its_times() {
    let table = table(&[]);
    let header = Header::of_table(&table, EncodingStats::EPOCH);
    for timestamp in [0, 1, i64::MAX, -1, -1_000_000] {
        let deletion = Some(Deletion { timestamp, local_deletion_time: 3_000_000_000 });
        let mut writer = DataWriter::new(&table, &header).unwrap();
        let mut bytes = Vec::new();
        writer.partition(&mut bytes, b"key", deletion, None);
        writer.end_partition(&mut bytes);
        let mut reader = DataReader::new(Version::DA, &header, &table).unwrap();
        let step = reader.next(&bytes);
        let Ok(Step::Item { item: Item::Partition { key, deletion: read, .. }, .. }) = step else { panic!("{step:?}") };
        assert_eq!((key, read), (&b"key"[..], deletion));
    }
}

#[test]
fn what_means_nothing_is_refused_with_its_place() {
    let table = table(&[(2, "a", "int")]);
    let (header, bytes) = written(&table, &row(&[cell(2, &[0, 0, 0, 9])]));
    let head = 2 + 4 + 1;
    // Flags, "a" with its header and length, sizes, and the timestamp, which takes nine bytes so far before 2015.
    let cell_at = head + 1 + 3 + 2 + 9;
    assert_eq!(bytes[cell_at], flags::cell::USE_ROW_TIMESTAMP);
    for (at, byte, what) in [
        (cell_at, 0x80, "invalid flags of a cell"),
        (cell_at, 0x18, "a cell has the ttl of a row that has none"),
        (head, flags::unfiltered::HAS_TTL, "a row has a ttl and no timestamp"),
        (head, flags::unfiltered::IS_MARKER | 0x40, "invalid flags of a marker"),
        (head + 4, 16, "a row is shorter than it says"),
        (head + 4, 14, "a row or marker is longer than it says"),
    ] {
        let mut broken = bytes.clone();
        broken[at] = byte;
        broken.extend_from_slice(&[0; 64]);
        let mut reader = DataReader::new(Version::DA, &header, &table).unwrap();
        reader.seek_row();
        let error = reader.next(&broken[head..]).map(|step| format!("{step:?}")).unwrap_err();
        assert!(error.what.contains(what), "{at} {byte}: {error}");
        assert!(error.offset <= (bytes.len() - head) as u64, "{error}");
    }
}
