//! The tables of cassandra-stress' own commands, `standard1` and `counter1`, and one prepared statement for each kind of operation.

use scylla::client::session::Session;
use scylla::deserialize::row::ColumnIterator;
use scylla::response::query_result::QueryResult;
use scylla::statement::prepared::PreparedStatement;
use scylla::value::{Counter, CqlValue};

use super::rows::Rows;
use super::settings::{ColumnSettings, Kind, Settings, quoted};
use super::target::{self, Done, Failure, execute};
use crate::StressError;
use crate::distribution::Distribution;

/// Operations on rows that are known by a number.
#[derive(Debug)]
pub(crate) struct Standard {
    statements: Vec<(Kind, PreparedStatement)>,
    rows: Rows,
    /// What is added to counters.
    add: Distribution,
    /// Whether rows that are read are compared.
    validated: bool,
}

/// Makes the keyspace and the tables that the kinds are about, if they are not there.
pub(crate) async fn create_schema(session: &Session, settings: &Settings) -> Result<(), StressError> {
    let schema = &settings.schema;
    target::run(session, "make the keyspace", &schema.create_keyspace()).await?;
    for (kind, _) in &settings.command.kinds {
        let of_type = if *kind == Kind::Write { "blob" } else { "counter" };
        target::run(session, "make the table", &schema.create_table(table(*kind), &settings.columns, of_type)).await?;
    }
    Ok(())
}

/// The full names of the tables that the kinds are about.
pub(crate) fn tables(settings: &Settings) -> Vec<String> {
    let mut tables: Vec<&str> = settings.command.kinds.iter().map(|(kind, _)| table(*kind)).collect();
    tables.sort_unstable();
    tables.dedup();
    tables.into_iter().map(|table| settings.schema.table(table)).collect()
}

/// The table that a kind is about.
fn table(kind: Kind) -> &'static str {
    match kind {
        Kind::CounterRead | Kind::CounterWrite => "counter1",
        _ => "standard1",
    }
}

/// The statement of a kind, as cassandra-stress has it.
fn statement(kind: Kind, table: &str, columns: &ColumnSettings) -> String {
    let each = |form: &dyn Fn(&str) -> String| {
        columns.names.iter().map(|name| form(&quoted(name))).collect::<Vec<_>>().join(", ")
    };
    match kind {
        Kind::Write => format!("UPDATE {table} SET {} WHERE key = ?", each(&|name| format!("{name} = ?"))),
        Kind::CounterWrite => {
            format!("UPDATE {table} SET {} WHERE key = ?", each(&|name| format!("{name} = {name} + ?")))
        }
        _ if columns.slice => format!("SELECT * FROM {table} WHERE key = ?"),
        _ => format!("SELECT {} FROM {table} WHERE key = ?", each(&str::to_owned)),
    }
}

impl Standard {
    /// Prepares the statements. Fails if the tables are not there.
    pub(crate) async fn prepare(session: &Session, settings: &Settings) -> Result<Standard, StressError> {
        let mut statements = Vec::new();
        for (kind, _) in &settings.command.kinds {
            let text = statement(*kind, &settings.schema.table(table(*kind)), &settings.columns);
            let of = format!("the statement of {} (write makes the table)", kind.name());
            let mut prepared = target::prepare(session, &of, text).await?;
            if *kind == Kind::Write {
                prepared.set_timestamp(settings.columns.timestamp);
            }
            statements.push((*kind, prepared));
        }
        Ok(Standard {
            statements,
            rows: Rows::new(settings.columns.names.len(), settings.columns.size.clone()),
            add: settings.command.add.clone(),
            validated: settings.errors.validated,
        })
    }

    /// Does one operation on a row.
    pub(crate) async fn perform(
        &self,
        session: &Session,
        kind: Kind,
        row: u64,
        values: &mut Vec<Vec<u8>>,
    ) -> Result<Done, Failure> {
        let statement = self.statements.iter().find(|(other, _)| *other == kind);
        let (_, statement) = statement.expect("each kind of the command is prepared");
        let key = Rows::key(row);
        match kind {
            Kind::Write => {
                self.rows.fill(row, values);
                let mut bound: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
                bound.push(&key);
                execute(session, statement, bound).await.map(|_| Done::ROW)
            }
            Kind::CounterWrite => {
                let added = (0..self.rows.column_count() as u64).map(|column| self.add.draw(row ^ (column << 48)));
                let mut bound: Vec<CqlValue> = added.map(|added| CqlValue::Counter(Counter(added as i64))).collect();
                bound.push(CqlValue::Blob(key));
                execute(session, statement, bound).await.map(|_| Done::ROW)
            }
            Kind::Read => {
                let result = execute(session, statement, (key,)).await?;
                if self.validated {
                    self.rows.fill(row, values);
                }
                check(result, self.validated.then_some(values.as_slice()))
            }
            _ => check(execute(session, statement, (key,)).await?, None),
        }
    }
}

/// Looks at the row that a read has found: its last columns must be the expected ones. (`*` has the key before them.)
pub(crate) fn check(result: QueryResult, expected: Option<&[Vec<u8>]>) -> Result<Done, Failure> {
    let malformed = |error: &dyn std::fmt::Display| Failure::Malformed(error.to_string());
    let rows = result.into_rows_result().map_err(|error| malformed(&error))?;
    let mut rows = rows.rows::<ColumnIterator>().map_err(|error| malformed(&error))?;
    let row = match rows.next() {
        None => return Err(Failure::Missing),
        Some(row) => row.map_err(|error| malformed(&error))?,
    };
    let Some(expected) = expected else { return Ok(Done::ROW) };
    let mut values = Vec::with_capacity(expected.len() + 1);
    for column in row {
        values.push(column.map_err(|error| malformed(&error))?.slice);
    }
    let before = values.len().saturating_sub(expected.len());
    let is_right = values.len() >= expected.len()
        && std::iter::zip(&values[before..], expected)
            .all(|(value, expected)| value.is_some_and(|value| value.as_slice() == expected.as_slice()));
    if is_right { Ok(Done::ROW) } else { Err(Failure::Wrong) }
}
