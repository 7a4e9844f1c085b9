//! DESCRIBE.

use std::fmt::{self, Display, Formatter};

use super::write_qualified;
use crate::ast::{Describe, DescribeKind, DescribeTarget};
use crate::identifier::is_unreserved_keyword;
use crate::quote_identifier;

impl Display for DescribeKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DescribeKind::Keyspace => "KEYSPACE",
            DescribeKind::Table => "TABLE",
            DescribeKind::Type => "TYPE",
            DescribeKind::Function => "FUNCTION",
            DescribeKind::Aggregate => "AGGREGATE",
            DescribeKind::Index => "INDEX",
            DescribeKind::MaterializedView => "MATERIALIZED VIEW",
        })
    }
}

impl Display for Describe {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("DESCRIBE ")?;
        match &self.target {
            DescribeTarget::Cluster => f.write_str("CLUSTER")?,
            DescribeTarget::Schema { full: true } => f.write_str("FULL SCHEMA")?,
            DescribeTarget::Schema { full: false } => f.write_str("SCHEMA")?,
            DescribeTarget::List(kind) => write!(f, "{kind}S")?,
            DescribeTarget::OnlyKeyspace(name) => {
                f.write_str("ONLY KEYSPACE")?;
                write_optional(f, name.as_deref())?;
            }
            DescribeTarget::Element { kind, keyspace, name } => {
                write!(f, "{kind}")?;
                if let (Some(keyspace), Some(_)) = (keyspace, name) {
                    write!(f, " {}.", quote_identifier(keyspace))?;
                    f.write_str(&quote_identifier(name.as_deref().unwrap_or_default()))?;
                } else {
                    write_optional(f, name.as_deref())?;
                }
            }
            // A keyword in the first place would be read as the kind of what to show.
            DescribeTarget::Any { keyspace: None, name } if is_unreserved_keyword(name) => write!(f, "\"{name}\"")?,
            DescribeTarget::Any { keyspace: Some(keyspace), name } if is_unreserved_keyword(keyspace) => {
                write!(f, "\"{keyspace}\".{}", quote_identifier(name))?;
            }
            DescribeTarget::Any { keyspace, name } => write_qualified(f, keyspace.as_deref(), name)?,
        }
        if self.with_internals { f.write_str(" WITH INTERNALS") } else { Ok(()) }
    }
}

fn write_optional(f: &mut Formatter<'_>, name: Option<&str>) -> fmt::Result {
    match name {
        Some(name) => write!(f, " {}", quote_identifier(name)),
        None => Ok(()),
    }
}
