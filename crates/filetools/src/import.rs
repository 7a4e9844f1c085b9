//! `helenus sstable import`: a table's folder, of any version that is read, sent to a running server as statements.
//!
//! The server is Helenus or Cassandra 4 or later, and has the table. Timestamps, ttls and the seconds at which things expire or were deleted stay
//! what they were, so that importing a folder twice is importing it once; but elements of lists get new ids, so that lists are appended
//! to each time. Counters cannot be imported: their increments have no timestamps.

mod connection;
mod lane;
mod progress;
mod statements;

use std::collections::BTreeMap;
use std::path::Path;

use cql_types::CqlType;
use runtime::Runtime;
use schema::{Column, ColumnKind, Table, TableId, TableOptions};

use crate::arguments::ImportArguments;
use crate::error::ToolError;
use crate::files::table_of;
use crate::import::connection::Connection;
use crate::import::lane::{Lane, Lanes, Piece};
use crate::import::progress::Progress;
use crate::import::statements::Statements;
use crate::verify::sstables_at;

/// Sends all of the folder.
pub(crate) async fn run(runtime: &Runtime, arguments: &ImportArguments) -> Result<(), ToolError> {
    let (keyspace, name) = target(arguments)?;
    let files = sstables_at(runtime, &arguments.folder).await?;
    let mut connection = Connection::open(runtime, arguments.node).await?;
    let server = Server::ask(&mut connection, &keyspace, &name).await?;
    let mut tables: Vec<(Table, Vec<Lane>)> = Vec::new();
    for files in files {
        let path = files.path(sstable::Component::Data);
        let header = files.statistics().await?.header;
        if header.statics.iter().chain(&header.regulars).any(|column| column.ty == CqlType::Counter) {
            return Err(ToolError::Counters { path });
        }
        let of_header = table_of(&header);
        // SSTables of before and after an ALTER do not have the same columns: ids are given by name, for all of them.
        if tables.is_empty() {
            tables.push((server.named(&of_header, &path)?, Vec::new()));
        }
        let (table, _) = &mut tables[0];
        *table = with_columns_of(table, &of_header);
    }
    let Some((table, mut lanes)) = tables.pop() else { return Ok(()) };
    for files in sstables_at(runtime, &arguments.folder).await? {
        let header = files.statistics().await?.header;
        let reader = files.reader(&header, &table)?;
        let path = files.path(sstable::Component::Data);
        lanes.push(Lane::new(files.data().await?, reader, path, &table).await?);
    }
    let target = format!("{}.{}", cql_syntax::quote_identifier(&keyspace), cql_syntax::quote_identifier(&name));
    let is_known = Box::new(|column: &str| server.columns.contains_key(column));
    send(runtime, connection, &table, Statements::new(&table, target, is_known), Lanes::new(lanes)).await
}

async fn send(
    runtime: &Runtime,
    mut connection: Connection,
    table: &Table,
    mut statements: Statements<'_>,
    mut lanes: Lanes,
) -> Result<(), ToolError> {
    let mut progress = Progress::new(runtime);
    let (mut rows, mut writes) = (0, 0);
    let read = |lanes: &Lanes| {
        let both = |sum: (u64, u64), lane: &Lane| (sum.0 + lane.progress().0, sum.1 + lane.progress().1);
        lanes.lanes.iter().fold((0, 0), both)
    };
    while let Some(piece) = lanes.next(table).await? {
        rows += u64::from(matches!(piece, Piece::Row { .. }));
        let path = || lanes.lanes[0].path.clone();
        for write in statements.of(&piece).map_err(|what| ToolError::NoStatement { path: path(), what })? {
            connection.write(&write).await?;
            writes += 1;
        }
        progress.show(read(&lanes), rows);
    }
    connection.settle().await?;
    println!("{}", progress.end(read(&lanes).1, rows, writes));
    if statements.left_out > 0 {
        println!(
            "{} cells are of columns that the server's table does not have, and were left out",
            statements.left_out
        );
    }
    Ok(())
}

