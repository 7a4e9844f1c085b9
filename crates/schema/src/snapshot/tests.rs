//! What changes do to a schema and its version.

use cql_types::CqlType;
use topology::ReplicationStrategy;

use super::*;
use crate::column::{Column, ColumnKind};
use crate::ids::ColumnId;
use crate::options::TableOptions;
use crate::table::DroppedColumn;

fn keyspace(name: &str) -> SchemaChange {
    SchemaChange::PutKeyspace(KeyspaceDef {
        name: name.to_owned(),
        replication: crate::options::map(&[
            ("class", "org.apache.cassandra.locator.SimpleStrategy"),
            ("replication_factor", "1"),
        ]),
        strategy: ReplicationStrategy::Simple { replication_factor: 1 },
        durable_writes: true,
        tenure: 0,
    })
}

fn table(keyspace: &str, name: &str, id: u8) -> SchemaChange {
    let column = Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Int);
    SchemaChange::PutTable(Box::new(Table::new(
        TableId([id; 16]),
        keyspace,
        name,
        vec![column],
        TableOptions::default(),
    )))
}

#[test]
fn equal_schemas_have_equal_versions_whatever_the_way_to_them() {
    let one = Schema::empty().with_all(&[keyspace("a"), keyspace("b"), table("a", "t", 1), table("b", "u", 2)]);
    let other = Schema::empty()
        .with(&keyspace("b"))
        .with(&table("b", "u", 2))
        .with(&keyspace("gone"))
        .with(&keyspace("a"))
        .with(&SchemaChange::DropKeyspace("gone".to_owned()))
        .with(&table("a", "t", 1));
    assert_eq!(one.version(), other.version());
    assert_ne!(one.version(), Schema::empty().version());
    assert_ne!(one.version(), one.with(&table("a", "v", 3)).version());
    // Another table of the same name is another schema.
    assert_ne!(one.version(), one.with(&table("a", "t", 9)).version());
}

#[test]
fn a_snapshot_does_not_change() {
    let before = Schema::empty().with_all(&[keyspace("a"), table("a", "t", 1)]);
    let after = before.with(&SchemaChange::DropKeyspace("a".to_owned()));
    assert!(before.table("a", "t").is_some());
    assert!(before.table_by_id(TableId([1; 16])).is_some());
    assert!(after.table("a", "t").is_none());
    assert!(after.table_by_id(TableId([1; 16])).is_none());
}

#[test]
fn a_replaced_table_is_found_by_its_new_id_only() {
    let schema = Schema::empty().with_all(&[keyspace("a"), table("a", "t", 1), table("a", "t", 2)]);
    assert!(schema.table_by_id(TableId([1; 16])).is_none());
    assert_eq!(schema.table_by_id(TableId([2; 16])).map(|table| table.name.as_str()), Some("t"));
}

#[test]
fn changes_of_what_is_not_there_change_nothing() {
    let schema = Schema::empty().with_all(&[keyspace("a"), table("a", "t", 1)]);
    for change in [
        SchemaChange::DropKeyspace("z".to_owned()),
        table("z", "t", 5),
        SchemaChange::DropTable { keyspace: "a".to_owned(), name: "t".to_owned(), id: TableId([7; 16]) },
        SchemaChange::DropTable { keyspace: "z".to_owned(), name: "t".to_owned(), id: TableId([1; 16]) },
    ] {
        assert_eq!(schema.with(&change).version(), schema.version(), "{change:?}");
    }
}

#[test]
fn altering_a_keyspace_keeps_its_tables() {
    let schema = Schema::empty().with_all(&[keyspace("a"), table("a", "t", 1), keyspace("a")]);
    assert!(schema.table("a", "t").is_some());
}

