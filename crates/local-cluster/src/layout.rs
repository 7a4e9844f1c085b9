//! The cluster as a value: its addresses, its ports, and the command line of each node. It is kept as JSON in the folder.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::arguments::StartArguments;
use crate::error::LocalClusterError;

/// More processes than a development machine runs well; each address has a number below 255.
pub(crate) const NODES_MAX: u8 = 32;
/// Nodes of a new cluster.
const NODES: u8 = 3;
/// Seeds of a cluster: more would only make its founding wait for more nodes.
const SEEDS_MAX: u8 = 3;
/// The shard-aware port above the CQL port, as `helenus serve` has it.
const SHARD_AWARE_OFFSET: u16 = 10_000;
/// The version of the description.
const VERSION: u32 = 1;
/// Cluster name that drivers see.
const CLUSTER_NAME: &str = "local";

/// The description of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layout {
    version: u32,
    prefix: String,
    port: u16,
    storage_port: u16,
    api_port: u16,
    shards: u16,
    memory: String,
    /// The first nodes are seeds.
    seeds: u8,
    /// The highest number that a node had.
    nodes: u8,
    /// Nodes that have left the ring. Their numbers are not used again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    removed: BTreeSet<u8>,
}

/// The disk that a node starts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    /// Its own, or the first one.
    Own,
    /// An empty one in the place of its own: it replaces itself.
    Empty,
}

impl Layout {
    /// A new cluster.
    pub(crate) fn new(arguments: &StartArguments) -> Result<Layout, LocalClusterError> {
        let nodes = arguments.nodes.unwrap_or(NODES);
        let layout = Layout {
            version: VERSION,
            prefix: arguments.prefix.clone().unwrap_or_else(|| "127.0.0".to_owned()),
            port: arguments.port.unwrap_or(9042),
            storage_port: arguments.storage_port.unwrap_or(7000),
            api_port: arguments.api_port.unwrap_or(10_000),
            shards: arguments.smp.unwrap_or(1),
            memory: arguments.memory.clone().unwrap_or_else(|| "256M".to_owned()),
            seeds: nodes.min(SEEDS_MAX),
            nodes,
            removed: BTreeSet::new(),
        };
        layout.check().map_err(|(flag, reason)| LocalClusterError::Flag { flag, reason })?;
        Ok(layout)
    }

    /// Takes the flags that may change from one start to the next. Fails if one of the others contradicts the cluster.
    pub(crate) fn take(&mut self, arguments: &StartArguments, dir: &Path) -> Result<(), LocalClusterError> {
        let contradicts = |flag, given: Option<String>, existing: String, hint| match given {
            Some(given) if given != existing => {
                Err(LocalClusterError::Fixed { dir: dir.to_owned(), flag, existing, given, hint })
            }
            _ => Ok(()),
        };
        let number = |given: Option<u16>| given.map(|number| number.to_string());
        let more = "; `helenus cluster add` adds a node";
        contradicts("--nodes", arguments.nodes.map(|count| count.to_string()), self.count().to_string(), more)?;
        contradicts("--prefix", arguments.prefix.clone(), self.prefix.clone(), "")?;
        contradicts("--port", number(arguments.port), self.port.to_string(), "")?;
        contradicts("--storage-port", number(arguments.storage_port), self.storage_port.to_string(), "")?;
        contradicts("--api-port", number(arguments.api_port), self.api_port.to_string(), "")?;
        self.shards = arguments.smp.unwrap_or(self.shards);
        self.memory = arguments.memory.clone().unwrap_or_else(|| self.memory.clone());
        Ok(())
    }

    /// Reads a description.
    pub(crate) fn parse(text: &str) -> Result<Layout, String> {
        let layout: Layout = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match layout.version {
            VERSION => layout.check().map_err(|(_, reason)| reason)?,
            other => return Err(format!("its version is {other}, not {VERSION}")),
        }
        Ok(layout)
    }

