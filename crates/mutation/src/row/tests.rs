//! The laws of merging, on random rows, and what a row's bytes are.

use proptest::prelude::*;

use super::*;

mod histories;

fn expiry() -> impl Strategy<Value = Option<Expiry>> {
    prop::option::weighted(
        0.3,
        (1u32..3, 10u32..13).prop_map(|(ttl, local_deletion_time)| Expiry { ttl, local_deletion_time }),
    )
}

#[derive(Debug, Clone)]
struct OwnedCell {
    column: u16,
    timestamp: i64,
    expiry: Option<Expiry>,
    tombstone: Option<u32>,
    path: Vec<u8>,
    value: Vec<u8>,
}

fn cell() -> impl Strategy<Value = OwnedCell> {
    let path = prop::collection::vec(0u8..2, 0..2);
    let value = prop::collection::vec(0u8..3, 0..3);
    (0u16..5, 0i64..5, expiry(), prop::option::weighted(0.2, 10u32..13), path, value).prop_map(
        |(column, timestamp, expiry, tombstone, path, value)| OwnedCell {
            column,
            timestamp,
            expiry: expiry.filter(|_| tombstone.is_none()),
            tombstone,
            path,
            value: if tombstone.is_some() { Vec::new() } else { value },
        },
    )
}

/// A row's blob, built with its cells in any order and some of them twice.
fn row() -> impl Strategy<Value = Vec<u8>> {
    let deletion =
        (0i64..5, 10u32..13).prop_map(|(timestamp, local_deletion_time)| Deletion { timestamp, local_deletion_time });
    let liveness = (0i64..5, expiry()).prop_map(|(timestamp, expiry)| Liveness { timestamp, expiry });
    let is_plain = any::<bool>();
    (prop::option::weighted(0.3, deletion), prop::option::of(liveness), prop::collection::vec(cell(), 0..6), is_plain)
        .prop_map(|(deletion, liveness, mut cells, is_plain)| {
            if let (true, Some(liveness)) = (is_plain, liveness) {
                for cell in &mut cells {
                    (cell.timestamp, cell.expiry) = (liveness.timestamp, liveness.expiry);
                    (cell.tombstone, cell.path) = (None, Vec::new());
                }
            }
            build(deletion, liveness, &cells)
        })
}

fn build(deletion: Option<Deletion>, liveness: Option<Liveness>, cells: &[OwnedCell]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut builder = RowBuilder::begin(&out);
    if let Some(deletion) = deletion {
        builder.deletion(deletion);
    }
    if let Some(liveness) = liveness {
        builder.liveness(liveness);
    }
    for cell in cells {
        let OwnedCell { column, timestamp, expiry, tombstone, path, value } = cell;
        let (timestamp, expiry, tombstone) = (*timestamp, *expiry, *tombstone);
        builder.cell(
            &mut out,
            &CellRef { column: ColumnId(*column), timestamp, expiry, tombstone, path, value, is_counter: false },
        );
    }
    builder.finish(&mut out);
    // What a row deletes of itself does not change what it means; merging with nothing removes it.
    merge(&out, &out)
}

/// The same row, written `later` microseconds after, without its deletion.
fn shifted(row: &[u8], later: i64) -> Vec<u8> {
    let row = RowRef::trusted(row);
    let mut out = Vec::new();
    let mut builder = RowBuilder::begin(&out);
    if let Some(liveness) = row.liveness() {
        builder.liveness(Liveness { timestamp: liveness.timestamp + later, ..liveness });
    }
    for cell in row.cells() {
        builder.cell(&mut out, &CellRef { timestamp: cell.timestamp + later, ..cell });
    }
    builder.finish(&mut out);
    out
}

fn merge(a: &[u8], b: &[u8]) -> Vec<u8> {
    let (a, b) = (RowRef::decode(a).expect("a row decodes"), RowRef::decode(b).expect("a row decodes"));
    let mut out = Vec::new();
    merge_rows(&a, &b, &mut out);
    RowRef::decode(&out).expect("a merged row decodes");
    out
}

