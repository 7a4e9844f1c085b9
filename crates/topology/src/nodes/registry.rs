//! The registry as a state: which nodes there are, and which host ids have left.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::change::NodeChange;
use super::facts::{Features, NodeState, RegisteredNode};
use super::{NODES_MAX, address::Address, codec};
use crate::ring::{HostId, Node, NodeIndex};
use crate::token::Token;

/// The nodes of a cluster. The default has none.
///
/// Immutable: changes make another one, which shares the nodes that they do not concern. Whatever the changes: a token has one owner, a host id that
/// has left is not a node's, only nodes are in doubt, and each that is regressed was, a node's registered boot does not get older, each node knows all features that are enabled, none of which is taken back, and there
/// are [`NODES_MAX`] nodes at most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registry {
    nodes: BTreeMap<HostId, Rc<RegisteredNode>>,
    left: Rc<BTreeSet<HostId>>,
    enabled: Features,
    /// Nodes whose disks were found older than what they had acknowledged. Apart from their states: a node that leaves, or stays after all, has no more for that.
    doubts: BTreeMap<HostId, Doubt>,
}

/// The last time at which a node's disk was found older.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Doubt {
    /// The number of the start that began so. 0 where it is not known: it was noted before numbers were.
    boot: u64,
    /// The node has copied its data again since.
    is_renewed: bool,
}

/// The owner of each token, made when the first change needs it: among 16,000 tokens one is found faster than all are walked.
type Owners = BTreeMap<Token, HostId>;

