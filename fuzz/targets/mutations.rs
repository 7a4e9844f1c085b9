//! Mutations and read commands, as they lie in the commit log and travel between shards.

use mutation::{Item, MutationRef, ReadCommandBuf, RowRef, merge_rows};

fn walk(row: &RowRef<'_>) {
    row.cells().count();
    let mut merged = Vec::new();
    merge_rows(row, row, &mut merged);
    RowRef::decode(&merged).expect("merged rows decode");
}

/// Runs one input.
pub fn run(data: &[u8]) {
    if let Ok(mutation) = MutationRef::decode(data) {
        assert_eq!(mutation.items().count(), mutation.item_count());
        for item in mutation.items() {
            match item {
                Item::StaticRow(row) | Item::Row(_, row) => walk(&row),
                _ => {}
            }
        }
    }
    if let Ok(row) = RowRef::decode(data) {
        walk(&row);
    }
    let _ = ReadCommandBuf::decode(data);
}
