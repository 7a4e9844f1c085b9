//! Nodes of one test: how they are started, and what all of them are asked at once.

use std::time::{Duration, Instant};

pub use helenus_tests::Net;
use helenus_tests::{Builder, Connection, Server};

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
        let mut servers = builders.each_ref().map(Builder::launch);
        servers.iter_mut().for_each(Server::wait_until_ready);
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

    /// Waits until all nodes have the same schema, and gives the names that a query finds on each of them.
    pub fn agreed(&mut self, query: &str) -> Vec<u8> {
        let mut clients = [0, 1, 2].map(|node| self.connect(node));
        until("one schema on all nodes", || {
            let versions = clients.each_mut().map(schema_version);
            versions.iter().all(|version| *version == versions[0])
        });
        let [first, second, third] = clients.each_mut().map(|client| client.query(query).expect("a local read").body);
        assert!(first == second && second == third, "one schema version, and different schemas");
        first
    }

    /// Ends all nodes in order, and judges their logs.
    pub fn stop(self) {
        self.servers.into_iter().flatten().for_each(Server::stop);
    }
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

/// The bytes of the answer to a question for the schema's version.
pub fn schema_version(client: &mut Connection) -> Vec<u8> {
    client.query("SELECT schema_version FROM system.local").expect("a local read").body
}

/// Waits for a condition.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::yield_now();
    }
}

/// True if a text is among the bytes.
pub fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
