//! What is purged, rule by rule.

use std::collections::BTreeMap;

use cql_types::CqlType;
use mutation::{Expiry, Liveness};
use schema::{Column, ColumnKind, DroppedColumn, TableId, TableOptions};

use super::*;

const NOW: u32 = 10_000;
const BEFORE: u32 = 9_000;
const VALUE: ColumnId = ColumnId(2);

fn column(id: u16, name: &str, kind: ColumnKind) -> Column {
    Column::new(kind, ColumnId(id), name, CqlType::Int)
}

fn table() -> Table {
    let columns = vec![
        column(0, "key", ColumnKind::PartitionKey),
        column(1, "row", ColumnKind::Clustering),
        column(2, "value", ColumnKind::Regular),
        column(3, "other", ColumnKind::Regular),
    ];
    Table::new(TableId([1; 16]), "ks", "t", columns, TableOptions::default())
}

fn rules(table: Table) -> Rules {
    let planted = Planted::NONE;
    Rules {
        table: Rc::new(table),
        now: NOW,
        gc_before: Some(BEFORE),
        dropped: Vec::new(),
        has_purged: Default::default(),
        planted,
    }
}

fn cell(timestamp: i64) -> CellRef<'static> {
    CellRef {
        column: VALUE,
        timestamp,
        expiry: None,
        tombstone: None,
        path: &[],
        value: &[0, 0, 0, 7],
        is_counter: false,
    }
}

fn tombstone(timestamp: i64, second: u32) -> CellRef<'static> {
    CellRef { tombstone: Some(second), value: &[], ..cell(timestamp) }
}

fn expiring(timestamp: i64, ttl: u32, ends: u32) -> CellRef<'static> {
    CellRef { expiry: Some(Expiry { ttl, local_deletion_time: ends }), ..cell(timestamp) }
}

struct Row {
    deletion: Option<Deletion>,
    liveness: Option<Liveness>,
    cells: Vec<CellRef<'static>>,
}

