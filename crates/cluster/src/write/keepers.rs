//! The coordinator's side: which nodes keep copies of a batch, and what it tells and asks them.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use planted::Bug;
use runtime::sync::Notify;
use runtime::{Elapsed, Group};
use storage::BatchId;
use topology::{Epoch, HostId, NodeIndex, Ring};

use crate::batches::{BatchName, Fate, NAMES_MAX};
use crate::counts::count;
use crate::plan::{Nodes, Placement};
use crate::replica::{ReplicaError, ReplicaShard, Shards, ask_about_batches, ask_to_copy, tell_batches_done};
use crate::timeouts::TimeoutKind;

/// Keepers of a batch.
const KEEPERS: usize = 2;
/// Time for the answers of other nodes at a start, connecting to them included.
const ASK_TIME: Duration = Duration::from_secs(1);
/// Between two looks whether a node is up, at a start.
const LOOK: Duration = Duration::from_millis(20);

/// The nodes that keep copies of one batch.
#[derive(Clone)]
pub(super) struct Keepers {
    shards: Rc<Shards>,
    nodes: Rc<Nodes>,
    name: BatchName,
    chosen: Vec<NodeIndex>,
}

/// The answers of keepers.
#[derive(Default)]
struct Answers {
    has_kept: bool,
    /// Those that may still answer.
    open: usize,
    refusal: Option<(NodeIndex, ReplicaError)>,
}

/// Why no keeper has a copy.
pub(super) enum NotKept {
    /// A keeper has applied a change that the plan does not know.
    Stale(HostId, Epoch),
    /// The last refusal, or silence.
    Failed(ReplicaError),
}

impl Keepers {
    /// The keepers of a batch of this shard, by the present ring. None where there is no other node to be one.
    pub(super) fn choose(shards: &Rc<Shards>, placement: &Placement, id: BatchId) -> Keepers {
        let nodes = placement.nodes();
        let (boot, sequence) = id.place();
        let host_id = nodes.ring().local_node().host_id;
        let name = BatchName { host_id, boot, shard: shards.here().0, sequence };
        // Nodes of a ring fixed by hand have no epochs in common, by which a copy would be known to be older than a truncation.
        let has_keepers = shards.fence.is_closed() && !shards.storage.planted().is(Bug::BatchCopyOnItself);
        let is_suspect = |node| nodes.peer(node).is_some_and(internode::Peer::is_suspect);
        let may_keep = |node: &NodeIndex| may_keep(placement, &nodes, *node);
        let live: Vec<NodeIndex> = match has_keepers {
            true => node_indices(nodes.ring()).filter(may_keep).collect(),
            false => Vec::new(),
        };
        let draw = || shards.runtime.random_u64();
        let chosen = best(nodes.ring(), &live, &is_suspect, &draw);
        Keepers { shards: Rc::clone(shards), nodes, name, chosen }
    }

    /// True if there is a keeper.
    pub(super) fn is_needed(&self) -> bool {
        !self.chosen.is_empty()
    }

    /// The keepers, counted.
    pub(super) fn count(&self) -> usize {
        self.chosen.len()
    }

    /// Sends copies to all keepers, and waits until one has it. The rest go on.
    pub(super) async fn copy(&self, created: i64, mutations: &Rc<Vec<Vec<u8>>>, planned: Epoch) -> Result<(), NotKept> {
        assert!(self.is_needed(), "copies are sent to keepers");
        let runtime = &self.shards.runtime;
        let answers = Rc::new(RefCell::new(Answers { open: self.chosen.len(), ..Answers::default() }));
        let changed = Notify::new();
        for &node in &self.chosen {
            let (keepers, mutations) = (self.clone(), Rc::clone(mutations));
            let (answers, changed) = (Rc::clone(&answers), changed.clone());
            runtime.spawn(Group::Query, async move {
                let kept = keepers.copy_to(node, created, &mutations, planned).await;
                let mut answers = answers.borrow_mut();
                answers.open -= 1;
                let counts = &keepers.shards.counts;
                match kept {
                    Ok(()) => {
                        count(&counts.batch_copies);
                        answers.has_kept = true;
                    }
                    Err(error) => {
                        count(&counts.batch_copies_failed);
                        answers.refusal = Some((node, error));
                    }
                }
                changed.notify();
            });
        }
        loop {
            {
                let mut answers = answers.borrow_mut();
                if answers.has_kept {
                    return Ok(());
                }
                if answers.open == 0 {
                    let (node, error) = answers.refusal.take().expect("each keeper has kept it or not");
                    return Err(match error {
                        ReplicaError::Stale { epoch, .. } => NotKept::Stale(self.host(node), epoch),
                        error => NotKept::Failed(error),
                    });
                }
            }
            changed.notified().await;
        }
    }

