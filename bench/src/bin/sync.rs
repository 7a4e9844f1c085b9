//! `sync`: how long a write waits for the disk. See `bench::sync`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bench::sync::{Measured, Waits, measure};
use clap::{Parser, ValueEnum};
use runtime::{Options, ReactorKind, Runtime};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Reactor {
    Uring,
    /// With linux-aio, where it is not refused.
    Epoll,
    /// With workers for all of files.
    EpollWorkers,
}

impl Reactor {
    fn kind(self) -> ReactorKind {
        match self {
            Reactor::Uring => ReactorKind::Uring,
            Reactor::Epoll => ReactorKind::Epoll,
            Reactor::EpollWorkers => ReactorKind::EpollWorkers,
        }
    }
}

/// Measures the wait for the disk of a commit log with one writer, and of a bare direct write with dsync, in turn.
#[derive(Debug, Parser)]
struct Arguments {
    /// A folder on the disk in question; a folder of its own is made in it, and removed.
    folder: PathBuf,
    /// The reactor, several times for several in turn; the default is the one that a node would choose.
    #[arg(long)]
    reactor: Vec<Reactor>,
    /// Turns of each.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Writes of each in a turn.
    #[arg(long, default_value_t = 1000)]
    writes: u32,
}

async fn run(runtime: Runtime, arguments: &Arguments) -> std::io::Result<(&'static str, Measured)> {
    let folder: &Path = &arguments.folder.join(format!("sync-{:016x}", runtime.random_u64()));
    runtime.create_dir_all(folder).await?;
    let measured = measure(runtime.clone(), folder, arguments.writes).await;
    runtime.remove_dir_all(folder).await?;
    Ok((runtime.reactor_name(), measured?))
}

fn measure_one(reactor: Option<ReactorKind>, arguments: &Arguments) -> Result<(&'static str, Measured), String> {
    let options = Options { reactor, ..Options::default() };
    let results = runtime::run(options, vec![|runtime| run(runtime, arguments)]).map_err(|error| error.to_string())?;
    let result = results.into_iter().next().expect("one shard has one result");
    result.map_err(|error| error.to_string())
}

/// What each reactor measured, in turn.
fn measure_all(arguments: &Arguments) -> Result<Vec<(&'static str, Measured)>, String> {
    let reactors: Vec<_> = match &arguments.reactor[..] {
        [] => vec![None],
        reactors => reactors.iter().map(|reactor| Some(reactor.kind())).collect(),
    };
    let mut all = vec![("", Measured::default()); reactors.len()];
    for _ in 0..arguments.rounds {
        for (reactor, (name, measured)) in reactors.iter().zip(&mut all) {
            let (ran, more) = measure_one(*reactor, arguments)?;
            *name = ran;
            measured.add(more);
        }
    }
    Ok(all)
}

fn print(name: &str, waits: &Waits) {
    let micros = |percent| waits.percentile(percent).as_secs_f64() * 1e6;
    println!("{name:<30} p50 {:>6.0} µs, p99 {:>6.0} µs", micros(50), micros(99));
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match measure_all(&arguments) {
        Ok(all) => {
            for (name, measured) in all {
                println!("{name}");
                print("  bare direct write with dsync", &measured.bare);
                print("  commit log, one writer", &measured.log);
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("sync: {error}");
            ExitCode::FAILURE
        }
    }
}
