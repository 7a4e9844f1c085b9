//! The Rust `scylla` driver under TLS: with a certificate, which it is refused without, also on each shard by the ports that choose it.

use std::sync::Arc;

use helenus_tests::{Builder, configurations};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::errors::NewSessionError;

use super::scenarios;
use crate::tls::authority::{Authority, VALID};
use crate::tls::client::Client;
use crate::tls::node;

async fn connect(address: &str, client: &Client) -> Result<Session, NewSessionError> {
    SessionBuilder::new().known_node(address).tls_context(Some(client.settings())).build().await
}

#[test]
fn a_client_with_a_certificate_is_served_and_one_without_is_refused() {
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio starts");
    let (authority, other) = (Authority::new("cluster"), Authority::new("other"));
    let own = authority.issue(&["127.0.0.1"], VALID);
    for (reactor, shards) in configurations() {
        let options = ["enabled: true", "require_client_auth: true"];
        let server = node(Builder::new(reactor, shards), &authority, "", &options).start();
        tokio.block_on(async {
            let session = connect(&server.address(), &Client::new(&authority, Some(&own))).await.expect("is served");
            let session = Arc::new(session);
            let text = "CREATE KEYSPACE tested WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
            session.query_unpaged(text, ()).await.expect("creates a keyspace");
            session.use_keyspace("tested", false).await.expect("the keyspace is there");
            scenarios::prepared(&session).await;
            scenarios::each_request_reaches_its_shard(&session, shards).await;
            let listed = session.query_unpaged("SELECT ssl_enabled FROM system_views.clients", ()).await;
            let listed = listed.expect("is answered").into_rows_result().expect("rows");
            let encrypted: Vec<bool> =
                listed.rows::<(bool,)>().expect("flags").map(|row| row.expect("a flag").0).collect();
            assert!(!encrypted.is_empty() && encrypted.iter().all(|is| *is), "{encrypted:?}");
            for refused in [Client::new(&authority, None), Client::new(&other, Some(&own))] {
                assert!(connect(&server.address(), &refused).await.is_err(), "no certificate, or another authority");
            }
        });
        server.stop();
    }
}
