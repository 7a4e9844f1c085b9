//! The nodes of the ring as one of them sees them: what `status`, `ring` and `describecluster` have in common.

use std::collections::{BTreeMap, BTreeSet};

use crate::answers::{Node, Pair, map};
use crate::error::ToolError;
use crate::surroundings::{Request, Surroundings};

/// What a node is doing in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Normal,
    Leaving,
    Joining,
    Moving,
}

/// One node.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) address: String,
    /// None: nobody says.
    pub(crate) is_up: Option<bool>,
    pub(crate) state: State,
    pub(crate) load_bytes: Option<f64>,
    /// In the order of the ring.
    pub(crate) tokens: Vec<String>,
    pub(crate) host_id: Option<String>,
    pub(crate) datacenter: String,
    pub(crate) rack: String,
}

/// How much of the data each node has, by its address.
#[derive(Debug)]
pub(crate) enum Ownership {
    /// With replication: the parts come to the replication factor.
    Effective(BTreeMap<String, f64>),
    /// Of the ring of tokens alone.
    Raw(BTreeMap<String, f64>),
    /// It depends on the keyspace, and none was named.
    Depends,
}

impl Ownership {
    pub(crate) fn of(&self, member: &Member) -> Option<f64> {
        let part = match self {
            Ownership::Effective(parts) | Ownership::Raw(parts) => parts.get(&member.address).copied(),
            Ownership::Depends => None,
        };
        // A node that replaces another at its address: the part is the other's.
        part.map(|part| if member.tokens.is_empty() { 0.0 } else { part })
    }
}

/// Cassandra's sentence about that.
pub(crate) const DEPENDS: &str = "Note: Non-system keyspaces don't have the same replication settings, effective ownership information is meaningless";

/// All nodes, by address. A node and the one that replaces it at its address are two.
pub(crate) fn members(node: &mut dyn Surroundings) -> Result<Vec<Member>, ToolError> {
    let live: BTreeSet<String> = node.get(Request::get("/gossiper/endpoint/live"))?;
    let down: BTreeSet<String> = node.get(Request::get("/gossiper/endpoint/down"))?;
    let joining: BTreeSet<String> = node.get(Request::get("/storage_service/nodes/joining"))?;
    let leaving: BTreeSet<String> = node.get(Request::get("/storage_service/nodes/leaving"))?;
    let moving: BTreeSet<String> = node.get(Request::get("/storage_service/nodes/moving"))?;
    let loads: Vec<Pair<f64>> = node.get(Request::get("/storage_service/load_map"))?;
    let loads = map(loads);
    let tokens: Vec<Pair<String>> = node.get(Request::get("/storage_service/tokens_endpoint"))?;
    let host_ids: Vec<Pair<String>> = node.get(Request::get("/storage_service/host_id"))?;
    let is_shared = |address: &str| host_ids.iter().filter(|pair| pair.key == address).count() > 1;
    let shared: BTreeSet<String> =
        host_ids.iter().filter(|pair| is_shared(&pair.key)).map(|pair| pair.key.clone()).collect();
    let host_ids = map(host_ids);

    let mut addresses: BTreeSet<&String> = live.iter().chain(&down).chain(&joining).chain(host_ids.keys()).collect();
    addresses.extend(tokens.iter().map(|pair| &pair.value));
    let mut members = Vec::with_capacity(addresses.len());
    for address in addresses {
        members.push(Member {
            address: address.clone(),
            is_up: if live.contains(address) { Some(true) } else { down.contains(address).then_some(false) },
            state: match address {
                _ if joining.contains(address) => State::Joining,
                _ if leaving.contains(address) => State::Leaving,
                _ if moving.contains(address) => State::Moving,
                _ => State::Normal,
            },
            load_bytes: loads.get(address).copied(),
            tokens: tokens.iter().filter(|pair| pair.value == *address).map(|pair| pair.key.clone()).collect(),
            host_id: host_ids.get(address).cloned(),
            datacenter: node.get(Request::get("/snitch/datacenter").with("host", address))?,
            rack: node.get(Request::get("/snitch/rack").with("host", address))?,
        });
    }
    if !shared.is_empty() {
        let all: Vec<Node> = node.get_if_there(Request::get("/helenus/nodes"))?.unwrap_or_default();
        members = members.into_iter().flat_map(|member| told_apart(member, &shared, &all)).collect();
    }
    Ok(members)
}

