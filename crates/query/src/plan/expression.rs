//! What is computed for a row of the result: calls, casts, literals with parts that are not constant, and aggregates over groups of rows.

use cql_types::CqlType;
use functions::{AggregateCall, Call};

use super::operand::Operand;
use super::selection::Selected;

/// A value that is worked out from those of a row, or of a group of rows.
#[derive(Debug)]
pub(crate) enum Expression {
    /// What a row has.
    Selected(Selected),
    /// A constant, or what a marker is bound to.
    Operand(Operand),
    /// The value with this index among those that are kept of a group's first row.
    First(u16),
    /// The value of the aggregate with this index over a group's rows.
    Aggregate(u16),
    /// A function's.
    Call {
        /// The function.
        call: Call,
        /// Its arguments.
        arguments: Vec<Expression>,
    },
    /// An element, a slice or a field of a value.
    Part {
        /// The value.
        of: Box<Expression>,
        /// The index among the statement's parts of the steps to it.
        index: u16,
    },
    /// A list, set, map, tuple, vector or value of a user-defined type.
    Composed {
        /// Its type.
        ty: CqlType,
        /// Its parts; of a map keys and values in turn.
        parts: Vec<Expression>,
    },
}

/// An aggregate over the rows of a group.
#[derive(Debug)]
pub(crate) struct Aggregate {
    /// The function; `None`: the count of rows.
    pub(crate) call: Option<AggregateCall>,
    /// What it takes of each row.
    pub(crate) arguments: Vec<Expression>,
}

/// A result with a row for each group of rows.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The result's columns, made of what is kept of a group's first row and of the aggregates.
    pub(crate) columns: Vec<Expression>,
    /// What is kept of a group's first row.
    pub(crate) first: Vec<Selected>,
    /// The aggregates.
    pub(crate) aggregates: Vec<Aggregate>,
    /// What the rows of a group have in common beside their partition; `None`: all rows are one group, also if there are none.
    pub(crate) by: Option<Vec<GroupKey>>,
}

/// A clustering column, or what a function makes of one, that the rows of a group have in common.
#[derive(Debug)]
pub(crate) struct GroupKey {
    /// The column or the call.
    pub(crate) expression: Expression,
    /// The type of its value.
    pub(crate) ty: CqlType,
}

impl Expression {
    /// Whether the same row always gives the same value: now() does not.
    pub(crate) fn is_pure(&self) -> bool {
        match self {
            Expression::Call { call, arguments } => call.is_pure() && arguments.iter().all(Expression::is_pure),
            Expression::Part { of, .. } => of.is_pure(),
            Expression::Composed { parts, .. } => parts.iter().all(Expression::is_pure),
            Expression::Selected(_) | Expression::Operand(_) | Expression::First(_) | Expression::Aggregate(_) => true,
        }
    }

    /// The same over a group: what stands outside of aggregates is of its first row. `first` gets what is kept of that.
    pub(super) fn over_group(self, first: &mut Vec<Selected>) -> Self {
        let mut all = |expressions: Vec<Expression>| expressions.into_iter().map(|one| one.over_group(first)).collect();
        match self {
            Expression::Selected(selected) => {
                let known = first.iter().position(|known| *known == selected);
                let index = known.unwrap_or_else(|| {
                    first.push(selected);
                    first.len() - 1
                });
                Expression::First(u16::try_from(index).expect("a SELECT names fewer columns"))
            }
            Expression::Call { call, arguments } => Expression::Call { call, arguments: all(arguments) },
            Expression::Composed { ty, parts } => Expression::Composed { ty, parts: all(parts) },
            Expression::Part { of, index } => Expression::Part { of: Box::new(of.over_group(first)), index },
            other @ (Expression::Operand(_) | Expression::First(_) | Expression::Aggregate(_)) => other,
        }
    }

    /// About what it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        let inside = match self {
            Expression::Operand(operand) => operand.bytes(),
            Expression::Call { arguments: parts, .. } | Expression::Composed { parts, .. } => {
                parts.iter().map(Expression::bytes).sum()
            }
            Expression::Part { of, .. } => of.bytes(),
            Expression::Selected(_) | Expression::First(_) | Expression::Aggregate(_) => 0,
        };
        size_of::<Self>() + inside
    }
}

impl Groups {
    /// Whether the same rows always give the same result.
    pub(crate) fn is_pure(&self) -> bool {
        self.columns.iter().chain(self.aggregates.iter().flat_map(|one| &one.arguments)).all(Expression::is_pure)
    }

    /// About what it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        let arguments = self.aggregates.iter().flat_map(|one| &one.arguments);
        self.columns.iter().chain(arguments).map(Expression::bytes).sum()
    }
}
