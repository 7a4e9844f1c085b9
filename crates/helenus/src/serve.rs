//! `helenus serve`: from the command line to a running node and its exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use runtime::Options;
use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;

use crate::allocator;
use crate::config::{Arguments, Config, Machine, print_size};
use crate::node::{self, Ready};

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
    log_to(config.log_level, config.log_to_stdout);
    if !pointless.is_empty() {
        tracing::warn!("accepted without effect, as Helenus needs no such setting: {}", pointless.join(", "));
    }
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        shards = config.shards,
        memory = print_size(config.memory_bytes),
        data = %config.data_dir.display(),
        commitlog_sync = ?config.commitlog_sync,
        "starting"
    );
    allocator::keep_purges_from_threads();
    let options = Options {
        reactor: config.reactor,
        cpus: config.cpus.clone(),
        handle_signals: true,
        housekeeping: Some(allocator::purge),
    };
    let mains = node::seats(config.shards)
        .into_iter()
        .map(|seat| {
            let config = config.clone();
            move |runtime| async move {
                let data = config.data_dir.clone();
                let ready = move |ready: Ready| announce(&ready, &data);
                node::run(runtime, seat, config, ready).await.map_err(|error| error.to_string())
            }
        })
        .collect();
    let results = runtime::run(options, mains).map_err(|error| error.to_string())?;
    results.into_iter().collect()
}

/// The ready line, on standard output whatever the log does: people and scripts wait for it.
fn announce(ready: &Ready, data: &std::path::Path) {
    let native = ready.listening.native;
    let shard_aware =
        ready.listening.shard_aware.map_or_else(String::new, |address| format!(", shard-aware on {address}"));
    tracing::info!(%native, reactor = ready.reactor, shards = ready.shards, boot = ready.boot, "ready");
    let mut out = io::stdout().lock();
    let line = format!(
        "Helenus is ready: CQL on {native}{shard_aware}; data in {}. Try: cqlsh {} {}\n",
        data.display(),
        native.ip(),
        native.port()
    );
    // A closed standard output is no reason to end a server.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

/// Starts logging. Nothing on the way of a request logs below `debug`, so the lock inside the writer is not met there.
fn log_to(level: Level, to_stdout: bool) {
    let subscriber =
        tracing_subscriber::fmt().with_max_level(level).with_target(false).with_writer(LogTarget { to_stdout });
    // Colours are for people at terminals, not for files.
    let is_terminal =
        if to_stdout { io::IsTerminal::is_terminal(&io::stdout()) } else { io::IsTerminal::is_terminal(&io::stderr()) };
    subscriber.with_ansi(is_terminal).init();
}

struct LogTarget {
    to_stdout: bool,
}

impl<'a> MakeWriter<'a> for LogTarget {
    type Writer = Box<dyn Write>;

    fn make_writer(&'a self) -> Box<dyn Write> {
        if self.to_stdout { Box::new(io::stdout()) } else { Box::new(io::stderr()) }
    }
}
