//! The command line of `helenus sstable`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use client::AccessOptions;

/// Command to run.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands of the file tools.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print SSTables as JSON, as Cassandra's sstabledump does
    Dump(DumpArguments),
    /// Load a table's SSTables into a running server over CQL
    Import(Box<ImportArguments>),
    /// Rewrite damaged SSTables from their readable rows; the damaged files are kept in a snapshot
    Scrub(ScrubArguments),
    /// Verify SSTables: checksums, order, values, indexes
    Verify(VerifyArguments),
}

/// The arguments of `helenus sstable dump`.
#[derive(Debug, Args)]
pub struct DumpArguments {
    /// Any component of each SSTable, for example its Data.db
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print partition keys only
    #[arg(short = 'e', long)]
    pub keys: bool,
    /// Print timestamps in microseconds, and deletion and expiration times in seconds
    #[arg(short = 't', long)]
    pub raw_times: bool,
}

/// The arguments of `helenus sstable verify`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// Any component of an SSTable, or a directory of SSTables
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
}

/// The arguments of `helenus sstable scrub`.
#[derive(Debug, Args)]
pub struct ScrubArguments {
    /// Table directory of a stopped node
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// The arguments of `helenus sstable import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// Table or snapshot directory with the SSTables
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Address of the server, on which the table must exist
    #[arg(long, default_value = "127.0.0.1:9042")]
    pub node: SocketAddr,
    /// Keyspace [default: name of the parent directory]
    #[arg(long)]
    pub keyspace: Option<String>,
    /// Table [default: name of the directory without the table id]
    #[arg(long)]
    pub table: Option<String>,
    /// Login and certificates
    #[command(flatten)]
    pub access: AccessOptions,
}
