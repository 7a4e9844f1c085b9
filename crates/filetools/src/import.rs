//! `helenus sstable import`: a table's folder, of any version that is read, sent to a running server as statements.
//!
//! The server is Helenus or Cassandra 4 or later, and has the table. Timestamps, ttls and the seconds at which things expire or were deleted stay
//! what they were, so that importing a folder twice is importing it once; but elements of lists get new ids, so that lists are appended
//! to each time. Counters cannot be imported: their increments have no timestamps.

mod connection;
mod lane;
mod progress;
mod roles;
mod server;
mod statements;

use std::path::Path;

use cql_types::CqlType;
use runtime::Runtime;
use schema::{Column, ColumnKind, Table, TableId, TableOptions};

use crate::arguments::ImportArguments;
use crate::error::ToolError;
use crate::files::{Files, table_of};
use crate::import::connection::Connection;
use crate::import::lane::{Lane, Lanes, Piece};
use crate::import::progress::Progress;
use crate::import::server::Server;
use crate::import::statements::Statements;
use crate::verify::{Sstables, sstables_at, verify};

pub use roles::read_roles;

/// Sends all of the folder, when all of it can be.
pub(crate) async fn run(runtime: &Runtime, arguments: &ImportArguments) -> Result<(), ToolError> {
    let (keyspace, name) = target(arguments)?;
    let sstables = sstables_at(runtime, &arguments.folder).await?;
    let access = arguments.access.resolve(runtime).await?;
    let mut connection = Connection::open(runtime, arguments.node, &access).await?;
    let server = Server::ask(&mut connection, &keyspace, &name).await?;
    let found = check_all(runtime, sstables, &server).await?;
    let mut tables: Vec<(Table, Vec<Lane>)> = Vec::new();
    for files in &found {
        let of_header = table_of(&files.statistics().await?.header);
        // SSTables of before and after an ALTER do not have the same columns: ids are given by name, for all of them.
        if tables.is_empty() {
            tables.push((server.named(&of_header, &files.path(sstable::Component::Data))?, Vec::new()));
        }
        let (table, _) = &mut tables[0];
        *table = with_columns_of(table, &of_header);
    }
    let Some((table, mut lanes)) = tables.pop() else { return Ok(()) };
    for files in found {
        let header = files.statistics().await?.header;
        let reader = files.reader(&header, &table)?;
        let path = files.path(sstable::Component::Data);
        lanes.push(Lane::new(files.data().await?, reader, path, &table).await?);
    }
    let target = format!("{}.{}", cql_syntax::quote_identifier(&keyspace), cql_syntax::quote_identifier(&name));
    let is_known = Box::new(|column: &str| server.has(column));
    send(runtime, connection, &table, Statements::new(&table, target, is_known), Lanes::new(lanes)).await
}

/// Checks the files before any row is sent, names those that cannot be imported, and fails if there are any: a half of a table would be taken for all of
/// it.
async fn check_all(runtime: &Runtime, sstables: Sstables, server: &Server) -> Result<Vec<Files>, ToolError> {
    let Sstables { found, unreadable } = sstables;
    let (all, mut refused) = (found.len() + unreadable.len(), unreadable);
    for files in &found {
        refused.extend(check(runtime, files, server).await.err());
    }
    if refused.is_empty() {
        return Ok(found);
    }
    Err(ToolError::RefusedFiles { refused: refused.iter().map(ToString::to_string).collect(), all })
}

async fn check(runtime: &Runtime, files: &Files, server: &Server) -> Result<(), ToolError> {
    files.check_components().await?;
    let header = files.statistics().await?.header;
    let path = files.path(sstable::Component::Data);
    if header.statics.iter().chain(&header.regulars).any(|column| column.ty == CqlType::Counter) {
        return Err(ToolError::Counters { path });
    }
    server.named(&table_of(&header), &path)?;
    server.check_types(header).map_err(|source| ToolError::Unfit { path, source })?;
    verify(runtime, files).await.map(drop)
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
        println!("{} cells skipped: the server's table lacks their columns", statements.left_out);
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
