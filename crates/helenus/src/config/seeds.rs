//! Seeds: the nodes that a cluster is entered through. Seeds that name this node alone, on loopback and in a file, as every `cassandra.yaml` has
//! them, are of a node that is to be alone.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use super::place::Place;
use super::yaml::Node;
use super::{ConfigError, address};

/// The seeds that were named, where, and the names of this node.
#[derive(Debug, Default)]
pub struct Seeds {
    /// The key or flag, with its place.
    place: String,
    named: Vec<String>,
    /// They were named on the command line.
    is_flag: bool,
    /// The node's addresses between nodes, and where they are written.
    listen: Option<(String, String)>,
    broadcast: Option<(String, String)>,
}

impl Seeds {
    /// Reads a key of the file that is about seeds or names this node. True if nothing else is to be done with it.
    pub(super) fn read(&mut self, place: &Place<'_>, key: &str, value: &Node) -> Result<bool, ConfigError> {
        match (key, value) {
            ("seed_provider", provider) => {
                if let Some(class) = entry(provider, "class_name") {
                    place.must_be_class(class, "SimpleSeedProvider")?;
                }
                if let Some(seeds) = entry(provider, "seeds") {
                    self.name(place.to_string(), place.text(seeds)?);
                }
            }
            ("seeds", Node::Text(seeds)) => self.name(place.to_string(), seeds),
            ("listen_address", Node::Text(address)) => self.listen = Some((place.to_string(), address.clone())),
            ("broadcast_address", Node::Text(address)) => self.broadcast = Some((place.to_string(), address.clone())),
            _ => {}
        }
        Ok(matches!(key, "seed_provider" | "seeds" | "listen_address" | "broadcast_address"))
    }

    /// Takes the seeds that `place` names, separated by commas, instead of those before.
    pub(super) fn name(&mut self, place: String, seeds: &str) {
        self.place = place;
        self.named = seeds.split(',').map(|seed| seed.trim().to_owned()).filter(|seed| !seed.is_empty()).collect();
    }

    /// The same for a flag.
    pub(super) fn name_by_flag(&mut self, flag: &str, seeds: &str) {
        self.name(flag.to_owned(), seeds);
        self.is_flag = true;
    }

    /// Takes the addresses of flags, where they are given.
    pub(super) fn addresses_of_flags(&mut self, listen: Option<&String>, broadcast: Option<&String>) {
        let of = |flag: &str, text: &String| (flag.to_owned(), text.clone());
        self.listen = listen.map(|text| of("--listen-address", text)).or(self.listen.take());
        self.broadcast = broadcast.map(|text| of("--broadcast-address", text)).or(self.broadcast.take());
    }

    /// The seeds' addresses; none if the node is to be alone. `listen` is its address between nodes, and `port` that of seeds without one.
    pub(super) fn addresses(&self, listen: IpAddr, port: u16) -> Result<BTreeSet<SocketAddr>, ConfigError> {
        let mut seeds = BTreeSet::new();
        for seed in &self.named {
            let unknown = |reason| ConfigError::UnknownSeed { place: self.place.clone(), reason };
            seeds.insert(address_of(seed, port).map_err(unknown)?);
        }
        let is_own = |seed: &SocketAddr| seed.ip() == listen && seed.port() == port;
        let is_alone = listen.is_loopback() && !self.is_flag && seeds.iter().all(is_own);
        Ok(if is_alone { BTreeSet::new() } else { seeds })
    }

    /// The node's address between nodes, if one was given.
    pub(super) fn listen_address(&self) -> Result<Option<IpAddr>, ConfigError> {
        let parse = |(place, text): &(String, String)| {
            address::parse(text).map_err(|reason| ConfigError::UnknownSeed { place: place.clone(), reason })
        };
        self.listen.as_ref().map(parse).transpose()
    }

    /// The address that other nodes reach it at, if it is another than the one that it listens on.
    pub(super) fn broadcast_address(&self) -> Result<Option<IpAddr>, ConfigError> {
        let parse = |(place, text): &(String, String)| {
            address::parse(text).map_err(|reason| ConfigError::UnknownSeed { place: place.clone(), reason })
        };
        self.broadcast.as_ref().map(parse).transpose()
    }
}

/// The value of `name` in the list or mapping, or in one inside of it.
fn entry<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    match node {
        Node::Map(entries) => match entries.iter().find(|(key, _)| key == name) {
            Some((_, value)) => Some(value),
            None => entries.iter().find_map(|(_, inner)| entry(inner, name)),
        },
        Node::List(list) => list.iter().find_map(|inner| entry(inner, name)),
        Node::Text(_) | Node::Nothing => None,
    }
}

/// The address of a seed, which a port may follow.
pub(super) fn address_of(seed: &str, port: u16) -> Result<SocketAddr, String> {
    if let Ok(address) = seed.parse::<SocketAddr>() {
        return Ok(address);
    }
    if let Ok(address) = seed.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let (host, port) = match seed.rsplit_once(':') {
        Some((host, given)) => (host, given.parse().map_err(|_| format!("'{given}' is no port of a seed"))?),
        None => (seed, port),
    };
    address::parse(host).map(|address| SocketAddr::new(address, port))
}
