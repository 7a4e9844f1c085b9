//! What requests that asked to be traced leave in `system_traces`, and what clients are warned of.

use crate::harness::{Client, Folder, Reply, buffer, run_node};
use crate::requests::{KEYSPACE, must};
use cql_protocol::request::{BatchBuilder, BatchKind, BatchQuery, Query, Request};
use cql_protocol::{Consistency, QueryParams, Response, ResultBody, Value};

/// The columns of each row as texts; what is none is empty.
fn texts(reply: &Reply) -> Vec<Vec<String>> {
    match reply.response().1 {
        Response::Result(ResultBody::Rows(rows)) => rows
            .iter()
            .map(|row| row.map(|value| String::from_utf8_lossy(value.unwrap_or_default()).into_owned()).collect())
            .collect(),
        other => panic!("rows were expected, not {other:?}"),
    }
}

/// Runs a statement traced; gives its steps, as `system_traces` has them, and the session's columns.
async fn traced(client: &Client, text: &str) -> (Vec<String>, Vec<String>) {
    let request = Request::Query(Query { text, params: QueryParams::new(Consistency::One) });
    let reply = client.send_traced(&request).await;
    let id = reply.response().0.tracing_id.expect("the client is told the id");
    let read = async |text: &str| {
        let values = buffer(&[Value::Bytes(&id)]);
        let params = QueryParams { values: values.values(), ..QueryParams::new(Consistency::One) };
        texts(&client.query_with(text, params).await)
    };
    let events = read("SELECT activity FROM system_traces.events WHERE session_id = ?").await;
    let session = read("SELECT request, command FROM system_traces.sessions WHERE session_id = ?").await;
    let took = read("SELECT duration FROM system_traces.sessions WHERE session_id = ?").await;
    assert_eq!((session.len(), took.len()), (1, 1), "there is one such session");
    (events.into_iter().flatten().collect(), session.into_iter().flatten().collect())
}

#[test]
fn traced_requests_leave_their_steps() {
    for shards in [1, 2] {
        let folder = Folder::new("traced");
        run_node(folder.path(), shards, move |client| async move {
            must(&client, KEYSPACE).await;
            must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").await;
            let (steps, session) = traced(&client, "INSERT INTO ks.t (k, v) VALUES (1, 1)").await;
            assert_eq!(session, ["Execute CQL3 query", "QUERY"]);
            assert_eq!(steps[0], "Parsing INSERT INTO ks.t (k, v) VALUES (1, 1)");
            assert!(steps.last().is_some_and(|step| step.contains("synced")), "{steps:?}");
            let (steps, _) = traced(&client, "SELECT * FROM ks.t WHERE k = 1").await;
            let has = |what: &str| steps.iter().any(|step| step.contains(what));
            assert!(has("single-partition query on t") && has("Read what was asked for"), "{steps:?}");
            assert!(has("memtables and 0 of 0 SSTables") || has("which owns the partition"), "{steps:?}");
            let (steps, _) = traced(&client, "SELECT * FROM ks.nothere").await;
            assert!(steps.last().is_some_and(|step| step.starts_with("Refused: ")), "{steps:?}");
            let sessions = texts(&client.query("SELECT request FROM system_traces.sessions").await);
            assert_eq!(sessions.len(), 3, "what was not traced left nothing");
        });
    }
}

#[test]
fn traces_have_no_passwords() {
    let folder = Folder::new("traced-passwords");
    run_node(folder.path(), 1, |client| async move {
        for text in [
            "CREATE ROLE r WITH LOGIN = true AND PASSWORD = 'geheim'",
            "ALTER USER r WITH PASSWORD \"geheim\"",
            "CREATE USER r WITH PASSWORD 'geheim",
        ] {
            let (steps, _) = traced(&client, text).await;
            assert!(steps.last().is_some_and(|step| step.starts_with("Refused: ")), "{steps:?}");
            assert!(steps.iter().all(|step| !step.contains("geheim")), "{steps:?}");
        }
        let parameters = client.query("SELECT parameters FROM system_traces.sessions").await;
        assert!(!parameters.body().windows(6).any(|window| window == b"geheim"));
    });
}

