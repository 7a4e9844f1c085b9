//! A small part of each suite, in every `cargo test`; and that the checks can fail.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use cql_protocol::Consistency;
use helenus::config::CommitLogSync;
use sim::access::{self, AccessOptions};
use sim::checker::{self, Promises};
use sim::client::{Client, ClientError, Row, Statement};
use sim::cluster::{Cluster, NodeOptions, native_address};
use sim::each_call::each_call;
use sim::enumerate::{Course, EnumerateOptions, enumerate};
use sim::run::{ask, read_all};
use sim::workload::{RowsOptions, Shared, prepare, work};

use planted::Planted;
use runtime::sim::Keep;
use runtime::{Group, Runtime};

/// As many images of the course as are asked for hold, and its courses come to these marks.
fn images_of_a_course_hold(course: Course, images: u64, first_seed: u64, marks: &[&str]) {
    let options = EnumerateOptions {
        course,
        images,
        first_seed,
        threads: 2,
        at_most: Duration::from_secs(600),
        workloads_max: u64::MAX,
        only: None,
        failures_max: 1,
        planted: Planted::NONE,
    };
    let all = enumerate(&options);
    assert!(all.failures.is_empty(), "{:?}", all.failures);
    assert_eq!(all.images, images);
    for mark in marks {
        assert!(all.marks.contains_key(mark), "{mark} is in {:?}", all.marks);
    }
}

#[test]
fn images_hold() {
    images_of_a_course_hold(Course::Writes, 40, 1, &["replay", "reshard"]);
}

#[test]
fn images_of_compactions_and_snapshots_hold() {
    let marks = ["compacted", "file named for a snapshot", "upload brought in", "foreign file taken in"];
    images_of_a_course_hold(Course::Upkeep, 40, 1, &marks);
}

#[test]
fn images_of_a_refresh_hold() {
    let marks = ["upload brought in", "file taken in while running", "refresh gone on with"];
    images_of_a_course_hold(Course::Refresh, 120, 2, &marks);
}

#[test]
fn images_of_operations_hold() {
    let marks = ["an operation is done", "an operation is aborted", "copy listed", "file without kept tokens removed"];
    images_of_a_course_hold(Course::Operations, 8, 1, &marks);
}

#[test]
fn power_cuts_beside_statements_about_roles_keep_what_was_acknowledged() {
    let options = AccessOptions { seed: 1, cuts: 8, only: None, threads: 2, planted: Planted::NONE };
    let all = access::run(&options);
    assert!(all.failures.is_empty() && all.runs >= 8 && all.granted_or_revoked > 20, "{all:?}");
}

#[test]
fn disk_calls_may_fail() {
    for call in [3, 60, 130] {
        let all = each_call(1, 1, Some(call), 1);
        assert!(all.failures.is_empty() && all.runs == 2, "{all:?}");
    }
}

/// Rows acknowledged, and violations found, after a power cut of a disk that may lie.
fn on_a_disk(lies: bool) -> (usize, Vec<String>) {
    let mut cluster = Cluster::new(5, NodeOptions::default(), None);
    cluster.start(2).expect("it starts");
    ask(&mut cluster, prepare).expect("there is an answer").expect("the table is made");
    if lies {
        cluster.world.with_disk(cluster.node, runtime::sim::Disk::lie);
    }
    let history = Shared::default();
    let (rows, shared) = (RowsOptions { truncate_per_mille: 0, ..RowsOptions::default() }, history.clone());
    let working = cluster.world.start(cluster.clients, false, vec![move |runtime| work(runtime, rows, shared)]);
    cluster.run_until(|_| working.is_over(), Duration::from_secs(60));
    cluster.world.crash(cluster.node, Keep::Nothing);
    cluster.start(2).expect("it starts");
    let as_of = cluster.world.now().as_nanos();
    let rows = read_all(&mut cluster).expect("they can be read");
    let history = history.borrow();
    (history.acknowledged_count(), checker::check(&history, &rows, as_of, Promises::TODAY))
}

