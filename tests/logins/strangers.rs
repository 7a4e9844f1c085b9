//! Strangers of one host: clients that guess passwords in a closed loop, and clients that never log in. Others log in meanwhile, and memory stays bounded.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use cql_protocol::Version;
use helenus_tests::{Server, pick, resident_bytes};

use super::{AUTH_SUCCESS, Client, builder, password};

/// Growth of a server's memory: what 1,000 connections with small buffers take.
const GROWTH_MAX: u64 = 64 << 20;

/// Connections of one host before their login: half of a tenth of 10,000.
const PLACES_OF_HOST: usize = 500;

/// The script, with its output.
struct Strangers {
    script: Child,
    said: BufReader<ChildStdout>,
}

impl Strangers {
    fn start(server: &Server, what: &str, count: usize) -> Strangers {
        let address = server.address();
        let (ip, port) = address.rsplit_once(':').expect("an address with its port");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/logins/strangers.py");
        let mut script = Command::new("python3")
            .args([script, ip, port, what, &count.to_string(), "127.0.0.2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is there");
        let said = BufReader::new(script.stdout.take().expect("piped above"));
        Strangers { script, said }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("the script says a line");
        line.trim().to_owned()
    }

    /// Ends the strangers; gives the last line.
    fn end(mut self) -> String {
        drop(self.script.stdin.take());
        let line = self.line();
        assert!(self.script.wait().expect("it ends with its input").success());
        line
    }
}

/// The niceness of the server's threads of this name.
fn niceness(pid: u32, name: &str) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the process is there");
    let stat =
        |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("stat")).expect("the thread is there");
    let found = tasks
        .map(|task| stat(task.expect("the folder can be read")))
        .filter(|stat| stat.contains(&format!("({name})")));
    let field = |stat: String| stat.rsplit_once(')').expect("a name").1.split_whitespace().nth(16).map(str::to_owned);
    found.map(|stat| field(stat).expect("a field").parse().expect("a number")).collect()
}

#[test]
fn guesses_in_a_closed_loop_keep_no_other_host_out() {
    for (reactor, shards) in [("uring", 2), ("epoll", 1)] {
        let builder = builder(reactor, shards).with(&["--memory", "512M"]);
        let server = builder.start();
        let password = password(&builder);
        let of_shard = niceness(server.pid(), "shard-0")[0];
        assert_eq!(niceness(server.pid(), "passwords"), [(of_shard + 10).min(19)]);
        let before = resident_bytes(server.pid());
        let mut strangers = Strangers::start(&server, "guess", 64);
        // Each has had an answer; from here on they guess as long as this runs.
        assert_eq!(strangers.line(), "64");
        let mut peak = before;
        for number in 0..20 {
            let mut client = Client::start(&server, Version::V4, None);
            // The first is hashed among the guesses; afterwards the password is remembered.
            assert_eq!(client.log_in("cassandra", &password).opcode, AUTH_SUCCESS, "{number}");
            assert_eq!(client.query("SELECT cluster_name FROM system.local").opcode, super::RESULT);
            peak = peak.max(resident_bytes(server.pid()));
        }
        let counts = strangers.end();
        println!("{reactor}, {shards} shards: {counts}; memory {before} before, {peak} at its peak");
        let [refused, overloaded] =
            counts.split(' ').map(|count| count.parse().expect("a number")).collect::<Vec<u64>>()[..]
        else {
            panic!("two numbers: {counts}");
        };
        assert!(
            refused >= 5 && overloaded > 0,
            "a host has 16 of 64 guesses under way, and the others are OVERLOADED: {counts}"
        );
        assert!(peak < before + GROWTH_MAX, "memory grew from {before} to {peak}");
        let lines = server.lines_after_stop();
        let counted =
            lines.iter().find_map(|line| line.split_once("password hashes computed beside the shards hashes="));
        let hashes: u64 = counted.expect("a line says how many").1.trim().parse().expect("a number");
        assert!(
            hashes > refused,
            "each of {refused} guesses, and the superuser's password, was hashed beside the shards: {hashes}"
        );
    }
}

#[test]
fn clients_that_never_log_in_take_bounded_memory_and_keep_no_other_host_out() {
    let count = pick(2_000, 10_000);
    for (reactor, shards) in [("uring", 2), ("epoll", 1)] {
        let builder = builder(reactor, shards).with(&["--memory", "512M"]);
        let server = builder.start();
        let password = password(&builder);
        let before = resident_bytes(server.pid());
        let mut strangers = Strangers::start(&server, "idle", count);
        let line = strangers.line();
        let (asked, kept) = line.split_once(' ').expect("two numbers");
        let asked: usize = asked.parse().expect("a number");
        // Half of a tenth of 10,000 connections are one host's at a time, of which a quarter says nothing; places come back when 10 s are over.
        assert!(asked >= PLACES_OF_HOST * 3 / 4, "{asked} of {count} were asked for a password");
        let mut client = Client::start(&server, Version::V4, None);
        assert_eq!(client.log_in("cassandra", &password).opcode, AUTH_SUCCESS);
        let peak = resident_bytes(server.pid());
        let each = peak.saturating_sub(before) / PLACES_OF_HOST as u64;
        println!(
            "{reactor}, {shards} shards: of {count} {asked} were asked; memory {before} before, {peak} with them, {each} for each place of their host"
        );
        assert!(peak < before + GROWTH_MAX, "memory grew from {before} to {peak}");
        assert_eq!(strangers.end(), kept, "each that was not refused is closed by the server in the end");
        server.stop();
    }
}

/// Each such connection could hold 1.5 MiB of replies.
#[test]
fn clients_that_ask_before_a_login_and_read_nothing_take_bounded_memory() {
    const COUNT: usize = 400;
    /// Some 32 KiB of replies for each, and buffers. Without the bound it was twice as much with the slowest of builds.
    const GROWTH_MAX: u64 = 32 << 20;
    let builder = builder("uring", 2).with(&["--memory", "512M"]);
    let server = builder.start();
    let before = resident_bytes(server.pid());
    let mut strangers = Strangers::start(&server, "flood", COUNT);
    assert_eq!(strangers.line(), COUNT.to_string());
    // They ask until the server closes them, when their time to log in is over.
    let mut peak = before;
    let ended = std::thread::spawn(move || strangers.end());
    while !ended.is_finished() {
        peak = peak.max(resident_bytes(server.pid()));
        std::thread::yield_now();
    }
    assert_eq!(ended.join().expect("the script ends"), COUNT.to_string());
    println!("memory {before} before, {peak} with {COUNT} of them");
    assert!(peak < before + GROWTH_MAX, "memory grew from {before} to {peak}");
    server.stop();
}
