//! The command line of `helenus doctor`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use crate::units;

/// Check this host, or estimate cluster size.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// Command to run instead of the check
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Data directory of the node to be; a small temporary file is written there
    #[arg(short = 'D', long = "data-dir", alias = "data-folder", value_name = "DIR", default_value = "./helenus-data")]
    pub data_folder: PathBuf,
    /// Show the checks that passed too
    #[arg(long)]
    pub all: bool,
    /// Print JSON, of all checks
    #[arg(long)]
    pub json: bool,
}

/// Commands of the doctor.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Estimate the nodes, cores, memory and disk that a load needs
    Size(Box<SizeArguments>),
}

/// Compaction strategy, as in a table's `compaction` option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// SizeTieredCompactionStrategy.
    SizeTiered,
    /// LeveledCompactionStrategy.
    Leveled,
    /// TimeWindowCompactionStrategy.
    TimeWindow,
    /// UnifiedCompactionStrategy with T4.
    Unified,
}

/// The units of the size estimate's options, below their help.
const UNITS: &str = "\
--rows, --ops and --partition-rows take the suffixes k, M, G and T; SIZE is in bytes or takes KiB, MiB, GiB, TiB, kB, MB, GB
and TB; DURATION takes s, m, h, d and y; SHARE and RATIO are numbers or percentages.";

/// The arguments of `helenus doctor size`. Counts take k, M, G and T; sizes KiB, MiB, GiB, TiB, or kB, MB, GB, TB.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("amount").required(true).args(["rows", "retention"])))]
#[command(after_help = UNITS)]
pub struct SizeArguments {
    /// Rows stored, for example 20M
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    pub rows: Option<u64>,

    /// Retention of rows, for example 30d: stores the rows written in that time, instead of --rows
    #[arg(long, value_name = "DURATION", value_parser = units::seconds)]
    pub retention: Option<u64>,

    /// Size of a row: its key and values
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    pub row_bytes: u64,

    /// Peak operations a second, one row each, for example 100k
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    pub ops: u64,

    /// Share of reads among the operations, for example 0.8 or 80%
    #[arg(long, value_name = "SHARE", default_value = "0.8", value_parser = units::share)]
    pub read_share: f64,

    /// Replication factor
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub replication: u32,

    /// Replicas that a read contacts [default: more than half, as QUORUM does]
    #[arg(long, value_name = "COUNT")]
    pub read_copies: Option<u32>,

    /// Rows per partition
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = units::count)]
    pub partition_rows: u64,

    /// Compression ratio: bytes on disk per byte of data; 1 for a table without compression
    #[arg(long, value_name = "RATIO", default_value = "0.5", value_parser = units::ratio)]
    pub compression_ratio: f64,

    /// Bytes of obsolete data on disk (overwritten, deleted or expired, not purged yet) per byte of live data
    #[arg(long, value_name = "RATIO", default_value = "0.25", value_parser = units::ratio)]
    pub overhead: f64,

    /// Compaction strategy
    #[arg(long, value_enum, default_value = "size-tiered")]
    pub strategy: Strategy,

    /// Share of the indexes kept in memory; a read that misses it costs two disk reads
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = units::share)]
    pub index_in_memory: f64,

    /// Maximum CPU utilisation at peak load
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = units::share)]
    pub utilisation: f64,

    /// Maximum cores per node
    #[arg(long, value_name = "COUNT", default_value_t = 22)]
    pub node_cores: u32,

    /// Maximum disk per node
    #[arg(long, value_name = "SIZE", default_value = "4TB", value_parser = units::bytes)]
    pub node_disk: u64,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
