//! `gossipinfo`: what this node knows of each node of the ring, in the lines that Cassandra's gossip has for it.
//!
//! There is no gossip yet: a state has no version, which is `?`, and what only gossip would tell of others is not there.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::answers::{Pair, map};
use crate::error::ToolError;
use crate::layout::{double, or_unknown};
use crate::members::{Member, State, members};
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

#[derive(Serialize)]
struct GossipInfo {
    nodes: Vec<OfNode>,
}

#[derive(Serialize)]
struct OfNode {
    address: String,
    /// None: nobody says.
    is_up: Option<bool>,
    /// How many times the node was started; of this one alone.
    generation: Option<u64>,
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
    let mut nodes = Vec::new();
    for member in members(node)? {
        let is_local = member.host_id.as_ref() == Some(&local);
        let schema = schemas.get(&member.address).cloned();
        let states = states(&member, schema, is_local.then(|| version.clone()));
        let generation = is_local.then_some(generation);
        nodes.push(OfNode { address: member.address, is_up: member.is_up, generation, states });
    }
    Ok(Answer::of(&GossipInfo { nodes }))
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
            text += &format!("/{}\n  generation:{}\n  heartbeat:?\n", node.address, or_unknown(node.generation));
            for (name, value) in &node.states {
                text += &format!("  {name}:?:{value}\n");
            }
            // As Cassandra prints them: `ring` lists them.
            text += "  TOKENS:?:<hidden>\n";
        }
        text
    }
}
