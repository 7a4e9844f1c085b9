//! A script's run on one server: an empty keyspace, then block after block.
//!
//! Where clients log in, a script begins with no role but the first superuser. A block is that superuser's unless it says who asks.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cql_protocol::{Consistency, Query, QueryParams, Request, Response, ResultBody, Version};

use crate::oracle::client::{CLOSED, Client, Reply};
use crate::oracle::request;
use crate::oracle::script::{Block, Script};
use crate::oracle::show::{self, Mask};

/// The keyspace that a script finds in use.
const KEYSPACE: &str = "ks";
/// The version in which a script speaks unless it says otherwise.
const VERSION: Version = Version::V5;
/// The longest time that an index of a script's few rows takes to be built, and the time between two looks at it.
const BUILD_TIME_MAX: Duration = Duration::from_secs(60);
const BUILD_LOOK: Duration = Duration::from_millis(10);
/// The first superuser where clients log in, which is its password too: that of a Cassandra that was never told otherwise.
pub const SUPERUSER: &str = "cassandra";

/// Connections to one server, one for each version and role that was asked for.
pub struct Session {
    address: String,
    /// In use on each connection.
    keyspace: String,
    /// Clients log in.
    is_guarded: bool,
    clients: BTreeMap<(Version, String), Client>,
    /// The script that ran last.
    last: String,
    /// How answers name the nodes.
    pub names: Names,
}

/// The names of a ring's nodes in place of their addresses, which differ from run to run.
#[derive(Clone, Debug, Default)]
pub struct Names(Vec<(String, String)>);

impl Names {
    /// `node1`, `node2` and so on, by the nodes' addresses.
    pub fn of(addresses: &[String]) -> Names {
        Names(addresses.iter().zip(1..).map(|(address, number)| (address.clone(), format!("node{number}"))).collect())
    }

    /// A statement as it is sent: a node's address for its name in quotes.
    pub fn sent(&self, text: &str) -> String {
        self.0
            .iter()
            .fold(text.to_string(), |text, (address, name)| text.replace(&format!("'{name}'"), &format!("'{address}'")))
    }

    /// A line as it is shown: a node's name for its address, and for its address with a port.
    pub fn shown(&self, line: &str) -> String {
        let mut line = line.to_string();
        for (address, name) in &self.0 {
            let mut pieces = line.split(address.as_str());
            let mut shown = pieces.next().unwrap_or_default().to_string();
            for piece in pieces {
                shown.push_str(name);
                let without = piece.strip_prefix(':').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
                shown.push_str(without.unwrap_or(piece));
            }
            line = shown;
        }
        line
    }
}

impl Session {
    /// No connection yet.
    pub fn new(address: &str) -> Session {
        Session {
            address: address.into(),
            keyspace: KEYSPACE.into(),
            is_guarded: false,
            clients: BTreeMap::new(),
            last: String::new(),
            names: Names::default(),
        }
    }

    /// No connection yet, to a server at which clients log in.
    pub fn guarded(address: &str) -> Session {
        Session { is_guarded: true, ..Session::new(address) }
    }

    /// With that keyspace in use on each connection, which is there already.
    pub fn of_keyspace(address: &str, keyspace: &str) -> Session {
        Session { keyspace: keyspace.into(), ..Session::new(address) }
    }

    /// Runs the script; the lines that each block was answered with, none for comments.
    pub fn run(&mut self, script: &Script) -> Result<Vec<Vec<String>>, String> {
        self.begin()?;
        self.last = script.name();
        let mut answers = Vec::with_capacity(script.blocks.len());
        for block in &script.blocks {
            answers.push(self.run_one(script, block)?);
        }
        Ok(answers)
    }

