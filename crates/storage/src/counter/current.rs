//! What this node has added to counters so far: its own parts.

use std::collections::BTreeMap;
use std::rc::Rc;

use mutation::{ClusteringRef, CounterId, Item, LiveRow, MutationRef, ReadCommand, RowRef, Slice};
use planted::Bug;
use schema::{ColumnId, TableId};
use topology::Token;

use super::{CountError, Piece};
use crate::counted::Counted;
use crate::error::ApplyError;
use crate::memtable::TableShape;
use crate::reader::ReadDone;
use crate::shard::Shard;
use crate::sink::{Flow, ReadEnd, RowSink};

/// This node's part of a counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OwnPart {
    pub(super) clock: i64,
    pub(super) count: i64,
}

/// A row, by what orders it: equal clusterings may have different bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    table: TableId,
    key: Vec<u8>,
    /// Byte-comparable; `None`: the static row.
    place: Option<Vec<u8>>,
}

/// The own parts of the counters of some rows.
pub(super) struct Current {
    shard: Shard,
    rows: BTreeMap<Row, BTreeMap<ColumnId, OwnPart>>,
    /// The counters that were added to, under which id.
    counted: Vec<(Row, ColumnId, CounterId)>,
}

impl Current {
    /// Nothing is known yet.
    pub(super) fn of(shard: &Shard) -> Self {
        Current { shard: shard.clone(), rows: BTreeMap::new(), counted: Vec::new() }
    }

    /// The static row of a mutation's partition.
    pub(super) fn static_row(&self, of: &MutationRef<'_>) -> Row {
        Row { table: of.table(), key: of.key().to_vec(), place: None }
    }

    /// A row of a mutation's partition.
    pub(super) fn row(&self, of: &MutationRef<'_>, clustering: ClusteringRef<'_>) -> Row {
        let engine = self.shard.engine_ref();
        let mut place = Vec::new();
        if let Some(table) = engine.tables.get(of.table()) {
            table.memtable.shape().comparable(clustering, &mut place);
        }
        Row { table: of.table(), key: of.key().to_vec(), place: Some(place) }
    }

    /// Adds to a counter under an id, and gives its part then. `now`: microseconds.
    pub(super) fn count(&mut self, row: &Row, (column, id): (ColumnId, CounterId), delta: i64, now: i64) -> OwnPart {
        self.counted.push((row.clone(), column, id));
        if !self.rows.contains_key(row) {
            self.rows.insert(row.clone(), BTreeMap::new());
        }
        let columns = self.rows.get_mut(row).expect("it is there or was just put there");
        let part = columns.entry(column).or_default();
        *part = OwnPart { clock: now.max(part.clock.saturating_add(1)), count: part.count.wrapping_add(delta) };
        *part
    }

    /// All that was counted is in the memtables, in the same call.
    pub(super) fn note_counted(self) {
        let mut engine = self.shard.engine();
        for (row, column, id) in &self.counted {
            if let Some(table) = engine.tables.get_mut(row.table) {
                table.counted.note((&row.key, row.place.as_deref()), *column, *id);
            }
        }
    }

    /// Reads the parts with `id` of the piece's counters within the call. False: they may lie in several places, or on the disk.
    pub(super) fn read_now(&mut self, piece: &Piece<'_>, id: CounterId) -> Result<bool, ApplyError> {
        let wanted = Wanted::of(&self.shard, piece)?;
        if wanted.is_nothing() {
            return Ok(true);
        }
        let slices = wanted.slices();
        let command = wanted.command(&self.shard, &slices);
        let mut sink = OwnParts::of(&wanted, id);
        match self.shard.read_part(&command, &mut sink) {
            Some(ReadEnd::Complete) => {
                self.take(sink);
                return Ok(true);
            }
            // It asks for few rows: deletions among them make it long.
            Some(_) => return Ok(false),
            None => {}
        }
        // Parts rise with time. So what was counted since the active memtable was begun is newer than what lies elsewhere.
        let mut sink = OwnParts::of(&wanted, id);
        let has_all = {
            let engine = self.shard.engine_ref();
            let trusts_any = self.shard.planted().is(Bug::AnyOwnPartTrusted);
            engine.tables.get(wanted.table).is_some_and(|table| {
                (trusts_any || wanted.are_counted(&table.counted, id))
                    && table.memtable.read(&command, &mut sink) == ReadEnd::Complete
                    && wanted.are_in(&sink.found)
            })
        };
        if has_all {
            self.take(sink);
        }
        Ok(has_all)
    }

    /// Reads them from wherever they lie.
    pub(super) async fn read_through(&mut self, piece: &Piece<'_>, id: CounterId) -> Result<(), CountError> {
        let wanted = Wanted::of(&self.shard, piece)?;
        let slices = wanted.slices();
        let command = wanted.command(&self.shard, &slices);
        let mut sink = OwnParts::of(&wanted, id);
        match self.shard.read_through(&command, &mut sink).await? {
            ReadDone::Complete | ReadDone::Stopped(_) => {}
        }
        self.take(sink);
        Ok(())
    }