#[test]
fn changes_together_are_the_changes_one_by_one() {
    let changes = [
        keyspace("a"),
        table("a", "t", 1),
        table("a", "u", 2),
        keyspace("b"),
        table("b", "t", 3),
        SchemaChange::DropTable { keyspace: "a".to_owned(), name: "t".to_owned(), id: TableId([1; 16]) },
        SchemaChange::DropKeyspace("b".to_owned()),
        keyspace("b"),
        table("b", "v", 4),
    ];
    let together = Schema::empty().with_all(&changes);
    let one_by_one = changes.iter().fold(Schema::empty(), |schema, change| schema.with(change));
    assert_eq!(together.version(), one_by_one.version());
    assert_eq!(together.keyspaces(), one_by_one.keyspaces());
    let ids = |schema: &Schema| schema.tables().map(|table| table.id).collect::<Vec<_>>();
    assert_eq!(ids(&together), ids(&one_by_one));
    assert_eq!(ids(&together), [TableId([2; 16]), TableId([4; 16])]);
}

#[test]
fn keyspaces_that_changed_are_told() {
    let before =
        Schema::empty().with_all(&[keyspace("a"), keyspace("b"), table("b", "t", 1), keyspace("c"), keyspace("d")]);
    let dropped = SchemaChange::DropKeyspace("c".to_owned());
    let after = before.with_all(&[keyspace("aa"), table("b", "u", 2), dropped, keyspace("e")]);
    let names = |newer: &Schema, older: &Schema| -> Vec<String> {
        newer.changed_since(older).map(|keyspace| keyspace.name().to_owned()).collect()
    };
    assert_eq!(names(&after, &before), ["aa", "b", "e"]);
    assert_eq!(names(&before, &after), ["b", "c"]);
    assert_eq!(names(&after, &after.clone()), [""; 0]);
    assert_eq!(names(&before, &Schema::empty()), ["a", "b", "c", "d"]);
}

/// Runs statements one after the other; each change is encoded and decoded on its way.
fn run(statements: &[&str]) -> Schema {
    let mut schema = Schema::empty();
    for (text, number) in statements.iter().zip(0u8..) {
        let context = crate::DdlContext {
            current_keyspace: Some("ks"),
            new_id: TableId([number; 16]),
            datacenters: &[("dc".to_owned(), 1)].into(),
            strategies: &topology::Strategies::default(),
            now_micros: 1,
            masks_enabled: false,
        };
        let plan = crate::plan_ddl(&schema, &cql_syntax::parse(text).unwrap(), &context).unwrap();
        for change in &plan.changes {
            let mut bytes = Vec::new();
            change.encode(&mut bytes);
            let decoded = SchemaChange::decode(&mut stdx::Reader::new(&bytes)).unwrap();
            assert_eq!(decoded, *change, "{text}");
            schema = schema.with(&decoded);
        }
    }
    schema
}

const KEYSPACE: &str = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";

#[test]
fn columns_have_the_fields_of_their_types() {
    let before = [
        KEYSPACE,
        "CREATE TYPE inner (x int, l list<text>)",
        "CREATE TYPE outer (i frozen<inner>, n int)",
        "CREATE TABLE t (k int PRIMARY KEY, a frozen<outer>, b list<frozen<outer>>, c int)",
    ];
    let fields = |schema: &Schema| {
        let ty = schema.table("ks", "t").unwrap().column("b").unwrap().ty.clone();
        let cql_types::CqlType::List { element, .. } = ty else { panic!("b is a list") };
        let cql_types::CqlType::Udt { fields, .. } = *element else { panic!("b is of outer") };
        let cql_types::CqlType::Udt { fields: inner, frozen, .. } = fields[0].ty.clone() else { panic!("i is inner") };
        assert!(frozen && fields.len() == 2);
        inner.into_iter().map(|field| format!("{} {}", field.name, field.ty)).collect::<Vec<_>>().join(", ")
    };
    let schema = run(&before);
    assert_eq!(fields(&schema), "x int, l frozen<list<text>>");
    let altered = run(&[&before[..], &["ALTER TYPE inner ADD y text", "ALTER TYPE inner RENAME x TO z"]].concat());
    assert_eq!(fields(&altered), "z int, l frozen<list<text>>, y text");
    assert!(std::rc::Rc::ptr_eq(
        altered.table("ks", "t").unwrap(),
        altered.table_by_id(altered.table("ks", "t").unwrap().id).unwrap()
    ));
    assert_ne!(altered.version(), schema.version());
    // A table that was altered is the same as one made so.
    let longer = run(&[&before[..], &["ALTER TABLE t ADD d frozen<inner>", "ALTER TABLE t DROP d"]].concat());
    assert_eq!(fields(&longer), "x int, l frozen<list<text>>");
    // What a log is compacted to has the types too.
    let again = Schema::empty().with_all(&altered.as_changes());
    assert_eq!((again.version(), fields(&again)), (altered.version(), fields(&altered)));
    assert_eq!(again.as_changes(), altered.as_changes());
}

