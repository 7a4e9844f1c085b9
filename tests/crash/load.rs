//! A load whose every answer is remembered, and the comparison with what is there afterwards.
//!
//! Each task writes its own keys over and over with rising versions, so that a lost overwrite shows as well as a lost row: afterwards a key
//! holds the last acknowledged version or the one that was under way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use helenus_tests::Server;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;

/// What a key must hold: a version no older than the acknowledged one and no newer than the one last sent.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    pub acknowledged: i64,
    pub sent: i64,
}

/// Promises by key.
pub type Promises = BTreeMap<i32, Promise>;

pub async fn connect(server: &Server) -> Arc<Session> {
    Arc::new(SessionBuilder::new().known_node(server.address()).build().await.expect("connects"))
}

/// Makes the table that is written to.
pub async fn create(session: &Session) {
    for text in [
        "CREATE KEYSPACE crashed WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE crashed.kept (key int PRIMARY KEY, version bigint, filling blob)",
    ] {
        session.query_unpaged(text, ()).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

/// Writes a task's `keys` keys in turn until `over`.
pub async fn write(
    session: Arc<Session>,
    mut promises: Promises,
    first: i32,
    keys: i32,
    over: Arc<AtomicBool>,
) -> Promises {
    // The server may be gone already.
    let insert = session.prepare("INSERT INTO crashed.kept (key, version, filling) VALUES (?, ?, ?)").await;
    let Ok(insert) = insert else { return promises };
    let filling = vec![7_u8; 100];
    for key in (first..first + keys).cycle() {
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

/// Compares the whole table with what was promised. Gives what it holds.
pub async fn check(session: &Session, promises: &Promises, round: usize) -> BTreeMap<i32, i64> {
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
    if let Some(key) = found.keys().find(|key| !promises.contains_key(key)) {
        panic!("round {round}: key {key} was never written");
    }
    found
}
