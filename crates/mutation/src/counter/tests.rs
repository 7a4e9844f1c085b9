//! States of counters: their bytes, and the laws of merging them.

use proptest::prelude::*;
use schema::ColumnId;

use super::*;
use crate::row::{CellRef, LiveRow, RowBuilder, RowRef, merge_rows, without_overwritten};

fn id(node: u8) -> CounterId {
    CounterId([node; 16])
}

fn global(node: u8, clock: i64, count: i64) -> CounterPart {
    CounterPart { id: id(node), clock, count, kind: PartKind::Global }
}

fn value(parts: &[CounterPart]) -> Vec<u8> {
    let mut out = Vec::new();
    write(parts, &mut out);
    assert_eq!(CounterRef::decode(&out).expect("a state decodes").parts().collect::<Vec<_>>(), parts);
    out
}

fn merged(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    merge(&CounterRef::trusted(a), &CounterRef::trusted(b), &mut out);
    CounterRef::decode(&out).expect("a merged state decodes");
    out
}

/// Parts of up to four nodes. Local ones are left out: they are added, so that merging with them is not idempotent.
fn state() -> impl Strategy<Value = Vec<u8>> {
    let part = (1_i64..4, -3_i64..4, any::<bool>());
    prop::collection::btree_map(0_u8..4, part, 0..4).prop_map(|parts| {
        let kind = |is_global: bool| if is_global { PartKind::Global } else { PartKind::Remote };
        let part =
            |(node, (clock, count, is_global))| CounterPart { kind: kind(is_global), ..global(node, clock, count) };
        value(&parts.into_iter().map(part).collect::<Vec<_>>())
    })
}

/// A row with a counter, perhaps its tombstone.
fn row() -> impl Strategy<Value = Vec<u8>> {
    (state(), 0_i64..3, prop::option::weighted(0.2, 10_u32..12)).prop_map(|(state, timestamp, tombstone)| {
        let value = if tombstone.is_some() { &[][..] } else { &state };
        of_cell(&cell(timestamp, tombstone, value))
    })
}

fn cell(timestamp: i64, tombstone: Option<u32>, value: &[u8]) -> CellRef<'_> {
    let is_counter = tombstone.is_none();
    CellRef { column: ColumnId(3), timestamp, expiry: None, tombstone, path: &[], value, is_counter }
}

fn of_cell(cell: &CellRef<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut builder = RowBuilder::begin(&out);
    builder.cell(&mut out, cell);
    builder.finish(&mut out);
    RowRef::decode(&out).expect("a row decodes");
    out
}