#[test]
fn a_disk_that_lies_is_found_out() {
    let (acknowledged, violations) = on_a_disk(false);
    assert!(acknowledged > 100 && violations.is_empty(), "{violations:?}");
    let (acknowledged, violations) = on_a_disk(true);
    assert!(acknowledged > 100 && !violations.is_empty(), "it loses what was acknowledged");
}

/// What one client of one node of a ring asks, statement by statement. Gives the last one's rows.
fn ask_node(
    cluster: &mut Cluster,
    node: usize,
    consistency: Consistency,
    statements: Vec<&'static str>,
) -> Result<Vec<Row>, String> {
    let asked = ask(cluster, async move |runtime| -> Result<Vec<Row>, ClientError> {
        let mut client = Client::connect(&runtime, native_address(node)).await?;
        client.consistency = consistency;
        let mut rows = Vec::new();
        for statement in statements {
            rows = client.execute(statement).await?;
        }
        Ok(rows)
    });
    asked.ok_or_else(|| "no answer".to_owned())?.map_err(|error| error.to_string())
}

/// Lets the world go on until a node reaches so many replicas; after a start they find each other by and by.
fn wait_for(cluster: &mut Cluster, node: usize, consistency: Consistency) {
    for _ in 0..60 {
        if ask_node(cluster, node, consistency, vec!["SELECT k FROM ks.t WHERE k = 1"]).is_ok() {
            return;
        }
        cluster.run_until(|_| false, Duration::from_secs(1));
    }
    panic!("node {node} never reaches {consistency:?}");
}

/// The keys that were written at ALL, by several clients of node 0, while node 1 ended in order and then lost its power.
fn written_at_all_while_a_node_ends(cluster: &mut Cluster) -> Vec<i32> {
    const INSERT: &str = "INSERT INTO ks.t (k) VALUES (?)";
    let written: Rc<RefCell<Vec<i32>>> = Rc::default();
    let acknowledged = written.clone();
    let writers = move |runtime: Runtime| async move {
        let write = |writer: i32| {
            let (runtime, acknowledged) = (runtime.clone(), acknowledged.clone());
            async move {
                let mut client = Client::connect(&runtime, native_address(0)).await?;
                client.consistency = Consistency::All;
                for k in (writer * 10_000)..((writer + 1) * 10_000) {
                    let statement = Statement { text: INSERT, values: vec![k.to_be_bytes().to_vec()] };
                    client.run(&statement, None).await?;
                    acknowledged.borrow_mut().push(k);
                }
                Ok::<(), ClientError>(())
            }
        };
        let writers: Vec<_> = (0..16).map(|writer| runtime.spawn(Group::Query, write(writer))).collect();
        for writer in writers {
            // Each ends with the first write that node 1 did not answer.
            writer.await.expect_err("there are too many keys for all of them");
        }
    };
    let working = cluster.world.start(cluster.clients, false, vec![writers]);
    cluster.run_until(|_| written.borrow().len() > 500, Duration::from_secs(30));
    cluster.terminate_at(1).expect("it ends");
    cluster.world.crash(cluster.nodes[1], Keep::Nothing);
    cluster.run_until(|_| working.is_over(), Duration::from_secs(60));
    written.take()
}

/// In `periodic` a node that ends in order loses nothing, also of what it answered other nodes in its last moments.
#[test]
fn what_a_node_answers_another_at_its_end_is_kept() {
    for seed in 1..=8 {
        let options = NodeOptions {
            nodes: 2,
            sync: CommitLogSync::Periodic,
            sync_period: Duration::from_secs(600),
            ..NodeOptions::default()
        };
        let mut cluster = Cluster::new(seed, options, None);
        for node in 0..2 {
            cluster.start_at(node, 2).expect("it starts");
            let made = vec![
                "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 2}",
                "CREATE TABLE ks.t (k int PRIMARY KEY) WITH id = 7a1e0000-0000-11ee-8000-000000000001",
            ];
            ask_node(&mut cluster, node, Consistency::One, made).expect("the table is made on each node");
        }
        wait_for(&mut cluster, 0, Consistency::All);
        let written = written_at_all_while_a_node_ends(&mut cluster);
        cluster.start_at(1, 2).expect("it starts");
        let kept = ask(&mut cluster, async move |runtime| -> Result<Vec<Row>, ClientError> {
            Client::connect(&runtime, native_address(1)).await?.rows("SELECT k FROM ks.t", 100).await
        });
        let kept: BTreeSet<i32> = kept
            .expect("there is an answer")
            .expect("it has the rows")
            .iter()
            .map(|row| i32::from_be_bytes(row[0].as_deref().expect("a key").try_into().expect("an int")))
            .collect();
        let lost: Vec<&i32> = written.iter().filter(|k| !kept.contains(k)).collect();
        assert!(lost.is_empty(), "seed {seed}: {} of {} are gone: {lost:?}", lost.len(), written.len());
    }
}

