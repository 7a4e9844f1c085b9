//! Reconciliation: what two writes to the same row come to. (Source of the rules: Cassandra's `Cells.resolveRegular`,
//! `LivenessInfo.supersedes` and `Row.Merger`.)
//!
//! Every choice is made by a total order on what is stored, never by the clock and never by which of the two came
//! first, so that merging is commutative, associative and idempotent: replicas and replays agree.

use std::cmp::Ordering;

use crate::counter::{self, CounterRef};
use crate::life::{Deletion, Expiry, Liveness};
use crate::row::{CellRef, RowBuilder, RowRef};

/// Appends what `a` and `b`, rows with the same clustering, come to.
pub fn merge_rows(a: &RowRef<'_>, b: &RowRef<'_>, out: &mut Vec<u8>) {
    let deletion = Deletion::max_of(a.deletion(), b.deletion());
    let is_kept = |timestamp: i64| deletion.is_none_or(|deletion| !deletion.deletes(timestamp));
    let liveness = match (a.liveness(), b.liveness()) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    };
    let mut builder = RowBuilder::begin(out);
    begin_row(&mut builder, deletion, liveness);
    let (mut left, mut right) = (a.cells(), b.cells());
    let (mut next_left, mut next_right) = (left.next(), right.next());
    // Takes memory for states of counters that neither has whole, and for nothing else.
    let mut state = Vec::new();
    loop {
        let order = match (&next_left, &next_right) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => order_of_places(a, b),
        };
        let from_left = if order.is_le() { std::mem::replace(&mut next_left, left.next()) } else { None };
        let from_right = if order.is_ge() { std::mem::replace(&mut next_right, right.next()) } else { None };
        let cell = match (from_left, from_right) {
            // What is deleted counts for nothing in the other: neither its parts, nor that it is a tombstone.
            (Some(a), Some(b)) if a.is_counter || b.is_counter => match (is_kept(a.timestamp), is_kept(b.timestamp)) {
                (true, true) => merge_counters(a, b, &mut state),
                (true, false) => a,
                _ => b,
            },
            (Some(a), Some(b)) => prevailing(a, b),
            (Some(cell), None) | (None, Some(cell)) => cell,
            (None, None) => break,
        };
        if is_kept(cell.timestamp) {
            builder.cell(out, &cell);
        }
    }
    builder.finish(out);
}

/// Whether `new` takes the place of `old` as it is: a later write of the same columns, as an INSERT that repeats an
/// earlier one. What it does not recognise is merged; so it may say no, and costs little.
#[inline]
pub fn supersedes(new: &RowRef<'_>, old: &RowRef<'_>) -> bool {
    let is_plain = |row: &RowRef<'_>| row.is_uniform() && row.deletion().is_none();
    if !is_plain(new) || !is_plain(old) || new.base_timestamp <= old.base_timestamp {
        return false;
    }
    if old.liveness().is_some() && new.liveness().is_none() {
        return false;
    }
    let (mut new, mut old) = (new.cells(), old.cells());
    loop {
        match (new.next(), old.next()) {
            (None, None) => return true,
            (Some(new), Some(old)) if new.column == old.column => {}
            _ => return false,
        }
    }
}

/// Appends what is left of `row` under a deletion from outside it: of its partition, or of a range it lies in. Gives
/// whether anything is.
pub fn shadow_row(row: &RowRef<'_>, shadow: Deletion, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let deletion = row.deletion().filter(|deletion| deletion.max(shadow) != shadow);
    let strictest = Deletion::max_of(deletion, Some(shadow)).unwrap_or(shadow);
    let mut builder = RowBuilder::begin(out);
    if let Some(deletion) = deletion {
        builder.deletion(deletion);
    }
    if let Some(liveness) = row.liveness().filter(|liveness| !strictest.deletes(liveness.timestamp)) {
        builder.liveness(liveness);
    }
    for cell in row.cells().filter(|cell| !strictest.deletes(cell.timestamp)) {
        builder.cell(out, &cell);
    }
    builder.finish(out);
    let is_left = !RowRef::trusted(&out[start..]).is_empty();
    if !is_left {
        out.truncate(start);
    }
    is_left
}

