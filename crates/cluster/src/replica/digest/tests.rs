//! Pages that say the same have the same digest, however they are laid down; any other difference shows.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use cql_types::CqlType;
use mutation::{ClusteringRef, Liveness, RowBuilder};
use schema::{Column, ColumnId, ColumnKind, TableId, TableOptions};
use storage::DataSink;
use storage::reader::{DataPageLimits, DataPageWriter};

use super::*;

const NOW: u32 = 10_000;
/// Grace is a thousand seconds.
const GC_BEFORE: u32 = 9_000;
const LIMITS: DataPageLimits = DataPageLimits { items: 1_000, bytes: 1 << 20 };

fn table(has_clustering: bool) -> Table {
    let mut columns = vec![Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Blob)];
    if has_clustering {
        columns.push(Column::new(ColumnKind::Clustering, ColumnId(1), "c", CqlType::Blob));
        columns.push(Column::new(ColumnKind::Static, ColumnId(4), "s", CqlType::Blob));
    }
    columns.push(Column::new(ColumnKind::Regular, ColumnId(2), "v", CqlType::Blob));
    columns.push(Column::new(ColumnKind::Regular, ColumnId(3), "w", CqlType::Blob));
    Table::new(TableId([7; 16]), "ks", "t", columns, TableOptions::default())
}

fn deletion(timestamp: i64, local_deletion_time: u32) -> Option<Deletion> {
    Some(Deletion { timestamp, local_deletion_time })
}

fn cell(column: u16, timestamp: i64, value: &[u8]) -> CellRef<'_> {
    let column = ColumnId(column);
    CellRef { column, timestamp, expiry: None, tombstone: None, path: &[], value, is_counter: false }
}

/// A row of cells alone, or with a deletion.
fn row(own: Option<Deletion>, cells: &[CellRef<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut builder = RowBuilder::begin(&out);
    own.into_iter().for_each(|own| builder.deletion(own));
    cells.iter().for_each(|cell| builder.cell(&mut out, cell));
    builder.finish(&mut out);
    out
}

fn clustering(place: u8) -> Vec<u8> {
    // One component of one byte.
    let mut mutation = Vec::new();
    let mut encoder = mutation::MutationEncoder::begin(&mut mutation, TableId([7; 16]), Token(1), b"key");
    encoder.row([&[place][..]]).cell(ColumnId(2), 1, None, b"");
    encoder.finish();
    let decoded = mutation::MutationRef::decode(&mutation).expect("it was encoded");
    let bytes = decoded.items().find_map(|item| match item {
        mutation::Item::Row(clustering, _) => Some(clustering.bytes().to_vec()),
        _ => None,
    });
    bytes.expect("there is one row")
}

/// A page of one partition, to which `write` adds items.
fn page_of(whole: Option<Deletion>, static_row: &[u8], write: impl FnOnce(&mut DataPageWriter)) -> Page {
    let mut page = DataPageWriter::new(LIMITS);
    let static_row = (!static_row.is_empty()).then(|| RowRef::trusted(static_row));
    page.partition(Token(1), b"key", whole, static_row);
    write(&mut page);
    Page { items: page.into_bytes(), more_after: None }
}

fn push(page: &mut DataPageWriter, place: u8, row: &[u8]) {
    page.row(ClusteringRef::decode(&clustering(place)).expect("it is one"), RowRef::trusted(row));
}

/// All are ready at once: nothing here waits.
fn done<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => unreachable!("a pause that does not wait"),
    }
}

fn digest_in(table: &Table, page: &Page) -> Digest {
    let rule = DigestRule { table, now_in_seconds: NOW, gc_before: GC_BEFORE, planted: crate::planted_by_test() };
    done(digest_of(page, &rule, async || {})).expect("it is a page")
}

fn digest(page: &Page) -> Digest {
    digest_in(&table(true), page)
}

