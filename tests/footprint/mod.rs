//! What the server costs when nobody asks it anything: its start, its memory, its idle CPU.

use std::time::Duration;

use helenus_tests::{
    Builder, Connection, Server, configurations, pick, resident_bytes, share_of_a_core, tell_share, tell_time,
};

const START_TIME_AIM: Duration = Duration::from_millis(60);
const RESIDENT_BYTES_MAX: u64 = 40 * 1024 * 1024;
const IDLE_SHARE_AIM: f64 = 0.01;

/// Starts a server and asks a first question; the time from the process's start to the answer.
fn start_and_ask(builder: &Builder) -> (Server, Duration) {
    let server = builder.start();
    let mut connection = Connection::start(&server.address()).expect("connects");
    connection.query("SELECT release_version FROM system.local").expect("answers");
    let took = server.began.elapsed();
    (server, took)
}

#[test]
fn the_first_answer_comes_within_40_mib() {
    let mut times = Vec::new();
    let mut resident = 0;
    for _ in 0..10 {
        let (server, took) = start_and_ask(&Builder::new("uring", 2).for_operators());
        times.push(took);
        resident = resident.max(resident_bytes(server.pid()));
        server.stop();
    }
    times.sort();
    let median = times[times.len() / 2];
    println!("start to first answer: {:?} to {:?}; resident at most {} KiB", times[0], times[9], resident / 1024);
    tell_time("from start to first answer, median of ten", median, START_TIME_AIM);
    assert!(resident <= RESIDENT_BYTES_MAX, "{} KiB resident", resident / 1024);
}

#[test]
fn what_an_idle_server_uses_of_a_core() {
    for (reactor, shards) in configurations() {
        let (server, _) = start_and_ask(&Builder::new(reactor, shards).for_operators());
        // The connection stays: an idle client is the common case.
        let _connection = Connection::start(&server.address()).expect("connects");
        let share = share_of_a_core(server.pid(), IDLE_SHARE_AIM, pick(2, 60), || {});
        tell_share(&format!("idle, {reactor}, {shards} shards"), share, IDLE_SHARE_AIM);
        server.stop();
    }
}
