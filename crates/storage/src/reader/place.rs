//! A row's place in its table's order, as a position that a read can go on after.

use mutation::{ClusteringRef, Position};
use schema::Table;
use topology::Token;

/// The position right after the row with `clustering` in the partition `key`. Without clustering columns it is the
/// partition's only row, and the position is past the partition.
pub fn row_position(table: &Table, token: Token, key: &[u8], clustering: ClusteringRef<'_>) -> Position {
    if table.clustering().is_empty() {
        return Position { token, key: key.to_vec(), row: None };
    }
    let mut row = Vec::new();
    clustering_place(table, clustering, &mut row);
    Position { token, key: key.to_vec(), row: Some(row) }
}

/// Appends the byte-comparable form of a clustering.
pub fn clustering_place(table: &Table, clustering: ClusteringRef<'_>, out: &mut Vec<u8>) {
    for (column, value) in table.clustering().iter().zip(clustering.components()) {
        cql_types::comparable::encode(&column.ty, value, column.is_reversed(), out);
    }
}
