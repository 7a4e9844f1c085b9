//! The command line of `helenus cluster`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::layout::NODES_MAX;

/// Flags and commands of `helenus cluster`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Directory of the cluster: data, logs and pid file of each node, and the secret
    #[arg(long, value_name = "DIR", global = true, default_value = "helenus-cluster")]
    pub dir: PathBuf,
    /// Command to run
    #[command(subcommand)]
    pub command: Command,
}

/// Commands of `helenus cluster`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the cluster, made if missing, or those of its nodes that are down
    Start(StartArguments),
    /// Stop all nodes in order (SIGTERM) and wait until they have ended
    Stop,
    /// Print each node with its process and its state in the ring
    Status,
    /// Add a node, which joins the ring and copies the ranges that it gains
    Add,
    /// Remove a node from the ring, whose ranges are copied to others: decommissioned if it runs, else by another node
    Remove(RemoveArguments),
    /// Start a node that is down on an empty disk: it joins in its own place, and copies its ranges from the others
    Replace(ReplaceArguments),
    /// Kill nodes (SIGKILL); `start` starts them again
    Kill(Nodes),
    /// Pause the processes of nodes (SIGSTOP)
    Pause(Nodes),
    /// Resume paused nodes (SIGCONT)
    Resume(Nodes),
}

/// Nodes by number.
#[derive(Debug, Args)]
pub struct Nodes {
    /// Numbers of nodes, from 1
    #[arg(required = true, value_name = "NODE")]
    pub numbers: Vec<u8>,
}

/// A node that is to leave the ring.
#[derive(Debug, Args)]
pub struct RemoveArguments {
    /// Number of the node
    #[arg(value_name = "NODE")]
    pub number: u8,
    /// Remove it also where a keyspace has more replicas than nodes are left
    #[arg(long)]
    pub force: bool,
}

/// A node whose disk is gone.
#[derive(Debug, Args)]
pub struct ReplaceArguments {
    /// Number of the node
    #[arg(value_name = "NODE")]
    pub number: u8,
}

/// Flags of `helenus cluster start`. Those of a new cluster cannot change later, except --smp and --memory.
#[derive(Debug, Default, Args)]
pub struct StartArguments {
    /// Number of nodes of a new cluster [default: 3]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=i64::from(NODES_MAX)))]
    pub nodes: Option<u8>,
    /// First three parts of the nodes' addresses on loopback [default: 127.0.0]
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Option<String>,
    /// CQL port of each node; the shard-aware port is 10000 above it [default: 9042]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Port between nodes [default: 7000]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub storage_port: Option<u16>,
    /// Port of the admin API of each node [default: 10000]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub api_port: Option<u16>,
    /// Shards of each node [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    pub smp: Option<u16>,
    /// Memory of each node, in bytes or with suffix K, M, G, T [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<String>,
}

/// A size as `helenus serve` reads it.
fn size(text: &str) -> Result<String, String> {
    let digits = text.strip_suffix(['K', 'M', 'G', 'T']).unwrap_or(text);
    match digits.parse::<u64>() {
        Ok(_) if !digits.starts_with('+') => Ok(text.to_owned()),
        _ => Err(format!("'{text}' is not a size, for example 256M")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_suffixes_of_serve() {
        for right in ["256M", "1G", "1073741824"] {
            assert_eq!(size(right), Ok(right.to_owned()));
        }
        for wrong in ["", "M", "+1M", "1 M", "1MM", "-1"] {
            assert_eq!(size(wrong), Err(format!("'{wrong}' is not a size, for example 256M")));
        }
    }
}
