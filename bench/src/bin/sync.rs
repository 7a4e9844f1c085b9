//! `sync`: how long a write waits for the disk. See `bench::sync`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bench::sync::{Measured, Waits, measure};
use clap::Parser;
use runtime::{Options, Runtime};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures the wait for the disk of a commit log with one writer, and of a bare direct write with dsync, in turn.
#[derive(Debug, Parser)]
struct Arguments {
    /// A folder on the disk in question; a folder of its own is made in it, and removed.
    folder: PathBuf,
    /// Turns of both.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Writes of each in a turn.
    #[arg(long, default_value_t = 1000)]
    writes: u32,
}

async fn run(runtime: Runtime, arguments: &Arguments) -> std::io::Result<Measured> {
    let folder: &Path = &arguments.folder.join(format!("sync-{:016x}", runtime.random_u64()));
    runtime.create_dir_all(folder).await?;
    let measured = measure(runtime.clone(), folder, arguments.rounds, arguments.writes).await;
    runtime.remove_dir_all(folder).await?;
    measured
}

fn print(name: &str, waits: &Waits) {
    let micros = |percent| waits.percentile(percent).as_secs_f64() * 1e6;
    println!("{name:<30} p50 {:>6.0} µs, p99 {:>6.0} µs", micros(50), micros(99));
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let failed = match runtime::run(Options::default(), vec![|runtime| run(runtime, &arguments)]) {
        Ok(results) => results.into_iter().find_map(|result| match result {
            Ok(measured) => {
                print("bare direct write with dsync", &measured.bare);
                print("commit log, one writer", &measured.log);
                None
            }
            Err(error) => Some(error.to_string()),
        }),
        Err(error) => Some(error.to_string()),
    };
    match failed {
        None => ExitCode::SUCCESS,
        Some(error) => {
            eprintln!("sync: {error}");
            ExitCode::FAILURE
        }
    }
}
