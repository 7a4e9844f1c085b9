//! The command line: Cassandra 5.0's commands and options, and `--json`.
//!
//! Options that stand before or after any command are here; the commands are in `command`, and their own options beside it by group. Cassandra's commands that
//! are not supported are parsed too: [`unsupported`] has a sentence about each.

mod access;
mod command;
mod figures;
mod maintenance;
mod ring;
mod settings;
mod unsupported;

use std::path::PathBuf;

use clap::{ArgAction, Parser};

use crate::access::is_this_machine;
pub(crate) use access::{
    CachedRoles, EnableAuditLog, GetAuthCacheConfig, ImportRoles, InvalidatePermissionsCache, SetAuthCacheConfig,
};
pub(crate) use command::Command;
pub(crate) use figures::{
    ClientStats, CompactionHistory, CompactionStats, DataPaths, TableHistograms, TableStats, ThreadPoolStats,
    TopPartitions,
};
pub(crate) use maintenance::{
    Cleanup, ClearSnapshot, Compact, GarbageCollect, GetCompactionThreshold, ListSnapshots, Refresh, Repair, Scrub,
    Snapshot, StatusAutoCompaction, Stop, Tables,
};
pub(crate) use ring::{
    AbortBootstrap, Assassinate, Cms, CmsCommand, Decommission, GetEndpoints, Info, Move, NetStats, Operations,
    OperationsCommand, Rebuild, RemoveNode, Status, Upgrade, UpgradeCommand, Version,
};
pub(crate) use settings::{
    Datacenter, GetCompactionThroughput, GetStreamThroughput, GetTimeout, SetCompactionThroughput, SetHandoffThrottle,
    SetLoggingLevel, SetMaxHintWindow, SetStreamThroughput, SetTimeout, SetTraceProbability, TruncateHints,
};
#[cfg(test)]
pub(crate) use unsupported::ALL as UNSUPPORTED;
pub(crate) use unsupported::Unsupported;

/// Inspect and manage a running node, with the commands, options and output of Cassandra's nodetool.
#[derive(Debug, Parser)]
#[command(
    name = "nodetool",
    disable_help_flag = true,
    max_term_width = 120,
    after_help = "Cassandra's other commands are refused, each with a sentence about why, which `help COMMAND` has too."
)]
pub(crate) struct Arguments {
    /// Address of the node's admin API
    #[arg(short = 'h', long, global = true, default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// Port of the node's admin API (not the JMX port)
    #[arg(short = 'p', long, global = true, default_value_t = 10000)]
    pub(crate) port: u16,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Timeout in seconds for connecting and for commands that only read
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Print help
    #[arg(long, global = true, action = ArgAction::Help)]
    help: Option<bool>,
    /// User
    #[arg(short = 'u', long, global = true, value_name = "NAME")]
    pub(crate) username: Option<String>,
    /// (-pw) Its password; other users of this machine can read it here, so prefer -pwf or the variable HELENUS_PASSWORD
    #[arg(long, global = true, value_name = "PASSWORD")]
    pub(crate) password: Option<String>,
    /// (-pwf) File with lines of a user and a password each
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Connect under TLS
    #[arg(long, global = true)]
    pub(crate) ssl: bool,
    /// Certificates (PEM) that the node's is judged by; implies --ssl
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// Certificate (PEM) of the operator, for nodes with require_client_auth
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) cert: Option<PathBuf>,
    /// Its private key (PEM), if it is not in the same file
    #[arg(id = "own_key", long = "key", global = true, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// (-pp) Print ports; ignored
    #[arg(long, global = true, hide = true)]
    print_port: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Options that are ignored, and passwords that others can read.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.username.is_some() && self.cacert.is_none() && !is_this_machine(&self.host) {
            warnings.push("the password is not encrypted on its way to the node; use --ssl".into());
        }
        if self.print_port {
            warnings.push("ignoring -pp: all nodes of a ring listen on the same port".into());
        }
        warnings
    }
}
