//! Errors of a configuration. Each message is one sentence for the person at the terminal.

use std::net::IpAddr;

use thiserror::Error;

/// Why a node cannot be configured as asked.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say what the variants and their fields are")]
pub enum ConfigError {
    #[error("cannot read configuration file {file}: {reason}")]
    FileUnreadable { file: String, reason: String },
    #[error("cannot parse configuration file {file}: {reason}")]
    FileNotYaml { file: String, reason: String },
    #[error("{file}, line {line}: unknown configuration key '{key}'{suggestion}")]
    UnknownKey { file: String, line: u64, key: String, suggestion: String },
    #[error("{file}, line {line}: {key}: {reason}")]
    FileValue { file: String, line: u64, key: String, reason: String },
    #[error("{flag}: {reason}")]
    FlagValue { flag: &'static str, reason: String },
    #[error(
        "--smp {asked} exceeds the {there} processors available to this process; lower it, or start with --overprovisioned"
    )]
    TooManyShards { asked: u16, there: usize },
    #[error("--cpuset names processor {cpu}, which is not available to this process; available are {allowed:?}")]
    CpuNotThere { cpu: usize, allowed: Vec<usize> },
    #[error("--memory {asked} exceeds the {there} available to this process")]
    TooMuchMemory { asked: String, there: String },
    #[error(
        "memory of {asked} is too small for {shards} shards, each needs at least {least}; raise --memory or lower --smp"
    )]
    TooLittleMemory { asked: String, shards: u16, least: String },
    #[error(
        "listen address {address} is not loopback and clients prove nothing: any client that reaches the port could read and change all data; listen on \
         127.0.0.1, require logins (authenticator: PasswordAuthenticator) or certificates of clients (client_encryption_options with require_client_auth: true and no plain port), or start with --insecure \
         if the network is trusted"
    )]
    OpenToTheWorld { address: IpAddr },
    #[error("{place}: {reason}")]
    UnknownSeed { place: String, reason: String },
    #[error(
        "listen_address {address} is not loopback and there is neither internode_secret_file nor internode_encryption: all: any host that reaches the port \
         could join the cluster, read and change all data; give all nodes the same secret or certificates, or start with --insecure if the network is trusted"
    )]
    OpenCluster { address: std::net::IpAddr },
    #[error("cannot use internode_secret_file {file}: {reason}")]
    SecretFile { file: String, reason: String },
    #[error("cannot use initial_token: {reason}")]
    InitialToken { reason: String },
    #[error("{key}: {error}")]
    Certificates { key: &'static str, error: tls::MaterialError },
    #[error("{key}: {reason}")]
    Port { key: &'static str, reason: String },
    #[error("{reason}")]
    Access { reason: String },
    #[error("{reason}")]
    Guardrail { reason: String },
    #[error("{key} must be between {least} and {most}, got {value}")]
    OutOfRange { key: &'static str, value: String, least: String, most: String },
}
