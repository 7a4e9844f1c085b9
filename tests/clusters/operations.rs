//! Nodes that join and leave while clients read and write: no acknowledged write is lost, and processes that are killed on the way hold nothing up.

use std::io::{self, ErrorKind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;

use cql_protocol::Consistency;
use helenus_tests::{Builder, Connection, Printed, Random, Server, http, http_json, nodetool, pick};

use super::nodes::{Net, connect, has, says, start_for_operators, until, value, wait_for_voters};

/// In the line of a node that copies.
const COPIES: &str = "copying the ranges that this node gains";
/// Partitions of each kind of load.
const KEYS: usize = 16;
/// Answers that each load receives beside each step, so that each phase of an operation has some.
const ANSWERS: u64 = 20;

pub(super) fn keyspace(name: &str, factor: u8) -> String {
    format!("CREATE KEYSPACE {name} WITH replication = {{'class': 'NetworkTopologyStrategy', 'datacenter1': {factor}}}")
}

/// A node that answers operators, and whose copies are slow until [`hurry`] is called.
fn slow(net: &Net, number: u8) -> Builder {
    net.node_at(number, Builder::new("auto", 1).for_operators(), &[1])
        .configured("stream_throughput_outbound: 16KiB/s\n")
}

/// Three nodes of which all vote and the first leads, whose copies are slow.
pub(super) fn three_slow(net: &Net) -> ([Builder; 3], [Server; 3]) {
    let builders = [1, 2, 3].map(|number| slow(net, number));
    let mut servers = builders.each_ref().map(Builder::start);
    wait_for_voters(&mut servers[0], 3);
    leads(net, &servers, 1);
    (builders, servers)
}

/// Waits until all know that the node with this number leads.
fn leads(net: &Net, servers: &[Server], number: u8) {
    let address = format!("{}:", net.address(number));
    until("the founder leads, and all know", || {
        servers.iter().all(|server| {
            let group = value(server, "/helenus/metadata_group");
            group["leader"].as_str().is_some_and(|leader| leader.starts_with(&address)) && group["is_changing"] == false
        })
    });
}

/// Bounds what a node sends to receivers of copies, in bytes a second; 0 is no bound.
pub(super) fn throttle(server: &Server, rate: u64) {
    let answer = http(server.api_port, "POST", &format!("/storage_service/stream_throughput?value={rate}"));
    let answer = answer.expect("the node answers operators");
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// Lets copies go as fast as they can.
pub(super) fn hurry(server: &Server) {
    throttle(server, 0);
}

fn joining(server: &Server) -> usize {
    value(server, "/storage_service/nodes/joining").as_array().map_or(0, Vec::len)
}

/// Runs a command of an operator that must succeed.
pub(super) fn done(server: &Server, line: &str) -> Printed {
    let printed = nodetool(server, line);
    assert_eq!(printed.code, 0, "{line}: {}{}", printed.output, printed.errors);
    printed
}

fn host_id(server: &Server) -> String {
    value(server, "/storage_service/hostid/local").as_str().expect("a host id").to_owned()
}

/// Waits until the node takes others for down.
pub(super) fn sees_down(server: &Server, count: u64) {
    until("the others are down", || value(server, "/failure_detector/count/endpoint/down") == count);
}

/// Waits until each of three nodes reaches the others for requests.
pub(super) fn reach_each_other(servers: [&Server; 3]) {
    let mut client = connect(servers[0]);
    client.query(&keyspace("reached", 3)).expect("a majority is up");
    client.query("CREATE TABLE reached.t (k int PRIMARY KEY)").expect("a majority is up");
    for server in servers {
        let mut client = connect(server);
        let insert = "INSERT INTO reached.t (k) VALUES (1)";
        until("a write at ALL is answered", || client.query_at(insert, Consistency::All).is_ok());
    }
}

/// Rows of some size, each on all of its replicas.
pub(super) fn fill(server: &Server, table: &str, rows: usize, bytes: usize) {
    let mut client = connect(server);
    let text = "x".repeat(bytes);
    for key in 0..rows {
        let insert = format!("INSERT INTO {table} (k, v) VALUES ({key}, 'row {key}:{text}')");
        answered(&mut client, &insert, Consistency::All);
    }
}

/// The answer of a node that may not know yet that the others are up.
fn answered(client: &mut Connection, text: &str, level: Consistency) -> Vec<u8> {
    let mut answer = None;
    until("the replicas answer", || {
        answer = client.query_at(text, level).ok();
        answer.is_some()
    });
    answer.expect("waited for above").body
}

/// Checks that a node finds the rows of [`fill`], all but some, at a level.
pub(super) fn has_rows(
    server: &Server,
    table: &str,
    rows: usize,
    level: Consistency,
    is_there: impl Fn(usize) -> bool,
) {
    let mut client = connect(server);
    for key in 0..rows {
        let found = answered(&mut client, &format!("SELECT v FROM {table} WHERE k = {key}"), level);
        assert_eq!(has(&found, format!("row {key}:")), is_there(key), "the row of {key} of {table}");
    }
}

/// A client of several nodes: a request that fails is asked of another node, once.
pub(super) struct Client {
    addresses: Vec<String>,
    connections: Vec<Option<Connection>>,
    next: usize,
}

impl Client {
    fn new(addresses: &[String], first: usize) -> Client {
        let connections = addresses.iter().map(|_| None).collect();
        Client { addresses: addresses.to_vec(), connections, next: first }
    }

    /// The answer of the next node that accepts connections.
    fn once(&mut self, text: &str, level: Consistency) -> io::Result<Vec<u8>> {
        let mut last = io::Error::other("no node accepts connections");
        for _ in 0..self.addresses.len() {
            let node = self.next % self.addresses.len();
            self.next += 1;
            let connection = match self.connections[node].take() {
                Some(connection) => connection,
                None => match Connection::start(&self.addresses[node]) {
                    Ok(connection) => connection,
                    Err(error) => {
                        last = error;
                        continue;
                    }
                },
            };
            let connection = self.connections[node].insert(connection);
            return match connection.query_at(text, level) {
                Ok(frame) => Ok(frame.body),
                Err(error) => {
                    self.connections[node] = None;
                    Err(io::Error::new(error.kind(), format!("{}: {error}", self.addresses[node])))
                }
            };
        }
        Err(last)
    }

    /// The same of another node, where one fails. A node whose process has ended beneath the connection is none that was asked.
    pub(super) fn twice(&mut self, text: &str, level: Consistency) -> io::Result<Vec<u8>> {
        let mut errors: Vec<String> = Vec::new();
        let (mut failed, mut ended) = (0, 0);
        while failed < 2 && ended < self.addresses.len() {
            let error = match self.once(text, level) {
                Ok(body) => return Ok(body),
                Err(error) => error,
            };
            match error.kind() {
                ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => ended += 1,
                _ => failed += 1,
            }
            errors.push(error.to_string());
        }
        Err(io::Error::other(errors.join("; ")))
    }
}

/// The bigint of an answer with one row of one column; `None` for no row, or for a null.
fn number(body: &[u8]) -> Option<i64> {
    let tail: &[u8; 16] = body.last_chunk()?;
    let is_one = tail[..8] == [0, 0, 0, 1, 0, 0, 0, 8];
    is_one.then(|| i64::from_be_bytes(*tail.last_chunk().expect("eight of sixteen")))
}

/// True if a conditional statement was applied: one row of one true value.
fn is_applied(body: &[u8]) -> bool {
    body.ends_with(&[0, 0, 0, 1, 0, 0, 0, 1, 1])
}

/// Clients that write and read while nodes come and go, and what they know.
pub(super) struct Load {
    addresses: Vec<String>,
    is_over: AtomicBool,
    /// By key, the last version of which each later read returns this one or a newer one: acknowledged, or read.
    versions: [AtomicI64; KEYS],
    /// By key, the counter's increments that were acknowledged, and those that may have happened.
    counted: [(AtomicI64, AtomicI64); KEYS],
    /// By client, the answers so far.
    answers: [AtomicU64; 4],
    complaints: Mutex<Vec<String>>,
}

impl Load {
    pub(super) fn new(net: &Net, nodes: u8) -> Load {
        let [native, ..] = net.ports();
        Load {
            addresses: (1..=nodes).map(|number| format!("{}:{native}", net.address(number))).collect(),
            is_over: AtomicBool::new(false),
            versions: std::array::from_fn(|_| AtomicI64::new(0)),
            counted: std::array::from_fn(|_| (AtomicI64::new(0), AtomicI64::new(0))),
            answers: std::array::from_fn(|_| AtomicU64::new(0)),
            complaints: Mutex::new(Vec::new()),
        }
    }

    /// Tables of the load, with all rows that are changed by conditions.
    pub(super) fn prepare(&self, client: &mut Connection) {
        let tables = [
            "CREATE TABLE ks.versions (k int PRIMARY KEY, v bigint)",
            "CREATE TABLE ks.counters (k int PRIMARY KEY, v counter)",
            "CREATE TABLE ks.conditions (k int PRIMARY KEY, v bigint)",
        ];
        for text in tables {
            client.query(text).expect("all are up");
        }
        for key in 0..KEYS {
            let insert = format!("INSERT INTO ks.conditions (k, v) VALUES ({key}, 0) IF NOT EXISTS");
            client.query_at(&insert, Consistency::Quorum).expect("all are up");
        }
    }

    /// One more client of the same nodes.
    pub(super) fn client(&self) -> Client {
        Client::new(&self.addresses, 0)
    }

    pub(super) fn complain(&self, words: String) {
        self.complaints.lock().expect("no client panics").push(words);
    }

    /// Fails if a client has met something wrong so far.
    pub(super) fn assert_no_complaints(&self) {
        let complaints = self.complaints.lock().expect("no client panics");
        assert!(
            complaints.is_empty(),
            "{} complaints: {:#?}",
            complaints.len(),
            &complaints[..complaints.len().min(8)]
        );
    }

    /// Runs the clients while a step is done, and until each has received some more answers afterwards.
    pub(super) fn beside(&self, steps: impl FnOnce()) {
        thread::scope(|scope| {
            scope.spawn(|| self.write());
            scope.spawn(|| self.read());
            scope.spawn(|| self.count());
            scope.spawn(|| self.exchange());
            let ends = Ends(&self.is_over);
            self.more_answers();
            steps();
            self.more_answers();
            drop(ends);
        });
        self.assert_no_complaints();
    }

    pub(super) fn more_answers(&self) {
        let before = self.answers.each_ref().map(|answers| answers.load(Ordering::Relaxed));
        until("each client gets answers", || {
            thread::sleep(std::time::Duration::from_millis(5));
            let mut pairs = self.answers.iter().zip(before);
            pairs.all(|(now, before)| now.load(Ordering::Relaxed) >= before + ANSWERS)
        });
    }

    fn while_it_runs(&self, client: usize, mut request: impl FnMut(&mut Client, usize)) {
        let mut nodes = Client::new(&self.addresses, client);
        let mut random = Random::new(client as u64 + 1);
        while !self.is_over.load(Ordering::Relaxed) {
            request(&mut nodes, random.below(KEYS));
            self.answers[client].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn write(&self) {
        let mut next = 0;
        self.while_it_runs(0, |client, key| {
            next += 1;
            let insert = format!("INSERT INTO ks.versions (k, v) VALUES ({key}, {next})");
            match client.twice(&insert, Consistency::Quorum) {
                Ok(_) => _ = self.versions[key].fetch_max(next, Ordering::SeqCst),
                Err(error) => self.complain(format!("a write failed at two nodes: {error}")),
            }
        });
    }

    fn read(&self) {
        self.while_it_runs(1, |client, key| {
            let least = self.versions[key].load(Ordering::SeqCst);
            match client.twice(&format!("SELECT v FROM ks.versions WHERE k = {key}"), Consistency::Quorum) {
                Ok(body) => {
                    let found = number(&body).unwrap_or(0);
                    if found < least {
                        self.complain(format!("a read of {key} found {found} after {least}"));
                    }
                    self.versions[key].fetch_max(found, Ordering::SeqCst);
                }
                Err(error) => self.complain(format!("a read failed at two nodes: {error}")),
            }
        });
    }

    /// Increments are not repeated: one without an answer may have happened.
    fn count(&self) {
        self.while_it_runs(2, |client, key| {
            let (counted, unknown) = &self.counted[key];
            let update = format!("UPDATE ks.counters SET v = v + 1 WHERE k = {key}");
            match client.once(&update, Consistency::Quorum) {
                Ok(_) => counted.fetch_add(1, Ordering::SeqCst),
                Err(_) => unknown.fetch_add(1, Ordering::SeqCst),
            };
        });
    }

    /// The only client that changes these rows: each change finds the one before it.
    fn exchange(&self) {
        let mut known = [Some(0); KEYS];
        self.while_it_runs(3, |client, key| {
            let value = match known[key] {
                Some(value) => value,
                // An answer was lost: the change has happened by now, or never will once a later one is read.
                None => {
                    match client.twice(&format!("SELECT v FROM ks.conditions WHERE k = {key}"), Consistency::Serial) {
                        Ok(body) => number(&body).unwrap_or(-1),
                        Err(error) => return self.complain(format!("a read at SERIAL failed at two nodes: {error}")),
                    }
                }
            };
            let update = format!("UPDATE ks.conditions SET v = {} WHERE k = {key} IF v = {value}", value + 1);
            known[key] = match client.once(&update, Consistency::Quorum) {
                Ok(body) if is_applied(&body) => Some(value + 1),
                Ok(body) => {
                    let words = String::from_utf8_lossy(&body).into_owned();
                    self.complain(format!("{key} has another value than {value}: {words:?}"));
                    None
                }
                Err(_) => None,
            };
        });
    }

    /// Judges at the end: all nodes are asked, and each replica has its say.
    pub(super) fn judge(&self, servers: &[&Server]) {
        for server in servers {
            let mut client = connect(server);
            for key in 0..KEYS {
                let mut value = |table: &str| {
                    let select = format!("SELECT v FROM ks.{table} WHERE k = {key}");
                    number(&answered(&mut client, &select, Consistency::All)).unwrap_or(0)
                };
                let least = self.versions[key].load(Ordering::SeqCst);
                let found = value("versions");
                assert!(found >= least, "the last version of {key} is {found}, and {least} was acknowledged");
                let (counted, unknown) =
                    (self.counted[key].0.load(Ordering::SeqCst), self.counted[key].1.load(Ordering::SeqCst));
                let found = value("counters");
                assert!(
                    (counted..=counted + unknown).contains(&found),
                    "the counter of {key} is {found}: {counted} increments were acknowledged, {unknown} may have happened"
                );
            }
        }
    }
}

/// Ends the load, also where the test fails.
pub(super) struct Ends<'a>(pub(super) &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The leader and a node that has joined leave.
#[test]
fn three_nodes_become_five_and_three_again_while_clients_read_and_write() {
    let net = Net::new();
    let (_builders, [mut first, second, third]) = start_for_operators(&net);
    wait_for_voters(&mut first, 3);
    let mut client = connect(&first);
    client.query(&keyspace("ks", 3)).expect("all are up");
    client.query("CREATE TABLE ks.rows (k int PRIMARY KEY, v text)").expect("all are up");
    let rows = pick(200, 20_000);
    fill(&first, "ks.rows", rows, 200);
    let load = Load::new(&net, 5);
    load.prepare(&mut client);
    let joined = Mutex::new(Vec::new());
    load.beside(|| {
        for number in [4, 5] {
            let node = net.node_at(number, Builder::new("auto", 1).for_operators(), &[1]).start();
            joined.lock().expect("no client has it").push(node);
            load.more_answers();
        }
        let fourth = joined.lock().expect("no client has it").remove(0);
        for leaving in [fourth, first] {
            done(&leaving, "decommission");
            let said = leaving.lines_after_end().join("\n");
            assert!(said.contains("this node has left the cluster and ends"), "{said}");
            load.more_answers();
        }
    });
    let fifth = joined.into_inner().expect("no client panics").remove(0);
    load.judge(&[&second, &third, &fifth]);
    has_rows(&fifth, "ks.rows", rows, Consistency::All, |_| true);
    [second, third, fifth].into_iter().for_each(Server::stop);
}

#[test]
fn a_killed_node_is_removed_and_its_ranges_are_copied_from_the_other_replicas() {
    let net = Net::new();
    let (_builders, servers) = start_for_operators::<4>(&net);
    let [mut first, second, third, killed] = servers;
    wait_for_voters(&mut first, 3);
    let id = host_id(&killed);
    let mut client = connect(&first);
    for (name, factor) in [("ks", 3), ("two", 2)] {
        client.query(&keyspace(name, factor)).expect("all are up");
        client.query(&format!("CREATE TABLE {name}.rows (k int PRIMARY KEY, v text)")).expect("all are up");
        fill(&first, &format!("{name}.rows"), 150, 100);
    }
    killed.kill();
    sees_down(&first, 1);
    done(&first, &format!("removenode {id}"));
    for name in ["ks.rows", "two.rows"] {
        has_rows(&second, name, 150, Consistency::All, |_| true);
    }
    [first, second, third].into_iter().for_each(Server::stop);
}

/// Three nodes with rows of two and of three replicas, the last of which is killed and replaced: by a node with this number, with an empty disk.
fn is_replaced_by(number: u8) {
    let net = Net::new();
    let (builders, servers) = start_for_operators::<3>(&net);
    let [mut first, second, killed] = servers;
    wait_for_voters(&mut first, 3);
    let old = host_id(&killed);
    let mut client = connect(&first);
    for (name, factor) in [("ks", 3), ("two", 2)] {
        client.query(&keyspace(name, factor)).expect("all are up");
        client.query(&format!("CREATE TABLE {name}.rows (k int PRIMARY KEY, v text)")).expect("all are up");
        fill(&first, &format!("{name}.rows"), 150, 100);
    }
    let replacing = net.node_at(number, Builder::new("auto", 1).for_operators(), &[1]);
    let replaced = net.seed(3);
    let replacing = replacing.with(&["--replace", if number == 3 { &old } else { &replaced }]);
    if number != 3 {
        let said = replacing.launch().lines_after_failure().join("\n");
        assert!(said.contains("cannot replace a live node"), "{said}");
    }
    killed.kill();
    sees_down(&first, 1);
    let replacing = replacing.start();
    for name in ["ks.rows", "two.rows"] {
        has_rows(&replacing, name, 150, Consistency::All, |_| true);
    }
    // The one that it has replaced is removed as soon as it does not vote.
    until("the first node knows three nodes", || {
        let known = value(&first, "/storage_service/host_id");
        known.as_array().is_some_and(|nodes| nodes.len() == 3 && !known.to_string().contains(&old))
    });
    let new = host_id(&replacing);
    assert_ne!(new, old);
    if number != 3 {
        let said = builders[2].launch().lines_after_failure().join("\n");
        assert!(said.contains("was removed from the cluster"), "{said}");
    }
    [first, second].into_iter().for_each(Server::stop);
    has_rows(&replacing, "ks.rows", 150, Consistency::One, |_| true);
    replacing.stop();
}

#[test]
fn a_node_takes_the_place_of_a_dead_one_at_another_address() {
    is_replaced_by(4);
}

#[test]
fn a_node_takes_the_place_of_a_dead_one_at_its_address() {
    is_replaced_by(3);
}

/// The ranges of a node that has other tokens move to and from it as those of any operation.
#[test]
fn a_node_that_is_started_with_another_number_of_tokens_gets_them() {
    let net = Net::new();
    let (builders, servers) = start_for_operators::<3>(&net);
    let [mut first, second, third] = servers;
    wait_for_voters(&mut first, 3);
    let mut client = connect(&first);
    client.query(&keyspace("two", 2)).expect("all are up");
    client.query("CREATE TABLE two.rows (k int PRIMARY KEY, v text)").expect("all are up");
    fill(&first, "two.rows", 150, 100);
    third.stop();
    let address = net.address(3);
    let [_, _, builder] = builders;
    let third = builder.with(&["--num-tokens", "4"]).start();
    let tokens =
        |server: &Server| value(server, &format!("/storage_service/tokens/{address}")).as_array().map_or(0, Vec::len);
    until("it has four tokens", || tokens(&first) == 4 && tokens(&third) == 4);
    until("nothing is left of an operation", || {
        let all = value(&first, "/helenus/operations");
        all["operations"].as_array().is_some_and(Vec::is_empty) && all["unclean"].as_array().is_some_and(Vec::is_empty)
    });
    for server in [&first, &third] {
        has_rows(server, "two.rows", 150, Consistency::All, |_| true);
    }
    [first, second, third].into_iter().for_each(Server::stop);
}

#[test]
fn a_node_with_one_token_moves_it() {
    let net = Net::new();
    let node = |number, token| {
        net.node_at(number, Builder::new("auto", 1).for_operators(), &[1]).with(&["--initial-token", token]).start()
    };
    let [first, second] = [node(1, "0"), node(2, "4611686018427387904")];
    let mut client = connect(&first);
    client.query(&keyspace("one", 1)).expect("both are up");
    client.query("CREATE TABLE one.rows (k int PRIMARY KEY, v text)").expect("both are up");
    fill(&first, "one.rows", 150, 100);
    let refused = nodetool(&second, "move 0");
    assert!(refused.errors.contains("target token 0 is already owned by another node."), "{}", refused.errors);
    done(&second, "move -4611686018427387904");
    let tokens = value(&first, &format!("/storage_service/tokens/{}", net.address(2)));
    assert_eq!(tokens, serde_json::json!(["-4611686018427387904"]));
    for server in [&first, &second] {
        has_rows(server, "one.rows", 150, Consistency::All, |_| true);
    }
    [first, second].into_iter().for_each(Server::stop);
}

/// With one replica of each row, ranges of the first would go to the second, which never confirms that it has them.
#[test]
fn two_dead_nodes_are_removed_by_force_whatever_they_had_alone() {
    let net = Net::new();
    let (_builders, [first, second, third, one, other]) = start_for_operators::<5>(&net);
    let mut client = connect(&first);
    for (name, factor) in [("one", 1), ("ks", 3)] {
        client.query(&keyspace(name, factor)).expect("all are up");
        client.query(&format!("CREATE TABLE {name}.rows (k int PRIMARY KEY, v text)")).expect("all are up");
        fill(&first, &format!("{name}.rows"), 150, 100);
    }
    until("five nodes vote", || {
        let group = value(&first, "/helenus/metadata_group");
        group["voters"].as_array().is_some_and(|voters| voters.len() == 5) && group["is_changing"] == false
    });
    let ids = [host_id(&one), host_id(&other)];
    [one, other].into_iter().for_each(Server::kill);
    sees_down(&first, 2);
    thread::scope(|scope| {
        scope.spawn(|| done(&first, &format!("removenode --force {}", ids[0])));
        until("the first removal is under way", || {
            let operations = value(&first, "/helenus/operations");
            operations["operations"].as_array().is_some_and(|all| !all.is_empty())
        });
        done(&second, &format!("removenode --force {}", ids[1]));
    });
    has_rows(&third, "ks.rows", 150, Consistency::All, |_| true);
    connect(&third).query_at("SELECT v FROM one.rows", Consistency::All).expect("all replicas are up");
    [first, second, third].into_iter().for_each(Server::stop);
}

/// One of two replicas is dead for good. A third node joins all the same, and then takes its place.
#[test]
fn a_node_joins_while_one_of_two_replicas_is_dead_for_good() {
    let net = Net::new();
    let (_builders, [first, dead]) = start_for_operators(&net);
    let id = host_id(&dead);
    let mut client = connect(&first);
    client.query(&keyspace("two", 2)).expect("both are up");
    client.query("CREATE TABLE two.rows (k int PRIMARY KEY, v text)").expect("both are up");
    fill(&first, "two.rows", 150, 100);
    dead.kill();
    sees_down(&first, 1);
    let third = net.node_at(3, Builder::new("auto", 1).for_operators(), &[1]).start();
    assert_eq!(joining(&first), 0, "the third node is ready and has not joined");
    sees_down(&third, 1);
    done(&third, &format!("removenode {id}"));
    has_rows(&third, "two.rows", 150, Consistency::All, |_| true);
    first.stop();
    has_rows(&third, "two.rows", 150, Consistency::One, |_| true);
    third.stop();
}

/// The third node's range goes to the first one; the second gains nothing of it. In a keyspace of two replicas, whose first table is created meanwhile, both gain ranges.
#[test]
fn a_first_table_of_another_replication_is_created_while_a_node_copies() {
    let net = Net::new();
    let node = |number, token| slow(&net, number).with(&["--initial-token", token]).start();
    let [first, second, third] =
        [(1, "-6000000000000000000"), (2, "0"), (3, "6000000000000000000")].map(|(number, token)| node(number, token));
    let mut client = connect(&first);
    client.query(&keyspace("one", 1)).expect("all are up");
    client.query("CREATE TABLE one.rows (k int PRIMARY KEY, v text)").expect("all are up");
    fill(&first, "one.rows", 300, 2_000);
    let port = third.api_port;
    let leaves = thread::spawn(move || {
        done(&third, "decommission");
        third.lines_after_end();
    });
    until("the first one copies, and the second one has seen that it does not", || {
        says(&first, COPIES) && says(&second, "nothing to copy: this node gains no ranges")
    });
    client.query(&keyspace("two", 2)).expect("all are up");
    client.query("CREATE TABLE two.rows (k int PRIMARY KEY, v text)").expect("all are up");
    assert!(
        value(&first, "/helenus/operations")["operations"][0]["phase"] == "copy",
        "the copy has ended before its time"
    );
    fill(&first, "two.rows", 50, 10);
    let answer = http(port, "POST", "/storage_service/stream_throughput?value=0").expect("the node answers operators");
    assert_eq!(answer.status, 200, "{}", answer.body);
    until("the operation ends", || value(&first, "/helenus/operations")["operations"] == serde_json::json!([]));
    leaves.join().expect("it has left");
    has_rows(&second, "one.rows", 300, Consistency::All, |_| true);
    has_rows(&second, "two.rows", 50, Consistency::All, |_| true);
    [first, second].into_iter().for_each(Server::stop);
}

/// Three nodes with rows whose copies are slow, and a fourth that copies them.
fn three_and_one_that_copies(net: &Net) -> ([Builder; 4], [Server; 3], Server, usize) {
    let (builders, servers) = three_slow(net);
    let mut client = connect(&servers[0]);
    client.query(&keyspace("ks", 3)).expect("all are up");
    client.query("CREATE TABLE ks.rows (k int PRIMARY KEY, v text)").expect("all are up");
    let rows = pick(500, 4_000);
    fill(&servers[0], "ks.rows", rows, 2_000);
    let [first, second, third] = builders;
    let fourth = slow(net, 4);
    let mut copying = fourth.launch();
    copying.wait_for_line(&[COPIES]);
    assert_eq!(joining(&servers[0]), 1, "the copy has ended before its time");
    ([first, second, third, fourth], servers, copying, rows)
}

/// A connection that the kernel accepts, and that the node answers when it has joined, holds a driver's start up for as long as the copy takes.
#[test]
fn a_node_that_joins_refuses_clients() {
    let net = Net::new();
    let (_builders, servers, mut copying, _rows) = three_and_one_that_copies(&net);
    let [native, ..] = net.ports();
    let address = format!("{}:{native}", net.address(4));
    let refused = std::net::TcpStream::connect(&address).expect_err("it has not joined");
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    // Nor by the console, whose statements need no port.
    let statement = "{\"statement\": \"SELECT key FROM system.local\"}";
    let asked = |server: &Server| http_json(server.api_port, "POST", "/helenus/cql", statement).expect("is answered");
    let refused = asked(&copying);
    assert!(refused.status == 503 && refused.body.contains("CQL is not available"), "{}", refused.body);
    servers.iter().for_each(hurry);
    copying.wait_until_ready();
    connect(&copying);
    let answer = asked(&copying);
    assert!(answer.status == 200 && answer.body.contains("\"error\":null"), "{}", answer.body);
    servers.into_iter().for_each(Server::stop);
    copying.stop();
}

#[test]
fn a_node_that_is_killed_while_it_copies_joins_when_it_is_started_again() {
    let net = Net::new();
    let (builders, servers, copying, rows) = three_and_one_that_copies(&net);
    copying.kill();
    let mut again = builders[3].launch();
    again.wait_for_line(&[COPIES]);
    servers.iter().for_each(hurry);
    again.wait_until_ready();
    assert_eq!(joining(&servers[0]), 0, "it is ready and has not joined");
    has_rows(&again, "ks.rows", rows, Consistency::All, |_| true);
    servers.into_iter().for_each(Server::stop);
    again.stop();
}

/// It stays down until the node has joined.
fn joins_although_one_is_killed(killed: usize) {
    let net = Net::new();
    let (builders, servers, mut copying, rows) = three_and_one_that_copies(&net);
    let mut servers = servers.map(Some);
    servers[killed].take().expect("it runs").kill();
    servers.iter().flatten().for_each(hurry);
    copying.wait_until_ready();
    servers[killed] = Some(builders[killed].start());
    let all: Vec<&Server> = servers.iter().flatten().collect();
    all.iter().for_each(|server| sees_down(server, 0));
    sees_down(&copying, 0);
    assert_eq!(joining(all[2]), 0, "it is ready and has not joined");
    has_rows(&copying, "ks.rows", rows, Consistency::All, |_| true);
    servers.into_iter().flatten().for_each(Server::stop);
    copying.stop();
}

#[test]
fn a_node_joins_although_the_leader_is_killed_while_it_copies() {
    if pick(false, true) {
        joins_although_one_is_killed(0);
    }
}

#[test]
fn a_node_joins_although_a_source_is_killed_while_it_copies() {
    if pick(false, true) {
        joins_although_one_is_killed(1);
    }
}

/// They do not know when the table changed last, and take it for changed at their start.
#[test]
fn a_node_joins_although_its_sources_are_started_again_while_it_copies() {
    let net = Net::new();
    let (builders, [first, second, third], mut copying, rows) = three_and_one_that_copies(&net);
    let [second, third] = [(second, 1), (third, 2)].map(|(server, index)| {
        server.kill();
        builders[index].start()
    });
    assert_eq!(joining(&first), 1, "the copy has ended before its time");
    [&first, &second, &third].into_iter().for_each(hurry);
    copying.wait_until_ready();
    has_rows(&copying, "ks.rows", rows, Consistency::All, |_| true);
    [first, second, third, copying].into_iter().for_each(Server::stop);
}

/// One copy of each row. Deletions are purged where the rows are by then, so only a cleanup keeps what the node had before from coming back.
#[test]
fn a_node_that_gets_ranges_back_has_none_of_the_rows_that_were_deleted_meanwhile() {
    let net = Net::new();
    let (_builders, [first, second]) = start_for_operators(&net);
    let mut client = connect(&first);
    client.query(&keyspace("one", 1)).expect("both are up");
    client.query("CREATE TABLE one.rows (k int PRIMARY KEY, v text) WITH gc_grace_seconds = 0").expect("both are up");
    fill(&first, "one.rows", 200, 50);
    let third = net.node_at(3, Builder::new("auto", 1).for_operators(), &[1]).start();
    let is_kept = |key: usize| key.is_multiple_of(2);
    for key in (0..200).filter(|key| !is_kept(*key)) {
        client.query(&format!("DELETE FROM one.rows WHERE k = {key}")).expect("all are up");
    }
    has_rows(&third, "one.rows", 200, Consistency::One, is_kept);
    for line in ["flush one", "compact one"] {
        done(&third, line);
    }
    done(&third, "decommission");
    third.lines_after_end();
    has_rows(&second, "one.rows", 200, Consistency::All, is_kept);
    [first, second].into_iter().for_each(Server::stop);
}
