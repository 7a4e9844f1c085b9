//! A node joins three others while clients read and write, and a process is killed (SIGKILL) in a phase of the operation: the joining node, the leader of the metadata group, or another
//! source, each in *write both*, *copy* and *read new*. The operation ends, and each row is read at ALL through each node.
//!
//! `HELENUS_SAMPLE`, which a change's run sets by its commit's hash, chooses three of the nine cases, such that each process and each phase is in one.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cql_protocol::Consistency;
use helenus_tests::{Builder, Server, nodetool, pick};

use super::nodes::{Net, connect, number_of, until, value, wait_for_voters};
use super::operations::{Ends, Load, done, fill, has_rows, hurry, keyspace, sees_down, throttle};
use super::replication::at_rest;

/// Cases that a sample leaves out one after the other, and takes again after them.
const SAMPLES: usize = 3;
/// Tries of a case: a busy machine may not see a phase that has lasted for a tenth of a second.
const TRIES: usize = 5;
/// Phases in their order.
const PHASES: [&str; 5] = ["queued", "planned", "write both", "copy", "read new"];
/// Those in which a process is killed.
const MOMENTS: [&str; 3] = ["write both", COPY, "read new"];
const COPY: &str = "copy";
const NODES: u8 = 3;
const JOINING: u8 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    Joining,
    Leader,
    Source,
}

const KILLED: [Killed; 3] = [Killed::Joining, Killed::Leader, Killed::Source];

/// The cases of this run.
fn cases() -> Vec<(Killed, &'static str)> {
    let sample: Option<usize> =
        std::env::var("HELENUS_SAMPLE").ok().map(|number| number.parse().expect("HELENUS_SAMPLE is a number"));
    let all = (0..KILLED.len()).flat_map(|killed| (0..MOMENTS.len()).map(move |moment| (killed, moment)));
    let is_chosen = |sample: usize, of: usize| of % SAMPLES == sample % SAMPLES;
    all.filter(|(killed, moment)| sample.is_none_or(|sample| is_chosen(sample, killed + moment)))
        .map(|(killed, moment)| (KILLED[killed], MOMENTS[moment]))
        .collect()
}

/// A node with few ranges, each of which is copied, and synced to disk, for itself.
fn node(net: &Net, number: u8, seeds: &[u8]) -> Builder {
    net.node_at(number, Builder::new("auto", 1).for_operators(), seeds).with(&["--num-tokens", "4"])
}

/// Three nodes, and what is read of them.
struct Ring<'a> {
    net: &'a Net,
    builders: [Builder; 3],
    servers: [Option<Server>; 3],
    load: &'a Load,
    /// Rows of `ks.rows`.
    rows: i32,
    /// Keys of `ks.fresh` whose insert was acknowledged.
    fresh: &'a Mutex<BTreeSet<i32>>,
}

impl Ring<'_> {
    fn server(&self, index: usize) -> &Server {
        self.servers[index].as_ref().expect("the node runs")
    }

    /// The index of the node that leads the three, when all three vote and know it.
    fn leader(&self) -> usize {
        let mut leader = None;
        until("one of three voters leads", || {
            let groups = [0, 1, 2].map(|index| value(self.server(index), "/helenus/metadata_group"));
            let leaders = groups.each_ref().map(|group| {
                let voters = group["voters"].as_array().map(Vec::len);
                let is_settled = voters == Some(usize::from(NODES)) && group["is_changing"] == false;
                group["leader"].as_str().filter(|_| is_settled).map(number)
            });
            leader = leaders[0].filter(|number| *number <= NODES && leaders == [Some(*number); 3]);
            leader.is_some()
        });
        usize::from(leader.expect("waited for above")) - 1
    }

    /// Has a node join, kills a process in the phase, and judges when the operation has ended; then the node leaves. False if the phase has passed unseen.
    fn join(&mut self, killed: Killed, phase: &str) -> bool {
        let leader = self.leader();
        let (source, watching) = ((leader + 1) % 3, (leader + 2) % 3);
        let builder = node(self.net, JOINING, &[1, 2, 3]);
        if phase == COPY {
            self.servers.iter().flatten().for_each(|server| throttle(server, 16 << 10));
        }
        let mut joining = builder.launch();
        let is_seen = is_reached(self.server(watching), phase);
        if phase == COPY {
            until("some rows are copied", || value(&joining, "/helenus/streams")["copying"]["rows"].as_u64() > Some(0));
        }
        match killed {
            _ if !is_seen => {}
            Killed::Joining => {
                joining.kill();
                joining = builder.launch();
            }
            Killed::Leader => {
                self.kill(leader);
                until("another node leads", || {
                    let group = value(self.server(watching), "/helenus/metadata_group");
                    group["leader"].as_str().is_some_and(|next| usize::from(number(next)) != leader + 1)
                });
            }
            Killed::Source => {
                self.kill(source);
                self.servers[source] = Some(self.builders[source].start());
            }
        }
        self.servers.iter().flatten().for_each(hurry);
        joining.wait_until_ready();
        if self.servers[leader].is_none() {
            // The next leader has ended the operation.
            self.servers[leader] = Some(self.builders[leader].start());
        }
        self.judge(&joining);
        done(&joining, "decommission");
        joining.lines_after_end();
        at_rest(&self.servers.iter().flatten().collect::<Vec<_>>());
        is_seen
    }

    fn kill(&mut self, index: usize) {
        self.servers[index].take().expect("the node runs").kill();
    }

    /// All four nodes are up and normal, no operation is left, and each node reads all rows at ALL.
    fn judge(&self, joined: &Server) {
        let all: Vec<&Server> = self.servers.iter().flatten().chain([joined]).collect();
        all.iter().for_each(|server| sees_down(server, 0));
        at_rest(&all);
        self.load.more_answers();
        for server in all {
            assert_eq!(done(server, "operations").output, "No operations\n");
            let status = nodetool(server, "status").output;
            let normal = status.lines().filter(|line| line.starts_with("UN ")).count();
            assert_eq!(normal, usize::from(JOINING), "{status}");
            let fresh = self.fresh.lock().expect("no client panics").clone();
            for (table, expected) in [("ks.rows", (0..self.rows).collect()), ("ks.fresh", fresh)] {
                let lost: BTreeSet<i32> = expected.difference(&keys(server, table)).copied().collect();
                assert!(lost.is_empty(), "{table} at {}: {lost:?}", server.address());
            }
        }
        self.load.assert_no_complaints();
    }
}

