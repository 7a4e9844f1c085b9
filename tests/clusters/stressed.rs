//! `helenus stress` writes, reads and compares while a ring of three nodes grows, replaces a dead node, changes its replication and shrinks again.
//!
//! Each value of a row follows from the row's number, so a read that finds no row or another one ends the run with code 1. An operation that fails is tried again, up to nine times, as a
//! driver's retry policy would do at another node; stress says so on standard error, a line for each failed try. Those lines are counted here: a node that ends
//! fails what is in flight at it, and no other request fails.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use helenus_tests::{Builder, Server, pick};
use serde_json::Value;

use super::nodes::{Net, connect, until, value, wait_for_voters};
use super::operations::{Ends, done, reach_each_other, sees_down};
use super::replication::{alter, at_rest};

/// Words of each run.
const RUN: &str = "-schema keyspace=stressed replication(strategy=NetworkTopologyStrategy,datacenter1=3) \
    -mode native cql3 -log interval=100ms no-settings";
/// Operations of each load beside a step, and as many after it.
const PROGRESS: u64 = 30;
/// Beginnings of the errors of a request at a node that ends: killed, or in order.
const ENDED: [&str; 2] = [
    "Connection broken",
    "Database returned an error: The request cannot be processed because the coordinator node is overloaded, Error message: Server is shutting down",
];

/// A node whose requests time out after what no busy machine takes, and before a reply is late for stress.
fn node(net: &Net, number: u8, seed: u8) -> Builder {
    net.node_at(number, Builder::new("auto", 1).for_operators(), &[seed])
        .configured("write_request_timeout: 10s\nread_request_timeout: 10s\n")
}

/// A process of `helenus stress`.
struct Stress {
    words: String,
    report: PathBuf,
    process: Child,
}

impl Stress {
    /// Starts one that knows some nodes, which name it all others.
    fn start(net: &Net, nodes: &[u8], words: &str) -> Stress {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let report = std::env::temp_dir().join(format!("helenus-stressed-{}-{number}.json", std::process::id()));
        let [native, ..] = net.ports();
        let addresses: Vec<String> = nodes.iter().map(|number| net.address(*number)).collect();
        let words = format!("{words} {RUN} -node {} -port native={native}", addresses.join(","));
        let mut command = Command::new(Builder::binary());
        command.arg("stress").args(words.split_whitespace()).args(["--cpus", "1", "--json"]).arg(&report);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = command.spawn().expect("the binary can be run");
        Stress { words, report, process }
    }

    /// Waits until it has ended, without a failed operation. Adds up the operations done meanwhile, keeps the lines of failed tries, and gives the report.
    fn finish(mut self, operations: &AtomicU64, failed: &Mutex<Vec<String>>) -> Value {
        let output = BufReader::new(self.process.stdout.take().expect("piped at its start"));
        let errors = BufReader::new(self.process.stderr.take().expect("piped at its start"));
        let mut last = String::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                // Further lines of one error are indented.
                for line in errors.lines().map_while(Result::ok).filter(|line| !line.starts_with(' ')) {
                    last.clone_from(&line);
                    failed.lock().expect("no load panics with it").push(line);
                }
            });
            let mut before = 0;
            for all in output.lines().map_while(Result::ok).filter_map(|line| done_by(&line)) {
                operations.fetch_add(all - before, Ordering::Relaxed);
                before = all;
            }
        });
        let status = self.process.wait().expect("our own child");
        assert!(status.success(), "{}: ended with {status}: {last}", self.words);
        let text = std::fs::read_to_string(&self.report).expect("it has written its report");
        std::fs::remove_file(&self.report).expect("the file is the test's");
        let report: Value = serde_json::from_str(&text).expect("is JSON");
        assert_eq!(report["total"]["errors"], 0, "{}: {report:#}", self.words);
        report
    }
}

impl Drop for Stress {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The operations that a line of progress counts.
fn done_by(line: &str) -> Option<u64> {
    let mut columns = line.split(',').map(str::trim);
    let is_total = columns.next() == Some("total");
    columns.next().filter(|_| is_total)?.parse().ok()
}

/// Runs of the same number of operations, one after the other.
struct Load {
    run_length: u64,
    operations: AtomicU64,
    failed: Mutex<Vec<String>>,
}

impl Load {
    fn new(run_length: u64) -> Load {
        Load { run_length, operations: AtomicU64::new(0), failed: Mutex::new(Vec::new()) }
    }

    /// Runs until it is over; the run that is under way then ends by itself. Gives the count of runs.
    fn run(&self, net: &Net, is_over: &AtomicBool, words: impl Fn(u64) -> String) -> u64 {
        let mut runs = 0;
        while !is_over.load(Ordering::Relaxed) {
            let report = Stress::start(net, &[1, 2, 3], &words(runs)).finish(&self.operations, &self.failed);
            assert_eq!(report["total"]["operations"], self.run_length, "{report:#}");
            runs += 1;
        }
        runs
    }

    fn so_far(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Takes the lines of tries that have failed since the last call.
    fn take_failed(&self) -> Vec<String> {
        std::mem::take(&mut self.failed.lock().expect("no load panics with it"))
    }
}

/// Both loads beside the steps.
struct Beside<'a, F: Fn() -> bool> {
    loads: [&'a Load; 2],
    /// True if a load has ended, which fails the test.
    has_ended: F,
}

impl<F: Fn() -> bool> Beside<'_, F> {
    /// Does a step beside the loads, and judges their failed tries: only a step that ends a node may have some.
    fn step(&self, name: &str, ends_a_node: bool, work: impl FnOnce()) {
        let before = self.loads.map(Load::so_far);
        work();
        self.progress(before);
        self.progress(self.loads.map(Load::so_far));
        let [mixed, fresh] = [0, 1].map(|load| self.loads[load].so_far() - before[load]);
        let failed: Vec<String> = self.loads.iter().flat_map(|load| load.take_failed()).collect();
        println!("{name}: {mixed} and {fresh} operations, {} failed tries", failed.len());
        let is_expected = |line: &String| ends_a_node && ENDED.iter().any(|of| line.starts_with(of));
        assert!(failed.iter().all(is_expected), "{name}: {failed:#?}");
    }

