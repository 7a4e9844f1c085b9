//! The command line of `helenus serve`: its own flags and ScyllaDB's, so that start lines written for ScyllaDB work.
//!
//! Everything is optional here; what is not given comes from the configuration file, then from the defaults.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use runtime::ReactorKind;

use super::{CommitLogSync, units};

/// Flags of `helenus serve`.
#[derive(Debug, Clone, Default, Args)]
pub struct Arguments {
    /// Configuration file with the keys and units of cassandra.yaml; flags override it
    #[arg(long, visible_alias = "options-file", value_name = "FILE", help_heading = "Node")]
    pub config: Option<PathBuf>,

    /// Data directory, created if missing [default: ./helenus-data]
    #[arg(long, short = 'D', visible_alias = "workdir", value_name = "DIR", help_heading = "Node")]
    pub data_dir: Option<PathBuf>,

    /// Cluster name reported to clients [default: Test Cluster]
    #[arg(long, value_name = "NAME", help_heading = "Node")]
    pub cluster_name: Option<String>,

    /// Listen address for CQL clients; a non-loopback address needs passwords, certificates or --insecure [default: 127.0.0.1]
    #[arg(long, visible_alias = "rpc-address", value_name = "ADDRESS", help_heading = "Network")]
    pub listen: Option<String>,

    /// Address advertised to drivers, if they cannot connect to --listen (0.0.0.0, address translation)
    #[arg(long, value_name = "ADDRESS", help_heading = "Network")]
    pub broadcast_rpc_address: Option<String>,

    /// CQL port; 0 picks any free port [default: 9042]
    #[arg(long, visible_alias = "native-transport-port", value_name = "PORT", help_heading = "Network")]
    pub port: Option<u16>,

    /// Shard-aware CQL port: the client's source port selects the shard; 0 picks any free port [default: --port + 10000]
    #[arg(long, visible_alias = "native-shard-aware-transport-port", value_name = "PORT", help_heading = "Network")]
    pub shard_aware_port: Option<u16>,

    /// Listen address of the admin HTTP API; a non-loopback address needs --insecure [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", help_heading = "Network")]
    pub api_address: Option<String>,

    /// Port of the admin HTTP API; 0 disables it [default: 10000, if free]
    #[arg(long, value_name = "PORT", help_heading = "Network")]
    pub api_port: Option<u16>,

    /// Listen address of the Prometheus metrics; a non-loopback address needs --insecure [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", help_heading = "Network")]
    pub prometheus_address: Option<String>,

    /// Port of the Prometheus metrics; 0 disables them [default: 9180, if free]
    #[arg(long, value_name = "PORT", help_heading = "Network")]
    pub prometheus_port: Option<u16>,

    /// How clients prove who they are: AllowAllAuthenticator (not at all), PasswordAuthenticator, or one by certificates, which the file configures [default: AllowAllAuthenticator]
    #[arg(long, value_name = "CLASS", help_heading = "Access")]
    pub authenticator: Option<String>,

    /// Checks of roles: AllowAllAuthorizer (none) or CassandraAuthorizer (permissions) [default: CassandraAuthorizer with an authenticator]
    #[arg(long, value_name = "CLASS", help_heading = "Access")]
    pub authorizer: Option<String>,

    #[arg(long, hide = true)]
    #[allow(missing_docs, reason = "there is but one")]
    pub role_manager: Option<String>,

    /// Name of the superuser that the first start creates [default: cassandra]
    #[arg(long, value_name = "NAME", help_heading = "Access")]
    pub auth_superuser_name: Option<String>,

    /// Hash of its password: bcrypt or SHA-512 crypt [default: a password is drawn and written to initial-superuser in the data directory]
    #[arg(long, value_name = "HASH", help_heading = "Access")]
    pub auth_superuser_salted_password: Option<String>,

    /// Remember successful verifications of passwords for so many milliseconds; 0: never [default: 600000]
    #[arg(long, value_name = "MILLIS", help_heading = "Access")]
    pub credentials_validity_in_ms: Option<u64>,

    /// CQL without login for the owner of the process, on a Unix socket: a path, workdir (in the data directory) or ignore (none) [default: workdir]
    #[arg(long, value_name = "PATH", help_heading = "Access")]
    pub maintenance_socket: Option<String>,

    /// Allow non-loopback listen addresses although there is no authentication
    #[arg(long, help_heading = "Network")]
    pub insecure: bool,

    /// File with the secret that the nodes of a cluster prove to each other: 16 bytes or more, the same on all nodes
    #[arg(long, value_name = "FILE", help_heading = "Network")]
    pub internode_secret_file: Option<PathBuf>,

    /// Addresses of nodes of the cluster to join, with commas; this node's own among them allows it to found one [default: none, a node alone]
    #[arg(long, value_name = "ADDRESSES", help_heading = "Cluster")]
    pub seeds: Option<String>,

