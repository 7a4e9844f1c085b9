//! The SSTables of a folder side by side: what several of them say of one row comes as one.
//!
//! Rows must be merged before they are sent for the sake of lists: their elements are told apart by ids that no statement can give, so that a list
//! must come whole, in its order.

use std::path::PathBuf;

use mutation::{ClusteringRef, Deletion, RowRef, merge_rows};
use schema::Table;
use sstable::byte_comparable::{self, Place};
use sstable::data::{DataReader, Item};
use topology::{Token, token_of};

use crate::data::DataFile;
use crate::error::ToolError;

/// A piece of a partition.
pub(super) enum Piece {
    /// The partition and its static row, if any of the SSTables has one.
    Partition { key: Vec<u8>, deletion: Option<Deletion>, static_row: Option<Vec<u8>> },
    /// A row, merged.
    Row { clustering: Vec<u8>, row: Vec<u8> },
    /// A deleted range of one of the SSTables.
    Range { start: Bound, end: Bound, deletion: Deletion },
}

/// One end of a range.
pub(super) struct Bound {
    /// The clustering's first values.
    pub prefix: Vec<u8>,
    /// Whether it lies behind the rows that begin with them.
    pub after: bool,
}

/// What a lane gives next.
enum Next {
    Partition { token: Token, key: Vec<u8>, deletion: Option<Deletion>, static_row: Option<Vec<u8>> },
    Row { place: Vec<u8>, clustering: Vec<u8>, row: Vec<u8> },
    Marker { place: Vec<u8>, bound: (Vec<u8>, bool), closes: Option<Deletion>, opens: Option<Deletion> },
    End,
}

/// One SSTable.
pub(super) struct Lane {
    data: DataFile,
    reader: DataReader,
    next: Option<Next>,
    /// The deleted range that has begun.
    open: Option<(Bound, Deletion)>,
    pub(super) path: PathBuf,
}

impl Lane {
    pub(super) async fn new(
        data: DataFile,
        reader: DataReader,
        path: PathBuf,
        table: &Table,
    ) -> Result<Lane, ToolError> {
        let mut lane = Lane { data, reader, next: None, open: None, path };
        lane.advance(table).await?;
        Ok(lane)
    }

    /// How much of the file was read, and how long it is.
    pub(super) fn progress(&self) -> (u64, u64) {
        self.data.progress()
    }

    async fn advance(&mut self, table: &Table) -> Result<(), ToolError> {
        let place_of = |clustering: ClusteringRef<'_>, place: Place| {
            let mut form = Vec::new();
            byte_comparable::clustering(table.clustering(), clustering, place, &mut form);
            form
        };
        self.next = self
            .data
            .next(&mut self.reader, |item, _| match item {
                Item::Partition { key, deletion, static_row } => Next::Partition {
                    token: token_of(key),
                    key: key.to_vec(),
                    deletion,
                    static_row: static_row.map(|row| row.bytes().to_vec()),
                },
                Item::Row { clustering, row } => Next::Row {
                    place: place_of(clustering, Place::Row),
                    clustering: clustering.bytes().to_vec(),
                    row: row.bytes().to_vec(),
                },
                Item::Marker(marker) => Next::Marker {
                    place: place_of(marker.prefix, if marker.after { Place::After } else { Place::Before }),
                    bound: (marker.prefix.bytes().to_vec(), marker.after),
                    closes: marker.closes,
                    opens: marker.opens,
                },
                Item::SkippedRow | Item::PartitionEnd => Next::End,
            })
            .await?;
        Ok(())
    }
}

/// All of them.
pub(super) struct Lanes {
    pub(super) lanes: Vec<Lane>,
    /// Those that are in the partition that is being read.
    inside: Vec<usize>,
}

impl Lanes {
    pub(super) fn new(lanes: Vec<Lane>) -> Lanes {
        Lanes { lanes, inside: Vec::new() }
    }

    /// The next piece; `None`: there is no more.
    pub(super) async fn next(&mut self, table: &Table) -> Result<Option<Piece>, ToolError> {
        loop {
            if self.inside.is_empty() {
                return self.begin_partition(table).await;
            }
            let place = |lane: &Lane| match &lane.next {
                Some(Next::Row { place, .. } | Next::Marker { place, .. }) => Some(place.clone()),
                _ => None,
            };
            let Some(least) = self.inside.iter().filter_map(|&at| place(&self.lanes[at])).min() else {
                // All of them are at the partition's end.
                for at in std::mem::take(&mut self.inside) {
                    self.lanes[at].advance(table).await?;
                }
                continue;
            };
            let at: Vec<usize> =
                self.inside.iter().copied().filter(|&at| place(&self.lanes[at]).as_ref() == Some(&least)).collect();
            if let Some(piece) = self.take(&at, table).await? {
                return Ok(Some(piece));
            }
        }
    }

    async fn begin_partition(&mut self, table: &Table) -> Result<Option<Piece>, ToolError> {
        let key_of = |lane: &Lane| match &lane.next {
            Some(Next::Partition { token, key, .. }) => Some((*token, key.clone())),
            _ => None,
        };
        let Some(least) = self.lanes.iter().filter_map(key_of).min() else { return Ok(None) };
        let (mut all_deletion, mut all_static): (Option<Deletion>, Option<Vec<u8>>) = (None, None);
        for at in 0..self.lanes.len() {
            if key_of(&self.lanes[at]).as_ref() != Some(&least) {
                continue;
            }
            let lane = &mut self.lanes[at];
            if let Some(Next::Partition { deletion, static_row, .. }) = lane.next.take() {
                all_deletion = Deletion::max_of(all_deletion, deletion);
                all_static = match (all_static, static_row) {
                    (Some(one), Some(other)) => Some(merged(&one, &other)),
                    (one, other) => one.or(other),
                };
            }
            lane.advance(table).await?;
            self.inside.push(at);
        }
        Ok(Some(Piece::Partition { key: least.1, deletion: all_deletion, static_row: all_static }))
    }

    /// Takes what stands at one place in these lanes: the same row of all of them, or one's marker.
    async fn take(&mut self, at: &[usize], table: &Table) -> Result<Option<Piece>, ToolError> {
        if let Some(&first) = at.iter().find(|&&at| matches!(self.lanes[at].next, Some(Next::Marker { .. }))) {
            let lane = &mut self.lanes[first];
            let Some(Next::Marker { bound, closes, opens, .. }) = lane.next.take() else { return Ok(None) };
            lane.advance(table).await?;
            let begun = lane.open.take().filter(|_| closes.is_some());
            lane.open = opens.map(|deletion| (Bound { prefix: bound.0.clone(), after: bound.1 }, deletion));
            let end = Bound { prefix: bound.0, after: bound.1 };
            return Ok(begun.map(|(start, deletion)| Piece::Range { start, end, deletion }));
        }
        let mut all: Option<(Vec<u8>, Vec<u8>)> = None;
        for &at in at {
            let lane = &mut self.lanes[at];
            if let Some(Next::Row { clustering, row, .. }) = lane.next.take() {
                all = Some(match all {
                    Some((clustering, before)) => (clustering, merged(&before, &row)),
                    None => (clustering, row),
                });
            }
            lane.advance(table).await?;
        }
        Ok(all.map(|(clustering, row)| Piece::Row { clustering, row }))
    }
}

fn merged(one: &[u8], other: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    merge_rows(&RowRef::trusted(one), &RowRef::trusted(other), &mut out);
    out
}
