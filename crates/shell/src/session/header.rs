//! Names of columns in the colours of their kinds.

use std::collections::BTreeMap;

use cql_protocol::{Consistency, Rows};

use crate::format::{self, Colour, Shown, Style};
use crate::server::Server;

/// The kinds of columns of tables that were shown, by keyspace and table.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    tables: BTreeMap<(String, String), BTreeMap<String, String>>,
}

impl Kinds {
    /// The names over a page.
    pub(super) fn names(&mut self, server: &mut Server, rows: &Rows<'_>, style: &Style) -> Vec<Shown> {
        let table = rows.columns.first().map(|column| (column.keyspace.clone(), column.table.clone()));
        let kinds = match (style.is_coloured, table) {
            (true, Some(table)) => self.of(server, table),
            _ => BTreeMap::new(),
        };
        let colour = |name: &str| match kinds.get(name).map(String::as_str) {
            Some("partition_key") => Colour::Red,
            Some("clustering") => Colour::Cyan,
            Some("static") => Colour::White,
            _ => Colour::Magenta,
        };
        rows.columns.iter().map(|column| format::name(&column.name, colour(&column.name), style)).collect()
    }

    /// Columns and their kinds. A table whose kinds cannot be had has none, and its names one colour.
    fn of(&mut self, server: &mut Server, table: (String, String)) -> BTreeMap<String, String> {
        if let Some(kinds) = self.tables.get(&table) {
            return kinds.clone();
        }
        let text = format!(
            "SELECT column_name, kind FROM system_schema.columns WHERE keyspace_name = '{}' AND table_name = '{}'",
            table.0.replace('\'', "''"),
            table.1.replace('\'', "''")
        );
        let found = server.rows(&text, Consistency::One).unwrap_or_default();
        let kinds: BTreeMap<String, String> =
            (0..found.rows.len()).map(|row| (found.text(row, "column_name"), found.text(row, "kind"))).collect();
        self.tables.insert(table, kinds.clone());
        kinds
    }
}
