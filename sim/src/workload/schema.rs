//! Schema statements of several clients through all nodes: CREATE, ALTER and DROP of keyspaces and tables, some with IF EXISTS or IF NOT EXISTS.
//! Some keyspaces are shared, so that the same name is made and dropped by several clients at once; each client has one of its own too.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use cql_protocol::{ErrorBody, ErrorCode};
use runtime::{Group, Runtime};

use super::schema_history::{
    KeyspaceNumber, KeyspaceState, SchemaAsked, SchemaTold, SchemaView, SharedSchema, TableNumber, TableState, Tag,
};
use crate::client::{Client, ClientError, Row};

/// The longest that a client waits for an answer: a node waits 10 s for the others to apply a change.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest pause before a client connects again.
const REST_MICROS: u64 = 200_000;
/// Tables of a keyspace.
const TABLES: u64 = 3;
/// Looks at a schema that changes meanwhile, before it is given up.
const LOOKS_MAX: u32 = 20;

/// The most statements of a client.
const SENT_MAX: u32 = 400;
/// Rows of a page.
const PAGE_ROWS: i32 = 500;

/// Bounds of the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaOptions {
    /// Clients.
    pub clients: u16,
    /// Statements of each.
    pub statements: u32,
    /// Keyspaces that all clients share.
    pub shared: u16,
    /// The longest pause between two statements.
    pub pause_micros: u64,
    /// Clients go on until they know of so many changes.
    pub changes_min: usize,
    /// Keyspaces alone: nodes can join.
    pub without_tables: bool,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        SchemaOptions {
            clients: 4,
            statements: 40,
            shared: 2,
            pause_micros: 400_000,
            changes_min: 0,
            without_tables: false,
        }
    }
}

/// All clients send all their statements, each to a node of its choice.
pub async fn work_schema(runtime: Runtime, options: SchemaOptions, addresses: Vec<SocketAddr>, history: SharedSchema) {
    let client = |number: u16| {
        let (runtime, addresses, history) = (runtime.clone(), addresses.clone(), history.clone());
        Worker {
            runtime,
            options,
            addresses,
            history,
            own: options.shared + number,
            missing: BTreeSet::new(),
            connection: None,
        }
        .run()
    };
    let clients: Vec<_> = (0..options.clients).map(|number| runtime.spawn(Group::Query, client(number))).collect();
    for client in clients {
        client.await;
    }
}

/// One client.
struct Worker {
    runtime: Runtime,
    options: SchemaOptions,
    addresses: Vec<SocketAddr>,
    history: SharedSchema,
    /// The keyspace that no other client uses.
    own: KeyspaceNumber,
    /// Keyspaces of which the last answer was that they, or a table of theirs, are missing.
    missing: BTreeSet<KeyspaceNumber>,
    connection: Option<(usize, Client)>,
}

impl Worker {
    async fn run(mut self) {
        let mut sent = 0;
        // A plan that keeps clients from changes for long has them go on when it has healed.
        while sent < self.options.statements || (sent < SENT_MAX && self.is_too_few()) {
            sent += 1;
            let pause = self.below(self.options.pause_micros.max(1));
            self.runtime.sleep(Duration::from_micros(pause)).await;
            if self.below(8) == 0 {
                self.connection = None;
            }
            let keyspace = match self.below(2) {
                0 if self.options.shared > 0 => self.below(u64::from(self.options.shared)) as KeyspaceNumber,
                _ => self.own,
            };
            let asked = self.choose(keyspace);
            self.ask(keyspace, asked).await;
        }
    }

    fn is_too_few(&self) -> bool {
        self.history.borrow().changed_count() < self.options.changes_min
    }

    fn below(&self, bound: u64) -> u64 {
        self.runtime.random_u64() % bound
    }

    fn fresh(&self) -> Tag {
        let mut history = self.history.borrow_mut();
        history.tags += 1;
        history.tags
    }

