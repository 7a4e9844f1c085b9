//! What scripts cannot say: prepared statements over schema changes, paging states over restarts, batches of the
//! protocol, and large results.

use crate::harness::{Client, Folder, Reply, buffer, run_node};
use cql_protocol::request::{BatchBuilder, BatchKind, BatchQuery, Request};
use cql_protocol::{Consistency, ErrorCode, QueryParams, Response, ResultBody, Value, Version};

pub const KEYSPACE: &str = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";

/// The first column of each row, as integers.
pub fn ints(reply: &Reply) -> Vec<i32> {
    match reply.response().1 {
        Response::Result(ResultBody::Rows(rows)) => rows
            .iter()
            .map(|mut row| {
                let value = row.next().flatten().expect("the first column has a value");
                i32::from_be_bytes(value.try_into().expect("an int has four bytes"))
            })
            .collect(),
        other => panic!("rows were expected, not {other:?}"),
    }
}

pub fn paging_state(reply: &Reply) -> Option<Vec<u8>> {
    match reply.response().1 {
        Response::Result(ResultBody::Rows(rows)) => rows.paging_state.map(<[u8]>::to_vec),
        other => panic!("rows were expected, not {other:?}"),
    }
}

fn is_void(reply: &Reply) -> bool {
    matches!(reply.response().1, Response::Result(ResultBody::Void))
}

pub async fn must(client: &Client, text: &str) {
    let reply = client.query(text).await;
    if let Response::Error(error) = reply.response().1 {
        panic!("{text}: {error}");
    }
}

/// A client that speaks version 5, and the table `ks.t`.
async fn with_table_in_version_5(client: Client) -> Client {
    let client = Client { version: Version::V5, ..client };
    must(&client, KEYSPACE).await;
    must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text)").await;
    client
}

/// Inserts the keys below `rows`, a hundred at a time.
pub async fn fill(client: &Client, rows: i32) {
    let insert = client.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?)").await;
    for first in (0..rows).step_by(100) {
        let keys: Vec<[u8; 4]> = (first..rows.min(first + 100)).map(i32::to_be_bytes).collect();
        let values: Vec<[Value<'_>; 2]> = keys.iter().map(|key| [Value::Bytes(key), Value::Bytes(b"value")]).collect();
        let statements: Vec<(BatchQuery<'_>, &[Value<'_>])> =
            values.iter().map(|values| (BatchQuery::Prepared(&insert.id), values.as_slice())).collect();
        assert!(is_void(&client.batch(BatchKind::Unlogged, &statements).await));
    }
}

async fn pages(client: &Client, text: &str, size: i32) -> Vec<i32> {
    let mut all = Vec::new();
    let mut state: Option<Vec<u8>> = None;
    loop {
        let params = QueryParams::new(Consistency::One);
        let params = QueryParams { page_size: Some(size), paging_state: state.as_deref(), ..params };
        let reply = client.query_with(text, params).await;
        let rows = ints(&reply);
        assert!(rows.len() <= size as usize);
        all.extend(rows);
        state = paging_state(&reply);
        if state.is_none() {
            return all;
        }
    }
}

#[test]
fn a_dropped_table_makes_its_statements_unprepared() {
    let folder = Folder::new("unprepared");
    run_node(folder.path(), 2, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text)").await;
        let select = client.prepare("SELECT * FROM ks.t WHERE k = ?").await;
        let one = 1i32.to_be_bytes();
        assert!(ints(&client.execute_values(&select.id, &[Value::Bytes(&one)]).await).is_empty());

        // Another table changes nothing.
        must(&client, "CREATE TABLE ks.other (k int PRIMARY KEY)").await;
        assert!(ints(&client.execute_values(&select.id, &[Value::Bytes(&one)]).await).is_empty());

        // The result has another column: the client must learn that before it reads one.
        must(&client, "ALTER TABLE ks.t ADD w int").await;
        let error = client.execute_values(&select.id, &[Value::Bytes(&one)]).await.error();
        assert_eq!(error.code(), ErrorCode::Unprepared);
        let again = client.prepare("SELECT * FROM ks.t WHERE k = ?").await;
        assert_eq!(again.id, select.id);
        assert_eq!(again.columns.len(), 3);
        assert!(ints(&client.execute_values(&select.id, &[Value::Bytes(&one)]).await).is_empty());

        must(&client, "DROP TABLE ks.t").await;
        let error = client.execute_values(&select.id, &[Value::Bytes(&one)]).await.error();
        assert_eq!(error.code(), ErrorCode::Unprepared);
        assert_eq!(client.execute_values(b"short", &[]).await.error().code(), ErrorCode::Unprepared);
    });
}

