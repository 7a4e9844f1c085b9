//! A ring of several nodes, written by hand.

use std::net::SocketAddr;

use topology::{HostId, Token};

/// All nodes of a cluster and which of them this one is. Every node of the cluster is given the same nodes, in the same
/// order, with a `host_id` of its own, and the same cluster name.
///
/// Schema changes and truncations are not sent to other nodes: give the same statements to each, and `CREATE TABLE … WITH
/// id = …`, since nodes name tables to each other by their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedRing {
    /// This node, one of `nodes`. The metadata log takes it at the first start; later starts must agree with it.
    pub host_id: HostId,
    /// The nodes.
    pub nodes: Vec<FixedNode>,
}

/// One node of a [`FixedRing`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedNode {
    /// Its identity.
    pub host_id: HostId,
    /// Where it listens for the other nodes; its port is not 0. Without a secret it is on loopback, unless the network is trusted.
    pub internode: SocketAddr,
    /// Its datacenter.
    pub datacenter: String,
    /// Its rack.
    pub rack: String,
    /// The tokens it owns, at least one; no token is owned twice.
    pub tokens: Vec<Token>,
}

impl FixedRing {
    /// This node among the others.
    pub fn local(&self) -> Option<(usize, &FixedNode)> {
        self.nodes.iter().enumerate().find(|(_, node)| node.host_id == self.host_id)
    }

    /// Reason why the ring is invalid, as a sentence. `is_trusted`: nodes prove a secret to each other, or were started with `--insecure`.
    pub fn problem(&self, is_trusted: bool) -> Option<String> {
        if let Some((_, local)) = self.local()
            && !is_trusted
            && !local.internode.ip().is_loopback()
        {
            return Some(format!(
                "fixed ring: internode address {} is not loopback and there is neither internode_secret_file nor internode_encryption: all: any host that reaches the port could \
                 read and change all data; give all nodes the same secret or certificates, or start with --insecure if the network is trusted",
                local.internode.ip()
            ));
        }
        let mut tokens: Vec<Token> = self.nodes.iter().flat_map(|node| node.tokens.iter().copied()).collect();
        tokens.sort_unstable();
        let mut ids: Vec<HostId> = self.nodes.iter().map(|node| node.host_id).collect();
        ids.sort_unstable();
        match () {
            () if self.local().is_none() => Some(format!("fixed ring lacks this host ({})", self.host_id)),
            () if self.nodes.len() > usize::from(u16::MAX) => Some("fixed ring: too many nodes".to_owned()),
            () if self.nodes.iter().any(|node| node.tokens.is_empty()) => {
                Some("fixed ring: a node owns no token".to_owned())
            }
            () if tokens.windows(2).any(|pair| pair[0] == pair[1]) => {
                Some("fixed ring: two nodes own the same token".to_owned())
            }
            () if ids.windows(2).any(|pair| pair[0] == pair[1]) => Some("fixed ring: duplicate host id".to_owned()),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(address: &str) -> FixedRing {
        let node = FixedNode {
            host_id: HostId([1; 16]),
            internode: address.parse().expect("an address"),
            datacenter: "datacenter1".to_owned(),
            rack: "rack1".to_owned(),
            tokens: vec![Token(0)],
        };
        FixedRing { host_id: node.host_id, nodes: vec![node] }
    }

    #[test]
    fn an_address_beyond_loopback_needs_a_secret_or_trust() {
        assert_eq!(ring("127.0.0.1:7000").problem(false), None);
        assert_eq!(ring("10.0.0.1:7000").problem(true), None);
        let problem = ring("10.0.0.1:7000").problem(false).expect("it is open to the world");
        assert!(problem.contains("10.0.0.1 is not loopback") && problem.contains("--insecure"), "{problem}");
    }
}
