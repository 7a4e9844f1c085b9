//! `enableautocompaction`, `disableautocompaction`, `statusautocompaction`.

use serde::Serialize;

use crate::answers::Table;
use crate::arguments::{StatusAutoCompaction, Tables};
use crate::error::ToolError;
use crate::layout::Columns;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

pub(super) fn turn(arguments: &Tables, on: bool, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let path = "/storage_service/auto_compaction";
    let request = if on { Request::post(path) } else { Request::delete(path) };
    let keyspaces = match &arguments.keyspace {
        Some(keyspace) => vec![keyspace.clone()],
        None => node.get(Request::get("/storage_service/keyspaces").with("type", "all"))?,
    };
    for keyspace in &keyspaces {
        node.order(request.clone().of(keyspace).with_names("cf", &arguments.tables))?;
    }
    Ok(Answer::nothing())
}

#[derive(Serialize)]
struct Status {
    status: &'static str,
    tables: Vec<TableStatus>,
    #[serde(skip)]
    each: bool,
}

#[derive(Serialize)]
struct TableStatus {
    keyspace: String,
    table: String,
    running: bool,
}

pub(super) fn status(arguments: &StatusAutoCompaction, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let Tables { keyspace, tables: wanted } = &arguments.tables;
    let request = match keyspace {
        None => Request::get("/helenus/tables"),
        Some(keyspace) => Request::get("/helenus/tables").with("keyspace", keyspace),
    };
    let figures: Vec<Table> = node.get(request)?;
    if let Some(unknown) = wanted.iter().find(|name| !figures.iter().any(|figure| figure.table == **name)) {
        return Err(ToolError::usage(format!("Unknown table: {unknown}")));
    }
    let tables: Vec<TableStatus> = figures
        .into_iter()
        .filter(|figure| wanted.is_empty() || wanted.contains(&figure.table))
        .filter_map(|figure| {
            let running = figure.is_autocompaction_on?;
            Some(TableStatus { keyspace: figure.keyspace, table: figure.table, running })
        })
        .collect();
    let running = tables.iter().filter(|table| table.running).count();
    let status = match running {
        _ if running == tables.len() => "running",
        0 => "not running",
        _ => "partially running",
    };
    Ok(Answer::of(&Status { status, tables, each: arguments.all }))
}

impl Report for Status {
    fn text(&self) -> String {
        if !self.each {
            return format!("{}\n", self.status);
        }
        let mut columns = Columns::new(" ");
        columns.row(["Keyspace", "Table", "Status"]);
        for table in &self.tables {
            columns.row([&table.keyspace, &table.table, if table.running { "running" } else { "not running" }]);
        }
        columns.text("")
    }
}
