//! Masked columns in what a SELECT gives: the one place where a mask takes the place of a column's values.
//!
//! A plan for clients without UNMASK has a call of the mask wherever a selector names the column for its value, so that whatever is made of the value
//! (an element, a field, a function's value, an aggregate, JSON) is made of the masked one. The plan for all others has the column itself. Both have the
//! same markers and the same result columns, since a mask gives values of its column's type. What is not a value stays: writetime() and ttl(), restrictions,
//! the order of rows, groups.

use cql_syntax::Relation;
use schema::{Column, ColumnId, ColumnMask, Table};

use super::operand::{Operand, Source};
use super::{Conditions, Expression, Modification, Selected};
use crate::warnings::bytes_bucket;

/// The column's value as its mask shows it. Of a mask that cannot be called, which a damaged log may have, it is null.
pub(super) fn masked(mask: &ColumnMask, column: &Column, selected: Selected) -> Expression {
    let Some(call) = mask.call(&column.ty) else {
        return Expression::Operand(Operand::new(Source::Null, column.ty.clone()));
    };
    let constants = mask.arguments.iter().map(|argument| {
        let source = argument.value.clone().map_or(Source::Null, Source::Constant);
        Expression::Operand(Operand::new(source, argument.ty.clone()))
    });
    let arguments = std::iter::once(Expression::Selected(selected)).chain(constants).collect();
    Expression::Call { call, arguments }
}

/// The masked columns that WHERE restricts, or that GROUP BY calls a function of: what a client may compare without seeing it. They are listed as
/// Cassandra lists them.
pub(super) fn restricted(relations: &[Relation], called_of: Option<ColumnId>, table: &Table) -> Box<[String]> {
    if !table.has_masks() {
        return Box::default();
    }
    let names = relations.iter().flat_map(|relation| match relation {
        Relation::Column { column, .. } | Relation::Element { column, .. } => std::slice::from_ref(column),
        Relation::Token { columns, .. } | Relation::Tuple { columns, .. } => columns.as_slice(),
    });
    let called_of = called_of.and_then(|id| table.column_by_id(id)).map(|column| column.name.as_str());
    masked_of(names.map(String::as_str).chain(called_of), table)
}

/// The masked columns that the conditions of a statement compare.
pub(super) fn compared(modification: &Modification) -> Box<[String]> {
    match modification.conditions.as_deref() {
        Some(Conditions::Columns(columns)) if modification.table.has_masks() => {
            masked_of(columns.iter().map(|condition| condition.name.as_str()), &modification.table)
        }
        _ => Box::default(),
    }
}

fn masked_of<'n>(names: impl Iterator<Item = &'n str>, table: &Table) -> Box<[String]> {
    let is_masked = |name: &&str| table.column(name).is_some_and(|column| column.mask.is_some());
    let mut masked: Vec<String> = names.filter(is_masked).map(str::to_owned).collect();
    masked.sort_by_key(|name| (bytes_bucket(name.as_bytes(), table.columns().len()), name.clone()));
    masked.dedup();
    masked.into()
}
