//! The commands by name.

use clap::Subcommand;

use super::{
    AbortBootstrap, Assassinate, CachedRoles, Cleanup, ClearSnapshot, ClientStats, Cms, Compact, CompactionHistory,
    CompactionStats, DataPaths, Datacenter, Decommission, EnableAuditLog, GarbageCollect, GetAuthCacheConfig,
    GetCompactionThreshold, GetCompactionThroughput, GetEndpoints, GetStreamThroughput, GetTimeout, ImportRoles, Info,
    InvalidatePermissionsCache, ListSnapshots, Move, NetStats, Operations, Rebuild, Refresh, RemoveNode, Repair, Scrub,
    SetAuthCacheConfig, SetCompactionThroughput, SetHandoffThrottle, SetLoggingLevel, SetMaxHintWindow,
    SetStreamThroughput, SetTimeout, SetTraceProbability, Snapshot, Status, StatusAutoCompaction, Stop,
    TableHistograms, TableStats, Tables, ThreadPoolStats, TopPartitions, TruncateHints, Unsupported, Upgrade, Version,
};

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
    /// Print information about connected clients
    #[command(name = "clientstats")]
    ClientStats(ClientStats),
    /// Print all directories where data of tables are stored
    #[command(name = "datapaths")]
    DataPaths(DataPaths),
    /// Print min and max compaction thresholds for a given table
    #[command(name = "getcompactionthreshold")]
    GetCompactionThreshold(GetCompactionThreshold),
    /// Status of native transport (binary protocol)
    #[command(name = "statusbinary")]
    StatusBinary,
    /// Status of gossip; there is none, as heartbeats carry its facts
    #[command(name = "statusgossip")]
    StatusGossip,
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
    /// Accepted: CIDR groups are not cached
    #[command(name = "reloadcidrgroupscache")]
    ReloadCidrGroupsCache,
    /// Accepted: there is no key cache
    #[command(name = "invalidatekeycache")]
    InvalidateKeyCache,
    /// Accepted: there is no counter cache
    #[command(name = "invalidatecountercache")]
    InvalidateCounterCache,
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
    #[command(flatten)]
    Unsupported(Unsupported),
}
