//! Hints on three real nodes: one is killed, misses writes, and has them by itself when it is back.

use cql_protocol::Consistency;
use helenus_tests::Connection;

use super::nodes::{KEYSPACE_OF_ONE, Three, until};

/// No read mends what a node lacks.
const TABLE: &str = "CREATE TABLE ks.t (k int PRIMARY KEY, v text) WITH read_repair = 'NONE'";
/// A row for each node with hints that wait, also where they are in no file yet.
const PENDING: &str = "SELECT host_id FROM system_views.pending_hints";
const ROWS: i32 = 200;

/// True if the client's node has hints that wait. The answer ends with the id of a node, or with the number of no rows.
fn has_pending(client: &mut Connection) -> bool {
    let answer = client.query(PENDING).expect("a local read").body;
    !answer.ends_with(&[0; 4])
}

/// True if the client's node finds the row, at ONE.
fn has_row(client: &mut Connection, table: &str, key: i32) -> bool {
    let answer = client.query(&format!("SELECT k FROM {table} WHERE k = {key}"));
    answer.is_ok_and(|answer| answer.body.ends_with(&[&[0, 0, 0, 4][..], &key.to_be_bytes()].concat()))
}

#[test]
fn a_node_that_was_killed_has_what_it_missed_when_it_is_back() {
    let mut three = Three::start();
    let (away, others) = three.restored_and_others();
    let mut clients = others.map(|node| three.connect(node));
    clients[0].query(TABLE).expect("all are up");
    assert!(!has_pending(&mut clients[0]), "nothing was missed yet");
    three.kill(away);
    for key in 0..ROWS {
        let level = if key % 2 == 0 { Consistency::One } else { Consistency::Quorum };
        let client = &mut clients[usize::from(key % 3 == 0)];
        let insert = format!("INSERT INTO ks.t (k, v) VALUES ({key}, 'v{key}')");
        // The first ones may still be sent to the node that is gone.
        until("two of three are enough", || client.query_at(&insert, level).is_ok());
    }
    let refused = clients[0].query_at("INSERT INTO ks.t (k) VALUES (-1)", Consistency::All);
    assert!(refused.is_err(), "a hint is no answer at any level but ANY");
    for client in &mut clients {
        until("hints wait", || has_pending(client));
    }
    three.restart(away);
    for client in &mut clients {
        until("the hints are delivered", || !has_pending(client));
    }
    // Alone it can have them from no other.
    drop(clients);
    others.into_iter().for_each(|node| three.kill(node));
    let mut client = three.connect(away);
    let missing: Vec<i32> = (0..ROWS).filter(|key| !has_row(&mut client, "ks.t", *key)).collect();
    assert!(missing.is_empty(), "it lacks {missing:?}");
    three.stop();
}

#[test]
fn a_write_at_any_needs_no_replica() {
    let mut three = Three::start();
    let (away, others) = three.restored_and_others();
    let mut client = three.connect(others[0]);
    for text in [KEYSPACE_OF_ONE, "CREATE TABLE lone.t (k int PRIMARY KEY)"] {
        client.query(text).expect("all are up");
    }
    three.kill(away);
    for key in 0..30 {
        let insert = format!("INSERT INTO lone.t (k) VALUES ({key})");
        client.query_at(&insert, Consistency::Any).expect("a hint is enough");
    }
    until("hints wait", || has_pending(&mut client));
    three.restart(away);
    until("the hints are delivered", || !has_pending(&mut client));
    for key in 0..30 {
        until("each row is on its replica", || has_row(&mut client, "lone.t", key));
    }
    three.stop();
}
