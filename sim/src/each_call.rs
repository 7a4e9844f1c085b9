//! Each disk call of a small run failed once with EIO and once with ENOSPC: the node says so and goes on, or says so and
//! ends; it does not hang, and what it acknowledged is there after the next start.

use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use runtime::sim::{DiskError, DiskFault};

use crate::checker::{self, Promises};
use crate::cluster::{Cluster, NodeOptions, StartFailure};
use crate::fault;
use crate::run::{ask, read_all};
use crate::workload::{RowsOptions, Shared, prepare, work};

/// Shard counts of the two starts under faults, and of the two after.
const SHARDS: [u16; 4] = [2, 3, 1, 2];
/// By then the workload has ended.
const WORKLOAD_AT_MOST: Duration = Duration::from_secs(1800);

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct EachCall {
    /// Disk calls of the run without faults.
    pub calls: u64,
    /// Runs with one fault.
    pub runs: u64,
    /// Runs in which the node refused to start or ended with an error.
    pub refused: u64,
    /// Real time.
    pub real: Duration,
    /// Marks that were reached.
    pub marks: std::collections::BTreeMap<&'static str, u64>,
    /// The call, the error, and what does not hold.
    pub failures: Vec<(u64, DiskError, Vec<String>)>,
}

/// Fails each call of the seed's run, or `only` that one.
pub fn each_call(seed: u64, threads: usize, only: Option<u64>) -> EachCall {
    let began = Instant::now();
    let mut all = EachCall::default();
    match attempt(seed, None) {
        Ok(attempt) => all.calls = attempt.calls,
        Err(what) => all.failures.push((0, DiskError::Medium, vec![format!("without a fault: {what}")])),
    }
    let (next, calls) = (AtomicU64::new(0), all.calls);
    let results = Mutex::new(&mut all);
    let work = || {
        stdx::marks::take();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= calls * 2 {
                break;
            }
            let error = if number.is_multiple_of(2) { DiskError::Medium } else { DiskError::Full };
            let call = number / 2;
            if only.is_some_and(|only| only != call) {
                continue;
            }
            let run = AssertUnwindSafe(|| attempt(seed, Some(DiskFault::at(call, error))));
            let outcome = std::panic::catch_unwind(run).unwrap_or_else(|_| Err("a panic".to_owned()));
            let mut all = results.lock().expect("runs catch their panics");
            all.runs += 1;
            match outcome {
                Ok(attempt) => {
                    all.refused += u64::from(attempt.is_refused);
                    if !attempt.violations.is_empty() {
                        all.failures.push((call, error, attempt.violations));
                    }
                }
                Err(what) => all.failures.push((call, error, vec![what])),
            }
        }
        let mut all = results.lock().expect("runs catch their panics");
        stdx::marks::take().into_iter().for_each(|(name, count)| *all.marks.entry(name).or_default() += count);
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    all.real = began.elapsed();
    all
}

struct Attempt {
    calls: u64,
    is_refused: bool,
    violations: Vec<String>,
}

fn attempt(seed: u64, fault: Option<DiskFault>) -> Result<Attempt, String> {
    let options = NodeOptions {
        segment_bytes: 64 << 10,
        log_bytes: Some(64 << 10),
        auto_snapshot: seed.is_multiple_of(2),
        flush_on_drain: true,
        ..NodeOptions::default()
    };
    let rows =
        RowsOptions { clients: 2, requests: 12, truncate_per_mille: 80, pause_micros: 500, ..RowsOptions::default() };
    let mut cluster = Cluster::new(seed, options, None);
    let history = Shared::default();
    cluster.world.set_disk_faults(cluster.node, fault.into_iter().collect());
    let mut is_refused = false;
    for shards in &SHARDS[..2] {
        is_refused |= start_at_last(&mut cluster, *shards)?;
        // A table that could not be made is asked for again: the disk failed once.
        let mut made = Err("never asked".to_owned());
        for _ in 0..3 {
            made = match ask(&mut cluster, prepare) {
                Some(made) => made.map_err(|error| error.to_string()),
                None => Err("no answer in time".to_owned()),
            };
            if made.is_ok() {
                break;
            }
            cluster.world.kill(cluster.node);
            is_refused |= start_at_last(&mut cluster, *shards)?;
        }
        made.map_err(|error| format!("the table was not made: {error}"))?;
        load(&mut cluster, &history, rows)?;
        note_end(&cluster, &history);
        // A node whose disk failed may say so at its end, but it ends.
        if let Err(sentence) = cluster.terminate() {
            if sentence.contains("did not end") {
                return Err(sentence);
            }
            is_refused = true;
        }
    }
    let calls = cluster.world.disk_calls(cluster.node);
    fault::heal(&mut cluster);
    let mut violations = Vec::new();
    for shards in &SHARDS[2..] {
        cluster.start(*shards).map_err(|error| format!("the start after the fault failed: {error}"))?;
        let as_of = cluster.world.now().as_nanos();
        let rows = read_all(&mut cluster)?;
        violations.extend(checker::check(&history.borrow(), &rows, as_of, Promises::TODAY));
        let keep = fault::any_keep(cluster.world.random());
        cluster.world.crash(cluster.node, keep);
    }
    Ok(Attempt { calls, is_refused, violations })
}

/// Starts the node; if it refuses, once more, since the disk fails once. Whether it refused.
fn start_at_last(cluster: &mut Cluster, shards: u16) -> Result<bool, String> {
    match cluster.start(shards) {
        Ok(_) => Ok(false),
        Err(StartFailure::Refused(sentence)) => {
            if sentence.is_empty() {
                return Err("the node ended and did not say why".to_owned());
            }
            let again = cluster.start(shards);
            again.map(|_| true).map_err(|error| format!("refused with '{sentence}', and then again: {error}"))
        }
        Err(hung @ StartFailure::Hung) => Err(hung.to_string()),
    }
}

fn note_end(cluster: &Cluster, history: &Shared) {
    history.borrow_mut().ends.push(cluster.world.now().as_nanos());
}

fn load(cluster: &mut Cluster, history: &Shared, options: RowsOptions) -> Result<(), String> {
    let history = history.clone();
    let working = cluster.world.start(cluster.clients, false, vec![move |runtime| work(runtime, options, history)]);
    cluster.run_until(|_| working.is_over(), WORKLOAD_AT_MOST);
    if working.is_over() { Ok(()) } else { Err("clients still wait for answers".to_owned()) }
}
