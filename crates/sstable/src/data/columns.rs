//! The header's columns against the table's: where a cell of the file goes, and in which form.

use cql_types::CqlType;
use mutation::CellRef;
use schema::{Column, ColumnId, ColumnKind, Table};

use crate::data::compatible::takes;
use crate::header::{Header, HeaderColumn};
use crate::marshal;

/// A column of the file that the table does not have, or has otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownColumn {
    /// Neither the table's columns nor those it had are called so.
    #[error("table {table} has no column {column}, not even a dropped one")]
    Missing {
        /// The table's name.
        table: String,
        /// The column's.
        column: String,
    },
    /// It is of one cell in one of them and of several in the other, static in one and not in the other, or has other
    /// elements.
    #[error("column {column} of table {table} is of type {written}, which does not fit {expected}")]
    Unfit {
        /// The table's name.
        table: String,
        /// The column's.
        column: String,
        /// The type in the file.
        written: String,
        /// The table's type.
        expected: String,
    },
    /// The primary key has other types.
    #[error("primary key of table {table} is of type {written}, which does not fit {expected}")]
    UnfitKey {
        /// The table's name.
        table: String,
        /// The types in the file.
        written: String,
        /// The table's types.
        expected: String,
    },
}

impl UnknownColumn {
    /// The error of a column that the table has as `known`.
    pub(super) fn unfit(column: &HeaderColumn, kind: ColumnKind, known: &Column, table: &Table) -> Self {
        UnknownColumn::Unfit {
            table: table.name.clone(),
            column: column.name.clone(),
            written: format!("{} {}", kind.name(), column.ty),
            expected: format!("{} {}", known.kind.name(), known.ty),
        }
    }
}

/// How a column's cells are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// One cell. The value's length, if it is not written before it.
    Simple { fixed_length: Option<usize> },
    /// One cell whose value is a counter's shards.
    Counter,
    /// A cell for each element, with its path.
    Complex(Elements),
}

/// What the paths of a column of several cells are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Elements {
    /// Time-based UUIDs.
    List,
    /// The elements, of this type.
    Set(CqlType),
    /// The keys, of this type.
    Map(CqlType),
    /// Indexes of fields.
    Fields,
}

/// A column of the header.
#[derive(Debug, Clone)]
pub(super) struct DataColumn {
    /// The table's; `None`: the cells are read over.
    pub id: Option<ColumnId>,
    pub form: Form,
    /// The whole type, as the table has it.
    pub ty: CqlType,
}

impl DataColumn {
    pub(super) fn is_complex(&self) -> bool {
        matches!(self.form, Form::Complex(_))
    }
}

/// The columns of the rows of one kind, static or regular, in the header's order.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    pub all: Vec<DataColumn>,
    /// Indexes into `all` by ascending id, those without one left out.
    pub by_id: Vec<u16>,
    /// Whether ids ascend in the header's order, so that cells can be handed on as they come.
    pub is_in_order: bool,
}

impl Columns {
    pub(super) fn new(columns: &[HeaderColumn], kind: ColumnKind, table: &Table) -> Result<Columns, UnknownColumn> {
        let all: Vec<DataColumn> =
            columns.iter().map(|column| data_column(column, kind, table)).collect::<Result<_, _>>()?;
        let mut by_id: Vec<u16> =
            (0u16..).take(all.len()).filter(|&index| all[usize::from(index)].id.is_some()).collect();
        let is_in_order = by_id.is_sorted_by_key(|&index| all[usize::from(index)].id);
        by_id.sort_by_key(|&index| all[usize::from(index)].id);
        Ok(Columns { all, by_id, is_in_order })
    }

    /// The index of the column with `id`.
    #[inline]
    pub(super) fn index_of(&self, id: ColumnId) -> Option<usize> {
        let found = self.by_id.binary_search_by_key(&Some(id), |&index| self.all[usize::from(index)].id);
        found.ok().map(|place| usize::from(self.by_id[place]))
    }
}

