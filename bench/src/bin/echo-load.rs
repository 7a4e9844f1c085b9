//! `echo-load`: a pipelining load for the echo server, which reports the server's processor time per request.

use std::net::SocketAddr;
use std::process::ExitCode;

use bench::load::{self, Load};
use clap::Parser;
use runtime::{Options, Runtime};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keeps requests under way and counts their replies.
#[derive(Debug, Parser)]
struct Arguments {
    /// The server.
    address: SocketAddr,
    /// Connections.
    #[arg(long, default_value_t = 1)]
    connections: u32,
    /// Requests under way on each connection.
    #[arg(long, default_value_t = 128)]
    depth: u16,
    /// Requests in all.
    #[arg(long, default_value_t = 5_000_000)]
    requests: u64,
    /// Bytes of a request's body.
    #[arg(long, default_value_t = 100)]
    request_bytes: usize,
    /// The processor to stay on.
    #[arg(long)]
    cpu: Option<usize>,
    /// The server's process, whose processor time is reported.
    #[arg(long)]
    server_pid: Option<u32>,
}

async fn measure(rt: Runtime, arguments: &Arguments) -> std::io::Result<()> {
    let &Arguments { address, connections, depth, requests, request_bytes, .. } = arguments;
    let load = Load { address, connections, depth, requests: requests / 10, request_bytes };
    load::run(&rt, load).await?;
    let processes = [arguments.server_pid.unwrap_or(std::process::id()), std::process::id()];
    let mut before = Vec::new();
    for process in processes {
        before.push(runtime::process_cpu_time(Some(process))?);
    }
    let outcome = load::run(&rt, Load { requests, ..load }).await?;
    let micros = |time: std::time::Duration| time.as_secs_f64() * 1e6 / outcome.requests as f64;
    println!("{} requests, {:.3} µs each", outcome.requests, micros(outcome.elapsed));
    for (process, (name, before)) in processes.into_iter().zip(["server", "load"].into_iter().zip(before)) {
        if name == "load" || arguments.server_pid.is_some() {
            println!(
                "{name}: {:.3} µs of processor time each",
                micros(runtime::process_cpu_time(Some(process))? - before)
            );
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let options = Options { cpus: arguments.cpu.into_iter().collect(), ..Options::default() };
    let results = runtime::run(options, vec![|rt| measure(rt, &arguments)]);
    let failure = match results {
        Ok(results) => results.into_iter().find_map(Result::err).map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    match failure {
        None => ExitCode::SUCCESS,
        Some(failure) => {
            eprintln!("echo-load: {failure}");
            ExitCode::FAILURE
        }
    }
}
