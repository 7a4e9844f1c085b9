//! Two replicas that were given different writes come to what one node comes to that was given all of them.

use cql_protocol::Consistency;

use crate::harness::{Client, Node, Ring};
use crate::levels::KEYSPACE;

const TABLE: &str = "CREATE TABLE ks.d (k int, c int, s text static, v text, PRIMARY KEY (k, c)) \
                     WITH id = 6f2b1c90-0000-11f0-8000-000000000002";

fn create(clients: &mut [Client]) {
    for client in clients {
        client.run(KEYSPACE, Consistency::One);
        client.run(TABLE, Consistency::One);
    }
}

/// A small generator of numbers, the same in each run with the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A statement with its time; few times, so that ties happen.
fn statement(numbers: &mut Numbers) -> String {
    let (key, row, time) = (numbers.below(4), numbers.below(12), 1 + numbers.below(30));
    let (low, high) = (numbers.below(12), numbers.below(12));
    let value = numbers.below(1000);
    match numbers.below(14) {
        12 => format!("UPDATE ks.d USING TIMESTAMP {time} SET s = 's{value}' WHERE k = {key}"),
        13 => format!("DELETE s FROM ks.d USING TIMESTAMP {time} WHERE k = {key}"),
        0..=4 => format!("INSERT INTO ks.d (k, c, v) VALUES ({key}, {row}, 'v{value}') USING TIMESTAMP {time}"),
        5..=6 => format!("UPDATE ks.d USING TIMESTAMP {time} SET v = 'u{value}' WHERE k = {key} AND c = {row}"),
        7 => format!("DELETE v FROM ks.d USING TIMESTAMP {time} WHERE k = {key} AND c = {row}"),
        8..=9 => format!("DELETE FROM ks.d USING TIMESTAMP {time} WHERE k = {key} AND c = {row}"),
        10 => format!("DELETE FROM ks.d USING TIMESTAMP {time} WHERE k = {key} AND c >= {low} AND c < {high}"),
        _ => format!("DELETE FROM ks.d USING TIMESTAMP {} WHERE k = {key}", time / 3),
    }
}

/// What is asked of both.
fn queries() -> Vec<String> {
    let mut queries = vec![
        "SELECT k, c, v, writetime(v) FROM ks.d".to_owned(),
        "SELECT k, c FROM ks.d LIMIT 5".to_owned(),
        "SELECT k, c FROM ks.d PER PARTITION LIMIT 2".to_owned(),
        "SELECT DISTINCT k, s FROM ks.d".to_owned(),
        "SELECT count(*) FROM ks.d".to_owned(),
        "SELECT k, c, v FROM ks.d WHERE k IN (0, 1, 2, 3) LIMIT 7".to_owned(),
    ];
    for key in 0..4 {
        for rest in ["", " LIMIT 3", " ORDER BY c DESC", " ORDER BY c DESC LIMIT 3", " AND c > 3 AND c <= 9"] {
            queries.push(format!("SELECT k, c, v, writetime(v) FROM ks.d WHERE k = {key}{rest}"));
        }
        queries.push(format!("SELECT k, c, s, v FROM ks.d WHERE k = {key}"));
        queries.push(format!("SELECT c, v FROM ks.d WHERE k = {key} AND c IN (1, 4, 7, 10)"));
        queries.push(format!("SELECT c, v FROM ks.d WHERE k = {key} AND c IN (1, 4, 7, 10) ORDER BY c DESC"));
        queries.push(format!("SELECT c, v FROM ks.d WHERE k = {key} AND c < 8 ORDER BY c DESC"));
    }
    queries
}

fn compare(reference: &mut Client, client: &mut Client, level: Consistency, seed: u64) {
    for query in queries() {
        let expected = reference.run(&query, Consistency::All);
        let given = client.run_when_met(&query, level);
        assert_eq!(given, expected, "seed {seed} at {level:?}: {query}");
        if !query.contains("count") {
            for size in [1, 2, 5] {
                assert_eq!(
                    client.pages(&query, level, size),
                    expected,
                    "seed {seed} at {level:?}, pages of {size}: {query}"
                );
            }
        }
    }
}

