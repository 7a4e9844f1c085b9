//! Conditional statements and SERIAL reads on three nodes, through each of them: replicas of the partition or not.

use std::time::Duration;

use cql_protocol::Consistency::{self, All, LocalSerial, Quorum, Serial};
use helenus::config::TimeoutOptions;

use crate::harness::{Client, Node, PATIENCE, Ring, Rows};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS ks.l (k int, c int, s int static, v int, PRIMARY KEY (k, c))";
/// Each node of three has some of them alone, and some not.
const KEYS: std::ops::Range<usize> = 0..12;
/// Rows of a partition that is read by pages.
const ROWS: i32 = 40;

struct Three {
    clients: Vec<Client>,
    _nodes: Vec<Node>,
    _ring: Ring,
}

/// Three nodes that have met, and the table with so many replicas.
fn three(shards: &[u16; 3], replicas: u32) -> Three {
    let mut ring = Ring::new(shards);
    let time = PATIENCE - Duration::from_secs(10);
    // However slow the machine is: none of these statements lacks a replica.
    let (read, write, cas_contention) = (time, time, time);
    ring.timeouts = TimeoutOptions { read, write, cas_contention, ..ring.timeouts };
    let nodes: Vec<Node> = (0..3).map(|index| ring.start_by_seed(index)).collect();
    let mut clients: Vec<Client> = nodes.iter().map(Node::client).collect();
    let keyspace = format!(
        "CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}"
    );
    for text in [&keyspace[..], TABLE] {
        clients[0].run_when_met(text, Quorum);
    }
    for client in &mut clients {
        // Each reaches all replicas.
        for key in 1000..1000 + KEYS.end {
            client.run_when_met(&format!("INSERT INTO ks.l (k, c) VALUES ({key}, 0)"), All);
        }
    }
    Three { clients, _nodes: nodes, _ring: ring }
}

fn int(value: i32) -> Option<Vec<u8>> {
    Some(value.to_be_bytes().to_vec())
}

const YES: Option<&[u8]> = Some(&[1]);
const NO: Option<&[u8]> = Some(&[0]);

fn applied(rows: &Rows) -> Option<&[u8]> {
    rows[0][0].as_deref()
}

impl Three {
    /// Runs a conditional statement through a node, which applies it.
    #[track_caller]
    fn applies(&mut self, node: usize, text: &str) {
        let rows = self.clients[node % 3].run(text, Quorum);
        assert_eq!(applied(&rows), YES, "{text}: {rows:?}");
        assert_eq!((rows.len(), rows[0].len()), (1, 1), "the answer has nothing else");
    }

    /// The same where it does not hold. Gives what it shows beside `[applied]`.
    #[track_caller]
    fn refuses(&mut self, node: usize, text: &str) -> Rows {
        let rows = self.clients[node % 3].run(text, Quorum);
        assert!(!rows.is_empty() && rows.iter().all(|row| row[0].as_deref() == NO), "{text}: {rows:?}");
        rows.into_iter().map(|row| row[1..].to_vec()).collect()
    }

    /// All nodes give these rows at a serial level.
    #[track_caller]
    fn all_give(&mut self, level: Consistency, text: &str, expected: &Rows) {
        for (node, client) in self.clients.iter_mut().enumerate() {
            assert_eq!(client.run(text, level), *expected, "{text} through node {node}");
            for page in [1, 7, 100] {
                assert_eq!(client.pages(text, level, page), *expected, "{text} through node {node} by pages of {page}");
            }
        }
    }
}

fn statements(shards: &[u16; 3], replicas: u32) {
    let mut three = three(shards, replicas);
    for key in KEYS {
        let n = key;
        let insert = format!("INSERT INTO ks.l (k, c, v) VALUES ({key}, 1, 10) IF NOT EXISTS");
        three.applies(n, &insert);
        let row = vec![int(key as i32), int(1), None, int(10)];
        let rows = vec![row];
        assert_eq!(three.refuses(n + 1, &insert), rows, "the row that is there");
        three.all_give(Serial, &format!("SELECT * FROM ks.l WHERE k = {key}"), &rows);

        let update = format!("UPDATE ks.l SET v = 11 WHERE k = {key} AND c = 1 IF v = 10");
        three.applies(n + 2, &update);
        assert_eq!(three.refuses(n, &update), [[int(11)]]);

        // Static columns: their own condition, and one that a row's statement changes along.
        let first = format!("UPDATE ks.l SET s = 1 WHERE k = {key} IF s = null");
        three.applies(n + 1, &first);
        assert_eq!(three.refuses(n + 2, &first), [[int(1)]]);

        let batch = format!(
            "BEGIN BATCH INSERT INTO ks.l (k, c, v) VALUES ({key}, 2, 20) IF NOT EXISTS; \
             UPDATE ks.l SET v = 12 WHERE k = {key} AND c = 1 IF v = 11; \
             UPDATE ks.l SET s = 2 WHERE k = {key} IF s = 1; \
             INSERT INTO ks.l (k, c, v) VALUES ({key}, 3, 30); APPLY BATCH"
        );
        three.applies(n, &batch);
        assert!(!three.refuses(n + 1, &batch).is_empty());
        let rows = [(1, 12), (2, 20), (3, 30)].map(|(c, v)| vec![int(key as i32), int(c), int(2), int(v)]);
        three.all_give(LocalSerial, &format!("SELECT k, c, s, v FROM ks.l WHERE k = {key}"), &rows.to_vec());
        three.all_give(Serial, &format!("SELECT DISTINCT s FROM ks.l WHERE k = {key}"), &vec![vec![int(2)]]);

        let delete = format!("DELETE FROM ks.l WHERE k = {key} AND c = 2 IF EXISTS");
        three.applies(n + 2, &delete);
        let _ = three.refuses(n, &delete);
        let counted = vec![vec![Some(2_i64.to_be_bytes().to_vec())]];
        for client in &mut three.clients {
            assert_eq!(client.run(&format!("SELECT count(*) FROM ks.l WHERE k = {key}"), Serial), counted);
        }
    }
}

