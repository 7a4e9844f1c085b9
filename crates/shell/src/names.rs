//! Names of the server's schema for completion, asked for when they are needed and kept until the schema changes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use cql_protocol::Consistency;

use crate::completion::Names;
use crate::server::Server;

/// Names that were asked for.
pub(crate) struct CachedNames {
    server: Rc<RefCell<Server>>,
    /// By statement.
    known: BTreeMap<String, Vec<String>>,
    /// The schema changes of the session when they were asked for.
    as_of: u64,
}

impl CachedNames {
    pub(crate) fn new(server: Rc<RefCell<Server>>) -> CachedNames {
        CachedNames { server, known: BTreeMap::new(), as_of: 0 }
    }

    /// The first column of a statement's rows; none, if it fails: a completion is no place for errors.
    fn ask(&mut self, text: String) -> Vec<String> {
        let mut server = self.server.borrow_mut();
        if server.schema_changes != self.as_of {
            self.as_of = server.schema_changes;
            self.known.clear();
        }
        if let Some(names) = self.known.get(&text) {
            return names.clone();
        }
        let Ok(found) = server.rows(&text, Consistency::One) else { return Vec::new() };
        let column = found.columns.first().map(|column| column.name.clone()).unwrap_or_default();
        let names: Vec<String> = (0..found.rows.len()).map(|row| found.text(row, &column)).collect();
        self.known.insert(text, names.clone());
        names
    }
}

impl Names for CachedNames {
    fn keyspace(&self) -> Option<String> {
        self.server.borrow().keyspace().map(str::to_owned)
    }

    fn keyspaces(&mut self) -> Vec<String> {
        self.ask("SELECT keyspace_name FROM system_schema.keyspaces".to_owned())
    }

    fn tables(&mut self, keyspace: &str) -> Vec<String> {
        let keyspace = keyspace.replace('\'', "''");
        self.ask(format!("SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{keyspace}'"))
    }

    fn columns(&mut self, keyspace: &str, table: &str) -> Vec<String> {
        let (keyspace, table) = (keyspace.replace('\'', "''"), table.replace('\'', "''"));
        self.ask(format!(
            "SELECT column_name FROM system_schema.columns WHERE keyspace_name = '{keyspace}' AND table_name = '{table}'"
        ))
    }
}
