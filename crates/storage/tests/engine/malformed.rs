//! Mutations that no file could hold: refused where they come in, so that a flush, which has nobody to refuse, never meets one.

use cql_types::CqlType;
use mutation::{ClusteringBound, Deletion, MutationEncoder};
use schema::{Column, ColumnId, ColumnKind, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::{ApplyError, Shard};
use topology::token_of;

use crate::harness::{Folder, OTHER, Setup, TABLE, apply, key_of, mutation, read_rows, schema_of, with_shard};

/// A table whose values have lengths and paths.
const STRICT: TableId = TableId([3; 16]);
const CLUSTERING: ColumnId = ColumnId(1);
const NUMBER: ColumnId = ColumnId(2);
const SET: ColumnId = ColumnId(3);
const LIST: ColumnId = ColumnId(4);

/// The usual tables, and one whose values have lengths and paths.
fn schema() -> Schema {
    let column = |id, name, ty: &str, kind| Column::new(kind, id, name, CqlType::parse(ty).expect(ty));
    let columns = vec![
        column(ColumnId(0), "key", "blob", ColumnKind::PartitionKey),
        column(CLUSTERING, "c", "int", ColumnKind::Clustering),
        column(NUMBER, "number", "bigint", ColumnKind::Regular),
        column(SET, "set", "set<int>", ColumnKind::Regular),
        column(LIST, "list", "list<int>", ColumnKind::Regular),
    ];
    let table = Table::new(STRICT, "ks", "strict", columns, TableOptions::default());
    schema_of(&[TABLE, OTHER], true).with_all(&[SchemaChange::PutTable(Box::new(table))])
}

fn row(clustering: &[u8], fill: impl FnOnce(&mut mutation::RowEncoder<'_, '_>)) -> Vec<u8> {
    row_of(&[clustering], fill)
}

fn row_of(clustering: &[&[u8]], fill: impl FnOnce(&mut mutation::RowEncoder<'_, '_>)) -> Vec<u8> {
    let key = key_of(1);
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, STRICT, token_of(&key), &key);
    let mut row = encoder.row(clustering.iter().copied());
    row.liveness(1, None);
    fill(&mut row);
    encoder.finish();
    out
}

/// The deletion of the rows between two bounds.
fn range(start: &[&[u8]], end: &[&[u8]]) -> Vec<u8> {
    let key = key_of(1);
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, STRICT, token_of(&key), &key);
    let [start, end] = [start, end].map(|prefix| ClusteringBound { prefix, inclusive: true });
    encoder.range_tombstone(start, end, Deletion { timestamp: 1, local_deletion_time: 1 });
    encoder.finish();
    out
}

/// What a peer with another schema, or with a bug, might send.
fn malformed() -> Vec<(&'static str, Vec<u8>)> {
    let int = [0; 4];
    vec![
        ("a clustering value of another length", row(&[1, 2, 3], |_| {})),
        ("a row without clustering values", row_of(&[], |_| {})),
        ("a row of more values than clustering columns", row_of(&[&[], &int], |_| {})),
        ("a range from more values than clustering columns", range(&[&[], &int], &[])),
        ("a range up to more values than clustering columns", range(&[], &[&[], &int])),
        ("a range from a value of another length", range(&[&[1, 2, 3]], &[])),
        ("a value of another length", row(&int, |row| _ = row.cell(NUMBER, 1, None, &[1, 2, 3]))),
        ("an element of a column of one cell", row(&int, |row| _ = row.element(NUMBER, &[1], 1, None, &[0; 8]))),
        ("a path that is not the element's", row(&int, |row| _ = row.element(SET, &[1, 2], 1, None, &int))),
        ("a deleted element without a name", row(&int, |row| _ = row.element_tombstone(SET, &[0xff], 1, 1))),
        ("a list's element at no time", row(&int, |row| _ = row.element(LIST, &[1], 1, None, &int))),
        (
            "a list's element at a time that no UUID has",
            row(&int, |row| _ = row.element(LIST, &[0xff; 16], 1, None, &int)),
        ),
        ("a key that is too long", mutation_of_key(&[7; 65_536])),
    ]
}

fn mutation_of_key(key: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, STRICT, token_of(key), key);
    encoder.row([&[0; 4][..]]).liveness(1, None);
    encoder.finish();
    out
}

async fn refuse_all(shard: &Shard) {
    for (what, bytes) in malformed() {
        assert!(matches!(shard.apply(&bytes), Err(ApplyError::Mismatch(_))), "{what}: at once");
        let batch = [mutation(TABLE, 9, 1, b"not applied"), bytes];
        let refused = shard.apply_batch(&[&batch[0], &batch[1]]);
        assert!(matches!(refused, Err(ApplyError::Mismatch(_))), "{what}: in a batch");
        let refused = shard.apply_in_steps(&batch).await;
        assert!(matches!(refused, Err(ApplyError::Mismatch(_))), "{what}: in steps");
    }
    assert_eq!(read_rows(shard, TABLE), [] as [u32; 0], "of a batch with one of them nothing is applied");
}

#[test]
fn what_no_file_could_hold_is_refused_and_a_flush_goes_well() {
    let folder = Folder::new("malformed");
    with_shard(&Setup::new(&folder, 1), async |_, shard| {
        shard.update_schema(&schema());
        refuse_all(&shard).await;
        let mut path = Vec::new();
        cql_types::comparable::encode(&CqlType::Int, &[0, 0, 0, 5], false, &mut path);
        let sound = row(&[0; 4], |row| {
            row.cell(NUMBER, 1, None, &[1; 8]);
            row.element(SET, &path, 1, None, &[0, 0, 0, 5]);
            row.element(LIST, &[1; 16], 1, None, &[0; 4]);
        });
        apply(&shard, &sound).await;
        shard.flush(STRICT).await.expect("all that was taken can be written");
        // The shard goes on as before.
        refuse_all(&shard).await;
        apply(&shard, &mutation(TABLE, 1, 1, b"v")).await;
        shard.flush(TABLE).await.expect("it can be written");
    })
    .expect("the storage opens");
}
