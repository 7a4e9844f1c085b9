//! `-node`, `-port`, `-mode`, `-transport` and `-credentials-file`: where the servers are, and how they are spoken to.

use std::path::PathBuf;

use scylla::client::Compression;
use tls::ClientFiles;

use super::access::{LoginSettings, transport};
use super::words::{Group, Groups, refusal};
use crate::StressError;

/// The most requests that cassandra-stress keeps outstanding on one connection, unless told otherwise.
const PENDING_DEFAULT: usize = 128;
/// Connections to each node that cassandra-stress has, unless told otherwise.
const CONNECTIONS_DEFAULT: usize = 8;

/// Where and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConnectionSettings {
    /// The nodes that are asked for the others: a name or an address, and a port.
    pub(crate) nodes: Vec<String>,
    /// The file that has them, one on a line, and the port of those that have none there.
    pub(crate) file: Option<(PathBuf, u16)>,
    /// Whether no others are spoken to.
    pub(crate) whitelist: bool,
    /// The datacenter whose nodes are preferred.
    pub(crate) datacenter: Option<String>,
    pub(crate) login: LoginSettings,
    /// Files of certificates; `None`: connections are plain.
    pub(crate) tls: Option<ClientFiles>,
    pub(crate) compression: Option<Compression>,
    /// Connections to each node; none is one to each shard, which of Cassandra's nodes is one to each.
    pub(crate) per_host: Option<usize>,
    /// The most operations at a time that `maxPending=` allows, if it is said.
    pub(crate) pending_max: Option<usize>,
}

impl ConnectionSettings {
    pub(super) fn of(groups: &mut Groups) -> Result<ConnectionSettings, StressError> {
        let port = port(groups.take("-port"))?;
        let mut node = groups.take("-node");
        let whitelist = node.flag("whitelist")?;
        let datacenter = node.value("datacenter=")?;
        let file = node.value("file=")?.map(|file| (PathBuf::from(file), port));
        let listed = node.bare()?;
        node.finish()?;
        let nodes = match (&listed, &file) {
            (Some(_), Some(_)) => return Err(refusal("-node: a list and file= exclude each other")),
            (None, Some(_)) => Vec::new(),
            (Some(list), None) => with_port(list.split(','), port),
            (None, None) => with_port(["localhost"].into_iter(), port),
        };
        let mut settings = mode(groups.take("-mode"))?;
        let is_file_said = groups.has("-credentials-file");
        settings.login.take_file(groups.take("-credentials-file"), is_file_said)?;
        settings.tls = transport(groups.take("-transport"))?;
        let count = nodes.len().max(1);
        settings.pending_max = settings.pending_max.map(|pending| pending.saturating_mul(count));
        Ok(ConnectionSettings { nodes, file, whitelist, datacenter, ..settings })
    }
}

/// Each with the port, unless it has one of its own.
pub(crate) fn with_port<'a>(nodes: impl Iterator<Item = &'a str>, port: u16) -> Vec<String> {
    let has_port = |node: &str| node.starts_with('[') && node.contains("]:") || node.matches(':').count() == 1;
    let is_bare_v6 = |node: &str| !node.starts_with('[') && node.matches(':').count() > 1;
    let nodes = nodes.map(str::trim).filter(|node| !node.is_empty());
    nodes
        .map(|node| match node {
            _ if has_port(node) => node.to_owned(),
            _ if is_bare_v6(node) => format!("[{node}]:{port}"),
            _ => format!("{node}:{port}"),
        })
        .collect()
}

fn port(mut group: Group) -> Result<u16, StressError> {
    group.refuse(&[("thrift=", "Thrift is not supported")])?;
    // What is asked over JMX there, the garbage collector's work, is not asked here.
    let _ = group.parsed("jmx=", "a port", |text| text.parse::<u16>().ok())?;
    let port = group.parsed("native=", "a port", |text| text.parse::<u16>().ok().filter(|port| *port > 0))?;
    group.finish()?;
    Ok(port.unwrap_or(9042))
}

fn mode(mut group: Group) -> Result<ConnectionSettings, StressError> {
    group.refuse(&[
        ("simplenative", "operations go through the driver; for another client see `--raw`"),
        ("thrift", "Thrift is not supported"),
        ("smart", "Thrift is not supported"),
        ("unprepared", "statements are prepared"),
        ("port=", "use -port native="),
    ])?;
    for word in ["native", "cql3", "prepared"] {
        group.flag(word)?;
    }
    let _ = group.parsed("protocolVersion=", "4, the only version of the driver", |text| {
        (text == "4" || text.eq_ignore_ascii_case("NEWEST_SUPPORTED")).then_some(())
    })?;
    let _ = group.parsed("auth-provider=", "PlainTextAuthProvider", |text| {
        text.ends_with("PlainTextAuthProvider").then_some(())
    })?;
    let count = |text: &str| text.parse::<usize>().ok().filter(|count| (1..=32_768).contains(count));
    let per_host = group.parsed("connectionsPerHost=", "a number from 1", count)?;
    let pending = group.parsed("maxPending=", "a number from 1 to 32768", count)?;
    let login = LoginSettings::of_mode(&mut group)?;
    let compression = group.parsed("compression=", "none, lz4 or snappy", |text| {
        Some(match text.to_ascii_lowercase().as_str() {
            "none" => None,
            "lz4" => Some(Compression::Lz4),
            "snappy" => Some(Compression::Snappy),
            _ => return None,
        })
    })?;
    group.finish()?;
    let is_pool_said = per_host.is_some() || pending.is_some();
    let pending = pending.unwrap_or(PENDING_DEFAULT) * per_host.unwrap_or(CONNECTIONS_DEFAULT);
    Ok(ConnectionSettings {
        nodes: Vec::new(),
        file: None,
        whitelist: false,
        datacenter: None,
        login,
        tls: None,
        compression: compression.flatten(),
        per_host,
        pending_max: is_pool_said.then_some(pending),
    })
}
