//! What a SELECT returns of each row.

use cql_types::CqlType;
use schema::{Column, ColumnId, ColumnKind, Table};

use super::expression::Groups;
use super::operand::Operand;

/// One column of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selected {
    /// The partition key column at this position.
    PartitionKey(u16),
    /// The clustering column at this position.
    Clustering(u16),
    /// A regular column.
    Regular(ColumnId),
    /// A static column.
    Static(ColumnId),
    /// A regular or static column of several cells.
    Elements {
        /// The column.
        column: ColumnId,
        /// Whether it is static.
        is_static: bool,
        /// What its cells come to.
        shape: Shape,
    },
    /// writetime() of a regular or static column.
    WriteTime {
        /// The column.
        column: ColumnId,
        /// Whether it is static.
        is_static: bool,
    },
    /// ttl() of a regular or static column.
    Ttl {
        /// The column.
        column: ColumnId,
        /// Whether it is static.
        is_static: bool,
    },
    /// The part with this index, of a column of this kind.
    Part {
        /// The index among the statement's parts.
        index: u16,
        /// The column's kind.
        kind: ColumnKind,
    },
    /// token() of the partition key.
    Token,
    /// What the expression with this index comes to.
    Computed(u16),
}

/// What the cells of a column of several cells come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A list or set: the cells' values.
    Values,
    /// A map: the cells' keys and values.
    Map,
    /// A value of a user-defined type with so many fields.
    Fields(u16),
}

impl Shape {
    /// The shape of a column of that type, if it is of several cells.
    pub(crate) fn of(ty: &CqlType) -> Option<Self> {
        match ty {
            CqlType::List { frozen: false, .. } | CqlType::Set { frozen: false, .. } => Some(Shape::Values),
            CqlType::Map { frozen: false, .. } => Some(Shape::Map),
            CqlType::Udt { frozen: false, fields, .. } => {
                Some(Shape::Fields(u16::try_from(fields.len()).unwrap_or(u16::MAX)))
            }
            _ => None,
        }
    }
}

/// What is made of a part of a column's value, or of the writes that it comes from.
#[derive(Debug)]
pub(crate) struct Part {
    /// The column; `None`: the value is an expression's.
    pub(crate) column: Option<Selected>,
    /// The column's type.
    pub(crate) ty: CqlType,
    /// The way from the column's value to the part.
    pub(crate) steps: Vec<Step>,
    /// What is made of it.
    pub(crate) what: PartOf,
}

impl Part {
    /// About what it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        let of_step = |step: &Step| match step {
            Step::Element { key, of, .. } => key.bytes() + of.len(),
            Step::Slice { from, to, of, .. } => {
                [from, to].into_iter().flatten().map(Operand::bytes).sum::<usize>() + of.len()
            }
            Step::Field(_) => 0,
        };
        size_of::<Self>() + self.steps.iter().map(|step| size_of::<Step>() + of_step(step)).sum::<usize>()
    }
}

/// What is made of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartOf {
    /// Its value.
    Value,
    /// writetime(): its timestamp; of several cells those of all.
    WriteTime,
    /// maxwritetime(): the greatest of its timestamps.
    MaxWriteTime,
    /// ttl(): the seconds it has left; of several cells those of all.
    Ttl,
}

/// A step from a value to a part of it.
#[derive(Debug)]
pub(crate) enum Step {
    /// `c[key]`.
    Element {
        /// The set's or map's type.
        collection: CqlType,
        /// The element or key.
        key: Operand,
        /// What is stepped from, as messages name it.
        of: String,
    },
    /// `c[from..to]`.
    Slice {
        /// The set's or map's type.
        collection: CqlType,
        /// The first; `None`: from the start.
        from: Option<Operand>,
        /// The last; `None`: to the end.
        to: Option<Operand>,
        /// What is stepped from, as messages name it.
        of: String,
    },
    /// The field with this index.
    Field(u16),
}

/// The result as a whole.
#[derive(Debug)]
pub(crate) enum Output {
    /// A row for each row read.
    Rows(Vec<Selected>),
    /// A row for each group of rows.
    Groups(Box<Groups>),
}

/// A column of a result whose rows are JSON.
#[derive(Debug)]
pub(crate) struct JsonColumn {
    /// Its name, as a string of JSON.
    pub(crate) name: Vec<u8>,
    /// Its type.
    pub(crate) ty: CqlType,
}

impl Output {
    /// Whether all rows are one group.
    pub(crate) fn is_one_group(&self) -> bool {
        matches!(self, Output::Groups(groups) if groups.by.is_none())
    }
}

impl Selected {
    /// A column as it is, in one value.
    pub(crate) fn of_column(column: &Column) -> Self {
        match column.kind {
            ColumnKind::PartitionKey => Selected::PartitionKey(column.position),
            ColumnKind::Clustering => Selected::Clustering(column.position),
            ColumnKind::Static => Selected::Static(column.id),
            ColumnKind::Regular => Selected::Regular(column.id),
        }
    }

    /// The same, for a stored table: there a column may have several cells.
    pub(crate) fn of_stored(self, table: &Table) -> Self {
        let (Selected::Regular(column) | Selected::Static(column)) = self else { return self };
        let ty = table.columns().iter().find(|known| known.id == column).map(|known| &known.ty);
        match ty.and_then(Shape::of) {
            Some(shape) => Selected::Elements { column, is_static: matches!(self, Selected::Static(_)), shape },
            None => self,
        }
    }

    /// Whether it is of the partition key.
    pub(crate) fn is_of_partition_key(&self) -> bool {
        matches!(self, Selected::PartitionKey(_) | Selected::Part { kind: ColumnKind::PartitionKey, .. })
    }

    /// Whether it is of the primary key.
    pub(crate) fn is_of_primary_key(&self) -> bool {
        matches!(
            self,
            Selected::PartitionKey(_)
                | Selected::Clustering(_)
                | Selected::Part { kind: ColumnKind::PartitionKey | ColumnKind::Clustering, .. }
        )
    }

    /// Whether it is read from the static row.
    pub(crate) fn is_static(&self) -> bool {
        match self {
            Selected::Static(_) => true,
            Selected::Part { kind, .. } => *kind == ColumnKind::Static,
            Selected::WriteTime { is_static, .. }
            | Selected::Ttl { is_static, .. }
            | Selected::Elements { is_static, .. } => *is_static,
            _ => false,
        }
    }
}
