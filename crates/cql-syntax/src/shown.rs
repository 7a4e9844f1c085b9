//! Terms and relations as Cassandra's messages show them: markers without names, `NULL`, and a cast without a space.
//!
//! The printer is no help here: what it prints must be read as the same tree again.

use cql_types::{Literal, LiteralKind};

use crate::{Operator, Term, quote_identifier};

/// A term.
pub fn term(shown: &Term) -> String {
    match shown {
        Term::Null => "NULL".to_owned(),
        Term::Literal(constant) => literal(constant),
        Term::Marker(_) => "?".to_owned(),
        Term::Function { keyspace, name, arguments } => {
            let keyspace =
                keyspace.as_ref().map(|keyspace| format!("{}.", quote_identifier(keyspace))).unwrap_or_default();
            let is_token = keyspace.is_empty() && name == "token";
            let name = if is_token { name.into() } else { quote_identifier(name) };
            format!("{keyspace}{name}{}", list("(", arguments, ")"))
        }
        Term::Cast { ty, term: of } => format!("({ty}){}", term(of)),
        // What they are functions of.
        Term::Operation { operator, left, right } => {
            format!("system.\"{}\"({}, {})", operator.function(), term(left), term(right))
        }
        Term::Negation(of) => format!("system.\"_negate\"({})", term(of)),
        Term::Conversion { term: of, ty } => format!("system.cast_as_{ty}({})", term(of)),
        Term::List(terms) => list("[", terms, "]"),
        Term::Set(terms) => list("{", terms, "}"),
        Term::Tuple(terms) => list("(", terms, ")"),
        Term::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", term(key), term(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Term::Udt(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}: {}", term(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A constant: a quote inside of a text is not doubled, and words for numbers are written in one way.
pub fn literal(constant: &Literal) -> String {
    match constant.kind {
        LiteralKind::String => format!("'{}'", constant.text),
        LiteralKind::Float => match constant.text.to_ascii_lowercase().as_str() {
            "nan" | "-nan" => "NaN".to_owned(),
            "infinity" => "Infinity".to_owned(),
            "-infinity" => "-Infinity".to_owned(),
            _ => constant.text.to_string(),
        },
        _ => constant.text.to_string(),
    }
}

/// A relation on several columns.
pub fn tuple_relation(columns: &[String], operator: Operator, value: &Term) -> String {
    format!("({}) {operator} {}", columns.join(", "), term(value))
}

fn list(open: &str, terms: &[Term], close: &str) -> String {
    format!("{open}{}{close}", terms.iter().map(term).collect::<Vec<_>>().join(", "))
}
