//! GROUP BY: the first columns of the primary key, the last of which may stand inside a function.

use cql_syntax::SelectorExpression;
use schema::{ColumnId, ColumnKind};

use super::expression::{Expression, GroupKey};
use super::restrictions::Restrictions;
use super::selectors::{ResultColumn, Selectors};
use crate::error::{QueryError, invalid};

const OUT_OF_ORDER: &str =
    "Group by currently only support groups of columns following their declared order in the PRIMARY KEY";

/// Functions that keep the order of what they are given: what they make equal stands together.
const MONOTONIC: [&str; 7] = [
    "system.floor",
    "system.to_date",
    "system.todate",
    "system.to_timestamp",
    "system.totimestamp",
    "system.to_unix_timestamp",
    "system.tounixtimestamp",
];

/// GROUP BY as it is planned.
pub(super) struct GroupBy {
    /// The expressions that the rows of a group have in common, beside their partition.
    pub(super) keys: Vec<GroupKey>,
    /// The column that a function is called of.
    pub(super) called_of: Option<ColumnId>,
}

/// Plans GROUP BY.
pub(super) fn plan(
    group_by: &[SelectorExpression],
    selectors: &mut Selectors<'_>,
    restrictions: &Restrictions,
    is_distinct: bool,
) -> Result<GroupBy, QueryError> {
    let table = selectors.table;
    let key_columns = table.partition_key().len();
    let columns: Vec<_> = table.partition_key().iter().chain(table.clustering()).collect();
    let mut keys = Vec::new();
    let mut next = 0;
    let mut called_of = None;
    for expression in group_by {
        let (column, call) = match expression {
            SelectorExpression::Column(name) => (selectors.column(name)?, None),
            SelectorExpression::Function { .. }
            | SelectorExpression::Cast { .. }
            | SelectorExpression::CountRows
            | SelectorExpression::Operation { .. }
            | SelectorExpression::Negation(_) => {
                let (column, call) = function(expression, selectors)?;
                (column, Some(call))
            }
            other => return Err(invalid(format!("Group by is not supported on {other}"))),
        };
        if call.is_none() && !column.kind.is_key() {
            return Err(invalid(format!(
                "Group by is currently only supported on the columns of the PRIMARY KEY, got {}",
                column.name
            )));
        }
        if call.is_none() && called_of.is_some() {
            return Err(invalid("Functions are only supported on the last element of the GROUP BY clause"));
        }
        called_of = call.as_ref().map(|_| column.id).or(called_of);
        loop {
            let at = columns.get(next).ok_or_else(|| invalid(OUT_OF_ORDER))?;
            next += 1;
            let is_it = at.id == column.id;
            if at.kind == ColumnKind::Clustering {
                let call = if is_it { call.as_ref() } else { None };
                if call.is_none() {
                    let expression = Expression::Selected(selectors.selected(at));
                    keys.push(GroupKey { expression, ty: at.ty.clone() });
                }
            }
            if is_it {
                break;
            }
            let position = usize::from(at.position);
            let is_fixed = match at.kind {
                ColumnKind::PartitionKey => restrictions.is_key_fixed(position),
                _ => restrictions.is_fixed(position),
            };
            if !is_fixed {
                return Err(invalid(OUT_OF_ORDER));
            }
        }
        if let Some(ResultColumn { expression, ty, .. }) = call {
            keys.push(GroupKey { expression, ty });
        }
    }
    if next < key_columns {
        return Err(invalid("Group by is not supported on only a part of the partition key"));
    }
    if next > key_columns && is_distinct {
        return Err(invalid("Grouping on clustering columns is not allowed for SELECT DISTINCT queries"));
    }
    Ok(GroupBy { keys, called_of })
}

/// A call at the end of GROUP BY, and the one clustering column that it is about.
fn function<'p>(
    expression: &SelectorExpression,
    selectors: &mut Selectors<'p>,
) -> Result<(&'p schema::Column, ResultColumn), QueryError> {
    let (used_before, aggregates_before) = (selectors.used.len(), selectors.aggregates.len());
    // Groups are of the values that there are. Who may not compare a masked column is refused: where a group ends, and where the function fails, tells values
    // to whoever chooses its arguments.
    let masked = std::mem::replace(&mut selectors.masked, false);
    let call = selectors.call(expression);
    selectors.masked = masked;
    let call = call?;
    let used = selectors.used.split_off(used_before);
    if selectors.aggregates.len() > aggregates_before {
        let name = match expression {
            SelectorExpression::Function { name, .. } => format!("system.{name}"),
            _ => "system.count".to_owned(),
        };
        return Err(invalid(format!("Aggregate functions are not supported within the GROUP BY clause, got: {name}")));
    }
    let column = match used.as_slice() {
        [] => return Err(invalid("GROUP BY functions must have one clustering column name as parameter")),
        [column] => *column,
        many => {
            let names: Vec<String> =
                many.iter().map(|column| cql_syntax::quote_identifier(&column.name).into_owned()).collect();
            return Err(invalid(format!(
                "GROUP BY functions accept only one clustering column as parameter, got: {}",
                names.join(",")
            )));
        }
    };
    if column.kind != ColumnKind::Clustering {
        return Err(invalid(format!(
            "Group by functions are only supported on clustering columns, got {}",
            column.name
        )));
    }
    check_monotonic(&call.expression)?;
    Ok((column, call))
}

fn check_monotonic(expression: &Expression) -> Result<(), QueryError> {
    let Expression::Call { call, arguments } = expression else { return Ok(()) };
    if !MONOTONIC.contains(&call.name()) {
        let types: Vec<String> = call.arguments().iter().map(ToString::to_string).collect();
        return Err(invalid(format!(
            "Only monotonic functions are supported in the GROUP BY clause. Got: {} : ({}) -> {} ",
            call.name(),
            types.join(", "),
            call.returns()
        )));
    }
    arguments.iter().try_for_each(check_monotonic)
}