impl Row {
    fn of(cells: &[CellRef<'static>]) -> Row {
        Row { deletion: None, liveness: None, cells: cells.to_vec() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut builder = RowBuilder::begin(&out);
        self.deletion.into_iter().for_each(|deletion| builder.deletion(deletion));
        self.liveness.into_iter().for_each(|liveness| builder.liveness(liveness));
        self.cells.iter().for_each(|cell| builder.cell(&mut out, cell));
        builder.finish(&mut out);
        out
    }
}

/// What is left of a row when the least timestamp outside is `least`.
fn left(rules: &Rules, least: i64, row: &Row, shadow: Option<Deletion>) -> Option<Vec<u8>> {
    let outside = move |_: Token, _: &[u8]| least;
    let purge = Purge::new(rules, &outside, Token(0), b"key");
    let mut out = b"what was there before".to_vec();
    purge.row(&RowRef::trusted(&row.bytes()), shadow, &mut out).then_some(out)
}

const NOTHING_OUTSIDE: i64 = i64::MAX;

#[test]
fn a_tombstone_goes_when_grace_is_over_and_nothing_outside_is_as_old() {
    let rules = rules(table());
    let of = |timestamp, second, least| left(&rules, least, &Row::of(&[tombstone(timestamp, second)]), None);
    assert_eq!(of(50, BEFORE - 1, NOTHING_OUTSIDE), None);
    assert_eq!(of(50, BEFORE - 1, 51), None);
    assert!(of(50, BEFORE, NOTHING_OUTSIDE).is_some(), "at its very second grace is not over");
    assert!(of(50, BEFORE - 1, 50).is_some(), "something outside is as old");
    assert!(of(50, BEFORE - 1, 49).is_some(), "something outside is older");
    let mut none = rules;
    none.gc_before = None;
    assert!(left(&none, NOTHING_OUTSIDE, &Row::of(&[tombstone(50, 0)]), None).is_some(), "nothing may be purged");
}

#[test]
fn deletions_of_rows_and_ranges_go_by_the_same_rule() {
    let rules = rules(table());
    let deletion = Deletion { timestamp: 50, local_deletion_time: BEFORE - 1 };
    let outside = |_: Token, _: &[u8]| 51;
    let older_outside = |_: Token, _: &[u8]| 50;
    let of = |outside: &dyn Fn(Token, &[u8]) -> i64, deletion| {
        Purge::new(&rules, outside, Token(0), b"key").deletion(Some(deletion))
    };
    assert_eq!(of(&outside, deletion), None);
    assert_eq!(of(&older_outside, deletion), Some(deletion));
    let young = Deletion { local_deletion_time: BEFORE, ..deletion };
    assert_eq!(of(&outside, young), Some(young));
    let row = Row { deletion: Some(deletion), ..Row::of(&[cell(60)]) };
    assert_eq!(left(&rules, 51, &row, None), Some(Row::of(&[cell(60)]).bytes()));
    assert_eq!(left(&rules, 50, &row, None), Some(row.bytes()));
}

#[test]
fn the_whole_partition_is_judged_alike() {
    let rules = rules(table());
    let calls = Cell::new(0);
    let outside = |_: Token, _: &[u8]| {
        calls.set(calls.get() + 1);
        // What is asked for a second time is another answer.
        if calls.get() == 1 { NOTHING_OUTSIDE } else { 0 }
    };
    let purge = Purge::new(&rules, &outside, Token(0), b"key");
    let deletion = Deletion { timestamp: 50, local_deletion_time: 0 };
    assert_eq!(purge.deletion(Some(deletion)), None);
    assert_eq!(purge.deletion(Some(deletion)), None);
    assert_eq!(calls.get(), 1);
}

#[test]
fn an_expired_cell_becomes_a_tombstone_of_when_it_was_written() {
    let rules = rules(table());
    let of = |cell, least| left(&rules, least, &Row::of(&[cell]), None);
    assert_eq!(of(expiring(50, 100, NOW + 1), 0), Some(Row::of(&[expiring(50, 100, NOW + 1)]).bytes()), "it lives");
    assert_eq!(of(expiring(50, 100, NOW), 0), Some(Row::of(&[tombstone(50, NOW - 100)]).bytes()));
    assert_eq!(of(expiring(50, 100, BEFORE - 1), 0), Some(Row::of(&[tombstone(50, BEFORE - 101)]).bytes()));
    assert_eq!(of(expiring(50, 100, BEFORE - 1), NOTHING_OUTSIDE), None);
    // Longer alive than grace lasts: it was written before that.
    assert_eq!(of(expiring(50, 2_000, NOW), NOTHING_OUTSIDE), None);
    assert!(of(expiring(50, 100, NOW), NOTHING_OUTSIDE).is_some(), "written within grace");
}

#[test]
fn an_expired_liveness_goes_or_stays_as_it_is() {
    let rules = rules(table());
    let ends = |second| Some(Liveness { timestamp: 50, expiry: Some(Expiry { ttl: 5, local_deletion_time: second }) });
    let row = |second| Row { liveness: ends(second), ..Row::of(&[]) };
    assert_eq!(left(&rules, NOTHING_OUTSIDE, &row(BEFORE - 1), None), None);
    assert_eq!(left(&rules, 50, &row(BEFORE - 1), None), Some(row(BEFORE - 1).bytes()));
    assert_eq!(left(&rules, NOTHING_OUTSIDE, &row(BEFORE), None), Some(row(BEFORE).bytes()));
    assert_eq!(left(&rules, NOTHING_OUTSIDE, &row(NOW + 1), None), Some(row(NOW + 1).bytes()));
}

#[test]
fn what_is_shadowed_goes_whatever_lies_outside() {
    let rules = rules(table());
    let shadow = Deletion { timestamp: 50, local_deletion_time: NOW };
    let other = CellRef { column: ColumnId(3), ..cell(51) };
    assert_eq!(left(&rules, 0, &Row::of(&[cell(50)]), Some(shadow)), None);
    assert_eq!(left(&rules, 0, &Row::of(&[cell(50), other]), Some(shadow)), Some(Row::of(&[other]).bytes()));
    let weaker = Deletion { timestamp: 40, local_deletion_time: NOW };
    let row = Row { deletion: Some(weaker), ..Row::of(&[other]) };
    assert_eq!(left(&rules, 0, &row, Some(shadow)), Some(Row::of(&[other]).bytes()));
    let usual = Row { liveness: Some(Liveness { timestamp: 60, expiry: None }), ..Row::of(&[cell(60)]) };
    assert_eq!(left(&rules, 0, &usual, None), Some(usual.bytes()));
}

#[test]
fn cells_of_a_dropped_column_stay_only_if_they_are_newer_and_wanted() {
    let mut table = table();
    let gone = column(9, "gone", ColumnKind::Regular);
    let dropped = DroppedColumn { column: gone, dropped_at_micros: 50 };
    table.dropped = BTreeMap::from([("gone".to_owned(), dropped)]);
    let mut rules = rules(table);
    let of = |timestamp| CellRef { column: ColumnId(9), ..cell(timestamp) };
    assert_eq!(left(&rules, 0, &Row::of(&[of(51)]), None), None, "the output does not name the column");
    rules.dropped = vec![ColumnId(9)];
    assert_eq!(left(&rules, 0, &Row::of(&[of(50)]), None), None);
    assert_eq!(left(&rules, 0, &Row::of(&[of(51)]), None), Some(Row::of(&[of(51)]).bytes()));
}
