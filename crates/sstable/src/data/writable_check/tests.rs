//! What is refused, kind by kind. That what is let through can be written and read is a law of `tests/data_laws.rs`.

use mutation::RowBuilder;
use schema::{Column, TableId, TableOptions};

use super::*;

const TYPES: [&str; 8] = ["int", "text", "counter", "list<int>", "set<int>", "map<text, blob>", "udt", "date"];

/// The column of [`TYPES`] with this type.
fn column(ty: &str) -> ColumnId {
    ColumnId(u16::try_from(TYPES.iter().position(|known| *known == ty).expect(ty)).expect("few"))
}

fn fit(clustering: &[&str]) -> WritableCheck {
    let ty = |text: &str| match text {
        "udt" => CqlType::Udt { keyspace: "ks".into(), name: "u".into(), fields: Vec::new(), frozen: false },
        text => CqlType::parse(text).expect(text),
    };
    let regular = TYPES.iter().map(|text| (ColumnKind::Regular, *text));
    let clustering = clustering.iter().map(|text| (ColumnKind::Clustering, *text));
    let key = [(ColumnKind::PartitionKey, "blob")];
    let columns = (0..).zip(regular.chain(clustering).chain(key)).map(|(id, (kind, text))| {
        let position = if kind == ColumnKind::Clustering { id - TYPES.len() as u16 } else { 0 };
        Column::new(kind, ColumnId(id), format!("c{id}"), ty(text)).at(position)
    });
    WritableCheck::of(&Table::new(TableId([1; 16]), "ks", "t", columns.collect(), TableOptions::default()))
}

fn check(ty: &str, path: &[u8], value: Option<&[u8]>) -> Result<(), &'static str> {
    let mut out = Vec::new();
    let mut builder = RowBuilder::begin(&out);
    let (tombstone, value) = (value.is_none().then_some(1), value.unwrap_or_default());
    let column = column(ty);
    builder.cell(&mut out, &CellRef { column, timestamp: 1, expiry: None, tombstone, path, value, is_counter: false });
    builder.finish(&mut out);
    fit(&[]).check_row(&RowRef::decode(&out).expect("a row"))
}

fn form(ty: &str, value: &[u8]) -> Vec<u8> {
    let mut form = Vec::new();
    comparable::encode(&CqlType::parse(ty).expect(ty), value, false, &mut form);
    form
}

#[test]
fn values_of_one_length_have_it() {
    assert_eq!(check("int", &[], Some(&[0; 4])), Ok(()));
    assert_eq!(check("int", &[], Some(&[])), Ok(()));
    assert_eq!(check("int", &[], None), Ok(()));
    assert!(check("int", &[], Some(&[0; 3])).is_err());
    // The format says their lengths.
    assert_eq!(check("text", &[], Some(&[0xff])), Ok(()));
    assert_eq!(check("date", &[], Some(&[1])), Ok(()));
}

/// A delta is not let in where states are: it would be added again by each replay.
#[test]
fn counters_are_states() {
    let check_as = |ty: &str, is_counter: bool| {
        let mut out = Vec::new();
        let mut builder = RowBuilder::begin(&out);
        let (column, value) = (column(ty), &[0; 8][..]);
        let cell = CellRef { column, timestamp: 1, expiry: None, tombstone: None, path: &[], value, is_counter };
        builder.cell(&mut out, &cell);
        builder.finish(&mut out);
        fit(&[]).check_row(&RowRef::decode(&out).expect("a row"))
    };
    assert_eq!(check_as("counter", true), Ok(()));
    assert_eq!(check("counter", &[], None), Ok(()));
    assert!(check_as("counter", false).is_err(), "a delta");
    assert!(check_as("text", true).is_err(), "no counter's column");
    assert!(check_as("set<int>", true).is_err());
}

#[test]
fn columns_of_one_cell_have_no_elements() {
    assert!(check("int", &[1], Some(&[0; 4])).is_err());
    assert!(check("text", &[1], None).is_err());
}

