//! A majority of the voters is lost for good: this node begins the group again, or follows the one that did.

use std::net::SocketAddr;
use std::time::Duration;

use internode::{ANY_NODE, Malformed, Peer, PeerParts, Purpose, ask};
use membership::{JoinAnswer, LogEnd, TopologyDomain, may_recover};
use metadata::group::{FoundGroup, GroupId};
use metadata::{ClusterState, Way};
use topology::HostId;

use super::{Cluster, Inner};
use crate::node::NodeError;

/// Asks a node for the end of its log; the body is empty.
pub(super) const LOG_END: u8 = 20;
/// Asks a node that began the group again for its state; the body is empty.
pub(super) const FOLLOW: u8 = 21;

/// Tries to reach a node, each of which may last as long as the next constant.
const TRIES: u32 = 10;
const ANSWER_TIME: Duration = Duration::from_secs(1);
const ROUND: Duration = Duration::from_millis(300);

impl Cluster {
    /// Begins the group again with this node as its only voter, if no node that answers has a later log.
    pub(in crate::node) async fn recover(
        &self,
        found: &FoundGroup,
        state: &ClusterState,
        incarnation: u64,
    ) -> Result<Way, NodeError> {
        let inner = &self.inner;
        let refused = |sentence: String| NodeError::Cluster { sentence };
        let group = found.group.ok_or_else(|| refused(membership::RecoveryError::NoGroup.to_string()))?;
        let (term, index) = found.end();
        let own = LogEnd { group, term, index, has_leader: false };
        inner.log_end.set(Some(own));
        // Others that recover judge this node by its registry's nodes.
        inner.registry.replace(state.of::<TopologyDomain>().clone());
        let others: Vec<(HostId, SocketAddr)> = {
            let registry = inner.registry.borrow();
            let others = registry.nodes().filter(|(id, _)| *id != inner.local.host_id());
            others.map(|(id, node)| (id, node.start.internode.into())).collect()
        };
        let before = GroupId { incarnation: 0, ..group };
        let mut answers = Vec::new();
        for (host_id, address) in others {
            match inner.ask_once(host_id, address, LOG_END).await.map(|body| LogEnd::decode(&body)) {
                // It waits to follow what this node began at an earlier start, and has the group as it was before.
                Some(Ok(end)) if end.group == before && group != before => {}
                Some(Ok(end)) => answers.push((host_id, end)),
                Some(Err(error)) => {
                    return Err(refused(format!("the answer of host {host_id} is not understood: {error}")));
                }
                None => tracing::warn!(host = %host_id, %address, "node does not answer; recovering without it"),
            }
        }
        may_recover(&own, &answers, inner.planted).map_err(|error| refused(error.to_string()))?;
        let next = GroupId { incarnation, ..group };
        tracing::warn!(
            group = %next, %term, %index, answered = answers.len(),
            "metadata group begins again with this node as its only voter; start the others with --recover-metadata and this node's address"
        );
        self.set_group(next);
        Ok(Way::Recovered(incarnation))
    }

    /// Takes over the state of the node that began the group again.
    pub(in crate::node) async fn follow_recovery(&self, found: &FoundGroup, at: SocketAddr) -> Result<Way, NodeError> {
        let refused = |sentence: String| NodeError::Cluster { sentence };
        let Some(own) = found.group else {
            return Err(refused(membership::RecoveryError::NoGroup.to_string()));
        };
        // Until it has followed, its log counts: the node that begins may have the shorter one.
        let (term, index) = found.end();
        self.inner.log_end.set(Some(LogEnd { group: own, term, index, has_leader: false }));
        loop {
            let Some(body) = self.inner.ask_once(ANY_NODE, at, FOLLOW).await else {
                tracing::warn!(address = %at, "the node that recovers does not answer; retrying");
                continue;
            };
            match JoinAnswer::decode(&body).map_err(|error| refused(error.to_string()))? {
                JoinAnswer::Accepted(group, _) if group.id != own.id => {
                    return Err(refused(format!(
                        "node {at} is of another cluster: its metadata group is {group}, this node's {own}"
                    )));
                }
                JoinAnswer::Accepted(group, snapshot) if snapshot.origin.index < found.commit() => {
                    let (index, commit) = (snapshot.origin.index, found.commit());
                    return Err(refused(format!(
                        "this node's metadata is later (epoch {commit}) than that of group {group} at {at} (epoch {index}): recover on this node instead"
                    )));
                }
                JoinAnswer::Accepted(group, snapshot) => {
                    tracing::warn!(%group, node = %at, "following the recovered metadata group");
                    self.set_group(group);
                    return Ok(Way::Joined(group, *snapshot));
                }
                JoinAnswer::Refused(reason) => {
                    return Err(refused(format!("cannot follow the recovered metadata group: {reason}")));
                }
                JoinAnswer::NotNow(reason) => {
                    tracing::info!(node = %at, reason, "cannot follow the recovered metadata group yet; retrying");
                    self.inner.runtime.sleep(ROUND).await;
                }
            }
        }
    }
}

impl Inner {
    /// The answer of a node, if it can be reached in some tries.
    async fn ask_once(&self, host_id: HostId, address: SocketAddr, verb: u8) -> Option<Vec<u8>> {
        let local = self.local.clone();
        let (purpose, compresses) = (Purpose::Control, false);
        let parts = PeerParts { address, host_id: ANY_NODE, local, purpose, compresses, watch: None };
        let peer = Peer::start(&self.runtime, parts);
        let mut answer = None;
        for _ in 0..TRIES {
            if let Ok(Ok(body)) = self.runtime.timeout(ANSWER_TIME, ask(&peer, verb, &[])).await {
                answer = Some(body);
                break;
            }
            self.runtime.sleep(ROUND).await;
        }
        if answer.is_some() && host_id != ANY_NODE {
            tracing::debug!(host = %host_id, %address, "node answered");
        }
        peer.end();
        answer
    }

    /// The end of this node's log, for one that recovers.
    pub(super) fn log_end(&self) -> Result<Vec<u8>, Malformed> {
        let running = self.driver.get().and_then(|driver| {
            driver.with_member(|member, _| {
                let log = member.raft().log();
                let (term, index) = (log.last_term(), log.last_index());
                Some(LogEnd { group: member.group(), term, index, has_leader: member.raft().leader().is_some() })
            })
        });
        let end = running.or(self.log_end.get()).ok_or_else(|| Malformed::new("this node is of no group yet"))?;
        Ok(end.to_bytes())
    }

    /// The state of a group that was begun again, for a node of it.
    pub(super) fn recovered_state(&self, from: HostId) -> JoinAnswer {
        let (Some(group), Some(driver)) = (self.group.get(), self.driver.get()) else {
            return JoinAnswer::NotNow("this node is starting".to_owned());
        };
        if group.incarnation == 0 {
            let reason = "its metadata group was not begun again: start one node with --recover-metadata alone first";
            return JoinAnswer::Refused(reason.to_owned());
        }
        match self.registry.borrow().node(from) {
            Some(_) => JoinAnswer::Accepted(group, driver.with_member(|member, _| member.snapshot()).into()),
            None => JoinAnswer::Refused(format!("host {from} is not a node of the cluster")),
        }
    }
}
