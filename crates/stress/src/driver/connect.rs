//! A session with the servers, as the command line describes them.

use std::time::Duration;

use client::Login;
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::host_filter::AllowListHostFilter;
use scylla::policies::retry::FallthroughRetryPolicy;

use super::access;
use super::settings::{ConnectionSettings, LoadSettings, Settings, with_port};
use crate::StressError;

/// How long a reply may take: as long as cassandra-stress' driver waits.
const REPLY_TIME_MAX: Duration = Duration::from_secs(12);

/// Opens a session.
pub(crate) async fn connect(settings: &Settings) -> Result<Session, StressError> {
    let connection = &settings.connection;
    let nodes = nodes(connection)?;
    let profile = ExecutionProfile::builder()
        .consistency(settings.command.consistency)
        .request_timeout(Some(REPLY_TIME_MAX))
        // Operations are tried again by us, who count that.
        .retry_policy(std::sync::Arc::new(FallthroughRetryPolicy::new()))
        .build();
    let mut builder = SessionBuilder::new()
        .known_nodes(&nodes)
        .default_execution_profile_handle(profile.into_handle())
        .keyspaces_to_fetch([settings.keyspace()])
        // Where rows lie, and no more, unless a profile asks for its table's columns.
        .fetch_full_schema_metadata(matches!(settings.command.load, LoadSettings::Profile(_)))
        .compression(connection.compression);
    if let Some(Login { username, password }) = access::login(&connection.login)? {
        builder = builder.user(username, password);
    }
    if let Some(files) = &connection.tls {
        builder = builder.tls_context(Some(access::identity(files)?.context()));
    }
    if let Some(count) = connection.per_host.and_then(std::num::NonZeroUsize::new) {
        builder = builder.pool_size(PoolSize::PerHost(count));
    }
    if let Some(datacenter) = &connection.datacenter {
        builder = builder.prefer_datacenter(datacenter.clone());
    }
    let failed = |reason: String| StressError::Driver { action: format!("connect to {}", nodes.join(", ")), reason };
    if connection.whitelist {
        let filter = AllowListHostFilter::new(&nodes).map_err(|error| failed(error.to_string()))?;
        builder = builder.host_filter(std::sync::Arc::new(filter));
    }
    builder.build().await.map_err(|error| failed(error.to_string()))
}

fn nodes(connection: &ConnectionSettings) -> Result<Vec<String>, StressError> {
    let Some((path, port)) = &connection.file else { return Ok(connection.nodes.clone()) };
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|source| StressError::Nodes { path: path.clone(), source })?;
    match with_port(text.lines(), *port) {
        nodes if nodes.is_empty() => {
            Err(StressError::Arguments { reason: format!("-node file={}: the file lists no node", path.display()) })
        }
        nodes => Ok(nodes),
    }
}
