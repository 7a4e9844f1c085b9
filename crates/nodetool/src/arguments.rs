//! The command line: Cassandra 5.0's commands and options, and `--json`.

mod access;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::access::is_this_machine;
pub(crate) use access::{
    CachedRoles, EnableAuditLog, GetAuthCacheConfig, ImportRoles, InvalidatePermissionsCache, SetAuthCacheConfig,
};

/// Inspect and manage a running node, with the commands, options and output of Cassandra's nodetool.
#[derive(Debug, Parser)]
#[command(name = "nodetool", disable_help_flag = true, max_term_width = 120)]
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

/// Commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the nodes of the ring: state, load, tokens, host id, rack
    Status(Status),
    /// Print node information: id, load, uptime, memory, token
    Info(Info),
    /// Print the name, snitch, partitioner and schema versions of the cluster
    #[command(name = "describecluster")]
    DescribeCluster,
    /// Print the tokens of the ring
    Ring(Status),
    /// Print the gossip state of each node
    #[command(name = "gossipinfo")]
    GossipInfo,
    /// Print phi of each node, and the gaps, silence and clock offset beside it
    #[command(name = "failuredetector")]
    FailureDetector,
    /// Print the nodes that have a copy of a partition
    #[command(name = "getendpoints")]
    GetEndpoints(GetEndpoints),
    /// Take the node out of the cluster; its process ends then
    Decommission(Decommission),
    /// Take a node that is down out of the cluster
    #[command(name = "removenode")]
    RemoveNode(RemoveNode),
    /// Print the operations that move token ranges, or abort one
    Operations(Operations),
    /// Abort the join of a node, which is removed
    #[command(name = "abortbootstrap")]
    AbortBootstrap(AbortBootstrap),
    /// Copy the node's ranges of all keyspaces again, from other replicas
    Rebuild(Rebuild),
    /// Print the copies of data between the node and others
    #[command(name = "netstats")]
    NetStats(NetStats),
    /// Exchange the only token of the node for another; its ranges move
    Move(Move),
    /// Take a node that is down out of the cluster, by its address; the same as removenode --force
    Assassinate(Assassinate),
    /// Print the metadata group: its voters, leader and epoch
    Cms(Cms),
    /// Print or finalize the upgrade of a cluster to a newer release
    Upgrade(Upgrade),
    /// Print the Cassandra version that the node reports
    Version(Version),
    /// Flush memtables to SSTables
    Flush(Tables),
    /// Drain the node: refuse requests and flush all tables
    Drain,
    /// Force a major compaction
    Compact(Compact),
    /// Rewrite SSTables to remove deleted or overwritten data
    #[command(name = "garbagecollect")]
    GarbageCollect(GarbageCollect),
    /// Remove data of token ranges that the node does not own any more
    Cleanup(Cleanup),
    /// Scrub SSTables: rewrite damaged ones from their readable rows
    Scrub(Scrub),
    /// Repair tables: each replica of a token range copies from all others what it lacks
    Repair(Repair),
    /// Print running and pending compactions
    #[command(name = "compactionstats")]
    CompactionStats(CompactionStats),
    /// Print the history of compactions
    #[command(name = "compactionhistory")]
    CompactionHistory(CompactionHistory),
    /// Stop running compactions; their tables stay unchanged
    Stop(Stop),
    /// Print the compaction throughput limit
    #[command(name = "getcompactionthroughput")]
    GetCompactionThroughput(GetCompactionThroughput),
    /// Set the compaction throughput limit, until the node restarts
    #[command(name = "setcompactionthroughput")]
    SetCompactionThroughput(SetCompactionThroughput),
    /// Print the limit of streams to other nodes
    #[command(name = "getstreamthroughput")]
    GetStreamThroughput(GetStreamThroughput),
    /// Set the limit of streams to other nodes, until the node restarts
    #[command(name = "setstreamthroughput")]
    SetStreamThroughput(SetStreamThroughput),
    /// Enable automatic compaction
    #[command(name = "enableautocompaction")]
    EnableAutoCompaction(Tables),
    /// Disable automatic compaction, until the node restarts
    #[command(name = "disableautocompaction")]
    DisableAutoCompaction(Tables),
    /// Print whether automatic compaction is enabled
    #[command(name = "statusautocompaction")]
    StatusAutoCompaction(StatusAutoCompaction),
    /// Take a snapshot of tables
    Snapshot(Snapshot),
    /// List snapshots with their sizes
    #[command(name = "listsnapshots")]
    ListSnapshots(ListSnapshots),
    /// Remove snapshots
    #[command(name = "clearsnapshot")]
    ClearSnapshot(ClearSnapshot),
    /// Import SSTables placed in a table directory or its upload/
    Refresh(Refresh),
    /// Print statistics of tables
    #[command(name = "tablestats", visible_alias = "cfstats")]
    TableStats(TableStats),
    /// Print histograms of a table
    #[command(name = "tablehistograms", visible_alias = "cfhistograms")]
    TableHistograms(TableHistograms),
    /// Print histograms of request latencies
    #[command(name = "proxyhistograms")]
    ProxyHistograms,
    /// Print the usage of stages (thread pools in Cassandra)
    #[command(name = "tpstats")]
    ThreadPoolStats(ThreadPoolStats),
    /// Print the log level
    #[command(name = "getlogginglevels")]
    GetLoggingLevels,
    /// Set the log level, until the node restarts
    #[command(name = "setlogginglevel")]
    SetLoggingLevel(SetLoggingLevel),
    /// Read the files of TLS certificates again now; they are read by themselves within some seconds
    #[command(name = "reloadssl")]
    ReloadSsl,
    /// Set the probability of tracing a request, until the node restarts
    #[command(name = "settraceprobability")]
    SetTraceProbability(SetTraceProbability),
    /// Print the probability of tracing a request
    #[command(name = "gettraceprobability")]
    GetTraceProbability,
    /// Print whether hints are kept for nodes that miss writes
    #[command(name = "statushandoff")]
    StatusHandoff,
    /// Keep hints for nodes that miss writes
    #[command(name = "enablehandoff")]
    EnableHandoff,
    /// Keep no further hints, until the node restarts; those that are kept are delivered
    #[command(name = "disablehandoff")]
    DisableHandoff,
    /// Pause the delivery of hints, until the node restarts
    #[command(name = "pausehandoff")]
    PauseHandoff,
    /// Resume the delivery of hints
    #[command(name = "resumehandoff")]
    ResumeHandoff,
    /// Keep hints for the nodes of a datacenter
    #[command(name = "enablehintsfordc")]
    EnableHintsForDatacenter(Datacenter),
    /// Keep no further hints for the nodes of a datacenter, until the node restarts
    #[command(name = "disablehintsfordc")]
    DisableHintsForDatacenter(Datacenter),
    /// Set the hinted handoff throttle, until the node restarts
    #[command(name = "sethintedhandoffthrottlekb")]
    SetHandoffThrottle(SetHandoffThrottle),
    /// Print the max hint window in ms
    #[command(name = "getmaxhintwindow")]
    GetMaxHintWindow,
    /// Set the max hint window, until the node restarts
    #[command(name = "setmaxhintwindow")]
    SetMaxHintWindow(SetMaxHintWindow),
    /// Remove all hints, or those of the given nodes
    #[command(name = "truncatehints")]
    TruncateHints(TruncateHints),
    /// Print the hints that wait for other nodes
    #[command(name = "listpendinghints")]
    ListPendingHints,
    /// Print the timeout of a type in ms
    #[command(name = "gettimeout")]
    GetTimeout(GetTimeout),
    /// Set the timeout of a type in ms, until the node restarts
    #[command(name = "settimeout")]
    SetTimeout(SetTimeout),
    /// Accepted: permissions are not cached
    #[command(name = "invalidatepermissionscache")]
    InvalidatePermissionsCache(InvalidatePermissionsCache),
    /// Accepted: roles are not cached
    #[command(name = "invalidaterolescache")]
    InvalidateRolesCache(CachedRoles),
    /// Accepted: a changed password needs no invalidation
    #[command(name = "invalidatecredentialscache")]
    InvalidateCredentialsCache(CachedRoles),
    /// Accepted: datacenter restrictions are not cached
    #[command(name = "invalidatenetworkpermissionscache")]
    InvalidateNetworkPermissionsCache(CachedRoles),
    /// Accepted: permissions on MBeans are not cached
    #[command(name = "invalidatejmxpermissionscache")]
    InvalidateJmxPermissionsCache(CachedRoles),
    /// Accepted: restrictions to CIDR groups are not cached
    #[command(name = "invalidatecidrpermissionscache")]
    InvalidateCidrPermissionsCache(CachedRoles),
    /// Print that a cache of Cassandra's has no configuration here
    #[command(name = "getauthcacheconfig")]
    GetAuthCacheConfig(GetAuthCacheConfig),
    /// Accepted: a cache of Cassandra's has no configuration here
    #[command(name = "setauthcacheconfig")]
    SetAuthCacheConfig(SetAuthCacheConfig),
    /// Enable the audit log, until the node restarts
    #[command(name = "enableauditlog")]
    EnableAuditLog(EnableAuditLog),
    /// Disable the audit log, until the node restarts
    #[command(name = "disableauditlog")]
    DisableAuditLog,
    /// Print the options of the audit log
    #[command(name = "getauditlog")]
    GetAuditLog,
    /// Import roles, memberships and permissions from the files of a Cassandra's system_auth
    #[command(name = "import-roles")]
    ImportRoles(ImportRoles),
    /// Sample and print the most active partitions
    #[command(name = "toppartitions", visible_alias = "profileload")]
    TopPartitions(TopPartitions),
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

