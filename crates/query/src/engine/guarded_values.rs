//! Where guardrails on values are looked at: when the mutation is made, row by row, each value as it would be written. What a value is
//! added to is not read for it, so that a collection counts as what the statement adds to it, as in Cassandra.

use cql_protocol::Value;
use cql_types::{CqlType, fields_of, parts_of_collection};

use super::Engine;
use crate::error::QueryError;
use crate::guardrails::GuardrailCheck;
use crate::guardrails::batch_size::{CELL, FIELD_PATH, LIST_PATH};
use crate::plan::{Assignment, Binds, Change, Modification};

impl Engine {
    /// Looks at the values that a modification writes to one partition, again for each of its rows.
    pub(super) async fn guard_values(
        &self,
        watch: &mut GuardrailCheck<'_>,
        modification: &Modification,
        binds: &Binds<'_>,
    ) -> Result<(), QueryError> {
        if !self.inner.guards_values {
            return Ok(());
        }
        for _ in 0..modification.row_count(binds)? {
            guard_row(watch, modification, binds)?;
            self.inner.runtime.maybe_yield().await;
        }
        Ok(())
    }
}

/// Looks at the values of one row: first those of regular columns, then those of static ones, each in the order in which the statement
/// has them.
pub(super) fn guard_row(
    watch: &mut GuardrailCheck<'_>,
    modification: &Modification,
    binds: &Binds<'_>,
) -> Result<(), QueryError> {
    for assignments in [&modification.regulars, &modification.statics] {
        let mut assignments: Vec<&Assignment> = assignments.iter().collect();
        assignments.sort_by_key(|assignment| assignment.place);
        for assignment in assignments {
            let Some(column) = modification.table.column_by_id(assignment.column) else { continue };
            Values { watch: &mut *watch, column: &column.name }.guard(assignment, binds)?;
        }
    }
    Ok(())
}

/// The values of one column.
struct Values<'w, 'g> {
    watch: &'w mut GuardrailCheck<'g>,
    column: &'w str,
}

impl Values<'_, '_> {
    fn guard(mut self, assignment: &Assignment, binds: &Binds<'_>) -> Result<(), QueryError> {
        let value = assignment.operand.value(binds)?;
        if matches!(value, Value::Unset) {
            return Ok(());
        }
        let (ty, value) = (&assignment.operand.ty, value.bytes());
        match (&assignment.change, value) {
            (Change::Key { key }, value) => match key.value(binds)?.bytes() {
                Some(key) => self.element(key.len() as u64, value).map(drop),
                None => Ok(()),
            },
            (Change::Index { .. }, value) => self.element(LIST_PATH, value).map(drop),
            (Change::Field { .. }, value) => self.element(FIELD_PATH, value).map(drop),
            (Change::Cell, Some(value)) => self.cell(ty, value),
            (Change::Replace { .. } | Change::Add { .. }, Some(value)) => self.added(ty, value),
            (Change::Prepend { .. }, Some(value)) => {
                parts_of_collection(ty, value).try_for_each(|part| self.element(LIST_PATH, Some(part)).map(drop))
            }
            (Change::Remove, Some(value)) => {
                parts_of_collection(ty, value).try_for_each(|part| self.element(part.len() as u64, None).map(drop))
            }
            (Change::Cell | Change::Replace { .. } | Change::Add { .. } | Change::Prepend { .. }, None)
            | (Change::Remove, None)
            | (Change::Discard | Change::Count { .. }, _) => Ok(()),
        }
    }

    /// A column of one cell.
    fn cell(&mut self, ty: &CqlType, value: &[u8]) -> Result<(), QueryError> {
        let length = value.len() as u64;
        if !matches!(ty, CqlType::List { .. } | CqlType::Set { .. } | CqlType::Map { .. }) {
            return self.value_size(length);
        }
        let count = value.first_chunk().map_or(0, |count| u64::from(u32::from_be_bytes(*count)));
        self.items(count)?;
        self.value_size(length)?;
        self.collection_size(CELL + length)
    }

    /// What is added to a column of several cells.
    fn added(&mut self, ty: &CqlType, value: &[u8]) -> Result<(), QueryError> {
        if matches!(ty, CqlType::Udt { .. }) {
            return fields_of(value).flatten().try_for_each(|field| self.element(FIELD_PATH, Some(field)).map(drop));
        }
        let mut parts = parts_of_collection(ty, value).peekable();
        if parts.peek().is_none() {
            return Ok(());
        }
        let count = value.first_chunk().map_or(0, |count| u64::from(u32::from_be_bytes(*count)));
        self.items(count)?;
        let mut size = 0;
        while let Some(part) = parts.next() {
            size += match ty {
                CqlType::List { .. } => self.element(LIST_PATH, Some(part))?,
                CqlType::Map { .. } => self.element(part.len() as u64, parts.next())?,
                _ => self.element(part.len() as u64, Some(&[]))?,
            };
        }
        self.collection_size(size)
    }

    /// An element of a column of several cells, or its removal: its value, then what says which one it is. Gives its size as a cell.
    fn element(&mut self, path_size: u64, value: Option<&[u8]>) -> Result<u64, QueryError> {
        let length = value.map_or(0, |value| value.len() as u64);
        if value.is_some() {
            self.value_size(length)?;
        }
        self.value_size(path_size)?;
        Ok(CELL + path_size + length)
    }

    fn value_size(&mut self, size: u64) -> Result<(), QueryError> {
        let (threshold, column) = (self.watch.rails.column_value_size, self.column);
        self.watch.at_most("column_value_size", threshold, whole(size), |which, end| {
            let which = which.name();
            format!("Value of column '{column}' has size {size}, this exceeds the {which} threshold of {end}.")
        })
    }

    fn collection_size(&mut self, size: u64) -> Result<(), QueryError> {
        let (threshold, column) = (self.watch.rails.collection_size, self.column);
        self.watch.at_most("collection_size", threshold, whole(size), |which, end| {
            let which = which.name();
            format!("Detected collection {column} of size {size}, this exceeds the {which} threshold of {end}.")
        })
    }

    fn items(&mut self, count: u64) -> Result<(), QueryError> {
        let (threshold, column) = (self.watch.rails.items_per_collection, self.column);
        self.watch.at_most("items_per_collection", threshold, whole(count), |which, end| {
            let which = which.name();
            format!("Detected collection {column} with {count} items, this exceeds the {which} threshold of {end}.")
        })
    }
}

fn whole(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
