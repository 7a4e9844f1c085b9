//! Half-open handshakes of one host: memory stays bounded, and clients of other hosts connect meanwhile.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use helenus_tests::{Builder, pick, resident_bytes};

use super::authority::Authority;
use super::client::Client;
use super::{has, node};

/// Growth of a server's memory: what 64 sessions and 256 that wait take on each of two shards, and a task of some KiB for each that was refused and lingers.
const GROWTH_MAX: u64 = 64 << 20;

#[test]
fn half_open_handshakes_take_bounded_memory_and_keep_no_other_host_out() {
    let count = pick(2_000, 10_000);
    let authority = Authority::new("cluster");
    for (reactor, shards) in [("uring", 2), ("epoll", 1)] {
        let builder = node(Builder::new(reactor, shards), &authority, "", &["enabled: true"]);
        let server = builder.with(&["--memory", "512M"]).start();
        let (address, client) = (server.address(), Client::new(&authority, None));
        let honest = || {
            let mut connection = client.connect(&address).expect("an honest client is served");
            let answer = connection.query("SELECT cluster_name FROM system.local").expect("is answered");
            assert!(has(&answer, "Test Cluster"));
        };
        (0..100).for_each(|_| honest());
        let before = resident_bytes(server.pid());
        let (ip, port) = address.rsplit_once(':').expect("an address with its port");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tls/half_open.py");
        let mut attacker = Command::new("python3")
            .args([script, ip, port, &count.to_string(), "127.0.0.2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is there");
        let mut said = BufReader::new(attacker.stdout.take().expect("piped above"));
        let counting = std::thread::spawn(move || {
            let mut line = String::new();
            said.read_line(&mut line).map(|_| line)
        });
        let (mut peak, mut served) = (before, 0);
        while !counting.is_finished() {
            honest();
            served += 1;
            peak = peak.max(resident_bytes(server.pid()));
        }
        let opened = counting.join().expect("it does not panic").expect("the script says how many");
        let opened: u64 = opened.trim().parse().expect("a number");
        for _ in 0..20 {
            honest();
            peak = peak.max(resident_bytes(server.pid()));
        }
        println!(
            "{reactor}, {shards} shards: {opened} half-open, {served} clients served meanwhile; memory {before} before, {peak} at its peak"
        );
        assert!(opened >= count as u64 / 2, "{opened} of {count} were opened");
        assert!(peak < before + GROWTH_MAX, "memory grew from {before} to {peak}");
        drop(attacker.stdin.take());
        attacker.wait().expect("it ends with its input");
        server.stop();
    }
}