#[test]
fn types_that_double_with_each_step_are_refused() {
    let mut schema = run(&[KEYSPACE, "CREATE TYPE t0 (a int, b int)"]);
    let mut refused = None;
    for number in 1..40 {
        let last = number - 1;
        let text = format!("CREATE TYPE t{number} (a frozen<t{last}>, b frozen<t{last}>)");
        let context = crate::DdlContext {
            current_keyspace: Some("ks"),
            new_id: TableId([0; 16]),
            datacenters: &[("dc".to_owned(), 1)].into(),
            strategies: &topology::Strategies::default(),
            now_micros: 1,
            masks_enabled: false,
        };
        match crate::plan_ddl(&schema, &cql_syntax::parse(&text).unwrap(), &context) {
            Ok(plan) => schema = schema.with_all(&plan.changes),
            Err(error) => {
                refused = Some((number, error.to_string()));
                break;
            }
        }
    }
    let (number, message) = refused.expect("it is refused before long");
    assert!((8..16).contains(&number) && message.contains("comes to more than"), "{number}: {message}");
}

/// A log that was written when a dropped column was recorded with the type that it had.
#[test]
fn dropped_columns_of_older_logs_have_their_user_types_spelt_out() {
    let before = run(&[KEYSPACE, "CREATE TYPE u (a int, b text)", "CREATE TABLE t (k int PRIMARY KEY)"]);
    let mut old = Table::clone(before.table("ks", "t").unwrap()).with_types(named);
    for (id, (name, ty)) in (1..).zip([("n", "u"), ("v", "vector<frozen<u>, 2>"), ("f", "list<frozen<u>>")]) {
        let column = Column::new(ColumnKind::Regular, ColumnId(id), name, CqlType::parse(ty).unwrap());
        old.dropped.insert(name.to_owned(), DroppedColumn { column, dropped_at_micros: 17 });
    }
    old.next_column_id = 4;
    let put = SchemaChange::PutTable(Box::new(old));
    let drop = SchemaChange::DropType { keyspace: "ks".to_owned(), name: "u".to_owned() };
    let shown = |schema: &Schema| {
        let table = schema.table("ks", "t").unwrap();
        table.dropped.values().map(|dropped| dropped.shown().ty.to_string()).collect::<Vec<_>>()
    };
    let spelt_out =
        ["list<frozen<tuple<int, text>>>", "frozen<tuple<int, text>>", "vector<frozen<tuple<int, text>>, 2>"];
    let schema = before.with(&put);
    assert_eq!(shown(&schema), spelt_out);
    // Cells of one that was not frozen are still in files, so it has as many cells as it had.
    assert!(schema.table("ks", "t").unwrap().dropped["n"].column.ty.is_multi_cell());
    let without_type = schema.with_all(&[drop.clone(), put.clone()]);
    assert_eq!(shown(&without_type), spelt_out, "the table is known, so its types are");
    assert_eq!(shown(&Schema::empty().with_all(&schema.as_changes())), spelt_out);
    // Nothing says what the type was.
    assert_eq!(shown(&before.with_all(&[drop, put])), ["list<blob>", "blob", "vector<blob, 2>"]);
}
