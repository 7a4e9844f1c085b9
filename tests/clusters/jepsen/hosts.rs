//! Hosts in a network of their own: each is a network namespace, and a bridge joins them with the namespace of this process.
//!
//! So a host's packets can be dropped in one direction, as a broken link does: TCP sees no end, only silence. A filter of the kernel (`tc`, cls_bpf) at the
//! host's port of the bridge does it, which all that a host sends and receives passes. All of it vanishes with this process's namespace. It needs root.

use std::process::{Child, Command, Stdio};

use crate::clusters::nodes::until;

/// The first three parts of all addresses.
const PREFIX: &str = "10.86.0";
/// Drops IPv4 (the frame's type is at byte 12), and lets everything else pass: hosts still find each other's hardware addresses.
const DROP_IPV4: &str = "4,40 0 0 12,21 0 1 2048,6 0 0 2,6 0 0 4294967295";
/// Set in a process that has a network namespace of its own.
const INSIDE: &str = "HELENUS_JEPSEN_INSIDE";

/// Runs the test that calls it once more, by its name, in a process with a network namespace of its own. True within that process.
pub fn enter(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut command = Command::new("unshare");
    command.arg("--net").arg(std::env::current_exe().expect("a test has a program"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(INSIDE, "1");
    let output = command.stdin(Stdio::null()).output().expect("unshare is there");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    print!("{}", said[0]);
    assert!(
        output.status.success() && said[0].contains("1 passed"),
        "within a network of its own:\n{}{}",
        said[0],
        said[1]
    );
    false
}

/// The direction of a host's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Those that it sends: into the bridge.
    Sent,
    /// Those for it: out of the bridge.
    Received,
}

/// A host: a namespace, which a process that sleeps keeps.
pub struct Host {
    /// Its address.
    pub address: String,
    port: String,
    keeper: Child,
}

/// A new network of so many hosts.
pub fn hosts(count: usize) -> Vec<Host> {
    let routes = std::fs::read_to_string("/proc/net/route").expect("the kernel tells");
    assert!(routes.lines().count() < 2, "this needs a network namespace of its own");
    change(&["ip", "link", "set", "lo", "up"]);
    change(&["ip", "link", "add", "hosts", "type", "bridge"]);
    change(&["ip", "address", "add", &format!("{PREFIX}.254/24"), "dev", "hosts"]);
    change(&["ip", "link", "set", "hosts", "up"]);
    (1..=count).map(Host::new).collect()
}

impl Host {
    fn new(number: usize) -> Host {
        let (address, port) = (format!("{PREFIX}.{number}"), format!("host{number}"));
        let mut keeper = Command::new("setpriv");
        keeper.args(["--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"]).stdin(Stdio::null());
        let host = Host { address, port, keeper: keeper.spawn().expect("setpriv is there") };
        let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
        let id = host.keeper.id().to_string();
        until("a network namespace", || namespace(&id).is_some_and(|of| namespace("self") != Some(of)));
        change(&["ip", "link", "add", &host.port, "type", "veth", "peer", "name", "eth0", "netns", &id]);
        change(&["ip", "link", "set", &host.port, "master", "hosts", "up"]);
        change(&["tc", "qdisc", "add", "dev", &host.port, "clsact"]);
        let address = format!("{}/24", host.address);
        host.change(&["ip", "address", "add", &address, "dev", "eth0"]);
        host.change(&["ip", "link", "set", "eth0", "up"]);
        host.change(&["ip", "link", "set", "lo", "up"]);
        host
    }

    /// The words that have a command run on this host.
    pub fn within(&self) -> Vec<String> {
        vec!["nsenter".to_owned(), format!("--net=/proc/{}/ns/net", self.keeper.id())]
    }

    /// True if no socket on this host listens. The kernel lets go of those of a killed process that waited on a ring a moment after its end.
    pub fn is_silent(&self) -> bool {
        // The fourth word of a line is the socket's state; the first line has names.
        const LISTENS: &str = "0A";
        let sockets = std::fs::read_to_string(format!("/proc/{}/net/tcp", self.keeper.id())).expect("the keeper runs");
        !sockets.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some(LISTENS))
    }

    fn change(&self, words: &[&str]) {
        let within = self.within();
        change(&within.iter().map(String::as_str).chain(words.iter().copied()).collect::<Vec<_>>());
    }

    /// From now on its packets in that direction are dropped. The others pass.
    pub fn drop_packets(&self, direction: Direction) {
        let way = way(direction);
        let filter = ["protocol", "all", "prio", "1", "bpf", "da", "bytecode", DROP_IPV4];
        change(&[&["tc", "filter", "add", "dev", &self.port, way][..], &filter].concat());
    }

    /// They pass again.
    pub fn pass_packets(&self, direction: Direction) {
        change(&["tc", "filter", "delete", "dev", &self.port, way(direction), "prio", "1"]);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Sent => "ingress",
        Direction::Received => "egress",
    }
}

/// Changes the network.
fn change(words: &[&str]) {
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {}: {error}", words[0]));
    assert!(output.status.success(), "{}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
}