impl Registry {
    /// The nodes, in the order of their host ids.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (HostId, &RegisteredNode)> {
        self.nodes.iter().map(|(id, node)| (*id, &**node))
    }

    /// A node by its host id.
    pub fn node(&self, id: HostId) -> Option<&RegisteredNode> {
        self.nodes.get(&id).map(Rc::as_ref)
    }

    /// True if the host id has left: it is never accepted again.
    pub fn has_left(&self, id: HostId) -> bool {
        self.left.contains(&id)
    }

    /// The host ids that have left, ascending.
    pub fn left(&self) -> impl ExactSizeIterator<Item = HostId> {
        self.left.iter().copied()
    }

    /// The node that other nodes reach at this address, the one with the lowest host id if several have registered it: of two nodes that exchange
    /// their addresses one starts first.
    pub fn at(&self, internode: Address) -> Option<HostId> {
        self.nodes().find(|(_, node)| node.start.internode == internode).map(|(id, _)| id)
    }

    /// The nodes as a ring has them, and the place of one of them; `None` where it is not among them.
    pub fn nodes_of_ring(&self, local: HostId) -> Option<(Vec<Node>, NodeIndex)> {
        let local = self.nodes().position(|(id, _)| id == local)?;
        let nodes = self.nodes().map(|(host_id, node)| Node {
            host_id,
            address: node.start.native.into(),
            internode: node.start.internode.into(),
            datacenter: node.datacenter.clone(),
            rack: node.rack.clone(),
            tokens: node.tokens.clone(),
        });
        Some((nodes.collect(), NodeIndex(u16::try_from(local).expect("a cluster has fewer nodes"))))
    }

    /// True if the node may lack what it has acknowledged: its disk was older than that, and it has not copied its ranges again.
    pub fn is_doubted(&self, id: HostId) -> bool {
        self.doubts.get(&id).is_some_and(|doubt| !doubt.is_renewed)
    }

    /// The nodes that may lack what they have acknowledged.
    pub fn doubted(&self) -> impl Iterator<Item = HostId> {
        self.doubts.keys().copied().filter(|id| self.is_doubted(*id))
    }

    /// The number of the last start of the node that was noted to have begun on an older disk, whether its data was renewed since or not; `None`: none was.
    pub fn doubted_since(&self, id: HostId) -> Option<u64> {
        self.doubts.get(&id).map(|doubt| doubt.boot)
    }

    /// The owner of a token.
    pub fn owner(&self, token: Token) -> Option<HostId> {
        self.nodes().find(|(_, node)| node.tokens.binary_search(&token).is_ok()).map(|(id, _)| id)
    }

    /// The features that the programs of all nodes know; all features if there is no node.
    pub fn features(&self) -> Features {
        Features(self.nodes().fold(u64::MAX, |all, (_, node)| all & node.start.features.0))
    }

    /// The features that may be used.
    pub fn enabled(&self) -> Features {
        self.enabled
    }

    /// The registry after `changes`, in order. A change that does not fit changes nothing: its planner saw this state, so it would have refused it.
    #[must_use]
    pub fn apply(&self, changes: impl IntoIterator<Item = NodeChange>) -> Registry {
        let mut next = self.clone();
        let mut owners = None;
        changes.into_iter().for_each(|change| next.pass(change, &mut owners));
        next
    }

    fn pass(&mut self, change: NodeChange, owners: &mut Option<Owners>) {
        match change {
            NodeChange::Put(id, node) => self.put(id, node, owners.get_or_insert_with(|| self.owners())),
            NodeChange::Started(_, start) if !self.knows_enough(start.features) => {}
            NodeChange::Started(id, start) => self.alter(id, |node| {
                if !start.boot.is_older_than(node.start.boot) {
                    node.start = start;
                }
            }),
            NodeChange::SetState(id, state) => {
                self.alter(id, |node| {
                    if node.state.may_become(state) {
                        node.state = state;
                    }
                });
                self.doubt_regressed(id);
            }
            NodeChange::Doubted(id, boot) => {
                let is_later = self.doubted_since(id).is_none_or(|known| known < boot);
                if self.nodes.contains_key(&id) && is_later {
                    self.doubts.insert(id, Doubt { boot, is_renewed: false });
                }
            }
            NodeChange::Renewed(id) => {
                if let Some(doubt) = self.doubts.get_mut(&id) {
                    doubt.is_renewed = true;
                }
            }
            NodeChange::Remove(id) => {
                let node = self.nodes.remove(&id);
                if let (Some(node), Some(owners)) = (node, owners) {
                    release(owners, &node);
                }
                self.doubts.remove(&id);
                Rc::make_mut(&mut self.left).insert(id);
            }
            NodeChange::SetTokens(id, tokens) => {
                self.set_tokens(id, tokens, owners.get_or_insert_with(|| self.owners()));
            }
            NodeChange::Enable(features) => {
                if self.features().missing(features).is_empty() {
                    self.enabled.0 |= features.0;
                }
            }
        }
    }

    fn knows_enough(&self, features: Features) -> bool {
        features.missing(self.enabled).is_empty()
    }

    fn put(&mut self, id: HostId, node: Rc<RegisteredNode>, owners: &mut Owners) {
        let known = self.nodes.get(&id);
        let is_stale = known.is_some_and(|known| node.start.boot.is_older_than(known.start.boot));
        let is_too_many = known.is_none() && self.nodes.len() >= NODES_MAX;
        let is_taken = node.tokens.iter().any(|token| owners.get(token).is_some_and(|owner| *owner != id));
        if self.has_left(id) || is_stale || is_too_many || is_taken || !self.knows_enough(node.start.features) {
            return;
        }
        if let Some(known) = known {
            release(owners, known);
        }
        for token in &node.tokens {
            let other = owners.insert(*token, id);
            assert_eq!(other, None, "a token has one owner");
        }
        self.nodes.insert(id, node);
        self.doubt_regressed(id);
    }

    /// A regressed node is in doubt: entries and snapshots from before doubts were noted have the state alone.
    fn doubt_regressed(&mut self, id: HostId) {
        if self.node(id).is_some_and(|node| node.state == NodeState::Regressed) {
            self.doubts.entry(id).or_default();
        }
    }

    fn set_tokens(&mut self, id: HostId, tokens: Vec<Token>, owners: &mut Owners) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        if tokens.iter().any(|token| owners.get(token).is_some_and(|owner| *owner != id)) {
            return;
        }
        release(owners, node);
        owners.extend(tokens.iter().map(|token| (*token, id)));
        Rc::make_mut(node).tokens = tokens;
    }

    fn alter(&mut self, id: HostId, alter: impl FnOnce(&mut RegisteredNode)) {
        if let Some(node) = self.nodes.get_mut(&id) {
            alter(Rc::make_mut(node));
        }
    }

    fn owners(&self) -> Owners {
        self.nodes().flat_map(|(id, node)| node.tokens.iter().map(move |token| (*token, id))).collect()
    }

    /// The changes that make this registry of an empty one: the fewest, in one order.
    pub fn as_changes(&self) -> Vec<NodeChange> {
        let left = self.left.iter().copied().map(NodeChange::Remove);
        let nodes = self.nodes.iter().map(|(id, node)| NodeChange::Put(*id, node.clone()));
        let enabled = (!self.enabled.is_empty()).then_some(NodeChange::Enable(self.enabled));
        // A node that is in state Regressed is in doubt without a word.
        let is_told = |id: &HostId, doubt: &Doubt| {
            doubt.boot > 0 || self.node(*id).is_some_and(|node| node.state != NodeState::Regressed)
        };
        let doubts = self.doubts.iter().flat_map(|(id, doubt)| {
            let doubted = is_told(id, doubt).then_some(NodeChange::Doubted(*id, doubt.boot));
            doubted.into_iter().chain(doubt.is_renewed.then_some(NodeChange::Renewed(*id)))
        });
        left.chain(enabled).chain(nodes).chain(doubts).collect()
    }

    /// The bytes of these changes; `None` if there are none.
    pub fn snapshot(&self) -> Option<Vec<u8>> {
        let changes = self.as_changes();
        (!changes.is_empty()).then(|| codec::encode(&changes))
    }
}

fn release(owners: &mut Owners, node: &RegisteredNode) {
    for token in &node.tokens {
        let owner = owners.remove(token);
        assert!(owner.is_some(), "a node's tokens have an owner");
    }
}
