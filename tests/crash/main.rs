//! SIGKILL in the middle of a load, twenty times over: what was acknowledged is there after the restart.
//!
//! Each task writes its own keys over and over with rising versions, so that a lost overwrite shows as well as a lost row: after the
//! restart a key holds the last acknowledged version or the one that was under way. Every round runs on another reactor and shard
//! count, so that the replay also deals the log out anew. A kill keeps what the kernel has; it does not prove that a sync
//! reached the disk.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use helenus_tests::{Builder, Random, Server, configurations, pick};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;

const TASKS: i32 = 100;
const KEYS_PER_TASK: i32 = 500;

/// What a key must hold: a version no older than the acknowledged one and no newer than the one last sent.
#[derive(Clone, Copy, Debug)]
struct Promise {
    acknowledged: i64,
    sent: i64,
}

type Promises = BTreeMap<i32, Promise>;

async fn connect(server: &Server) -> Arc<Session> {
    Arc::new(SessionBuilder::new().known_node(server.address()).build().await.expect("connects"))
}

/// Writes a task's keys in turn until the server is gone or the round ends.
async fn write(session: Arc<Session>, mut promises: Promises, first: i32, over: Arc<AtomicBool>) -> Promises {
    let insert =
        session.prepare("INSERT INTO crashed.kept (key, version, filling) VALUES (?, ?, ?)").await.expect("prepares");
    let filling = vec![7_u8; 100];
    for key in (first..first + KEYS_PER_TASK).cycle() {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let promise = promises.entry(key).or_insert(Promise { acknowledged: 0, sent: 0 });
        promise.sent += 1;
        // An error is no answer: the write may or may not be there, and its version stays the newest sent.
        if session.execute_unpaged(&insert, (key, promise.sent, &filling)).await.is_ok() {
            promise.acknowledged = promise.sent;
        }
    }
    promises
}

/// Compares the whole table with what was promised.
async fn check(session: &Session, promises: &Promises, round: usize) {
    let statement = scylla::statement::Statement::new("SELECT key, version FROM crashed.kept").with_page_size(5000);
    let mut found = BTreeMap::new();
    let mut state = scylla::response::PagingState::start();
    loop {
        let (page, next) = session.query_single_page(statement.clone(), &[], state).await.expect("a page");
        for row in page.into_rows_result().expect("rows").rows::<(i32, i64)>().expect("typed") {
            let (key, version) = row.expect("a row");
            assert!(found.insert(key, version).is_none(), "key {key} came twice");
        }
        match next.into_paging_control_flow() {
            std::ops::ControlFlow::Continue(next) => state = next,
            std::ops::ControlFlow::Break(()) => break,
        }
    }
    for (key, promise) in promises {
        let version = found.get(key).copied().unwrap_or(0);
        let range = promise.acknowledged..=promise.sent;
        assert!(range.contains(&version), "round {round}: key {key} holds version {version}, promised {range:?}");
    }
}

/// One round: everything promised is there, then a load that is cut by a kill. Returns the new promises.
async fn round(server: Server, promises: Vec<Promises>, number: usize, load: Duration) -> Vec<Promises> {
    let session = connect(&server).await;
    if number == 0 {
        for text in [
            "CREATE KEYSPACE crashed WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE TABLE crashed.kept (key int PRIMARY KEY, version bigint, filling blob)",
        ] {
            session.query_unpaged(text, ()).await.unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }
    let all: Promises = promises.iter().flatten().map(|(key, promise)| (*key, *promise)).collect();
    check(&session, &all, number).await;
    let over = Arc::new(AtomicBool::new(false));
    let tasks: Vec<_> = (0..)
        .zip(promises)
        .map(|(task, promises)| {
            tokio::spawn(write(Arc::clone(&session), promises, task * KEYS_PER_TASK, Arc::clone(&over)))
        })
        .collect();
    tokio::time::sleep(load).await;
    server.kill();
    over.store(true, Ordering::Relaxed);
    let mut kept = Vec::new();
    for task in tasks {
        kept.push(task.await.expect("a task does not panic"));
    }
    kept
}

#[test]
fn what_was_acknowledged_survives_twenty_kills() {
    let kills = pick(20, 200);
    let mut random = Random::from_environment(1);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio starts");
    let folder = Builder::new("uring", 1);
    let mut promises = vec![Promises::new(); TASKS as usize];
    for number in 0..kills {
        let (reactor, shards) = *random.choose(&configurations());
        let server = folder.clone().dealt_to(reactor, shards).start();
        println!("kill {number}: {reactor}, {shards} shards, ready after {} ms", server.ready_after.as_millis());
        let load = Duration::from_millis(100 + random.below(500) as u64);
        promises = runtime.block_on(round(server, promises, number, load));
    }
    let server = folder.start();
    runtime.block_on(async {
        let session = connect(&server).await;
        let all: Promises = promises.into_iter().flatten().collect();
        let acknowledged: i64 = all.values().map(|promise| promise.acknowledged).sum();
        check(&session, &all, kills).await;
        println!("{} keys, {acknowledged} acknowledged writes, all there", all.len());
        assert!(acknowledged > 1000, "the load was too small to prove anything");
    });
    server.stop();
}
