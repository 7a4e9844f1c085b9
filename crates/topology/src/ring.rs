//! The nodes of a cluster and the tokens that they own.

use std::net::SocketAddr;

use crate::token::Token;

/// A node's identity, a UUID made at its first start and kept for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub [u8; 16]);

impl std::fmt::Display for HostId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        stdx::write_uuid(&self.0, f)
    }
}

/// A node's place in [`Ring::nodes`]; meaningless with another ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u16);

/// One node as the ring sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its identity.
    pub host_id: HostId,
    /// Where clients reach it.
    pub address: SocketAddr,
    /// Its datacenter's name.
    pub datacenter: String,
    /// Its rack's name within the datacenter.
    pub rack: String,
    /// The tokens it owns: each the inclusive end of a range that begins behind the token before it on the ring.
    pub tokens: Vec<Token>,
}

/// The cluster's nodes and who owns which token. Immutable: a change makes a new ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    nodes: Vec<Node>,
    local: NodeIndex,
    /// Sorted by token, each token once.
    owners: Vec<(Token, NodeIndex)>,
}

impl Ring {
    /// A ring of `nodes` as seen by the one at `local`.
    ///
    /// Panics when `local` is not among them, or a token is owned twice: membership decides both before it builds a
    /// ring.
    pub fn new(nodes: Vec<Node>, local: NodeIndex) -> Self {
        assert!(usize::from(local.0) < nodes.len(), "the local node is part of its ring");
        let mut owners = Vec::with_capacity(nodes.iter().map(|node| node.tokens.len()).sum());
        for (index, node) in (0u16..).zip(&nodes) {
            owners.extend(node.tokens.iter().map(|&token| (token, NodeIndex(index))));
        }
        owners.sort_unstable();
        assert!(owners.windows(2).all(|pair| pair[0].0 < pair[1].0), "a token has one owner");
        Ring { nodes, local, owners }
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A node by its index in this ring.
    pub fn node(&self, index: NodeIndex) -> &Node {
        &self.nodes[usize::from(index.0)]
    }

    /// The index of the node that this process is.
    pub fn local(&self) -> NodeIndex {
        self.local
    }

    /// The node that this process is.
    pub fn local_node(&self) -> &Node {
        self.node(self.local)
    }

    /// All tokens and their owners, ascending.
    pub fn owners(&self) -> &[(Token, NodeIndex)] {
        &self.owners
    }

    /// The owners met when the ring is walked once, clockwise, from the first token at or after `token`. A node with
    /// several tokens appears several times.
    pub fn walk(&self, token: Token) -> impl Iterator<Item = NodeIndex> + '_ {
        let start = self.owners.partition_point(|&(owned, _)| owned < token);
        let (before, after) = self.owners.split_at(start);
        after.iter().chain(before).map(|&(_, owner)| owner)
    }
}