    /// Listen address for other nodes; a non-loopback address needs a secret [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", help_heading = "Cluster")]
    pub listen_address: Option<String>,

    /// Address advertised to other nodes, if they cannot connect to --listen-address
    #[arg(long, value_name = "ADDRESS", help_heading = "Cluster")]
    pub broadcast_address: Option<String>,

    /// Port for other nodes, and of seeds without one [default: 7000]
    #[arg(long, value_name = "PORT", help_heading = "Cluster")]
    pub storage_port: Option<u16>,

    /// Datacenter of this node [default: datacenter1]
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    pub datacenter: Option<String>,

    /// Rack of this node within its datacenter [default: rack1]
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    pub rack: Option<String>,

    /// Tokens of this node when it joins a cluster, or is alone [default: 16]
    #[arg(long, value_name = "COUNT", help_heading = "Cluster")]
    pub num_tokens: Option<u16>,

    /// The tokens themselves, with commas
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true, help_heading = "Cluster")]
    pub initial_token: Option<String>,

    /// Join in the place of a node that is down for good, with its tokens: its host id or its address, which this node may have too; ignored once the node has joined
    #[arg(long, value_name = "NODE", help_heading = "Cluster",
          aliases = ["replace-node-first-boot", "replace-address-first-boot", "replace-address"])]
    pub replace: Option<String>,

    /// Found a cluster although other seeds do not answer; only for the first start of a cluster
    #[arg(long, help_heading = "Cluster")]
    pub found_cluster: bool,

    /// A majority of the metadata voters is lost for good: begin their group again on this node; on the other nodes, once each, with its address
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "", help_heading = "Cluster")]
    pub recover_metadata: Option<String>,

    /// Number of shards, one core each [default: one per processor available to this process]
    #[arg(long, value_name = "COUNT", help_heading = "Resources")]
    pub smp: Option<u16>,

    /// Processors to pin the shards to, for example 0-3,8 [default: the first --smp processors available to this process]
    #[arg(long, value_name = "LIST", help_heading = "Resources")]
    pub cpuset: Option<String>,

    /// Memory of all shards together, in bytes or with suffix K, M, G, T [default: half of the machine's or cgroup's]
    #[arg(long, value_name = "SIZE", value_parser = units::memory, help_heading = "Resources")]
    pub memory: Option<u64>,

    /// Enable the row cache (1) or disable it (0) [default: 1]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "1", value_parser = boolean,
          action = ArgAction::Set, help_heading = "Resources")]
    pub enable_cache: Option<bool>,

    /// Do not pin shards to processors, and allow more shards than processors
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "1", value_parser = boolean,
          action = ArgAction::Set, help_heading = "Resources")]
    pub overprovisioned: Option<bool>,

    /// Busy-poll this many microseconds before sleeping when idle (adaptive) [default: 20; 0 with --overprovisioned]
    #[arg(long, value_name = "MICROS", value_parser = clap::value_parser!(u32).range(..=10_000), help_heading = "Resources")]
    pub idle_poll_time_us: Option<u32>,

    /// Reactor backend for disk and network I/O: uring, epoll, or auto, which tries uring first [default: auto]
    #[arg(long, value_name = "KIND", value_parser = reactor, help_heading = "Resources")]
    pub reactor: Option<Reactor>,

    /// Commit log sync mode: group and batch acknowledge a write after the sync to disk, periodic before [default: group]
    #[arg(long, value_name = "MODE", help_heading = "Durability")]
    pub commitlog_sync: Option<CommitLogSync>,

    /// Time between syncs with --commitlog-sync periodic, with unit s, ms or us [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = units::duration, help_heading = "Durability")]
    pub commitlog_sync_period: Option<Duration>,

    /// Flush all memtables at shutdown, as `nodetool drain` does, so that the next start replays no commit log
    #[arg(long, help_heading = "Durability")]
    pub flush_on_drain: bool,

    /// At start, import SSTables found in table directories and their upload/; files that cannot be imported are logged
    #[arg(long, alias = "take-in-sstables", help_heading = "Durability")]
    pub import_sstables: bool,

    /// Open a damaged commit log: replay the readable records, set damaged segments aside and log what is lost
    #[arg(long, help_heading = "Durability")]
    pub salvage_commitlog: bool,

    /// Log level: error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL", value_parser = level, help_heading = "Log")]
    pub default_log_level: Option<tracing::Level>,

    /// Log to standard output (1) instead of standard error (0) [default: 0]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "1", value_parser = boolean,
          action = ArgAction::Set, help_heading = "Log")]
    pub log_to_stdout: Option<bool>,

    /// A bug to plant: for the tests of the tests
    #[cfg(feature = "planted")]
    #[arg(long, hide = true, value_name = "NAME", value_parser = planted::Planted::named)]
    pub plant: Option<planted::Planted>,

    #[command(flatten)]
    #[allow(missing_docs, reason = "a doc comment here would become the help text of all flags")]
    pub pointless: Pointless,
}