    fn choose(&self, keyspace: KeyspaceNumber) -> SchemaAsked {
        let is_conditional = self.below(2) == 0;
        let table = self.below(TABLES) as TableNumber;
        // Clients that only chance upon what is there are refused most of the time.
        let bound = if self.missing.contains(&keyspace) { 12 } else { 20 };
        let kinds = if self.options.without_tables { 7 } else { bound };
        match self.below(kinds) {
            0..4 => SchemaAsked::CreateKeyspace { if_not_exists: is_conditional },
            4 | 5 => SchemaAsked::AlterKeyspace { durable_writes: self.below(2) == 0 },
            6 => SchemaAsked::DropKeyspace { if_exists: is_conditional },
            7..12 => SchemaAsked::CreateTable { table, tag: self.fresh(), if_not_exists: is_conditional },
            12..17 => SchemaAsked::AddColumn { table, tag: self.fresh() },
            _ => SchemaAsked::DropTable { table, if_exists: is_conditional },
        }
    }

    /// Asks, and notes the answer.
    async fn ask(&mut self, keyspace: KeyspaceNumber, asked: SchemaAsked) {
        let Some((node, mut client)) = self.connect().await else { return };
        let text = statement(keyspace, &asked);
        let start = self.runtime.now().as_nanos();
        let place = self.history.borrow_mut().sent(keyspace, asked.clone(), node, start);
        let answer = self.runtime.timeout(PATIENCE, client.change(&text)).await;
        let end = self.runtime.now().as_nanos();
        let mut history = self.history.borrow_mut();
        let told = match answer {
            Ok(Ok(is_changed)) => {
                self.connection = Some((node, client));
                if is_changed { SchemaTold::Changed } else { SchemaTold::Unchanged }
            }
            Ok(Err(ClientError::Refused(error))) => {
                self.connection = Some((node, client));
                let sentence = format!("{:?}: {}", error.code(), without_digits(&error.message));
                *history.refused.entry(sentence).or_default() += 1;
                reason(&error).unwrap_or_else(|| {
                    history.violations.push(format!("{text}: no reason: {:?}: {}", error.code(), error.message));
                    SchemaTold::Nothing
                })
            }
            Ok(Err(ClientError::Malformed(what))) => {
                history.violations.push(format!("{text}: {what}"));
                SchemaTold::Nothing
            }
            Ok(Err(ClientError::Connection(_) | ClientError::Closed)) | Err(_) => SchemaTold::Nothing,
        };
        if told == SchemaTold::Missing {
            self.missing.insert(keyspace);
        } else {
            self.missing.remove(&keyspace);
        }
        history.answered(keyspace, place, told, end);
    }

    /// The connection and its node, or a new one to any node; none if that one does not answer now.
    async fn connect(&mut self) -> Option<(usize, Client)> {
        if let Some(connection) = self.connection.take() {
            return Some(connection);
        }
        let node = self.below(self.addresses.len() as u64) as usize;
        match self.runtime.timeout(PATIENCE, Client::connect(&self.runtime, self.addresses[node])).await {
            Ok(Ok(client)) => Some((node, client)),
            _ => {
                let rest = self.below(REST_MICROS);
                self.runtime.sleep(Duration::from_micros(rest)).await;
                None
            }
        }
    }
}

/// The statement's text.
fn statement(keyspace: KeyspaceNumber, asked: &SchemaAsked) -> String {
    let not = |is_conditional: &bool| if *is_conditional { "IF NOT EXISTS " } else { "" };
    let only = |is_conditional: &bool| if *is_conditional { "IF EXISTS " } else { "" };
    match asked {
        SchemaAsked::CreateKeyspace { if_not_exists } => format!(
            "CREATE KEYSPACE {}g{keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
            not(if_not_exists)
        ),
        SchemaAsked::AlterKeyspace { durable_writes } => {
            format!("ALTER KEYSPACE g{keyspace} WITH durable_writes = {durable_writes}")
        }
        SchemaAsked::DropKeyspace { if_exists } => format!("DROP KEYSPACE {}g{keyspace}", only(if_exists)),
        SchemaAsked::CreateTable { table, tag, if_not_exists } => {
            let not = not(if_not_exists);
            format!("CREATE TABLE {not}g{keyspace}.t{table} (k int PRIMARY KEY, v int) WITH comment = '{tag}'")
        }
        SchemaAsked::AddColumn { table, tag } => format!("ALTER TABLE g{keyspace}.t{table} ADD c{tag} int"),
        SchemaAsked::DropTable { table, if_exists } => format!("DROP TABLE {}g{keyspace}.t{table}", only(if_exists)),
        SchemaAsked::Look => "SELECT * FROM system_schema.keyspaces".to_owned(),
    }
}

