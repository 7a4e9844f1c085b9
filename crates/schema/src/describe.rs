//! DESCRIBE's text: statements that create a keyspace or a table again, laid out as Cassandra 5.0 lays them out.

use crate::keyspace::Keyspace;
use crate::table::Table;

/// CREATE KEYSPACE, without the tables.
pub fn keyspace(keyspace: &Keyspace) -> String {
    let _ = keyspace;
    todo!()
}

/// CREATE TABLE.
pub fn table(table: &Table) -> String {
    let _ = table;
    todo!()
}