/// A mutation carries the places of a list's elements, never indexes: replicas that were away, and whose lists look different
/// then, come to the same list, whoever coordinated, and a replay of their logs does too.
#[test]
fn lists_changed_by_what_they_hold_are_the_same_on_all_replicas() {
    let options = NodeOptions { nodes: 3, hints: false, ..NodeOptions::default() };
    let mut cluster = Cluster::new(7, options, None);
    for node in 0..3 {
        cluster.start_at(node, 1 + node as u16 % 2).expect("it starts");
        let made = ask_node(
            &mut cluster,
            node,
            Consistency::One,
            vec![
                "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}",
                "CREATE TABLE ks.t (k int PRIMARY KEY, l list<int>, s set<int>) WITH id = 7a1e0000-0000-11ee-8000-000000000001",
            ],
        );
        made.expect("the table is made on each node");
    }
    wait_for(&mut cluster, 0, Consistency::All);
    ask_node(&mut cluster, 0, Consistency::All, vec!["INSERT INTO ks.t (k, l) VALUES (1, [1, 2, 3, 2, 4])"])
        .expect("all replicas are there");
    cluster.terminate_at(2).expect("it ends");
    wait_for(&mut cluster, 1, Consistency::Quorum);
    ask_node(
        &mut cluster,
        1,
        Consistency::Quorum,
        vec![
            "UPDATE ks.t SET l = l - [2] WHERE k = 1",
            "UPDATE ks.t SET l[1] = 30 WHERE k = 1",
            "DELETE l[0] FROM ks.t WHERE k = 1",
        ],
    )
    .expect("a quorum is there");
    // The third still holds what was before. Asked itself, it reads what a quorum knows, and changes that.
    cluster.start_at(2, 2).expect("it starts");
    wait_for(&mut cluster, 2, Consistency::Quorum);
    ask_node(&mut cluster, 2, Consistency::Quorum, vec!["UPDATE ks.t SET l[1] = 40 WHERE k = 1"])
        .expect("a quorum is there");
    let list = |rows: Vec<Row>| -> Vec<i32> {
        let value = rows[0][0].clone().expect("the list is not null");
        let ty = cql_types::CqlType::parse("list<int>").expect("a type");
        let parts = cql_types::parts_of_collection(&ty, &value);
        parts.map(|part| i32::from_be_bytes(part.try_into().expect("an int"))).collect()
    };
    let select = "SELECT l FROM ks.t WHERE k = 1";
    for node in 0..3 {
        wait_for(&mut cluster, node, Consistency::All);
        let rows = ask_node(&mut cluster, node, Consistency::All, vec![select]).expect("all replicas are there");
        assert_eq!(list(rows), [30, 40], "asked of node {node}");
    }
    // The reads repaired the third: now each has it, after a replay too.
    for node in 0..3 {
        cluster.terminate_at(node).expect("it ends");
    }
    for node in 0..3 {
        cluster.start_at(node, 1).expect("it starts");
    }
    for node in 0..3 {
        wait_for(&mut cluster, node, Consistency::One);
        let rows = ask_node(&mut cluster, node, Consistency::One, vec![select]).expect("a replica is there");
        assert_eq!(list(rows), [30, 40], "asked of node {node}");
    }
}
