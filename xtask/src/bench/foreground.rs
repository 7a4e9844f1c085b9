//! `cargo xtask bench --foreground [ROWS]`: what reads cost while the server does other work too. On one core, with four times as much data as
//! memory: reads of few rows over and over, by themselves and beside a scan of all; and reads of any row at half of the rate that the
//! server can do, by themselves and beside a major compaction.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::cores::{GENERATOR_CORE, SERVER_CORE};
use super::files::settle;
use super::load::{self, Load, Measurement, Workload};
use super::operators::{self, Operators};
use super::subject::{Server, measure_echo, serve_with_operators};
use super::verdict::{Bound, judge};
use crate::workspace;

/// Rows of the published table: some 2 GiB.
const ROWS: u64 = 6_500_000;
const MEMORY: &str = "512M";
/// Rows that are read over and over: some 50 MiB of cache.
const HOT_ROWS: u64 = 100_000;
const HOT_READS: u64 = 1_000_000;
/// Of them in turn with the echo server.
const ROUNDS: usize = 3;
/// A full scan beside reads on one core must end within this.
const SCAN_MAX: Duration = Duration::from_secs(600);
/// How long reads at a rate are measured.
const PACED: Duration = Duration::from_secs(15);
/// Operations from which the rate is found that the server can do.
const SATURATING_READS: u64 = 300_000;

const ABOVE_ECHO_MAX: f64 = 2.0;
const HIT_RATE_LOSS_MAX: f64 = 0.05;
const LATENCY_RATIO_MAX: f64 = 2.0;

/// Runs it; an error if a bound is not met.
pub fn run(rows: Option<u64>) -> Result<(), String> {
    let subject = Subject::load(rows.unwrap_or(ROWS))?;
    let mut bounds = subject.beside_a_scan()?;
    bounds.extend(subject.beside_a_compaction()?);
    judge(&bounds)
}

/// A server with its data.
struct Subject {
    server: Server,
    operators: Operators,
    _folder: PathBuf,
    rows: u64,
}

impl Subject {
    fn load(rows: u64) -> Result<Subject, String> {
        let (folder, operators) = (workspace::scratch("foreground")?, Operators::on_a_free_port()?);
        let mut command = serve_with_operators(1, operators.port);
        command.args(["--cpuset", &SERVER_CORE.to_string(), "--memory", MEMORY, "--data-dir"]);
        let server = Server::start(command.arg(folder.join("data")))?;
        let subject = Subject { server, operators, _folder: folder.clone(), rows };
        let load = subject.generate(&["write", "--depth", "128", "--rows", &rows.to_string()])?;
        println!("{:<36} {load}", "load");
        subject.operators.post("/storage_service/flush")?;
        let settled = settle(&folder, &|_| true)?;
        println!("{:<36} {} files, {} MiB", "compactions have ended", settled.files, settled.bytes >> 20);
        Ok(subject)
    }

    /// Runs the generator on its core.
    fn generate(&self, arguments: &[&str]) -> Result<Measurement, String> {
        let core = GENERATOR_CORE.to_string();
        load::generate(&self.server.address, self.server.child.id(), &[arguments, &["--cpu", &core]].concat())
    }

    /// Reads few rows, at random: what was measured, and which share the row cache answered.
    fn read_hot(&self, reads: u64) -> Result<(Measurement, f64), String> {
        let (rows, reads) = (HOT_ROWS.min(self.rows).to_string(), reads.to_string());
        let before = self.operators.row_cache()?;
        let arguments =
            ["read", "--depth", "128", "--rows", &rows, "--operations", &reads, "--distribution", "uniform"];
        let measured = self.generate(&arguments)?;
        let after = self.operators.row_cache()?;
        let hits = (after.hits - before.hits) as f64;
        Ok((measured, hits / (hits + (after.misses - before.misses) as f64)))
    }