    async fn copy_to(
        &self,
        node: NodeIndex,
        created: i64,
        mutations: &[Vec<u8>],
        planned: Epoch,
    ) -> Result<(), ReplicaError> {
        let gone = || ReplicaError::Gone { shard: self.nodes.shard_of(node) };
        let Some(peer) = self.nodes.peer(node) else { return Err(gone()) };
        let runtime = &self.shards.runtime;
        let time = copy_time(&self.shards);
        let copied = ask_to_copy(peer, (self.name, created), mutations, (time, planned));
        runtime.timeout(time, copied).await.unwrap_or_else(|Elapsed| Err(gone()))
    }

    /// Tells the keepers that the batch is done. A keeper that does not hear of it asks.
    pub(super) fn done(self) {
        let (runtime, time) = (self.shards.runtime.clone(), copy_time(&self.shards));
        for &node in &self.chosen {
            let Some(peer) = self.nodes.peer(node).cloned() else { continue };
            let (name, timing) = (self.name, runtime.clone());
            drop(runtime.spawn(Group::Query, async move {
                let _ = timing.timeout(time, tell_batches_done(&peer, &[name], time)).await;
            }));
        }
    }

    fn host(&self, node: NodeIndex) -> HostId {
        self.nodes.ring().node(node).host_id
    }
}

/// True if a node may keep what this one hands to it: one that joins is gone if its operation is aborted, and one that leaves when it is done.
fn may_keep(placement: &Placement, nodes: &Nodes, node: NodeIndex) -> bool {
    let host = nodes.ring().node(node).host_id;
    let stays = !placement.is_joining(host) && !placement.is_leaving(host);
    node != nodes.local() && nodes.is_alive(node) && stays
}

/// Hands mutations of a write that began at `created` to a node that stays, which logs them as its copy of a batch whose coordinator is gone, and delivers them: to one replica of
/// each at least, or as hints. Nodes of this datacenter are asked first. The plans rest on `planned`.
pub(super) async fn hand_over(
    (shards, placement): (&Rc<Shards>, &Placement),
    created: i64,
    mutations: &[Vec<u8>],
    planned: Epoch,
) -> Result<(), (HostId, ReplicaError)> {
    let nodes = placement.nodes();
    let ring = nodes.ring();
    let own = ring.local_node();
    // Of no start: this node, asked about it, does not know it.
    let name =
        BatchName { host_id: own.host_id, boot: 0, shard: shards.here().0, sequence: shards.runtime.random_u64() };
    let mut stay: Vec<NodeIndex> = node_indices(ring).filter(|node| may_keep(placement, &nodes, *node)).collect();
    stay.sort_by_key(|node| (ring.node(*node).datacenter != own.datacenter, shards.runtime.random_u64()));
    let mut refused = (own.host_id, ReplicaError::Gone { shard: shards.here().into() });
    let (runtime, time) = (&shards.runtime, copy_time(shards));
    for node in stay {
        let Some(peer) = nodes.peer(node) else { continue };
        let asked = runtime.timeout(time, ask_to_copy(peer, (name, created), mutations, (time, planned))).await;
        match asked.unwrap_or_else(|Elapsed| Err(ReplicaError::Gone { shard: nodes.shard_of(node) })) {
            Ok(()) => {
                stdx::sometimes!("a hint is handed to another node");
                return Ok(());
            }
            Err(error) => refused = (ring.node(node).host_id, error),
        }
    }
    Err(refused)
}

/// Of batches that a start has found in this shard's log, those that are done as another node knows. Each other node is asked as soon as it is up, all side by side, for a while.
pub(super) async fn delivered_by_keepers(shards: &Rc<Shards>, placement: &Placement, ids: &[BatchId]) -> Vec<BatchId> {
    let nodes = placement.nodes();
    if ids.is_empty() || nodes.ring().others().next().is_none() || !shards.fence.is_closed() {
        return Vec::new();
    }
    let host_id = nodes.ring().local_node().host_id;
    let mut delivered = Vec::new();
    for ids in ids.chunks(NAMES_MAX) {
        let name = |id: &BatchId| {
            let (boot, sequence) = id.place();
            BatchName { host_id, boot, shard: shards.here().0, sequence }
        };
        let names: Rc<Vec<BatchName>> = Rc::new(ids.iter().map(name).collect());
        let others = node_indices(nodes.ring()).filter(|&node| node != nodes.local());
        let asking: Vec<_> = others
            .map(|node| {
                let (shards, nodes, names) = (Rc::clone(shards), Rc::clone(&nodes), Rc::clone(&names));
                let runtime = shards.runtime.clone();
                runtime.clone().spawn(Group::Query, async move {
                    let asked = runtime.timeout(ASK_TIME, fates_when_up(&shards, &nodes, node, &names));
                    asked.await.unwrap_or_default()
                })
            })
            .collect();
        for fates in asking {
            let is_done = |(_, fate): &(&BatchId, Fate)| *fate == Fate::Done;
            delivered.extend(ids.iter().zip(fates.await).filter(is_done).map(|(id, _)| *id));
        }
    }
    delivered
}

