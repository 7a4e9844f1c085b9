//! What no client can bring about: memory without bound, a poll without end, another table's data. The harness fails a
//! test whose node had a poll over 5 ms.

use cql_protocol::request::{BatchKind, BatchQuery};
use cql_protocol::{ErrorCode, Value};
use query::{Guardrails, Threshold};

use crate::harness::{Client, Folder, Reply, run_guarded, run_node};
use crate::requests::{KEYSPACE, fill, ints, must};

/// A list of ints as it is bound to an IN.
fn list(count: i32) -> Vec<u8> {
    let elements = (0..count).flat_map(|element| [4, element].map(i32::to_be_bytes));
    std::iter::once(count.to_be_bytes()).chain(elements).flatten().collect()
}

fn refused(reply: &Reply) -> String {
    let error = reply.error();
    assert_eq!(error.code(), ErrorCode::Invalid, "{error}");
    error.message
}

#[test]
fn slices_repeat_no_value_without_bound() {
    let folder = Folder::new("slices");
    run_node(folder.path(), 1, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.c (k int, a int, b blob, v int, PRIMARY KEY (k, a, b))").await;
        let select = client.prepare("SELECT v FROM ks.c WHERE k = ? AND a IN ? AND b > ?").await;
        let (key, list) = (1i32.to_be_bytes(), list(5_000));
        let read = async |client: &Client, value: &[u8]| {
            client.execute_values(&select.id, &[Value::Bytes(&key), Value::Bytes(&list), Value::Bytes(value)]).await
        };
        assert!(ints(&read(&client, &[1; 100]).await).is_empty());
        assert!(refused(&read(&client, &[1; 60_000]).await).contains("come to more than"));
        assert!(refused(&read(&client, &[1; 1 << 20]).await).contains("come to more than"));
    });
}

#[test]
fn a_long_list_is_not_gone_through_for_each_row() {
    let folder = Folder::new("filters");
    run_node(folder.path(), 1, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text, w int)").await;
        fill(&client, 3_000).await;
        must(&client, "INSERT INTO ks.t (k, w) VALUES (7, 4999)").await;
        for key in 1_000..3_000 {
            must(&client, &format!("UPDATE ks.t SET w = {} WHERE k = {key}", key * 10)).await;
        }
        let select = client.prepare("SELECT k FROM ks.t WHERE w IN ? ALLOW FILTERING").await;
        assert_eq!(ints(&client.execute_values(&select.id, &[Value::Bytes(&list(5_000))]).await), [7]);
        let refusal = client.execute_values(&select.id, &[Value::Bytes(&list(10_001))]).await;
        assert!(refused(&refusal).contains("at most 10000 values"));
    });
}

#[test]
fn a_prepared_statement_counts_with_all_its_values() {
    let folder = Folder::new("prepared");
    run_node(folder.path(), 1, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int, c int, v int, PRIMARY KEY (k, c))").await;
        let list = vec!["1"; 2_000].join(",");
        for text in [
            format!("SELECT v FROM ks.t WHERE k IN ({list})"),
            format!("SELECT v FROM ks.t WHERE k = 1 AND c IN ({list})"),
            format!("SELECT v FROM ks.t WHERE v IN ({list}) ALLOW FILTERING"),
            format!("DELETE FROM ks.t WHERE k = 1 AND c IN ({list})"),
        ] {
            let before = client.engine.stats().prepared_evictions;
            // Ten megabytes hold fewer than a hundred of these, since each value takes as much as fifty bytes of text.
            for number in 0..100 {
                client.prepare(&format!("{text}{}", " ".repeat(number))).await;
            }
            let evicted = client.engine.stats().prepared_evictions - before;
            assert!(evicted > 0, "{} statements are kept of {}", client.engine.stats().prepared, &text[..50]);
        }
    });
}

#[test]
fn a_large_batch_takes_turns_with_others() {
    let folder = Folder::new("batch");
    let rails = Guardrails { batch_size: Threshold::default(), ..Guardrails::default() };
    run_guarded(folder.path(), 1, &rails, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text)").await;
        let insert = client.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?)").await;
        for (rows, waits) in [(10i32, 0), (1_000, 1)] {
            let keys: Vec<[u8; 4]> = (0..rows).map(i32::to_be_bytes).collect();
            let values: Vec<[Value<'_>; 2]> = keys.iter().map(|key| [Value::Bytes(key), Value::Null]).collect();
            let statements: Vec<(BatchQuery<'_>, &[Value<'_>])> =
                values.iter().map(|values| (BatchQuery::Prepared(&insert.id), values.as_slice())).collect();
            let before = client.engine.stats().requests_run;
            client.batch(BatchKind::Unlogged, &statements).await;
            assert_eq!(client.engine.stats().requests_run - before, waits, "of {rows} rows");
        }
        assert_eq!(ints(&client.query("SELECT k FROM ks.t").await).len(), 1_000);
    });
}

#[test]
fn a_table_with_the_id_of_a_dropped_one_has_none_of_its_rows() {
    const ID: &str = "WITH id = 7bb3a0a0-0000-11ee-8000-000000000001";
    let folder = Folder::new("id");
    run_node(folder.path(), 2, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, &format!("CREATE TABLE ks.t (k int PRIMARY KEY, v text) {ID}")).await;
        fill(&client, 100).await;
        must(&client, "CREATE TABLE ks.other (k int PRIMARY KEY)").await;
        must(&client, "INSERT INTO ks.other (k) VALUES (1)").await;
        let refusal = client.query(&format!("CREATE TABLE ks.same (k int, c int, PRIMARY KEY (k, c)) {ID}")).await;
        assert!(refusal.error().message.contains("already exists"));
        must(&client, "DROP TABLE ks.t").await;
        must(&client, &format!("CREATE TABLE ks.t (k int, c int, PRIMARY KEY (k, c)) {ID}")).await;
        must(&client, "INSERT INTO ks.t (k, c) VALUES (5, 6)").await;
    });
    run_node(folder.path(), 2, |client| async move {
        assert_eq!(ints(&client.query("SELECT c FROM ks.t").await), [6]);
        assert_eq!(ints(&client.query("SELECT k FROM ks.other").await), [1]);
    });
}
