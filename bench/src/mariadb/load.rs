//! All clients at once: connected and prepared first, warmed up, then let go at one instant.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant, SystemTime};

use thiserror::Error;

use super::client::{Client, Workload, make_table};
use super::rows;
use super::tally::Tally;

/// From the word to the instant at which clients begin: by then each has heard it.
const START_DELAY: Duration = Duration::from_millis(20);
/// How many latencies a client has room for from the start.
const LATENCIES_AHEAD: u64 = 1 << 20;

/// What to ask for.
#[derive(Debug, Clone)]
pub struct Load {
    /// The server.
    pub address: SocketAddr,
    /// What each request is.
    pub workload: Workload,
    /// Clients, each with a connection and a thread.
    pub clients: u32,
    /// Requests of each client.
    pub requests: u64,
    /// Rows: writes take them one after another, reads any of them, each as likely.
    pub keys: u64,
    /// Whether all requests fall on the first row instead.
    pub is_hot: bool,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Requests of all clients together before, unmeasured.
    pub warmup: u64,
    /// The server's process.
    pub server: Option<u32>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// From the common start to the end of the last client.
    pub elapsed: Duration,
    /// The requests.
    pub tally: Tally,
    /// The CPU time of this process.
    pub generator_cpu: Duration,
    /// The CPU time of the server, if its process is known.
    pub server_cpu: Option<Duration>,
}

/// Why there is no outcome.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Before the start.
    #[error("cannot reach the server at {address}: {source}")]
    Server {
        /// Where it was looked for.
        address: SocketAddr,
        /// What it, or the driver, said.
        source: Box<mysql::Error>,
    },
    /// A process' account cannot be read.
    #[error("cannot read the CPU time of process {pid}: {source}")]
    CpuTime {
        /// The process' number, or `self`.
        pid: u32,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The system gives no more threads.
    #[error("cannot start a client thread: {0}")]
    Thread(std::io::Error),
}

/// Runs the load.
pub fn run(load: &Load) -> Result<Outcome, LoadError> {
    let clients =
        connect(load).map_err(|source| LoadError::Server { address: load.address, source: Box::new(source) })?;
    std::thread::scope(|scope| {
        let (warming, warmed) = mpsc::channel();
        let start = |(number, client)| start_client(scope, load, number, client, warming.clone());
        // What was started ends without a word if this fails, since nothing is left to give it.
        let started = (0..).zip(clients).map(start).collect::<Result<Vec<_>, _>>().map_err(LoadError::Thread)?;
        drop(warming);
        // Nothing is ever sent: this ends when the last client has let go of its end.
        let _ = warmed.recv();
        let before = CpuTimes::take(load.server)?;
        let start = Instant::now() + START_DELAY;
        let (tally, end) = finish(started, start);
        let used = CpuTimes::take(load.server)?.since(&before);
        Ok(Outcome { elapsed: end - start, tally, generator_cpu: used.generator, server_cpu: used.server })
    })
}

fn connect(load: &Load) -> mysql::Result<Vec<Client>> {
    if load.workload == Workload::Write {
        make_table(load.address)?;
    }
    (0..load.clients).map(|_| Client::open(load.address, load.workload, load.value_bytes)).collect()
}

/// A client that waits to be told when to start. If nobody will, it ends.
struct Started<'scope> {
    go: Sender<Instant>,
    thread: ScopedJoinHandle<'scope, Option<(Tally, Instant)>>,
}

fn start_client<'scope>(
    scope: &'scope Scope<'scope, '_>,
    load: &'scope Load,
    number: u64,
    client: Client,
    warming: Sender<()>,
) -> std::io::Result<Started<'scope>> {
    let (go, start) = mpsc::channel();
    let body = move || live(load, number, client, warming, &start);
    Builder::new().spawn_scoped(scope, body).map(|thread| Started { go, thread })
}

/// A client's life: its requests, and when they ended.
fn live(
    load: &Load,
    number: u64,
    mut client: Client,
    warming: Sender<()>,
    start: &Receiver<Instant>,
) -> Option<(Tally, Instant)> {
    let share = load.warmup / u64::from(load.clients) + u64::from(number < load.warmup % u64::from(load.clients));
    let mut request = |row, time| client.request(row, time);
    // What is wrong here is wrong again in what is measured.
    rounds(load, number, share, &mut request);
    drop(warming);
    let start = start.recv().ok()?;
    std::thread::sleep(start.saturating_duration_since(Instant::now()));
    let tally = rounds(load, number, load.requests, &mut request);
    Some((tally, Instant::now()))
}

