//! Witnesses that are steps: what is done and seen is written down here, and only the order of what happens at once is the seed's.

use std::ops::Range;
use std::time::Duration;

use cql_protocol::Consistency;
use planted::Planted;
use runtime::sim::{DiskSpeed, Keep, Link};
use runtime::{Group, Runtime};

use crate::client::{Client, ClientError, Row, Statement};
use crate::cluster::{Cluster, NODE, NodeOptions, native_address};
use crate::run::{ask, read_all};
use crate::workload::{RowsOptions, Shared, prepare, prepare_conditional, prepare_replicated, work};

type Held = Result<Vec<String>, String>;

/// By then a workload has ended, and nodes have met.
const AT_MOST: Duration = Duration::from_secs(120);
/// As long as a node remembers what it owes another one, and longer.
const AWAY: Duration = Duration::from_secs(30);

const INSERT_REGISTER: &str = "INSERT INTO ring.registers (p, c, v) VALUES (1, 0, 1)";
const SET_REGISTER: &str = "UPDATE ring.registers SET v = ? WHERE p = 1 AND c = 0 IF v = 1";
const INSERT: &str = "INSERT INTO ring.rows (p, c, v, pad) VALUES (1, ?, ?, ?)";
const INSERT_AFTER: &str = "INSERT INTO sim.rows (p, c, v) VALUES (?, 0, 1)";
const SELECT: &str = "SELECT c, v FROM ring.rows WHERE p = 1";
const DELETE_RANGE: &str = "DELETE FROM ring.rows WHERE p = 1 AND c >= 0 AND c < 40";
const ROWS: Range<i64> = 0..80;
/// The rows that [`DELETE_RANGE`] deletes: more than the page of a replica has.
const DELETED: Range<i64> = 0..40;
/// The rows that the first node misses, and those that the other one does.
const MISSED: [Range<i64>; 2] = [40..44, 44..48];
/// The rows of a page.
const PAGE_ROWS: i32 = 5;

/// Shards before the change of their count: the folders of all but the first have no part in what comes after, and are synced by nothing else.
const SHARDS: u16 = 4;

/// Rows that were in the log of one shard count, and in files since, are truncated under another one; then power goes.
pub(super) fn truncated_under_another_count(seed: u64, planted: Planted) -> Held {
    let options = NodeOptions { flush_on_drain: true, segment_bytes: 64 << 10, planted, ..NodeOptions::default() };
    let mut cluster = Cluster::new(seed, options, None);
    let start = |cluster: &mut Cluster, shards| cluster.start(shards).map(drop).map_err(|error| error.to_string());
    start(&mut cluster, SHARDS)?;
    let made = ask(&mut cluster, prepare).ok_or("the table was not made in time")?;
    made.map_err(|error| error.to_string())?;
    let rows = RowsOptions { truncate_per_mille: 0, ..RowsOptions::default() };
    let history = Shared::default();
    let working = cluster.world.start(cluster.clients, false, vec![move |runtime| work(runtime, rows, history)]);
    cluster.run_until(|_| working.is_over(), AT_MOST);
    // The next start reads the rows from a log that is written to no more, and has them in files at its end.
    cluster.world.crash(cluster.node, Keep::Everything);
    start(&mut cluster, SHARDS)?;
    cluster.terminate()?;
    start(&mut cluster, 1)?;
    let truncated = ask(&mut cluster, async |runtime| {
        let mut client = Client::connect(&runtime, NODE).await?;
        client.execute("TRUNCATE sim.rows").await
    });
    truncated.ok_or("no answer to TRUNCATE")?.map_err(|error| error.to_string())?;
    cluster.world.crash(cluster.node, Keep::Nothing);
    if let Err(what) = start(&mut cluster, 1) {
        return Ok(vec![what]);
    }
    Ok(match read_all(&mut cluster) {
        Ok(rows) if rows.is_empty() => Vec::new(),
        Ok(rows) => vec![format!("{} rows were truncated, and are back", rows.len())],
        Err(what) => vec![what],
    })
}

