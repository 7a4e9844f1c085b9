//! Nodes that leave the cluster: decommission, removenode, assassinate.

use std::net::IpAddr;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};

use crate::ask::Question;
use crate::facts::RingNode;
use crate::json::{Json, Reply, Void};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::state::App;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/storage_service/decommission", post(decommission))
        .route("/storage_service/remove_node", post(remove))
        .route("/storage_service/removal_status", get(status))
        .route("/gossiper/assassinate/{endpoint}", post(assassinate))
}

async fn decommission(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["force"])?;
    let is_forced = parameters.flag("force", false)?;
    app.ask(0, Question::Decommission { is_forced }).await.map(|_| ())
}

/// `ignore_nodes` is ScyllaDB's: no node that is down is waited for anyway.
async fn remove(State(app): State<App>, parameters: Parameters) -> Void {
    parameters.only(&["host_id", "ignore_nodes", "force"])?;
    let host_id = parameters.needed("host_id")?.to_owned();
    let is_forced = parameters.flag("force", false)?;
    app.ask(0, Question::RemoveNode { host_id, is_forced }).await.map(|_| ())
}

/// In Cassandra's words, as far as it has them.
async fn status(State(app): State<App>) -> Reply {
    let node = app.node().await?;
    let leaving: Vec<String> = node.ring.iter().filter(|node| node.is_leaving).map(named).collect();
    Ok(Json(match leaving.is_empty() {
        true => "No token removals in process.".into(),
        false => format!(
            "Removing {}. Waiting for its ranges to be copied, and for its vote to be taken away.",
            leaving.join(", ")
        )
        .into(),
    }))
}

fn named(node: &RingNode) -> String {
    format!("node {} ({})", node.endpoint, node.host_id)
}

async fn assassinate(State(app): State<App>, Path(endpoint): Path<String>, parameters: Parameters) -> Void {
    parameters.only(&["unsafe"])?;
    let wrong = || Problem::bad_request(format!("'{endpoint}' is not a node address"));
    let address: IpAddr = endpoint.parse().map_err(|_| wrong())?;
    let node = app.node().await?;
    let found = at(&node.ring, address);
    let found = found.ok_or_else(|| Problem::not_found(format!("no node in the ring has the address {address}")))?;
    let question = Question::RemoveNode { host_id: found.host_id.clone(), is_forced: true };
    app.ask(0, question).await.map(|_| ())
}

/// The node of an address. Of several the one with tokens: another one may join in its place.
fn at(ring: &[RingNode], address: IpAddr) -> Option<&RingNode> {
    let at = || ring.iter().filter(|node| node.endpoint == address);
    at().find(|node| !node.tokens.is_empty()).or_else(|| at().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(last: u8, host_id: &str, tokens: &[i64]) -> RingNode {
        RingNode {
            is_joining: tokens.is_empty(),
            is_leaving: false,
            endpoint: [127, 0, 0, last].into(),
            host_id: host_id.to_owned(),
            datacenter: "dc1".to_owned(),
            rack: "r1".to_owned(),
            tokens: tokens.to_vec(),
            is_local: false,
            is_up: true,
            life: None,
        }
    }

    #[test]
    fn of_two_nodes_at_one_address_the_one_with_tokens_is_meant() {
        let ring = [node(1, "0a", &[1]), node(2, "0b", &[]), node(2, "0c", &[2]), node(3, "0d", &[])];
        let host_id = |last: u8| at(&ring, [127, 0, 0, last].into()).map(|node| node.host_id.as_str());
        assert_eq!([1, 2, 3, 4].map(host_id), [Some("0a"), Some("0c"), Some("0d"), None]);
    }
}
