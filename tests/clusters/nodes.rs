//! Nodes of one test: how they are started, and what all of them are asked at once.

use std::time::{Duration, Instant};

pub use helenus_tests::Net;
use helenus_tests::{Builder, Connection, Server, http};
use serde_json::Value;

/// A machine that takes longer than this hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Three nodes of one cluster.
pub struct Three {
    /// Their addresses.
    pub net: Net,
    /// How each starts.
    pub builders: [Builder; 3],
    /// The processes; `None` for one that is down.
    pub servers: [Option<Server>; 3],
    /// The one that founded the cluster, which leads it first.
    pub founder: usize,
}

impl Three {
    /// Starts three nodes with nothing, of which two are seeds, and waits until all of them vote.
    pub fn start() -> Three {
        let net = Net::new();
        let builders = [1, 2, 3].map(|number| net.node(number, &[1, 2]));
        Three::of(net, builders)
    }

    /// The same of nodes that are configured already.
    pub fn of(net: Net, builders: [Builder; 3]) -> Three {
        let mut servers = start_all(&builders);
        let founders: Vec<usize> = (0..3).filter(|node| says(&servers[*node], FOUNDING)).collect();
        assert_eq!(founders.len(), 1, "one node founds the cluster, but {founders:?} did");
        let founder = founders[0];
        wait_for_voters(&mut servers[founder], 3);
        // It is committed after the change of the voters, and by the new ones.
        connect(&servers[founder]).query(KEYSPACE).expect("a majority is up");
        Three { net, builders, servers: servers.map(Some), founder }
    }

    /// A node whose disk is to be an older one, which is no founder, and the others.
    pub fn restored_and_others(&self) -> (usize, [usize; 2]) {
        let restored = (self.founder + 1) % 3;
        (restored, [(restored + 1) % 3, (restored + 2) % 3])
    }

    /// A node that runs.
    pub fn server(&mut self, node: usize) -> &mut Server {
        self.servers[node].as_mut().expect("the node runs")
    }

    /// A new connection to it.
    pub fn connect(&mut self, node: usize) -> Connection {
        connect(self.server(node))
    }

    /// Kills a node.
    pub fn kill(&mut self, node: usize) {
        self.servers[node].take().expect("the node runs").kill();
    }

    /// Starts a node again and waits until it is ready.
    pub fn restart(&mut self, node: usize) {
        self.servers[node] = Some(self.builders[node].start());
    }

    /// Starts nodes again at once, and waits until they are ready.
    pub fn restart_all(&mut self, nodes: &[usize]) {
        nodes.iter().for_each(|node| self.servers[*node] = Some(self.builders[*node].launch()));
        nodes.iter().for_each(|node| self.server(*node).wait_until_ready());
    }

    /// Waits until all nodes have the same schema, and gives the names that a query finds on each of them.
    pub fn agreed(&mut self, query: &str) -> Vec<u8> {
        let mut clients = [0, 1, 2].map(|node| self.connect(node));
        wait_for_one_schema(&mut clients);
        let [first, second, third] = clients.each_mut().map(|client| client.query(query).expect("a local read").body);
        assert!(first == second && second == third, "one schema version, and different schemas");
        first
    }

    /// Ends all nodes in order, and judges their logs.
    pub fn stop(self) {
        self.servers.into_iter().flatten().for_each(Server::stop);
    }
}

/// Starts nodes at once, and waits until all are ready.
pub fn start_all<const N: usize>(builders: &[Builder; N]) -> [Server; N] {
    let mut servers = builders.each_ref().map(Builder::launch);
    servers.iter_mut().for_each(Server::wait_until_ready);
    servers
}

/// Starts nodes that answer operators, one after the other. The first is the seed of all.
pub fn start_for_operators<const N: usize>(net: &Net) -> ([Builder; N], [Server; N]) {
    let node = |index| {
        let number = u8::try_from(index + 1).expect("few nodes");
        net.node_at(number, Builder::new("auto", 1).for_operators(), &[1])
    };
    let builders = std::array::from_fn(node);
    let servers = builders.each_ref().map(Builder::start);
    (builders, servers)
}

/// Kills a node that may have written errors to its log, but has not panicked. Gives its log.
pub fn kill_despite_errors(server: Server) -> Vec<String> {
    let said = server.kill_without_judging();
    assert!(!said.iter().any(|line| line.contains("panicked")), "{said:?}");
    said
}

/// A keyspace with a copy on each of three nodes.
pub const KEYSPACE: &str =
    "CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}";
/// A keyspace with one copy.
pub const KEYSPACE_OF_ONE: &str =
    "CREATE KEYSPACE IF NOT EXISTS lone WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
/// In the line of a node that founds a cluster.
pub const FOUNDING: &str = "founding a metadata group";

/// In the line of a node whose start the cluster knows.
pub const REGISTERED: &str = "registered this start with the cluster";

/// True if the node has said so by now.
pub fn says(server: &Server, words: &str) -> bool {
    server.lines().iter().any(|line| line.contains(words))
}

/// A new connection.
pub fn connect(server: &Server) -> Connection {
    Connection::start(&server.address()).expect("a node that is ready accepts clients")
}

/// Waits until the leader makes so many nodes voters.
pub fn wait_for_voters(leader: &mut Server, count: usize) {
    // An array of host ids, with commas between them.
    let line = leader.wait_for_line(&["changing the voters of the metadata group"]);
    let voters = line.split_once('[').and_then(|(_, of)| of.split_once(']')).map(|(of, _)| of.split(',').count());
    assert_eq!(voters, Some(count), "{line}");
}

/// Waits until the clients' nodes have the same schema.
pub fn wait_for_one_schema(clients: &mut [Connection]) {
    until("one schema on all nodes", || {
        let answers = clients.iter_mut().map(|client| client.query("SELECT schema_version FROM system.local"));
        let versions: Vec<Vec<u8>> = answers.map(|answer| answer.expect("a local read").body).collect();
        versions.windows(2).all(|pair| pair[0] == pair[1])
    });
}

/// The host id of the client's node.
pub fn host_id(client: &mut Connection) -> [u8; 16] {
    let answer = client.query("SELECT host_id FROM system.local").expect("a local read").body;
    // The value is all that follows the metadata of the rows.
    *answer.last_chunk().expect("a UUID")
}

/// The answer of a node to an operator.
pub fn value(server: &Server, target: &str) -> Value {
    let answer = http(server.api_port, "GET", target).expect("the node answers operators");
    assert_eq!(answer.status, 200, "{target}: {}", answer.body);
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{target}: {error}: {}", answer.body))
}

/// The number of the node with this address.
pub fn number_of(address: &str) -> u8 {
    address.rsplit('.').next().and_then(|last| last.parse().ok()).expect("an address of a node")
}

/// Waits for a condition.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::yield_now();
    }
}

/// True if a text, or other bytes, are among the bytes.
pub fn has(bytes: &[u8], part: impl AsRef<[u8]>) -> bool {
    let part = part.as_ref();
    bytes.windows(part.len()).any(|window| window == part)
}