    fn progress(&self, before: [u64; 2]) {
        until("both loads progress", || {
            assert!(!(self.has_ended)(), "a load has ended before the last step");
            thread::sleep(Duration::from_millis(5));
            std::iter::zip(self.loads, before).all(|(load, before)| load.so_far() >= before + PROGRESS)
        });
    }
}

/// Reads all rows, each once, and compares them. No try may fail.
fn read_back(net: &Net, nodes: &[u8], level: &str, rows: u64) {
    let failed = Mutex::new(Vec::new());
    let words = format!("read n={rows} cl={level} no-warmup -pop seq=1..{rows} no-wrap -rate threads=16");
    let report = Stress::start(net, nodes, &words).finish(&AtomicU64::new(0), &failed);
    assert_eq!(report["kinds"]["READ"]["rows"], rows, "{report:#}");
    let failed = failed.into_inner().expect("no load panics with it");
    assert!(failed.is_empty(), "{level}: {failed:#?}");
}

/// The leader and a node that has joined leave.
#[test]
fn stress_reads_each_row_as_it_was_written_while_three_nodes_become_five_and_three_again() {
    let net = Net::new();
    let builders = [1, 2, 3].map(|number| node(&net, number, 1));
    let [mut first, second, third] = builders.each_ref().map(Builder::start);
    wait_for_voters(&mut first, 3);
    reach_each_other([&first, &second, &third]);
    let (rows, rate, seconds) = pick((2_000, 300, 5), (100_000, 1_500, 60));
    let (mixed, fresh) = (Load::new(rate * seconds), Load::new(rate / 3 * seconds));
    let populate = format!("write n={rows} cl=ALL no-warmup -pop seq=1..{rows} -rate threads=16");
    Stress::start(&net, &[1, 2, 3], &populate).finish(&AtomicU64::new(0), &mixed.failed);
    let failed = mixed.take_failed();
    assert!(failed.is_empty(), "{failed:#?}");
    let mixed_words = |_| {
        let n = mixed.run_length;
        format!(
            "mixed ratio(write=1,read=2) n={n} cl=QUORUM no-warmup -pop dist=uniform(1..{rows}) -rate threads=8 throttle={rate}/s"
        )
    };
    let fresh_words = |run: u64| {
        let (n, rate) = (fresh.run_length, rate / 3);
        let (before, last) = (rows + run * n, rows + (run + 1) * n);
        format!(
            "write n={n} cl=QUORUM no-warmup -pop seq={}..{last} no-wrap -rate threads=4 throttle={rate}/s",
            before + 1
        )
    };
    let mut nodes = [Some(first), Some(second), Some(third), None, None];
    let is_over = AtomicBool::new(false);
    let fresh_runs = thread::scope(|scope| {
        let ends = Ends(&is_over);
        let mixing = scope.spawn(|| mixed.run(&net, &is_over, mixed_words));
        let writing = scope.spawn(|| fresh.run(&net, &is_over, fresh_words));
        let has_ended = || mixing.is_finished() || writing.is_finished();
        let beside = Beside { loads: [&mixed, &fresh], has_ended };
        steps(&net, &builders[2], &mut nodes, &beside);
        drop(ends);
        mixing.join().expect("no operation failed");
        writing.join().expect("no operation failed")
    });
    for level in ["QUORUM", "ALL"] {
        read_back(&net, &[2, 3, 5], level, rows + fresh_runs * fresh.run_length);
    }
    nodes.into_iter().flatten().for_each(Server::stop);
}

fn up(nodes: &[Option<Server>]) -> Vec<&Server> {
    nodes.iter().flatten().collect()
}

fn steps(net: &Net, third: &Builder, nodes: &mut [Option<Server>; 5], beside: &Beside<impl Fn() -> bool>) {
    beside.step("two nodes join", false, || {
        let mut joining = [4, 5].map(|number| node(net, number, 2).launch());
        joining.iter_mut().for_each(Server::wait_until_ready);
        let [fourth, fifth] = joining.map(Some);
        (nodes[3], nodes[4]) = (fourth, fifth);
        at_rest(&up(nodes));
    });
    beside.step("a killed node is replaced", true, || {
        let killed = nodes[2].take().expect("it runs");
        let id = value(&killed, "/storage_service/hostid/local").as_str().expect("a host id").to_owned();
        killed.kill();
        sees_down(up(nodes)[0], 1);
        std::fs::remove_dir_all(third.data()).expect("the folder is the test's");
        nodes[2] = Some(node(net, 3, 2).with(&["--replace", &id]).start());
        at_rest(&up(nodes));
    });
    for factor in [2, 3] {
        beside.step(&format!("the keyspace gets {factor} replicas"), false, || {
            alter(&mut connect(up(nodes)[1]), "stressed", factor);
            at_rest(&up(nodes));
        });
    }
    for leaving in [3, 0] {
        beside.step(&format!("node {} is decommissioned", leaving + 1), true, || {
            let server = nodes[leaving].take().expect("it runs");
            done(&server, "decommission");
            server.lines_after_end();
            at_rest(&up(nodes));
        });
    }
}
