//! Three real Cassandras that are one ring, as `nodes.txt` of a folder of scripts places them: what the scripts of rings are recorded from.
//!
//! A node that is killed never starts again, so these take the shortcuts of the servers that answer for one node. What would choose replicas by how
//! fast they answer is off: the same question goes to the same nodes in each run.

use std::path::Path;
use std::process::Command;

use super::{Cassandra, FOR_ANSWERS, FOR_RINGS, JVM, LOGBACK, PERIODIC, fetch, hash};
use crate::workspace;

/// Room for some hundred tables, each of which takes a MiB of memtable.
const HEAP: &str = "-Xmx400m";
/// Where the scripts of rings lie, in folders named after their topologies.
const SCRIPTS: &str = "tests/oracle-ring";

/// How often a ring is started.
const STARTS_MAX: usize = 3;

/// A node's datacenter, rack and token.
type Place = [String; 3];

/// A running ring; dropped, its servers are ended.
pub struct CassandraRing {
    topology: String,
    hash: String,
    nodes: Vec<Cassandra>,
}

/// The part of a node's configuration that differs from start to start.
struct Ports<'a> {
    address: &'a str,
    seed: &'a str,
    native: u16,
    storage: u16,
}

impl CassandraRing {
    /// Starts the three servers of a topology and waits until they take connections. A server that finds no other at once gives up, as one does on
    /// a busy machine: then all are started again.
    pub fn start(topology: &str, free_port: fn() -> Result<u16, String>) -> Result<CassandraRing, String> {
        let mut failure = String::new();
        for _ in 0..STARTS_MAX {
            match CassandraRing::start_once(topology, free_port) {
                Ok(ring) => return Ok(ring),
                Err(message) => failure = message,
            }
        }
        Err(failure)
    }

    fn start_once(topology: &str, free_port: fn() -> Result<u16, String>) -> Result<CassandraRing, String> {
        let (places, settings) = (places(topology)?, settings()?);
        let (native, storage) = (free_port()?, free_port()?);
        // Addresses that no other run on this machine has.
        let process = std::process::id();
        let address = |number: usize| format!("127.{}.{}.{number}", 10 + process % 200, (process / 200) % 256);
        let mut ring =
            CassandraRing { topology: topology.to_owned(), hash: hash_of(&places, &settings), nodes: Vec::new() };
        for (place, number) in places.iter().zip(1..) {
            let (own, seed) = (address(number), address(1));
            let ports = Ports { address: &own, seed: &seed, native, storage };
            let folder = workspace::scratch(&format!("cassandra-{topology}-{number}"))?;
            let command = command(&folder, place, &settings, &ports, free_port()?)?;
            let mut node = Cassandra::run(command, folder, &own, native)?;
            // The seed first: the others find it there.
            if number == 1 {
                node.wait_until_it_listens()?;
            }
            ring.nodes.push(node);
        }
        ring.nodes.iter_mut().try_for_each(Cassandra::wait_until_it_listens)?;
        Ok(ring)
    }

    /// As the runner takes it: `ring:topology=hash@address/process,…`.
    pub fn argument(&self) -> String {
        let nodes: Vec<String> =
            self.nodes.iter().map(|node| format!("{}:{}/{}", node.address, node.port, node.pid())).collect();
        format!("ring:{}={}@{}", self.topology, self.hash, nodes.join(","))
    }
}

/// The names of all topologies.
pub fn topologies() -> Result<Vec<String>, String> {
    let folder = workspace::root().join(SCRIPTS);
    let unreadable = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn places(topology: &str) -> Result<Vec<Place>, String> {
    let text = read(&format!("{topology}/nodes.txt"))?;
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let place = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Place::try_from(words).map_err(|_| format!("{topology}: `{line}` is no datacenter, rack and token"))
    };
    lines.map(place).collect()
}

/// The lines that both servers have in their configuration.
fn settings() -> Result<String, String> {
    read("settings.yaml")
}

fn read(name: &str) -> Result<String, String> {
    let path = workspace::root().join(SCRIPTS).join(name);
    std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// A hash of all that is configured but addresses and ports.
fn hash_of(places: &[Place], settings: &str) -> String {
    let ports = Ports { address: "", seed: "", native: 0, storage: 0 };
    let nodes = places.iter().map(|place| configuration(place, settings, &ports) + &rackdc(place));
    let options = [&JVM[..], &FOR_ANSWERS, &FOR_RINGS, &[HEAP]].concat().join("\n");
    hash(&std::iter::once(options).chain(nodes).collect::<String>())
}

fn rackdc([datacenter, rack, _]: &Place) -> String {
    format!("dc={datacenter}\nrack={rack}\n")
}

fn configuration([_, _, token]: &Place, settings: &str, ports: &Ports<'_>) -> String {
    let Ports { address, seed, native, storage } = ports;
    format!(
        "cluster_name: Test Cluster\n\
         num_tokens: 1\n\
         initial_token: {token}\n\
         auto_bootstrap: false\n\
         partitioner: org.apache.cassandra.dht.Murmur3Partitioner\n\
         {PERIODIC}\
         listen_address: {address}\n\
         rpc_address: {address}\n\
         native_transport_port: {native}\n\
         storage_port: {storage}\n\
         endpoint_snitch: GossipingPropertyFileSnitch\n\
         dynamic_snitch: false\n\
         auto_snapshot: false\n\
         storage_compatibility_mode: NONE\n\
         {settings}\
         seed_provider:\n  - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n    parameters:\n      - seeds: \"{seed}:{storage}\"\n"
    )
}

fn command(folder: &Path, place: &Place, settings: &str, ports: &Ports<'_>, jmx: u16) -> Result<Command, String> {
    let jars = fetch()?;
    workspace::write(&folder.join("logback.xml"), LOGBACK)?;
    workspace::write(&folder.join("cassandra.yaml"), &configuration(place, settings, ports))?;
    workspace::write(&folder.join("cassandra-rackdc.properties"), &rackdc(place))?;
    let mut command = Command::new("java");
    command.args(JVM).args(FOR_ANSWERS).args(FOR_RINGS).arg(HEAP);
    command.arg(format!("-Dcassandra.jmx.local.port={jmx}"));
    command.arg(format!("-Dcassandra.config=file://{}", folder.join("cassandra.yaml").display()));
    command.arg(format!("-Dlogback.configurationFile={}", folder.join("logback.xml").display()));
    command.arg(format!("-Dcassandra.storagedir={}", folder.join("data").display()));
    // The snitch finds its file on the class path.
    command.arg("-cp").arg(format!("{}:{}/*", folder.display(), jars.display()));
    command.arg("org.apache.cassandra.service.CassandraDaemon");
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_topology_has_three_nodes_and_a_hash_of_its_own() {
        let settings = settings().expect("it is in the repository");
        let mut hashes = Vec::new();
        for topology in topologies().expect("the folder is in the repository") {
            let places = places(&topology).expect("it has nodes");
            assert_eq!(places.len(), 3, "{topology}");
            hashes.push(hash_of(&places, &settings));
        }
        let count = hashes.len();
        hashes.sort();
        hashes.dedup();
        assert!(count > 1 && hashes.len() == count, "{hashes:?}");
    }
}