#[test]
fn logged_batches_of_tables_without_grace_are_warned_of() {
    let folder = Folder::new("grace-warned");
    run_node(folder.path(), 1, |client| async move {
        must(&client, KEYSPACE).await;
        for (table, grace) in [("none", 0), ("also", 0), ("some", 1)] {
            must(
                &client,
                &format!("CREATE TABLE ks.{table} (k int PRIMARY KEY, v int) WITH gc_grace_seconds = {grace}"),
            )
            .await;
        }
        let warning = |tables: &str| {
            format!(
                "Executing a LOGGED BATCH on {tables}, configured with a gc_grace_seconds of 0. The gc_grace_seconds is used to TTL \
                 batchlog entries, so setting gc_grace_seconds too low on tables involved in an atomic batch might cause batchlog \
                 entries to expire before being replayed."
            )
        };
        let cases = [
            (BatchKind::Logged, &["none", "some"][..], vec![warning("table [ks.none]")]),
            // One partition is enough.
            (BatchKind::Logged, &["none"], vec![warning("table [ks.none]")]),
            (BatchKind::Logged, &["some"], vec![]),
            (BatchKind::Unlogged, &["none"], vec![]),
            (BatchKind::Logged, &["none", "also"], vec![warning("tables [ks.also, ks.none]")]),
        ];
        for (kind, tables, expected) in cases {
            let values = buffer(&[Value::Bytes(&[0, 0, 0, 1]), Value::Bytes(&[0, 0, 0, 2])]);
            let texts: Vec<String> =
                tables.iter().map(|table| format!("INSERT INTO ks.{table} (k, v) VALUES (?, ?)")).collect();
            let mut prepared = Vec::new();
            for text in &texts {
                prepared.push(client.prepare(text).await);
            }
            for is_text in [false, true] {
                let mut batch = BatchBuilder::new();
                for (text, prepared) in texts.iter().zip(&prepared) {
                    let query = if is_text { BatchQuery::Text(text) } else { BatchQuery::Prepared(&prepared.id) };
                    batch.push(query, values.values()).expect("few statements");
                }
                let reply = client.send(&Request::Batch(batch.batch(kind, QueryParams::new(Consistency::One)))).await;
                let warnings = reply.response().0.warnings;
                assert_eq!(warnings, expected, "{kind:?}, {tables:?}, {is_text}");
            }
            if kind == BatchKind::Logged {
                let insert = |table: &&str| format!("INSERT INTO ks.{table} (k, v) VALUES (1, 2);");
                let statement = format!("BEGIN BATCH {} APPLY BATCH", tables.iter().map(insert).collect::<String>());
                let reply = client.query(&statement).await;
                assert_eq!(reply.response().0.warnings, expected, "{statement}");
            }
        }
    });
}

#[test]
fn unlogged_batches_over_many_partitions_are_warned_of() {
    let folder = Folder::new("unlogged-warned");
    run_node(folder.path(), 1, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").await;
        let prepared = client.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?)").await;
        for (kind, partitions, is_warned) in
            [(BatchKind::Unlogged, 10, false), (BatchKind::Unlogged, 11, true), (BatchKind::Logged, 11, false)]
        {
            for is_text in [false, true] {
                let mut batch = BatchBuilder::new();
                for row in 0..30_i32 {
                    let key = (row % partitions).to_be_bytes();
                    let values = buffer(&[Value::Bytes(&key), Value::Bytes(&key)]);
                    let query = match is_text {
                        true => BatchQuery::Text("INSERT INTO ks.t (k, v) VALUES (?, ?)"),
                        false => BatchQuery::Prepared(&prepared.id),
                    };
                    batch.push(query, values.values()).expect("few statements");
                }
                let params = QueryParams::new(Consistency::One);
                let reply = client.send(&Request::Batch(batch.batch(kind, params))).await;
                let warnings = reply.response().0.warnings;
                let expected = "Unlogged batch covering 11 partitions detected against table [ks.t]. You should use a logged \
                                batch for atomicity, or asynchronous writes for performance.";
                let is_right = if is_warned { warnings == [expected] } else { warnings.is_empty() };
                assert!(is_right, "{kind:?}, {partitions}, {is_text}: {warnings:?}");
            }
        }
    });
}
