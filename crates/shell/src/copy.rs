//! COPY: rows between a table and CSV files.
//!
//! One connection, many requests outstanding on it; cqlsh's processes, chunks and batches have no counterpart, and their options are accepted without an effect. A row that cannot be
//! read or written goes to a file of such rows, and the others go on.

mod csv;
mod export;
mod import;
mod options;
mod progress;
mod rejected;
mod sources;
mod text;

use cql_protocol::Consistency;

use crate::command::{Copy, Direction};
use crate::error::CallError;
use crate::reader::Reader;
use crate::session::Session;
use options::{OptionError, Options};

/// Why nothing was copied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    #[error("Not in any keyspace.")]
    NoKeyspace,
    #[error("Table {table} of keyspace {keyspace} not found")]
    NoTable { keyspace: String, table: String },
    #[error("Invalid column name {name}")]
    NoColumn { name: String },
    #[error("Primary key column '{name}' missing or skipped")]
    NoKey { name: String },
    #[error("No valid column specified")]
    NoColumns,
    #[error("{0}")]
    Option(#[from] OptionError),
    #[error("Can't open '{path}' for {purpose}: {reason}")]
    File { path: String, purpose: &'static str, reason: String },
    #[error("cannot write: {0}")]
    Write(std::io::Error),
    #[error("{0}")]
    Call(#[from] CallError),
}

/// A table, and the columns that are copied.
struct Table {
    keyspace: String,
    name: String,
    /// All columns: key first, then the others by name.
    all: Vec<Column>,
    /// Those of the command, or all.
    columns: Vec<String>,
}

struct Column {
    name: String,
    /// As system_schema has it.
    kind: String,
    position: i32,
    ty: String,
}

impl Column {
    fn is_key(&self) -> bool {
        matches!(self.kind.as_str(), "partition_key" | "clustering")
    }
}

impl Table {
    fn quoted_name(&self) -> String {
        let quoted = cql_syntax::quote_identifier;
        format!("{}.{}", quoted(&self.keyspace), quoted(&self.name))
    }

    fn is_counter(&self) -> bool {
        self.all.iter().any(|column| column.ty == "counter")
    }

    fn column(&self, name: &str) -> Option<&Column> {
        self.all.iter().find(|column| column.name == name)
    }

    /// The command and the columns that are copied, as cqlsh tells them first.
    fn title(&self, columns: &[String]) -> String {
        format!("\nStarting copy of {}.{} with columns [{}].", self.keyspace, self.name, columns.join(", "))
    }
}

/// Names with quotes where they need them, and commas between them.
fn quoted_list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| cql_syntax::quote_identifier(name).into_owned()).collect::<Vec<_>>().join(", ")
}

/// Does it, and says what came of it. `reader`: where lines come from, for rows on standard input.
pub(crate) fn run(session: &mut Session, copy: &Copy, reader: Option<&mut Reader>) {
    if let Err(error) = run_checked(session, copy, reader) {
        match error {
            CopyError::Call(error) => session.failed(&error),
            error => session.error(&error.to_string()),
        }
    }
}

fn run_checked(session: &mut Session, copy: &Copy, reader: Option<&mut Reader>) -> Result<(), CopyError> {
    let keyspace = copy.keyspace.clone().or_else(|| session.keyspace().map(str::to_owned));
    let table = find(session, keyspace.ok_or(CopyError::NoKeyspace)?, copy)?;
    let options = Options::of(&table.keyspace, &table.name, copy, session)?;
    match copy.direction {
        Direction::To => export::run(session, &table, copy.file.as_deref(), &options),
        Direction::From => import::run(session, &table, copy.file.as_deref(), &options, reader),
    }
}

fn find(session: &mut Session, keyspace: String, copy: &Copy) -> Result<Table, CopyError> {
    let name = copy.table.clone();
    let text = format!(
        "SELECT column_name, kind, position, type FROM system_schema.columns WHERE keyspace_name = '{}' AND table_name = '{}'",
        keyspace.replace('\'', "''"),
        name.replace('\'', "''")
    );
    let found = session.server.borrow_mut().rows(&text, Consistency::One)?;
    let mut all: Vec<Column> = (0..found.rows.len())
        .map(|row| Column {
            name: found.text(row, "column_name"),
            kind: found.text(row, "kind"),
            position: found.int(row, "position").unwrap_or(-1),
            ty: found.text(row, "type"),
        })
        .collect();
    if all.is_empty() {
        return Err(CopyError::NoTable { keyspace, table: name });
    }
    let place = |column: &Column| match column.kind.as_str() {
        "partition_key" => 0,
        "clustering" => 1,
        _ => 2,
    };
    all.sort_by(|a, b| (place(a), a.position, &a.name).cmp(&(place(b), b.position, &b.name)));
    let mut columns = copy.columns.clone();
    if columns.is_empty() {
        columns = all.iter().map(|column| column.name.clone()).collect();
    }
    let table = Table { keyspace, name, all, columns };
    match table.columns.iter().find(|name| table.column(name).is_none()) {
        Some(name) => Err(CopyError::NoColumn { name: name.clone() }),
        None => Ok(table),
    }
}

#[cfg(test)]
mod tests;
