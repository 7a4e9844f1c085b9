//! SELECT.

use std::fmt::{self, Display, Formatter};

use super::term::write_where;
use super::{write_qualified, write_separated};
use crate::ast::{Select, Selection, SelectorExpression};
use crate::quote_identifier;

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("SELECT ")?;
        f.write_str(if self.json { "JSON " } else { "" })?;
        f.write_str(if self.distinct { "DISTINCT " } else { "" })?;
        match &self.selection {
            Selection::All => f.write_str("*")?,
            Selection::List(selectors) => write_separated(f, selectors, ", ", |f, selector| {
                write!(f, "{}", selector.expression)?;
                match &selector.alias {
                    Some(alias) => write!(f, " AS {}", quote_identifier(alias)),
                    None => Ok(()),
                }
            })?,
        }
        write!(f, " FROM {}", self.table)?;
        write_where(f, &self.relations)?;
        if !self.group_by.is_empty() {
            f.write_str(" GROUP BY ")?;
            write_separated(f, &self.group_by, ", ", |f, expression| expression.fmt(f))?;
        }
        if !self.order_by.is_empty() {
            f.write_str(" ORDER BY ")?;
            write_separated(f, &self.order_by, ", ", |f, order| {
                write!(f, "{}", quote_identifier(&order.column))?;
                if let Some(term) = &order.ann_of {
                    write!(f, " ANN OF {term}")?;
                }
                f.write_str(if order.descending { " DESC" } else { " ASC" })
            })?;
        }
        if let Some(limit) = &self.per_partition_limit {
            write!(f, " PER PARTITION LIMIT {limit}")?;
        }
        if let Some(limit) = &self.limit {
            write!(f, " LIMIT {limit}")?;
        }
        if self.allow_filtering { f.write_str(" ALLOW FILTERING") } else { Ok(()) }
    }
}

impl Display for SelectorExpression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SelectorExpression::Column(name) => f.write_str(&quote_identifier(name)),
            SelectorExpression::CountRows => f.write_str("count(*)"),
            SelectorExpression::Function { keyspace, name, arguments } => {
                if keyspace.is_none() && name == "token" {
                    f.write_str(name)?;
                } else {
                    write_qualified(f, keyspace.as_deref(), name)?;
                }
                f.write_str("(")?;
                write_separated(f, arguments, ", ", |f, argument| argument.fmt(f))?;
                f.write_str(")")
            }
            SelectorExpression::Element { of, key } => write!(f, "{of}[{key}]"),
            SelectorExpression::Slice { of, from, to } => {
                write!(f, "{of}[")?;
                let from = from.as_ref().map_or(String::new(), ToString::to_string);
                // The point of a number must not be taken for one of the two.
                write!(f, "{from}{}..", if from.ends_with('.') { " " } else { "" })?;
                to.iter().try_for_each(|to| to.fmt(f))?;
                f.write_str("]")
            }
            SelectorExpression::Field { of, field } => write!(f, "{of}.{}", quote_identifier(field)),
            SelectorExpression::Cast { expression, ty } => write!(f, "CAST({expression} AS {ty})"),
            SelectorExpression::Operation { operator, left, right } => {
                write!(f, "{left} {} {right}", operator.symbol())
            }
            // The space keeps it from becoming a constant's sign, or a comment.
            SelectorExpression::Negation(of) => write!(f, "- {of}"),
            SelectorExpression::TypeHint { ty, expression } => write!(f, "({ty}) {expression}"),
            SelectorExpression::List(items) => write_expressions(f, "[", items, "]"),
            SelectorExpression::Set(items) => write_expressions(f, "{", items, "}"),
            SelectorExpression::Tuple(items) => write_expressions(f, "(", items, ")"),
            SelectorExpression::Map(entries) => {
                f.write_str("{")?;
                write_separated(f, entries, ", ", |f, (key, value)| write!(f, "{key}: {value}"))?;
                f.write_str("}")
            }
            SelectorExpression::Term(term) => term.fmt(f),
        }
    }
}

fn write_expressions(
    f: &mut Formatter<'_>,
    open: &str,
    expressions: &[SelectorExpression],
    close: &str,
) -> fmt::Result {
    f.write_str(open)?;
    write_separated(f, expressions, ", ", |f, expression| expression.fmt(f))?;
    f.write_str(close)
}
