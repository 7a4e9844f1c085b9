//! Nodes on hosts of their own, and the troubles they get into: killed, stopped, cut off, with another wall clock.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use helenus_tests::{Builder, Connection, Random, Server};

use super::hosts::{Direction, Host, hosts};
use crate::clusters::nodes::{connect, until, wait_for_one_schema};

/// Ports, which are the same on each host.
const NATIVE_PORT: u16 = 9042;
const STORAGE_PORT: u16 = 7000;
/// The most that a wall clock jumps: ten minutes.
const SKEW_NANOS_MAX: usize = 600_000_000_000;

/// A trouble of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// SIGKILL, and a start.
    Kill,
    /// SIGSTOP, and SIGCONT.
    Pause,
    /// Packets that are dropped: those it sends, those for it, or both.
    Partition,
    /// A wall clock that jumps, and jumps back.
    Clock,
}

/// A node and what it needs to be started again.
struct Node {
    host: Host,
    builder: Builder,
    server: Option<Server>,
    /// The nanoseconds that its wall clock is ahead.
    clock: PathBuf,
    dropped: Vec<Direction>,
    is_paused: bool,
}

/// A cluster, each of whose nodes has a host.
pub struct Ring {
    nodes: Vec<Node>,
    /// Its folder has the library of the clocks.
    _library: Builder,
}

impl Ring {
    /// Starts so many nodes, of which two are seeds, and makes these tables in a keyspace that has a copy of all on each of up to three of them.
    pub fn start(count: usize, tables: &[&str]) -> Ring {
        let hosts = hosts(count);
        let seeds = hosts.iter().take(2).map(|host| host.address.clone()).collect::<Vec<_>>().join(",");
        let library = Builder::new("auto", 1);
        let shim = build_clock(&library.folder());
        let nodes: Vec<Node> = hosts.into_iter().map(|host| Node::new(host, &seeds, &shim)).collect();
        let mut ring = Ring { nodes, _library: library };
        ring.nodes.iter_mut().for_each(|node| node.server = Some(node.builder.launch()));
        ring.wait_until_ready();
        let factor = count.min(3);
        let keyspace = format!(
            "CREATE KEYSPACE IF NOT EXISTS ring WITH replication = \
             {{'class': 'NetworkTopologyStrategy', 'datacenter1': {factor}}}"
        );
        let address = ring.addresses()[0].clone();
        for statement in std::iter::once(keyspace.as_str()).chain(tables.iter().copied()) {
            // A leader may have to be elected first.
            until(statement, || Connection::start(&address).is_ok_and(|mut client| client.query(statement).is_ok()));
        }
        // A node that has just joined may not be among those that the answer waits for.
        let mut clients: Vec<Connection> = ring.servers().map(connect).collect();
        wait_for_one_schema(&mut clients);
        ring
    }

    fn servers(&self) -> impl Iterator<Item = &Server> {
        self.nodes.iter().filter_map(|node| node.server.as_ref())
    }

    /// Nodes.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The addresses of all nodes for clients.
    pub fn addresses(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("{}:{NATIVE_PORT}", node.host.address)).collect()
    }

    /// Waits until all nodes that were started are ready.
    fn wait_until_ready(&mut self) {
        self.nodes.iter_mut().filter_map(|node| node.server.as_mut()).for_each(Server::wait_until_ready);
    }

    /// Gets a node into a trouble.
    pub fn begin(&mut self, node: usize, trouble: Trouble, random: &mut Random) {
        let node = &mut self.nodes[node];
        match trouble {
            Trouble::Kill => node.server.take().expect("it runs").kill(),
            Trouble::Pause => {
                node.server.as_ref().expect("it runs").pause();
                node.is_paused = true;
            }
            Trouble::Partition => {
                let both = [Direction::Sent, Direction::Received];
                let dropped = [&both[..1], &both[1..], &both[..]][random.below(3)];
                dropped.iter().for_each(|direction| node.host.drop_packets(*direction));
                node.dropped = dropped.to_vec();
            }
            Trouble::Clock => {
                let ahead = random.below(2 * SKEW_NANOS_MAX) as i64 - SKEW_NANOS_MAX as i64;
                node.set_clock(ahead);
            }
        }
    }

    /// Ends all troubles of all nodes, and waits until they are ready.
    pub fn heal(&mut self) {
        for node in &mut self.nodes {
            node.dropped.drain(..).for_each(|direction| node.host.pass_packets(direction));
            node.set_clock(0);
            if std::mem::take(&mut node.is_paused) {
                node.server.as_ref().expect("it is stopped").resume();
            }
            if node.server.is_none() {
                until("the killed server's ports are free", || node.host.is_silent());
                node.server = Some(node.builder.launch());
            }
        }
        self.wait_until_ready();
    }

    /// Ends all nodes in order, and judges their logs.
    pub fn stop(self) {
        self.nodes.into_iter().filter_map(|node| node.server).for_each(Server::stop);
    }
}

impl Node {
    fn new(host: Host, seeds: &str, shim: &Path) -> Node {
        let builder = Builder::new("auto", 1);
        let clock = builder.folder().join("clock");
        std::fs::write(&clock, 0_i64.to_ne_bytes()).expect("the temporary folder can be written");
        // Nothing but this test reaches the hosts' network.
        let arguments = ["--listen-address", &host.address, "--seeds", seeds, "--memory", "256M", "--insecure"];
        let builder = builder.within(&host.within()).listening_on(&host.address).on_ports(NATIVE_PORT, 0);
        let builder = builder.on_storage_port(STORAGE_PORT).with(&arguments);
        let builder = builder.with_variable("LD_PRELOAD", shim).with_variable("HELENUS_TEST_CLOCK", &clock);
        Node { host, builder, server: None, clock, dropped: Vec::new(), is_paused: false }
    }

    /// The wall clock is so many nanoseconds ahead from now on.
    fn set_clock(&self, ahead: i64) {
        let file = OpenOptions::new().write(true).open(&self.clock).expect("it was written before");
        file.write_all_at(&ahead.to_ne_bytes(), 0).expect("the temporary folder can be written");
    }
}

/// Builds the library that gives a process a wall clock of its own.
fn build_clock(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("clusters/jepsen/clock.c");
    let library = folder.join("clock.so");
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(&library).arg(&source);
    let output = command.output().expect("a C compiler is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}