#[test]
fn equal_values_of_other_timestamps_differ() {
    let at = |timestamp| digest(&page_of(None, &[], |page| push(page, 1, &row(None, &[cell(2, timestamp, b"v")]))));
    assert_eq!(at(5), at(5));
    assert_ne!(at(5), at(6), "the later write of the same value");
    let deleted = |timestamp| digest(&page_of(deletion(timestamp, NOW), &[], |_| {}));
    assert_ne!(deleted(5), deleted(6));
}

#[test]
fn every_part_of_a_row_makes_a_difference() {
    let expiry = Some(Expiry { ttl: 50, local_deletion_time: NOW + 10 });
    let later = Some(Expiry { ttl: 50, local_deletion_time: NOW + 11 });
    let liveness = |expiry| {
        let mut out = Vec::new();
        let mut builder = RowBuilder::begin(&out);
        builder.liveness(Liveness { timestamp: 5, expiry });
        builder.finish(&mut out);
        out
    };
    let rows = [
        row(None, &[cell(2, 5, b"v")]),
        row(None, &[cell(2, 5, b"u")]),
        row(None, &[cell(3, 5, b"v")]),
        row(None, &[cell(2, 5, b"v"), cell(3, 5, b"v")]),
        row(None, &[CellRef { expiry, ..cell(2, 5, b"v") }]),
        row(None, &[CellRef { expiry: later, ..cell(2, 5, b"v") }]),
        row(None, &[CellRef { tombstone: Some(NOW), ..cell(2, 5, b"") }]),
        row(deletion(5, NOW), &[]),
        liveness(None),
        liveness(expiry),
        row(None, &[cell(2, 5, &[7; 100_000])]),
        row(None, &[cell(2, 5, &[7; 100_001])]),
    ];
    let mut digests: Vec<Digest> = Vec::new();
    for row in &rows {
        digests.push(digest(&page_of(None, &[], |page| push(page, 1, row))));
        digests.push(digest(&page_of(None, row, |_| {})));
        digests.push(digest(&page_of(None, &[], |page| push(page, 2, row))));
    }
    let count = digests.len();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), count, "no two rows, and no two places, are the same");
}

#[test]
fn what_is_shadowed_makes_no_difference() {
    let live = row(None, &[cell(2, 9, b"v")]);
    let both = row(None, &[cell(2, 9, b"v"), cell(3, 4, b"w")]);
    let old = row(deletion(4, NOW), &[cell(2, 4, b"old")]);
    let of = |rows: &[(u8, &[u8])], ranges: &[(u8, Option<Deletion>)]| {
        digest(&page_of(deletion(5, NOW), &[], |page| {
            for (place, deletion) in ranges {
                page.range(Some(&[*place]), *deletion);
            }
            rows.iter().for_each(|(place, row)| push(page, *place, row));
        }))
    };
    let expected = of(&[(1, &live)], &[]);
    assert_eq!(of(&[(1, &both)], &[]), expected, "a cell that the partition's deletion covers");
    assert_eq!(of(&[(1, &live), (2, &old)], &[]), expected, "a row of which nothing is left");
    assert_eq!(of(&[(1, &live)], &[(0, deletion(3, NOW)), (1, None)]), expected, "a range that is covered");
    assert_ne!(of(&[(1, &live)], &[(0, deletion(8, NOW)), (1, None)]), expected);
}

#[test]
fn changes_of_what_is_deleted_are_told_once_each() {
    let range = deletion(8, NOW);
    let of = |ranges: &[(u8, Option<Deletion>)]| {
        digest(&page_of(None, &[], |page| ranges.iter().for_each(|(at, deletion)| page.range(Some(&[*at]), *deletion))))
    };
    let expected = of(&[(1, range), (9, None)]);
    assert_eq!(of(&[(1, range), (4, range), (9, None)]), expected, "two ranges side by side");
    assert_eq!(of(&[(1, deletion(2, NOW)), (1, range), (9, None)]), expected, "the last change at a place holds");
    assert_eq!(of(&[(0, None), (1, range), (9, None)]), expected, "nothing was deleted before");
    assert_ne!(of(&[(1, range), (8, None)]), expected);
    assert_ne!(of(&[(2, range), (9, None)]), expected);
}