/// The keyspace and the table: as given, or as the folders are called.
fn target(arguments: &ImportArguments) -> Result<(String, String), ToolError> {
    let unnamed = || ToolError::Unnamed { path: arguments.folder.clone() };
    let folder = std::path::absolute(&arguments.folder).map_err(ToolError::read(&arguments.folder))?;
    let name = |path: Option<&Path>| path.and_then(Path::file_name).and_then(|name| name.to_str()).map(str::to_owned);
    let table = match &arguments.table {
        Some(table) => table.clone(),
        None => {
            let name = name(Some(&folder)).ok_or_else(unnamed)?;
            // A server's folder is called as the table, a hyphen, and its id.
            name.rsplit_once('-').map_or(name.clone(), |(table, _)| table.to_owned())
        }
    };
    let keyspace = match &arguments.keyspace {
        Some(keyspace) => keyspace.clone(),
        None => name(folder.parent()).ok_or_else(unnamed)?,
    };
    Ok((keyspace, table))
}

/// What the server says of its table.
struct Server {
    name: String,
    /// Kind and position of each column.
    columns: BTreeMap<String, (String, i32)>,
}

impl Server {
    async fn ask(connection: &mut Connection, keyspace: &str, table: &str) -> Result<Server, ToolError> {
        let quoted = |name: &str| format!("'{}'", name.replace('\'', "''"));
        let text = format!(
            "SELECT column_name, kind, position FROM system_schema.columns WHERE keyspace_name = {} AND table_name = {}",
            quoted(keyspace),
            quoted(table)
        );
        let mut columns = BTreeMap::new();
        for row in connection.rows(&text).await? {
            let [Some(name), Some(kind), Some(position)] = &row[..] else { continue };
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let position = position.as_slice().try_into().map_or(0, i32::from_be_bytes);
            columns.insert(text(name), (text(kind), position));
        }
        let name = format!("{keyspace}.{table}");
        if columns.is_empty() { Err(ToolError::NoTable { name }) } else { Ok(Server { name, columns }) }
    }

    /// The files' table with the server's names of its key.
    fn named(&self, of_header: &Table, path: &Path) -> Result<Table, ToolError> {
        let mut columns = of_header.columns().to_vec();
        for column in columns.iter_mut().filter(|column| column.kind.is_key()) {
            let kind = column.kind.name();
            let place = i32::from(column.position);
            let found = self.columns.iter().find(|(_, known)| (known.0.as_str(), known.1) == (kind, place));
            let (name, _) = found.ok_or_else(|| ToolError::OtherKey { path: path.into(), name: self.name.clone() })?;
            column.name.clone_from(name);
        }
        Ok(table_with(columns))
    }
}

/// The table with the other one's columns beside its own.
fn with_columns_of(table: &Table, other: &Table) -> Table {
    let mut columns = table.columns().to_vec();
    for column in other.statics().iter().chain(other.regulars()) {
        if table.column(&column.name).is_none() {
            let id = schema::ColumnId(columns.len() as u16);
            columns.push(Column { id, ..column.clone() });
        }
    }
    table_with(columns)
}

/// A table of these columns, with ids in the order of their names within their kinds.
fn table_with(mut columns: Vec<Column>) -> Table {
    let place = |column: &Column| match column.kind {
        ColumnKind::PartitionKey => 0,
        ColumnKind::Clustering => 1,
        ColumnKind::Static => 2,
        ColumnKind::Regular => 3,
    };
    columns.sort_by(|a, b| (place(a), a.position, &a.name).cmp(&(place(b), b.position, &b.name)));
    for (id, column) in (0..).zip(&mut columns) {
        column.id = schema::ColumnId(id);
    }
    Table::new(TableId([0; 16]), "", "", columns, TableOptions::default())
}
