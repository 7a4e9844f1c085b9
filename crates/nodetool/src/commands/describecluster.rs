//! `describecluster`: what all nodes have in common, or should.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::answers::{self, Pair, map};
use crate::error::ToolError;
use crate::members::{State, members};
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

#[derive(Serialize)]
struct Cluster {
    name: String,
    snitch: String,
    partitioner: String,
    schema_versions: BTreeMap<String, Vec<String>>,
    live: usize,
    joining: usize,
    moving: usize,
    leaving: usize,
    unreachable: usize,
    datacenters: BTreeMap<String, Datacenter>,
    /// Versions of others are known while they are up and the cluster finds its nodes itself: all of it are then of one version.
    database_versions: BTreeMap<String, Vec<String>>,
    keyspaces: Vec<Keyspace>,
}

#[derive(Serialize)]
struct Keyspace {
    keyspace: String,
    replication_class: String,
    replication_options: BTreeMap<String, String>,
}

impl From<answers::Keyspace> for Keyspace {
    fn from(mut keyspace: answers::Keyspace) -> Keyspace {
        let class = keyspace.replication.remove("class").unwrap_or_default();
        Keyspace {
            keyspace: keyspace.name,
            replication_class: class.rsplit('.').next().unwrap_or_default().to_owned(),
            replication_options: keyspace.replication,
        }
    }
}

#[derive(Default, Serialize)]
struct Datacenter {
    nodes: usize,
    down: usize,
}

pub(super) fn run(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let members = members(node)?;
    let release_version: String = node.get(Request::get("/storage_service/release_version"))?;
    let local_id: String = node.get(Request::get("/storage_service/hostid/local"))?;
    let schema_versions: Vec<Pair<Vec<String>>> = node.get(Request::get("/storage_proxy/schema_versions"))?;

    let all: Vec<answers::Node> = node.get_if_there(Request::get("/helenus/nodes"))?.unwrap_or_default();
    let is_heard = |address: &str| all.iter().any(|node| node.endpoint == address && node.life.is_some());

    let mut datacenters: BTreeMap<String, Datacenter> = BTreeMap::new();
    let mut database_versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for member in &members {
        let datacenter = datacenters.entry(member.datacenter.clone()).or_default();
        datacenter.nodes += 1;
        datacenter.down += usize::from(member.is_up == Some(false));
        let is_local = member.host_id.as_ref() == Some(&local_id);
        let is_known = is_local || (member.is_up == Some(true) && is_heard(&member.address));
        let version = if is_known { release_version.clone() } else { "Unknown".into() };
        database_versions.entry(version).or_default().push(member.address.clone());
    }
    let keyspaces: Vec<answers::Keyspace> = node.get(Request::get("/helenus/keyspaces"))?;
    let count = |state: State| members.iter().filter(|member| member.state == state).count();
    let up = |is_up: bool| members.iter().filter(|member| member.is_up == Some(is_up)).count();
    Ok(Answer::of(&Cluster {
        name: node.get(Request::get("/storage_service/cluster_name"))?,
        snitch: node.get(Request::get("/snitch/name"))?,
        partitioner: node.get(Request::get("/storage_service/partitioner_name"))?,
        schema_versions: map(schema_versions),
        live: up(true),
        joining: count(State::Joining),
        moving: count(State::Moving),
        leaving: count(State::Leaving),
        unreachable: up(false),
        datacenters,
        database_versions,
        keyspaces: keyspaces.into_iter().map(Keyspace::from).collect(),
    }))
}

impl Report for Cluster {
    fn text(&self) -> String {
        let mut text = String::from("Cluster Information:\n");
        text += &format!("\tName: {}\n\tSnitch: {}\n", self.name, self.snitch);
        text += &format!("\tDynamicEndPointSnitch: disabled\n\tPartitioner: {}\n", self.partitioner);
        text += "\tSchema versions:\n";
        for (version, addresses) in &self.schema_versions {
            text += &format!("\t\t{version}: [{}]\n\n", addresses.join(", "));
        }
        text += "Stats for all nodes:\n";
        for (name, count) in [
            ("Live", self.live),
            ("Joining", self.joining),
            ("Moving", self.moving),
            ("Leaving", self.leaving),
            ("Unreachable", self.unreachable),
        ] {
            text += &format!("\t{name}: {count}\n");
        }
        text += "\nData Centers: \n";
        for (name, datacenter) in &self.datacenters {
            text += &format!("\t{name} #Nodes: {} #Down: {}\n", datacenter.nodes, datacenter.down);
        }
        text += "\nDatabase versions:\n";
        for (version, addresses) in &self.database_versions {
            text += &format!("\t{version}: [{}]\n", addresses.join(", "));
        }
        text += "\nKeyspaces:\n";
        for keyspace in &self.keyspaces {
            let Keyspace { keyspace, replication_class, replication_options } = keyspace;
            let options: Vec<String> =
                replication_options.iter().map(|(name, value)| format!("{name}={value}")).collect();
            text += &format!("\t{keyspace} -> Replication class: {replication_class} {{{}}}\n", options.join(", "));
        }
        text
    }
}