/// The number of the node at an address with a port.
fn number(address: &str) -> u8 {
    number_of(address.split_once(':').expect("an address and a port").0)
}

/// Waits until a node knows the operation to be in the phase. False if it was not seen in it.
fn is_reached(server: &Server, phase: &str) -> bool {
    let order = |phase: &str| PHASES.iter().position(|of| *of == phase).expect("a phase");
    let (mut is_there, mut seen) = (false, None);
    until("the node joins", || {
        let facts = value(server, "/helenus/operations");
        seen = facts["operations"]
            .as_array()
            .and_then(|all| all.first())
            .map(|of| order(of["phase"].as_str().expect("a word")));
        is_there |= seen.is_some();
        is_there && seen.is_none_or(|seen| seen >= order(phase))
    });
    seen == Some(order(phase))
}

/// The keys of a table, as a node reads them at ALL.
fn keys(server: &Server, table: &str) -> BTreeSet<i32> {
    let (mut client, select, mut answer) = (connect(server), format!("SELECT k FROM {table}"), None);
    // A node that is up may not be connected to for requests yet.
    until("the node reaches all others", || match client.query_at(&select, Consistency::All) {
        Ok(rows) => answer.replace(rows).is_none(),
        Err(error) if error.to_string().contains("Cannot achieve consistency level") => false,
        Err(error) => panic!("all nodes are up: {error}"),
    });
    let body = answer.expect("it was answered").body;
    // Rows of one int are the last of the body, with their count before them.
    let row = |bytes: &[u8]| {
        let (length, value) = bytes.split_first_chunk::<4>()?;
        Some(i32::from_be_bytes(value.try_into().ok()?)).filter(|_| u32::from_be_bytes(*length) == 4)
    };
    let rows: Vec<i32> = body.rchunks(8).map_while(row).collect();
    let before = &body[..body.len() - 8 * rows.len()];
    assert_eq!(before.last_chunk().map(|count| u32::from_be_bytes(*count) as usize), Some(rows.len()), "no int's rows");
    rows.into_iter().collect()
}

/// Inserts a row after another through all nodes.
fn insert(load: &Load, fresh: &Mutex<BTreeSet<i32>>, is_over: &AtomicBool) {
    let mut client = load.client();
    for key in 0.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        match client.twice(&format!("INSERT INTO ks.fresh (k) VALUES ({key})"), Consistency::Quorum) {
            Ok(_) => _ = fresh.lock().expect("no judge panics with it").insert(key),
            Err(error) => load.complain(format!("an insert failed at two nodes: {error}")),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_join_ends_right_whichever_process_is_killed_in_whichever_phase() {
    let net = Net::new();
    let builders = [1, 2, 3].map(|number| node(&net, number, &[1]));
    let [mut first, second, third] = builders.each_ref().map(Builder::start);
    wait_for_voters(&mut first, 3);
    let mut client = connect(&first);
    client.query(&keyspace("ks", 3)).expect("all are up");
    for text in ["CREATE TABLE ks.rows (k int PRIMARY KEY, v text)", "CREATE TABLE ks.fresh (k int PRIMARY KEY)"] {
        client.query(text).expect("all are up");
    }
    let rows = pick(400, 4_000);
    fill(&first, "ks.rows", rows, 2_000);
    let load = Load::new(&net, NODES);
    load.prepare(&mut client);
    let (fresh, is_over) = (Mutex::default(), AtomicBool::new(false));
    let servers = [Some(first), Some(second), Some(third)];
    let mut ring = Ring { net: &net, builders, servers, load: &load, rows: rows as i32, fresh: &fresh };
    load.beside(|| {
        thread::scope(|scope| {
            let _ends = Ends(&is_over);
            scope.spawn(|| insert(&load, &fresh, &is_over));
            for (killed, phase) in cases() {
                let tries = (1..=TRIES).find(|_| ring.join(killed, phase));
                let tries = tries.unwrap_or_else(|| panic!("{phase} was not seen in {TRIES} joins"));
                println!("{killed:?} killed in {phase}: right, at join {tries}");
            }
        });
    });
    let servers: Vec<Server> = ring.servers.into_iter().flatten().collect();
    load.judge(&servers.iter().collect::<Vec<_>>());
    servers.iter().for_each(|server| has_rows(server, "ks.rows", rows, Consistency::All, |_| true));
    servers.into_iter().for_each(Server::stop);
}
