//! The servers as the driver sees them: a session, the tables, and one prepared statement for each kind of operation.

use std::time::Duration;

use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::deserialize::row::ColumnIterator;
use scylla::errors::ExecutionError;
use scylla::policies::host_filter::AllowListHostFilter;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::response::query_result::QueryResult;
use scylla::statement::prepared::PreparedStatement;
use scylla::value::{Counter, CqlValue};

use super::rows::Rows;
use super::settings::{ColumnSettings, ConnectionSettings, Kind, Settings, quoted, with_port};
use crate::StressError;
use crate::distribution::Distribution;

/// How long a reply may take: as long as cassandra-stress' driver waits.
const REPLY_TIME_MAX: Duration = Duration::from_secs(12);

/// Servers that operations can be done on.
#[derive(Debug)]
pub(crate) struct Target {
    session: Session,
    statements: Vec<(Kind, PreparedStatement)>,
    rows: Rows,
    /// What is added to counters.
    add: Distribution,
    /// Whether rows that are read are compared.
    validated: bool,
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The server or the driver said so. It may do better the next time.
    #[error("{0}")]
    Refused(Box<ExecutionError>),
    /// A row is not there.
    #[error("the row is missing")]
    Missing,
    /// A row is not as it was written.
    #[error("the row has other values than were written")]
    Wrong,
    /// A reply is none to what was asked.
    #[error("the reply is no row: {0}")]
    Malformed(String),
}

/// What a task uses over and over.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    values: Vec<Vec<u8>>,
}

/// Opens a session.
pub(crate) async fn connect(settings: &Settings) -> Result<Session, StressError> {
    let connection = &settings.connection;
    let nodes = nodes(connection)?;
    let profile = ExecutionProfile::builder()
        .consistency(settings.command.consistency)
        .request_timeout(Some(REPLY_TIME_MAX))
        // Operations are tried again by us, who count that.
        .retry_policy(std::sync::Arc::new(FallthroughRetryPolicy::new()))
        .build();
    let mut builder = SessionBuilder::new()
        .known_nodes(&nodes)
        .default_execution_profile_handle(profile.into_handle())
        .keyspaces_to_fetch([&settings.schema.keyspace])
        // Where rows lie, and no more.
        .fetch_full_schema_metadata(false)
        .compression(connection.compression);
    if let Some((user, password)) = &connection.credentials {
        builder = builder.user(user, password);
    }
    if let Some(count) = connection.per_host.and_then(std::num::NonZeroUsize::new) {
        builder = builder.pool_size(PoolSize::PerHost(count));
    }
    if let Some(datacenter) = &connection.datacenter {
        builder = builder.prefer_datacenter(datacenter.clone());
    }
    let failed = |reason: String| StressError::Driver { action: format!("connect to {}", nodes.join(", ")), reason };
    if connection.whitelist {
        let filter = AllowListHostFilter::new(&nodes).map_err(|error| failed(error.to_string()))?;
        builder = builder.host_filter(std::sync::Arc::new(filter));
    }
    builder.build().await.map_err(|error| failed(error.to_string()))
}

fn nodes(connection: &ConnectionSettings) -> Result<Vec<String>, StressError> {
    let Some((path, port)) = &connection.file else { return Ok(connection.nodes.clone()) };
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|source| StressError::Nodes { path: path.clone(), source })?;
    match with_port(text.lines(), *port) {
        nodes if nodes.is_empty() => {
            Err(StressError::Arguments { reason: format!("-node file={}: it names no node", path.display()) })
        }
        nodes => Ok(nodes),
    }
}

/// Makes the keyspace and the tables that the kinds are about, if they are not there.
pub(crate) async fn create_schema(session: &Session, settings: &Settings) -> Result<(), StressError> {
    let schema = &settings.schema;
    run(session, "make the keyspace", &schema.create_keyspace()).await?;
    for (kind, _) in &settings.command.kinds {
        let of_type = if *kind == Kind::Write { "blob" } else { "counter" };
        run(session, "make the table", &schema.create_table(kind.table(), &settings.columns, of_type)).await?;
    }
    Ok(())
}

/// Empties the tables that the kinds are about.
pub(crate) async fn truncate(session: &Session, settings: &Settings) -> Result<(), StressError> {
    let mut tables: Vec<&str> = settings.command.kinds.iter().map(|(kind, _)| kind.table()).collect();
    tables.sort_unstable();
    tables.dedup();
    for table in tables {
        run(session, "empty the table", &format!("TRUNCATE {}", settings.schema.table(table))).await?;
    }
    Ok(())
}

