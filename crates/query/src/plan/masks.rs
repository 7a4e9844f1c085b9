//! Masked columns in what a SELECT gives: the one place where a mask takes the place of a column's values.
//!
//! A plan for clients without UNMASK has a call of the mask wherever a selector names the column for its value, so that whatever is made of the value
//! (an element, a field, a function's value, an aggregate, JSON) is made of the masked one. The plan for all others has the column itself. Both have the
//! same markers and the same result columns, since a mask gives values of its column's type. What is not a value stays: writetime() and ttl(), restrictions,
//! the order of rows, groups.

use schema::{Column, ColumnMask};

use super::operand::{Operand, Source};
use super::{Expression, Selected};

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