#[test]
fn version_5_learns_of_other_columns_by_their_id() {
    let folder = Folder::new("metadata-id");
    run_node(folder.path(), 1, |client| async move {
        let client = with_table_in_version_5(client).await;
        must(&client, "INSERT INTO ks.t (k, v) VALUES (1, 'x')").await;
        let select = client.prepare("SELECT * FROM ks.t WHERE k = 1").await;
        let params = QueryParams { skip_metadata: true, ..QueryParams::new(Consistency::One) };
        // The harness sends an empty id: not the one that the statement has.
        let reply = client.execute(&select.id, params).await;
        match reply.response().1 {
            Response::Result(ResultBody::Rows(rows)) => {
                assert_eq!(rows.new_metadata_id, select.result_metadata_id.as_deref());
                assert_eq!(rows.columns.len(), 2);
            }
            other => panic!("rows were expected, not {other:?}"),
        };
    });
}

#[test]
fn ten_thousand_rows_come_in_pages_from_all_shards() {
    let folder = Folder::new("pages");
    run_node(folder.path(), 2, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text)").await;
        fill(&client, 10_000).await;
        let before = client.engine.stats().requests_now;
        let select = client.prepare("SELECT k FROM ks.t WHERE k = ?").await;
        for k in 0..100i32 {
            let reply = client.execute_values(&select.id, &[Value::Bytes(&k.to_be_bytes())]).await;
            assert_eq!(ints(&reply), [k]);
        }
        let now = client.engine.stats().requests_now - before;
        assert!((30..70).contains(&now), "half the keys are this shard's and take no task: {now}");
        for size in [777, 5_000, 20_000] {
            let mut keys = pages(&client, "SELECT k FROM ks.t", size).await;
            keys.sort_unstable();
            assert!(keys.iter().copied().eq(0..10_000), "pages of {size}");
        }
        let tokens = client.query("SELECT k, token(k) FROM ks.t").await;
        match tokens.response().1 {
            Response::Result(ResultBody::Rows(rows)) => {
                let token = |row: cql_protocol::response::RowValues<'_>| {
                    let bytes = row.last().flatten().expect("every key has a token");
                    i64::from_be_bytes(bytes.try_into().expect("a bigint has eight bytes"))
                };
                let tokens: Vec<i64> = rows.iter().map(token).collect();
                assert!(tokens.is_sorted(), "a scan is in the order of tokens");
            }
            other => panic!("rows were expected, not {other:?}"),
        };
    });
}

#[test]
fn a_paging_state_belongs_to_its_statement_and_values() {
    let folder = Folder::new("foreign");
    run_node(folder.path(), 1, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text)").await;
        fill(&client, 10).await;
        let first = QueryParams { page_size: Some(3), ..QueryParams::new(Consistency::One) };
        let state = paging_state(&client.query_with("SELECT k FROM ks.t", first).await).expect("there is more");
        let next = QueryParams { paging_state: Some(&state), ..first };
        assert_eq!(ints(&client.query_with("SELECT k FROM ks.t", next).await).len(), 3);
        let error = client.query_with("SELECT k, v FROM ks.t", next).await.error();
        assert_eq!(error.code(), ErrorCode::ProtocolError);
        let mut forged = state.clone();
        if let Some(byte) = forged.last_mut() {
            *byte ^= 1;
        }
        let next = QueryParams { paging_state: Some(&forged), ..first };
        let error = client.query_with("SELECT k FROM ks.t", next).await.error();
        assert_eq!(error.code(), ErrorCode::ProtocolError);
    });
}

#[test]
fn data_schema_and_paging_states_survive_a_restart_with_more_shards() {
    let folder = Folder::new("restart");
    let state = std::sync::Mutex::new(Vec::new());
    let seen = std::sync::Mutex::new(Vec::new());
    let text = "SELECT k FROM ks.t";
    run_node(folder.path(), 1, |client| {
        let (state, seen) = (&state, &seen);
        async move {
            must(&client, KEYSPACE).await;
            must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text)").await;
            must(&client, "CREATE TABLE ks.emptied (k int PRIMARY KEY)").await;
            must(&client, "INSERT INTO ks.emptied (k) VALUES (1)").await;
            must(&client, "TRUNCATE ks.emptied").await;
            must(&client, "INSERT INTO ks.emptied (k) VALUES (2)").await;
            fill(&client, 100).await;
            let params = QueryParams { page_size: Some(40), ..QueryParams::new(Consistency::One) };
            let reply = client.query_with(text, params).await;
            *seen.lock().expect("one at a time") = ints(&reply);
            *state.lock().expect("one at a time") = paging_state(&reply).expect("there is more");
        }
    });
    run_node(folder.path(), 2, |client| {
        let (state, seen) = (&state, &seen);
        async move {
            let state = state.lock().expect("one at a time").clone();
            let params = QueryParams { paging_state: Some(&state), ..QueryParams::new(Consistency::One) };
            let mut keys = seen.lock().expect("one at a time").clone();
            keys.extend(ints(&client.query_with(text, params).await));
            keys.sort_unstable();
            assert!(keys.iter().copied().eq(0..100));
            assert_eq!(ints(&client.query("SELECT k FROM ks.emptied").await), [2]);
        }
    });
}