    fn beside_a_scan(&self) -> Result<Vec<Bound>, String> {
        // Twice: what is asked for once does not stay.
        for _ in 0..2 {
            self.read_hot(HOT_READS)?;
        }
        let load = Load { rows: HOT_ROWS, operations: HOT_READS, warmup: 0 };
        let (mut above_echo, mut hit_rate) = (Vec::new(), 1.0f64);
        for _ in 0..ROUNDS {
            let echo = measure_echo(Workload::Read, load)?.1;
            let (hot, rate) = self.read_hot(HOT_READS)?;
            println!("{:<36} {echo}", "echo");
            println!("{:<36} {hot}, {:.2} % from the row cache", "reads of hot rows", rate * 100.0);
            above_echo.push(hot.server_micros - echo.server_micros);
            hit_rate = hit_rate.min(rate);
        }
        above_echo.sort_by(f64::total_cmp);
        let (mut least, began) = (hit_rate, Instant::now());
        let mut scan = self.scan()?;
        while scan.try_wait().map_err(|error| error.to_string())?.is_none() {
            if began.elapsed() > SCAN_MAX {
                let _ = scan.kill();
                let _ = scan.wait();
                return Err(format!("a scan took more than {} s", SCAN_MAX.as_secs()));
            }
            let (hot, rate) = self.read_hot(HOT_READS / 4)?;
            println!("{:<36} {hot}, {:.2} % from the row cache", "the same beside a scan of all rows", rate * 100.0);
            least = least.min(rate);
        }
        if !scan.wait().map_err(|error| error.to_string())?.success() {
            return Err("the scan failed".to_owned());
        }
        println!("{:<36} {:.1} s", "the scan", began.elapsed().as_secs_f64());
        Ok(vec![
            Bound::at_most("a hot read above echo, µs", above_echo[ROUNDS / 2], ABOVE_ECHO_MAX),
            Bound::at_most("hit rate lost beside a scan", hit_rate - least, HIT_RATE_LOSS_MAX),
        ])
    }

    /// Begins to read all rows, page by page, once.
    fn scan(&self) -> Result<Child, String> {
        let mut command = Command::new(workspace::product("helenus"));
        command.args(["stress", "--raw", "scan", "--rows", &self.rows.to_string(), "--node", &self.server.address]);
        command.args(["--cpu", &GENERATOR_CORE.to_string()]).stdout(Stdio::null());
        command.spawn().map_err(|error| format!("cannot start {command:?}: {error}"))
    }

    fn beside_a_compaction(&self) -> Result<Vec<Bound>, String> {
        let (rows, reads) = (self.rows.to_string(), SATURATING_READS.to_string());
        let any = ["read", "--depth", "128", "--rows", &rows, "--distribution", "uniform", "--operations"];
        let saturated = self.generate(&[&any[..], &[&reads]].concat())?;
        println!("{:<36} {saturated}", "reads of any row, as many as can be");
        let rate = (saturated.per_second / 2.0) as u64;
        let (operations, rate) = ((rate * PACED.as_secs()).to_string(), rate.to_string());
        let paced = [&any[..2], &["1024"], &any[3..], &[&operations, "--rate", &rate]].concat();
        let alone = self.generate(&paced)?;
        println!("{:<36} {alone}, p99.9 {:.0} µs", "at half of that", alone.p999);
        let stalls = self.operators.stalls()?;
        let compaction = self.compact();
        operators::wait_for("a compaction", || Ok(self.operators.compactions()? > 0))?;
        let beside = self.generate(&paced)?;
        println!("{:<36} {beside}, p99.9 {:.0} µs", "the same beside a major compaction", beside.p999);
        if compaction.is_finished() {
            return Err("the compaction ended before the reads did: more rows are needed".to_owned());
        }
        compaction.join().map_err(|_| "the compaction's thread panicked")??;
        let stalls = self.operators.stalls()? - stalls;
        Ok(vec![
            Bound::at_most("p99 beside a compaction ÷ alone", beside.p99 / alone.p99, LATENCY_RATIO_MAX),
            Bound::at_most("p99.9 beside a compaction ÷ alone", beside.p999 / alone.p999, LATENCY_RATIO_MAX),
            Bound::at_most("stalls over 5 ms meanwhile", stalls as f64, 0.0),
        ])
    }

    /// Has all files merged to one; the thread ends with it.
    fn compact(&self) -> JoinHandle<Result<(), String>> {
        let operators = self.operators;
        thread::spawn(move || operators.post("/storage_service/keyspace_compaction/ks1"))
    }
}
