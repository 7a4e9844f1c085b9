//! The encoding of schema changes: there and back, and hostile bytes.

use proptest::prelude::*;

use super::*;

fn names() -> impl Strategy<Value = String> {
    "[a-zA-Z_é][a-zA-Z0-9_ \"]{0,12}"
}

fn types() -> impl Strategy<Value = CqlType> {
    let texts = [
        "int",
        "text",
        "counter",
        "list<int>",
        "frozen<map<text, int>>",
        "frozen<tuple<int, text>>",
        "vector<float, 3>",
        "set<frozen<list<uuid>>>",
    ];
    prop::sample::select(texts.to_vec()).prop_map(|text| CqlType::parse(text).expect("a type"))
}

/// A mask for some column, whatever its type: what can be called is asked where values are read.
fn masks() -> impl Strategy<Value = Option<(prop::sample::Index, ColumnMask)>> {
    let arguments = prop::collection::vec((types(), any::<Option<Vec<u8>>>()), 0..4);
    let functions = prop::sample::select(vec!["mask_default", "mask_null", "mask_inner", "mask_replace"]);
    let mask = (functions, arguments).prop_map(|(function, arguments)| ColumnMask {
        function: function.to_owned(),
        arguments: arguments.into_iter().map(|(ty, value)| MaskArgument { ty, value }).collect(),
    });
    prop::option::of((any::<prop::sample::Index>(), mask))
}

fn maps() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map(names(), names(), 0..4)
}

prop_compose! {
    fn tables()(
        id in any::<[u8; 16]>(),
        keyspace in names(),
        name in names(),
        columns in prop::collection::btree_map(names(), (types(), 0u8..3), 1..12),
        options in (maps(), maps(), any::<u32>(), prop::num::f64::NORMAL, any::<Option<bool>>(), ".{0,20}"),
        extensions in prop::collection::btree_map(names(), prop::collection::vec(any::<u8>(), 0..9), 0..3),
        dropped in prop::collection::vec((names(), types(), any::<i64>()), 0..3),
        skipped_ids in 0u32..100,
        masked in masks(),
    ) -> Table {
        let mut listed = Vec::new();
        let mut clustering = 0u16;
        for (place, (name, (ty, kind))) in columns.into_iter().enumerate() {
            let kind = match (place, kind) {
                (0, _) => ColumnKind::PartitionKey,
                (_, 0) => ColumnKind::Clustering,
                (_, 1) => ColumnKind::Static,
                _ => ColumnKind::Regular,
            };
            let position = if kind == ColumnKind::Clustering { clustering += 1; clustering - 1 } else { 0 };
            let order = if kind == ColumnKind::Clustering && place % 2 == 0 { Order::Desc } else { Order::Asc };
            let id = ColumnId(u16::try_from(place).expect("few columns"));
            listed.push(Column { id, name, ty, kind, position, order, mask: None });
        }
        if let Some((column, mask)) = masked {
            let column = column.index(listed.len());
            listed[column].mask = Some(Box::new(mask));
        }
        let options = TableOptions {
            compaction: options.0,
            caching: options.1,
            gc_grace_seconds: options.2,
            bloom_filter_fp_chance: options.3,
            allow_auto_snapshot: options.4,
            comment: options.5,
            extensions,
            ..TableOptions::default()
        };
        let mut table = Table::new(TableId(id), keyspace, name, listed, options);
        table.next_column_id += skipped_ids;
        for (name, ty, dropped_at_micros) in dropped {
            let column = Column::new(ColumnKind::Regular, ColumnId(0), &name, ty);
            table.dropped.insert(name, DroppedColumn { column, dropped_at_micros });
        }
        table
    }
}

fn encoded(change: &SchemaChange) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(change, &mut bytes);
    bytes
}

proptest! {
    #[test]
    fn tables_round_trip(table in tables()) {
        let change = SchemaChange::PutTable(Box::new(table));
        let bytes = encoded(&change);
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!(decode(&mut reader), Ok(change));
        prop_assert!(reader.is_empty());
    }

    #[test]
    fn a_cut_change_is_refused(table in tables(), cut in any::<prop::sample::Index>()) {
        let bytes = encoded(&SchemaChange::PutTable(Box::new(table)));
        let cut = cut.index(bytes.len());
        prop_assert!(decode(&mut Reader::new(&bytes[..cut])).is_err());
    }

    #[test]
    fn a_changed_byte_never_panics(table in tables(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = encoded(&SchemaChange::PutTable(Box::new(table)));
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let _ = decode(&mut Reader::new(&bytes));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&mut Reader::new(&bytes));
    }
}

