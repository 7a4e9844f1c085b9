//! The end of an upgrade: features that all nodes know are enabled, at an operator's word or by the leader itself.
//!
//! `docs/internals/membership.md`, "Features".

use std::rc::Rc;

use admin::{UpgradeFacts, UpgradeNode};
use membership::Request;
use metadata::group::Answer;
use raft::RoleName;
use runtime::Group;
use topology::nodes::Features;

use super::{Cluster, Inner};

impl Cluster {
    /// The features of the cluster, and what each node lacks of them.
    pub(in crate::node) fn upgrade_facts(&self) -> UpgradeFacts {
        let registry = self.inner.registry.borrow();
        let of_some = Features(registry.nodes().fold(0, |some, (_, node)| some | node.start.features.0));
        let nodes = registry.nodes().map(|(_, node)| UpgradeNode {
            endpoint: std::net::SocketAddr::from(node.start.native).ip(),
            release: node.start.release.to_string(),
            lacks: node.start.features.missing(of_some).names(),
        });
        let waiting = registry.enabled().missing(of_some);
        UpgradeFacts { enabled: registry.enabled().names(), waiting: waiting.names(), nodes: nodes.collect() }
    }

    /// Enables what all nodes know; the error is a sentence for an operator.
    pub(in crate::node) async fn finalize_upgrade(&self) -> Result<(), String> {
        if self.inner.driver.get().is_none() {
            return Err("this node is starting".to_owned());
        }
        self.inner.finalize().await
    }
}

impl Inner {
    async fn finalize(&self) -> Result<(), String> {
        match self.propose(&Request::Finalize).await {
            Answer::Applied { .. } => Ok(()),
            // All is enabled already.
            Answer::Refused { reason, .. } if reason.is_empty() => Ok(()),
            Answer::Refused { reason, .. } => Err(String::from_utf8_lossy(&reason).into_owned()),
            Answer::NoLeader => Err("the cluster's metadata has no leader; nothing was changed".to_owned()),
            Answer::Failed { reason } => Err(format!("the change could not be made durable: {reason}")),
            Answer::Busy => Err("too many changes wait; try again".to_owned()),
            answer => Err(format!("the outcome is not known; ask again with upgrade status ({answer:?})")),
        }
    }

    /// Finalizes an upgrade as soon as it can be, if the configuration says so and this node leads.
    pub(super) fn finalize_by_itself(self: &Rc<Self>) {
        let Some(driver) = self.driver.get().filter(|_| self.config.auto_finalize) else { return };
        let is_leader = driver.with_member(|member, _| member.raft().role() == RoleName::Leader);
        let registry = self.registry.borrow();
        let has_more = !registry.enabled().missing(registry.features()).is_empty() && registry.nodes().len() > 0;
        drop(registry);
        if !is_leader || !has_more || self.is_finalizing.replace(true) {
            return;
        }
        let inner = Rc::clone(self);
        drop(self.runtime.spawn(Group::Query, async move {
            match inner.finalize().await {
                Ok(()) => tracing::info!(enabled = inner.registry.borrow().enabled().names(), "upgrade finalized"),
                Err(reason) => tracing::debug!(%reason, "upgrade not finalized yet"),
            }
            inner.is_finalizing.set(false);
        }));
    }
}