/// A TRUNCATE, then two starts, each with a row written before it: neither takes one along.
pub(super) fn truncated_and_started_twice(seed: u64, planted: Planted) -> Held {
    let options = NodeOptions { planted, ..NodeOptions::default() };
    let mut cluster = Cluster::new(seed, options, None);
    cluster.start(2).map_err(|error| error.to_string())?;
    let made = ask(&mut cluster, prepare).ok_or("the table was not made in time")?;
    made.map_err(|error| error.to_string())?;
    on_node(&mut cluster, 0, Consistency::One, async |client| client.execute("TRUNCATE sim.rows").await)?;
    for (written, shards) in [(1i32, 2), (2, 1)] {
        let insert = Statement { text: INSERT_AFTER, values: vec![written.to_be_bytes().to_vec()] };
        let inserted = async move |client: &mut Client| client.run(&insert, None).await.map(drop);
        on_node(&mut cluster, 0, Consistency::One, inserted)?;
        cluster.world.crash(cluster.node, Keep::Nothing);
        cluster.start(shards).map_err(|error| error.to_string())?;
        let rows = read_all(&mut cluster)?;
        if rows.len() != written as usize {
            return Ok(vec![format!("{written} rows were written after a TRUNCATE, and {} are there", rows.len())]);
        }
    }
    Ok(Vec::new())
}

/// Clients that compare and set one register at once, of a value that is in a file on a slow disk: one of them is right.
pub(super) fn conditions_from_files(seed: u64, planted: Planted) -> Held {
    let options = NodeOptions { flush_on_drain: true, planted, ..NodeOptions::default() };
    let mut cluster = Cluster::new(seed, options, None);
    cluster.start(2).map_err(|error| error.to_string())?;
    let made = ask(&mut cluster, prepare_conditional).ok_or("the table was not made in time")?;
    made.map_err(|error| error.to_string())?;
    on_node(&mut cluster, 0, Consistency::One, async |client| client.execute(INSERT_REGISTER).await)?;
    cluster.terminate()?;
    cluster.start(2).map_err(|error| error.to_string())?;
    cluster
        .world
        .set_disk_speed(cluster.node, DiskSpeed { latency_min_nanos: 5_000_000, latency_max_nanos: 20_000_000 });
    let applied = ask(&mut cluster, async |runtime: Runtime| {
        let set = |to: i64| {
            let runtime = runtime.clone();
            async move {
                let mut client = Client::connect(&runtime, NODE).await?;
                client.run(&Statement { text: SET_REGISTER, values: vec![to.to_be_bytes().to_vec()] }, None).await
            }
        };
        let clients: Vec<_> = (0..8).map(|client| runtime.spawn(Group::Query, set(10 + client))).collect();
        let mut applied = 0;
        for client in clients {
            let is_applied = |row: &Row| row.first().is_some_and(|value| value.as_deref() == Some(&[1]));
            applied += client.await?.iter().filter(|row| is_applied(row)).count();
        }
        Ok::<usize, ClientError>(applied)
    });
    match applied.ok_or("no answer")?.map_err(|error| error.to_string())? {
        1 => Ok(Vec::new()),
        count => Ok(vec![format!("{count} statements found the value that each of them took away")]),
    }
}

/// A write at ALL while one of two replicas cannot be reached, which its coordinator has not noticed yet: it must not be acknowledged.
pub(super) fn written_at_all_to_one(seed: u64, planted: Planted) -> Held {
    let mut cluster = ring(seed, planted)?;
    let cut = Link { is_cut: true, ..Link::default() };
    cluster.world.set_link(cluster.nodes[0], cluster.nodes[1], cut);
    cluster.world.set_link(cluster.nodes[1], cluster.nodes[0], cut);
    Ok(match insert(&mut cluster, 0, Consistency::All, 0..1, 1) {
        Ok(()) => vec!["a write at ALL was acknowledged, and one of two replicas was not reached".to_owned()],
        Err(_) => Vec::new(),
    })
}

