//! What a row must be to be written: looked at where mutations come in (from clients, other nodes, logs), so that the writer may assert
//! it and a flush meets nothing that it cannot write, or that could not be read again.
//!
//! The format depends on these things, and only they are checked: values of a fixed length have it, elements have the paths that their
//! type gives them, a clustering has at most one value for each clustering column, and its values are of their types, since the order of
//! rows is made of them. A text that is no UTF-8, or a frozen list that is none, is written as it is.

use cql_types::{CqlType, comparable, validate};
use mutation::{CellRef, ClusteringRef, RowRef, UniformValues};
use schema::{ColumnId, ColumnKind, Table};
use stdx::Reader;

use crate::data::columns::{Elements, Form, form, is_whole};
use crate::marshal;

/// What the rows of one table must be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WritableCheck {
    clustering: Vec<Value>,
    /// By ascending id, static and regular ones.
    columns: Vec<(ColumnId, Form)>,
    /// Those whose values have a length, by ascending id: all that is asked of a plain row, and close together for it.
    lengths: Vec<(ColumnId, usize)>,
    /// Whether it is a table of counters, whose values must be looked at one by one.
    has_counters: bool,
}

/// What a clustering column's value must be.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    /// Empty, or of this length.
    Fixed(usize),
    /// Any bytes.
    Any,
    /// A value of this type.
    Of(CqlType),
}

impl Value {
    fn of(ty: &CqlType) -> Self {
        match (ty, marshal::fixed_length(ty)) {
            (CqlType::Timeuuid, _) => Value::Of(ty.clone()),
            (_, Some(length)) => Value::Fixed(length),
            (CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Varint | CqlType::Custom(_), None) => Value::Any,
            (_, None) => Value::Of(ty.clone()),
        }
    }
}

impl Form {
    /// The length of each value that is not empty, if there is one.
    fn length(&self) -> Option<usize> {
        match self {
            Form::Simple { fixed_length } => *fixed_length,
            Form::Counter | Form::Complex(_) => None,
        }
    }
}

impl WritableCheck {
    /// What the rows of `table` must be.
    pub fn of(table: &Table) -> Self {
        let clustering = table.clustering().iter().map(|column| Value::of(&column.ty)).collect();
        let cells = table.columns().iter().filter(|of| matches!(of.kind, ColumnKind::Static | ColumnKind::Regular));
        let mut columns: Vec<_> = cells.filter_map(|of| Some((of.id, form(&of.ty, &of.ty)?))).collect();
        columns.sort_unstable_by_key(|(id, _)| *id);
        let lengths = columns.iter().filter_map(|(id, form)| Some((*id, form.length()?))).collect();
        let has_counters = columns.iter().any(|(_, form)| *form == Form::Counter);
        WritableCheck { clustering, columns, lengths, has_counters }
    }

    /// Why a row's clustering cannot be written.
    #[inline]
    pub fn check_clustering(&self, clustering: ClusteringRef<'_>) -> Result<(), &'static str> {
        let count = self.clustering.len();
        // Fewer values are those of a row whose last columns are null. The caller knows whether the table has such rows, or had them when it was logged.
        if clustering.len() != count && !(1..count).contains(&clustering.len()) {
            return Err("a row's clustering has another count of values than the table has clustering columns");
        }
        self.check_values(clustering)
    }

    /// Why the first values of a clustering, at which a range begins or ends, cannot be written.
    #[inline]
    pub fn check_prefix(&self, prefix: ClusteringRef<'_>) -> Result<(), &'static str> {
        if prefix.len() > self.clustering.len() {
            return Err("a range's bound has more values than the table has clustering columns");
        }
        self.check_values(prefix)
    }

    #[inline]
    fn check_values(&self, values: ClusteringRef<'_>) -> Result<(), &'static str> {
        for (allowed, value) in self.clustering.iter().zip(values.components()) {
            let fits = match allowed {
                Value::Fixed(length) => value.is_empty() || value.len() == *length,
                Value::Any => true,
                Value::Of(ty) => value.is_empty() || validate(ty, value).is_ok(),
            };
            if !fits {
                return Err("a clustering column's value is not of its type");
            }
        }
        Ok(())
    }

    /// Why a row cannot be written. Cells of columns that the table does not have never are.
    #[inline]
    pub fn check_row(&self, row: &RowRef<'_>) -> Result<(), &'static str> {
        // A uniform row has no elements, and nearly all rows are uniform.
        match !self.has_counters && row.uniform_values().is_some_and(|values| have_lengths(values, &self.lengths)) {
            true => Ok(()),
            false => self.check_cells(row),
        }
    }

    /// The same, cell by cell.
    fn check_cells(&self, row: &RowRef<'_>) -> Result<(), &'static str> {
        let mut columns = self.columns.iter().peekable();
        // Both ascend.
        for cell in row.cells() {
            while columns.next_if(|(id, _)| *id < cell.column).is_some() {}
            match columns.peek() {
                Some((id, form)) if *id == cell.column => check_cell(form, &cell)?,
                Some(_) => {}
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Whether the values have the lengths of their columns, or are empty. Both ascend.
#[inline]
fn have_lengths<'a>(values: UniformValues<'a>, lengths: &[(ColumnId, usize)]) -> bool {
    let mut place = 0;
    for (column, value) in values {
        while place < lengths.len() && lengths[place].0 < column {
            place += 1;
        }
        let Some(&(of, length)) = lengths.get(place) else { return true };
        if of == column && value.len() != length && !value.is_empty() {
            return false;
        }
    }
    true
}

fn check_cell(form: &Form, cell: &CellRef<'_>) -> Result<(), &'static str> {
    match form {
        Form::Complex(elements) => check_element(elements, cell),
        _ if !cell.path.is_empty() => Err("a column of one cell has an element"),
        // What is to be added to a counter is not what it comes to.
        Form::Counter if cell.is_counter || cell.is_tombstone() => Ok(()),
        Form::Counter => Err("a counter's value is not its state"),
        _ if cell.is_counter => Err("a counter state in a column that is not a counter"),
        form if cell.value.is_empty() || form.length().is_none_or(|length| cell.value.len() == length) => Ok(()),
        _ => Err("a value does not have its type's length"),
    }
}

fn check_element(elements: &Elements, cell: &CellRef<'_>) -> Result<(), &'static str> {
    const UNFIT: &str = "an element's path does not match its value";
    if cell.is_counter {
        return Err("a counter state in a column that is not a counter");
    }
    if is_whole(cell) {
        return Ok(());
    }
    let fits = match elements {
        // A time-based UUID has sixty bits for its time.
        Elements::List => cell.path.len() == 16 && cell.path[0] & 0xf0 == 0,
        Elements::Fields => cell.path.len() == 2,
        Elements::Set(ty) | Elements::Map(ty) if cell.is_tombstone() => {
            let mut value = Vec::new();
            let length = comparable::decode(ty, cell.path, false, &mut value);
            length == Some(cell.path.len()) && is_path_of(ty, cell.path, &value)
        }
        Elements::Set(ty) => is_path_of(ty, cell.path, cell.value),
        Elements::Map(ty) => Reader::new(cell.value).varint_bytes().is_ok_and(|key| is_path_of(ty, cell.path, key)),
    };
    if fits { Ok(()) } else { Err(UNFIT) }
}

fn is_path_of(ty: &CqlType, path: &[u8], value: &[u8]) -> bool {
    if validate(ty, value).is_err() {
        return false;
    }
    let mut form = Vec::with_capacity(path.len());
    comparable::encode(ty, value, false, &mut form);
    form == path
}

#[cfg(test)]
mod tests;
