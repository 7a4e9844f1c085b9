//! The command line: Cassandra 5.0's commands and options, and `--json`.

use clap::{ArgAction, Args, Parser, Subcommand};

/// Asks a running node, and steers it. Commands, options and layouts are those of Cassandra's nodetool.
#[derive(Debug, Parser)]
#[command(name = "nodetool", disable_help_flag = true, max_term_width = 120)]
pub(crate) struct Arguments {
    /// Where the node's API listens
    #[arg(short = 'h', long, global = true, default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// The API's port there (not JMX's)
    #[arg(short = 'p', long, global = true, default_value_t = 10000)]
    pub(crate) port: u16,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// How long to wait for a connection, and for what is only looked up
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Print help
    #[arg(long, global = true, action = ArgAction::Help)]
    help: Option<bool>,
    /// (-u) JMX's; no meaning here
    #[arg(short = 'u', long, global = true, hide = true)]
    username: Option<String>,
    /// (-pw) JMX's; no meaning here
    #[arg(long, global = true, hide = true)]
    password: Option<String>,
    /// (-pwf) JMX's; no meaning here
    #[arg(long, global = true, hide = true)]
    password_file: Option<String>,
    /// (-pp) All nodes listen on one port; no meaning here
    #[arg(long, global = true, hide = true)]
    print_port: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// What was given and means nothing here.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (option, given) in
            [("-u", self.username.is_some()), ("-pw", self.password.is_some()), ("-pwf", self.password_file.is_some())]
        {
            if given {
                warnings.push(format!("{option} is ignored: the API is not JMX and asks for no password"));
            }
        }
        if self.print_port {
            warnings.push("-pp is ignored: the nodes of a ring all listen on the same port".into());
        }
        warnings
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The nodes of the ring: state, load, tokens, host id, rack
    Status(Status),
    /// This node: id, load, uptime, memory, token
    Info(Info),
    /// The cluster's name, snitch, partitioner, schema versions and nodes
    #[command(name = "describecluster")]
    DescribeCluster,
    /// The tokens of the ring
    Ring(Status),
    /// What gossip knows of each node
    #[command(name = "gossipinfo")]
    GossipInfo,
    /// The version
    Version(Version),
    /// Write memtables out as SSTables
    Flush(Tables),
    /// Stop taking writes and flush all tables
    Drain,
    /// Compact all of a table into one
    Compact(Compact),
    /// Rewrite SSTables one by one, without what others delete or overwrite
    #[command(name = "garbagecollect")]
    GarbageCollect(GarbageCollect),
    /// Read SSTables through, and write damaged ones anew with what can be read of them
    Scrub(Scrub),
    /// Compactions that run and wait
    #[command(name = "compactionstats")]
    CompactionStats(CompactionStats),
    /// Compactions that ended
    #[command(name = "compactionhistory")]
    CompactionHistory(CompactionHistory),
    /// Stop compactions that run; what they were about stays as it was
    Stop(Stop),
    /// The limit of compactions' throughput
    #[command(name = "getcompactionthroughput")]
    GetCompactionThroughput(GetCompactionThroughput),
    /// Limit compactions' throughput, until the node ends
    #[command(name = "setcompactionthroughput")]
    SetCompactionThroughput(SetCompactionThroughput),
    /// Let tables be compacted by themselves again
    #[command(name = "enableautocompaction")]
    EnableAutoCompaction(Tables),
    /// Let tables not be compacted by themselves, until the node ends
    #[command(name = "disableautocompaction")]
    DisableAutoCompaction(Tables),
    /// Whether tables are compacted by themselves
    #[command(name = "statusautocompaction")]
    StatusAutoCompaction(StatusAutoCompaction),
    /// Keep tables as they are now under a name
    Snapshot(Snapshot),
    /// The snapshots and their sizes
    #[command(name = "listsnapshots")]
    ListSnapshots(ListSnapshots),
    /// Remove snapshots
    #[command(name = "clearsnapshot")]
    ClearSnapshot(ClearSnapshot),
    /// Take in SSTables that were laid into a table's folder
    Refresh(Refresh),
    /// Figures of tables
    #[command(name = "tablestats", visible_alias = "cfstats")]
    TableStats(TableStats),
    /// Histograms of a table
    #[command(name = "tablehistograms", visible_alias = "cfhistograms")]
    TableHistograms(TableHistograms),
    /// Histograms of requests' latency
    #[command(name = "proxyhistograms")]
    ProxyHistograms,
    /// Stages and their queues
    #[command(name = "tpstats")]
    ThreadPoolStats(ThreadPoolStats),
    /// The levels of the log
    #[command(name = "getlogginglevels")]
    GetLoggingLevels,
    /// Set the level of the log, until the node ends
    #[command(name = "setlogginglevel")]
    SetLoggingLevel(SetLoggingLevel),
    /// Set which share of requests is traced
    #[command(name = "settraceprobability")]
    SetTraceProbability(SetTraceProbability),
    /// Which share of requests is traced
    #[command(name = "gettraceprobability")]
    GetTraceProbability,
    /// The partitions that are asked for and written most
    #[command(name = "toppartitions", visible_alias = "profileload")]
    TopPartitions(TopPartitions),
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Print nodes' names instead of their addresses
    #[arg(short = 'r', long)]
    pub(crate) resolve_ip: bool,
    /// Whose replication decides what a node owns
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
    /// Print also what runs behind the version that drivers are told
    #[arg(short = 'v', long)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tables {
    /// Of this keyspace only
    pub(crate) keyspace: Option<String>,
    /// These tables only
    pub(crate) tables: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// (refused) Make several files instead of one
    #[arg(short = 's', long)]
    pub(crate) split_output: bool,
    /// (refused) Compact the SSTables that are listed
    #[arg(long)]
    pub(crate) user_defined: bool,
    /// (refused; -st) Compact a range of tokens that begins there
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) start_token: Option<String>,
    /// (refused; -et) Compact a range of tokens that ends there
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) end_token: Option<String>,
    /// (refused) Compact one partition
    #[arg(long)]
    pub(crate) partition: Option<String>,
    /// Of this keyspace only
    pub(crate) keyspace: Option<String>,
    /// These tables only
    pub(crate) tables: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GarbageCollect {
    /// ROW removes deleted partitions and rows, CELL also overwritten or deleted cells
    #[arg(short = 'g', long, value_name = "GRANULARITY", default_value = "ROW")]
    pub(crate) granularity: String,
    /// How many SSTables at once; no meaning here: each shard rewrites one at a time
    #[arg(short = 'j', long)]
    pub(crate) jobs: Option<u32>,
    /// Of this keyspace only
    pub(crate) keyspace: Option<String>,
    /// These tables only
    pub(crate) tables: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Scrub {
    /// Make no snapshot of the tables before
    #[arg(long)]
    pub(crate) no_snapshot: bool,
    /// No meaning here: what is damaged is always passed over
    #[arg(short = 's', long)]
    pub(crate) skip_corrupted: bool,
    /// No meaning here: values are not looked into
    #[arg(short = 'n', long)]
    pub(crate) no_validate: bool,
    /// No meaning here: each shard reads one SSTable at a time
    #[arg(short = 'j', long)]
    pub(crate) jobs: Option<u32>,
    /// Of this keyspace only
    pub(crate) keyspace: Option<String>,
    /// These tables only
    pub(crate) tables: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompactionStats {
    /// Print bytes as KiB, MiB, GiB, TiB
    #[arg(short = 'H', long)]
    pub(crate) human_readable: bool,
    /// Print the columns of `system_views.sstable_tasks`
    #[arg(short = 'V', long)]
    pub(crate) vtable: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompactionHistory {
    /// Print json or yaml
    #[arg(short = 'F', long)]
    pub(crate) format: Option<String>,
    /// Print bytes as KiB, MiB, GiB, TiB
    #[arg(short = 'H', long)]
    pub(crate) human_readable: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// (-id) The one of this id, as compactionstats prints it
    #[arg(long)]
    pub(crate) compaction_id: Option<String>,
    /// Those of this type: COMPACTION
    #[arg(value_name = "TYPE")]
    pub(crate) kind: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GetCompactionThroughput {
    /// Print a number with a fraction
    #[arg(short = 'd', long)]
    pub(crate) precise_mib: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SetCompactionThroughput {
    /// MiB a second of the whole node; 0: no limit
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: String,
}

#[derive(Debug, Args)]
pub(crate) struct StatusAutoCompaction {
    /// Print each table
    #[arg(short = 'a', long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) tables: Tables,
}

#[derive(Debug, Args)]
pub(crate) struct Snapshot {
    /// The snapshot's name; else the time in milliseconds
    #[arg(short = 't', long)]
    pub(crate) tag: Option<String>,
    /// (-cf) Of this table only, of the one keyspace that is named
    #[arg(long)]
    pub(crate) table: Option<String>,
    /// (-kt) Of these tables: keyspace.table, separated by commas
    #[arg(long, visible_alias = "kc.list", value_delimiter = ',')]
    pub(crate) kt_list: Vec<String>,
    /// (-sf) Without what is in memtables
    #[arg(long)]
    pub(crate) skip_flush: bool,
    /// (refused) When it may be removed
    #[arg(long)]
    pub(crate) ttl: Option<String>,
    /// Of these keyspaces; else of all
    pub(crate) keyspaces: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ListSnapshots {
    /// (-nt) Without those that have a time to live, which none has
    #[arg(long)]
    no_ttl: bool,
    /// With those that a repair made, which there are none of
    #[arg(short = 'e', long)]
    ephemeral: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ClearSnapshot {
    /// The one of this name
    #[arg(short = 't')]
    pub(crate) tag: Option<String>,
    /// All
    #[arg(long)]
    pub(crate) all: bool,
    /// (refused) Those that are older
    #[arg(long)]
    pub(crate) older_than: Option<String>,
    /// (refused) Those from before
    #[arg(long)]
    pub(crate) older_than_timestamp: Option<String>,
    /// Of these keyspaces only
    pub(crate) keyspaces: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Refresh {
    /// The table's keyspace
    pub(crate) keyspace: String,
    /// The table
    pub(crate) table: String,
}

#[derive(Debug, Args)]
pub(crate) struct TableStats {
    /// Print json or yaml
    #[arg(short = 'F', long)]
    pub(crate) format: Option<String>,
    /// Print bytes as KiB, MiB, GiB, TiB
    #[arg(short = 'H', long)]
    pub(crate) human_readable: bool,
    /// All tables but those that are named
    #[arg(short = 'i')]
    pub(crate) ignore: bool,
    /// Print whether SSTables lie where they should
    #[arg(short = 'l', long)]
    pub(crate) sstable_location_check: bool,
    /// In the order of this figure
    #[arg(short = 's', long, value_name = "SORT_KEY")]
    pub(crate) sort: Option<String>,
    /// The first of that order only
    #[arg(short = 't', long)]
    pub(crate) top: Option<usize>,
    /// keyspace or keyspace.table
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TableHistograms {
    /// keyspace table, or keyspace.table; else all
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ThreadPoolStats {
    /// Print json or yaml
    #[arg(short = 'F', long)]
    pub(crate) format: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SetLoggingLevel {
    /// What the level is of; else of all
    pub(crate) target: Option<String>,
    /// ERROR, WARN, INFO, DEBUG, TRACE
    pub(crate) level: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SetTraceProbability {
    /// From 0 to 1
    #[arg(allow_negative_numbers = true)]
    pub(crate) probability: f64,
}

#[derive(Debug, Args)]
pub(crate) struct TopPartitions {
    /// Which to list: reads, writes
    #[arg(short = 'a', value_delimiter = ',', default_value = "reads,writes")]
    pub(crate) samplers: Vec<String>,
    /// How many to list
    #[arg(short = 'k', default_value_t = 10)]
    pub(crate) count: u64,
    /// How many to count; more are more exact
    #[arg(short = 's', default_value_t = 256)]
    pub(crate) capacity: u64,
    /// [keyspace table] [duration in milliseconds]
    pub(crate) rest: Vec<String>,
}
