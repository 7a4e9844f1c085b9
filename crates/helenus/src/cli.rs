//! The command line of the whole binary.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::config::Arguments;

/// A distributed wide-column database that speaks CQL.
///
/// Without a command it serves: a single node on 127.0.0.1:9042, its data in ./helenus-data.
#[derive(Debug, Parser)]
#[command(name = "helenus", version, args_conflicts_with_subcommands = true, max_term_width = 120)]
pub struct CommandLine {
    /// What to do; serve when missing.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags of serve.
    #[command(flatten)]
    pub serve: Arguments,
}

/// What the binary can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a node (the default)
    Serve(Box<Arguments>),
    /// Put load on a node and measure it
    #[command(disable_help_flag = true)]
    Stress {
        /// A load and its options: `stress help` tells of them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Compare servers as a study file says, and write a page about it
    Study(study::Arguments),
    /// Look into SSTables, Cassandra's too
    Sstable(filetools::Arguments),
    /// Check this host, or reckon how large a cluster must be
    Doctor(doctor::Arguments),
    /// Ask a running node and steer it, as Cassandra's nodetool does
    #[command(disable_help_flag = true)]
    Nodetool {
        /// A command and its options: `nodetool help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}
