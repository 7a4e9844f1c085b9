//! Options of the commands about nodes and the ring: who is there, who joins, leaves or moves, and the metadata group.

use clap::{Args, Subcommand};

/// `getendpoints`
#[derive(Debug, Args)]
pub(crate) struct GetEndpoints {
    /// The keyspace
    pub(crate) keyspace: String,
    /// The table
    pub(crate) table: String,
    /// The partition key; values of several columns with colons between
    #[arg(allow_hyphen_values = true)]
    pub(crate) key: String,
}

/// `decommission`
#[derive(Debug, Args)]
pub(crate) struct Decommission {
    /// Leave also where a keyspace has more replicas than nodes are left
    #[arg(short = 'f', long)]
    pub(crate) force: bool,
}

/// `removenode`
#[derive(Debug, Args)]
pub(crate) struct RemoveNode {
    /// Host id of the node; or `status`: print the nodes that are leaving
    #[arg(value_name = "ID | status")]
    pub(crate) node: String,
    /// Remove also where a keyspace has more replicas than nodes are left
    #[arg(short = 'f', long)]
    pub(crate) force: bool,
}

/// `operations`
#[derive(Debug, Args)]
pub(crate) struct Operations {
    #[command(subcommand)]
    pub(crate) command: Option<OperationsCommand>,
}

/// Of `operations`
#[derive(Debug, Subcommand)]
pub(crate) enum OperationsCommand {
    /// Abort an operation: its ranges stay where they were. Refused once the new replicas are read
    Abort {
        /// Its number
        number: u64,
    },
}

/// `rebuild`
#[derive(Debug, Args)]
pub(crate) struct Rebuild {
    /// (-ks) Not supported: all keyspaces are copied
    #[arg(long, value_name = "KEYSPACE")]
    pub(crate) keyspace: Option<String>,
    /// (-ts) Not supported: all ranges of the node are copied
    #[arg(long, value_name = "TOKENS")]
    pub(crate) tokens: Option<String>,
    /// Not supported: the sources are chosen so that no acknowledged write is missed
    #[arg(short = 's', long, value_name = "SOURCES")]
    pub(crate) sources: Option<String>,
    /// Not supported: name the datacenter to copy from
    #[arg(long)]
    pub(crate) exclude_local_dc: bool,
    /// The datacenter to copy from; any if none is named
    #[arg(value_name = "SOURCE DC")]
    pub(crate) datacenter: Option<String>,
}

/// `netstats`
#[derive(Debug, Args)]
pub(crate) struct NetStats {
    /// Print sizes in KiB, MiB, GiB
    #[arg(short = 'H', long)]
    pub(crate) human_readable: bool,
}

/// `move`
#[derive(Debug, Args)]
pub(crate) struct Move {
    /// The new token; a backslash may stand before a negative one
    #[arg(value_name = "NEW TOKEN", allow_hyphen_values = true)]
    pub(crate) token: String,
}

/// `abortbootstrap`
#[derive(Debug, Args)]
pub(crate) struct AbortBootstrap {
    /// Host id of the joining node
    #[arg(long, value_name = "ID")]
    pub(crate) node: String,
}

/// `assassinate`
#[derive(Debug, Args)]
pub(crate) struct Assassinate {
    /// Address of the node
    pub(crate) address: std::net::IpAddr,
}

/// `cms`
#[derive(Debug, Args)]
pub(crate) struct Cms {
    #[command(subcommand)]
    pub(crate) command: Option<CmsCommand>,
}

/// Its commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CmsCommand {
    /// Print the voters, the leader and the epoch
    Describe,
    /// Refused: the cluster chooses the voters itself
    Reconfigure(CmsReconfigure),
}

/// Cassandra's arguments of `cms reconfigure`, which is refused whatever they are.
#[derive(Debug, Args)]
pub(crate) struct CmsReconfigure {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _all: Vec<String>,
}

/// `upgrade`
#[derive(Debug, Args)]
pub(crate) struct Upgrade {
    #[command(subcommand)]
    pub(crate) command: UpgradeCommand,
}

/// Its commands.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum UpgradeCommand {
    /// Print the enabled features, and what each node lacks
    Status,
    /// Enable the features that all nodes know; no node can go back to an older release then
    Finalize,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Resolve addresses to host names
    #[arg(short = 'r', long)]
    pub(crate) resolve_ip: bool,
    /// Keyspace whose replication determines ownership
    pub(crate) keyspace: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// Print all tokens
    #[arg(short = 'T', long)]
    pub(crate) tokens: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Version {
    /// Also print the Helenus version, shards and reactor
    #[arg(short = 'v', long)]
    pub(crate) verbose: bool,
}