/// The nodes of one address: tokens are of the one that has some.
fn told_apart(member: Member, shared: &BTreeSet<String>, all: &[Node]) -> Vec<Member> {
    let at_address = all.iter().filter(|node| shared.contains(&member.address) && node.endpoint == member.address);
    let apart: Vec<Member> = at_address
        .map(|node| Member {
            address: member.address.clone(),
            is_up: Some(node.is_up),
            state: match node.state.as_deref() {
                Some("JOINING") => State::Joining,
                Some("LEAVING") => State::Leaving,
                _ => State::Normal,
            },
            load_bytes: node.life.as_ref().and_then(|life| life.load_bytes),
            tokens: if node.tokens > 0 { member.tokens.clone() } else { Vec::new() },
            host_id: Some(node.host_id.clone()),
            datacenter: member.datacenter.clone(),
            rack: member.rack.clone(),
        })
        .collect();
    if apart.is_empty() { vec![member] } else { apart }
}

/// How much each node owns: of the keyspace, or of all user's keyspaces if it is the same in all.
pub(crate) fn ownership(node: &mut dyn Surroundings, keyspace: Option<&str>) -> Result<Ownership, ToolError> {
    if let Some(keyspace) = keyspace {
        return Ok(Ownership::Effective(parts(node, Request::get("/storage_service/ownership").of(keyspace))?));
    }
    let mut keyspaces: Vec<String> = node.get(Request::get("/storage_service/keyspaces").with("type", "user"))?;
    if keyspaces.is_empty() {
        // As Cassandra does when there is nobody's data yet.
        keyspaces.push("system_traces".into());
    }
    let mut common: Option<BTreeMap<String, f64>> = None;
    for keyspace in &keyspaces {
        let owned = match parts(node, Request::get("/storage_service/ownership").of(keyspace)) {
            // Dropped meanwhile.
            Err(ToolError::Refused { status: 404, .. }) => continue,
            owned => owned?,
        };
        match &common {
            Some(common) if *common != owned => return Ok(Ownership::Depends),
            Some(_) => {}
            None => common = Some(owned),
        }
    }
    match common {
        Some(owned) => Ok(Ownership::Effective(owned)),
        None => Ok(Ownership::Raw(parts(node, Request::get("/storage_service/ownership"))?)),
    }
}

fn parts(node: &mut dyn Surroundings, request: Request) -> Result<BTreeMap<String, f64>, ToolError> {
    let name = request.name();
    let pairs: Vec<Pair<String>> = node.get(request)?;
    let part = |pair: Pair<String>| match pair.value.parse::<f64>() {
        Ok(part) => Ok((pair.key, part)),
        Err(error) => Err(ToolError::Garbled { request: name.clone(), reason: format!("`{}`: {error}", pair.value) }),
    };
    // Of a node and the one that replaces it at its address, one has tokens.
    let mut parts = BTreeMap::new();
    for pair in pairs {
        let (address, part) = part(pair)?;
        *parts.entry(address).or_default() += part;
    }
    Ok(parts)
}

/// The address as it is printed: its name if names are asked for and it has one.
pub(crate) fn shown(node: &mut dyn Surroundings, address: &str, resolve: bool) -> String {
    let name = if resolve { address.parse().ok().and_then(|address| node.name_of(address)) } else { None };
    name.unwrap_or_else(|| address.to_owned())
}