#[test]
fn batches_of_prepared_and_textual_statements() {
    let folder = Folder::new("batch");
    run_node(folder.path(), 2, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text)").await;
        let insert = client.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?)").await;
        let keys: Vec<[u8; 4]> = (0..40i32).map(i32::to_be_bytes).collect();
        let values: Vec<[Value<'_>; 2]> = keys.iter().map(|key| [Value::Bytes(key), Value::Bytes(b"v")]).collect();
        for kind in [BatchKind::Logged, BatchKind::Unlogged] {
            let statements: Vec<(BatchQuery<'_>, &[Value<'_>])> =
                values.iter().map(|values| (BatchQuery::Prepared(&insert.id), values.as_slice())).collect();
            assert!(is_void(&client.batch(kind, &statements).await));
        }
        let text = "UPDATE ks.t SET v = 'w' WHERE k = 7";
        assert!(is_void(&client.batch(BatchKind::Unlogged, &[(BatchQuery::Text(text), &[])]).await));
        assert!(is_void(&client.batch(BatchKind::Logged, &[]).await));
        let mut found = pages(&client, "SELECT k FROM ks.t", 7).await;
        found.sort_unstable();
        assert!(found.iter().copied().eq(0..40));
        assert_eq!(ints(&client.query("SELECT k FROM ks.t WHERE v = 'w' ALLOW FILTERING").await), [7]);

        let counter = client.batch(BatchKind::Counter, &[(BatchQuery::Text(text), &[])]).await;
        assert_eq!(counter.error().code(), ErrorCode::Invalid);
        let select = "SELECT k FROM ks.t";
        let wrong = client.batch(BatchKind::Logged, &[(BatchQuery::Text(select), &[])]).await;
        assert_eq!(wrong.error().code(), ErrorCode::Invalid);
        let unknown = client.batch(BatchKind::Logged, &[(BatchQuery::Prepared(&[1; 16]), &[])]).await;
        assert_eq!(unknown.error().code(), ErrorCode::Unprepared);
        // One wrong statement, and nothing of the batch is done.
        let short: [Value<'_>; 2] = [Value::Bytes(&[1]), Value::Bytes(b"v")];
        let good: [Value<'_>; 2] = [Value::Bytes(&[0, 0, 1, 0]), Value::Bytes(b"v")];
        let statements: [(BatchQuery<'_>, &[Value<'_>]); 2] =
            [(BatchQuery::Prepared(&insert.id), &good), (BatchQuery::Prepared(&insert.id), &short)];
        assert_eq!(client.batch(BatchKind::Logged, &statements).await.error().code(), ErrorCode::Invalid);
        assert_eq!(pages(&client, select, 100).await.len(), 40);
    });
}

#[test]
fn named_values_find_their_markers() {
    let folder = Folder::new("named");
    run_node(folder.path(), 1, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text)").await;
        let mut named = cql_protocol::ValuesBuffer::named();
        named.push_named("v", Value::Bytes(b"text")).expect("few values");
        named.push_named("k", Value::Bytes(&[0, 0, 0, 9])).expect("few values");
        let params = QueryParams { values: named.values(), ..QueryParams::new(Consistency::One) };
        assert!(is_void(&client.query_with("INSERT INTO ks.t (k, v) VALUES (:k, :v)", params).await));
        let one = buffer(&[Value::Bytes(&[0, 0, 0, 9])]);
        let params = QueryParams { values: one.values(), ..QueryParams::new(Consistency::One) };
        assert_eq!(ints(&client.query_with("SELECT k FROM ks.t WHERE k = ?", params).await), [9]);
    });
}

