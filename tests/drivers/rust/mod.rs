//! The Rust `scylla` driver against the binary, on both reactors, with one and two shards, and where io_uring is refused.

mod altering;
mod nested;
mod scenarios;
mod types;

use std::sync::Arc;

use helenus_tests::{Builder, Server};
use scylla::client::Compression;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;

/// Reactor, shards and compression such that each two values meet; this driver speaks version 4 alone.
const CONFIGURATIONS: [(&str, u16, Option<Compression>); 7] = [
    ("uring", 1, None),
    ("uring", 2, Some(Compression::Lz4)),
    ("epoll", 1, Some(Compression::Lz4)),
    ("epoll", 2, None),
    ("uring", 1, Some(Compression::Snappy)),
    ("epoll", 2, Some(Compression::Snappy)),
    ("refused", 2, Some(Compression::Lz4)),
];

async fn connect(server: &Server, compression: Option<Compression>) -> Session {
    let session =
        SessionBuilder::new().known_node(server.address()).compression(compression).build().await.expect("connects");
    session
        .query_unpaged("CREATE KEYSPACE IF NOT EXISTS tested WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}", ())
        .await
        .expect("creates a keyspace");
    session.use_keyspace("tested", false).await.expect("the keyspace is there");
    session
}

/// Runs a scenario in each configuration; the server must end well and have nothing to complain of.
fn in_each_configuration<F, Fut>(scenario: F)
where
    F: Fn(Arc<Session>, u16, String) -> Fut,
    Fut: Future<Output = ()>,
{
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio starts");
    for (reactor, shards, compression) in CONFIGURATIONS {
        println!("{reactor}, {shards} shards, compression {compression:?}");
        let server = Builder::new(reactor, shards).start();
        runtime.block_on(async {
            let session = Arc::new(connect(&server, compression).await);
            scenario(session, shards, server.address()).await;
        });
        server.stop();
    }
}

#[test]
fn everything_that_a_driver_does() {
    in_each_configuration(|session, shards, address| async move {
        scenarios::metadata(&session).await;
        scenarios::prepared(&session).await;
        types::round_trips(&session).await;
        nested::round_trips(&session).await;
        scenarios::ten_thousand_rows_paged(&session).await;
        scenarios::batch(&session).await;
        altering::statements_are_prepared_anew(&session).await;
        altering::errors(&session).await;
        scenarios::schema_change(&session, &address).await;
        scenarios::each_request_reaches_its_shard(&session, shards).await;
    });
}
