//! Lists that are read before they are changed: what names an element by its index or its value must know the list.
//!
//! The read goes to as many replicas as the write's consistency asks for, before the mutation is made; the mutation then
//! carries the elements' paths, so that replicas and replays that come to it later change the very same elements. Another
//! write in between is not seen, as in Cassandra.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use cql_protocol::Value;
use cql_types::parts_of_collection;
use mutation::{CellRef, ClusteringRef, Expiry, LiveRow, prevailing};
use schema::{ColumnId, Table};
use storage::{Flow, RowSink};
use topology::Token;

use super::elements::{added_to_list, elements_of};
use super::modify::MUTATION_BYTES_MAX;
use crate::error::QueryError;
use crate::plan::{Assignment, Binds, Change, Modification, Target};

/// Elements of a list, each behind its path.
pub(super) type ListElements = Vec<(Vec<u8>, Vec<u8>)>;

/// A list as it was read.
#[derive(Debug, Default, Clone)]
pub(crate) struct KnownList {
    /// Its elements in the order of their paths.
    pub(super) elements: Vec<KnownElement>,
    /// Whether an older version wrote it, or a part of it, as one value.
    pub(super) is_in_one_cell: bool,
}

/// An element of a list, with the time of its write.
#[derive(Debug, Clone)]
pub(super) struct KnownElement {
    pub(super) path: Vec<u8>,
    pub(super) value: Vec<u8>,
    timestamp: i64,
    expiry: Option<Expiry>,
}

/// The lists of one row.
#[derive(Debug, Default)]
pub(crate) struct RowLists {
    by_column: BTreeMap<ColumnId, KnownList>,
}

/// The lists of the rows of one partition that a modification changes.
#[derive(Debug, Default)]
pub(crate) struct KnownLists {
    statics: RowLists,
    rows: BTreeMap<Vec<u8>, RowLists>,
    none: RowLists,
}

/// When the assignments of a statement take place, as those behind them see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeenTime {
    pub(super) timestamp: i64,
    pub(super) expiry: Option<Expiry>,
}

impl RowLists {
    /// The list of a column as it was read, with what the assignments `before` make of it: those of one statement see each other. What was
    /// read prevails over them where it is newer, as it will when they are written. (Source: Cassandra's `UpdateParameters.getPrefetchedRow`.)
    pub(super) fn get<'s>(
        &'s self,
        column: ColumnId,
        before: &[Assignment],
        binds: &Binds<'_>,
        time: SeenTime,
    ) -> Result<Option<Cow<'s, KnownList>>, QueryError> {
        let read = self.by_column.get(&column);
        let mut before = before.iter().filter(|assignment| assignment.column == column).peekable();
        if before.peek().is_none() {
            return Ok(read.map(Cow::Borrowed));
        }
        let mut list = read.cloned().unwrap_or_default();
        for assignment in before {
            list.change(assignment, binds, time)?;
        }
        Ok(Some(Cow::Owned(list)))
    }
}

impl KnownElement {
    fn cell(&self) -> CellRef<'_> {
        let (column, path, value) = (ColumnId(0), self.path.as_slice(), self.value.as_slice());
        let (timestamp, expiry) = (self.timestamp, self.expiry);
        CellRef { column, timestamp, expiry, tombstone: None, path, value, is_counter: false }
    }
}

