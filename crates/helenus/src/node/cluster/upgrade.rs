//! The end of an upgrade, for operators: features that all nodes know are enabled.
//!
//! `docs/internals/membership.md`, "Features".

use admin::{UpgradeFacts, UpgradeNode};
use topology::nodes::Features;

use super::Cluster;
use super::upkeep::finalize;

/// The features of the cluster, and those that each node lacks.
pub(in crate::node) fn upgrade_facts(cluster: &Cluster) -> UpgradeFacts {
    let registry = cluster.inner.registry.borrow();
    let of_some = Features(registry.nodes().fold(0, |some, (_, node)| some | node.start.features.0));
    let nodes = registry.nodes().map(|(_, node)| UpgradeNode {
        endpoint: std::net::SocketAddr::from(node.start.native).ip(),
        release: node.start.release.to_string(),
        lacks: node.start.features.missing(of_some).names(),
    });
    let waiting = registry.enabled().missing(of_some);
    UpgradeFacts { enabled: registry.enabled().names(), waiting: waiting.names(), nodes: nodes.collect() }
}

/// Enables the features that all nodes know; the error is a sentence for an operator.
pub(in crate::node) async fn finalize_upgrade(cluster: &Cluster) -> Result<(), String> {
    match cluster.inner.driver.get() {
        Some(_) => finalize(&cluster.inner).await,
        None => Err("this node is starting".to_owned()),
    }
}
