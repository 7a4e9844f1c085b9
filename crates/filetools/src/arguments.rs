//! The command line of `helenus sstable`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What to do.
#[derive(Debug, Args)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the file tools can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print what is in SSTables as JSON, as Cassandra's sstabledump does
    Dump(DumpArguments),
    /// Check SSTables: checksums, order, values, indexes
    Verify(VerifyArguments),
}

/// The arguments of `helenus sstable dump`.
#[derive(Debug, Args)]
pub struct DumpArguments {
    /// Any component of each SSTable, such as its Data.db
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print the partitions' keys alone
    #[arg(short = 'e', long)]
    pub keys: bool,
    /// Print times as numbers: microseconds, and seconds for what deletes and expires
    #[arg(short = 't', long)]
    pub raw_times: bool,
}

/// The arguments of `helenus sstable verify`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// Any component of an SSTable, or a folder with SSTables in it
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
}
