//! Conditional statements beside each other, over restarts and over what another attempt has left.

use cluster::paxos::STATE_TABLE;
use cql_protocol::request::{BatchKind, BatchQuery};
use cql_protocol::{Consistency, QueryParams, Response, ResultBody, Value};
use mutation::MutationEncoder;
use runtime::Group;
use schema::ColumnId;
use topology::token_of;

use crate::harness::{Client, Folder, Reply, run_node, run_node_with};
use crate::requests::{KEYSPACE, ints, must};

/// Whether a conditional statement was applied, which its answer must say.
fn is_applied(reply: &Reply) -> bool {
    match reply.response().1 {
        Response::Result(ResultBody::Rows(rows)) => {
            let mut row = rows.iter().next().expect("the answer is a row");
            row.next().flatten() == Some(&[1])
        }
        other => panic!("rows were expected, not {other:?}"),
    }
}

/// The `[applied]` of the answer, and the second column behind it.
fn refused_with(reply: &Reply) -> Option<i32> {
    match reply.response().1 {
        Response::Result(ResultBody::Rows(rows)) => {
            let mut row = rows.iter().next().expect("the answer is a row");
            assert_eq!(row.next().flatten(), Some(&[0][..]));
            row.next().flatten().map(|value| i32::from_be_bytes(value.try_into().expect("an int")))
        }
        other => panic!("rows were expected, not {other:?}"),
    }
}

async fn serially(client: &Client, text: &str) -> Vec<i32> {
    ints(&client.query_with(text, QueryParams::new(Consistency::Serial)).await)
}

/// Clients that each add one to the same counters by compare and set, some of which are another shard's.
async fn add_up(client: &Client, runtime: &runtime::Runtime, counters: i32, clients: usize, rounds: usize) {
    for counter in 0..counters {
        assert!(is_applied(
            &client.query(&format!("INSERT INTO ks.t (k, v) VALUES ({counter}, 0) IF NOT EXISTS")).await
        ));
    }
    let mut running = Vec::new();
    for _ in 0..clients {
        let client = client.clone();
        running.push(runtime.spawn(Group::Query, async move {
            let mut applied = 0;
            for round in 0..rounds {
                let counter = round as i32 % counters;
                let seen = serially(&client, &format!("SELECT v FROM ks.t WHERE k = {counter}")).await[0];
                let next = seen + 1;
                let text = format!("UPDATE ks.t SET v = {next} WHERE k = {counter} IF v = {seen}");
                applied += i32::from(is_applied(&client.query(&text).await));
            }
            applied
        }));
    }
    let mut applied = 0;
    for client in running {
        applied += client.await;
    }
    let mut sum = 0;
    for counter in 0..counters {
        sum += serially(client, &format!("SELECT v FROM ks.t WHERE k = {counter}")).await[0];
    }
    assert_eq!(sum, applied, "each that was applied counts once");
    assert!(applied >= counters);
}

#[test]
fn no_update_is_lost_on_two_shards() {
    let folder = Folder::new("conditional-shards");
    run_node_with(folder.path(), 2, |client, runtime, _| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").await;
        add_up(&client, &runtime, 6, 5, 24).await;
    });
}

#[test]
fn no_update_is_lost_where_partitions_lie_in_files() {
    let folder = Folder::new("conditional-files");
    run_node_with(folder.path(), 1, |client, runtime, storage| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").await;
        let table = client.engine.schema().table("ks", "t").expect("it was made").id;
        let flushing = runtime.spawn(Group::Query, {
            let (runtime, storage) = (runtime.clone(), storage.clone());
            async move {
                for _ in 0..20 {
                    storage.flush(table).await.expect("the disk works");
                    storage.flush(STATE_TABLE).await.expect("the disk works");
                    runtime.sleep(std::time::Duration::from_millis(2)).await;
                }
            }
        });
        add_up(&client, &runtime, 3, 6, 40).await;
        flushing.await;
    });
}

