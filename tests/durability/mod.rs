//! Rows written through a driver at 100 in flight, all read back and compared; then again after a restart. Paging states over restarts.

mod paging;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use helenus_tests::{Builder, Random, Server, effort, pick};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::statement::prepared::PreparedStatement;

const IN_FLIGHT: u64 = 100;

type Row = (Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>);

/// The published table's row of that number: every byte follows from the number.
fn row(number: u64) -> Row {
    let mut random = Random::new(number);
    let mut column = || random.bytes(34);
    (key(number), column(), column(), column(), column(), column())
}

fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

async fn connect(server: &Server) -> Arc<Session> {
    Arc::new(SessionBuilder::new().known_node(server.address()).build().await.expect("connects"))
}

async fn create(session: &Session) {
    for text in [
        "CREATE KEYSPACE ks1 WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': '1'} AND durable_writes = true",
        "CREATE TABLE ks1.standard1 (key blob PRIMARY KEY, \"C0\" blob, \"C1\" blob, \"C2\" blob, \"C3\" blob, \"C4\" blob) \
         WITH COMPACT STORAGE AND compression = {}",
    ] {
        session.query_unpaged(text, ()).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

/// Runs `work` for every number below `rows`, 100 at a time.
async fn for_each<F, Fut>(rows: u64, what: &str, work: F)
where
    F: Fn(u64) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send,
{
    let began = Instant::now();
    let (next, work) = (Arc::new(AtomicU64::new(0)), Arc::new(work));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..IN_FLIGHT {
        let (next, work) = (Arc::clone(&next), Arc::clone(&work));
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= rows {
                    return;
                }
                work(number).await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("each row is right");
    }
    println!("{what}: {rows} rows in {:.1} s", began.elapsed().as_secs_f64());
}

async fn write_all(session: Arc<Session>, insert: PreparedStatement, rows: u64) {
    for_each(rows, "written", move |number| {
        let (session, insert) = (Arc::clone(&session), insert.clone());
        async move {
            session.execute_unpaged(&insert, row(number)).await.unwrap_or_else(|error| panic!("row {number}: {error}"));
        }
    })
    .await;
}

async fn compare_all(session: Arc<Session>, select: PreparedStatement, rows: u64) {
    for_each(rows, "read back", move |number| {
        let (session, select) = (Arc::clone(&session), select.clone());
        async move {
            let answer = session
                .execute_unpaged(&select, (key(number),))
                .await
                .unwrap_or_else(|error| panic!("row {number}: {error}"));
            let found: Row = answer
                .into_rows_result()
                .expect("rows")
                .single_row()
                .unwrap_or_else(|error| panic!("row {number}: {error}"));
            assert!(found == row(number), "row {number} is another");
        }
    })
    .await;
}

#[test]
fn every_row_is_read_back_before_and_after_a_restart() {
    let rows = pick(250_000, 3_000_000);
    println!("{} settings: {rows} rows", effort());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio starts");
    let builder = Builder::new("uring", 2).with(&["--memory", pick("512M", "10G")]);
    let server = builder.start();
    runtime.block_on(async {
        let session = connect(&server).await;
        create(&session).await;
        let insert = session.prepare(
            "INSERT INTO ks1.standard1 (key, \"C0\", \"C1\", \"C2\", \"C3\", \"C4\") VALUES (?, ?, ?, ?, ?, ?)",
        );
        write_all(Arc::clone(&session), insert.await.expect("prepares"), rows).await;
        let select =
            session.prepare("SELECT key, \"C0\", \"C1\", \"C2\", \"C3\", \"C4\" FROM ks1.standard1 WHERE key = ?");
        compare_all(Arc::clone(&session), select.await.expect("prepares"), rows).await;
    });
    server.stop();
    let server = builder.start();
    println!("ready again after {:.2} s", server.ready_after.as_secs_f64());
    runtime.block_on(async {
        let session = connect(&server).await;
        let select =
            session.prepare("SELECT key, \"C0\", \"C1\", \"C2\", \"C3\", \"C4\" FROM ks1.standard1 WHERE key = ?");
        compare_all(Arc::clone(&session), select.await.expect("prepares"), rows).await;
    });
    server.stop();
}