/// A refusal as the history notes it; `None`: no client could know what it means.
fn reason(error: &ErrorBody) -> Option<SchemaTold> {
    let says = |words: &str| error.message.contains(words);
    match error.code() {
        ErrorCode::AlreadyExists => Some(SchemaTold::Exists),
        ErrorCode::Invalid if says("already exists") => Some(SchemaTold::Exists),
        ErrorCode::Invalid if says("doesn't exist") => Some(SchemaTold::Missing),
        ErrorCode::ServerError if says("may have been applied") || says("could not be made durable") => {
            Some(SchemaTold::Nothing)
        }
        ErrorCode::ServerError if says("nothing was") || says("schema changes wait") || says("changed too often") => {
            Some(SchemaTold::NothingDone)
        }
        ErrorCode::Overloaded | ErrorCode::IsBootstrapping => Some(SchemaTold::NothingDone),
        _ => None,
    }
}

/// The sentence without what differs from statement to statement.
fn without_digits(sentence: &str) -> String {
    sentence.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

const VERSION: &str = "SELECT schema_version FROM system.local WHERE key = 'local'";
const KEYSPACES: &str = "SELECT keyspace_name, durable_writes FROM system_schema.keyspaces";
const TABLES_OF_ALL: &str = "SELECT keyspace_name, table_name, comment FROM system_schema.tables";
const COLUMNS: &str = "SELECT keyspace_name, table_name, column_name FROM system_schema.columns";
/// All of `system_schema`.
const WHOLE: [&str; 11] = [
    "SELECT * FROM system_schema.aggregates",
    "SELECT * FROM system_schema.column_masks",
    "SELECT * FROM system_schema.columns",
    "SELECT * FROM system_schema.dropped_columns",
    "SELECT * FROM system_schema.functions",
    "SELECT * FROM system_schema.indexes",
    "SELECT * FROM system_schema.keyspaces",
    "SELECT * FROM system_schema.tables",
    "SELECT * FROM system_schema.triggers",
    "SELECT * FROM system_schema.types",
    "SELECT * FROM system_schema.views",
];

/// Looks at the whole schema of one node, at one version of it.
pub async fn look_at_schema(runtime: Runtime, address: SocketAddr) -> Result<SchemaView, String> {
    for _ in 0..LOOKS_MAX {
        let looking = async {
            let mut client = Client::connect(&runtime, address).await?;
            let before = client.rows(VERSION, PAGE_ROWS).await?;
            let mut view = SchemaView { version: shown(&before), ..SchemaView::default() };
            read_names(&mut client, &mut view).await?;
            for text in WHOLE {
                let table = text.rsplit('.').next().unwrap_or_default();
                let rows = client.rows(text, PAGE_ROWS).await?;
                view.rows.extend(rows.iter().map(|row| format!("{table}: {}", shown(std::slice::from_ref(row)))));
            }
            let is_still = client.rows(VERSION, PAGE_ROWS).await? == before;
            Ok::<_, ClientError>(is_still.then_some(view))
        };
        match runtime.timeout(PATIENCE, looking).await {
            Ok(Ok(Some(view))) => return Ok(view),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => return Err(error.to_string()),
            Err(elapsed) => return Err(elapsed.to_string()),
        }
    }
    Err(format!("the schema changed during each of {LOOKS_MAX} looks"))
}

async fn read_names(client: &mut Client, view: &mut SchemaView) -> Result<(), ClientError> {
    for row in client.rows(KEYSPACES, PAGE_ROWS).await? {
        let Some(keyspace) = numbered(&row, 0, 'g') else { continue };
        let durable_writes = row.get(1).and_then(Option::as_deref) == Some(&[1][..]);
        let state = KeyspaceState { durable_writes, ..KeyspaceState::default() };
        if view.keyspaces.insert(keyspace, state).is_some() {
            view.odd.push(format!("keyspace g{keyspace} is there twice"));
        }
    }
    for row in client.rows(TABLES_OF_ALL, PAGE_ROWS).await? {
        let Some(keyspace) = numbered(&row, 0, 'g') else { continue };
        let made_by = text(&row, 2).parse().ok();
        let place = view.keyspaces.get_mut(&keyspace).zip(numbered(&row, 1, 't')).zip(made_by);
        let Some(((state, table), made_by)) = place else {
            view.odd.push(format!("a table that no statement makes: {}", shown(&[row])));
            continue;
        };
        let columns = Default::default();
        if state.tables.insert(table, TableState { made_by, columns }).is_some() {
            view.odd.push(format!("table g{keyspace}.t{table} is there twice"));
        }
    }
    for row in client.rows(COLUMNS, PAGE_ROWS).await? {
        let Some(keyspace) = numbered(&row, 0, 'g') else { continue };
        if ["k", "v"].contains(&text(&row, 2).as_str()) {
            continue;
        }
        let table = view.keyspaces.get_mut(&keyspace).zip(numbered(&row, 1, 't'));
        let table = table.and_then(|(state, table)| state.tables.get_mut(&table));
        match table.zip(numbered(&row, 2, 'c')) {
            Some((table, tag)) => {
                table.columns.insert(tag);
            }
            None => view.odd.push(format!("a column that no statement adds: {}", shown(&[row]))),
        }
    }
    Ok(())
}

fn text(row: &Row, at: usize) -> String {
    row.get(at).and_then(Option::as_deref).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
}

/// The number of a name that is a letter and a number.
fn numbered<T: std::str::FromStr>(row: &Row, at: usize, letter: char) -> Option<T> {
    text(row, at).strip_prefix(letter)?.parse().ok()
}

/// Rows as text: of each value what can be read, and of other bytes their numbers.
fn shown(rows: &[Row]) -> String {
    let value = |value: &Option<Vec<u8>>| match value {
        None => "null".to_owned(),
        Some(bytes) if bytes.iter().all(|byte| (32..127).contains(byte)) => String::from_utf8_lossy(bytes).into_owned(),
        Some(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    let row = |row: &Row| row.iter().map(value).collect::<Vec<_>>().join(" | ");
    rows.iter().map(row).collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use cql_protocol::ErrorKind;

    use super::*;

    #[test]
    fn refusals_have_a_reason_that_a_client_can_know() {
        let known = |kind: ErrorKind, message: &str| reason(&ErrorBody::new(kind, message));
        assert_eq!(known(ErrorKind::Invalid, "Keyspace 'g1' doesn't exist"), Some(SchemaTold::Missing));
        assert_eq!(known(ErrorKind::Invalid, "Column with name 'c7' already exists"), Some(SchemaTold::Exists));
        let no_leader = "the cluster's metadata has no leader; nothing was changed.";
        assert_eq!(known(ErrorKind::ServerError, no_leader), Some(SchemaTold::NothingDone));
        let late = "no answer in time; the change may have been applied, or may be yet";
        assert_eq!(known(ErrorKind::ServerError, late), Some(SchemaTold::Nothing));
        assert_eq!(known(ErrorKind::ServerError, "internal error"), None);
        assert_eq!(known(ErrorKind::Invalid, "Unknown property"), None);
    }

    #[test]
    fn names_are_read_and_foreign_ones_left_out() {
        let row: Row = vec![Some(b"g12".to_vec()), None, Some(vec![0, 255])];
        assert_eq!(numbered::<KeyspaceNumber>(&row, 0, 'g'), Some(12));
        assert_eq!(numbered::<KeyspaceNumber>(&row, 0, 't'), None);
        assert_eq!(numbered::<KeyspaceNumber>(&vec![Some(b"group".to_vec())], 0, 'g'), None);
        assert_eq!(shown(&[row]), "g12 | null | 00ff");
        assert_eq!(without_digits("Table 'g1.t20' doesn't exist"), "Table 'g.t' doesn't exist");
    }
}