/// What of `a` is not overwritten by `b`, nor covered by its own deletions of columns, of which merging two rows may leave elements.
fn without(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    if b.is_empty() {
        without_overwritten(&RowRef::trusted(a), &RowRef::trusted(a), &mut out);
    } else {
        without_overwritten(&RowRef::trusted(a), &RowRef::trusted(b), &mut out);
    }
    if out.is_empty() {
        // Nothing is left: as a row, an empty one.
        RowBuilder::begin(&out).finish(&mut out);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn merging_is_commutative(a in row(), b in row()) {
        prop_assert_eq!(merge(&a, &b), merge(&b, &a));
    }

    #[test]
    fn merging_is_associative(a in row(), b in row(), c in row()) {
        prop_assert_eq!(merge(&merge(&a, &b), &c), merge(&a, &merge(&b, &c)));
    }

    #[test]
    fn merging_is_idempotent(a in row(), b in row()) {
        let merged = merge(&a, &b);
        prop_assert_eq!(&merge(&a, &a), &a);
        prop_assert_eq!(&merge(&merged, &a), &merged);
    }

    /// What takes the place of another as it is, is what merging the two gives.
    #[test]
    fn superseding_is_merging(a in row(), b in row()) {
        let repeated = shifted(&a, 1);
        let is_plain = RowRef::trusted(&a).is_uniform() && RowRef::trusted(&a).deletion().is_none();
        prop_assert_eq!(supersedes(&RowRef::trusted(&repeated), &RowRef::trusted(&a)), is_plain);
        for (new, old) in [(&a, &b), (&repeated, &a), (&a, &repeated)] {
            if supersedes(&RowRef::trusted(new), &RowRef::trusted(old)) {
                prop_assert_eq!(&merge(new, old), new);
            }
        }
    }

    /// What another row has in its place can be left out: both together say the same.
    #[test]
    fn what_is_left_out_is_in_the_other(a in row(), b in row()) {
        let left = without(&a, &b);
        prop_assert_eq!(without(&merge(&left, &b), &[]), without(&merge(&a, &b), &[]));
        prop_assert_eq!(&without(&left, &b), &left);
        let own = without(&a, &a);
        prop_assert_eq!(&without(&own, &own), &own);
        // What is in both alike stays, but for elements that the row's own deletion of the column covers.
        let is_plain = !RowRef::trusted(&a).has_elements();
        prop_assert!(!is_plain || own == a);
    }

    /// A deletion from outside has the same effect on two rows as on what they come to.
    #[test]
    fn shadowing_goes_through_merging(a in row(), b in row(), timestamp in 0i64..5) {
        let shadow = Deletion { timestamp, local_deletion_time: 11 };
        let shadowed = |row: &[u8]| {
            let mut out = Vec::new();
            let is_left = shadow_row(&RowRef::trusted(row), shadow, &mut out);
            assert_eq!(is_left, !out.is_empty());
            if is_left { out } else { build(None, None, &[]) }
        };
        prop_assert_eq!(shadowed(&merge(&shadowed(&a), &shadowed(&b))), shadowed(&merge(&a, &b)));
    }

    #[test]
    fn bytes_from_anywhere_do_not_panic(mut bytes in row(), at in any::<prop::sample::Index>(), value in any::<u8>()) {
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for bytes in [&bytes[..], &bytes[..bytes.len() / 2]] {
            if let Ok(row) = RowRef::decode(bytes) {
                prop_assert!(row.cells().count() < 20);
            }
            let row = RowRef::trusted(bytes);
            let _ = (row.cells().count(), row.timestamp_max(), LiveRow::new(row, None, 11).is_live());
        }
    }
}

#[test]
fn a_plain_insert_is_compact() {
    let mut out = Vec::new();
    let mut builder = RowBuilder::begin(&out);
    builder.liveness(Liveness { timestamp: 5, expiry: None });
    for column in [1, 2] {
        let cell = CellRef {
            column: ColumnId(column),
            timestamp: 5,
            expiry: None,
            tombstone: None,
            path: &[],
            value: b"ab",
            is_counter: false,
        };
        builder.cell(&mut out, &cell);
    }
    builder.finish(&mut out);
    assert!(RowRef::trusted(&out).is_uniform());
    assert_eq!(out.len(), 1 + 8 + 2 * (1 + 1 + 2));
}

#[test]
fn cells_out_of_order_are_refused() {
    let mut out = Vec::new();
    let mut builder = RowBuilder::begin(&out);
    builder.liveness(Liveness { timestamp: 5, expiry: None });
    builder.finish(&mut out);
    out[0] |= row_flag::UNIFORM;
    out.extend_from_slice(&[2, 0, 1, 0]);
    assert_eq!(RowRef::decode(&out).err(), Some(DecodeError::OutOfOrder { column: 1 }));
}
