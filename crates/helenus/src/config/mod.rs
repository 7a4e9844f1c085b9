//! What a node is told: defaults, then the configuration file, then the command line; each wins over the one before.
//!
//! [`Config`] is complete and checked against the machine. It is made before any shard runs and is plain data, so that the
//! simulator can write one by hand.

mod access;
mod address;
mod arguments;
mod audit_log;
mod cluster;
mod commitlog_sync;
mod encryption;
mod error;
mod file;
mod fixed_ring;
mod guardrails;
mod hints;
mod keys;
mod machine;
mod place;
mod refused;
mod secret_file;
mod seeds;
mod settings;
mod shown;
mod snitch;
mod suggest;
mod timeouts;
mod tokens;
mod units;
mod yaml;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use admin::Endpoint;
use planted::Planted;
use runtime::ReactorKind;
use server::{Limits, Ports};
use tls::{Credentials, OutsideCredentials, ServerCredentials};
use topology::Strategies;

pub use ::audit::Options as AuditOptions;
pub use access::{AccessConfig, Authenticator, Authorizer};
pub use arguments::{Arguments, Reactor};
pub use cluster::{ClusterConfig, LOW_BOUND_AGE, Recover, STORAGE_PORT};
pub use commitlog_sync::CommitLogSync;
pub use error::ConfigError;
pub use fixed_ring::{FixedNode, FixedRing};
pub use internode::{Compression, Secret};
pub use machine::Machine;
pub use query::{Guardrails, HintOptions, TimeoutOptions};
pub use settings::{MEMTABLE_BYTES_MAX, Settings};
pub use tokens::Tokens;
pub use units::print_size;

