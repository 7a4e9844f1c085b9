//! Writing and reading at each level, with both nodes and with one.

use cql_protocol::{Consistency, ErrorKind, WriteType};

use crate::harness::{Client, Node, Ring, Rows, wait_until};

pub const KEYSPACE: &str = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}";
pub const TABLE: &str = "CREATE TABLE ks.t (k int, c int, v text, PRIMARY KEY (k, c)) \
                     WITH id = 6f2b1c90-0000-11f0-8000-000000000001";

pub fn create(clients: &mut [Client]) {
    for client in clients {
        for text in [KEYSPACE, TABLE] {
            client.run(text, Consistency::One);
        }
    }
}

fn two(ring: &Ring) -> (Vec<Node>, Vec<Client>) {
    let nodes: Vec<Node> = (0..2).map(|index| ring.start(index)).collect();
    let clients = nodes.iter().map(Node::client).collect();
    (nodes, clients)
}

fn sorted(mut rows: Rows) -> Rows {
    rows.sort();
    rows
}

fn write_all_read_all_and_one(shards: &[u16]) {
    let ring = Ring::new(shards);
    let (_nodes, mut clients) = two(&ring);
    create(&mut clients);
    for key in 0..100 {
        let text = format!("INSERT INTO ks.t (k, c, v) VALUES ({key}, {}, 'value {key}')", key % 3);
        clients[key % 2].run_when_met(&text, Consistency::All);
    }
    let expected: Rows = (0..100)
        .map(|key: i32| {
            let value = format!("value {key}").into_bytes();
            vec![Some(key.to_be_bytes().to_vec()), Some((key % 3).to_be_bytes().to_vec()), Some(value)]
        })
        .collect();
    for client in &mut clients {
        for level in [Consistency::All, Consistency::One, Consistency::Quorum, Consistency::LocalQuorum] {
            for key in (0..100).step_by(7) {
                let rows = client.run_when_met(&format!("SELECT * FROM ks.t WHERE k = {key}"), level);
                assert_eq!(rows, [expected[key].clone()], "key {key} at {level:?}");
            }
            let scanned = client.run_when_met("SELECT * FROM ks.t", level);
            assert_eq!(sorted(scanned.clone()), sorted(expected.clone()), "a scan at {level:?}");
            assert_eq!(client.pages("SELECT * FROM ks.t", level, 7), scanned, "pages of a scan at {level:?}");
            let ranged = "SELECT * FROM ks.t WHERE token(k) > -4000000000000000000 AND token(k) <= 5000000000000000000";
            let tokens = client.run("SELECT token(k) FROM ks.t", level);
            let inside = tokens.iter().filter(|row| {
                let token = row[0].as_ref().and_then(|bytes| bytes.first_chunk()).expect("a token has eight bytes");
                (-4_000_000_000_000_000_000..=5_000_000_000_000_000_000).contains(&(i64::from_be_bytes(*token) - 1))
                    || i64::from_be_bytes(*token) == 5_000_000_000_000_000_000
            });
            assert_eq!(client.run(ranged, level).len(), inside.count(), "a range of tokens at {level:?}");
        }
    }
}

#[test]
fn what_is_written_at_all_is_read_at_every_level() {
    write_all_read_all_and_one(&[2, 2]);
}

#[test]
fn nodes_with_different_shard_counts_understand_each_other() {
    write_all_read_all_and_one(&[1, 3]);
}

#[test]
fn with_one_node_down_one_works_and_all_is_unavailable() {
    let ring = Ring::new(&[2, 2]);
    let (mut nodes, mut clients) = two(&ring);
    create(&mut clients);
    for key in 0..20 {
        clients[0].run_when_met(&format!("INSERT INTO ks.t (k, c, v) VALUES ({key}, 0, 'both')"), Consistency::All);
    }
    drop(nodes.pop());
    let client = &mut clients[0];
    let insert = "INSERT INTO ks.t (k, c, v) VALUES (1, 1, 'alone')";
    let error = client.error_when_seen(insert, Consistency::All);
    assert_eq!(
        error.kind,
        ErrorKind::Unavailable { consistency: Consistency::All, required: 2, alive: 1 },
        "a node that is known to be down leaves too few: {}",
        error.message
    );
    for text in ["SELECT * FROM ks.t WHERE k = 1", "SELECT * FROM ks.t"] {
        let error = client.error_when_seen(text, Consistency::All);
        assert_eq!(error.kind, ErrorKind::Unavailable { consistency: Consistency::All, required: 2, alive: 1 });
    }
    client.run(insert, Consistency::One);
    assert_eq!(client.run("SELECT * FROM ks.t WHERE k = 1", Consistency::One).len(), 2);
    assert_eq!(client.run("SELECT * FROM ks.t", Consistency::One).len(), 21);

    let again = ring.start(1);
    client.run_when_met("INSERT INTO ks.t (k, c, v) VALUES (2, 1, 'both again')", Consistency::All);
    assert_eq!(
        client.run_when_met("SELECT * FROM ks.t", Consistency::All).len(),
        22,
        "what one missed is there at ALL"
    );
    assert_eq!(again.client().run_when_met("SELECT * FROM ks.t WHERE k = 1", Consistency::All).len(), 2);
}

/// Bytes of a value that no other hint has.
const LONG: usize = 4000;