    /// Runs one block of the script; no lines for a comment.
    pub fn run_one(&mut self, script: &Script, block: &Block) -> Result<Vec<String>, String> {
        let mut answer = if block.is_comment() { Ok(Vec::new()) } else { request::run(self, block) };
        if answer.as_ref().is_err_and(|message| message.contains(CLOSED)) {
            // That is an answer too. The next block has a new connection.
            self.clients.clear();
            answer = Ok(vec!["the connection was closed".into()]);
        }
        answer.map_err(|message| format!("{}: {message}\nafter:\n{}", script.name(), block.head.join("\n")))
    }

    /// A client in that version, which uses the script's keyspace.
    pub fn client(&mut self, version: Option<Version>) -> Result<&mut Client, String> {
        let client = self.client_of(version, SUPERUSER)?;
        client.map_err(|lines| format!("{SUPERUSER} cannot log in: {}", lines.join(", ")))
    }

    /// The client of a role, which logs in with its name as password if it has no connection yet. The inner error is the server's refusal.
    pub fn client_of(
        &mut self,
        version: Option<Version>,
        role: &str,
    ) -> Result<Result<&mut Client, Vec<String>>, String> {
        let version = version.unwrap_or(VERSION);
        let key = (version, role.to_string());
        if !self.clients.contains_key(&key)
            && let Err(lines) = self.log_in(version, role, role)?
        {
            return Ok(Err(lines));
        }
        Ok(Ok(self.clients.get_mut(&key).expect("it has logged in")))
    }

    /// Connects as a role; its former connection goes. The inner error is the server's refusal.
    pub fn log_in(&mut self, version: Version, role: &str, password: &str) -> Result<Result<(), Vec<String>>, String> {
        self.clients.remove(&(version, role.to_string()));
        let mut client = match self.connect(version, role, password)? {
            Ok(client) => client,
            Err(lines) => return Ok(Err(lines)),
        };
        must(&mut client, &format!("USE {}", self.keyspace))?;
        self.clients.insert((version, role.to_string()), client);
        Ok(Ok(()))
    }

    fn connect(&self, version: Version, role: &str, password: &str) -> Result<Result<Client, Vec<String>>, String> {
        if !self.is_guarded {
            return Client::connect(&self.address, version).map(Ok);
        }
        match Client::log_in(&self.address, version, role, password)? {
            Ok(client) => Ok(Ok(client)),
            Err(refusal) => Ok(Err(show::reply(&refusal, &Mask::default())?)),
        }
    }

    /// A connection for what the runner does itself.
    fn own(&self) -> Result<Client, String> {
        self.connect(VERSION, SUPERUSER, SUPERUSER)?.map_err(|lines| lines.join(", "))
    }

    /// Drops what other scripts left and makes the keyspace. Connections are new for each script: USE stays on one.
    fn begin(&mut self) -> Result<(), String> {
        let client = self.clear()?;
        self.make_keyspace(client)
    }

    /// Drops what other scripts left.
    fn clear(&mut self) -> Result<Client, String> {
        self.clients.clear();
        let mut client = self.own()?;
        for keyspace in keyspaces(&mut client)?.iter().filter(|name| !is_of_the_system(name)) {
            drop_keyspace(&mut client, &format!("\"{}\"", keyspace.replace('"', "\"\"")), &self.last)?;
        }
        if self.is_guarded {
            drop_roles(&mut client)?;
        }
        Ok(client)
    }

    /// Waits until each index of the keyspace that `system_schema.indexes` has is in `system."IndexInfo"`, where a server notes it when it is
    /// built. An index whose creation was refused is in neither: there is nothing to wait for.
    pub fn wait_for_indexes(&mut self) -> Result<(), String> {
        let keyspace = self.keyspace.clone();
        let client = self.client(None)?;
        let of_keyspace = format!("SELECT index_name FROM system_schema.indexes WHERE keyspace_name = '{keyspace}'");
        let built = format!("SELECT index_name FROM system.\"IndexInfo\" WHERE table_name = '{keyspace}'");
        let mut missing = first_column(client, &of_keyspace)?;
        let deadline = Instant::now() + BUILD_TIME_MAX;
        while !missing.is_empty() {
            let built = first_column(client, &built)?;
            missing.retain(|name| !built.contains(name));
            if !missing.is_empty() {
                if Instant::now() >= deadline {
                    return Err(format!("indexes are not built after {BUILD_TIME_MAX:?}: {}", missing.join(", ")));
                }
                std::thread::sleep(BUILD_LOOK);
            }
        }
        Ok(())
    }

