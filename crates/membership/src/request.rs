//! A request to change the registry, as it travels to the leader.

use std::rc::Rc;

use metadata::DecodeError;
use stdx::Reader;
use topology::nodes::{self, Features, NodeChange, NodeState, RegisteredNode, Start};
use topology::{HostId, Token};

use crate::replace::Replaced;

use crate::domain::decode_error;

const GIVEN: u8 = 1;
const WITHOUT_COPY: u8 = 2;
const REPLACES: u8 = 4;

/// A request of a node or an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// A node has started: it joins, or tells the facts of its start.
    Register(Registration),
    /// The node's state is to become another.
    SetState(HostId, NodeState),
    /// The node is in state Leaving and votes no more: it is to be gone. Asked for by the leader alone.
    Remove(HostId),
    /// The upgrade is over: features that all nodes know may be used.
    Finalize,
}

/// A node's facts at its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Its identity.
    pub host_id: HostId,
    /// Its datacenter.
    pub datacenter: String,
    /// Its rack within the datacenter.
    pub rack: String,
    /// The tokens that it is to own if it joins, in any order. A node of the cluster keeps those that it has.
    pub tokens: Vec<Token>,
    /// An operator has chosen the tokens. Else their number counts, and the leader chooses as many.
    pub has_given_tokens: bool,
    /// It joins without copying what it is to own: `auto_bootstrap: false`.
    pub is_without_copy: bool,
    /// The node whose place it takes if it joins, with that node's tokens. A node of the cluster replaces none.
    pub replaces: Option<Replaced>,
    /// Facts of the start.
    pub start: Start,
}

impl Request {
    /// The bytes of an intention: `u8 flags` (1 tokens are given, 2 without a copy, 4 it replaces a node, which follows), and of changes of the registry
    /// ([`nodes::encode`]) the one that is asked for. Joining and starting are one Put.
    ///
    /// Panics where [`Registration::check`] fails.
    pub fn to_bytes(&self) -> Vec<u8> {
        let change = match self {
            Request::Register(registration) => {
                NodeChange::Put(registration.host_id, Rc::new(registration.clone().into_node()))
            }
            Request::SetState(id, state) => NodeChange::SetState(*id, *state),
            Request::Remove(id) => NodeChange::Remove(*id),
            // Which ones is the plan's to say.
            Request::Finalize => NodeChange::Enable(Features::default()),
        };
        let mut bytes = vec![0];
        if let Request::Register(of) = self {
            let replaces = u8::from(of.replaces.is_some()) * REPLACES;
            bytes[0] =
                (u8::from(of.has_given_tokens) * GIVEN) | (u8::from(of.is_without_copy) * WITHOUT_COPY) | replaces;
            of.replaces.iter().for_each(|replaced| replaced.encode(&mut bytes));
        }
        bytes.extend(nodes::encode(&[change]));
        bytes
    }

    /// The request that [`Request::to_bytes`] wrote, tokens in ascending order.
    pub fn decode(bytes: &[u8]) -> Result<Request, DecodeError> {
        let invalid = |problem: &str| DecodeError::Invalid { problem: problem.to_owned() };
        let mut reader = Reader::new(bytes);
        let flags = reader.u8()?;
        if flags & !(GIVEN | WITHOUT_COPY | REPLACES) != 0 {
            return Err(invalid("flags of a request are unknown"));
        }
        let replaces = if flags & REPLACES != 0 { Some(Replaced::decode(&mut reader)?) } else { None };
        let changes = nodes::decode(reader.rest()).map_err(decode_error)?;
        let Ok([change]) = <[NodeChange; 1]>::try_from(changes) else {
            return Err(invalid("a request is one change of the nodes"));
        };
        match change {
            NodeChange::Put(host_id, node) if node.state == NodeState::Normal => {
                let RegisteredNode { datacenter, rack, tokens, start, .. } = Rc::unwrap_or_clone(node);
                let (has_given_tokens, is_without_copy) = (flags & GIVEN != 0, flags & WITHOUT_COPY != 0);
                Ok(Request::Register(Registration {
                    host_id,
                    datacenter,
                    rack,
                    tokens,
                    has_given_tokens,
                    is_without_copy,
                    replaces,
                    start,
                }))
            }
            _ if replaces.is_some() => Err(invalid("a node that registers may replace one, and no other request may")),
            NodeChange::SetState(id, state) => Ok(Request::SetState(id, state)),
            NodeChange::Remove(id) => Ok(Request::Remove(id)),
            NodeChange::Enable(features) if features.is_empty() => Ok(Request::Finalize),
            NodeChange::Enable(_) => Err(invalid("a request to finalize names no feature")),
            NodeChange::Put(..) => Err(invalid("a node registers in another state than Normal")),
            NodeChange::Doubted(..) | NodeChange::Renewed(_) => {
                Err(invalid("a node in doubt asks for the state Regressed, and is renewed by an operation"))
            }
            NodeChange::SetTokens(..) => Err(invalid("tokens change by an operation")),
            NodeChange::Started(..) => Err(invalid("a node registers with all of its facts")),
        }
    }
}

impl Registration {
    /// The node that it is when it has joined.
    pub(crate) fn into_node(mut self) -> RegisteredNode {
        self.tokens.sort_unstable();
        let Registration { datacenter, rack, tokens, start, .. } = self;
        RegisteredNode { state: NodeState::Normal, datacenter, rack, tokens, start }
    }
}