#[test]
fn a_newer_version_is_named() {
    let mut bytes = encoded(&SchemaChange::DropKeyspace("k".to_owned()));
    bytes[0] = FORMAT_VERSION + 1;
    let error = decode(&mut Reader::new(&bytes)).expect_err("a newer version is refused");
    assert_eq!(error.to_string(), "a schema change has format version 4, and this Helenus reads up to 3");
}

#[test]
fn the_format_is_frozen() {
    // A change of these bytes needs a new version: logs that were written must stay readable.
    let change = SchemaChange::DropTable { keyspace: "k".to_owned(), name: "t".to_owned(), id: TableId([0xab; 16]) };
    let mut expected = vec![1, 4];
    expected.extend([0xab; 16]);
    expected.extend([1, b'k', 1, b't']);
    assert_eq!(encoded(&change), expected);
}

#[test]
fn a_keyspace_of_its_first_tenure_has_the_first_version() {
    let replication =
        crate::options::map(&[("class", "org.apache.cassandra.locator.SimpleStrategy"), ("replication_factor", "1")]);
    let strategy = ReplicationStrategy::Simple { replication_factor: 1 };
    let def = KeyspaceDef { name: "k".to_owned(), replication, strategy, durable_writes: true, tenure: 0 };
    let first = encoded(&SchemaChange::PutKeyspace(def.clone()));
    assert_eq!((first[0], first.last()), (1, Some(&1)), "the bytes of before tenures");
    let later = SchemaChange::PutKeyspace(KeyspaceDef { tenure: 300, ..def });
    let bytes = encoded(&later);
    assert_eq!(bytes, [&[2], &first[1..], &[0x81, 0x2c]].concat(), "the tenure stands last");
    assert_eq!(decode(&mut Reader::new(&bytes)), Ok(later));
    assert!(decode(&mut Reader::new(&bytes[..bytes.len() - 1])).is_err());
}

#[test]
fn a_table_without_masks_has_the_first_version() {
    let column = |id, name: &str, kind| Column::new(kind, ColumnId(id), name, CqlType::Int);
    let columns = vec![column(0, "k", ColumnKind::PartitionKey), column(1, "v", ColumnKind::Regular)];
    let of = |columns: &[Column]| {
        let table = Table::new(TableId([1; 16]), "ks", "t", columns.to_vec(), TableOptions::default());
        SchemaChange::PutTable(Box::new(table))
    };
    let first = encoded(&of(&columns));
    assert_eq!(first[0], 1);
    let mut masked = columns.clone();
    let argument = MaskArgument { ty: CqlType::Int, value: Some(vec![0, 0, 0, 9]) };
    let mask = ColumnMask { function: "mask_replace".to_owned(), arguments: vec![argument] };
    masked[1].mask = Some(Box::new(mask));
    let bytes = encoded(&of(&masked));
    let end = [&[1, 1, 12][..], b"mask_replace", &[1, 3], b"int", &[1, 4, 0, 0, 0, 9]].concat();
    assert_eq!(bytes, [&[3], &first[1..], &end].concat(), "the masks stand last");
    assert_eq!(decode(&mut Reader::new(&bytes)), Ok(of(&masked)));
}

#[test]
fn masks_that_cannot_be_are_refused() {
    let column = Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Int);
    let table = Table::new(TableId([1; 16]), "ks", "t", vec![column], TableOptions::default());
    let first = encoded(&SchemaChange::PutTable(Box::new(table)));
    let refusal = |masks: &[u8]| {
        let bytes = [&[3], &first[1..], masks].concat();
        decode(&mut Reader::new(&bytes)).expect_err("such masks cannot be").to_string()
    };
    let one = [&[0, 9][..], b"mask_null", &[0]].concat();
    assert!(refusal(&[&[1, 0, 3][..], b"abs", &[0]].concat()).contains("the mask abs is unknown"));
    assert!(refusal(&[&[1, 7][..], &one[1..]].concat()).contains("of no column"));
    assert!(refusal(&[&[2][..], &one, &one].concat()).contains("two masks"));
    assert!(refusal(&[&[1, 0, 9][..], b"mask_null", &[17]].concat()).contains("17 arguments"));
}
