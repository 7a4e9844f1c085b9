//! Requests that the shard with the connection hands over to the one with the partition.

use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use cql_protocol::request::{BatchKind, BatchQuery};
use cql_protocol::{Response, ResultBody, Value};
use query::EngineStats;

use crate::harness::{Client, Folder, Reply, run_node_with};
use crate::requests::{KEYSPACE, ints, must};

/// More than may be handed over at once, so that some wait as tasks.
const AT_ONCE: i32 = 1_000;

/// Begins all of them in one poll, in which no reply of another shard is seen, and waits for all.
pub async fn all_at_once<F: Future>(requests: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut requests: Vec<_> = requests.map(|request| (Box::pin(request), None)).collect();
    poll_fn(|context| {
        for (request, answer) in requests.iter_mut().filter(|(_, answer)| answer.is_none()) {
            if let Poll::Ready(given) = request.as_mut().poll(context) {
                *answer = Some(given);
            }
        }
        if requests.iter().all(|(_, answer)| answer.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    requests.into_iter().filter_map(|(_, answer)| answer).collect()
}

fn is_void(reply: &Reply) -> bool {
    matches!(reply.response().1, Response::Result(ResultBody::Void))
}

/// Runs a test of one shard of two, with the table `ks.t` there.
fn on_two_shards<F, Fut>(name: &str, test: F)
where
    F: Fn(Client) -> Fut + Sync,
    Fut: Future<Output = ()>,
{
    let folder = Folder::new(name);
    let test = &test;
    run_node_with(folder.path(), 2, |client, _, _| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").await;
        test(client).await;
    });
}

#[test]
fn more_requests_at_once_than_may_be_handed_over_are_all_answered() {
    on_two_shards("hand-over-many", |client| async move {
        let insert = Rc::new(client.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?)").await);
        let select = Rc::new(client.prepare("SELECT v FROM ks.t WHERE k = ?").await);
        let EngineStats { requests_run: before, .. } = client.engine.stats();
        let ask = |k: i32| {
            let (client, insert) = (client.clone(), insert.clone());
            async move {
                let (key, value) = (k.to_be_bytes(), (k + 1).to_be_bytes());
                is_void(&client.execute_values(&insert.id, &[Value::Bytes(&key), Value::Bytes(&value)]).await)
            }
        };
        assert!(all_at_once((0..AT_ONCE).map(ask)).await.into_iter().all(|is_written| is_written));
        let EngineStats { requests_run: after, .. } = client.engine.stats();
        assert!(after > before, "some must have waited as tasks");
        for k in 0..AT_ONCE {
            assert_eq!(ints(&client.execute_values(&select.id, &[Value::Bytes(&k.to_be_bytes())]).await), [k + 1]);
        }
        let EngineStats { requests_run: last, .. } = client.engine.stats();
        assert_eq!(last, after, "one after the other none needs a task here");
    });
}

#[test]
fn batches_go_to_their_shard_or_to_both() {
    on_two_shards("hand-over-batches", |client| async move {
        let insert = client.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?)").await;
        for k in 0_i32..40 {
            // Twice the same partition, then another one too: with two shards some of these are on both.
            let (own, next) = (k.to_be_bytes(), (k + 1).to_be_bytes());
            let one = [Value::Bytes(&own), Value::Bytes(&own)];
            let other = [Value::Bytes(&next), Value::Bytes(&own)];
            let query = BatchQuery::Prepared(&insert.id);
            assert!(is_void(&client.batch(BatchKind::Unlogged, &[(query, &one), (query, &one)]).await));
            assert!(is_void(&client.batch(BatchKind::Logged, &[(query, &one), (query, &other)]).await));
        }
        let mut values = ints(&client.query("SELECT v FROM ks.t").await);
        values.sort_unstable();
        let expected: Vec<i32> = (0..40).chain([39]).collect();
        assert_eq!(values, expected);
    });
}

#[test]
fn what_is_refused_is_so_on_either_shard() {
    on_two_shards("hand-over-refused", |client| async move {
        let insert = client.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?) IF NOT EXISTS").await;
        let short = client.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?)").await;
        for k in 0_i32..20 {
            let key = k.to_be_bytes();
            let values = [Value::Bytes(&key), Value::Bytes(&key)];
            for applied in [1, 0] {
                let reply = client.execute_values(&insert.id, &values).await;
                let Response::Result(ResultBody::Rows(rows)) = reply.response().1 else { panic!("rows") };
                let first: Vec<Option<&[u8]>> = rows.iter().next().expect("there is one").collect();
                assert_eq!(first[0], Some(&[applied][..]));
            }
            let reply = client.execute_values(&short.id, &[Value::Bytes(&key), Value::Bytes(b"no")]).await;
            assert_eq!(reply.error().message, "Expected 4 or 0 byte int (2)");
        }
    });
}
