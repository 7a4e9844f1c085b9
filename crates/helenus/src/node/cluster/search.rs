//! A node without a group looks for one: it asks all nodes that it has heard of, until it founds or joins.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use internode::{ANY_NODE, CallError, News, Peer, PeerParts, Purpose, ask};
use membership::{Decision, Introduction, JoinAnswer, Request};
use metadata::group::GroupId;
use metadata::{Opened, Way};
use runtime::Group;

use super::answers::JOIN;
use super::contact::DISCOVER;
use super::{Cluster, Inner};
use crate::node::NodeError;

/// Between two rounds of questions.
const ROUND: Duration = Duration::from_millis(50);
/// For an answer to a question.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// For an answer to a request to join.
const JOIN_TIME: Duration = Duration::from_secs(30);
/// Time in which seeds may answer, where the operator does not wait for them; and in which others hear that there is no seed.
const PATIENCE: Duration = Duration::from_secs(5);
/// The sentence of a node that finds no seed.
const NO_SEED: &str = "no node of the seed lists calls itself a seed, so none can found the cluster; list this node's own address in --seeds of one of them";
/// The sentence of a node that is to replace another and finds no cluster.
const NO_CLUSTER: &str =
    "a node that replaces another (--replace) founds no cluster; list other nodes of the cluster in --seeds";
/// Between two lines about the same state.
const REPORT: Duration = Duration::from_secs(10);

impl Cluster {
    /// Searches until the node has a group: `group` is the id of one that it founds. This start is counted in the log before it asks to join.
    pub(in crate::node) async fn find_group(&self, opened: &Opened, group: u128) -> Result<Way, NodeError> {
        let inner = &self.inner;
        let mut seeds = Seeds { inner, peers: BTreeMap::new() };
        let begun = inner.runtime.now();
        let (mut reported, mut without_seed) = (None, None);
        loop {
            seeds.ask_all().await;
            let is_patient_no_more = inner.config.found_without_silent && inner.runtime.now() - begun >= PATIENCE;
            let decision = inner.search.borrow().decide(is_patient_no_more);
            match decision {
                Decision::Found if inner.config.replaces.is_some() => {
                    return Err(NodeError::Cluster { sentence: NO_CLUSTER.to_owned() });
                }
                Decision::Found => {
                    // From here on others hear of it, so none founds beside it.
                    self.set_group(GroupId { id: group, incarnation: 0 });
                    seeds.end();
                    return Ok(Way::OwnOrFounded);
                }
                Decision::Join(at, group) => {
                    opened.count_start(inner.local.host_id(), inner.boot.number).await?;
                    if let Some(way) = seeds.join(at, group).await? {
                        self.set_group(group);
                        seeds.end();
                        return Ok(way);
                    }
                    inner.search.borrow_mut().not_accepted_by(at);
                }
                // The others have yet to hear from this node that it is none, or they would wait for its answer for ever.
                Decision::NoSeed => _ = without_seed.get_or_insert(inner.runtime.now()),
                Decision::TwoGroups(one, other) => {
                    let sentence = format!(
                        "the seeds are of two clusters, metadata groups {one} and {other}; list seeds of one alone"
                    );
                    return Err(NodeError::Cluster { sentence });
                }
                Decision::Wait { silent } => {
                    let now = inner.runtime.now();
                    // All have answered, so one of them is a seed.
                    without_seed = without_seed.filter(|_| !silent.is_empty());
                    if reported.is_none_or(|at| now - at >= REPORT) {
                        reported = Some(now);
                        tracing::info!(
                            ?silent,
                            "looking for the cluster; waiting for nodes that do not answer, or for a seed to found it"
                        );
                    }
                }
            }
            if without_seed.is_some_and(|since| inner.runtime.now() - since >= PATIENCE) {
                return Err(NodeError::Cluster { sentence: NO_SEED.to_owned() });
            }
            inner.runtime.sleep(ROUND).await;
        }
    }
}

/// Connections to the nodes that are asked.
struct Seeds<'a> {
    inner: &'a Rc<Inner>,
    peers: BTreeMap<SocketAddr, Peer>,
}

impl Seeds<'_> {
    fn peer(&mut self, at: SocketAddr) -> Peer {
        let inner = self.inner;
        let peer = self.peers.entry(at).or_insert_with(|| {
            let of = Rc::downgrade(inner);
            let watch = move |_, news: News<'_>| {
                if let (News::Refused(verdict), Some(inner)) = (news, of.upgrade()) {
                    inner.refused_by_seed(at, verdict);
                }
            };
            let local = inner.local.clone();
            let parts = PeerParts {
                address: at,
                host_id: ANY_NODE,
                local,
                purpose: Purpose::Control,
                compresses: false,
                watch: Some(Rc::new(watch)),
            };
            Peer::start(&inner.runtime, parts)
        });
        peer.clone()
    }

    /// Asks all nodes that are known of, and notes what they answer in time.
    async fn ask_all(&mut self) {
        let (to_ask, own) = {
            let search = self.inner.search.borrow();
            (search.to_ask().collect::<Vec<_>>(), search.introduction().to_bytes())
        };
        let mut asked = Vec::new();
        for at in to_ask {
            let (peer, body, runtime) = (self.peer(at), own.clone(), self.inner.runtime.clone());
            let asking = async move { runtime.timeout(ANSWER_TIME, ask(&peer, DISCOVER, &body)).await };
            asked.push((at, self.inner.runtime.spawn(Group::Query, asking)));
        }
        for (at, answer) in asked {
            let Ok(Ok(body)) = answer.await else { continue };
            match Introduction::decode(&body) {
                Ok(answer) => self.inner.search.borrow_mut().answered_by(at, &answer),
                Err(error) => tracing::warn!(address = %at, %error, "seed's answer not understood"),
            }
        }
    }

    /// Asks a member to accept this node. `None`: it is to be asked again.
    async fn join(&mut self, at: SocketAddr, group: GroupId) -> Result<Option<Way>, NodeError> {
        let registration = self.inner.registration();
        let refused = |sentence| NodeError::Cluster { sentence };
        registration.check().map_err(|error| refused(error.to_string()))?;
        let request = Request::Register(registration).to_bytes();
        let peer = self.peer(at);
        let answer = self.inner.runtime.timeout(JOIN_TIME, ask(&peer, JOIN, &request)).await;
        let body = match answer {
            Ok(Ok(body)) => body,
            Ok(Err(CallError::Gone | CallError::TooLarge { .. })) | Err(_) => return Ok(None),
        };
        match JoinAnswer::decode(&body) {
            Ok(JoinAnswer::Accepted(of, snapshot)) if of == group => {
                tracing::info!(%group, seed = %at, "joined the cluster");
                Ok(Some(Way::Joined(of, *snapshot)))
            }
            Ok(JoinAnswer::Accepted(..)) => Ok(None),
            Ok(JoinAnswer::NotNow(reason)) => {
                tracing::info!(seed = %at, reason, "cannot join the cluster yet; retrying");
                Ok(None)
            }
            Ok(JoinAnswer::Refused(reason)) => Err(refused(format!("cannot join the cluster: {reason}"))),
            Err(error) => {
                Err(refused(format!("cannot join the cluster: the answer of {at} is not understood: {error}")))
            }
        }
    }

    fn end(self) {
        self.peers.into_values().for_each(|peer| peer.end());
    }
}