/// Each of two replicas is away while rows are written over, and while some are deleted by range: reads at ALL give what either knows, page by
/// page, and then both have it. The page of the replica that missed the deletion ends before the rows that it alone has.
pub(super) fn replica_away_meanwhile(seed: u64, planted: Planted) -> Held {
    let mut cluster = ring(seed, planted)?;
    insert(&mut cluster, 0, Consistency::All, ROWS, 1)?;
    for (away, missed) in MISSED.into_iter().enumerate() {
        let there = 1 - away;
        cluster.terminate_at(away)?;
        insert(&mut cluster, there, Consistency::One, missed, 2 + away as i64)?;
        if away == 1 {
            on_node(&mut cluster, there, Consistency::One, async |client| client.execute(DELETE_RANGE).await)?;
        }
        cluster.world.run_for(AWAY);
        cluster.start_at(away, 2).map_err(|error| error.to_string())?;
    }
    let value = |clustering: i64| {
        let missed = MISSED.iter().position(|missed| missed.contains(&clustering));
        (clustering, missed.map_or(1, |away| 2 + away as i64))
    };
    let expected: Vec<(i64, i64)> = ROWS.filter(|clustering| !DELETED.contains(clustering)).map(value).collect();
    let mut violations = Vec::new();
    for (level, what) in [(Consistency::All, "at ALL"), (Consistency::One, "at ONE, after a repair")] {
        for node in 0..2 {
            let seen = wait_for_rows(&mut cluster, node, level)?;
            if seen != expected {
                violations.push(format!("read {what}, of node {node}: {seen:?}, not {expected:?}"));
            }
        }
    }
    Ok(violations)
}

/// Two nodes, both replicas of a table, which know each other.
fn ring(seed: u64, planted: Planted) -> Result<Cluster, String> {
    // A hint would mend what reads are to mend here.
    let options = NodeOptions { nodes: 2, hints: false, planted, ..NodeOptions::default() };
    let mut cluster = Cluster::new(seed, options, None);
    for node in 0..2 {
        cluster.start_at(node, 1 + node as u16).map_err(|error| error.to_string())?;
        let made = ask(&mut cluster, move |runtime| prepare_replicated(runtime, node));
        made.ok_or("the table was not made in time")?.map_err(|error| error.to_string())?;
    }
    for node in 0..2 {
        wait_for_rows(&mut cluster, node, Consistency::All)?;
    }
    Ok(cluster)
}

/// Runs a client of one node.
fn on_node<T: 'static>(
    cluster: &mut Cluster,
    node: usize,
    consistency: Consistency,
    request: impl AsyncFnOnce(&mut Client) -> Result<T, ClientError> + 'static,
) -> Result<T, String> {
    let asked = ask(cluster, async move |runtime| {
        let mut client = Client::connect(&runtime, native_address(node)).await?;
        client.consistency = consistency;
        request(&mut client).await
    });
    asked.ok_or_else(|| "no answer".to_owned())?.map_err(|error| error.to_string())
}

/// The partition's rows, as soon as the level is reached.
fn wait_for_rows(cluster: &mut Cluster, node: usize, level: Consistency) -> Result<Vec<(i64, i64)>, String> {
    let deadline = cluster.world.now() + AT_MOST;
    loop {
        let select = Statement { text: SELECT, values: Vec::new() };
        match on_node(cluster, node, level, async move |client| client.pages(&select, PAGE_ROWS).await) {
            Ok(rows) => return rows.iter().map(numbers).collect(),
            Err(what) if cluster.world.now() >= deadline => return Err(what),
            Err(_) => cluster.world.run_for(Duration::from_millis(100)),
        }
    }
}

fn numbers(row: &Row) -> Result<(i64, i64), String> {
    let number = |place: usize| {
        let bytes = row.get(place).cloned().flatten().and_then(|bytes| bytes.try_into().ok());
        bytes.map(i64::from_be_bytes).ok_or_else(|| format!("a row of other columns: {row:?}"))
    };
    Ok((number(0)?, number(1)?))
}

fn insert(
    cluster: &mut Cluster,
    node: usize,
    level: Consistency,
    clusterings: Range<i64>,
    value: i64,
) -> Result<(), String> {
    on_node(cluster, node, level, async move |client| {
        for clustering in clusterings {
            let values = vec![clustering.to_be_bytes().to_vec(), value.to_be_bytes().to_vec(), vec![7; 100]];
            client.run(&Statement { text: INSERT, values }, None).await?;
        }
        Ok(())
    })
}