#[test]
fn elements_have_the_paths_of_their_values() {
    let three = 3_i32.to_be_bytes();
    assert_eq!(check("set<int>", &form("int", &three), Some(&three)), Ok(()));
    assert_eq!(check("set<int>", &form("int", &three), None), Ok(()));
    assert!(check("set<int>", &form("int", &three), Some(&[0; 4])).is_err(), "another value's");
    assert!(check("set<int>", &[7], Some(&three)).is_err());
    assert!(check("set<int>", &[7], None).is_err(), "no form of an int");
    assert!(check("set<int>", &[&form("int", &three)[..], &[0]].concat(), None).is_err(), "something behind the form");
    assert!(check("set<int>", &form("int", &[1, 2]), Some(&[1, 2])).is_err(), "no int");

    let entry = |key: &[u8]| [&[u8::try_from(key.len()).expect("short")], key, b"value"].concat();
    assert_eq!(check("map<text, blob>", &form("text", b"k"), Some(&entry(b"k"))), Ok(()));
    assert_eq!(check("map<text, blob>", &form("text", b"k"), None), Ok(()));
    assert!(check("map<text, blob>", &form("text", b"k"), Some(&entry(b"l"))).is_err());
    assert!(check("map<text, blob>", &form("text", b"k"), Some(&[200])).is_err(), "a key that is cut");
    assert!(check("map<text, blob>", &form("text", &[0xff]), Some(&entry(&[0xff]))).is_err(), "no text");

    let path = |first: u8| [&[first], &[1; 15][..]].concat();
    assert_eq!(check("list<int>", &path(0x0f), Some(&three)), Ok(()));
    assert!(check("list<int>", &path(0x10), Some(&three)).is_err(), "a time of more than sixty bits");
    assert!(check("list<int>", &[0; 15], None).is_err());
    assert_eq!(check("udt", &[0, 1], Some(b"field")), Ok(()));
    assert!(check("udt", &[0], Some(b"field")).is_err());
    for ty in ["set<int>", "map<text, blob>", "list<int>", "udt"] {
        assert_eq!(check(ty, &[], None), Ok(()), "the deletion of all of it");
    }
}

fn clustering(values: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![u8::try_from(values.len()).expect("few")];
    for value in values {
        stdx::varint::encode(value.len() as u64, &mut out);
        out.extend_from_slice(value);
    }
    out
}

#[test]
fn clusterings_have_at_most_the_tables_columns() {
    for (types, values, is_row, is_prefix) in [
        (&[][..], 0, true, true),
        (&[], 1, false, false),
        (&["text"], 0, false, true),
        (&["text"], 1, true, true),
        (&["text"], 2, false, false),
        (&["text", "text"], 0, false, true),
        (&["text", "text"], 1, true, true),
        (&["text", "text"], 2, true, true),
        (&["text", "text"], 3, false, false),
    ] {
        let clustering = clustering(&vec![&b"a"[..]; values]);
        let clustering = ClusteringRef::decode(&clustering).expect("a clustering");
        let fit = fit(types);
        assert_eq!(fit.check_clustering(clustering).is_ok(), is_row, "{values} values of a row, {types:?}");
        assert_eq!(fit.check_prefix(clustering).is_ok(), is_prefix, "{values} values of a bound, {types:?}");
    }
}

#[test]
fn what_rows_are_ordered_by_is_of_its_type() {
    let check = |types: &[&str], values: &[&[u8]]| {
        let clustering = clustering(values);
        let clustering = ClusteringRef::decode(&clustering).expect("a clustering");
        let checked = fit(types).check_clustering(clustering);
        assert_eq!(fit(types).check_prefix(clustering), checked, "a bound's values are such values too");
        checked
    };
    assert_eq!(check(&["int", "text"], &[&[0; 4], &[0xff]]), Ok(()));
    assert_eq!(check(&["int", "text"], &[&[0; 4]]), Ok(()), "the first of them");
    assert_eq!(check(&["int"], &[&[]]), Ok(()));
    assert!(check(&["int"], &[&[0; 5]]).is_err());
    assert!(check(&["text", "decimal"], &[b"a", &[1]]).is_err());
    assert!(check(&["frozen<list<int>>"], &[&[0, 0, 0, 9]]).is_err());
    assert_eq!(check(&["vector<text, 2>"], &[&[1, b'a', 1, b'b']]), Ok(()));
    assert!(check(&["vector<text, 2>"], &[&[1, b'a', 2, b'b']]).is_err());
    assert!(check(&["timeuuid"], &[&[0; 16]]).is_err());
}

#[test]
fn cells_of_other_columns_are_not_looked_at() {
    let mut out = Vec::new();
    let mut builder = RowBuilder::begin(&out);
    for (column, value) in [(column("int"), &[0; 4][..]), (ColumnId(500), &[1]), (ColumnId(501), &[2])] {
        let cell = CellRef { column, timestamp: 1, expiry: None, tombstone: None, path: &[], value, is_counter: false };
        builder.cell(&mut out, &cell);
    }
    builder.finish(&mut out);
    assert_eq!(fit(&[]).check_row(&RowRef::decode(&out).expect("a row")), Ok(()));
}