/// Flags of ScyllaDB that mean nothing here: accepted with one warning, hidden from `--help`.
#[derive(Debug, Clone, Default, Args)]
pub struct Pointless {
    #[arg(long, hide = true)]
    permissions_validity_in_ms: Option<String>,
    #[arg(long, hide = true)]
    permissions_update_interval_in_ms: Option<String>,
    #[arg(long, hide = true)]
    max_io_requests: Option<String>,
    #[arg(long, hide = true)]
    num_io_queues: Option<String>,
    #[arg(long, hide = true)]
    num_io_groups: Option<String>,
    #[arg(long, hide = true)]
    io_properties_file: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    developer_mode: Option<String>,
    #[arg(long, hide = true)]
    collectd: Option<String>,
    #[arg(long, hide = true)]
    collectd_address: Option<String>,
    #[arg(long, hide = true)]
    collectd_hostname: Option<String>,
    #[arg(long, hide = true)]
    background_writer_scheduling_quota: Option<String>,
    #[arg(long, hide = true)]
    auto_adjust_flush_quota: Option<String>,
    #[arg(long, hide = true)]
    load_balance: Option<String>,
    #[arg(long, hide = true)]
    seed_provider_parameters: Option<String>,
    #[arg(long, hide = true)]
    log_to_syslog: Option<String>,
    #[arg(long, hide = true)]
    logger_log_level: Option<String>,
    #[arg(long, hide = true)]
    reactor_backend: Option<String>,
    #[arg(long, hide = true)]
    task_quota_ms: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    poll_mode: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    lock_memory: Option<String>,
    #[arg(long, hide = true)]
    reserve_memory: Option<String>,
    #[arg(long, hide = true)]
    blocked_reactor_notify_ms: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    unsafe_bypass_fsync: Option<String>,
}

impl Pointless {
    /// Seeds as ScyllaDB's older flag has them.
    pub(super) fn seed_provider_parameters(&self) -> Option<&str> {
        self.seed_provider_parameters.as_deref()
    }

    /// The flags that were given, as they are written.
    pub fn given(&self) -> Vec<String> {
        let flags = [
            ("--permissions-validity-in-ms", &self.permissions_validity_in_ms),
            ("--permissions-update-interval-in-ms", &self.permissions_update_interval_in_ms),
            ("--max-io-requests", &self.max_io_requests),
            ("--num-io-queues", &self.num_io_queues),
            ("--num-io-groups", &self.num_io_groups),
            ("--io-properties-file", &self.io_properties_file),
            ("--developer-mode", &self.developer_mode),
            ("--collectd", &self.collectd),
            ("--collectd-address", &self.collectd_address),
            ("--collectd-hostname", &self.collectd_hostname),
            ("--background-writer-scheduling-quota", &self.background_writer_scheduling_quota),
            ("--auto-adjust-flush-quota", &self.auto_adjust_flush_quota),
            ("--load-balance", &self.load_balance),
            ("--seed-provider-parameters", &self.seed_provider_parameters),
            ("--log-to-syslog", &self.log_to_syslog),
            ("--logger-log-level", &self.logger_log_level),
            ("--reactor-backend", &self.reactor_backend),
            ("--task-quota-ms", &self.task_quota_ms),
            ("--poll-mode", &self.poll_mode),
            ("--lock-memory", &self.lock_memory),
            ("--reserve-memory", &self.reserve_memory),
            ("--blocked-reactor-notify-ms", &self.blocked_reactor_notify_ms),
            ("--unsafe-bypass-fsync", &self.unsafe_bypass_fsync),
        ];
        flags.iter().filter(|(_, value)| value.is_some()).map(|(flag, _)| (*flag).to_owned()).collect()
    }
}

/// Which reactor to use; `Auto` tries io_uring and falls back to epoll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reactor {
    /// Let the runtime find out.
    Auto,
    /// This one or none.
    Forced(ReactorKind),
}

fn reactor(text: &str) -> Result<Reactor, String> {
    match text {
        "auto" => Ok(Reactor::Auto),
        "uring" | "io_uring" => Ok(Reactor::Forced(ReactorKind::Uring)),
        "epoll" => Ok(Reactor::Forced(ReactorKind::Epoll)),
        _ => Err(format!("'{text}' is not a reactor: uring, epoll or auto")),
    }
}

/// A flag's boolean in any of the spellings ScyllaDB's start lines use.
fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(format!("'{text}' is not a boolean: 1 or 0")),
    }
}

fn level(text: &str) -> Result<tracing::Level, String> {
    text.parse().map_err(|_| format!("'{text}' is not a log level: error, warn, info, debug or trace"))
}
