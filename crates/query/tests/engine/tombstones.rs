//! Reads that meet many tombstones: what the client is told, wherever the data lies, and when it is refused.

use cql_protocol::ErrorCode;
use query::{Guardrails, Threshold};

use crate::harness::{Client, Folder, Reply, run_guarded, run_node_with};
use crate::requests::{KEYSPACE, ints, must};

/// A set of so many integers.
fn integers(count: i32) -> String {
    let all: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    format!("{{{}}}", all.join(", "))
}

/// How many live rows and tombstones each warning of a reply tells of.
fn told(reply: &Reply) -> Vec<(u32, u32)> {
    let (prefix, _) = reply.response();
    let number = |word: Option<&str>| word.and_then(|word| word.parse().ok()).expect("a number");
    let told = prefix.warnings.iter().map(|warning| {
        let mut words = warning.split(' ');
        assert_eq!(words.next(), Some("Read"), "{warning}");
        let live = number(words.next());
        assert_eq!((words.next(), words.next(), words.next()), (Some("live"), Some("rows"), Some("and")), "{warning}");
        (live, number(words.next()))
    });
    told.collect()
}

const TABLE: &str = "CREATE TABLE ks.t (k int, c int, s set<int> static, v int, e set<int>, PRIMARY KEY (k, c))";

/// What each of these reads meets of partition 1.
const READS: [(&str, u32, u32); 7] = [
    // 1,001 elements; a row that was deleted; two ends of each of two ranges; a cell; of the static row nothing.
    ("SELECT v FROM ks.t WHERE k = 1", 2, 1_007),
    ("SELECT v FROM ks.t WHERE k = 1 ORDER BY c DESC", 2, 1_007),
    ("SELECT v FROM ks.t WHERE k = 1 AND c < 9", 1, 1_005),
    ("SELECT v FROM ks.t WHERE k = 1 AND c > 2 AND c < 35", 1, 1_005),
    ("SELECT v FROM ks.t WHERE k = 1 AND c > 2 AND c < 35 ORDER BY c DESC", 1, 1_005),
    ("SELECT v FROM ks.t", 2, 1_007),
    ("SELECT v FROM ks.t LIMIT 100", 2, 1_007),
];

async fn write(client: &Client) {
    let elements = integers(1_001);
    for text in [
        "INSERT INTO ks.t (k, c, v) VALUES (1, 1, 1)",
        "DELETE v FROM ks.t WHERE k = 1 AND c = 1",
        "DELETE FROM ks.t WHERE k = 1 AND c = 2",
        &format!("UPDATE ks.t SET e = e - {elements} WHERE k = 1 AND c = 4"),
        "DELETE FROM ks.t WHERE k = 1 AND c > 5 AND c < 7",
        "INSERT INTO ks.t (k, c, v) VALUES (1, 20, 20)",
        "INSERT INTO ks.t (k, c, e) VALUES (1, 20, {1, 2})",
        "DELETE FROM ks.t WHERE k = 1 AND c >= 30 AND c < 40",
    ] {
        must(client, text).await;
    }
}

async fn reads(client: &Client, place: &str) {
    for (text, live, tombstones) in READS {
        assert_eq!(told(&client.query(text).await), [(live, tombstones)], "{place}: {text}");
    }
    let deleted = client.query("SELECT v FROM ks.t WHERE k = 1 AND c = 2").await;
    assert_eq!(told(&deleted), [], "{place}");
}

#[test]
fn they_are_counted_alike_in_memory_in_files_and_in_the_cache() {
    for caching in ["{}", "{'keys': 'NONE', 'rows_per_partition': 'NONE'}"] {
        let folder = Folder::new("tombstones-places");
        run_node_with(folder.path(), 1, |client, _, storage| async move {
            must(&client, KEYSPACE).await;
            must(&client, &format!("{TABLE} WITH caching = {caching}")).await;
            write(&client).await;
            reads(&client, "in memory").await;
            storage.flush_at_end(true).await.expect("all is flushed");
            reads(&client, "in a file").await;
            reads(&client, "in a file, read before").await;
            // What is written once more hides what was.
            write(&client).await;
            reads(&client, "in memory and in a file").await;
            storage.flush_at_end(true).await.expect("all is flushed");
            reads(&client, "in two files").await;
            reads(&client, "in two files, read before").await;
        });
    }
}

#[test]
fn too_many_end_a_read_on_whichever_shard() {
    for shards in [1, 2] {
        let folder = Folder::new("tombstones-too-many");
        let rails = Guardrails { tombstones: Threshold { warn: Some(3), fail: Some(20) }, ..Guardrails::default() };
        run_guarded(folder.path(), shards, &rails, |client| async move {
            must(&client, KEYSPACE).await;
            must(&client, TABLE).await;
            for k in 0..8 {
                must(&client, &format!("INSERT INTO ks.t (k, c, v) VALUES ({k}, 100, {k})")).await;
                for c in 0..6 {
                    must(&client, &format!("DELETE FROM ks.t WHERE k = {k} AND c = {c}")).await;
                }
            }
            for k in 0..8 {
                let text = format!("SELECT v FROM ks.t WHERE k = {k}");
                let reply = client.query(&text).await;
                assert_eq!((told(&reply), ints(&reply)), (vec![(1, 6)], vec![k]), "{text}");
                let text = format!("SELECT v FROM ks.t WHERE k = {k} AND c > 2");
                let reply = client.query(&text).await;
                assert_eq!((told(&reply), ints(&reply)), (vec![], vec![k]), "{text}");
            }
            let reply = client.query("SELECT v FROM ks.t WHERE k IN (1, 2, 3, 4, 5, 6)").await;
            assert_eq!(told(&reply), [(1, 6); 6], "each partition is a read of its own");
            for text in ["SELECT v FROM ks.t", "SELECT count(*) FROM ks.t", "SELECT v FROM ks.t LIMIT 1000"] {
                let reply = client.query(text).await;
                let error = reply.error();
                assert_eq!(error.code(), ErrorCode::ReadFailure, "{text}: {error}");
                let (prefix, _) = reply.response();
                let told = prefix.warnings.last().map(String::as_str).unwrap_or_default();
                assert!(told.contains("and 21 tombstone cells for query SELECT "), "{text}: {told}");
                assert!(error.message.contains("READ_TOO_MANY_TOMBSTONES"), "{text}: {error}");
            }
            // A partition of nothing else.
            for c in 0..30 {
                must(&client, &format!("DELETE FROM ks.t WHERE k = 9 AND c = {c}")).await;
                must(&client, &format!("DELETE FROM ks.t WHERE k = 10 AND c > {} AND c < {}", c * 10, c * 10 + 5))
                    .await;
            }
            for k in [9, 10] {
                let error = client.query(&format!("SELECT v FROM ks.t WHERE k = {k}")).await.error();
                assert_eq!(error.code(), ErrorCode::ReadFailure, "{k}: {error}");
            }
            // Reads of what the server keeps for itself are not judged.
            for k in 0..12 {
                must(&client, &format!("CREATE TABLE ks.t{k} (k int PRIMARY KEY)")).await;
                must(&client, &format!("DROP TABLE ks.t{k}")).await;
            }
            must(&client, "SELECT * FROM system_schema.tables").await;
        });
    }
}