    /// Takes over what was found. Two pieces may be of one row, and each asks for its own counters, of which one finds more than the other: the latest of each counts.
    fn take(&mut self, sink: OwnParts) {
        for (row, parts) in sink.found {
            let known = self.rows.entry(row).or_default();
            for (column, part) in parts {
                let of_column = known.entry(column).or_insert(part);
                if part.clock > of_column.clock {
                    *of_column = part;
                }
            }
        }
    }
}

/// Which counters are to be known.
struct Wanted<'p> {
    table: TableId,
    shape: Rc<TableShape>,
    token: Token,
    key: &'p [u8],
    /// The columns to be known of the static row and of the rows, by what orders them.
    rows: BTreeMap<Option<Vec<u8>>, Vec<ColumnId>>,
}

impl<'p> Wanted<'p> {
    fn of(shard: &Shard, piece: &Piece<'p>) -> Result<Self, ApplyError> {
        let of = &piece.mutation;
        let shape = {
            let engine = shard.engine_ref();
            let table = engine.tables.get(of.table()).ok_or(ApplyError::UnknownTable(of.table()))?;
            table.memtable.shape().clone()
        };
        let mut rows: BTreeMap<Option<Vec<u8>>, Vec<ColumnId>> = BTreeMap::new();
        let columns = |row: &RowRef<'_>| -> Vec<ColumnId> {
            row.cells().filter(|cell| !cell.is_tombstone()).map(|cell| cell.column).collect()
        };
        for item in &piece.items {
            shape.check_place(item).map_err(ApplyError::Mismatch)?;
            let (place, row) = match item {
                Item::StaticRow(row) => (None, row),
                Item::Row(clustering, row) => {
                    let mut place = Vec::new();
                    shape.comparable(*clustering, &mut place);
                    (Some(place), row)
                }
                Item::RangeTombstone(_) => continue,
            };
            let columns = columns(row);
            if !columns.is_empty() {
                rows.entry(place).or_default().extend(columns);
            }
        }
        Ok(Wanted { table: of.table(), shape, token: of.token(), key: of.key(), rows })
    }

    /// Only deletions.
    fn is_nothing(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows to read, ascending.
    fn slices(&self) -> Vec<Slice<'_>> {
        self.rows.keys().flatten().map(|place| Slice::of_prefix(place)).collect()
    }

    fn command<'c>(&'c self, shard: &Shard, slices: &'c [Slice<'c>]) -> ReadCommand<'c> {
        // Counters do not expire: the second is of no account.
        let now = u32::try_from(shard.runtime().wall_clock_micros() / 1_000_000).unwrap_or(u32::MAX);
        let whole = ReadCommand::partition(self.table, self.token, self.key, now);
        ReadCommand { slices, ..whole }
    }

    /// True if each of them was counted in the active memtable.
    fn are_counted(&self, counted: &Counted, id: CounterId) -> bool {
        self.rows.iter().all(|(place, columns)| {
            let row = (self.key, place.as_deref());
            columns.iter().all(|column| counted.has(row, *column, id))
        })
    }

    /// Whether each of them has an own part among those found.
    fn are_in(&self, found: &BTreeMap<Row, BTreeMap<ColumnId, OwnPart>>) -> bool {
        self.rows.iter().all(|(place, columns)| {
            let row = Row { table: self.table, key: self.key.to_vec(), place: place.clone() };
            found.get(&row).is_some_and(|parts| columns.iter().all(|column| parts.contains_key(column)))
        })
    }
}

/// Collects own parts from the rows that a read gives.
struct OwnParts {
    id: CounterId,
    table: TableId,
    shape: Rc<TableShape>,
    key: Vec<u8>,
    found: BTreeMap<Row, BTreeMap<ColumnId, OwnPart>>,
}

impl OwnParts {
    /// None was found yet.
    fn of(wanted: &Wanted<'_>, id: CounterId) -> OwnParts {
        OwnParts { id, table: wanted.table, shape: wanted.shape.clone(), key: Vec::new(), found: BTreeMap::new() }
    }

    fn add(&mut self, place: Option<Vec<u8>>, row: LiveRow<'_>) {
        let own = row.counters().filter_map(|(column, counter)| {
            let part = counter.part_of(self.id)?;
            Some((column, OwnPart { clock: part.clock, count: part.count }))
        });
        let parts: BTreeMap<ColumnId, OwnPart> = own.collect();
        if !parts.is_empty() {
            self.found.insert(Row { table: self.table, key: self.key.clone(), place }, parts);
        }
    }
}

impl RowSink for OwnParts {
    fn partition(&mut self, _token: Token, key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        self.key = key.to_vec();
        if let Some(row) = static_row {
            self.add(None, row);
        }
        Flow::Continue
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let mut place = Vec::new();
        self.shape.comparable(clustering, &mut place);
        self.add(Some(place), row);
        Flow::Continue
    }
}
