//! What changes do to a schema and its version.

use cql_types::CqlType;

use super::*;
use crate::column::{Column, ColumnKind, Order};
use crate::ids::ColumnId;
use crate::options::TableOptions;
use crate::replication::ReplicationStrategy;

fn keyspace(name: &str) -> SchemaChange {
    SchemaChange::PutKeyspace(KeyspaceDef {
        name: name.to_owned(),
        replication: crate::options::map(&[
            ("class", "org.apache.cassandra.locator.SimpleStrategy"),
            ("replication_factor", "1"),
        ]),
        strategy: ReplicationStrategy::Simple { replication_factor: 1 },
        durable_writes: true,
    })
}

fn table(keyspace: &str, name: &str, id: u8) -> SchemaChange {
    let column = Column {
        id: ColumnId(0),
        name: "k".to_owned(),
        ty: CqlType::Int,
        kind: ColumnKind::PartitionKey,
        position: 0,
        order: Order::Asc,
    };
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