#[test]
fn each_node_serves_conditional_statements_of_three_replicas() {
    statements(&[1, 1, 1], 3);
}

#[test]
fn nodes_with_several_shards_serve_conditional_statements() {
    statements(&[2, 3, 1], 3);
}

#[test]
fn a_node_serves_conditional_statements_of_partitions_that_it_has_no_replica_of() {
    statements(&[1, 2, 2], 2);
    statements(&[2, 1, 1], 1);
}

#[test]
fn a_serial_read_goes_over_pages_of_rows_that_were_written_conditionally() {
    let mut three = three(&[2, 1, 2], 3);
    for row in 0..ROWS {
        let text = format!("INSERT INTO ks.l (k, c, s, v) VALUES (1, {row}, {row}, {row}) IF NOT EXISTS");
        three.applies(row as usize, &text);
    }
    // Tombstones between the rows fill a replica's pages.
    for row in (0..ROWS).filter(|row| row % 4 != 0) {
        three.applies(row as usize, &format!("DELETE FROM ks.l WHERE k = 1 AND c = {row} IF v = {row}"));
    }
    let live = (0..ROWS).filter(|row| row % 4 == 0);
    let rows: Rows = live.map(|row| vec![int(row), int(ROWS - 1), int(row)]).collect();
    three.all_give(Serial, "SELECT c, s, v FROM ks.l WHERE k = 1", &rows);
    let backwards: Rows = rows.iter().rev().cloned().collect();
    three.all_give(Serial, "SELECT c, s, v FROM ks.l WHERE k = 1 ORDER BY c DESC", &backwards);
    three.all_give(LocalSerial, "SELECT c, s, v FROM ks.l WHERE k = 1 AND c > 8 LIMIT 5", &rows[3..8].to_vec());
}

/// Clients of all nodes change one register at once: each change that was answered as applied is in it, and no other.
#[test]
fn changes_through_all_nodes_at_once_come_one_after_the_other() {
    const CHANGES: i32 = 12;
    let mut three = three(&[1, 2, 1], 3);
    three.applies(0, "INSERT INTO ks.l (k, c, v) VALUES (1, 1, 0) IF NOT EXISTS");
    let clients = std::mem::take(&mut three.clients);
    let changing: Vec<_> = clients.into_iter().map(|client| std::thread::spawn(|| change(client, CHANGES))).collect();
    let (mut done, mut unknown) = (0, 0);
    for changed in changing {
        let (applied, failed, client) = changed.join().expect("it ends");
        (done, unknown) = (done + applied, unknown + failed);
        three.clients.push(client);
    }
    let rows = three.clients[0].run("SELECT v FROM ks.l WHERE k = 1 AND c = 1", Serial);
    let value = rows[0][0].as_deref().and_then(|bytes| bytes.try_into().ok()).map(i32::from_be_bytes);
    let value = value.expect("an int");
    assert!(done > 0, "all is unknown");
    assert!((done..=done + unknown).contains(&value), "{done} changes are done, perhaps {unknown} more: {value}");
    three.all_give(Serial, "SELECT v FROM ks.l WHERE k = 1 AND c = 1", &vec![vec![int(value)]]);
}

/// Adds one so many times. Gives how many changes were applied, of how many it is not known, and the client.
fn change(mut client: Client, changes: i32) -> (i32, i32, Client) {
    let (mut applied, mut unknown, mut seen) = (0, 0, 0);
    while applied + unknown < changes {
        let text = format!("UPDATE ks.l SET v = {} WHERE k = 1 AND c = 1 IF v = {seen}", seen + 1);
        match client.try_run(&text, Quorum) {
            Ok(rows) if self::applied(&rows) == YES => (applied, seen) = (applied + 1, seen + 1),
            Ok(rows) => {
                let bytes = rows[0][1].as_deref().expect("the value that is there");
                seen = i32::from_be_bytes(bytes.try_into().expect("an int"));
            }
            Err(_) => unknown += 1,
        }
    }
    (applied, unknown, client)
}