/// The log holds the elements' places, not their indexes: a replay gives the same lists, on any number of shards.
#[test]
fn lists_changed_by_index_and_value_are_replayed_as_they_were() {
    let folder = Folder::new("lists-replayed");
    run_node(folder.path(), 2, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.l (k int PRIMARY KEY, l list<int>)").await;
        for key in 0..10 {
            must(&client, &format!("INSERT INTO ks.l (k, l) VALUES ({key}, [1, 2, 3, 2])")).await;
            must(&client, &format!("UPDATE ks.l SET l[0] = 10 WHERE k = {key}")).await;
            must(&client, &format!("UPDATE ks.l SET l = l - [2] WHERE k = {key}")).await;
            must(&client, &format!("UPDATE ks.l SET l = [0] + l WHERE k = {key}")).await;
            must(&client, &format!("DELETE l[2] FROM ks.l WHERE k = {key}")).await;
        }
        must(&client, "UPDATE ks.l SET l = l - [0] WHERE k IN (1, 2, 3)").await;
    });
    run_node(folder.path(), 1, |client| async move {
        for key in 0..10 {
            let reply = client.query(&format!("SELECT l FROM ks.l WHERE k = {key}")).await;
            let Response::Result(ResultBody::Rows(rows)) = reply.response().1 else { panic!("rows were expected") };
            let list = rows.iter().next().and_then(|mut row| row.next().flatten()).expect("the list is there");
            let shown = cql_types::print(&rows.columns[0].ty, list);
            assert_eq!(shown, if (1..=3).contains(&key) { "[10]" } else { "[0, 10]" }, "key {key}");
        }
    });
}

#[test]
fn version_5_names_a_keyspace_and_a_second_for_each_request() {
    let folder = Folder::new("v5-keyspace");
    run_node(folder.path(), 2, |client| async move {
        let client = with_table_in_version_5(client).await;
        let plain = QueryParams::new(Consistency::One);
        let insert = "INSERT INTO t (k, v) VALUES (1, 'v') USING TTL 100";
        assert_eq!(client.query_with(insert, plain).await.error().code(), ErrorCode::Invalid);
        // Written at second 1,000 of the request's clock, and so over at 1,100.
        let at = |second| QueryParams { keyspace: Some("ks"), now_in_seconds: Some(second), ..plain };
        assert!(is_void(&client.query_with(insert, at(1_000)).await));
        assert_eq!(ints(&client.query_with("SELECT k FROM t", at(1_099)).await), [1]);
        assert_eq!(ints(&client.query_with("SELECT ttl(v) FROM t WHERE k = 1", at(1_060)).await), [40]);
        assert!(ints(&client.query_with("SELECT k FROM t WHERE k = 1", at(1_100)).await).is_empty());

        // Batches of texts and of prepared statements, the latter on the synchronous way if the key is this shard's.
        let prepared = client.prepare("INSERT INTO ks.t (k, v) VALUES (?, 'v') USING TTL 100").await;
        let keys: Vec<[u8; 4]> = (10..30i32).map(i32::to_be_bytes).collect();
        for key in &keys {
            let values = buffer(&[Value::Bytes(key)]);
            let mut batch = BatchBuilder::new();
            batch.push(BatchQuery::Prepared(&prepared.id), values.values()).expect("few statements");
            assert!(is_void(&client.send(&Request::Batch(batch.batch(BatchKind::Logged, at(2_000)))).await));
        }
        let mut batch = BatchBuilder::new();
        let text = "INSERT INTO t (k, v) VALUES (30, 'v') USING TTL 100";
        batch.push(BatchQuery::Text(text), buffer(&[]).values()).expect("few statements");
        batch.push(BatchQuery::Text(insert), buffer(&[]).values()).expect("few statements");
        assert!(is_void(&client.send(&Request::Batch(batch.batch(BatchKind::Unlogged, at(2_000)))).await));
        assert_eq!(ints(&client.query_with("SELECT k FROM t", at(2_099)).await).len(), 22);
        assert!(ints(&client.query_with("SELECT k FROM t", at(2_100)).await).is_empty());

        let nowhere = QueryParams { keyspace: Some("nowhere"), ..plain };
        assert_eq!(client.query_with("SELECT k FROM t", nowhere).await.error().code(), ErrorCode::Invalid);
    });
}

#[test]
fn a_name_that_stands_twice_is_bound_to_both() {
    let folder = Folder::new("named-twice");
    run_node(folder.path(), 1, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, a int, b int, l list<int>)").await;
        let mut named = cql_protocol::ValuesBuffer::named();
        named.push_named("x", Value::Bytes(&[0, 0, 0, 3])).expect("few values");
        named.push_named("list", Value::Unset).expect("few values");
        let params = QueryParams { values: named.values(), ..QueryParams::new(Consistency::One) };
        let insert = "INSERT INTO ks.t (k, a, b, l) VALUES (:x, :x, :x, :list)";
        assert!(is_void(&client.query_with(insert, params).await));
        let text = "SELECT k FROM ks.t WHERE a = 3 AND b = 3 ALLOW FILTERING";
        assert_eq!(ints(&client.query(text).await), [3]);
        // One that is missing is told by how many there are.
        let mut named = cql_protocol::ValuesBuffer::named();
        named.push_named("x", Value::Bytes(&[0, 0, 0, 3])).expect("few values");
        let params = QueryParams { values: named.values(), ..QueryParams::new(Consistency::One) };
        assert_eq!(client.query_with(insert, params).await.error().code(), ErrorCode::Invalid);
    });
}