    /// The description as text.
    pub(crate) fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("numbers and texts");
        text.push('\n');
        text
    }

    /// The flag whose value cannot be used, and why.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if !(1..=NODES_MAX).contains(&self.nodes) || !(1..=self.nodes).contains(&self.seeds) {
            return Err(("--nodes", format!("{} nodes with {} seeds are no cluster", self.nodes, self.seeds)));
        }
        if self.numbers().next().is_none() {
            return Err(("--nodes", "all nodes have left the ring".to_owned()));
        }
        match format!("{}.1", self.prefix).parse::<Ipv4Addr>() {
            Ok(address) if address.is_loopback() => {}
            _ => {
                let reason =
                    format!("'{}' is not three parts of an address on loopback, for example 127.0.0", self.prefix);
                return Err(("--prefix", reason));
            }
        }
        let mut ports: Vec<u16> = self.ports().map(|(_, port)| port).collect();
        ports.sort_unstable();
        match ports.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(twice) => Err(("--port", format!("port {} is used twice by each node", twice[0]))),
            None => Ok(()),
        }
    }

    /// Count of nodes.
    pub(crate) fn count(&self) -> usize {
        self.numbers().count()
    }

    /// The highest number that a node had.
    pub(crate) fn last(&self) -> u8 {
        self.nodes
    }

    /// The numbers of all nodes, ascending.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u8> + use<> {
        let removed = self.removed.clone();
        (1..=self.nodes).filter(move |number| !removed.contains(number))
    }

    /// The number of the first node.
    pub(crate) fn first(&self) -> u8 {
        self.numbers().next().expect("a cluster has a node")
    }

    /// True if the node has left the ring.
    pub(crate) fn has_left(&self, number: u8) -> bool {
        self.removed.contains(&number)
    }

    /// The cluster without a node that has left the ring.
    pub(crate) fn without(&self, number: u8) -> Layout {
        let removed: BTreeSet<u8> = self.removed.iter().copied().chain([number]).collect();
        let layout = Layout { removed, ..self.clone() };
        assert!(layout.numbers().next().is_some(), "the last node does not leave");
        layout
    }

    /// The nodes that all others ask for the cluster: of the first ones those that are there, or else the first that is.
    fn seeds(&self) -> Vec<u8> {
        let seeds: Vec<u8> = self.numbers().take_while(|number| *number <= self.seeds).collect();
        if seeds.is_empty() { vec![self.first()] } else { seeds }
    }

    /// One more node.
    pub(crate) fn add(&mut self) -> Result<u8, LocalClusterError> {
        if self.nodes >= NODES_MAX {
            return Err(LocalClusterError::Full { count: self.nodes });
        }
        self.nodes += 1;
        Ok(self.nodes)
    }

    /// The cluster without the node that was added last.
    pub(crate) fn without_last(&self) -> Layout {
        assert!(self.nodes > self.seeds, "a seed was not added last");
        Layout { nodes: self.nodes - 1, ..self.clone() }
    }

    /// The address of a node.
    pub(crate) fn address(&self, number: u8) -> Ipv4Addr {
        assert!((1..=NODES_MAX).contains(&number), "node {number} has no address");
        format!("{}.{number}", self.prefix).parse().expect("the prefix was checked")
    }

    /// The admin API of a node.
    pub(crate) fn api(&self, number: u8) -> SocketAddr {
        SocketAddr::from((self.address(number), self.api_port))
    }

    /// Where a node accepts clients.
    pub(crate) fn native(&self, number: u8) -> SocketAddr {
        SocketAddr::from((self.address(number), self.port))
    }

    /// The ports on which each node listens, with the flag that chooses them.
    pub(crate) fn ports(&self) -> impl Iterator<Item = (&'static str, u16)> {
        let shard_aware = self.port.checked_add(SHARD_AWARE_OFFSET).map(|port| ("--port", port));
        [("--port", self.port), ("--storage-port", self.storage_port), ("--api-port", self.api_port)]
            .into_iter()
            .chain(shard_aware)
    }

    /// The arguments of a node's process. Paths are absolute.
    pub(crate) fn arguments(&self, number: u8, disk: Disk, data: &Path, secret: &Path) -> Vec<std::ffi::OsString> {
        let address = self.address(number).to_string();
        let seeds: Vec<u8> = match disk {
            Disk::Own => self.seeds(),
            // It may be the only seed of the others.
            Disk::Empty => self.numbers().filter(|other| *other != number).collect(),
        };
        let seeds: Vec<String> = seeds.into_iter().map(|seed| self.address(seed).to_string()).collect();
        let replace = (disk == Disk::Empty).then(|| ("--replace", address.clone()));
        let flags = [
            ("--listen", address.clone()),
            ("--port", self.port.to_string()),
            ("--listen-address", address.clone()),
            ("--storage-port", self.storage_port.to_string()),
            ("--seeds", seeds.join(",")),
            ("--api-address", address),
            ("--api-port", self.api_port.to_string()),
            ("--prometheus-port", "0".to_owned()),
            ("--smp", self.shards.to_string()),
            ("--overprovisioned", "1".to_owned()),
            ("--memory", self.memory.clone()),
            ("--cluster-name", CLUSTER_NAME.to_owned()),
        ];
        let mut arguments = vec!["serve".into(), "--data-dir".into(), data.into()];
        arguments.extend(["--internode-secret-file".into(), secret.into()]);
        arguments.extend(flags.into_iter().chain(replace).flat_map(|(flag, value)| [flag.into(), value.into()]));
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_back() {
        let layout = Layout::new(&StartArguments::default()).expect("defaults fit");
        assert_eq!(Layout::parse(&layout.text()), Ok(layout.clone()));
        assert_eq!((layout.count(), layout.address(3).to_string().as_str()), (3, "127.0.0.3"));
        let other = layout.text().replace("\"version\": 1", "\"version\": 2");
        assert_eq!(Layout::parse(&other), Err("its version is 2, not 1".to_owned()));
        assert!(Layout::parse("{}").is_err());
        assert!(Layout::parse(&layout.text().replace("\"seeds\": 3", "\"seeds\": 4")).is_err());
    }

    #[test]
    fn only_addresses_on_loopback_and_ports_that_differ_fit() {
        let refused = |arguments: StartArguments| Layout::new(&arguments).expect_err("it does not fit").to_string();
        for prefix in ["10.0.0", "127.0", "127.0.0.", "x"] {
            let said = refused(StartArguments { prefix: Some(prefix.to_owned()), ..StartArguments::default() });
            assert!(said.starts_with(&format!("--prefix: '{prefix}' is not")), "{said}");
        }
        let same = StartArguments { storage_port: Some(19_042), ..StartArguments::default() };
        assert_eq!(refused(same), "--port: port 19042 is used twice by each node");
    }

    #[test]
    fn a_later_start_may_change_shards_and_memory_alone() {
        let mut layout = Layout::new(&StartArguments::default()).expect("defaults fit");
        let other = StartArguments { smp: Some(2), memory: Some("1G".to_owned()), ..StartArguments::default() };
        layout.take(&other, Path::new("d")).expect("both may change");
        assert_eq!((layout.shards, layout.memory.as_str()), (2, "1G"));
        let same = StartArguments { nodes: Some(3), port: Some(9042), ..StartArguments::default() };
        layout.take(&same, Path::new("d")).expect("nothing changes");
        let more = StartArguments { nodes: Some(5), ..StartArguments::default() };
        let said = layout.take(&more, Path::new("d")).expect_err("nodes are added one by one").to_string();
        assert_eq!(said, "the cluster in d has --nodes 3, which cannot change to 5; `helenus cluster add` adds a node");
    }

    #[test]
    fn a_new_node_has_the_first_ones_as_seeds() {
        let mut layout =
            Layout::new(&StartArguments { nodes: Some(1), ..StartArguments::default() }).expect("one node fits");
        assert_eq!(layout.add().expect("there is room"), 2);
        let arguments = layout.arguments(2, Disk::Own, Path::new("/d"), Path::new("/s"));
        let after =
            |flag: &str| arguments.iter().skip_while(|word| *word != flag).nth(1).and_then(|word| word.to_str());
        assert_eq!((after("--seeds"), after("--listen")), (Some("127.0.0.1"), Some("127.0.0.2")));
        assert_eq!(layout.without_last().count(), 1);
        layout.nodes = NODES_MAX;
        assert!(layout.add().is_err());
    }

    #[test]
    fn a_node_that_has_left_is_no_seed_and_its_number_is_not_used_again() {
        let mut layout = Layout::new(&StartArguments::default()).expect("defaults fit").without(1).without(3);
        assert_eq!((layout.numbers().collect::<Vec<_>>(), layout.count(), layout.first()), (vec![2], 1, 2));
        assert!(layout.has_left(3) && !layout.has_left(2));
        assert_eq!(layout.seeds(), [2]);
        assert_eq!(layout.add().expect("there is room"), 4);
        assert_eq!(Layout::parse(&layout.text()), Ok(layout.clone()));
        layout = layout.without(2);
        assert_eq!(layout.seeds(), [4], "some node is asked");
        let none = layout.text().replace("\"nodes\": 4", "\"nodes\": 3");
        assert_eq!(Layout::parse(&none), Err("all nodes have left the ring".to_owned()));
    }
}
