//! The canonical text of a statement: what is printed parses to an equal tree.

mod access;
mod ddl;
mod describe;
mod modify;
mod select;
mod term;
mod types;

use std::fmt::{self, Display, Formatter};

use crate::ast::{Statement, TableName};
use crate::quote_identifier;
pub(crate) use types::type_text;

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Select(select) => select.fmt(f),
            Statement::Insert(insert) => insert.fmt(f),
            Statement::Update(update) => update.fmt(f),
            Statement::Delete(delete) => delete.fmt(f),
            Statement::Batch(batch) => batch.fmt(f),
            Statement::Use { keyspace } => write!(f, "USE {}", quote_identifier(keyspace)),
            Statement::Truncate(table) => write!(f, "TRUNCATE TABLE {table}"),
            Statement::CreateKeyspace(create) => create.fmt(f),
            Statement::AlterKeyspace(alter) => alter.fmt(f),
            Statement::DropKeyspace(drop) => drop.fmt(f),
            Statement::CreateTable(create) => create.fmt(f),
            Statement::AlterTable(alter) => alter.fmt(f),
            Statement::DropTable(drop) => drop.fmt(f),
            Statement::CreateType(create) => create.fmt(f),
            Statement::AlterType(alter) => alter.fmt(f),
            Statement::DropType(drop) => drop.fmt(f),
            Statement::DropElement(drop) => drop.fmt(f),
            Statement::Access(access) => access.fmt(f),
            Statement::Describe(describe) => describe.fmt(f),
            // What it is known by is all that is left of it.
            Statement::Unsupported { what } => f.write_str(match what.as_str() {
                "SELECT FROM MUTATION_FRAGMENTS" => "SELECT * FROM MUTATION_FRAGMENTS(t)",
                "SELECT USING SERVICE LEVEL" => "SELECT * FROM t USING SERVICE LEVEL l",
                "DESCRIBE WITH INTERNALS AND PASSWORDS" => "DESCRIBE SCHEMA WITH INTERNALS AND PASSWORDS",
                what => what,
            }),
        }
    }
}

impl Display for TableName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_qualified(f, self.keyspace.as_deref(), &self.table)
    }
}

fn write_qualified(f: &mut Formatter<'_>, keyspace: Option<&str>, name: &str) -> fmt::Result {
    if let Some(keyspace) = keyspace {
        write!(f, "{}.", quote_identifier(keyspace))?;
    }
    f.write_str(&quote_identifier(name))
}

/// `a, b, c`, or with another separator.
fn write_separated<T>(
    f: &mut Formatter<'_>,
    items: &[T],
    separator: &str,
    mut write: impl FnMut(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(separator)?;
        }
        write(f, item)?;
    }
    Ok(())
}

fn write_names(f: &mut Formatter<'_>, names: &[String]) -> fmt::Result {
    write_separated(f, names, ", ", |f, name| f.write_str(&quote_identifier(name)))
}

#[cfg(test)]
mod tests;
