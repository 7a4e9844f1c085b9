//! `clientstats`: the clients that are connected, by user, each one, or by the version of the protocol.
//!
//! The facts are the rows of `system_views.clients`. No history is kept, so that the versions of the protocol are those of the clients that are connected.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::arguments::ClientStats as Arguments;
use crate::error::ToolError;
use crate::layout::Columns;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

use super::cql::{self, Row};

const CLIENTS: &str = "SELECT * FROM system_views.clients";
/// The driver of the connection that the statement itself comes by.
const OWN_DRIVER: &str = "Helenus console";
/// Cassandra's word for what a client has not said.
const UNDEFINED: &str = "undefined";

#[derive(Serialize)]
struct Connection {
    address: String,
    ssl: bool,
    cipher: Option<String>,
    protocol: Option<String>,
    version: Option<String>,
    user: String,
    keyspace: Option<String>,
    requests: String,
    driver_name: Option<String>,
    driver_version: Option<String>,
    client_options: BTreeMap<String, String>,
    #[serde(skip)]
    host: String,
}

#[derive(Serialize)]
struct Clients {
    total: usize,
    by_user: BTreeMap<String, usize>,
    connections: Vec<Connection>,
    #[serde(skip)]
    lists: bool,
    #[serde(skip)]
    with_options: bool,
}

#[derive(Serialize)]
struct ByProtocol {
    clients_by_protocol_version: BTreeSet<(String, String)>,
}

#[derive(Serialize)]
struct NoHistory {
    is_kept: bool,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    if arguments.clear_history {
        // Asked of the node, so that one that cannot be reached is an error.
        node.get::<String>(Request::get("/storage_service/release_version"))?;
        return Ok(Answer::of(&NoHistory { is_kept: false }));
    }
    let mut rows = cql::rows(CLIENTS, node)?;
    if let Some(own) = rows.iter().position(|row| row.get("driver_name").is_some_and(|name| name == OWN_DRIVER)) {
        rows.remove(own);
    }
    let connections: Vec<Connection> = rows.into_iter().map(Connection::of).collect();
    if arguments.by_protocol {
        let pair = |client: &Connection| Some((client.version.clone()?, client.host.clone()));
        return Ok(Answer::of(&ByProtocol {
            clients_by_protocol_version: connections.iter().filter_map(pair).collect(),
        }));
    }
    let mut by_user = BTreeMap::new();
    for connection in &connections {
        *by_user.entry(connection.user.clone()).or_insert(0) += 1;
    }
    Ok(Answer::of(&Clients {
        total: connections.len(),
        by_user,
        connections,
        lists: arguments.all || arguments.client_options,
        with_options: arguments.client_options,
    }))
}

impl Connection {
    fn of(mut row: Row) -> Connection {
        let host = row.remove("address").unwrap_or_default();
        let port = row.remove("port").unwrap_or_default();
        Connection {
            // Java's form of an address without a name, as Cassandra prints it.
            address: if host.contains(':') { format!("/[{host}]:{port}") } else { format!("/{host}:{port}") },
            ssl: row.remove("ssl_enabled").is_some_and(|enabled| enabled == "true"),
            cipher: row.remove("ssl_cipher_suite"),
            protocol: row.remove("ssl_protocol"),
            version: row.remove("protocol_version"),
            user: row.remove("username").unwrap_or_else(|| UNDEFINED.to_owned()),
            keyspace: row.remove("keyspace_name"),
            requests: row.remove("request_count").unwrap_or_else(|| "?".to_owned()),
            driver_name: row.remove("driver_name"),
            driver_version: row.remove("driver_version"),
            client_options: row.remove("client_options").map(|map| cql::pairs(&map)).unwrap_or_default(),
            host,
        }
    }

    fn cells(&self) -> [String; 11] {
        let or_undefined = |text: &Option<String>| text.clone().unwrap_or_else(|| UNDEFINED.to_owned());
        let options: Vec<String> = self.client_options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        [
            self.address.clone(),
            self.ssl.to_string(),
            or_undefined(&self.cipher),
            or_undefined(&self.protocol),
            or_undefined(&self.version),
            self.user.clone(),
            self.keyspace.clone().unwrap_or_default(),
            self.requests.clone(),
            or_undefined(&self.driver_name),
            or_undefined(&self.driver_version),
            options.join(", "),
        ]
    }
}

impl Report for Clients {
    fn text(&self) -> String {
        let mut text = String::new();
        if self.lists && !self.connections.is_empty() {
            let names = [
                "Address",
                "SSL",
                "Cipher",
                "Protocol",
                "Version",
                "User",
                "Keyspace",
                "Requests",
                "Driver-Name",
                "Driver-Version",
                "Client-Options",
            ];
            let mut columns = Columns::new(" ");
            let mut row = |cells: [&str; 11]| match self.with_options {
                true => columns.row(cells),
                false => columns.row::<10>(std::array::from_fn(|column| cells[column])),
            };
            row(names);
            for connection in &self.connections {
                row(connection.cells().each_ref().map(String::as_str));
            }
            text += &columns.text("");
            text.push('\n');
        }
        text += &format!("Total connected clients: {}\n\n", self.total);
        let mut columns = Columns::new(" ");
        columns.row(["User", "Connections"]);
        for (user, count) in &self.by_user {
            columns.row([user, &count.to_string()]);
        }
        text + &columns.text("")
    }
}

impl Report for ByProtocol {
    fn text(&self) -> String {
        let mut text = "Clients by protocol version\n\n".to_owned();
        if self.clients_by_protocol_version.is_empty() {
            return text;
        }
        let mut columns = Columns::new(" ");
        columns.row(["Protocol-Version", "IP-Address", "Last-Seen"]);
        for (version, host) in &self.clients_by_protocol_version {
            // They are connected; when each sent its last request is not kept.
            columns.row([&format!("{version}/v{version}"), host, "?"]);
        }
        text += &columns.text("");
        text + "\n"
    }
}

impl Report for NoHistory {
    fn text(&self) -> String {
        "No history of clients is kept: there is nothing to clear\n".to_owned()
    }
}
