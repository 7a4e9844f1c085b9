//! `mariadb`: many clients of MariaDB that all begin at once. See `bench::mariadb`.

#![allow(clippy::disallowed_methods, reason = "the report is a plain file of a program that is no server")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use bench::mariadb::{self, Load, Report, VALUE_BYTES_MAX, Workload};
use clap::{Parser, ValueEnum};
use runtime::Options;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// REPLACE rows; makes database and table, if they are not there.
    Write,
    /// SELECT rows by their name, and compare them with what was written.
    Read,
}

/// Clients that each do one request after another, all begun at once.
#[derive(Debug, Parser)]
struct Arguments {
    /// What to do
    what: What,
    /// The server
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3306")]
    address: SocketAddr,
    /// Clients, each with a connection
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    clients: u32,
    /// Requests of each client
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    requests: u64,
    /// Rows of the table [default: as many as requests of all clients]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    keys: Option<u64>,
    /// All requests fall on the first row
    #[arg(long)]
    hot: bool,
    /// Bytes of a value; reads must name that of the writes
    #[arg(long, value_name = "BYTES", default_value_t = 60, value_parser = parse_value_bytes)]
    value_bytes: usize,
    /// Requests of all clients together to do before, unmeasured
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    warmup: u64,
    /// Process of the server, to measure the CPU time that it uses
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Run on this CPU only
    #[arg(long, value_name = "NUMBER")]
    cpu: Option<usize>,
    /// Also write the report to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn parse_value_bytes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if bytes <= VALUE_BYTES_MAX => Ok(bytes),
        _ => Err(format!("must be a number up to {VALUE_BYTES_MAX}")),
    }
}

impl Arguments {
    fn load(&self) -> Load {
        Load {
            address: self.address,
            workload: match self.what {
                What::Write => Workload::Write,
                What::Read => Workload::Read,
            },
            clients: self.clients,
            requests: self.requests,
            keys: self.keys.unwrap_or(u64::from(self.clients) * self.requests),
            is_hot: self.hot,
            value_bytes: self.value_bytes,
            warmup: self.warmup,
            server: self.pid,
        }
    }
}

/// Runs, reports and judges; an error says in words what failed.
fn measure(arguments: &Arguments) -> Result<(), String> {
    let load = arguments.load();
    let outcome = mariadb::run(&load).map_err(|error| error.to_string())?;
    let report = Report { load: &load, outcome: &outcome };
    print!("{}", report.text());
    if let Some(path) = &arguments.json {
        std::fs::write(path, report.json()).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    match &outcome.tally.first_failure {
        None => Ok(()),
        Some(first) => Err(format!("some requests failed; the first: {first}")),
    }
}

/// The same on one CPU: the clients' threads stay where the thread that starts them is.
fn measure_on(cpu: usize, arguments: &Arguments) -> Result<(), String> {
    let options = Options { cpus: vec![cpu], ..Options::default() };
    let results = runtime::run(options, vec![|_| async { measure(arguments) }]).map_err(|error| error.to_string())?;
    results.into_iter().collect()
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let measured = match arguments.cpu {
        Some(cpu) => measure_on(cpu, &arguments),
        None => measure(&arguments),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("mariadb: {failure}");
            ExitCode::FAILURE
        }
    }
}