/// The table's clustering columns must be those of the header, or nothing that is read has any meaning.
pub(super) fn check_key(header: &Header, table: &Table) -> Result<(), UnknownColumn> {
    let reversed: Vec<bool> = table.clustering().iter().map(Column::is_reversed).collect();
    let written: Vec<bool> = header.clustering.iter().map(|of| of.is_reversed).collect();
    let fits = |ty: &CqlType, column: &Column| marshal::fixed_length(ty) == marshal::fixed_length(&column.ty);
    let clusterings_fit = header.clustering.iter().zip(table.clustering()).all(|(of, column)| fits(&of.ty, column));
    let key_count = marshal::partition_key_types(table.partition_key(), header.partition_key.len()).len();
    if reversed == written && clusterings_fit && header.partition_key.len() == key_count {
        return Ok(());
    }
    Err(unfit_key(header, table))
}

/// The error of a primary key of other types.
pub(super) fn unfit_key(header: &Header, table: &Table) -> UnknownColumn {
    let names = |types: Vec<&CqlType>| types.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let written = header.partition_key.iter().chain(header.clustering.iter().map(|of| &of.ty));
    let expected = table.partition_key().iter().chain(table.clustering()).map(|column| &column.ty);
    UnknownColumn::UnfitKey {
        table: table.name.clone(),
        written: names(written.collect()),
        expected: names(expected.collect()),
    }
}

fn data_column(column: &HeaderColumn, kind: ColumnKind, table: &Table) -> Result<DataColumn, UnknownColumn> {
    let present = table.column(&column.name);
    let dropped = table.dropped.get(&column.name).map(|dropped| &dropped.column);
    let form_of = |ty: &CqlType| form(&column.ty, ty);
    if let Some(known) = present
        && known.kind == kind
        && (dropped.is_none() || takes(&known.ty, &column.ty))
        && let Some(form) = form_of(&known.ty)
    {
        return Ok(DataColumn { id: Some(known.id), form, ty: known.ty.clone() });
    }
    if let Some(known) = dropped {
        // What was dropped long ago may have had another form, and a file from elsewhere another type; its cells are read over.
        let is_of_it = known.kind == kind && takes(&known.ty, &column.ty);
        let form = form_of(&known.ty).filter(|_| is_of_it);
        let id = form.is_some().then_some(known.id);
        let form = form.or_else(|| form_of(&column.ty)).unwrap_or(Form::Simple { fixed_length: None });
        return Ok(DataColumn { id, form, ty: known.ty.clone() });
    }
    Err(match present {
        Some(known) => UnknownColumn::unfit(column, kind, known, table),
        None => UnknownColumn::Missing { table: table.name.clone(), column: column.name.clone() },
    })
}

/// How cells written as `written` are read into a column of type `ty`; `None`: they do not fit.
pub(super) fn form(written: &CqlType, ty: &CqlType) -> Option<Form> {
    if !written.is_multi_cell() {
        let is_counter = *written == CqlType::Counter;
        if ty.is_multi_cell() || is_counter != (*ty == CqlType::Counter) {
            return None;
        }
        if is_counter {
            return Some(Form::Counter);
        }
        return Some(Form::Simple { fixed_length: marshal::fixed_length(written) });
    }
    if !ty.is_multi_cell() {
        return None;
    }
    let elements = match (written, ty) {
        (CqlType::List { .. }, CqlType::List { .. }) => Elements::List,
        (CqlType::Set { .. }, CqlType::Set { element, .. }) => Elements::Set((**element).clone()),
        (CqlType::Map { .. }, CqlType::Map { key, .. }) => Elements::Map((**key).clone()),
        (CqlType::Udt { .. }, CqlType::Udt { .. }) => Elements::Fields,
        _ => return None,
    };
    Some(Form::Complex(elements))
}

/// Whether a cell says something of the whole column rather than of an element.
pub(super) fn is_whole(cell: &CellRef<'_>) -> bool {
    cell.path.is_empty()
}
