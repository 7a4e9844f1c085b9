//! Masked columns in what a SELECT gives: the one place where a mask takes the place of a column's values.
//!
//! A plan for clients without UNMASK has a call of the mask wherever a selector names the column for its value, so that whatever is made of the value
//! (an element, a field, a function's value, an aggregate, JSON) is made of the masked one. The plan for all others has the column itself. Both have the
//! same markers and the same result columns, since a mask gives values of its column's type. What is not a value stays: writetime() and ttl(), restrictions,
//! the order of rows, groups.

use cql_syntax::Relation;
use schema::{Column, ColumnId, ColumnMask, Table};

use super::operand::{Operand, Source};
use super::{Change, ColumnCondition, Conditions, Expression, Modification, Selected, Target};
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

/// The masked columns of which a modification's answer tells: those that its conditions compare, the keys that it names where it has any conditions, since
/// the answer says whether there is such a row, and lists that are changed at an index, since a refusal says how long they are.
pub(super) fn compared(modification: &Modification) -> Box<[String]> {
    let table = &modification.table;
    if !table.has_masks() {
        return Box::default();
    }
    let assignments = modification.statics.iter().chain(&modification.regulars);
    let at_index = assignments.filter(|assignment| matches!(assignment.change, Change::Index { .. }));
    let lists = at_index.filter_map(|assignment| table.column_by_id(assignment.column));
    let names: Vec<&str> = lists.map(|column| column.name.as_str()).collect();
    let Some(conditions) = modification.conditions.as_deref() else { return masked_of(names.into_iter(), table) };
    let compared: &[ColumnCondition] = match conditions {
        Conditions::Columns(columns) => columns,
        Conditions::Exists | Conditions::NotExists => &[],
    };
    let clustering = match modification.target {
        Target::Rows(_) => table.clustering(),
        Target::Partition | Target::StaticRow | Target::Range { .. } => &[],
    };
    let keys = table.partition_key().iter().chain(clustering).map(|column| column.name.as_str());
    masked_of(names.into_iter().chain(compared.iter().map(|condition| condition.name.as_str())).chain(keys), table)
}

fn masked_of<'n>(names: impl Iterator<Item = &'n str>, table: &Table) -> Box<[String]> {
    let is_masked = |name: &&str| table.column(name).is_some_and(|column| column.mask.is_some());
    let mut masked: Vec<String> = names.filter(is_masked).map(str::to_owned).collect();
    masked.sort_by_key(|name| (bytes_bucket(name.as_bytes(), table.columns().len()), name.clone()));
    masked.dedup();
    masked.into()
}
