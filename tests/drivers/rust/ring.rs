//! The Rust `scylla` driver on a ring of three nodes, of which some are killed. `python/ring.py` runs the ring, as the environment names it.
//!
//! The driver has no listener of nodes in its stable API: connections to a node are watched instead, in the state that applications see.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::cluster::Node;
use scylla::policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy};
use scylla::response::query_result::QueryResult;
use scylla::statement::Statement;
use scylla::value::CqlValue;

const TOKENS: usize = 16;
/// No wait for a condition takes as long on any machine.
const HUNG_AFTER: Duration = Duration::from_secs(60);

pub fn addresses() -> Vec<SocketAddr> {
    let named = std::env::var("HELENUS_RING").unwrap_or_default();
    let addresses: Vec<SocketAddr> = named.split(',').filter_map(|address| address.parse().ok()).collect();
    assert_eq!(addresses.len(), 3, "HELENUS_RING names no three nodes: `cargo xtask drivers` starts them");
    addresses
}

/// Has the ring carry out a command.
fn command(words: &[&str]) {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/drivers/python/ring.py");
    let status = Command::new("python3").arg(program).args(words).status().expect("python3 can be run");
    assert!(status.success(), "{words:?}");
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + HUNG_AFTER;
    while !holds().await {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn through(address: SocketAddr) -> Session {
    SessionBuilder::new().known_node_addr(address).build().await.expect("the node is up")
}

/// Host id, datacenter, rack and tokens of each node, by address.
type Known = BTreeMap<SocketAddr, (String, Option<String>, Option<String>, Vec<i64>)>;

fn described(session: &Session) -> Known {
    let state = session.get_cluster_state();
    let ring = state.replica_locator().ring();
    let describe = |node: &Arc<Node>| {
        let own = ring.iter().filter(|(_, owner)| owner.host_id == node.host_id);
        let tokens = own.map(|(token, _)| token.value()).collect();
        (address(node), (node.host_id.to_string(), node.datacenter.clone(), node.rack.clone(), tokens))
    };
    state.get_nodes_info().iter().map(describe).collect()
}

fn address(node: &Node) -> SocketAddr {
    SocketAddr::new(node.address.ip(), node.address.port())
}

fn are_all_connected(session: &Session) -> bool {
    session.get_cluster_state().get_nodes_info().iter().all(|node| node.is_connected())
}

/// Asks one node.
async fn ask(session: &Session, node: SocketAddr, text: &str) -> QueryResult {
    let mut statement = Statement::new(text);
    let policy = SingleTargetLoadBalancingPolicy::new(NodeIdentifier::NodeAddress(node), None);
    statement.set_load_balancing_policy(Some(policy));
    session.query_unpaged(statement, ()).await.unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn value(result: QueryResult) -> CqlValue {
    result.into_rows_result().expect("rows").single_row::<(CqlValue,)>().expect("one value").0
}

/// The node that the driver asked, which may be any. It asks another one where the first is killed.
async fn coordinator(session: &Session) -> SocketAddr {
    let mut statement = Statement::new("SELECT host_id FROM system.local");
    statement.set_is_idempotent(true);
    let result = session.query_unpaged(statement, ()).await.expect("a node that is up answers");
    address(result.request_coordinator().node())
}

#[test]
#[ignore = "needs a ring of three nodes, which `cargo xtask drivers` starts"]
fn three_nodes_are_known_watched_and_failed_over() {
    let addresses = addresses();
    command(&["settle"]);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio starts");
    runtime.block_on(async {
        let session = Arc::new(through(addresses[0]).await);
        each_node_alone_leads_to_all_three(&session, &addresses).await;
        the_schema_of_one_node_is_that_of_all(&session, &addresses).await;
        a_node_that_is_killed_and_back_is_lost_once(&session, addresses[1]).await;
        the_control_connection_fails_over(&session, addresses[0]).await;
    });
}

async fn each_node_alone_leads_to_all_three(session: &Session, addresses: &[SocketAddr]) {
    let known = described(session);
    assert!(known.keys().eq(addresses), "{known:?}");
    for (_, datacenter, rack, tokens) in known.values() {
        assert_eq!(
            (datacenter.as_deref(), rack.as_deref(), tokens.len()),
            (Some("datacenter1"), Some("rack1"), TOKENS)
        );
    }
    assert_eq!(known.values().map(|(id, ..)| id).collect::<BTreeSet<_>>().len(), 3);
    assert_eq!(known.values().flat_map(|(.., tokens)| tokens).collect::<BTreeSet<_>>().len(), 3 * TOKENS);
    for address in addresses {
        let other = through(*address).await;
        assert_eq!(described(&other), known, "through {address}");
        until("all nodes are connected", async || are_all_connected(&other)).await;
    }
}

async fn the_schema_of_one_node_is_that_of_all(session: &Session, addresses: &[SocketAddr]) {
    ask(session, addresses[0], "DROP KEYSPACE IF EXISTS ring").await;
    let keyspace = "CREATE KEYSPACE ring WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}";
    ask(session, addresses[0], keyspace).await;
    ask(session, addresses[1], "CREATE TABLE ring.made (a int PRIMARY KEY, b text)").await;
    // The first question after the answer.
    let mut versions = Vec::new();
    for address in addresses {
        versions.push(value(ask(session, *address, "SELECT schema_version FROM system.local").await));
    }
    assert!(versions.iter().all(|version| *version == versions[0]), "{versions:?}");
    for (number, address) in addresses.iter().enumerate() {
        ask(session, *address, &format!("INSERT INTO ring.made (a, b) VALUES ({number}, '{address}')")).await;
        let read = value(ask(session, *address, &format!("SELECT b FROM ring.made WHERE a = {number}")).await);
        assert_eq!(read, CqlValue::Text(address.to_string()));
    }
    session.refresh_metadata().await.expect("metadata can be read");
    let state = session.get_cluster_state();
    assert!(state.get_keyspace("ring").is_some_and(|keyspace| keyspace.tables.contains_key("made")));
    ask(session, addresses[0], "DROP KEYSPACE ring").await;
}

async fn a_node_that_is_killed_and_back_is_lost_once(session: &Arc<Session>, killed: SocketAddr) {
    until("all nodes are connected", async || are_all_connected(session)).await;
    let known = described(session);
    let is_connected = move |session: &Session| {
        let state = session.get_cluster_state();
        state.get_nodes_info().iter().find(|node| address(node) == killed).map(|node| node.is_connected())
    };
    let is_over = Arc::new(AtomicBool::new(false));
    let watching = tokio::spawn({
        let (session, is_over) = (Arc::clone(session), Arc::clone(&is_over));
        async move {
            let mut seen = vec![is_connected(&session)];
            while !is_over.load(Ordering::Acquire) {
                let now = is_connected(&session);
                if seen.last() != Some(&now) {
                    seen.push(now);
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            seen
        }
    });
    tokio::task::spawn_blocking(|| command(&["kill", "2"])).await.expect("the node is killed");
    until("the driver loses the node", async || is_connected(session) == Some(false)).await;
    let back = || ["start", "settle"].iter().for_each(|word| command(&[word]));
    tokio::task::spawn_blocking(back).await.expect("the node is back");
    until("the driver has the node again", async || is_connected(session) == Some(true)).await;
    session.refresh_metadata().await.expect("metadata can be read");
    assert_eq!(described(session), known);
    is_over.store(true, Ordering::Release);
    // It was known all the time, lost once and found once.
    assert_eq!(watching.await.expect("it does not panic"), [Some(true), Some(false), Some(true)]);
}

async fn the_control_connection_fails_over(session: &Session, first: SocketAddr) {
    let known = described(session);
    let killing = tokio::task::spawn_blocking(|| command(&["kill", "1"]));
    while !killing.is_finished() {
        coordinator(session).await;
    }
    killing.await.expect("the node is killed");
    let mut coordinators = BTreeSet::new();
    until("both other nodes answer", async || {
        coordinators.insert(coordinator(session).await);
        coordinators.len() == 2
    })
    .await;
    assert!(!coordinators.contains(&first));
    // Over another control connection: the node of the first one is down.
    session.refresh_metadata().await.expect("metadata can be read");
    assert_eq!(described(session), known);
    command(&["start"]);
    until("all nodes are connected", async || are_all_connected(session)).await;
    assert_eq!(described(session), known);
}
