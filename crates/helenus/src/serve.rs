//! `helenus serve`: from the command line to a running node and its exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use admin::{Bound, Endpoint};
use runtime::Options;
use server::{Listening, Port, Security};
use tls::OutsideCredentials;

use crate::allocator;
use crate::config::{Arguments, Config, Machine, print_size};
use crate::logging;
use crate::node::{self, ProcessSeats, Ready};

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
    if !pointless.is_empty() {
        tracing::warn!("ignoring settings that have no effect in Helenus: {}", pointless.join(", "));
    }
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        shards = config.shards,
        memory = print_size(config.memory_bytes),
        data = %config.data_dir.display(),
        commitlog_sync = ?config.commitlog_sync,
        "starting node"
    );
    warn_of_plain_clients(&config);
    let bound = bind_for_operators(&config)?;
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
            move |runtime| async move {
                let data = config.data_dir.clone();
                let is_tls = config.listen.native.security == Security::Tls;
                let ready = move |ready: Ready| announce(&ready, &data, is_tls);
                node::run(runtime, seat, config, ready).await.map_err(|error| error.to_string())
            }
        })
        .collect();
    let beside = login::companions(passwords).into_iter().chain([audit::companion(audit)]);
    let companions = admin::companion(parts).into_iter().chain(beside).collect();
    let results = runtime::run_beside(options, mains, companions).map_err(|error| error.to_string())?;
    results.into_iter().collect()
}

/// Warns of clients whose passwords and data anyone on the way could read.
fn warn_of_plain_clients(config: &Config) {
    let Port { address, security } = config.listen.native;
    if !address.ip().is_loopback() && security != Security::Tls {
        tracing::warn!(%address, "client connections are not encrypted; set client_encryption_options to use TLS");
    }
}

/// The operators' ports. One that would be open to the world is left closed without `--insecure`: start lines of ScyllaDB that name such
/// an address still start the node.
fn bind_for_operators(config: &Config) -> Result<Bound, String> {
    let closed = |endpoint: Option<Endpoint>, what: &str| {
        let endpoint = endpoint?;
        let is_proven = config.api_tls.as_ref().is_some_and(OutsideCredentials::proves_clients);
        let asks_login = config.access.authenticator.requires_login();
        let is_allowed = endpoint.address.ip().is_loopback() || is_proven || asks_login || config.insecure;
        if asks_login && !endpoint.address.ip().is_loopback() && config.api_tls.is_none() {
            let address = endpoint.address;
            tracing::warn!(%address, "operators' passwords are not encrypted; set api_tls");
        }
        if !is_allowed {
            let address = endpoint.address;
            tracing::warn!(
                %address,
                "{what} not started: listen address is not loopback and there is no authentication; set authenticator, or api_tls with \
                 require_client_auth: true, or start with --insecure if the network is trusted"
            );
        }
        is_allowed.then_some(endpoint)
    };
    let bound = admin::bind(closed(config.api, "admin API"), closed(config.metrics, "Prometheus metrics"));
    let bound = bound.map_err(|error| error.to_string())?;
    if let Some(api) = bound.api() {
        tracing::info!(%api, tls = config.api_tls.is_some(), "admin API listening");
    }
    if let Some(metrics) = bound.metrics() {
        tracing::info!(%metrics, "Prometheus metrics listening");
    }
    Ok(bound)
}

/// The ready line, on standard output whatever the log does: people and scripts wait for it.
fn announce(ready: &Ready, data: &std::path::Path, is_tls: bool) {
    let Listening { native, shard_aware, native_tls, shard_aware_tls } = ready.listening;
    let others = [("shard-aware", shard_aware), ("TLS", native_tls), ("shard-aware TLS", shard_aware_tls)];
    let others: String = others
        .into_iter()
        .filter_map(|(what, address)| address.map(|address| format!(", {what} on {address}")))
        .collect();
    let ssl = if is_tls { " --ssl" } else { "" };
    tracing::info!(%native, reactor = ready.reactor, shards = ready.shards, boot = ready.boot, "node ready");
    let mut out = io::stdout().lock();
    let line = format!(
        "Helenus is ready: CQL on {native}{others}; data in {}. Try: cqlsh {} {}{ssl}\n",
        data.display(),
        native.ip(),
        native.port()
    );
    // A closed standard output is no reason to end a server.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}
