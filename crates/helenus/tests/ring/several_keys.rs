//! Reads of several partitions that IN names: with other nodes they are read side by side, and give what this node alone would.

use cql_protocol::Consistency::{All, One, Quorum};

use crate::harness::{Client, Node, Ring};
use crate::levels::create;

/// Longer than a page of one partition.
const LONG: usize = 300 << 10;
const MIDDLING: usize = 20 << 10;

fn fill(client: &mut Client) {
    let mut put = |key: i32, row: i32, length: usize| {
        let value = "v".repeat(length);
        client.run_when_met(&format!("INSERT INTO ks.t (k, c, v) VALUES ({key}, {row}, '{value}')"), All);
    };
    for key in 0..60 {
        (0..key % 5).for_each(|row| put(key, row, 8));
    }
    (0..2).for_each(|row| put(7, row, LONG));
    (0..40).for_each(|row| put(9, row, MIDDLING));
    for text in ["DELETE FROM ks.t WHERE k = 11", "DELETE FROM ks.t WHERE k = 12 AND c > 0"] {
        client.run_when_met(text, All);
    }
}

#[test]
fn several_partitions_are_read_side_by_side_as_they_are_one_after_the_other() {
    let ring = Ring::new(&[2, 2]);
    let nodes: Vec<Node> = (0..2).map(|index| ring.start(index)).collect();
    let mut clients: Vec<Client> = nodes.iter().map(Node::client).collect();
    create(&mut clients);
    fill(&mut clients[0]);
    let client = &mut clients[1];
    let keys = (0..70).rev().map(|key| key.to_string()).collect::<Vec<_>>().join(", ");
    for text in [
        "SELECT * FROM ks.t WHERE k IN (#)",
        "SELECT * FROM ks.t WHERE k IN (#) LIMIT 10",
        "SELECT * FROM ks.t WHERE k IN (#) PER PARTITION LIMIT 2",
        "SELECT * FROM ks.t WHERE k IN (#) PER PARTITION LIMIT 3 LIMIT 40",
        "SELECT k, c FROM ks.t WHERE k IN (#) AND c >= 1",
        "SELECT DISTINCT k FROM ks.t WHERE k IN (#)",
        "SELECT count(*), max(c) FROM ks.t WHERE k IN (#)",
        "SELECT k, count(*) FROM ks.t WHERE k IN (#) GROUP BY k",
        "SELECT k, c FROM ks.t WHERE k IN (9, 3) ORDER BY c DESC",
    ] {
        let text = text.replace('#', &keys);
        // This node has all: it asks no other, and reads one partition after the other.
        let expected = client.run(&text, One);
        assert!(!expected.is_empty(), "{text}");
        assert!(client.run_when_met(&text, Quorum) == expected, "{text}");
        if !text.contains("ORDER BY") {
            for page in [1, 7, 100] {
                assert!(client.pages(&text, Quorum, page) == expected, "{text}, by pages of {page}");
            }
        }
    }
}
