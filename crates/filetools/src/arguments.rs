//! The command line of `helenus sstable`.

use std::net::SocketAddr;
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
    /// Send a table's SSTables to a running server
    Import(ImportArguments),
    /// Write damaged SSTables anew with what can be read of them; the damaged ones are kept in a snapshot
    Scrub(ScrubArguments),
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

/// The arguments of `helenus sstable scrub`.
#[derive(Debug, Args)]
pub struct ScrubArguments {
    /// A table's folder, whose node does not run
    pub folder: PathBuf,
}

/// The arguments of `helenus sstable import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// A table's folder, with its SSTables: as a server or a snapshot has it
    pub folder: PathBuf,
    /// The server, which has the table
    #[arg(long, default_value = "127.0.0.1:9042")]
    pub node: SocketAddr,
    /// The keyspace [default: the folder above]
    #[arg(long)]
    pub keyspace: Option<String>,
    /// The table [default: the folder, without its id]
    #[arg(long)]
    pub table: Option<String>,
}
