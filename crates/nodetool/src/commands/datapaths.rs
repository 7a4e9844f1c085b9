//! `datapaths`: the directories of tables.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::answers::Table;
use crate::arguments::DataPaths as Arguments;
use crate::error::ToolError;
use crate::report::{Answer, Format, Report, json, yaml};
use crate::surroundings::{Request, Surroundings};

use super::{cql, tablestats};

const FOLDER: &str = "SELECT value FROM system_views.settings WHERE name = 'data_file_directories'";

/// The paths of each table of each keyspace.
#[derive(Serialize)]
#[serde(transparent)]
struct DataPaths(BTreeMap<String, BTreeMap<String, Vec<String>>>);

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let format = Format::of(arguments.format.as_deref())?;
    let mut tables: Vec<Table> = node.get(Request::get("/helenus/tables"))?;
    tablestats::choose(&mut tables, &arguments.names, false)?;
    let settings = cql::rows(FOLDER, node)?;
    let folder = settings.first().and_then(|row| row.get("value"));
    let Some(folder) = folder.map(|list| list.trim_start_matches('[').trim_end_matches(']')) else {
        return Err(ToolError::Garbled {
            request: FOLDER.to_owned(),
            reason: "the node tells no data directory".to_owned(),
        });
    };
    let mut paths = DataPaths(BTreeMap::new());
    for Table { keyspace, table, id, .. } in tables {
        let Some(id) = id else { continue };
        let path = format!("{folder}/data/{keyspace}/{table}-{}", id.replace('-', ""));
        paths.0.entry(keyspace).or_default().insert(table, vec![path]);
    }
    let text = match format {
        Format::Text => paths.text(),
        Format::Json => json(&paths),
        Format::Yaml => yaml(&paths),
    };
    Ok(Answer { text, json: json(&paths) })
}

impl Report for DataPaths {
    fn text(&self) -> String {
        let of_table = |(table, paths): (&String, &Vec<String>)| {
            let paths: String = paths.iter().map(|path| format!("\t\t{path}\n")).collect();
            format!("\tTable: {table}\n\tPaths:\n{paths}\n")
        };
        let of_keyspace = |(keyspace, tables): (&String, &BTreeMap<String, Vec<String>>)| {
            format!("Keyspace: {keyspace}\n{}", tables.iter().map(of_table).collect::<String>())
        };
        self.0.iter().map(of_keyspace).collect::<Vec<_>>().join("----------------\n")
    }
}
