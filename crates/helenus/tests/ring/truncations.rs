//! TRUNCATE on three nodes: an entry of their metadata group, which each of them carries out, now or when it is back.

use cql_protocol::{Consistency, ErrorCode};

use crate::harness::{Client, Node, Ring};

const KEYSPACE: &str = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}";
const TABLE: &str = "CREATE TABLE ks.t (k int PRIMARY KEY, v text)";

fn fill(client: &mut Client, keys: std::ops::Range<i32>) {
    for key in keys {
        client.run_when_met(&format!("INSERT INTO ks.t (k, v) VALUES ({key}, 'v')"), Consistency::All);
    }
}

/// The keys that each node has by itself: of three replicas, it is the nearest to its clients.
fn keys(client: &mut Client) -> Vec<i32> {
    let rows = client.run_when_met("SELECT k FROM ks.t", Consistency::One);
    let key =
        |row: &Vec<Option<Vec<u8>>>| i32::from_be_bytes(row[0].clone().expect("a key")[..].try_into().expect("an int"));
    let mut keys: Vec<i32> = rows.iter().map(key).collect();
    keys.sort_unstable();
    keys
}

#[track_caller]
fn expect(nodes: &[&Node], expected: std::ops::Range<i32>) {
    for (index, node) in nodes.iter().enumerate() {
        assert_eq!(keys(&mut node.client()), expected.clone().collect::<Vec<_>>(), "node {index}");
    }
}

#[test]
fn a_truncate_empties_all_nodes_and_needs_them_all() {
    let ring = Ring::new(&[1, 2, 1]);
    let [first, second, third] = [0, 1, 2].map(|index| ring.start_by_seed(index));
    let mut client = second.client();
    client.run_when_met(KEYSPACE, Consistency::One);
    client.run(TABLE, Consistency::One);
    fill(&mut client, 0..50);
    // By a node that need not lead, with the rows in files and in memory.
    client.run_when_met("TRUNCATE ks.t", Consistency::One);
    expect(&[&first, &second, &third], 0..0);
    fill(&mut client, 100..150);
    expect(&[&first, &second, &third], 100..150);

    drop(third);
    let error = client.error_when_seen("INSERT INTO ks.t (k) VALUES (149)", Consistency::All);
    assert_eq!(error.code(), ErrorCode::Unavailable, "{error:?}");
    let error = client.try_run("TRUNCATE ks.t", Consistency::One).expect_err("a node is down");
    assert_eq!(error.code(), ErrorCode::TruncateError, "{error:?}");
    // Its end may be noticed by the way of requests first, and then nothing speaks against the change; but it is no success.
    let is_decided = error.message == "Error during truncate: Truncate timed out - received only 2 responses";
    assert!(is_decided || error.message == "Error during truncate: Cannot achieve consistency level ALL", "{error:?}");
    let left = if is_decided { 0..0 } else { 100..150 };
    expect(&[&first, &second], left.clone());

    // All come back, none truncates again.
    let third = ring.start_by_seed(2);
    if !is_decided {
        expect(&[&third], left);
    }
    client.run_when_met("TRUNCATE ks.t", Consistency::One);
    fill(&mut client, 200..220);
    drop((first, second, third));
    let [first, second, third] = [0, 1, 2].map(|index| ring.start_by_seed(index));
    expect(&[&first, &second, &third], 200..220);
    second.client().run_when_met("DROP TABLE ks.t", Consistency::One);
}
