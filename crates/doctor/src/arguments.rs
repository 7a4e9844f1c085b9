//! The command line of `helenus doctor`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use crate::units;

/// Check this host, or reckon how large a cluster must be.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// What else to do
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The folder that the node's data is to be in; a small file is written there for a moment
    #[arg(short = 'D', long, visible_alias = "data-dir", value_name = "FOLDER", default_value = "./helenus-data")]
    pub data_folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What else the doctor can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Reckon how many nodes a load needs, with how many cores and how much memory and disk
    Size(Box<SizeArguments>),
}

/// How files are merged, as a table's `compaction` option says.
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

/// The arguments of `helenus doctor size`. Counts take k, M, G and T; sizes KiB, MiB, GiB, TiB, or kB, MB, GB, TB.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("amount").required(true).args(["rows", "retention"])))]
pub struct SizeArguments {
    /// Rows to keep, as 20M
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    pub rows: Option<u64>,

    /// How long rows are kept, as 30d: the rows that are written in that time, instead of --rows
    #[arg(long, value_name = "DURATION", value_parser = units::seconds)]
    pub retention: Option<u64>,

    /// Bytes of a row: its key and its values
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    pub row_bytes: u64,

    /// Operations a second at the busiest time, of one row each, as 100k
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    pub ops: u64,

    /// The part of the operations that reads, as 0.8 or 80%
    #[arg(long, value_name = "SHARE", default_value = "0.8", value_parser = units::share)]
    pub read_share: f64,

    /// Copies of each row
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub replication: u32,

    /// Copies that a read asks [default: more than half of them, as QUORUM does]
    #[arg(long, value_name = "COUNT")]
    pub read_copies: Option<u32>,

    /// Rows that share a partition key
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = units::count)]
    pub partition_rows: u64,

    /// Bytes on the disk for each byte of data; 1 for a table without compression
    #[arg(long, value_name = "RATIO", default_value = "0.5", value_parser = units::ratio)]
    pub compression_ratio: f64,

    /// Bytes on the disk that count no more (overwritten, deleted or expired, and not yet purged) for each byte that does
    #[arg(long, value_name = "RATIO", default_value = "0.25", value_parser = units::ratio)]
    pub overhead: f64,

    /// The compaction strategy
    #[arg(long, value_enum, default_value = "size-tiered")]
    pub strategy: Strategy,

    /// The part of the indexes that memory is to hold; a read of what it does not hold asks the disk twice
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = units::share)]
    pub index_in_memory: f64,

    /// How busy cores may be at the busiest time
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = units::share)]
    pub utilisation: f64,

    /// The most cores that a node may have
    #[arg(long, value_name = "COUNT", default_value_t = 22)]
    pub node_cores: u32,

    /// The most disk that a node may have
    #[arg(long, value_name = "SIZE", default_value = "4TB", value_parser = units::bytes)]
    pub node_disk: u64,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