#[derive(Debug, Args)]
pub(crate) struct Tables {
    /// Only this keyspace
    pub(crate) keyspace: Option<String>,
    /// Only these tables
    pub(crate) tables: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// (not supported) Split the output into several SSTables
    #[arg(short = 's', long)]
    pub(crate) split_output: bool,
    /// (not supported) Compact the listed SSTables
    #[arg(long)]
    pub(crate) user_defined: bool,
    /// (not supported; -st) Start of a token range
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) start_token: Option<String>,
    /// (not supported; -et) End of a token range
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) end_token: Option<String>,
    /// (not supported) Compact one partition
    #[arg(long)]
    pub(crate) partition: Option<String>,
    /// Only this keyspace
    pub(crate) keyspace: Option<String>,
    /// Only these tables
    pub(crate) tables: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GarbageCollect {
    /// Granularity: ROW removes deleted partitions and rows, CELL also overwritten or deleted cells
    #[arg(short = 'g', long, value_name = "GRANULARITY", default_value = "ROW")]
    pub(crate) granularity: String,
    /// Concurrent SSTables; ignored: each shard rewrites one at a time
    #[arg(short = 'j', long)]
    pub(crate) jobs: Option<u32>,
    /// Only this keyspace
    pub(crate) keyspace: Option<String>,
    /// Only these tables
    pub(crate) tables: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Cleanup {
    /// Concurrent SSTables; ignored: each shard rewrites one at a time
    #[arg(short = 'j', long)]
    pub(crate) jobs: Option<u32>,
    /// Only this keyspace
    pub(crate) keyspace: Option<String>,
    /// Only these tables
    pub(crate) tables: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Scrub {
    /// Do not take a snapshot before
    #[arg(long)]
    pub(crate) no_snapshot: bool,
    /// Skip corrupted partitions; ignored: always on
    #[arg(short = 's', long)]
    pub(crate) skip_corrupted: bool,
    /// Do not validate values; ignored: never validated
    #[arg(short = 'n', long)]
    pub(crate) no_validate: bool,
    /// Concurrent SSTables; ignored: each shard reads one at a time
    #[arg(short = 'j', long)]
    pub(crate) jobs: Option<u32>,
    /// Only this keyspace
    pub(crate) keyspace: Option<String>,
    /// Only these tables
    pub(crate) tables: Vec<String>,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "the options are Cassandra's")]
pub(crate) struct Repair {
    /// (-full) Full repair; ignored: every repair is full
    #[arg(long)]
    pub(crate) full: bool,
    /// (-pr) Only ranges of which the node is the first replica
    #[arg(long)]
    pub(crate) partitioner_range: bool,
    /// (-st) Token after which the range to repair begins
    #[arg(long, value_name = "TOKEN", allow_hyphen_values = true)]
    pub(crate) start_token: Option<String>,
    /// (-et) Token at which the range to repair ends
    #[arg(long, value_name = "TOKEN", allow_hyphen_values = true)]
    pub(crate) end_token: Option<String>,
    /// (-dc) Only replicas in this datacenter; may be given several times
    #[arg(long, value_name = "DATACENTER")]
    pub(crate) in_dc: Vec<String>,
    /// (-local) Only replicas in the node's datacenter
    #[arg(long)]
    pub(crate) in_local_dc: bool,
    /// (-hosts) Only these nodes; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) in_hosts: Vec<String>,
    /// (-inc; refused) Incremental repair
    #[arg(long, visible_alias = "incremental")]
    pub(crate) inc: bool,
    /// (-prv; refused) Say what would be repaired
    #[arg(long)]
    pub(crate) preview: bool,
    /// (-vd; refused) Check that repaired data is the same
    #[arg(long)]
    pub(crate) validate: bool,
    /// (-seq) One node after the other; ignored
    #[arg(long)]
    pub(crate) sequential: bool,
    /// (-dcpar) One datacenter after the other; ignored
    #[arg(long)]
    pub(crate) dc_parallel: bool,
    /// Tables at a time; ignored: one at a time
    #[arg(short = 'j', long)]
    pub(crate) job_threads: Option<u32>,
    /// (-tr) Trace the repair; ignored
    #[arg(long)]
    pub(crate) trace: bool,
    /// Only this keyspace
    pub(crate) keyspace: Option<String>,
    /// Only these tables
    pub(crate) tables: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompactionStats {
    /// Print sizes as KiB, MiB, GiB, TiB
    #[arg(short = 'H', long)]
    pub(crate) human_readable: bool,
    /// Print the columns of system_views.sstable_tasks
    #[arg(short = 'V', long)]
    pub(crate) vtable: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompactionHistory {
    /// Output format: json or yaml
    #[arg(short = 'F', long)]
    pub(crate) format: Option<String>,
    /// Print sizes as KiB, MiB, GiB, TiB
    #[arg(short = 'H', long)]
    pub(crate) human_readable: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// (-id) Compaction id, as compactionstats prints it
    #[arg(long)]
    pub(crate) compaction_id: Option<String>,
    /// Compaction type: COMPACTION
    #[arg(value_name = "TYPE")]
    pub(crate) kind: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GetCompactionThroughput {
    /// Print with decimals
    #[arg(short = 'd', long)]
    pub(crate) precise_mib: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SetCompactionThroughput {
    /// MiB/s for the whole node; 0 is unlimited
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: String,
}

#[derive(Debug, Args)]
pub(crate) struct GetStreamThroughput {
    /// Print MiB/s
    #[arg(short = 'm', long)]
    pub(crate) mib: bool,
    /// Print Mb/s with decimals
    #[arg(short = 'd', long)]
    pub(crate) precise_mbit: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SetStreamThroughput {
    /// The value is in MiB/s
    #[arg(short = 'm', long)]
    pub(crate) mib: bool,
    /// Megabits/s for the whole node; 0 is unlimited
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: String,
}

#[derive(Debug, Args)]
pub(crate) struct StatusAutoCompaction {
    /// Print the status of each table
    #[arg(short = 'a', long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) tables: Tables,
}

#[derive(Debug, Args)]
pub(crate) struct Snapshot {
    /// Snapshot name [default: time in milliseconds]
    #[arg(short = 't', long)]
    pub(crate) tag: Option<String>,
    /// (-cf) Only this table of the given keyspace
    #[arg(long)]
    pub(crate) table: Option<String>,
    /// (-kt) Only these tables: keyspace.table, separated by commas
    #[arg(long, visible_alias = "kc.list", value_delimiter = ',')]
    pub(crate) kt_list: Vec<String>,
    /// (-sf) Do not flush memtables before
    #[arg(long)]
    pub(crate) skip_flush: bool,
    /// (not supported) Time to live of the snapshot
    #[arg(long)]
    pub(crate) ttl: Option<String>,
    /// Keyspaces [default: all]
    pub(crate) keyspaces: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ListSnapshots {
    /// (-nt) Without snapshots that have a time to live; none has
    #[arg(long)]
    no_ttl: bool,
    /// Include ephemeral snapshots; there are none
    #[arg(short = 'e', long)]
    ephemeral: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ClearSnapshot {
    /// Name of the snapshot
    #[arg(short = 't')]
    pub(crate) tag: Option<String>,
    /// Remove all snapshots
    #[arg(long)]
    pub(crate) all: bool,
    /// (not supported) Snapshots older than this duration
    #[arg(long)]
    pub(crate) older_than: Option<String>,
    /// (not supported) Snapshots older than this time
    #[arg(long)]
    pub(crate) older_than_timestamp: Option<String>,
    /// Only snapshots of these keyspaces [default: all]
    pub(crate) keyspaces: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Refresh {
    /// Keyspace of the table
    pub(crate) keyspace: String,
    /// Table
    pub(crate) table: String,
}

#[derive(Debug, Args)]
pub(crate) struct TableStats {
    /// Output format: json or yaml
    #[arg(short = 'F', long)]
    pub(crate) format: Option<String>,
    /// Print sizes as KiB, MiB, GiB, TiB
    #[arg(short = 'H', long)]
    pub(crate) human_readable: bool,
    /// Exclude the given keyspaces and tables
    #[arg(short = 'i')]
    pub(crate) ignore: bool,
    /// (not supported) Check the location of SSTables
    #[arg(short = 'l', long)]
    pub(crate) sstable_location_check: bool,
    /// Sort by this statistic
    #[arg(short = 's', long, value_name = "SORT_KEY")]
    pub(crate) sort: Option<String>,
    /// Print only the first tables of that order
    #[arg(short = 't', long)]
    pub(crate) top: Option<usize>,
    /// Keyspaces or tables: keyspace or keyspace.table
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TableHistograms {
    /// Table: keyspace table, or keyspace.table [default: all]
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ThreadPoolStats {
    /// Output format: json or yaml
    #[arg(short = 'F', long)]
    pub(crate) format: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SetLoggingLevel {
    /// Logger: root [default: all]
    pub(crate) target: Option<String>,
    /// Log level: ERROR, WARN, INFO, DEBUG, TRACE
    pub(crate) level: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SetTraceProbability {
    /// Probability from 0 to 1
    #[arg(allow_negative_numbers = true)]
    pub(crate) probability: f64,
}

#[derive(Debug, Args)]
pub(crate) struct Datacenter {
    /// Name of the datacenter
    pub(crate) datacenter: String,
}

#[derive(Debug, Args)]
pub(crate) struct SetHandoffThrottle {
    /// KiB/s of this node to another; 0 is unlimited
    pub(crate) value: u64,
}

#[derive(Debug, Args)]
pub(crate) struct SetMaxHintWindow {
    /// Milliseconds after the oldest hint of a node after which no further one is kept for it
    pub(crate) value: u64,
}

#[derive(Debug, Args)]
pub(crate) struct GetTimeout {
    /// read, range, write, counterwrite, cascontention, truncate, internodeconnect or misc
    pub(crate) timeout_type: String,
}

#[derive(Debug, Args)]
pub(crate) struct SetTimeout {
    /// read, range, write, counterwrite, cascontention, truncate, internodeconnect or misc
    pub(crate) timeout_type: String,
    /// Milliseconds
    #[arg(allow_negative_numbers = true)]
    pub(crate) timeout_in_ms: i64,
}

#[derive(Debug, Args)]
pub(crate) struct TruncateHints {
    /// Addresses of nodes [default: all]
    pub(crate) endpoints: Vec<std::net::IpAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct TopPartitions {
    /// Samplers: reads, writes
    #[arg(short = 'a', value_delimiter = ',', default_value = "reads,writes")]
    pub(crate) samplers: Vec<String>,
    /// Number of partitions to list
    #[arg(short = 'k', default_value_t = 10)]
    pub(crate) count: u64,
    /// Capacity of the summary; a higher capacity is more accurate
    #[arg(short = 's', default_value_t = 256)]
    pub(crate) capacity: u64,
    /// [keyspace table] [duration in milliseconds]
    pub(crate) rest: Vec<String>,
}