/// Waits for a node, and asks it. Nothing where it does not answer.
async fn fates_when_up(shards: &Shards, nodes: &Nodes, node: NodeIndex, names: &[BatchName]) -> Vec<Fate> {
    while !nodes.is_alive(node) {
        shards.runtime.sleep(LOOK).await;
    }
    match nodes.peer(node) {
        Some(peer) => fates(shards, peer, names).await.unwrap_or_default(),
        None => Vec::new(),
    }
}

/// The fates of batches as another node knows them.
pub(super) async fn fates(
    shards: &Shards,
    peer: &internode::Peer,
    names: &[BatchName],
) -> Result<Vec<Fate>, ReplicaError> {
    let time = copy_time(shards);
    let asked = shards.runtime.timeout(time, ask_about_batches(peer, names, time)).await;
    asked.unwrap_or_else(|Elapsed| Err(ReplicaError::Gone { shard: ReplicaShard::of_node(peer.address()) }))
}

/// Time for a copy, or a message about one.
fn copy_time(shards: &Shards) -> Duration {
    shards.timeouts.get(TimeoutKind::Write)
}

fn node_indices(ring: &Ring) -> impl Iterator<Item = NodeIndex> {
    (0..u16::try_from(ring.nodes().len()).expect("a ring has fewer nodes")).map(NodeIndex)
}

/// The best keepers among live nodes: of this datacenter; no suspect ones; of other racks than this node's, and of two of them; else by chance.
fn best(
    ring: &Ring,
    live: &[NodeIndex],
    is_suspect: &dyn Fn(NodeIndex) -> bool,
    draw: &dyn Fn() -> u64,
) -> Vec<NodeIndex> {
    let own = ring.local_node();
    let mut left: Vec<(NodeIndex, u64)> = live.iter().map(|&node| (node, draw())).collect();
    left.retain(|(node, _)| ring.node(*node).datacenter == own.datacenter);
    let mut racks = vec![own.rack.as_str()];
    let mut chosen = Vec::new();
    while chosen.len() < KEEPERS {
        let rank = |(node, drawn): &(NodeIndex, u64)| {
            let rack = ring.node(*node).rack.as_str();
            // A rack with a keeper is better than this node's own.
            (is_suspect(*node), rack == own.rack, racks.contains(&rack), *drawn)
        };
        let Some(next) = left.iter().min_by_key(|node| rank(node)).copied() else { break };
        left.retain(|(node, _)| *node != next.0);
        racks.push(ring.node(next.0).rack.as_str());
        chosen.push(next.0);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use topology::Node;

    use super::*;

    /// Nodes with datacenter and rack, of which the first is this one.
    fn ring(places: &[(&str, &str)]) -> Ring {
        let node = |(number, (datacenter, rack)): (u8, &(&str, &str))| Node {
            host_id: HostId([number; 16]),
            address: ([10, 0, 0, number], 9042).into(),
            internode: ([10, 0, 0, number], 7000).into(),
            datacenter: (*datacenter).into(),
            rack: (*rack).into(),
            tokens: vec![topology::Token(i64::from(number))],
        };
        Ring::new(Epoch::FIRST, (0..).zip(places).map(node).collect(), NodeIndex(0))
    }

    fn chosen(places: &[(&str, &str)], live: &[u16], suspect: &[u16]) -> Vec<u16> {
        let ring = ring(places);
        let live: Vec<NodeIndex> = live.iter().copied().map(NodeIndex).collect();
        let drawn = std::cell::Cell::new(0);
        let draw = || drawn.replace(drawn.get() + 1);
        let is_suspect = |node: NodeIndex| suspect.contains(&node.0);
        best(&ring, &live, &is_suspect, &draw).into_iter().map(|node| node.0).collect()
    }

    #[test]
    fn keepers_are_of_other_racks_where_there_are_some() {
        let places = [("d", "r1"), ("d", "r1"), ("d", "r2"), ("d", "r2"), ("d", "r3"), ("e", "r4")];
        assert_eq!(chosen(&places, &[1, 2, 3, 4, 5], &[]), [2, 4], "of two racks, and of this datacenter");
        assert_eq!(chosen(&places, &[1, 2, 3, 5], &[]), [2, 3], "rather of one other rack than of this one");
        assert_eq!(chosen(&places, &[1, 2, 5], &[]), [2, 1]);
        assert_eq!(chosen(&places, &[1, 2, 4], &[2]), [4, 1], "suspect ones last");
        assert_eq!(chosen(&places, &[5], &[]), [0u16; 0], "as in Cassandra, none of another datacenter");
    }
}