/// Bytes of the hints that a node keeps.
fn hint_bytes(ring: &Ring, index: usize) -> u64 {
    let folders = std::fs::read_dir(ring.data_dir(index).join("hints")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.map(|file| file.metadata().map_or(0, |metadata| metadata.len())).sum()
}

#[test]
fn a_node_has_what_it_missed_though_the_one_that_kept_its_hint_ended_too() {
    let ring = Ring::new(&[2, 2]);
    let (mut nodes, mut clients) = two(&ring);
    create(&mut clients);
    clients[0].run_when_met("INSERT INTO ks.t (k, c, v) VALUES (1, 0, 'both')", Consistency::All);
    drop(nodes.pop());
    clients[0].error_when_seen("INSERT INTO ks.t (k, c, v) VALUES (1, 0, 'both')", Consistency::All);
    let long = "x".repeat(LONG);
    clients[0].run(&format!("INSERT INTO ks.t (k, c, v) VALUES (1, 1, '{long}')"), Consistency::One);
    wait_until("the hint is in a file", || hint_bytes(&ring, 0) > LONG as u64);
    drop(nodes);
    let again = [ring.start(0), ring.start(1)];
    let mut client = again[1].client();
    wait_until("the node has what it missed", || {
        client.try_run("SELECT * FROM ks.t WHERE k = 1", Consistency::One).is_ok_and(|rows| rows.len() == 2)
    });
    wait_until("the hint is removed", || hint_bytes(&ring, 0) == 0);
}

#[test]
fn a_replica_that_refuses_makes_the_write_fail_and_names_it() {
    let ring = Ring::new(&[2, 2]);
    let (_nodes, mut clients) = two(&ring);
    // The second node knows no such table.
    create(&mut clients[..1]);
    clients[1].run(KEYSPACE, Consistency::One);
    let insert = "INSERT INTO ks.t (k, c, v) VALUES (1, 1, 'one side')";
    let deadline = std::time::Instant::now() + crate::harness::PATIENCE;
    let error = loop {
        let error = clients[0].try_run(insert, Consistency::All).expect_err("one replica refuses");
        if !matches!(error.kind, ErrorKind::Unavailable { .. }) {
            break error;
        }
        assert!(std::time::Instant::now() < deadline, "the nodes do not meet");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    let ErrorKind::WriteFailure { consistency, block_for, write_type, .. } = error.kind else {
        panic!("a refusal is a failure, not {error:?}");
    };
    assert_eq!((consistency, block_for, write_type), (Consistency::All, 2, WriteType::Simple));
    clients[0].run(insert, Consistency::One);
}

#[test]
fn a_node_of_another_cluster_is_not_let_in() {
    let mut ring = Ring::new(&[1, 1]);
    ring.cluster_names[1] = "Another".to_owned();
    let (_nodes, mut clients) = two(&ring);
    create(&mut clients);
    for client in &mut clients {
        let deadline = std::time::Instant::now() + std::time::Duration::from_millis(500);
        while std::time::Instant::now() < deadline {
            let error =
                client.try_run("SELECT * FROM ks.t WHERE k = 1", Consistency::All).expect_err("they never meet");
            assert!(matches!(error.kind, ErrorKind::Unavailable { .. }), "{error:?}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// A node that greets and then says nothing: what a peer is that hangs.
fn hang(listener: std::net::TcpListener) {
    use internode::{Boot, GroupTag, Hello, Verdict, Welcome};
    use std::io::{Read, Write};
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut piece = [0; 1024];
            while let Ok(count) = stream.read(&mut piece) {
                if count == 0 {
                    return;
                }
                bytes.extend_from_slice(&piece[..count]);
                if let Ok(Some((hello, _))) = Hello::decode(&bytes) {
                    let Hello { version, wanted: host_id, cluster_name, .. } = hello;
                    let welcome = Welcome {
                        version,
                        verdict: Verdict::Welcome,
                        shard_count: 2,
                        host_id,
                        group: GroupTag::default(),
                        boot: Boot::default(),
                        epoch: 0,
                        random: [0; 16],
                        cluster_name,
                        proof: None,
                    };
                    stream.write_all(&welcome.encode()).expect("the dialler waits for it");
                    bytes.clear();
                }
            }
        });
    }
}

#[test]
fn a_node_that_hangs_makes_writes_and_reads_time_out_and_is_then_down() {
    let mut ring = Ring::new(&[2, 2]);
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
    ring.move_internode(1, listener.local_addr().expect("a bound socket has an address"));
    std::thread::spawn(move || hang(listener));
    let node = ring.start(0);
    let mut client = node.client();
    for text in [KEYSPACE, TABLE] {
        client.run(text, Consistency::One);
    }
    let insert = "INSERT INTO ks.t (k, c, v) VALUES (1, 1, 'x')";
    let deadline = std::time::Instant::now() + crate::harness::PATIENCE;
    let error = loop {
        let error = client.try_run(insert, Consistency::All).expect_err("one replica says nothing");
        if !matches!(error.kind, ErrorKind::Unavailable { .. }) {
            break error;
        }
        assert!(std::time::Instant::now() < deadline, "the greeting is not taken");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    let consistency = Consistency::All;
    assert_eq!(
        error.kind,
        ErrorKind::WriteTimeout {
            consistency,
            received: 1,
            block_for: 2,
            write_type: WriteType::Simple,
            contentions: None
        },
        "{}",
        error.message
    );
    client.run(insert, Consistency::One);
    // Whether the silence is noticed first or the time is over first, one of two has answered.
    let deadline = std::time::Instant::now() + crate::harness::PATIENCE;
    let error = loop {
        let error = client.try_run("SELECT * FROM ks.t WHERE k = 1", Consistency::All).expect_err("one says nothing");
        if !matches!(error.kind, ErrorKind::Unavailable { .. }) {
            break error;
        }
        assert!(std::time::Instant::now() < deadline, "the greeting is not taken");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    assert_eq!(error.kind, ErrorKind::ReadTimeout { consistency, received: 1, block_for: 2, data_present: true });
}
