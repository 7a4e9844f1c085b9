//! `gossipinfo`: what this node knows of each node of the ring, in the lines that Cassandra's gossip has for it.
//!
//! The facts come with heartbeats, not by gossip: a single state has no version, which is `?`. The generation is the start of the node's process, the heartbeat counts
//! its answers.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::answers::{Node, Pair, map};
use crate::error::ToolError;
use crate::layout::{double, or_unknown};
use crate::members::{Member, State, members};
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

/// The version of Cassandra's protocol between nodes that its 5.0 names there.
const NET_VERSION: &str = "12";

#[derive(Serialize)]
struct GossipInfo {
    nodes: Vec<OfNode>,
}

#[derive(Serialize)]
struct OfNode {
    address: String,
    /// None: nobody says.
    is_up: Option<bool>,
    /// The start of its process, seconds since 1970; of a node that was heard.
    generation: Option<u64>,
    /// Heartbeats that it has answered.
    heartbeat: Option<u64>,
    #[serde(serialize_with = "as_map")]
    states: Vec<(&'static str, String)>,
}

fn as_map<S: serde::Serializer>(states: &[(&'static str, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(states.iter().map(|(name, value)| (name, value)))
}

pub(super) fn run(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let local: String = node.get(Request::get("/storage_service/hostid/local"))?;
    let generation: u64 = node.get(Request::get("/storage_service/generation_number"))?;
    let version: String = node.get(Request::get("/storage_service/release_version"))?;
    let versions: Vec<Pair<Vec<String>>> = node.get(Request::get("/storage_proxy/schema_versions"))?;
    let schemas = schemas(map(versions));
    let all: Vec<Node> = node.get_if_there(Request::get("/helenus/nodes"))?.unwrap_or_default();
    let mut nodes = Vec::new();
    for member in members(node)? {
        let is_local = member.host_id.as_ref() == Some(&local);
        let is_it = |node: &&Node| {
            node.endpoint == member.address && member.host_id.as_ref().is_none_or(|host_id| *host_id == node.host_id)
        };
        let life = all.iter().find(is_it).and_then(|node| node.life.as_ref());
        let is_heard = is_local || life.is_some_and(|life| life.generation.is_some());
        let schema = schemas.get(&member.address).cloned();
        let mut states = states(&member, schema, is_heard.then(|| version.clone()));
        if let Some(life) = life {
            let place = |wanted: &str| states.iter().position(|(name, _)| *name == wanted);
            let before_id = place("HOST_ID").unwrap_or(states.len());
            let addresses = [("INTERNAL_IP", &life.internode), ("RPC_ADDRESS", &life.native)];
            let addresses = addresses.map(|(name, address)| (name, ip(address)));
            states.splice(before_id..before_id, addresses.into_iter().chain([("NET_VERSION", NET_VERSION.to_owned())]));
            states.push(("RPC_READY", life.is_ready.to_string()));
        }
        nodes.push(OfNode {
            generation: if is_local { Some(generation) } else { life.and_then(|life| life.generation) },
            heartbeat: life.map(|life| life.heartbeats),
            address: member.address,
            is_up: member.is_up,
            states,
        });
    }
    Ok(Answer::of(&GossipInfo { nodes }))
}

/// An address without its port.
fn ip(address: &str) -> String {
    address.parse::<std::net::SocketAddr>().map_or_else(|_| address.to_owned(), |address| address.ip().to_string())
}

/// The version of the schema that each node has, of those that are reached.
fn schemas(versions: BTreeMap<String, Vec<String>>) -> BTreeMap<String, String> {
    let reached = versions.into_iter().filter(|(version, _)| version != "UNREACHABLE");
    reached.flat_map(|(version, nodes)| nodes.into_iter().map(move |node| (node, version.clone()))).collect()
}

/// What is known, in the order of Cassandra's states.
fn states(member: &Member, schema: Option<String>, version: Option<String>) -> Vec<(&'static str, String)> {
    let status = match member.state {
        State::Normal => "NORMAL",
        State::Leaving => "LEAVING",
        State::Joining => "BOOT",
        State::Moving => "MOVING",
    };
    let token = member.tokens.first().map(|token| format!("{status},{token}"));
    let all = [
        ("STATUS", Some(token.unwrap_or_else(|| status.to_owned()))),
        ("LOAD", member.load_bytes.map(double)),
        ("SCHEMA", schema),
        ("DC", Some(member.datacenter.clone())),
        ("RACK", Some(member.rack.clone())),
        ("RELEASE_VERSION", version),
        ("HOST_ID", member.host_id.clone()),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

impl Report for GossipInfo {
    fn text(&self) -> String {
        let mut text = String::new();
        for node in &self.nodes {
            let (generation, heartbeat) = (or_unknown(node.generation), or_unknown(node.heartbeat));
            text += &format!("/{}\n  generation:{generation}\n  heartbeat:{heartbeat}\n", node.address);
            for (name, value) in &node.states {
                text += &format!("  {name}:?:{value}\n");
            }
            // As Cassandra prints them: `ring` lists them.
            text += "  TOKENS:?:<hidden>\n";
        }
        text
    }
}