fn diverge(seed: u64, statements: usize) {
    let ring = Ring::new(&[2, 2, 1]);
    // Each node at first is a ring of its own.
    let alone: Vec<Node> = (0..3).map(|index| ring.start_among(index, &[index])).collect();
    let mut clients: Vec<Client> = alone.iter().map(Node::client).collect();
    create(&mut clients);
    let mut numbers = Numbers(seed);
    for _ in 0..statements {
        let text = statement(&mut numbers);
        match numbers.below(5) {
            0..=1 => _ = clients[0].run(&text, Consistency::One),
            2..=3 => _ = clients[1].run(&text, Consistency::One),
            _ => {
                clients[0].run(&text, Consistency::One);
                clients[1].run(&text, Consistency::One);
            }
        }
        clients[2].run(&text, Consistency::One);
    }
    drop(clients);
    drop(alone);
    let reference = ring.start_among(2, &[2]);
    let nodes: Vec<Node> = (0..2).map(|index| ring.start_among(index, &[0, 1])).collect();
    let mut reference = reference.client();
    reference.run(
        "ALTER KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        Consistency::One,
    );
    for node in &nodes {
        compare(&mut reference, &mut node.client(), Consistency::All, seed);
    }
    // Those reads have mended what they found: now each replica has it all by itself.
    drop(nodes);
    for index in 0..2 {
        let alone = ring.start_among(index, &[index]);
        compare(&mut reference, &mut alone.client(), Consistency::One, seed);
    }
}

/// A third of six seeds where `HELENUS_SAMPLE` chooses one, as a change's run does by its commit's hash; else all.
#[test]
fn replicas_that_differ_come_to_what_one_node_has() {
    let sample: Option<u64> =
        std::env::var("HELENUS_SAMPLE").ok().map(|number| number.parse().expect("HELENUS_SAMPLE is a number"));
    for seed in (0..6).filter(|seed| sample.is_none_or(|sample| seed % 3 == sample % 3)) {
        diverge(seed, 60 + 40 * seed as usize);
    }
}

#[test]
fn a_long_partition_with_holes_is_read_in_pages() {
    let ring = Ring::new(&[2, 2]);
    let alone: Vec<Node> = (0..2).map(|index| ring.start_among(index, &[index])).collect();
    let mut clients: Vec<Client> = alone.iter().map(Node::client).collect();
    create(&mut clients);
    for client in &mut clients {
        for first in (0..3000).step_by(100) {
            let inserts: Vec<String> = (first..first + 100)
                .map(|row| format!("INSERT INTO ks.d (k, c, v) VALUES (1, {row}, 'x') USING TIMESTAMP 5;"))
                .collect();
            client.run(&format!("BEGIN UNLOGGED BATCH {} APPLY BATCH", inserts.concat()), Consistency::One);
        }
    }
    // Each deletes what the other keeps: a page of either alone would be short.
    for piece in 0..30 {
        let (low, high) = (piece * 100, piece * 100 + 99);
        let text = format!("DELETE FROM ks.d USING TIMESTAMP 6 WHERE k = 1 AND c >= {low} AND c < {high}");
        clients[piece % 2].run(&text, Consistency::One);
    }
    drop(clients);
    drop(alone);
    let nodes: Vec<Node> = (0..2).map(|index| ring.start(index)).collect();
    let expected: Vec<i32> = (0..30).map(|piece| piece * 100 + 99).collect();
    let number = |row: &Vec<Option<Vec<u8>>>| {
        i32::from_be_bytes(*row[0].as_ref().and_then(|bytes| bytes.first_chunk()).expect("an int has four bytes"))
    };
    for node in &nodes {
        let mut client = node.client();
        for (text, is_reversed) in [
            ("SELECT c FROM ks.d WHERE k = 1", false),
            ("SELECT c FROM ks.d WHERE k = 1 ORDER BY c DESC", true),
            ("SELECT c FROM ks.d", false),
        ] {
            let mut expected = expected.clone();
            if is_reversed {
                expected.reverse();
            }
            client.run_when_met(text, Consistency::All);
            for size in [3, 10, 100] {
                let rows = client.pages(text, Consistency::All, size);
                assert_eq!(rows.iter().map(number).collect::<Vec<_>>(), expected, "pages of {size}: {text}");
            }
            let limited = client.run(&format!("{text} LIMIT 4"), Consistency::All);
            assert_eq!(limited.iter().map(number).collect::<Vec<_>>(), expected[..4], "{text} LIMIT 4");
        }
    }
}