/// Appends what is left of `row` where `other`, which is kept elsewhere, has something later in its place: cells and the liveness that would
/// not prevail over the other's, and elements that the other's deletion of their column covers. What is in both alike stays. Gives whether
/// anything is left. The other's row deletion is no part of it: it is a deletion from outside, as [`shadow_row`] takes them.
pub fn without_overwritten(row: &RowRef<'_>, other: &RowRef<'_>, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let mut builder = RowBuilder::begin(out);
    if let Some(deletion) = row.deletion() {
        builder.deletion(deletion);
    }
    let prevails = |own: &Liveness| other.liveness().is_none_or(|other| own.max(other) == *own);
    if let Some(liveness) = row.liveness().filter(prevails) {
        builder.liveness(liveness);
    }
    let mut others = other.cells();
    let mut next = others.next();
    // The other's deletion of the column that was passed last.
    let mut column: Option<CellRef<'_>> = None;
    for cell in row.cells() {
        while let Some(there) = next.filter(|there| order_of_places(there, &cell) == Ordering::Less) {
            column = Some(there).filter(|there| there.path.is_empty() && there.is_tombstone()).or(column);
            next = others.next();
        }
        let at_place = next.filter(|there| order_of_places(there, &cell) == Ordering::Equal);
        let is_overwritten = at_place.is_some_and(|there| match cell.is_counter || there.is_counter {
            true => is_counted(&cell, &there),
            false => prevailing(cell, there) != cell,
        });
        let is_covered = !cell.path.is_empty()
            && column.is_some_and(|column| column.column == cell.column && cell.timestamp <= column.timestamp);
        if !is_overwritten && !is_covered {
            builder.cell(out, &cell);
        }
    }
    builder.finish(out);
    let is_left = !RowRef::trusted(&out[start..]).is_empty();
    if !is_left {
        out.truncate(start);
    }
    is_left
}

/// Which of two cells stands first in a row.
#[inline]
fn order_of_places(a: &CellRef<'_>, b: &CellRef<'_>) -> Ordering {
    // Comparing two empty slices is a call of `memcmp` with no bytes, whose masked load from their dangling address costs
    // a hundred nanoseconds on processors that take an assist for it.
    a.column.cmp(&b.column).then_with(|| match a.path.is_empty() && b.path.is_empty() {
        true => Ordering::Equal,
        false => a.path.cmp(b.path),
    })
}

fn begin_row(builder: &mut RowBuilder, deletion: Option<Deletion>, liveness: Option<Liveness>) {
    if let Some(deletion) = deletion {
        builder.deletion(deletion);
    }
    if let Some(liveness) = liveness
        && deletion.is_none_or(|deletion| !deletion.deletes(liveness.timestamp))
    {
        builder.liveness(liveness);
    }
}

/// What two cells of one counter come to, in `state` if it is neither of them. A tombstone prevails whatever the timestamps:
/// who knows how much of a state was there when it was made. (Source: Cassandra's `Cells.resolveCounter`.)
fn merge_counters<'a>(a: CellRef<'a>, b: CellRef<'a>, state: &'a mut Vec<u8>) -> CellRef<'a> {
    match (a.is_tombstone(), b.is_tombstone()) {
        (true, _) => return a,
        (_, true) => return b,
        _ => {}
    }
    let timestamp = a.timestamp.max(b.timestamp);
    let (of_a, of_b) = (CounterRef::trusted(a.value), CounterRef::trusted(b.value));
    if of_b.covers(&of_a) {
        return CellRef { timestamp, ..b };
    }
    if of_a.covers(&of_b) {
        return CellRef { timestamp, ..a };
    }
    state.clear();
    counter::merge(&of_a, &of_b, state);
    CellRef { timestamp, value: state, ..a }
}

/// Whether `there` has all that a cell of the same counter says, and more.
fn is_counted(cell: &CellRef<'_>, there: &CellRef<'_>) -> bool {
    match (cell.is_tombstone(), there.is_tombstone()) {
        (true, _) => false,
        (false, true) => true,
        (false, false) => {
            cell != there
                && there.timestamp >= cell.timestamp
                && CounterRef::trusted(there.value).covers(&CounterRef::trusted(cell.value))
        }
    }
}

/// Which of two cells of the same column and path stays: the later; at a tie a tombstone over a value that expires over
/// one that does not; then what is deleted or over later; then, of two that are over at the same second, the one with the smaller ttl, which
/// was written later; then the greater value. (Source: Cassandra's `Cells.reconcile`.)
#[inline]
pub fn prevailing<'a>(a: CellRef<'a>, b: CellRef<'a>) -> CellRef<'a> {
    if a.timestamp != b.timestamp {
        return if a.timestamp > b.timestamp { a } else { b };
    }
    let kind = |cell: &CellRef<'_>| match (cell.tombstone, cell.expiry) {
        (Some(_), _) => 2,
        (None, Some(_)) => 1,
        (None, None) => 0,
    };
    let over = |cell: &CellRef<'_>| cell.tombstone.or(cell.expiry.map(|expiry| expiry.local_deletion_time));
    let order = kind(&a)
        .cmp(&kind(&b))
        .then_with(|| over(&a).cmp(&over(&b)))
        .then_with(|| Expiry::order(a.expiry, b.expiry))
        .then_with(|| a.value.cmp(b.value));
    if order == Ordering::Less { b } else { a }
}