/// Everything a node needs to know before it starts.
#[derive(Debug, Clone)]
pub struct Config {
    /// Reported to clients; a node of another cluster would refuse to talk to this one.
    pub cluster_name: String,
    /// Folder of all data.
    pub data_dir: PathBuf,
    /// Where clients connect; port 0 takes any free one.
    pub listen: Ports,
    /// Certificates for clients' connections; `None`: all ports are plain.
    pub client_tls: Option<ServerCredentials>,
    /// True if no port serves a client without a certificate of a trusted authority.
    pub proves_clients: bool,
    /// Logins and permissions.
    pub access: AccessConfig,
    /// The audit log, which may be enabled while the node runs.
    pub audit: AuditOptions,
    /// The address drivers are told, when it is not the one listened on.
    pub broadcast: Option<IpAddr>,
    /// Where operators are answered over HTTP; `None`: nowhere.
    pub api: Option<Endpoint>,
    /// Where Prometheus finds metrics; `None`: nowhere.
    pub metrics: Option<Endpoint>,
    /// Certificates for operators' connections, on both ports; `None`: they are plain.
    pub api_tls: Option<OutsideCredentials>,
    /// Whether addresses that are not this machine's own may be listened on although there is no authentication.
    pub insecure: bool,
    /// Number of shards.
    pub shards: u16,
    /// One processor per shard, or empty when shards are not pinned.
    pub cpus: Vec<usize>,
    /// Memory of all shards together, in bytes.
    pub memory_bytes: u64,
    /// Forced reactor, or `None` for the best that works.
    pub reactor: Option<ReactorKind>,
    /// How long an idle shard looks for requests before it sleeps.
    pub idle_poll: Duration,
    /// Its datacenter.
    pub datacenter: String,
    /// Its rack within the datacenter.
    pub rack: String,
    /// The snitch whose names these are, as operators see it.
    pub snitch: &'static str,
    /// A ring of several nodes, written by hand: for tests and the simulator, and no key or flag sets it. `None`: the
    /// node is a ring of one, and no internode port is opened. See [`FixedRing`].
    pub fixed_ring: Option<FixedRing>,
    /// The secret that nodes prove to each other; `None`: they prove none.
    pub internode_secret: Option<Secret>,
    /// The tokens of a node that has none yet.
    pub tokens: Tokens,
    /// Connections to other nodes that compress long messages.
    pub internode_compression: Compression,
    /// Certificates by which nodes prove themselves; `None`: their connections are plain.
    pub internode_tls: Option<Credentials>,
    /// The cluster that the node is to be of. `None`: it is alone, and opens no port for other nodes.
    pub cluster: Option<ClusterConfig>,
    /// When writes are acknowledged.
    pub commitlog_sync: CommitLogSync,
    /// Time between syncs in [`CommitLogSync::Periodic`].
    pub commitlog_sync_period: Duration,
    /// Size of a commit log segment, in bytes.
    pub commitlog_segment_bytes: u64,
    /// What the commit log may take before tables are flushed so that it gets shorter, over all shards; `None`: as much as the memory.
    pub commitlog_total_bytes: Option<u64>,
    /// What memtables may take, over all shards; `None`: half of the memory.
    pub memtable_bytes: Option<u64>,
    /// The most that the row caches of all shards may take; 0: there are none; `None`: a share of the memory.
    pub row_cache_bytes: Option<u64>,
    /// What the compactions of all shards may write, bytes a second; 0: no limit.
    pub compaction_throughput: u64,
    /// Bytes a second of all shards that copies to other nodes may have; 0: no limit.
    pub stream_throughput: u64,
    /// What of the disk is kept for what gives room back, bytes.
    pub disk_reserve: u64,
    /// How hints are kept for other nodes.
    pub hints: HintOptions,
    /// Times that requests wait for other nodes.
    pub timeouts: TimeoutOptions,
    /// Put aside what TRUNCATE and DROP take away.
    pub auto_snapshot: bool,
    /// Write memtables to files when the node ends.
    pub flush_on_drain: bool,
    /// Take in the SSTables of others that lie in the tables' folders.
    pub import_sstables: bool,
    /// Open a damaged commit log, and keep what can be read.
    pub salvage_commitlog: bool,
    /// Bytes of prepared statements kept, over all shards; `None` leaves it to the engine.
    pub prepared_bytes_max: Option<u64>,
    /// Columns may have masks, and are read through them.
    pub masks_enabled: bool,
    /// What statements may do.
    pub guardrails: Guardrails,
    /// Limits of the native protocol's server.
    pub limits: Limits,
    /// Least severe level that is logged.
    pub log_level: tracing::Level,
    /// Log to standard output instead of standard error.
    pub log_to_stdout: bool,
    /// The replication strategies that keyspaces may name. A program that embeds a node adds its own; no key or flag sets it.
    pub strategies: Strategies,
    /// A bug planted on purpose, in builds for that.
    pub planted: Planted,
}

impl Config {
    /// True if a certificate is all that the ports for clients ask for, and those for operators ask for nothing: who asks there must not pass for a client.
    pub fn are_operators_unproven(&self) -> bool {
        let do_operators_prove = self.api_tls.as_ref().is_some_and(OutsideCredentials::proves_clients);
        self.proves_clients && !self.access.authenticator.requires_login() && !do_operators_prove
    }

    /// Puts together the configuration of `arguments` and the file they name, for this machine. The second value names the
    /// keys and flags that were accepted and mean nothing, for one warning.
    #[expect(clippy::disallowed_methods, reason = "no shard runs yet, so there is no Runtime to read through")]
    pub fn resolve(arguments: &Arguments, machine: &Machine) -> Result<(Config, Vec<String>), ConfigError> {
        let mut settings = Settings::default();
        let mut pointless = Vec::new();
        if let Some(path) = &arguments.config {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|error| ConfigError::FileUnreadable { file: name.clone(), reason: error.to_string() })?;
            file::read(&name, &text, &mut settings, &mut pointless)?;
        }
        settings.take(arguments)?;
        pointless.extend(arguments.pointless.given());
        Ok((settings.complete(machine)?, pointless))
    }
}

#[cfg(test)]
mod tests;
