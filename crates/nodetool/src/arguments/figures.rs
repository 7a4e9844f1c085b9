//! Options of the commands that print figures of tables, compactions and clients.

use clap::Args;

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
    /// (not supported) Sample again and again in the background
    #[arg(short = 'i', long)]
    pub(crate) interval: Option<String>,
    /// (not supported) Stop a job that samples in the background
    #[arg(short = 't', long)]
    pub(crate) stop: bool,
    /// (not supported) List the jobs that sample in the background
    #[arg(short = 'l', long)]
    pub(crate) list: bool,
    /// [keyspace table] [duration in milliseconds]
    pub(crate) rest: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ClientStats {
    /// Lists all connections
    #[arg(long)]
    pub(crate) all: bool,
    /// Lists client connections by protocol version
    #[arg(long)]
    pub(crate) by_protocol: bool,
    /// Without effect: no history of clients is kept
    #[arg(long)]
    pub(crate) clear_history: bool,
    /// Lists all connections and the client options
    #[arg(long)]
    pub(crate) client_options: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DataPaths {
    /// Output format (json, yaml)
    #[arg(short = 'F', long)]
    pub(crate) format: Option<String>,
    /// List of table (or keyspace) names
    #[arg(value_name = "KEYSPACE.TABLE")]
    pub(crate) names: Vec<String>,
}
