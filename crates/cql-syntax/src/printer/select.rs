//! SELECT.

use std::fmt::{self, Display, Formatter};

use super::term::write_where;
use super::{write_qualified, write_separated};
use crate::ast::{Select, Selection, SelectorExpression};
use crate::quote_identifier;

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.distinct { "SELECT DISTINCT " } else { "SELECT " })?;
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
        if !self.order_by.is_empty() {
            f.write_str(" ORDER BY ")?;
            write_separated(f, &self.order_by, ", ", |f, order| {
                write!(f, "{} {}", quote_identifier(&order.column), if order.descending { "DESC" } else { "ASC" })
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
            SelectorExpression::Term(term) => term.fmt(f),
        }
    }
}
