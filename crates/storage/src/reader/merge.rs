//! Reconciling what several replicas, or several shards of one, answer to a read.
//!
//! Each is a lane: a sequence of data items in the read's order, of which one page at a time is here. The next place is
//! taken only when every lane's next item is known, so a lane that ran dry is refilled first. That is all the protection
//! against short reads there needs to be: no lane is taken to be at its end before it says so, whatever its page held,
//! and the rows that count towards a limit are those that live after reconciliation.

use std::cmp::Ordering;

use mutation::{ClusteringRef, DecodeError, Deletion, LiveRow, Position, ReadCommand, RowRef, merge_rows};
use planted::Bug;
use schema::Table;
use topology::Token;

use crate::reader::lane::{Head, Lane, Source};
use crate::sink::{Flow, RowSink};

/// How a read ended that was waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ReadDone {
    /// There is no more.
    Complete,
    /// The sink had enough; the same command goes on after this position.
    Stopped(Position),
}

/// Is told what each lane holds and what all of them come to: so that lanes can be repaired that lack something.
pub trait Comparison {
    /// A lane's partition deletion, and the one that holds.
    fn deletion(&mut self, lane: usize, has: Option<Deletion>, holds: Option<Deletion>);

    /// A lane's row, which may be none at all, and what the rows of all come to. `has` is what the lane is deleted by at the row's
    /// place, `holds` what holds there, the partition's deletion in both. Without a clustering it is the static row.
    fn row(
        &mut self,
        lane: usize,
        clustering: Option<&[u8]>,
        of_lane: (&[u8], Option<Deletion>),
        of_all: (&[u8], Option<Deletion>),
    );
}

/// The partition that is being merged.
struct Merged {
    token: Token,
    key: Vec<u8>,
    deletion: Option<Deletion>,
    static_row: Vec<u8>,
    is_announced: bool,
    skips: bool,
}

/// Gives the sink what the lanes come to.
pub async fn merge<S: Source>(
    lanes: &mut [Lane<S>],
    table: &Table,
    command: &ReadCommand<'_>,
    pause: impl AsyncFn(),
    mut comparison: Option<&mut dyn Comparison>,
    sink: &mut impl RowSink,
) -> Result<ReadDone, S::Error> {
    loop {
        for lane in &mut *lanes {
            lane.refill(table).await?;
            // What comes before any partition belongs to none.
            if matches!(lane.head, Head::Range { .. } | Head::Row { .. }) {
                let what = DecodeError::Unknown { what: "a data page's first item", value: 2 };
                return Err(lane.source.malformed(what));
            }
        }
        let first = lanes.iter().filter_map(Lane::next_key).min();
        let Some((token, key)) = first else { return Ok(ReadDone::Complete) };
        let key = key.to_vec();
        let mut members = Vec::new();
        for (index, lane) in lanes.iter().enumerate() {
            if lane.next_key() == Some((token, &key)) {
                members.push(index);
            }
        }
        let comparison = comparison.as_mut().map(|comparison| &mut **comparison as &mut dyn Comparison);
        let merged = merge_partition(lanes, &members, table, command, (token, key), &pause, comparison, sink);
        if let Some(position) = merged.await? {
            return Ok(ReadDone::Stopped(position));
        }
        pause().await;
    }
}

/// Merges the partition that is the members' next. `Some`: the sink stopped there.
#[expect(clippy::too_many_arguments, reason = "it is the body of a loop")]
async fn merge_partition<S: Source>(
    lanes: &mut [Lane<S>],
    members: &[usize],
    table: &Table,
    command: &ReadCommand<'_>,
    (token, key): (Token, Vec<u8>),
    pause: &impl AsyncFn(),
    mut comparison: Option<&mut dyn Comparison>,
    sink: &mut impl RowSink,
) -> Result<Option<Position>, S::Error> {
    let resumed = command.after.is_some_and(|after| after.key == key && after.row.is_some());
    let mut merged = Merged { token, key, deletion: None, static_row: Vec::new(), is_announced: false, skips: false };
    let mut heads = vec![(None, Vec::new()); lanes.len()];
    for &index in members {
        let lane = &mut lanes[index];
        lane.range = None;
        if let Head::Partition { deletion, static_row, .. } = &lane.head {
            heads[index] = (*deletion, static_row.clone());
        }
        merged.take_partition(lane, table)?;
    }
    if let Some(comparison) = comparison.as_deref_mut() {
        for (index, (deletion, static_row)) in heads.iter().enumerate() {
            comparison.deletion(index, *deletion, merged.deletion);
            let holds = merged.deletion;
            comparison.row(index, None, (static_row, holds), (&merged.static_row, holds));
        }
    }
    if !resumed && merged.live_static(command.now_in_seconds).is_some() {
        match merged.announce(command.now_in_seconds, sink) {
            Flow::Continue => {}
            Flow::SkipPartition => merged.skips = true,
            Flow::Stop => return Ok(Some(Position { token, key: merged.key, row: None })),
        }
    }
    let mut row = Vec::new();
    while !merged.skips {
        for &index in members {
            let lane = &mut lanes[index];
            lane.refill(table).await?;
            while merged.take_partition(lane, table)? || take_beginning(lane, table)? {
                lane.refill(table).await?;
            }
        }
        let next = members.iter().copied().filter(|&index| place_of(&lanes[index].head).is_some());
        let Some(first) = next.min_by(|&a, &b| order(&lanes[a].head, &lanes[b].head, command.reversed)) else {
            return Ok(None);
        };
        if let Head::Range { deletion, .. } = lanes[first].head {
            if !lanes[first].source.planted().is(Bug::RangeTombstoneIgnored) {
                lanes[first].range = deletion;
            }
            lanes[first].advance(table)?;
            continue;
        }
        let mut rows = vec![Vec::new(); if comparison.is_some() { lanes.len() } else { 0 }];
        let (place, clustering) = take_rows(lanes, members, first, table, &mut row, &mut rows)?;
        let ranges = members.iter().map(|&index| lanes[index].range);
        let shadow = ranges.fold(merged.deletion, Deletion::max_of);
        if let Some(comparison) = comparison.as_deref_mut() {
            for (index, (lane, own)) in lanes.iter().zip(&rows).enumerate() {
                let has = match members.contains(&index) {
                    true => Deletion::max_of(merged.deletion, lane.range),
                    false => merged.deletion,
                };
                comparison.row(index, Some(&clustering), (own, has), (&row, shadow));
            }
        }
        let live = LiveRow::new(RowRef::trusted(&row), shadow, command.now_in_seconds);
        if live.is_live() {
            let flow = match merged.is_announced {
                true => Flow::Continue,
                false => merged.announce(command.now_in_seconds, sink),
            };
            let flow = match flow {
                Flow::Continue => sink.row(ClusteringRef::trusted(&clustering), live),
                other => other,
            };
            match flow {
                Flow::Continue => {}
                Flow::SkipPartition => merged.skips = true,
                Flow::Stop => {
                    let row = (!table.clustering().is_empty()).then_some(place);
                    return Ok(Some(Position { token, key: merged.key, row }));
                }
            }
        }
        pause().await;
    }
    for &index in members {
        lanes[index].skip(table, token, &merged.key).await?;
    }
    Ok(None)
}

