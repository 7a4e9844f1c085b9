//! Terms and relations.

use std::fmt::{self, Display, Formatter};

use super::{write_names, write_qualified, write_separated};
use crate::ast::{BindMarker, Operator, Relation, Term};
use crate::quote_identifier;

impl Display for BindMarker {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, ":{}", quote_identifier(name)),
            None => f.write_str("?"),
        }
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Term::Null => f.write_str("null"),
            Term::Literal(literal) => literal.fmt(f),
            Term::Marker(marker) => marker.fmt(f),
            Term::Function { keyspace, name, arguments } => write_call(f, keyspace.as_deref(), name, arguments),
            Term::Cast { ty, term } => write!(f, "({ty}) {term}"),
            Term::Conversion { term, ty } => write!(f, "CAST({term} AS {ty})"),
            Term::Operation { operator, left, right } => write!(f, "{left} {} {right}", operator.symbol()),
            // A number behind the minus would take it.
            Term::Negation(term) => write!(f, "- {term}"),
            Term::List(terms) => write_terms(f, "[", terms, "]"),
            Term::Set(terms) => write_terms(f, "{", terms, "}"),
            Term::Tuple(terms) => write_terms(f, "(", terms, ")"),
            Term::Map(entries) => {
                f.write_str("{")?;
                write_separated(f, entries, ", ", |f, (key, value)| write!(f, "{key}: {value}"))?;
                f.write_str("}")
            }
            Term::Udt(fields) => {
                f.write_str("{")?;
                write_separated(f, fields, ", ", |f, (name, value)| write!(f, "{}: {value}", quote_identifier(name)))?;
                f.write_str("}")
            }
        }
    }
}

pub(super) fn write_call(f: &mut Formatter<'_>, keyspace: Option<&str>, name: &str, arguments: &[Term]) -> fmt::Result {
    // A reserved word that is a function's name all the same.
    match keyspace.is_none() && name == "token" {
        true => f.write_str(name)?,
        false => write_qualified(f, keyspace, name)?,
    }
    write_terms(f, "(", arguments, ")")
}

fn write_terms(f: &mut Formatter<'_>, open: &str, terms: &[Term], close: &str) -> fmt::Result {
    f.write_str(open)?;
    write_separated(f, terms, ", ", |f, term| term.fmt(f))?;
    f.write_str(close)
}

impl Display for Operator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operator::Equal => "=",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::In => "IN",
            Operator::Contains => "CONTAINS",
            Operator::ContainsKey => "CONTAINS KEY",
            Operator::Like => "LIKE",
            Operator::IsNot => "IS NOT",
        })
    }
}

impl Display for Relation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Relation::Column { column, operator, term } => {
                write!(f, "{} {operator} {term}", quote_identifier(column))
            }
            Relation::Element { column, key, operator, term } => {
                write!(f, "{}[{key}] {operator} {term}", quote_identifier(column))
            }
            Relation::Token { columns, operator, term } => {
                f.write_str("token(")?;
                write_names(f, columns)?;
                write!(f, ") {operator} {term}")
            }
            Relation::Tuple { columns, operator, term } => {
                f.write_str("(")?;
                write_names(f, columns)?;
                write!(f, ") {operator} {term}")
            }
        }
    }
}

pub(super) fn write_where(f: &mut Formatter<'_>, relations: &[Relation]) -> fmt::Result {
    if relations.is_empty() {
        return Ok(());
    }
    f.write_str(" WHERE ")?;
    write_separated(f, relations, " AND ", |f, relation| relation.fmt(f))
}