fn merged_rows(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    merge_rows(&RowRef::trusted(a), &RowRef::trusted(b), &mut out);
    RowRef::decode(&out).expect("a merged row decodes");
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn merging_states_is_commutative_associative_and_idempotent(a in state(), b in state(), c in state()) {
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(&merged(&a, &a), &a);
    }

    #[test]
    fn merging_rows_of_counters_is_too(a in row(), b in row(), c in row()) {
        prop_assert_eq!(merged_rows(&a, &b), merged_rows(&b, &a));
        prop_assert_eq!(merged_rows(&merged_rows(&a, &b), &c), merged_rows(&a, &merged_rows(&b, &c)));
        prop_assert_eq!(&merged_rows(&merged_rows(&a, &b), &a), &merged_rows(&a, &b));
    }

    #[test]
    fn who_covers_is_what_both_come_to(a in state(), b in state()) {
        let (of_a, of_b) = (CounterRef::trusted(&a), CounterRef::trusted(&b));
        prop_assert_eq!(of_a.covers(&of_b), merged(&a, &b) == a);
    }

    /// What another row has in its place can be left out: both together say the same.
    #[test]
    fn what_is_left_out_is_in_the_other(a in row(), b in row()) {
        let mut left = Vec::new();
        if without_overwritten(&RowRef::trusted(&a), &RowRef::trusted(&b), &mut left) {
            prop_assert_eq!(merged_rows(&left, &b), merged_rows(&a, &b));
        } else {
            prop_assert_eq!(&merged_rows(&a, &b), &b);
        }
    }

    #[test]
    fn bytes_from_anywhere_do_not_panic(mut bytes in state(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let at = at.index(bytes.len());
        bytes[at] = byte;
        for bytes in [&bytes[..], &bytes[..bytes.len() / 2]] {
            let counter = CounterRef::trusted(bytes);
            let _ = (counter.count(), counter.part_of(id(1)), counter.has_legacy_parts());
            let mut out = Vec::new();
            merge(&counter, &counter, &mut out);
            if let Ok(counter) = CounterRef::decode(bytes) {
                prop_assert_eq!(counter.parts().count(), counter.part_count());
            }
        }
    }
}

#[test]
fn a_state_has_cassandras_bytes() {
    let value = value(&[global(7, 5, -1)]);
    let expected =
        [&(-1_i64).to_be_bytes()[..], &[0, 1, 0x80, 0], &[7; 16], &5_i64.to_be_bytes(), &(-1_i64).to_be_bytes()];
    assert_eq!(value, expected.concat());
}

#[test]
fn kinds_of_parts_are_kept_and_rank() {
    let part = |kind, clock, count| CounterPart { kind, ..global(1, clock, count) };
    let of = |kind, clock, count| value(&[part(kind, clock, count)]);
    let (remote, local, whole) = (of(PartKind::Remote, 9, 9), of(PartKind::Local, 5, 3), of(PartKind::Global, 1, 1));
    assert_eq!(merged(&remote, &local), local);
    assert_eq!(merged(&local, &whole), whole);
    assert_eq!(merged(&remote, &whole), whole);
    assert_eq!(merged(&local, &local), of(PartKind::Local, 10, 6));
    assert_eq!(merged(&of(PartKind::Remote, -2, 4), &remote), of(PartKind::Remote, -2, 4), "a renewed part falls");
    assert!(CounterRef::trusted(&local).has_legacy_parts() && !CounterRef::trusted(&whole).has_legacy_parts());
    let both = merged(&of(PartKind::Remote, 1, 2), &value(&[global(0, 1, 5), global(2, 1, 7)]));
    assert_eq!(CounterRef::trusted(&both).count(), 14);
}

#[test]
fn a_reader_is_shown_the_count_alone() {
    let state = value(&[global(1, 5, 40), global(2, 6, 2)]);
    let row = of_cell(&cell(5, None, &state));
    let row = LiveRow::new(RowRef::trusted(&row), None, 0);
    let shown = row.cell(ColumnId(3)).expect("it lives");
    assert_eq!((shown.value, shown.is_counter), (&42_i64.to_be_bytes()[..], false));
    let (column, counter) = row.counters().next().expect("it lives");
    assert_eq!((column, counter.part_of(id(2)).map(|part| part.count)), (ColumnId(3), Some(2)));
}

#[test]
fn a_tombstone_prevails_whatever_the_timestamps() {
    let state = value(&[global(1, 5, 40)]);
    let (later, tombstone) = (of_cell(&cell(9, None, &state)), of_cell(&cell(5, Some(7), &[])));
    assert_eq!(merged_rows(&later, &tombstone), tombstone);
    assert_eq!(merged_rows(&tombstone, &later), tombstone);
}

#[test]
fn a_state_that_is_none_is_refused() {
    let good = value(&[global(1, 5, 40), global(2, 6, 2)]);
    let mut wrong_sum = good.clone();
    wrong_sum[7] ^= 1;
    let mut disordered = good.clone();
    disordered[14] = 9;
    let mut marks_nothing = good.clone();
    marks_nothing[13] = 7;
    for bad in [&wrong_sum[..], &disordered, &marks_nothing, &good[..good.len() - 1], &good[..9], &good[..4]] {
        assert!(CounterRef::decode(bad).is_err(), "{bad:?}");
    }
    assert!(CounterRef::decode(&0_i64.to_be_bytes()).is_ok_and(|counter| counter.part_count() == 0));
}