    /// The superuser's client, after all that others left was dropped.
    pub fn begun(mut self) -> Result<Client, String> {
        self.clear()
    }

    /// Makes that keyspace anew and uses it from now on; the others stay.
    pub fn begin_in(&mut self, keyspace: &str) -> Result<(), String> {
        self.clients.clear();
        self.keyspace = keyspace.into();
        let mut client = self.own()?;
        drop_keyspace(&mut client, keyspace, keyspace)?;
        self.make_keyspace(client)
    }

    fn make_keyspace(&mut self, mut client: Client) -> Result<(), String> {
        let replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
        must(&mut client, &format!("CREATE KEYSPACE {} WITH replication = {replication}", self.keyspace))?;
        must(&mut client, &format!("USE {}", self.keyspace))?;
        self.clients.insert((VERSION, SUPERUSER.into()), client);
        Ok(())
    }
}

fn is_of_the_system(keyspace: &str) -> bool {
    keyspace == "system" || keyspace.starts_with("system_")
}

fn keyspaces(client: &mut Client) -> Result<Vec<String>, String> {
    first_column(client, "SELECT keyspace_name FROM system_schema.keyspaces")
}

/// The first column of a statement's rows: texts.
fn first_column(client: &mut Client, text: &str) -> Result<Vec<String>, String> {
    let reply = must(client, text)?;
    match reply.response()?.1 {
        Response::Result(ResultBody::Rows(rows)) => Ok(rows
            .iter()
            .filter_map(|mut row| row.next().flatten())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()),
        other => Err(format!("{text} was answered {other:?}")),
    }
}

/// Drops all roles but the first superuser; with them go their permissions, memberships and identities.
fn drop_roles(client: &mut Client) -> Result<(), String> {
    for role in first_column(client, "LIST ROLES")?.iter().filter(|role| *role != SUPERUSER) {
        must(client, &format!("DROP ROLE \"{}\"", role.replace('"', "\"\"")))?;
    }
    Ok(())
}

/// Drops a keyspace of the script `of`, if there is one. Cassandra 5.0.6 fails at it where a memtable has bytes that it cannot flush, and does it when it is asked
/// again. It keeps the names of the keyspace's tables registered (MBeans): a script that leaves such bytes has tables of names that no other script has.
fn drop_keyspace(client: &mut Client, keyspace: &str, of: &str) -> Result<(), String> {
    let text = format!("DROP KEYSPACE IF EXISTS {keyspace}");
    if let Err(message) = must(client, &text) {
        println!("{of}: the server could not drop what it left, and makes no table of such a name again: {message}");
        must(client, &text)?;
    }
    Ok(())
}

pub fn must(client: &mut Client, text: &str) -> Result<Reply, String> {
    let query = Query { text, params: QueryParams::new(Consistency::One) };
    let reply = client.ask(&Request::Query(query))?;
    match reply.response()?.1 {
        Response::Error(error) => Err(format!("{text}: {error}")),
        _ => Ok(reply),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_shown_by_name() {
        let names = Names::of(&["127.9.8.1".into(), "127.9.8.2".into()]);
        assert_eq!(names.shown("TIMEOUT from /127.9.8.2:7000, '127.9.8.1'."), "TIMEOUT from /node2, 'node1'.");
        assert_eq!(names.sent("peer = 'node2' AND node1"), "peer = '127.9.8.2' AND node1");
        assert_eq!(Names::default().shown("127.9.8.2:7000"), "127.9.8.2:7000");
    }
}