async fn run(session: &Session, action: &str, text: &str) -> Result<(), StressError> {
    let done = session.query_unpaged(text, ()).await;
    done.map(drop).map_err(|error| StressError::Driver { action: action.to_owned(), reason: error.to_string() })
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
        Kind::Read | Kind::CounterRead if columns.slice => format!("SELECT * FROM {table} WHERE key = ?"),
        Kind::Read | Kind::CounterRead => format!("SELECT {} FROM {table} WHERE key = ?", each(&str::to_owned)),
    }
}

impl Target {
    /// Prepares the statements. Fails if the tables are not there.
    pub(crate) async fn prepare(session: Session, settings: &Settings) -> Result<Target, StressError> {
        let mut statements = Vec::new();
        for (kind, _) in &settings.command.kinds {
            let text = statement(*kind, &settings.schema.table(kind.table()), &settings.columns);
            let mut prepared = session.prepare(text).await.map_err(|error| StressError::Driver {
                action: format!("prepare the statement of {} (write makes the table)", kind.name()),
                reason: error.to_string(),
            })?;
            // Replies need not say each time what the columns are.
            prepared.set_use_cached_result_metadata(true);
            if *kind == Kind::Write {
                prepared.set_timestamp(settings.columns.timestamp);
            }
            statements.push((*kind, prepared));
        }
        Ok(Target {
            session,
            statements,
            rows: Rows::new(settings.columns.names.len(), settings.columns.size.clone()),
            add: settings.command.add.clone(),
            validated: settings.errors.validated,
        })
    }

    /// The session.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Does one operation on a row. Gives how many rows it wrote or found.
    pub(crate) async fn perform(&self, kind: Kind, row: u64, buffers: &mut Buffers) -> Result<u64, Failure> {
        let statement = self.statements.iter().find(|(other, _)| *other == kind);
        let (_, statement) = statement.expect("each kind of the command is prepared");
        let key = Rows::key(row);
        match kind {
            Kind::Write => {
                self.rows.fill(row, &mut buffers.values);
                let mut values: Vec<&[u8]> = buffers.values.iter().map(Vec::as_slice).collect();
                values.push(&key);
                self.execute(statement, values).await.map(|_| 1)
            }
            Kind::CounterWrite => {
                let added = (0..self.rows.column_count() as u64).map(|column| self.add.draw(row ^ (column << 48)));
                let mut values: Vec<CqlValue> = added.map(|added| CqlValue::Counter(Counter(added as i64))).collect();
                values.push(CqlValue::Blob(key));
                self.execute(statement, values).await.map(|_| 1)
            }
            Kind::Read => {
                let result = self.execute(statement, (key,)).await?;
                if self.validated {
                    self.rows.fill(row, &mut buffers.values);
                }
                check(result, self.validated.then_some(buffers.values.as_slice()))
            }
            Kind::CounterRead => check(self.execute(statement, (key,)).await?, None),
        }
    }

    async fn execute(
        &self,
        statement: &PreparedStatement,
        values: impl scylla::serialize::row::SerializeRow,
    ) -> Result<QueryResult, Failure> {
        let executed = self.session.execute_unpaged(statement, values).await;
        executed.map_err(|error| Failure::Refused(Box::new(error)))
    }
}

/// Looks at the row that a read has found: its last columns must be the expected ones. (`*` has the key before them.)
fn check(result: QueryResult, expected: Option<&[Vec<u8>]>) -> Result<u64, Failure> {
    let malformed = |error: &dyn std::fmt::Display| Failure::Malformed(error.to_string());
    let rows = result.into_rows_result().map_err(|error| malformed(&error))?;
    let mut rows = rows.rows::<ColumnIterator>().map_err(|error| malformed(&error))?;
    let row = match rows.next() {
        None => return Err(Failure::Missing),
        Some(row) => row.map_err(|error| malformed(&error))?,
    };
    let Some(expected) = expected else { return Ok(1) };
    let mut values = Vec::with_capacity(expected.len() + 1);
    for column in row {
        values.push(column.map_err(|error| malformed(&error))?.slice);
    }
    let before = values.len().saturating_sub(expected.len());
    let is_right = values.len() >= expected.len()
        && std::iter::zip(&values[before..], expected)
            .all(|(value, expected)| value.is_some_and(|value| value.as_slice() == expected.as_slice()));
    if is_right { Ok(1) } else { Err(Failure::Wrong) }
}
