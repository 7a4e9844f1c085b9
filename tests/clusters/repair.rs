//! `nodetool repair` on three real nodes: one is killed and misses writes and deletions without hints, and has them after a repair.

use cql_protocol::Consistency;
use helenus_tests::{Builder, Connection, Net, Printed, Server, nodetool};

use super::nodes::{KEYSPACE_OF_ONE, Three, until};

/// No read mends what a node lacks.
const TABLE: &str = "CREATE TABLE ks.t (k int, c int, v text, PRIMARY KEY (k, c)) WITH read_repair = 'NONE'";
/// Partitions with two rows each: those below the first were written before the node was away.
const OLD: i32 = 120;
const ROWS: i32 = 200;

/// Three nodes, the first of which has two shards and the others one.
fn start() -> Three {
    let net = Net::new();
    let builders = [(1, 2), (2, 1), (3, 1)]
        .map(|(number, smp)| net.node_at(number, Builder::new("auto", smp).for_operators(), &[1, 2]));
    Three::of(net, builders)
}

/// Repairs, once the node sees all others.
fn repaired(server: &Server, line: &str) -> Printed {
    let mut printed = nodetool(server, line);
    until("all nodes are seen", || {
        if printed.code != 0 && printed.errors.contains("Endpoint not alive") {
            printed = nodetool(server, line);
            return false;
        }
        true
    });
    printed
}

/// How many rows of a partition the client's node finds, at ONE. The answer of a count ends with eight bytes.
fn rows_of(client: &mut Connection, key: i32) -> u64 {
    let answer = client.query(&format!("SELECT count(*) FROM ks.t WHERE k = {key}")).expect("one replica is enough");
    u64::from_be_bytes(*answer.body.last_chunk().expect("a bigint"))
}

/// The rows that a partition has in the end.
fn expected(key: i32) -> u64 {
    match key {
        // Deleted whole.
        key if key < OLD && key % 3 == 0 => 0,
        // One row, or a range of one, deleted.
        key if key < OLD && key % 3 == 1 => 1,
        _ => 2,
    }
}

#[test]
fn a_node_that_missed_writes_and_deletions_has_them_after_a_repair() {
    let mut three = start();
    let (away, others) = three.restored_and_others();
    for node in others {
        let server = three.server(node);
        assert_eq!(nodetool(server, "disablehandoff").code, 0);
    }
    let mut client = three.connect(others[0]);
    client.query(TABLE).expect("all are up");
    let insert = |client: &mut Connection, key: i32, level: Consistency| {
        for c in 0..2 {
            let insert = format!("INSERT INTO ks.t (k, c, v) VALUES ({key}, {c}, 'v{key}')");
            until("enough replicas answer", || client.query_at(&insert, level).is_ok());
        }
    };
    for key in 0..OLD {
        insert(&mut client, key, Consistency::All);
    }
    three.kill(away);
    for key in OLD..ROWS {
        insert(&mut client, key, Consistency::Quorum);
    }
    for key in 0..OLD {
        let delete = match key % 3 {
            0 => format!("DELETE FROM ks.t WHERE k = {key}"),
            1 if key % 2 == 0 => format!("DELETE FROM ks.t WHERE k = {key} AND c = 1"),
            1 => format!("DELETE FROM ks.t WHERE k = {key} AND c > 0"),
            _ => continue,
        };
        until("two of three are enough", || client.query_at(&delete, Consistency::Quorum).is_ok());
    }
    let down = nodetool(three.server(others[0]), "repair ks");
    assert_eq!(down.code, 2, "a replica is down: {}", down.output);
    assert!(down.errors.contains("Endpoint not alive"), "{}", down.errors);
    three.restart(away);
    let mut alone = three.connect(away);
    assert_eq!(rows_of(&mut alone, OLD), 0, "there are no hints");
    let printed = repaired(three.server(others[0]), "repair ks");
    assert_eq!((printed.code, printed.errors.as_str()), (0, ""), "{}", printed.output);
    for words in
        ["Starting repair command #", "repairing keyspace ks", "(progress: 100%)", "Repair completed successfully"]
    {
        assert!(printed.output.contains(words), "no `{words}` in:\n{}", printed.output);
    }
    // Alone it can have them from no other.
    drop((client, alone));
    others.into_iter().for_each(|node| three.kill(node));
    let mut client = three.connect(away);
    let wrong: Vec<(i32, u64)> =
        (0..ROWS).map(|key| (key, rows_of(&mut client, key))).filter(|(key, rows)| *rows != expected(*key)).collect();
    assert!(wrong.is_empty(), "partitions with another count of rows: {wrong:?}");
    three.stop();
}

#[test]
fn a_repair_with_nothing_to_do_or_wrong_terms_says_so() {
    let mut three = start();
    let mut client = three.connect(0);
    for text in [KEYSPACE_OF_ONE, "CREATE TABLE lone.t (k int PRIMARY KEY)", TABLE] {
        client.query(text).expect("all are up");
    }
    let server = three.server(0);
    let printed = nodetool(server, "repair lone");
    assert_eq!(printed.code, 0, "{}", printed.errors);
    assert!(
        printed.output.contains("Replication factor is 1. No repair is needed for keyspace 'lone'"),
        "{}",
        printed.output
    );
    for (line, words) in [
        ("repair -inc ks", "every repair is full"),
        ("repair --preview ks", "--preview"),
        ("repair nothing", "keyspace 'nothing' does not exist"),
        ("repair ks nothing", "table 'nothing' does not exist"),
        ("repair -hosts 127.9.9.9 ks", "Unknown host specified 127.9.9.9"),
        ("repair -dc elsewhere ks", "not found"),
        ("repair -st -9223372036854775807 -et 9223372036854775806 ks", "would lead to imprecise repair"),
    ] {
        let printed = nodetool(server, line);
        assert_eq!(printed.code, 1, "{line}: {}", printed.output);
        assert!(printed.errors.contains(words), "{line}: {}", printed.errors);
    }
    for line in ["repair -full -pr ks t", "repair -local ks", "repair -dc datacenter1 ks"] {
        let printed = repaired(server, line);
        assert_eq!((printed.code, printed.errors.as_str()), (0, ""), "{line}: {}", printed.output);
        assert!(printed.output.contains("Repair completed successfully"), "{line}: {}", printed.output);
    }
    three.stop();
}
