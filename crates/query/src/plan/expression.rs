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

    /// Whether it takes nothing from rows, and always gives the same.
    fn is_constant(&self) -> bool {
        match self {
            Expression::Operand(_) => true,
            Expression::Call { call, arguments } => call.is_pure() && arguments.iter().all(Expression::is_constant),
            Expression::Composed { parts, .. } => parts.iter().all(Expression::is_constant),
            Expression::Part { .. } | Expression::Selected(_) | Expression::First(_) | Expression::Aggregate(_) => {
                false
            }
        }
    }

    /// Adds the calls in it that are of constants alone.
    fn constant_calls<'e>(&'e self, out: &mut Vec<&'e Expression>) {
        match self {
            Expression::Call { .. } if self.is_constant() => out.push(self),
            Expression::Call { arguments: parts, .. } | Expression::Composed { parts, .. } => {
                parts.iter().for_each(|part| part.constant_calls(out));
            }
            Expression::Part { of, .. } => of.constant_calls(out),
            Expression::Operand(_) | Expression::Selected(_) | Expression::First(_) | Expression::Aggregate(_) => {}
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

/// The calls in these that are of constants alone.
pub(super) fn constant_calls<'e>(expressions: impl Iterator<Item = &'e Expression>) -> Vec<&'e Expression> {
    let mut calls = Vec::new();
    expressions.for_each(|expression| expression.constant_calls(&mut calls));
    calls
}

impl Groups {
    /// All that is worked out of rows and of groups.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.columns.iter().chain(self.aggregates.iter().flat_map(|one| &one.arguments))
    }

    /// Whether the same rows always give the same result.
    pub(crate) fn is_pure(&self) -> bool {
        self.expressions().all(Expression::is_pure)
    }

    /// About what it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.expressions().map(Expression::bytes).sum()
    }
}
