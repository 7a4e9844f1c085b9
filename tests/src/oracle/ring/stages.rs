//! The stages of a run: all scripts as far as they go with all nodes up, then with one down, then with two.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cql_protocol::response::ErrorKind;
use cql_protocol::{Consistency, Query, QueryParams, Request, Response, ResultBody, Version};

use super::nodes::Nodes;
use super::script::{DOWN_MAX, RingScript, asked, paused};
use super::topology::NODES;
use crate::oracle::client::Client;
use crate::oracle::script::Block;
use crate::oracle::session::{Session, must};

/// A ring that takes longer to see that a node is down, or that the schema has changed, hangs.
const PATIENCE: Duration = Duration::from_secs(180);
/// The rest between two looks.
const REST: Duration = Duration::from_millis(20);

/// A table of which each node has a copy: at ALL it tells how many nodes a coordinator takes for alive.
const PROBE_KEYSPACE: &str =
    "CREATE KEYSPACE ring_probe WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}";
const PROBE_TABLE: &str = "CREATE TABLE ring_probe.t (k int PRIMARY KEY) WITH speculative_retry = 'NEVER'";
const PROBE: &str = "SELECT k FROM ring_probe.t WHERE k = 1";

/// A real ring keeps each trace on two nodes, which may both be down; Helenus keeps it on the one that was asked.
const TRACES_EVERYWHERE: &str =
    "ALTER KEYSPACE system_traces WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}";

/// A script's answers, or why it could not be run.
pub type Outcome = Result<Vec<Vec<String>>, String>;

/// A script on its way through the stages.
struct Run<'s> {
    script: &'s RingScript,
    sessions: BTreeMap<usize, Session>,
    answers: Vec<Vec<String>>,
    failed: Option<String>,
}

/// Runs scripts of one topology.
pub fn run(nodes: &mut Nodes, scripts: &[RingScript]) -> Result<Vec<Outcome>, String> {
    let mut client = Client::connect(&nodes.addresses[0], Version::V5)?;
    if nodes.are_real() {
        must(&mut client, TRACES_EVERYWHERE)?;
        wait_for_agreement(nodes)?;
    }
    must(&mut client, PROBE_KEYSPACE)?;
    wait_for_agreement(nodes)?;
    must(&mut client, PROBE_TABLE)?;
    wait_for_agreement(nodes)?;
    let run = |script| Run { script, sessions: BTreeMap::new(), answers: Vec::new(), failed: None };
    let mut runs: Vec<Run<'_>> = scripts.iter().map(run).collect();
    for down in 0..=DOWN_MAX {
        if !scripts.iter().any(|script| script.down.last().is_some_and(|last| *last >= down)) {
            break;
        }
        if down > 0 {
            nodes.kill(NODES - down);
        }
        wait_until_seen(nodes)?;
        for run in &mut runs {
            if run.failed.is_none() {
                run.failed = run.stage(nodes, &mut client, down).err();
            }
            run.sessions.clear();
        }
    }
    Ok(runs.into_iter().map(|run| run.failed.map_or(Ok(run.answers), Err)).collect())
}

impl Run<'_> {
    /// Runs the blocks of a stage.
    fn stage(&mut self, nodes: &Nodes, client: &mut Client, down: usize) -> Result<(), String> {
        let RingScript { script, keyspace, replication, .. } = self.script;
        if down == 0 {
            must(client, &format!("CREATE KEYSPACE {keyspace} WITH replication = {replication}"))?;
            wait_for_agreement(nodes)?;
        }
        let of_stage = script.blocks.iter().zip(&self.script.down).filter(|(_, of)| **of == down);
        for (block, _) in of_stage {
            let node = asked(block)?;
            let session = self.sessions.entry(node).or_insert_with(|| {
                let mut session = Session::of_keyspace(&nodes.addresses[node], keyspace);
                session.names = nodes.names.clone();
                session
            });
            let answer = match paused(block)? {
                None => session.run_one(script, block)?,
                Some(node) => {
                    // The connection is made before: what is asked must be the first that meets the node's silence.
                    session.client(None)?;
                    let answer = nodes.while_paused(node, || session.run_one(script, block))?;
                    wait_until_seen(nodes)?;
                    answer
                }
            };
            if is_schema_change(block, &answer) {
                wait_for_agreement(nodes)?;
            }
            self.answers.push(answer);
        }
        Ok(())
    }
}

fn is_schema_change(block: &Block, answer: &[String]) -> bool {
    let is_change = |line: &String| ["created ", "updated ", "dropped "].iter().any(|word| line.starts_with(word));
    !block.is_comment() && answer.last().is_some_and(is_change)
}

/// Waits until all nodes that are up have one schema.
fn wait_for_agreement(nodes: &Nodes) -> Result<(), String> {
    until("one schema on all nodes", || {
        let mut versions = Vec::new();
        for node in nodes.up() {
            let mut client = Client::connect(&nodes.addresses[node], Version::V5)?;
            let reply = must(&mut client, "SELECT schema_version FROM system.local")?;
            match reply.response()?.1 {
                Response::Result(ResultBody::Rows(rows)) => {
                    versions.push(rows.iter().next().and_then(|mut row| row.next().flatten()).map(<[u8]>::to_vec));
                }
                other => return Err(format!("the schema's version was answered {other:?}")),
            }
        }
        Ok(versions.windows(2).all(|pair| pair[0] == pair[1]))
    })
}

/// Waits until each node that is up takes those for alive that are, and no other.
fn wait_until_seen(nodes: &Nodes) -> Result<(), String> {
    let up: Vec<usize> = nodes.up().collect();
    let alive = i32::try_from(up.len()).expect("few nodes");
    for node in up {
        let mut client = Client::connect(&nodes.addresses[node], Version::V5)?;
        until("the nodes see who is up", || {
            let params = QueryParams::new(Consistency::All);
            let reply = client.ask(&Request::Query(Query { text: PROBE, params }))?;
            Ok(match reply.response()?.1 {
                Response::Error(error) => {
                    matches!(error.kind, ErrorKind::Unavailable { alive: seen, .. } if seen == alive)
                }
                _ => nodes.up().count() == NODES,
            })
        })?;
    }
    Ok(())
}

fn until(what: &str, mut holds: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    while !holds()? {
        if Instant::now() >= deadline {
            return Err(format!("not within {PATIENCE:?}: {what}"));
        }
        std::thread::sleep(REST);
    }
    Ok(())
}