/// Lets the clients go, and waits for the last one's end.
fn finish(started: Vec<Started<'_>>, start: Instant) -> (Tally, Instant) {
    for client in &started {
        // One that has panicked is found below.
        let _ = client.go.send(start);
    }
    let (mut all, mut end) = (Tally::default(), start);
    for client in started {
        match client.thread.join() {
            Ok(lived) => {
                let (tally, ended) = lived.expect("a client that was let go does its requests");
                all.join(tally);
                end = end.max(ended);
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    (all, end)
}

/// So many requests of one client, one after another, until its connection is over.
fn rounds(
    load: &Load,
    client: u64,
    count: u64,
    request: &mut dyn FnMut(u64, u64) -> Result<(), super::tally::Fault>,
) -> Tally {
    let mut tally = Tally::with_room(count.min(LATENCIES_AHEAD));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let times_from = u64::try_from(now.as_micros()).unwrap_or_default();
    for number in 0..count {
        let place = client * load.requests + number;
        let began = Instant::now();
        let result = request(row(load, place), times_from + place);
        if !tally.add(began.elapsed(), result) {
            break;
        }
    }
    tally
}

/// The row of a request, by its place among those of all clients.
fn row(load: &Load, place: u64) -> u64 {
    match load.workload {
        _ if load.is_hot => 0,
        Workload::Write => place % load.keys,
        Workload::Read => rows::next(place) % load.keys,
    }
}

/// The CPU time used by both ends. Threads that have ended count too: a server of this kind has some that come and go.
struct CpuTimes {
    generator: Duration,
    server: Option<Duration>,
}

impl CpuTimes {
    fn take(server: Option<u32>) -> Result<CpuTimes, LoadError> {
        let server = server.map(|pid| cpu_time(Some(pid))).transpose()?;
        Ok(CpuTimes { generator: cpu_time(None)?, server })
    }

    fn since(&self, before: &CpuTimes) -> CpuTimes {
        let server = self.server.zip(before.server).map(|(now, before)| now.saturating_sub(before));
        CpuTimes { generator: self.generator.saturating_sub(before.generator), server }
    }
}

fn cpu_time(process: Option<u32>) -> Result<Duration, LoadError> {
    let pid = process.unwrap_or_else(std::process::id);
    runtime::process_cpu_time(process).map_err(|source| LoadError::CpuTime { pid, source })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::mariadb::tally::Fault;

    fn load(workload: Workload) -> Load {
        Load {
            address: SocketAddr::from(([127, 0, 0, 1], 1)),
            workload,
            clients: 4,
            requests: 25,
            keys: 100,
            is_hot: false,
            value_bytes: 60,
            warmup: 0,
            server: None,
        }
    }

    fn rows_asked(load: &Load) -> Vec<u64> {
        let mut asked = Vec::new();
        for client in 0..u64::from(load.clients) {
            let mut request = |row, _| {
                asked.push(row);
                Ok(())
            };
            rounds(load, client, load.requests, &mut request);
        }
        asked
    }

    #[test]
    fn writes_take_each_row_once() {
        assert_eq!(rows_asked(&load(Workload::Write)), (0..100).collect::<Vec<_>>());
        let fewer = Load { keys: 50, ..load(Workload::Write) };
        assert_eq!(rows_asked(&fewer)[50..], (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn reads_are_spread_over_the_rows() {
        let rows = rows_asked(&load(Workload::Read));
        let distinct: BTreeSet<u64> = rows.iter().copied().collect();
        assert!(rows.iter().all(|&row| row < 100) && distinct.len() > 50, "{rows:?}");
        assert!(!rows.is_sorted());
    }

    #[test]
    fn a_hot_load_falls_on_one_row_with_times_that_differ() {
        let load = Load { is_hot: true, ..load(Workload::Write) };
        assert!(rows_asked(&load).iter().all(|&row| row == 0));
        let mut times = BTreeSet::new();
        rounds(&load, 3, 25, &mut |_, time| {
            times.insert(time);
            Ok(())
        });
        assert_eq!(times.len(), 25);
    }

    #[test]
    fn a_client_ends_with_its_connection() {
        let mut left = 3;
        let tally = rounds(&load(Workload::Read), 0, 25, &mut |_, _| {
            left -= 1;
            if left == 0 { Err(Fault::Lost("gone".to_owned())) } else { Err(Fault::Refused("busy".to_owned())) }
        });
        assert_eq!((tally.operations(), tally.errors), (3, 3));
    }

    #[test]
    fn a_server_that_is_not_there_is_told_by_its_address() {
        let failed = run(&load(Workload::Read)).expect_err("nobody listens on port 1");
        assert!(failed.to_string().contains("127.0.0.1:1"), "{failed}");
    }
}
