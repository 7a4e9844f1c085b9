//! `helenus serve`: from the command line to a running node and its exit code.
//!
//! A start that fails before the node has its directory and its ports says why in one sentence and logs nothing beside it.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use admin::{Bound, Endpoint, Refused};
use runtime::Options;
use server::{Listening, Port, Security};
use tls::OutsideCredentials;

use crate::allocator;
use crate::config::{Arguments, Config, Machine, print_size};
use crate::logging;
use crate::node::{self, ProcessSeats, Ready};

/// Where `helenus cql` connects without arguments.
const DEFAULT_NATIVE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9042);

/// Runs a node until it is told to end.
pub fn serve(arguments: &Arguments) -> ExitCode {
    match try_serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            // Standard error may be closed, and then there is nobody to tell.
            let _ = writeln!(io::stderr(), "helenus: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn try_serve(arguments: &Arguments) -> Result<(), String> {
    let (config, pointless) = Config::resolve(arguments, &Machine::ask()).map_err(|error| error.to_string())?;
    let log_level = logging::start(config.log_level, config.log_to_stdout);
    let (operators, mut bound) = bind_for_operators(&config)?;
    let console = bound.api();
    let mut start =
        Some(Start { pointless, operators, refused: bound.take_refused(), api: console, metrics: bound.metrics() });
    allocator::keep_purges_from_threads();
    let options = Options {
        reactor: config.reactor,
        cpus: config.cpus.clone(),
        handle_signals: true,
        idle_poll: config.idle_poll,
        housekeeping: Some(allocator::purge),
    };
    let ProcessSeats { seats, questions, passwords, audit } =
        node::seats_of_process(config.shards, config.access.logins, config.audit.clone());
    let tls = config.api_tls.as_ref().map(OutsideCredentials::identity);
    let asks_login = config.access.authenticator.requires_login();
    let parts = admin::Parts { bound, tls, asks_login, questions, log_level, version: env!("CARGO_PKG_VERSION") };
    let mains = seats
        .into_iter()
        .map(|seat| {
            let config = config.clone();
            // Shard 0 alone hears of the start.
            let start = start.take();
            move |runtime| async move {
                let shown = config.clone();
                let taken = || start.iter().for_each(|start| start.log(&shown));
                let ready = |ready: Ready| announce(&ready, &shown, console);
                node::run(runtime, seat, config, taken, ready).await.map_err(|error| error.to_string())
            }
        })
        .collect();
    let beside = login::companions(passwords).into_iter().chain([audit::companion(audit)]);
    let companions = admin::companion(parts).into_iter().chain(beside).collect();
    let results = runtime::run_beside(options, mains, companions).map_err(|error| error.to_string())?;
    results.into_iter().collect()
}

/// The operators' ports. One that would be open to the world is left closed without `--insecure`: start lines of ScyllaDB that name such
/// an address still start the node.
fn bind_for_operators(config: &Config) -> Result<(Vec<OperatorPort>, Bound), String> {
    let ports = [("admin API", config.api), ("Prometheus metrics", config.metrics)];
    let ports = ports.map(|(what, endpoint)| endpoint.map(|endpoint| OperatorPort::of(what, endpoint, config)));
    let [api, metrics] =
        ports.each_ref().map(|port| port.as_ref().filter(|port| port.is_allowed).map(|port| port.endpoint));
    let bound = admin::bind(api, metrics).map_err(|error| error.to_string())?;
    Ok((ports.into_iter().flatten().collect(), bound))
}

/// A port for operators as it is configured.
struct OperatorPort {
    what: &'static str,
    endpoint: Endpoint,
    /// Passwords would cross a network in plain.
    is_plain: bool,
    is_allowed: bool,
}

impl OperatorPort {
    fn of(what: &'static str, endpoint: Endpoint, config: &Config) -> OperatorPort {
        let is_proven = config.api_tls.as_ref().is_some_and(OutsideCredentials::proves_clients);
        let asks_login = config.access.authenticator.requires_login();
        let is_local = endpoint.address.ip().is_loopback();
        let is_allowed = is_local || is_proven || asks_login || config.insecure;
        OperatorPort { what, endpoint, is_plain: asks_login && !is_local && config.api_tls.is_none(), is_allowed }
    }

    fn log(&self) {
        let OperatorPort { what, endpoint: Endpoint { address, .. }, is_plain, is_allowed } = self;
        if *is_plain {
            tracing::warn!(%address, "operators' passwords are not encrypted; set api_tls");
        }
        if !is_allowed {
            tracing::warn!(
                %address,
                "{what} not started: listen address is not loopback and there is no authentication; set authenticator, or api_tls with \
                 require_client_auth: true, or start with --insecure if the network is trusted"
            );
        }
    }
}

/// The log lines of a start, once the node has its directory and its ports.
struct Start {
    /// Settings without effect.
    pointless: Vec<String>,
    operators: Vec<OperatorPort>,
    refused: Vec<Refused>,
    api: Option<SocketAddr>,
    metrics: Option<SocketAddr>,
}

impl Start {
    fn log(&self, config: &Config) {
        if !self.pointless.is_empty() {
            tracing::warn!("ignoring settings that have no effect in Helenus: {}", self.pointless.join(", "));
        }
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            shards = config.shards,
            memory = print_size(config.memory_bytes),
            data = %config.data_dir.display(),
            commitlog_sync = ?config.commitlog_sync,
            "starting node"
        );
        let Port { address, security } = config.listen.native;
        if !address.ip().is_loopback() && security != Security::Tls {
            tracing::warn!(%address, "client connections are not encrypted; set client_encryption_options to use TLS");
        }
        self.operators.iter().for_each(OperatorPort::log);
        self.refused.iter().for_each(Refused::log);
        if let Some(api) = self.api {
            tracing::info!(%api, tls = config.api_tls.is_some(), "admin API listening");
        }
        if let Some(metrics) = self.metrics {
            tracing::info!(%metrics, "Prometheus metrics listening");
        }
    }
}

/// The ready line, on standard output whatever the log does: people and scripts wait for it.
fn announce(ready: &Ready, config: &Config, console: Option<SocketAddr>) {
    let Listening { native, shard_aware, native_tls, shard_aware_tls } = ready.listening;
    let others = [("shard-aware", shard_aware), ("TLS", native_tls), ("shard-aware TLS", shard_aware_tls)];
    let others: String = others
        .into_iter()
        .filter_map(|(what, address)| address.map(|address| format!(", {what} on {address}")))
        .collect();
    let scheme = if config.api_tls.is_some() { "https" } else { "http" };
    let console = console.map(|address| format!("; console on {scheme}://{address}/")).unwrap_or_default();
    let place = if native == DEFAULT_NATIVE { String::new() } else { format!(" {} {}", native.ip(), native.port()) };
    let ssl = if config.listen.native.security == Security::Tls { " --ssl" } else { "" };
    tracing::info!(%native, reactor = ready.reactor, shards = ready.shards, boot = ready.boot, "node ready");
    let mut out = io::stdout().lock();
    let data = config.data_dir.display();
    let line =
        format!("Helenus is ready: CQL on {native}{others}{console}; data in {data}. Try: helenus cql{place}{ssl}\n");
    // A closed standard output is no reason to end a server.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}