impl Merged {
    /// Takes the lane's head if it is this partition's beginning, or that of its next piece.
    fn take_partition<S: Source>(&mut self, lane: &mut Lane<S>, table: &Table) -> Result<bool, S::Error> {
        let Head::Partition { token, key, deletion, static_row } = &lane.head else { return Ok(false) };
        if (*token, key) != (self.token, &self.key) {
            return Ok(false);
        }
        self.deletion = Deletion::max_of(self.deletion, *deletion);
        if !static_row.is_empty() {
            self.static_row = match self.static_row.is_empty() {
                true => static_row.clone(),
                false => merged_rows(&self.static_row, static_row),
            };
        }
        lane.advance(table)?;
        Ok(true)
    }

    fn live_static(&self, now_in_seconds: u32) -> Option<LiveRow<'_>> {
        if self.static_row.is_empty() {
            return None;
        }
        let row = LiveRow::new(RowRef::trusted(&self.static_row), self.deletion, now_in_seconds);
        row.cells().next().is_some().then_some(row)
    }

    fn announce(&mut self, now_in_seconds: u32, sink: &mut impl RowSink) -> Flow {
        self.is_announced = true;
        sink.partition(self.token, &self.key, self.live_static(now_in_seconds))
    }
}

/// Takes the rows at the place of the lane `first` out of all lanes, merged into `out`; each lane's own goes to `rows`, if
/// that has a place for it.
fn take_rows<S: Source>(
    lanes: &mut [Lane<S>],
    members: &[usize],
    first: usize,
    table: &Table,
    out: &mut Vec<u8>,
    rows: &mut [Vec<u8>],
) -> Result<(Vec<u8>, Vec<u8>), S::Error> {
    let Head::Row { place, clustering, row } = std::mem::replace(&mut lanes[first].head, Head::End) else {
        unreachable!("what is no range is a row")
    };
    out.clone_from(&row);
    if let Some(own) = rows.get_mut(first) {
        *own = row;
    }
    lanes[first].advance(table)?;
    for &index in members.iter().filter(|&&index| index != first) {
        let Head::Row { place: other, row, .. } = &lanes[index].head else { continue };
        if *other == place {
            *out = merged_rows(out, row);
            if let Some(own) = rows.get_mut(index) {
                own.clone_from(row);
            }
            lanes[index].advance(table)?;
        }
    }
    Ok((place, clustering))
}

/// Takes a change that holds from before all rows to come.
fn take_beginning<S: Source>(lane: &mut Lane<S>, table: &Table) -> Result<bool, S::Error> {
    let Head::Range { at: None, deletion } = lane.head else { return Ok(false) };
    lane.range = deletion;
    lane.advance(table)?;
    Ok(true)
}

fn merged_rows(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut merged = Vec::with_capacity(a.len().max(b.len()));
    merge_rows(&RowRef::trusted(a), &RowRef::trusted(b), &mut merged);
    merged
}

/// A head's place within its partition; a change at a row's very place is before the row.
fn place_of(head: &Head) -> Option<(&[u8], bool)> {
    match head {
        Head::Range { at, .. } => Some((at.as_deref()?, false)),
        Head::Row { place, .. } => Some((place, true)),
        Head::Partition { .. } | Head::End => None,
    }
}

/// Which of two heads comes first in the read's direction.
fn order(a: &Head, b: &Head, reversed: bool) -> Ordering {
    let order = place_of(a).cmp(&place_of(b));
    if reversed { order.reverse() } else { order }
}

#[cfg(test)]
mod tests;
