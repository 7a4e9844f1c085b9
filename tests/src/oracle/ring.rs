//! Scripts of rings: statements at three nodes, with all of them up, with one down, and with two down.
//!
//! A ring's scripts are run together, stage after stage: all of them as far as they go with all nodes up, then a node is killed, and so on. So a
//! recording starts each ring of real servers once. See `docs/internals/oracle.md`.

mod commands;
mod nodes;
mod script;
mod stages;
mod topology;

pub use commands::{check_ring, deviate_ring, mark_ring, record_ring, replay_ring, settle_ring};

/// A ring of real servers, and what it was started with.
#[derive(Clone, Debug)]
pub struct Ring {
    /// The folder of its scripts.
    pub topology: String,
    /// A hash of the configuration.
    pub hash: String,
    /// Where each node listens, and its process.
    pub nodes: Vec<(String, u32)>,
}

impl Ring {
    /// Reads `ring:topology=hash@address/process,address/process,…`.
    pub fn parse(argument: &str) -> Option<Ring> {
        let (topology, rest) = argument.strip_prefix("ring:")?.split_once('=')?;
        let (hash, nodes) = rest.split_once('@')?;
        let node = |node: &str| {
            let (address, process) = node.split_once('/')?;
            Some((address.to_string(), process.parse().ok()?))
        };
        let nodes = nodes.split(',').map(node).collect::<Option<Vec<_>>>()?;
        Some(Ring { topology: topology.into(), hash: hash.into(), nodes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_told_on_a_command_line() {
        let ring = Ring::parse("ring:two=ab@127.0.0.1:9042/7,127.0.0.2:9042/8").expect("a ring");
        assert_eq!((ring.topology.as_str(), ring.hash.as_str()), ("two", "ab"));
        assert_eq!(ring.nodes[1], ("127.0.0.2:9042".to_string(), 8));
        assert!(Ring::parse("ring:two=ab@127.0.0.1:9042").is_none());
        assert!(Ring::parse("two=ab@127.0.0.1:9042").is_none());
    }
}
