//! Changes of the low bound of attempts on their way to the leader, and what the leader makes of them.
//!
//! ```text
//! u8 3 · u8 version (1) · u8 1 · i64 below · i64 apart    refuse: microseconds since 1970, and between two bounds
//! u8 3 · u8 version (1) · u8 2 · i64 below · 16 host id   finished
//! ```

use std::collections::BTreeSet;
use std::rc::Rc;

use cluster::coordinator::Replication;
use cluster::paxos::{LowBound, LowBoundChange};
use membership::{OperationsDomain, TopologyDomain};
use metadata::{ClusterState, DecodeError, Entry};
use schema::{Keyspace, Schema};
use stdx::Reader;
use topology::nodes::{NodeState, RegisteredNode, Registry};
use topology::operations::Operation;
use topology::{Epoch, HostId, Ring, Strategies, murmur3};

use crate::domain::{LowBoundDomain, SchemaDomain};

/// The first byte.
pub(super) const LOW_BOUND: u8 = 3;
const VERSION: u8 = 1;
const REFUSE: u8 = 1;
const FINISHED: u8 = 2;

/// A change that a node asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum LowBoundIntention {
    /// Ballots up to `below` are refused, if that is `apart` microseconds later than before.
    Refuse {
        /// Microseconds since 1970.
        below: i64,
        /// Microseconds.
        apart: i64,
    },
    /// A node has finished what it has up to `below`.
    Finished {
        /// The node.
        node: HostId,
        /// Microseconds since 1970.
        below: i64,
    },
}

impl LowBoundIntention {
    pub(in crate::engine) fn to_bytes(self) -> Vec<u8> {
        let head = |kind| [LOW_BOUND, VERSION, kind];
        match self {
            LowBoundIntention::Refuse { below, apart } => {
                [&head(REFUSE)[..], &below.to_be_bytes(), &apart.to_be_bytes()].concat()
            }
            LowBoundIntention::Finished { node, below } => {
                [&head(FINISHED)[..], &below.to_be_bytes(), &node.0].concat()
            }
        }
    }

    fn decode(bytes: &[u8]) -> Result<LowBoundIntention, DecodeError> {
        let mut reader = Reader::new(bytes);
        let kind = reader.u8()?;
        assert_eq!(kind, LOW_BOUND, "the planner tells intentions apart");
        match reader.u8()? {
            VERSION => {}
            version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
        }
        let invalid = |problem: String| DecodeError::Invalid { problem };
        let (kind, below) = (reader.u8()?, reader.i64()?);
        let intention = match kind {
            REFUSE => LowBoundIntention::Refuse { below, apart: reader.i64()? },
            FINISHED => LowBoundIntention::Finished { node: HostId(reader.array()?), below },
            kind => return Err(invalid(format!("unknown kind {kind} of a change of the low bound"))),
        };
        match reader.is_empty() {
            true => Ok(intention),
            false => Err(invalid("trailing bytes in a change of the low bound".to_owned())),
        }
    }
}

/// Plans a change on a state, at a time of the leader's clock (microseconds since 1970); `None`: there is nothing to change, or the bound would be too late.
pub(super) fn plan_low_bound(
    state: &ClusterState,
    intention: &[u8],
    (strategies, now): (&Strategies, i64),
) -> Option<Entry> {
    let (registry, schema) = (state.of::<TopologyDomain>(), state.of::<SchemaDomain>());
    let bound = state.of::<LowBoundDomain>();
    let intention = LowBoundIntention::decode(intention).ok()?;
    // Ballots beyond a bound in the future would be timestamps in the future.
    if matches!(intention, LowBoundIntention::Refuse { below, apart } if below > now.saturating_sub(apart)) {
        return None;
    }
    let operations: Vec<Rc<Operation>> = state.of::<OperationsDomain>().all().cloned().map(Rc::new).collect();
    let changes = changes(bound, intention, (registry, schema, strategies), &operations);
    (!changes.is_empty()).then(|| Entry::of(LowBoundDomain::part(&changes)))
}

fn changes(
    bound: &LowBound,
    intention: LowBoundIntention,
    (registry, schema, strategies): (&Registry, &Schema, &Strategies),
    operations: &[Rc<Operation>],
) -> Vec<LowBoundChange> {
    let placement = placement(registry, schema, operations);
    let is_majority =
        |finished: &BTreeSet<HostId>| are_majorities(finished, (registry, schema, strategies), operations);
    match intention {
        LowBoundIntention::Refuse { below, apart } => {
            bound.plan_refuse((below, apart), placement, is_majority).into_iter().collect()
        }
        LowBoundIntention::Finished { node, below } => bound.plan_finished((node, below), placement, is_majority),
    }
}

/// True if nodes are a majority in each datacenter of the replicas of each range, in all keyspaces with a table: one of a single replica may have had more, and that one may
/// have registers of other coordinators' attempts. While an operation moves a range they are one of the replicas before, and one of those after. A node that has lost a
/// part of its disk does not count.
fn are_majorities(
    finished: &BTreeSet<HostId>,
    (registry, schema, strategies): (&Registry, &Schema, &Strategies),
    operations: &[Rc<Operation>],
) -> bool {
    let is_regressed = |node: &RegisteredNode| node.state == NodeState::Regressed;
    let is_whole =
        |host: &HostId| registry.node(*host).is_some_and(|node| !is_regressed(node)) && !registry.is_doubted(*host);
    let finished: BTreeSet<HostId> = finished.iter().copied().filter(is_whole).collect();
    let Some((nodes, local)) = finished.first().and_then(|node| registry.nodes_of_ring(*node)) else { return false };
    let ring = Rc::new(Ring::new(Epoch(1), nodes, local));
    with_tables(schema).all(|keyspace| {
        let of = (keyspace.name(), keyspace.strategy());
        Replication::during(operations, &ring, of, strategies).is_some_and(|now| now.are_majorities(&finished))
    })
}

/// The keyspaces with a table.
fn with_tables(schema: &Schema) -> impl Iterator<Item = &Rc<Keyspace>> {
    schema.keyspaces().values().filter(|keyspace| !keyspace.tables.is_empty())
}

/// A hash of all that decides who is a replica of what. It does not return to an earlier value: a keyspace's tenure rises with each other placement, and nodes that have left
/// are counted; operations are never of an earlier phase again.
fn placement(registry: &Registry, schema: &Schema, operations: &[Rc<Operation>]) -> u64 {
    let mut bytes = Vec::new();
    let mut put = |part: &[u8]| {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    };
    for (host_id, node) in registry.nodes() {
        put(&host_id.0);
        put(node.datacenter.as_bytes());
        put(node.rack.as_bytes());
        put(&node.tokens.iter().flat_map(|token| token.0.to_be_bytes()).collect::<Vec<u8>>());
    }
    put(&(registry.left().len() as u64).to_be_bytes());
    for keyspace in with_tables(schema) {
        put(&keyspace.def.tenure.to_be_bytes());
        put(keyspace.name().as_bytes());
        put(format!("{:?}", keyspace.strategy()).as_bytes());
    }
    for operation in operations {
        put(&operation.id.0.to_be_bytes());
        put(&[operation.phase.byte()]);
    }
    murmur3::hash(&bytes).cast_unsigned()
}

#[cfg(test)]
mod tests;
