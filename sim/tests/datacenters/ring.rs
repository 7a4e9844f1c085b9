//! A cluster of several datacenters with one table, and what its nodes answer at each level.

use std::time::Duration;

use cql_protocol::{Consistency, ErrorBody, ErrorKind, Failures};
use runtime::Runtime;
use runtime::sim::Link;
use sim::client::{Client, ClientError, Row};
use sim::cluster::NodeOptions;
use sim::group_site::GroupSite;
use sim::site::Site;
use topology::Strategies;

/// The longest that anything may take by the world's clock.
const AT_MOST: Duration = Duration::from_secs(120);
pub const WRITE: &str = "INSERT INTO ks.t (k, v) VALUES (1, 1)";
pub const READ: &str = "SELECT v FROM ks.t WHERE k = 1";

/// A cluster whose nodes all run at first. Datacenters are called `datacenter0` and so on.
pub struct Ring {
    pub site: GroupSite,
}

impl Ring {
    /// A cluster with so many nodes in each datacenter, put into so many racks by turns, and a keyspace `ks` with the table `t`. All nodes see each other.
    pub fn start(datacenters: &[usize], racks: usize, replication: &str, strategies: Strategies) -> Ring {
        let mut site =
            GroupSite::new(31, datacenters, 1, NodeOptions { memory_bytes: 64 << 20, ..NodeOptions::default() });
        site.set_racks(racks);
        site.set_strategies(strategies);
        let nodes = site.nodes().len();
        (0..nodes).for_each(|node| site.begin_start(node));
        let mut ring = Ring { site };
        ring.until("all nodes are ready", |ring| (0..nodes).all(|node| ring.site.is_ready(node)));
        ring.change(&format!("CREATE KEYSPACE ks WITH replication = {replication}"));
        ring.change("CREATE TABLE ks.t (k int PRIMARY KEY, v int) WITH speculative_retry = 'NEVER'");
        for node in 0..nodes {
            ring.until_up(node, nodes);
            // Connections for requests are dialled when they are needed first.
            ring.until("a node reaches all replicas", |ring| ring.says(node, Consistency::All, WRITE) == "ok");
        }
        ring
    }

    /// Runs a schema statement, which is to work, once the cluster has its leader.
    fn change(&mut self, text: &str) {
        let mut last = String::new();
        for _ in 0..20 {
            let owned = text.to_owned();
            match self.on(0, async move |client: &mut Client| client.change(&owned).await) {
                Ok(true) => return,
                other => last = format!("{other:?}"),
            }
            self.site.world().run_for(Duration::from_secs(1));
        }
        panic!("{text}: {last}");
    }

    /// The answer of a node to a client of its own.
    fn on<T: 'static>(
        &mut self,
        node: usize,
        ask: impl AsyncFnOnce(&mut Client) -> Result<T, ClientError> + 'static,
    ) -> Result<T, ClientError> {
        let (clients, address) = (self.site.clients(), self.site.native_address(node));
        let ask = async move |runtime: Runtime| {
            let mut client = Client::connect(&runtime, address).await?;
            ask(&mut client).await
        };
        let asking = self.site.world().start(clients, false, vec![ask]);
        self.site.world().run_until(|_| asking.is_over(), AT_MOST);
        asking.take_outputs().expect("each request is answered in time").pop().expect("there is one client")
    }

    /// A statement at a level, through one node.
    pub fn ask(&mut self, node: usize, level: Consistency, text: &'static str) -> Result<Vec<Row>, ErrorBody> {
        let answer = self.on(node, async move |client: &mut Client| {
            client.consistency = level;
            client.execute(text).await
        });
        answer.map_err(|error| match error {
            ClientError::Refused(body) => *body,
            other => panic!("{text} at {level:?} through node {node}: {other}"),
        })
    }

    /// The same in short words.
    pub fn says(&mut self, node: usize, level: Consistency, text: &'static str) -> String {
        match self.ask(node, level, text) {
            Ok(_) => "ok".to_owned(),
            Err(error) => in_short(error),
        }
    }

    /// Checks what a node says at each level, of a write and a read. `expected` has a line for each level: its name, then what both say, or what the
    /// write and the read say with a bar between.
    pub fn check(&mut self, node: usize, expected: &str) {
        for line in expected.trim().lines() {
            let (name, rest) = line.trim().split_once(' ').expect("a level and what is said");
            let level = Consistency::ALL
                .into_iter()
                .find(|level| format!("{level:?}").eq_ignore_ascii_case(&name.replace('_', "")));
            let level = level.unwrap_or_else(|| panic!("{name} is no level"));
            let (write, read) = rest.split_once('|').unwrap_or((rest, rest));
            for (text, words) in [(WRITE, write), (READ, read)] {
                assert_eq!(self.says(node, level, text), words.trim(), "{text} at {name} through node {node}");
            }
        }
    }

    /// Kills a node, and waits until another sees so many up.
    pub fn kill(&mut self, node: usize, seen_by: &[usize], up: usize) {
        let machine = self.site.nodes()[node];
        self.site.world().kill(machine);
        seen_by.iter().for_each(|node| self.until_up(*node, up));
    }

    /// Cuts all that a node says to others, which see it up for a while yet.
    pub fn cut(&mut self, node: usize) {
        let nodes = self.site.nodes();
        for other in (0..nodes.len()).filter(|other| *other != node) {
            self.site.world().set_link(nodes[node], nodes[other], Link { is_cut: true, ..Link::default() });
        }
    }

    /// The words with which a node that is being started ends.
    pub fn refusal(&mut self, node: usize) -> String {
        let mut refused = None;
        self.until("the node has ended", |ring| {
            refused = ring.site.take_refusal(node);
            refused.is_some()
        });
        refused.expect("it was waited for")
    }

    fn until_up(&mut self, node: usize, count: usize) {
        self.until(&format!("node {node} sees {count} nodes up"), |ring| {
            let facts = ring.site.facts(node, AT_MOST).expect("the node answers its operators");
            facts.ring.iter().filter(|node| node.is_up).count() == count
        });
    }

    fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Ring) -> bool) {
        let began = self.site.world().now();
        while !holds(self) {
            assert!(self.site.world().now() - began < AT_MOST, "not in time: {what}");
            self.site.world().run_for(Duration::from_millis(100));
        }
    }
}

/// An error with its numbers.
fn in_short(error: ErrorBody) -> String {
    let count = |failures: Failures| match failures {
        Failures::Count(count) => count,
        Failures::Reasons(_) => panic!("version 4 has no reasons"),
    };
    match error.kind {
        ErrorKind::Unavailable { required, alive, .. } => {
            let datacenter =
                error.message.split_once(" in DC ").map_or(String::new(), |(_, name)| format!(" in {name}"));
            format!("unavailable {alive}/{required}{datacenter}")
        }
        ErrorKind::WriteTimeout { received, block_for, .. } | ErrorKind::ReadTimeout { received, block_for, .. } => {
            format!("timeout {received}/{block_for}")
        }
        ErrorKind::WriteFailure { received, block_for, failures, .. }
        | ErrorKind::ReadFailure { received, block_for, failures, .. } => {
            format!("failure {received}/{block_for}, {} failed", count(failures))
        }
        ErrorKind::Invalid => format!("invalid: {}", error.message),
        _ => panic!("{error}"),
    }
}