/// A later conditional write has the later timestamp, also where the partition's last ballot is of a clock that was ahead.
#[test]
fn ballots_ascend_whatever_the_clock_says() {
    let folder = Folder::new("conditional-ballots");
    run_node_with(folder.path(), 1, |client, runtime, storage| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").await;
        let table = client.engine.schema().table("ks", "t").expect("it was made").id;
        // As if a commit had been made by a clock that was an hour ahead.
        let ahead = runtime.wall_clock_micros() + 3_600_000_000;
        let ballot = cql_types::timeuuid::build(0x01b2_1dd2_1381_4000 + ahead as u64 * 10, 0, [1; 6]);
        let key = 1i32.to_be_bytes();
        let mut state = Vec::new();
        let mut mutation = MutationEncoder::begin(&mut state, STATE_TABLE, token_of(&key), &key);
        mutation.row([&table.0[..]]).cell(ColumnId(5), ahead, None, &ballot);
        mutation.finish();
        storage.apply(&state).expect("there is room");
        must(&client, &format!("INSERT INTO ks.t (k, v) VALUES (1, 1) USING TIMESTAMP {ahead}")).await;

        assert!(is_applied(&client.query("UPDATE ks.t SET v = 2 WHERE k = 1 IF v = 1").await));
        assert_eq!(serially(&client, "SELECT v FROM ks.t WHERE k = 1").await, [2]);
        assert_eq!(refused_with(&client.query("UPDATE ks.t SET v = 3 WHERE k = 1 IF v = 1").await), Some(2));
    });
}

/// What another attempt had accepted and did not commit is committed before the next one reads.
#[test]
fn an_accepted_proposal_is_finished_first() {
    let folder = Folder::new("conditional-unfinished");
    run_node_with(folder.path(), 1, |client, runtime, storage| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").await;
        let schema = client.engine.schema();
        let table = schema.table("ks", "t").expect("it was made");
        let column = table.column("v").expect("it has a column").id;
        let key = 1i32.to_be_bytes();
        let micros = runtime.wall_clock_micros();
        let ballot = cql_types::timeuuid::build(0x01b2_1dd2_1381_4000 + micros as u64 * 10, 0, [1; 6]);
        let mut proposed = Vec::new();
        let mut mutation = MutationEncoder::begin(&mut proposed, table.id, token_of(&key), &key);
        mutation.row([]).liveness(micros, None).cell(column, micros, None, &7i32.to_be_bytes());
        mutation.finish();
        // Of the first start: its number, then a sequence and a shard.
        let position = [&1u64.to_be_bytes()[..], &[0; 10]].concat();
        let length = (proposed.len() as u32).to_be_bytes();
        let proposal = [&ballot[..], &ballot, &length, &proposed, &position].concat();
        let mut state = Vec::new();
        let mut mutation = MutationEncoder::begin(&mut state, STATE_TABLE, token_of(&key), &key);
        let mut row = mutation.row([&table.id.0[..]]);
        row.cell(ColumnId(2), micros, None, &ballot).cell(ColumnId(4), micros, None, &proposal);
        mutation.finish();
        storage.apply(&state).expect("there is room");

        assert!(ints(&client.query("SELECT v FROM ks.t WHERE k = 1").await).is_empty(), "it is not committed yet");
        assert_eq!(serially(&client, "SELECT v FROM ks.t WHERE k = 1").await, [7]);
        assert_eq!(refused_with(&client.query("UPDATE ks.t SET v = 8 WHERE k = 1 IF v = 6").await), Some(7));
        assert!(is_applied(&client.query("UPDATE ks.t SET v = 8 WHERE k = 1 IF v = 7").await));
    });
}

#[test]
fn a_conditional_batch_of_many_statements_is_whole() {
    let folder = Folder::new("conditional-batch");
    run_node(folder.path(), 2, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.b (k int, c int, v int, PRIMARY KEY (k, c))").await;
        let insert = client.prepare("INSERT INTO ks.b (k, c, v) VALUES (?, ?, ?) IF NOT EXISTS").await;
        let (key, value) = (5i32.to_be_bytes(), 1i32.to_be_bytes());
        let clusterings: Vec<[u8; 4]> = (0..3_000i32).map(i32::to_be_bytes).collect();
        let values: Vec<[Value<'_>; 3]> = clusterings
            .iter()
            .map(|clustering| [Value::Bytes(&key), Value::Bytes(clustering), Value::Bytes(&value)])
            .collect();
        let statements: Vec<(BatchQuery<'_>, &[Value<'_>])> =
            values.iter().map(|values| (BatchQuery::Prepared(&insert.id), values.as_slice())).collect();
        assert!(is_applied(&client.batch(BatchKind::Logged, &statements).await));
        assert!(!is_applied(&client.batch(BatchKind::Unlogged, &statements[2_000..]).await));
        must(&client, "DELETE FROM ks.b WHERE k = 5 AND c < 2999").await;
        assert!(!is_applied(&client.batch(BatchKind::Unlogged, &statements).await), "one is there");
        let count = client.query("SELECT c FROM ks.b WHERE k = 5").await;
        assert_eq!(ints(&count), [2999]);
    });
}
