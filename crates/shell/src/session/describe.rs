//! DESCRIBE: the server's rows, laid out.

use cql_types::CqlType;

use crate::command::Described;
use crate::format::columnize;
use crate::output::Output;
use crate::server::Found;

/// Prints an answer to DESCRIBE; `has_keyspace`: names are of the session's, which needs no title.
pub(super) fn print(found: &Found, described: Described, has_keyspace: bool, output: &mut Output) {
    let mut printer = Printer { output, has_keyspace };
    match described {
        Described::Keyspaces => printer.keyspaces(found),
        Described::Names => printer.names(found),
        Described::Cluster => printer.cluster(found),
        Described::Statements => printer.statements(found),
    }
}

struct Printer<'o> {
    output: &'o mut Output,
    has_keyspace: bool,
}

impl Printer<'_> {
    fn keyspaces(&mut self, found: &Found) {
        let names: Vec<String> = (0..found.rows.len()).map(|row| found.text(row, "name")).collect();
        self.output.print(&format!("\n{}\n", columnize(&names)));
    }

    fn names(&mut self, found: &Found) {
        let mut row = 0;
        while row < found.rows.len() {
            let keyspace = found.text(row, "keyspace_name");
            let mut names = Vec::new();
            while row < found.rows.len() && found.text(row, "keyspace_name") == keyspace {
                names.push(found.text(row, "name"));
                row += 1;
            }
            self.output.print("\n");
            if !self.has_keyspace {
                self.output.say(&format!("Keyspace {keyspace}\n---------{}", "-".repeat(keyspace.chars().count())));
            }
            self.output.print(&columnize(&names));
        }
        if row > 0 {
            self.output.print("\n");
        }
    }

    fn statements(&mut self, found: &Found) {
        for row in 0..found.rows.len() {
            self.output.described(&format!("\n{}\n", found.text(row, "create_statement")));
        }
    }

    fn cluster(&mut self, found: &Found) {
        for row in 0..found.rows.len() {
            let text = |name| found.text(row, name);
            let (cluster, partitioner, snitch) = (text("cluster"), text("partitioner"), text("snitch"));
            self.output.say(&format!("\nCluster: {cluster}\nPartitioner: {partitioner}\nSnitch: {snitch}\n"));
            let Some(owned) = found.bytes(row, "range_ownership") else { continue };
            self.output.say("Range ownership:");
            for (token, hosts) in ranges(owned) {
                self.output.say(&format!(" {token:>39}  [{}]", hosts.join(", ")));
            }
            self.output.print("\n");
        }
    }
}

/// A map of text to lists of text.
fn ranges(map: &[u8]) -> Vec<(String, Vec<String>)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let list = CqlType::List { element: Box::new(CqlType::Text), frozen: true };
    let ty = CqlType::Map { key: Box::new(CqlType::Text), value: Box::new(list.clone()), frozen: true };
    let parts: Vec<&[u8]> = cql_types::parts_of_collection(&ty, map).collect();
    let hosts = |value| cql_types::parts_of_collection(&list, value).map(text).collect();
    parts.chunks_exact(2).map(|entry| (text(entry[0]), hosts(entry[1]))).collect()
}
