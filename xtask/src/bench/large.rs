//! `cargo xtask bench --large [ROWS]`: more data than memory, on two shards. Rows are loaded, read back at random and in full,
//! asked for that are not there, and read after a restart; the process's memory is sampled all along, and the disk's
//! own count of reads is compared with the reads that were asked for.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::files::{device_reads, settle};
use super::load::{self, Measurement};
use super::subject::{Server, serve};
use super::verdict::{Bound, judge};
use crate::{process, workspace};

/// Rows of the published table: some 6 GiB.
const ROWS: u64 = 20_000_000;
/// What fits into memory, for comparison.
const FEW_ROWS: u64 = 200_000;
/// Reads of rows that are there, and of rows that are not.
const READS: u64 = 500_000;
const MEMORY: &str = "1G";
/// What a process with so much memory may hold.
const RESIDENT_MAX: u64 = 1_150 << 20;
/// Process start to the line that says it serves.
const START_MAX: Duration = Duration::from_secs(2);
/// Device reads for a row that is there, and for one that is not.
const READS_PER_ROW_MAX: f64 = 1.05;
const READS_PER_ABSENT_ROW_MAX: f64 = 0.02;
/// CPU per read of a row that lies on disk, as a multiple of that with few rows on disk.
const CPU_RATIO_MAX: f64 = 1.5;

/// Runs it; an error if a bound is not met.
pub fn run(rows: Option<u64>) -> Result<(), String> {
    let rows = rows.unwrap_or(ROWS);
    let few = FEW_ROWS.min(rows);
    println!("{few} rows first, for comparison");
    let small = Subject::load(few)?.restart()?;
    let small = small.server_read("random reads", few, READS, &["--distribution", "uniform"])?;
    println!("{rows} rows");
    let subject = Subject::load(rows)?;
    let subject = subject.restart()?;
    let start = subject.start_time;
    // The warm-up reads other rows than what is measured.
    let warmup = READS.to_string();
    subject.server_read("the index warms up", rows, 10_000, &["--distribution", "uniform", "--warmup", &warmup])?;
    let before = device_reads(&subject.folder)?;
    let random = subject.server_read("random reads", rows, READS, &["--distribution", "uniform"])?;
    let between = device_reads(&subject.folder)?;
    let first = rows.to_string();
    let absent = ["--distribution", "uniform", "--absent", "--first", &first];
    subject.server_read("random reads of absent rows", rows, READS, &absent)?;
    let after = device_reads(&subject.folder)?;
    subject.server_read("all rows", rows, rows, &[])?;
    let per = |reads: u64| reads as f64 / READS as f64;
    let bounds = [
        Bound::at_most("start to ready, s", start.as_secs_f64(), START_MAX.as_secs_f64()),
        Bound::at_most("resident memory at most, MiB", subject.resident_mib(), (RESIDENT_MAX >> 20) as f64),
        Bound::at_most("device reads per row", per(between - before), READS_PER_ROW_MAX),
        Bound::at_most("device reads per absent row", per(after - between), READS_PER_ABSENT_ROW_MAX),
        Bound::at_most(
            "server CPU per read against few rows",
            random.server_micros / small.server_micros,
            CPU_RATIO_MAX,
        ),
    ];
    judge(&bounds)
}

/// A server with data, and what it has held in memory.
struct Subject {
    server: Server,
    folder: PathBuf,
    resident: Resident,
    start_time: Duration,
}

impl Subject {
    fn load(rows: u64) -> Result<Subject, String> {
        let folder = workspace::scratch("large")?;
        let subject = Subject::start(folder, Resident::default())?;
        load::generate(
            &subject.server.address,
            subject.server.child.id(),
            &["write", "--connections", "4", "--depth", "128", "--rows", &rows.to_string()],
        )
        .map(|written| println!("{:<28} {written}", "load"))?;
        let settled = settle(&subject.folder, &|_| true)?;
        let (time, gib) = (settled.time.as_secs_f64(), settled.bytes as f64 / f64::from(1 << 30));
        println!("{:<28} {time:.1} s, {} files, {gib:.2} GiB", "compactions", settled.files);
        Ok(subject)
    }

    fn start(folder: PathBuf, resident: Resident) -> Result<Subject, String> {
        let began = Instant::now();
        let mut command = serve(2);
        // Reads from files are what is measured: neither the row cache nor, after a restart, the log's replay may answer them.
        command.args(["--enable-cache", "0", "--memory", MEMORY, "--flush-on-drain", "--data-dir"]);
        command.arg(folder.join("data"));
        let server = Server::start(&mut command)?;
        let start_time = began.elapsed();
        resident.watch(server.child.id());
        Ok(Subject { server, folder, resident, start_time })
    }

    /// Ends the process as an operator would, and starts it again.
    fn restart(self) -> Result<Subject, String> {
        let Subject { mut server, folder, resident, .. } = self;
        process::quiet(Command::new("kill").args(["-TERM", &server.child.id().to_string()]))?;
        server.child.wait().map_err(|error| format!("the server cannot be waited for: {error}"))?;
        drop(server);
        let subject = Subject::start(folder, resident)?;
        println!("{:<28} {:.3} s", "restart", subject.start_time.as_secs_f64());
        Ok(subject)
    }

    fn server_read(&self, what: &str, rows: u64, operations: u64, more: &[&str]) -> Result<Measurement, String> {
        let (rows, operations) = (rows.to_string(), operations.to_string());
        let mut arguments =
            vec!["read", "--connections", "2", "--depth", "64", "--rows", &rows, "--operations", &operations];
        arguments.extend(more);
        let measured = load::generate(&self.server.address, self.server.child.id(), &arguments)?;
        println!("{what:<28} {measured}, resident {:.0} MiB", self.resident_mib());
        Ok(measured)
    }

    fn resident_mib(&self) -> f64 {
        self.resident.most.load(Ordering::Relaxed) as f64 / f64::from(1 << 20)
    }
}

/// The most memory that a process was seen to hold.
#[derive(Default)]
struct Resident {
    most: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Resident {
    /// Looks every 50 ms, until the process is gone.
    fn watch(&self, pid: u32) {
        let (most, over) = (self.most.clone(), self.over.clone());
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let Some(bytes) = resident_bytes(pid) else { return };
                most.fetch_max(bytes, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

fn resident_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}
