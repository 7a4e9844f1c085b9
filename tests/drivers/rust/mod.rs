//! The Rust `scylla` driver against the binary, in the table's configurations.

mod altering;
mod login;
mod nested;
mod scenarios;
mod tls;
mod types;

use std::sync::Arc;

use helenus_tests::{Builder, Server};
use scylla::client::Compression;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;

/// A server and how the driver talks to it, which speaks version 4 alone: a line of the table that all suites read.
struct Configuration {
    reactor: String,
    shards: u16,
    compression: Option<Compression>,
}

/// All lines, or those that `cargo xtask drivers` has chosen for this run.
fn configurations() -> Vec<Configuration> {
    let table = std::env::var("HELENUS_CONFIGURATIONS_FILE")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/drivers/configurations.txt").to_owned());
    let text = std::fs::read_to_string(&table).unwrap_or_else(|error| panic!("cannot read {table}: {error}"));
    let configuration = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["four", reactor, shards, "4", compression] = words[..] else { return None };
        let compression = match compression {
            "none" => None,
            "lz4" => Some(Compression::Lz4),
            "snappy" => Some(Compression::Snappy),
            other => panic!("{table}: there is no compression {other}"),
        };
        Some(Configuration { reactor: reactor.to_owned(), shards: shards.parse().expect("a number"), compression })
    };
    let all: Vec<Configuration> = text.lines().filter_map(configuration).collect();
    assert!(!all.is_empty(), "{table} has no line for this suite");
    all
}

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
    for Configuration { reactor, shards, compression } in configurations() {
        println!("{reactor}, {shards} shards, compression {compression:?}");
        let server = Builder::new(&reactor, shards).start();
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
