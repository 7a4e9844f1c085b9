//! `helenus cluster`: a cluster of processes that outlive the command, found again and signalled by the next one.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use cql_protocol::Consistency;
use helenus_tests::{Builder, Connection, complaints};

use super::nodes::{KEYSPACE_OF_ONE, Net, has, until};

/// A folder for a cluster, at addresses of its own.
struct Local {
    net: Net,
    folder: PathBuf,
}

impl Local {
    fn new(name: &str) -> Local {
        let folder = std::env::temp_dir().join(format!("helenus-local-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        Local { net: Net::new(), folder }
    }

    /// The folder of the cluster.
    fn dir(&self) -> PathBuf {
        self.folder.join("cluster")
    }

    /// The file of a node.
    fn file(&self, number: u8, name: &str) -> PathBuf {
        self.dir().join(format!("node{number}")).join(name)
    }

    fn run(&self, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new(Builder::binary());
        command.args(["cluster", "--dir", "cluster"]).args(words).current_dir(&self.folder).stdin(Stdio::null());
        let ran = command.output().expect("the binary can be run");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
        let (output, errors) = (text(ran.stdout), text(ran.stderr));
        match ran.status.code() {
            Some(0) => {
                assert_eq!(errors, "", "{words:?}");
                Ok(output)
            }
            Some(1) => {
                assert_eq!(output, "", "{words:?}");
                Err(errors.trim_end().strip_prefix("helenus: ").expect("it says who it is").to_owned())
            }
            other => panic!("{words:?} ended with {other:?}: {output}{errors}"),
        }
    }

    /// The output of a command that must succeed.
    fn done(&self, words: &[&str]) -> String {
        self.run(words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// The sentence of a command that must not.
    fn refused(&self, words: &[&str]) -> String {
        match self.run(words) {
            Err(sentence) => sentence,
            Ok(output) => panic!("{words:?} was done: {output}"),
        }
    }

    /// The flags of a new cluster.
    fn start_new(&self, nodes: &str) -> Result<String, String> {
        let [native, storage, api] = self.net.ports().map(|port| port.to_string());
        let ports = ["--port", &native, "--storage-port", &storage, "--api-port", &api];
        self.run(&[&["start", "--nodes", nodes, "--prefix", self.net.prefix()], &ports[..]].concat())
    }

    /// Number, state and state in the ring of each node.
    fn states(&self) -> Vec<(u8, String, String)> {
        let printed = self.done(&["status"]);
        let rows = printed.lines().skip(1).take_while(|line| !line.is_empty());
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [number, _address, _pid, state, ring] = words[..] else { panic!("{printed}") };
            (number.parse().expect("a number"), state.to_owned(), ring.to_owned())
        };
        rows.map(row).collect()
    }

    fn all_are(&self, state: &str, ring: &str, count: u8) {
        let expected: Vec<_> = (1..=count).map(|number| (number, state.to_owned(), ring.to_owned())).collect();
        assert_eq!(self.states(), expected);
    }

    fn connect(&self, number: u8) -> Connection {
        let [native, ..] = self.net.ports();
        let address = format!("{}:{native}", self.net.address(number));
        Connection::start(&address).expect("a node that is up accepts clients")
    }

    /// No node's log has a complaint.
    fn judge(&self, count: u8) {
        for number in 1..=count {
            let log = fs::read_to_string(self.file(number, "log")).expect("each node has a log");
            let lines: Vec<String> = log.lines().map(str::to_owned).collect();
            let found: Vec<&String> = complaints(&lines, false);
            assert!(found.is_empty(), "the log of node {number} says: {found:?}");
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let _ = self.run(&["stop"]);
        if std::thread::panicking() {
            eprintln!("the folder is kept: {}", self.folder.display());
        } else {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

const KEYSPACE_OF_TWO: &str =
    "CREATE KEYSPACE lone WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 2}";
const TABLE: &str = "CREATE TABLE lone.t (k int PRIMARY KEY, v text)";
const ROW: &str = "SELECT v FROM lone.t WHERE k = 1";

/// Rows of tests in which nodes join or leave. With 16 tokens a node has some of so many.
const KEYS: usize = 200;

fn row(key: usize) -> String {
    format!("SELECT v FROM lone.t WHERE k = {key}")
}

fn has_all_rows(client: &mut Connection) {
    for key in 0..KEYS {
        let found = client.query(&row(key)).expect("all nodes are up").body;
        assert!(has(&found, format!("kept {key}")), "the row of {key} is lost");
    }
}

#[test]
fn nodes_are_started_killed_paused_and_started_again() {
    let local = Local::new("course");
    let said = local.start_new("3").expect("its ports are free");
    assert!(said.starts_with("3 nodes are up"), "{said}");
    let secret = fs::metadata(local.dir().join("secret")).expect("the nodes have a secret");
    assert_eq!(secret.permissions().mode() & 0o777, 0o600);
    local.all_are("up", "UN", 3);
    // One copy: what is acknowledged is on its disk, so each later read finds it.
    let mut first = local.connect(1);
    first.query(KEYSPACE_OF_ONE).expect("all nodes are up");
    first.query(TABLE).expect("all nodes are up");
    let mut clients = [1, 2, 3].map(|number| local.connect(number));
    until("the table is on all nodes", || clients.iter_mut().all(|client| client.query(ROW).is_ok()));
    first.query("INSERT INTO lone.t (k, v) VALUES (1, 'kept')").expect("all nodes are up");

    let said = local.done(&["kill", "2"]);
    assert!(said.starts_with("node 2 (pid ") && said.contains("is killed"), "{said}");
    let [_, killed, _] = &local.states()[..] else { panic!("three nodes") };
    assert_eq!((killed.0, killed.1.as_str()), (2, "down"));
    assert_eq!(local.refused(&["kill", "2"]), "node 2 is down");
    local.done(&["start"]);
    local.all_are("up", "UN", 3);

    local.done(&["pause", "3"]);
    let [_, _, third] = &local.states()[..] else { panic!("three nodes") };
    assert_eq!((third.0, third.1.as_str()), (3, "paused"));
    let said = local.refused(&["start"]);
    assert_eq!(said, "node 3 is paused; resume it first: `helenus cluster resume 3 --dir cluster`");
    local.done(&["resume", "3"]);
    assert_eq!(local.refused(&["resume", "3"]), "node 3 is not paused");
    local.done(&["start"]);
    local.all_are("up", "UN", 3);

    // A paused node is stopped too.
    local.done(&["pause", "1"]);
    assert_eq!(local.done(&["stop"]), "3 nodes have stopped\n");
    local.all_are("down", "?", 3);
    assert_eq!(local.done(&["stop"]), "no node was up\n");
    local.done(&["start"]);
    let row = local.connect(2).query(ROW).expect("all nodes are up").body;
    assert!(has(&row, "kept"), "a write is lost");
    local.done(&["stop"]);
    local.judge(3);
}

#[test]
fn nodes_are_added_and_get_the_rows_of_their_ranges() {
    let local = Local::new("add");
    local.start_new("1").expect("its ports are free");
    // A node that cannot start is not added.
    fs::create_dir(local.dir().join("node2")).expect("it can be made");
    fs::write(local.file(2, "data"), "not a folder").expect("it can be written");
    let said = local.refused(&["add"]);
    assert!(said.starts_with("node 2 ended before it was ready: "), "{said}");
    local.all_are("up", "UN", 1);
    fs::remove_file(local.file(2, "data")).expect("it is there");
    fs::remove_file(local.file(2, "log")).expect("it is there");
    let said = local.done(&["add"]);
    assert_eq!(said, format!("node 2 has joined the ring: {}\n", local.net.address(2)));
    local.all_are("up", "UN", 2);
    let mut second = local.connect(2);
    second.query(KEYSPACE_OF_ONE).expect("both nodes are up");
    second.query(TABLE).expect("both nodes are up");
    for key in 0..KEYS {
        second.query(&format!("INSERT INTO lone.t (k, v) VALUES ({key}, 'kept {key}')")).expect("both nodes are up");
    }
    let said = local.done(&["add"]);
    assert_eq!(said, format!("node 3 has joined the ring: {}\n", local.net.address(3)));
    local.all_are("up", "UN", 3);
    has_all_rows(&mut local.connect(3));
    // One copy of each row: some are on the third node alone, and no other has them to show when it is down.
    local.done(&["kill", "3"]);
    let found = (0..KEYS).filter(|key| second.query(&row(*key)).is_ok()).count();
    assert!(found < KEYS, "the new node has no range");
    local.done(&["start"]);
    has_all_rows(&mut local.connect(3));
    local.all_are("up", "UN", 3);
    local.done(&["stop"]);
    let said = local.refused(&["add"]);
    assert_eq!(said, "node 1 is down; start the cluster first: `helenus cluster start --dir cluster`");
    local.judge(3);
}

#[test]
fn nodes_are_replaced_and_removed_with_their_data_running_or_not() {
    let local = Local::new("remove");
    local.start_new("4").expect("its ports are free");
    let mut first = local.connect(1);
    first.query(KEYSPACE_OF_TWO).expect("all nodes are up");
    first.query(TABLE).expect("all nodes are up");
    for key in 0..KEYS {
        let insert = format!("INSERT INTO lone.t (k, v) VALUES ({key}, 'kept {key}')");
        until("all replicas take the row", || first.query_at(&insert, Consistency::All).is_ok());
    }
    // The only seed of a start without others, and a voter: its ranges are copied from the other replicas.
    let said = local.refused(&["replace", "1"]);
    assert!(said.starts_with("node 1 is up; `helenus cluster kill 1"), "{said}");
    local.done(&["kill", "1"]);
    let said = local.done(&["replace", "1"]);
    assert!(said.starts_with("node 1 has been replaced; its earlier data stays in "), "{said}");
    local.all_are("up", "UN", 4);
    let mut first = local.connect(1);
    has_all_rows(&mut first);
    local.done(&["kill", "4"]);
    let said = local.done(&["remove", "4"]);
    assert!(said.starts_with("node 4 has left the ring; its data stays in "), "{said}");
    has_all_rows(&mut first);
    let said = local.done(&["remove", "3"]);
    assert!(said.starts_with("node 3 has left the ring; its data stays in "), "{said}");
    local.all_are("up", "UN", 2);
    has_all_rows(&mut first);
    let few = "node 2 cannot leave the ring: Not enough live nodes to maintain replication factor in keyspace lone (RF = 2, N = 2).";
    let said = local.refused(&["remove", "2"]);
    assert!(said.starts_with(few), "{said}");
    let said = local.done(&["remove", "2", "--force"]);
    assert!(said.starts_with("node 2 has left the ring; its data stays in "), "{said}");
    local.all_are("up", "UN", 1);
    has_all_rows(&mut first);
    assert_eq!(local.refused(&["remove", "2"]), "node 2 has left the ring");
    assert_eq!(local.refused(&["kill", "4"]), "node 4 has left the ring");
    let last = "node 1 cannot leave the ring: no other normal nodes in the ring; decommission would be pointless";
    assert_eq!(local.refused(&["remove", "1"]), last);
    let said = local.done(&["add"]);
    assert_eq!(said, format!("node 5 has joined the ring: {}\n", local.net.address(5)));
    has_all_rows(&mut local.connect(5));
    local.done(&["stop"]);
    assert!(local.refused(&["remove", "5"]).starts_with("node 5 is down, and so are all others; start another"));
    local.done(&["start"]);
    has_all_rows(&mut local.connect(5));
    local.done(&["stop"]);
    local.judge(5);
}

#[test]
fn a_command_that_cannot_be_done_says_why_and_does_nothing() {
    let local = Local::new("refused");
    assert_eq!(local.refused(&["status"]), "there is no cluster in cluster; `helenus cluster start` makes one");
    assert!(!local.dir().exists(), "nothing is made by a look");
    fs::create_dir(local.dir()).expect("it can be made");
    fs::write(local.dir().join("thesis.tex"), "mine").expect("it can be written");
    let said = local.start_new("1").expect_err("the folder is someone else's");
    assert_eq!(said, "cluster has other files and no cluster; choose another directory with --dir");
    fs::remove_file(local.dir().join("thesis.tex")).expect("it is there");

    let [native, ..] = local.net.ports();
    let address = format!("{}:{native}", local.net.address(2));
    let occupied = TcpListener::bind(&address).expect("no other test has it");
    let said = local.start_new("2").expect_err("a port is in use");
    assert!(said.starts_with(&format!("cannot start node 2: {address} is not free: ")), "{said}");
    assert!(!local.file(1, "pid").exists(), "no node is started before all can be");
    drop(occupied);
    local.start_new("1").expect("the cluster that could not be started left nothing");

    let said = local.refused(&["start", "--nodes", "2"]);
    assert_eq!(
        said,
        "the cluster in cluster has --nodes 1, which cannot change to 2; `helenus cluster add` adds a node"
    );
    for command in ["kill", "pause", "resume"] {
        let said = local.refused(&[command, "2"]);
        assert_eq!(said, "there is no node 2: the cluster in cluster has nodes 1 to 1");
    }
    local.all_are("up", "UN", 1);
    local.judge(1);
}

#[test]
fn a_node_that_ends_at_its_start_is_reported_with_its_reason() {
    let local = Local::new("ended");
    local.start_new("1").expect("its ports are free");
    local.done(&["stop"]);
    let said = local.refused(&["start", "--memory", "1K"]);
    assert!(said.starts_with("node 1 ended before it was ready: "), "{said}");
    assert!(said.contains("memory") && said.ends_with("/cluster/node1/log"), "{said}");
    local.done(&["start", "--memory", "256M"]);
    local.all_are("up", "UN", 1);
}

/// A process of this test, killed at its end.
struct Bystander(Child);

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_is_not_the_node_s_gets_no_signal() {
    let local = Local::new("bystander");
    local.start_new("1").expect("its ports are free");
    local.done(&["kill", "1"]);
    let cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat is there");
    let mut bystander = Bystander(cat);
    let pid = bystander.0.id();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    // The 22nd field; the third follows the name.
    let started = stat.rsplit_once(')').and_then(|(_, after)| after.split_whitespace().nth(22 - 3));
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("the kernel has one");
    let exact = format!("{pid} {} {boot}", started.expect("there is a 22nd field"));
    // The pid alone is the bystander's; then all that a pid file says.
    for file in [format!("{pid} 1 {boot}"), exact] {
        fs::write(local.file(1, "pid"), file).expect("it can be written");
        for command in ["kill", "pause", "resume"] {
            assert_eq!(local.refused(&[command, "1"]), "node 1 is down");
        }
        assert_eq!(local.done(&["stop"]), "no node was up\n");
    }
    assert!(matches!(bystander.0.try_wait(), Ok(None)), "the bystander got a signal");
    fs::write(local.file(1, "pid"), "nonsense").expect("it can be written");
    let said = local.refused(&["kill", "1"]);
    assert!(said.contains("node1/pid is damaged or of another version"), "{said}");
}
