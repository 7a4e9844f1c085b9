//! The command line of the whole binary.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::config::Arguments;

/// A distributed wide-column database that speaks CQL.
/// Without a command it runs a single node that listens for CQL on 127.0.0.1:9042 and keeps its data in ./helenus-data.
#[derive(Debug, Parser)]
#[command(name = "helenus", version, args_conflicts_with_subcommands = true, max_term_width = 120)]
pub struct CommandLine {
    /// Command to run [default: serve]
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags of serve.
    #[command(flatten)]
    pub serve: Arguments,
}

/// Commands of the binary.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a node (the default)
    Serve(Box<Arguments>),
    /// Generate load against a node and measure latency and throughput, as cassandra-stress does
    #[command(disable_help_flag = true)]
    Stress {
        /// Load and its options: `stress help` describes them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// CQL at a terminal and in scripts, as Cassandra's cqlsh has it
    #[command(disable_help_flag = true)]
    Cql {
        /// Host, port and options: `cql --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Benchmark servers side by side as a study file describes, and write a report
    Study(study::Arguments),
    /// Dump, verify, scrub and import SSTables, also Cassandra's
    Sstable(filetools::Arguments),
    /// Check this host, or estimate cluster size
    Doctor(doctor::Arguments),
    /// Run a cluster of several nodes on this machine: start, stop, kill and pause its nodes
    Cluster(local_cluster::Arguments),
    /// Inspect and manage a running node, as Cassandra's nodetool does
    #[command(disable_help_flag = true)]
    Nodetool {
        /// Command and its options: `nodetool help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}