#[test]
fn what_a_compaction_purges_or_rewrites_makes_no_difference() {
    let (long_ago, before) = (GC_BEFORE - 1, GC_BEFORE);
    let live = row(None, &[cell(2, 9, b"v")]);
    let plain = digest(&page_of(None, &[], |page| push(page, 1, &live)));
    let purgeable = |whole: Option<Deletion>, extra: &[u8], range: Option<Deletion>| {
        digest(&page_of(whole, &[], |page| {
            page.range(Some(&[0]), range);
            page.range(Some(&[1]), None);
            push(page, 1, &live);
            push(page, 2, extra);
        }))
    };
    let tombstone = |second| row(None, &[CellRef { tombstone: Some(second), ..cell(2, 4, b"") }]);
    let nothing = row(None, &[]);
    assert_eq!(purgeable(None, &tombstone(long_ago), None), plain);
    assert_ne!(purgeable(None, &tombstone(before), None), plain);
    assert_eq!(purgeable(None, &row(deletion(4, long_ago), &[]), None), plain);
    assert_eq!(purgeable(deletion(4, long_ago), &nothing, None), plain);
    assert_eq!(purgeable(None, &nothing, deletion(4, long_ago)), plain);
    assert_ne!(purgeable(None, &nothing, deletion(4, before)), plain);
    assert_eq!(purgeable(deletion(4, long_ago), &row(None, &[cell(2, 4, b"old")]), None), plain, "it still shadows");

    let expired = |local_deletion_time| {
        let expiry = Some(Expiry { ttl: 100, local_deletion_time });
        row(None, &[CellRef { expiry, ..cell(2, 4, b"v") }])
    };
    assert_eq!(purgeable(None, &expired(long_ago), None), plain);
    assert_eq!(purgeable(None, &expired(before + 50), None), plain, "grace runs from its writing");
    let (whole, rewritten) = (expired(before + 200), tombstone(before + 100));
    assert_eq!(
        purgeable(None, &whole, None),
        purgeable(None, &rewritten, None),
        "it is a tombstone after a compaction"
    );
}

#[test]
fn the_deletion_of_a_partition_of_one_row_is_the_same_with_the_row_and_without() {
    let table = table(false);
    let of = |whole, own| {
        let row = row(own, &[cell(2, 9, b"v")]);
        let page = page_of(whole, &[], |page| page.row(ClusteringRef::EMPTY, RowRef::trusted(&row)));
        digest_in(&table, &page)
    };
    let gone = deletion(5, NOW);
    assert_eq!(of(gone, None), of(None, gone));
    assert_eq!(of(gone, gone), of(None, gone));
    assert_ne!(of(None, None), of(None, gone));
}

#[test]
fn the_place_where_a_page_ends_makes_a_difference() {
    let page = page_of(None, &[], |page| push(page, 1, &row(None, &[cell(2, 9, b"v")])));
    let at = |row: Option<Vec<u8>>| {
        let more_after = Some(Position { token: Token(1), key: b"key".to_vec(), row });
        digest(&Page { items: page.items.clone(), more_after })
    };
    let digests = [digest(&page), at(None), at(Some(vec![1])), at(Some(vec![2]))];
    assert!((1..digests.len()).all(|end| !digests[..end].contains(&digests[end])));
}

#[test]
fn a_partition_of_which_nothing_is_left_is_as_none() {
    let none = Page { items: Vec::new(), more_after: None };
    let nothing = row(None, &[]);
    assert_eq!(digest(&page_of(None, &[], |page| push(page, 1, &nothing))), digest(&none));
    assert_ne!(digest(&page_of(deletion(1, NOW), &[], |_| {})), digest(&none));
}

#[test]
fn damaged_bytes_are_no_digest() {
    let page = Page { items: vec![9], more_after: None };
    let table = table(true);
    let rule = DigestRule { table: &table, now_in_seconds: NOW, gc_before: GC_BEFORE, planted: Planted::NONE };
    assert!(done(digest_of(&page, &rule, async || {})).is_err());
}
