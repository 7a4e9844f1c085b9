//! The schema's changes as a domain: there and back, snapshots, and hostile bytes.

use proptest::prelude::*;
use topology::ReplicationStrategy;

use super::*;
use crate::keyspace::KeyspaceDef;
use crate::{Column, ColumnId, ColumnKind, Table, TableId, TableOptions};

fn keyspace(name: &str) -> SchemaChange {
    let replication =
        crate::options::map(&[("class", "org.apache.cassandra.locator.SimpleStrategy"), ("replication_factor", "1")]);
    let strategy = ReplicationStrategy::Simple { replication_factor: 1 };
    SchemaChange::PutKeyspace(KeyspaceDef {
        name: name.to_owned(),
        replication,
        strategy,
        durable_writes: true,
        tenure: 0,
    })
}

fn table(name: &str, id: u8) -> SchemaChange {
    let column = Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", cql_types::CqlType::Int);
    let table = Table::new(TableId([id; 16]), "ks", name, vec![column], TableOptions::default());
    SchemaChange::PutTable(Box::new(table))
}

#[test]
fn changes_come_back_and_a_snapshot_makes_the_schema() {
    let changes = vec![keyspace("ks"), table("one", 1), table("two", 2), keyspace("other")];
    assert_eq!(decode(&encode(&changes)), Ok(changes.clone()));
    let drop = SchemaChange::DropTable { keyspace: "ks".to_owned(), name: "one".to_owned(), id: TableId([1; 16]) };
    let schema = Schema::empty().with_all(&changes).with(&drop);
    assert_eq!(live_tables(&schema), [[2; 16]].into());
    let again = decode(&snapshot(&schema).expect("it is not empty")).expect("a snapshot is a change");
    assert_eq!(Schema::empty().with_all(&again).version(), schema.version());
    assert_eq!(snapshot(&Schema::empty()), None);
}

#[test]
fn only_drops_give_room_back() {
    let drop = SchemaChange::DropKeyspace("ks".to_owned());
    assert!(gives_room_back(std::slice::from_ref(&drop)));
    assert!(!gives_room_back(&[drop, keyspace("ks")]));
}

#[test]
fn bytes_after_the_last_change_are_refused() {
    let mut bytes = encode(&[keyspace("ks")]);
    bytes.push(0);
    let error = decode(&bytes).expect_err("a byte is left over").to_string();
    assert_eq!(error, "a schema change is damaged: 1 bytes follow the last change");
    bytes.truncate(bytes.len() - 2);
    assert!(matches!(decode(&bytes), Err(DecodeError::Bytes(_))));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }
}