impl KnownList {
    /// Does to the list what an assignment does to the stored one.
    fn change(&mut self, assignment: &Assignment, binds: &Binds<'_>, time: SeenTime) -> Result<(), QueryError> {
        let (ty, value) = (&assignment.operand.ty, assignment.operand.value(binds)?);
        match (&assignment.change, value) {
            (Change::Add { place }, Value::Bytes(value)) => {
                self.insert(added_to_list(ty, value, *place, false, binds)?, time);
            }
            (Change::Prepend { place }, Value::Bytes(value)) => {
                self.insert(added_to_list(ty, value, Some(*place), true, binds)?, time);
            }
            (Change::Index { index, .. }, value) => {
                let index = index.value(binds)?.bytes().and_then(|bytes| bytes.first_chunk());
                let index = index.and_then(|bytes| usize::try_from(i32::from_be_bytes(*bytes)).ok());
                let path = index.and_then(|index| self.elements.get(index)).map(|element| element.path.clone());
                match (path, value) {
                    (Some(path), Value::Bytes(value)) => self.put(path, value.to_vec(), time),
                    (Some(path), Value::Null) => self.remove(time, |element| element.path == path),
                    _ => {}
                }
            }
            // Of the whole list.
            (Change::Cell, Value::Null) => self.remove(time, |_| true),
            (Change::Discard, Value::Bytes(value)) => {
                let unwanted: BTreeSet<&[u8]> = parts_of_collection(ty, value).collect();
                self.remove(time, |element| unwanted.contains(element.value.as_slice()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds elements that were not there.
    fn insert(&mut self, added: ListElements, time: SeenTime) {
        let SeenTime { timestamp, expiry } = time;
        self.elements.extend(added.into_iter().map(|(path, value)| KnownElement { path, value, timestamp, expiry }));
        self.elements.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// Gives an element another value, unless what it has is newer.
    fn put(&mut self, path: Vec<u8>, value: Vec<u8>, time: SeenTime) {
        let element = KnownElement { path, value, timestamp: time.timestamp, expiry: time.expiry };
        match self.elements.binary_search_by(|known| known.path.cmp(&element.path)) {
            Ok(at) if prevailing(self.elements[at].cell(), element.cell()) == element.cell() => {
                self.elements[at] = element;
            }
            Ok(_) => {}
            Err(at) => self.elements.insert(at, element),
        }
    }

    /// Removes the elements that are unwanted, unless they are newer than the removal.
    fn remove(&mut self, time: SeenTime, is_unwanted: impl Fn(&KnownElement) -> bool) {
        let count = self.elements.len();
        self.elements.retain(|element| element.timestamp > time.timestamp || !is_unwanted(element));
        self.is_in_one_cell &= self.elements.len() == count;
    }
}

impl KnownLists {
    pub(super) fn of_static(&self) -> &RowLists {
        &self.statics
    }

    pub(super) fn of_row(&self, table: &Table, clustering: &[&[u8]]) -> &RowLists {
        match self.rows.is_empty() {
            true => &self.none,
            false => self.rows.get(&place(table, clustering.iter().copied())).unwrap_or(&self.none),
        }
    }
}

/// A row's clustering in byte-comparable form.
pub(super) fn place<'c>(table: &Table, clustering: impl Iterator<Item = &'c [u8]>) -> Vec<u8> {
    let mut place = Vec::new();
    for (value, column) in clustering.zip(table.clustering()) {
        cql_types::comparable::encode(&column.ty, value, column.is_reversed(), &mut place);
    }
    place
}

/// The clusterings, byte-comparable and ascending, of the rows whose lists a modification must know.
pub(crate) fn rows_to_read(modification: &Modification, binds: &Binds<'_>) -> Result<Vec<Vec<u8>>, QueryError> {
    let is_about_rows = modification.regulars.iter().any(|assignment| assignment.change.needs_reading());
    let Target::Rows(choices) = &modification.target else { return Ok(Vec::new()) };
    if !is_about_rows {
        return Ok(Vec::new());
    }
    let rows = modification.combinations(choices, binds)?;
    let table = &modification.table;
    let mut places: Vec<Vec<u8>> = rows.iter().map(|row| place(table, row.iter().map(Vec::as_slice))).collect();
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

/// Collects lists from the rows that a read gives.
pub(crate) struct ListReader<'m> {
    table: &'m Table,
    columns: Vec<ColumnId>,
    lists: KnownLists,
    bytes: usize,
}

impl<'m> ListReader<'m> {
    pub(crate) fn new(modification: &'m Modification) -> Self {
        let assignments = modification.statics.iter().chain(&modification.regulars);
        let columns = assignments.filter(|one| one.change.needs_reading()).map(|one| one.column);
        let columns = columns.collect();
        ListReader { table: &modification.table, columns, lists: KnownLists::default(), bytes: 0 }
    }

    /// What was read.
    pub(crate) fn finish(self) -> KnownLists {
        self.lists
    }

    fn lists_of(&mut self, row: LiveRow<'_>) -> RowLists {
        let mut lists = RowLists::default();
        for cell in row.cells() {
            if self.columns.contains(&cell.column) && !self.table.hides(cell.column, cell.timestamp) {
                self.bytes += cell.path.len() + cell.value.len();
                lists.add(cell, self.table);
            }
        }
        lists
    }

    /// Stops where it comes to more than memory should hold.
    fn flow(&self) -> Flow {
        if self.bytes > MUTATION_BYTES_MAX { Flow::Stop } else { Flow::Continue }
    }
}

impl RowLists {
    /// Adds a live cell. The cells of a column come in the order of their paths.
    fn add(&mut self, cell: CellRef<'_>, table: &Table) {
        let list = self.by_column.entry(cell.column).or_default();
        if cell.path.is_empty() {
            list.is_in_one_cell = true;
            let column = table.column_by_id(cell.column);
            let elements = column.map_or(Vec::new(), |column| elements_of(&column.ty, cell.value));
            let known = |(path, value)| KnownElement { path, value, timestamp: cell.timestamp, expiry: cell.expiry };
            list.elements = elements.into_iter().map(known).collect();
            return;
        }
        let (timestamp, expiry) = (cell.timestamp, cell.expiry);
        let element = KnownElement { path: cell.path.to_vec(), value: cell.value.to_vec(), timestamp, expiry };
        // Only beside a value in one cell may it be another value of an element that is known.
        match list.elements.binary_search_by(|known| known.path.as_slice().cmp(cell.path)) {
            Ok(at) => list.elements[at] = element,
            Err(at) => list.elements.insert(at, element),
        }
    }
}

impl RowSink for ListReader<'_> {
    fn partition(&mut self, _token: Token, _key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        if let Some(row) = static_row {
            self.lists.statics = self.lists_of(row);
        }
        self.flow()
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let lists = self.lists_of(row);
        self.lists.rows.insert(place(self.table, clustering.components()), lists);
        self.flow()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As logs of versions before elements have it: the list in one cell, and elements that were set and added since.
    #[test]
    fn a_list_in_one_cell_is_known_with_newer_elements() {
        use cql_types::CqlType;
        use schema::{Column, ColumnKind, TableOptions};
        let ty = CqlType::parse("list<int>").unwrap();
        let columns = vec![
            Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Int),
            Column::new(ColumnKind::Regular, ColumnId(1), "l", ty.clone()),
        ];
        let table = Table::new(schema::TableId([0; 16]), "ks", "t", columns, TableOptions::default());
        let one = |number: i32| number.to_be_bytes().to_vec();
        let whole = cql_types::compose(&ty, &[Some(&one(1)), Some(&one(2))]).unwrap();
        let mut lists = RowLists::default();
        let mut add = |path: &[u8], value: &[u8]| {
            let column = ColumnId(1);
            lists.add(
                CellRef { column, timestamp: 5, expiry: None, tombstone: None, path, value, is_counter: false },
                &table,
            );
        };
        add(&[], &whole);
        add(&[0, 0, 0, 0, 0, 0, 0, 1], &one(9));
        add(&[1; 16], &one(3));
        let list = &lists.by_column[&ColumnId(1)];
        let elements: Vec<&[u8]> = list.elements.iter().map(|element| element.value.as_slice()).collect();
        assert_eq!(elements, [one(1), one(9), one(3)]);
        assert!(list.is_in_one_cell);
    }

    /// A list of one-byte elements, each at the path of its value, written at the timestamps.
    fn list(elements: &[(u8, i64)]) -> KnownList {
        let element =
            |&(value, timestamp)| KnownElement { path: vec![value], value: vec![value], timestamp, expiry: None };
        KnownList { elements: elements.iter().map(element).collect(), is_in_one_cell: false }
    }

    fn values(list: &KnownList) -> Vec<u8> {
        list.elements.iter().map(|element| element.value[0]).collect()
    }

    #[test]
    fn a_removal_leaves_what_is_newer_and_wins_a_tie() {
        let at = |timestamp| SeenTime { timestamp, expiry: None };
        let mut known = list(&[(1, 10), (2, 20), (3, 30)]);
        known.remove(at(20), |_| true);
        assert_eq!(values(&known), [3]);
    }

    #[test]
    fn an_element_that_is_set_prevails_over_what_is_older() {
        let at = |timestamp| SeenTime { timestamp, expiry: None };
        let mut known = list(&[(1, 10), (2, 20), (4, 30)]);
        known.put(vec![1], vec![11], at(20));
        known.put(vec![4], vec![44], at(20));
        known.put(vec![3], vec![33], at(20));
        // At a tie the greater value stays.
        known.put(vec![2], vec![0], at(20));
        assert_eq!(values(&known), [11, 2, 33, 4]);
    }
}
