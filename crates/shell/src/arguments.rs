//! The command line, with cqlsh's names.

use std::path::PathBuf;

use clap::Parser;
use client::AccessOptions;

/// CQL at a terminal and in scripts, as Cassandra's cqlsh has it.
///
/// Connects to 127.0.0.1:9042; a host and a port on the command line come before the variables CQLSH_HOST and CQLSH_PORT, and these before ~/.cassandra/cqlshrc.
#[derive(Debug, Parser)]
#[command(name = "cql", bin_name = "helenus cql", version, disable_version_flag = true, max_term_width = 120)]
pub(crate) struct Arguments {
    /// Host or address of a node, or the path of its maintenance socket
    pub(crate) host: Option<String>,

    /// CQL port
    pub(crate) port: Option<u16>,

    /// Run these statements and exit
    #[arg(short = 'e', long, value_name = "STATEMENTS")]
    pub(crate) execute: Option<String>,

    /// Run the statements of a file and exit
    #[arg(short = 'f', long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Keyspace to begin in
    #[arg(short = 'k', long, value_name = "NAME")]
    pub(crate) keyspace: Option<String>,

    #[command(flatten)]
    pub(crate) access: AccessOptions,

    /// Seconds to wait for a connection [default: 5]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) connect_timeout: Option<u64>,

    /// Seconds to wait for an answer; 0: for ever [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) request_timeout: Option<u64>,

    /// Colours, also where the output is no terminal
    #[arg(short = 'C', long, overrides_with = "no_color")]
    pub(crate) color: bool,

    /// No colours
    #[arg(long)]
    pub(crate) no_color: bool,

    /// Encoding of the output: utf-8 alone
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<String>,

    /// File of settings [default: ~/.cassandra/cqlshrc]
    #[arg(long, value_name = "FILE")]
    pub(crate) cqlshrc: Option<PathBuf>,

    /// File with a user's name and password [default: ~/.cassandra/credentials]
    #[arg(long, value_name = "FILE")]
    pub(crate) credentials: Option<PathBuf>,

    /// Version of the native protocol: 3, 4 or 5 [default: the highest that the server has]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) protocol_version: Option<u8>,

    /// Prompt and page as at a terminal
    #[arg(short = 't', long)]
    pub(crate) tty: bool,

    /// Keep no history of this session
    #[arg(long)]
    pub(crate) disable_history: bool,

    /// Print the version
    #[arg(short = 'v', long, action = clap::ArgAction::Version)]
    version: Option<bool>,

    /// Accepted for scripts of cqlsh.
    #[arg(long, hide = true)]
    pub(crate) debug: bool,

    /// Accepted for scripts of cqlsh.
    #[arg(long, hide = true)]
    pub(crate) cqlversion: Option<String>,

    /// Accepted for scripts of cqlsh.
    #[arg(long, hide = true)]
    pub(crate) browser: Option<String>,

    /// No warning of a password on the command line.
    #[arg(long, hide = true)]
    pub(crate) insecure_password_without_warning: bool,
}
