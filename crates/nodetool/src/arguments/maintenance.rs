//! Options of the commands that work on the data of tables: flush, compactions, repair, snapshots.

use clap::Args;

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
pub(crate) struct Stop {
    /// (-id) Compaction id, as compactionstats prints it
    #[arg(long)]
    pub(crate) compaction_id: Option<String>,
    /// Compaction type: COMPACTION
    #[arg(value_name = "TYPE")]
    pub(crate) kind: Option<String>,
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
pub(crate) struct GetCompactionThreshold {
    /// The keyspace
    pub(crate) keyspace: String,
    /// The table
    pub(crate) table: String,
}
