//! What can be wrong with a configuration. Each message is one sentence for the person at the terminal.

use std::net::IpAddr;

use thiserror::Error;

/// Why a node cannot be configured as asked.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say what the variants and their fields are")]
pub enum ConfigError {
    #[error("the configuration file {file} cannot be read: {reason}")]
    FileUnreadable { file: String, reason: String },
    #[error("the configuration file {file} cannot be understood: {reason}")]
    FileNotYaml { file: String, reason: String },
    #[error("{file}, line {line}: there is no configuration key '{key}'{suggestion}")]
    UnknownKey { file: String, line: u64, key: String, suggestion: String },
    #[error("{file}, line {line}: {key}: {reason}")]
    FileValue { file: String, line: u64, key: String, reason: String },
    #[error("{flag}: {reason}")]
    FlagValue { flag: &'static str, reason: String },
    #[error(
        "{asked} shards were asked for with --smp, but this process may use {there} processors; \
         --overprovisioned lifts the limit"
    )]
    TooManyShards { asked: u16, there: usize },
    #[error("--cpuset asks for processor {cpu}, but this process may use only {allowed:?}")]
    CpuNotThere { cpu: usize, allowed: Vec<usize> },
    #[error("{asked} of memory were asked for with --memory, but there are {there}")]
    TooMuchMemory { asked: String, there: String },
    #[error("{asked} of memory are too little: each of the {shards} shards needs at least {least}")]
    TooLittleMemory { asked: String, shards: u16, least: String },
    #[error(
        "{address} is not a loopback address and there is no authentication: anyone who reaches the port could read and \
         change everything; listen on 127.0.0.1, or start with --insecure if the network is trusted"
    )]
    OpenToTheWorld { address: IpAddr },
    #[error(
        "{place}: {seed} is another node, and a cluster of several nodes is not supported yet; leave the seeds out, or name \
         this node's listen_address alone"
    )]
    ForeignSeed { place: String, seed: String },
    #[error("{reason}")]
    Guardrail { reason: String },
    #[error("{key} must be between {least} and {most}, and it is {value}")]
    OutOfRange { key: &'static str, value: String, least: String, most: String },
}
