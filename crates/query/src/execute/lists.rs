//! Lists that are read before they are changed: what names an element by its index or its value must know the list.
//!
//! The read goes to as many replicas as the write's consistency asks for, before the mutation is made; the mutation then
//! carries the elements' paths, so that replicas and replays that come to it later change the very same elements. Another
//! write in between is not seen, as in Cassandra.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use cql_protocol::Value;
use cql_types::parts_of_collection;
use mutation::{CellRef, ClusteringRef, LiveRow};
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
    /// Its elements with their paths, in order.
    pub(super) elements: ListElements,
    /// Whether an older version wrote it, or a part of it, as one value.
    pub(super) is_in_one_cell: bool,
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

impl RowLists {
    /// The list of a column as it was read, with what the assignments `before` make of it: those of one statement see each other.
    pub(super) fn get<'s>(
        &'s self,
        column: ColumnId,
        before: &[Assignment],
        binds: &Binds<'_>,
    ) -> Result<Option<Cow<'s, KnownList>>, QueryError> {
        let read = self.by_column.get(&column);
        let mut before = before.iter().filter(|assignment| assignment.column == column).peekable();
        if before.peek().is_none() {
            return Ok(read.map(Cow::Borrowed));
        }
        let mut list = read.cloned().unwrap_or_default();
        for assignment in before {
            list.change(assignment, binds)?;
        }
        Ok(Some(Cow::Owned(list)))
    }
}

impl KnownList {
    /// Does to the list what an assignment does to the stored one.
    fn change(&mut self, assignment: &Assignment, binds: &Binds<'_>) -> Result<(), QueryError> {
        let (ty, value) = (&assignment.operand.ty, assignment.operand.value(binds)?);
        match (&assignment.change, value) {
            (Change::Add { place }, Value::Bytes(value)) => {
                self.insert(added_to_list(ty, value, *place, false, binds)?);
            }
            (Change::Prepend { place }, Value::Bytes(value)) => {
                self.insert(added_to_list(ty, value, Some(*place), true, binds)?);
            }
            (Change::Index { index, .. }, value) => {
                let index = index.value(binds)?.bytes().and_then(|bytes| bytes.first_chunk());
                let index = index.and_then(|bytes| usize::try_from(i32::from_be_bytes(*bytes)).ok());
                match (index.filter(|index| *index < self.elements.len()), value) {
                    (Some(index), Value::Bytes(value)) => self.elements[index].1 = value.to_vec(),
                    (Some(index), Value::Null) => {
                        self.elements.remove(index);
                        self.is_in_one_cell = false;
                    }
                    _ => {}
                }
            }
            (Change::Discard, Value::Bytes(value)) => {
                let count = self.elements.len();
                let unwanted: BTreeSet<&[u8]> = parts_of_collection(ty, value).collect();
                self.elements.retain(|(_, element)| !unwanted.contains(element.as_slice()));
                self.is_in_one_cell &= self.elements.len() == count;
            }
            _ => {}
        }
        Ok(())
    }

    fn insert(&mut self, added: ListElements) {
        self.elements.extend(added);
        self.elements.sort_by(|(a, _), (b, _)| a.cmp(b));
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
            list.elements = column.map_or(Vec::new(), |column| elements_of(&column.ty, cell.value));
            return;
        }
        let element = (cell.path.to_vec(), cell.value.to_vec());
        // Only beside a value in one cell may it be another value of an element that is known.
        match list.elements.binary_search_by(|(path, _)| path.as_slice().cmp(cell.path)) {
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
        let elements: Vec<&[u8]> = list.elements.iter().map(|(_, element)| element.as_slice()).collect();
        assert_eq!(elements, [one(1), one(9), one(3)]);
        assert!(list.is_in_one_cell);
    }
}
