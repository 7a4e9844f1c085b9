//! Seeds: the nodes that a cluster is entered through. A node is a cluster of its own yet, so that seeds may name it alone: a node that
//! started beside the cluster that it was meant for would take writes which that cluster never sees.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::place::Place;
use super::yaml::Node;
use super::{ConfigError, address};

/// The seeds that were named, where, and the names of this node.
#[derive(Debug, Default)]
pub struct Seeds {
    /// The key or flag, with its place.
    place: String,
    named: Vec<String>,
    /// Addresses between nodes: those that seeds are compared with first.
    own: Vec<String>,
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
            ("listen_address" | "broadcast_address", Node::Text(address)) => self.own.push(address.clone()),
            _ => {}
        }
        Ok(matches!(key, "seed_provider" | "seeds"))
    }

    /// Takes the seeds that `place` names, separated by commas, instead of those before.
    pub(super) fn name(&mut self, place: String, seeds: &str) {
        self.place = place;
        self.named = seeds.split(',').map(|seed| seed.trim().to_owned()).filter(|seed| !seed.is_empty()).collect();
    }

    /// Adds an address of this node.
    pub(super) fn own(&mut self, address: &str) {
        self.own.push(address.to_owned());
    }

    /// Refuses seeds that name another node. `client_addresses` are those that clients reach this one at.
    pub(super) fn check(&self, client_addresses: &[IpAddr]) -> Result<(), ConfigError> {
        let own: Vec<IpAddr> = self.own.iter().filter_map(|name| address_of(name)).collect();
        let is_own = |address: IpAddr| {
            own.contains(&address)
                || (self.own.is_empty() && client_addresses.contains(&address))
                // A node that has no loopback address of its own means itself by any.
                || (address.is_loopback() && !own.iter().any(IpAddr::is_loopback))
        };
        for seed in &self.named {
            if !self.own.contains(seed) && !address_of(seed).is_some_and(is_own) {
                return Err(ConfigError::ForeignSeed { place: self.place.clone(), seed: seed.clone() });
            }
        }
        Ok(())
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
fn address_of(seed: &str) -> Option<IpAddr> {
    if let Ok(address) = seed.parse::<SocketAddr>() {
        return Some(address.ip());
    }
    if let Ok(address) = seed.parse() {
        return Some(address);
    }
    let host = match seed.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => seed,
    };
    if host == "localhost" { Some(IpAddr::V4(Ipv4Addr::LOCALHOST)) } else { address::parse(host).ok() }
}
