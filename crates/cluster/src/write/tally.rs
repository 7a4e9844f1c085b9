//! Counting answers to a write of several mutations, each with replicas and needs of its own.

use std::cell::{Cell, RefCell};

use planted::{Bug, Planted};
use runtime::sync::Notify;
use topology::{Epoch, NodeIndex, Required, Ring};

use crate::outcome::{Failure, Refusal};
use crate::plan::{count_towards, is_enough};
use crate::replica::ReplicaError;

/// How one replica ended its part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Applied, and durable where the mode asks for that.
    Written,
    /// It refused.
    Refused(ReplicaError),
    /// Nothing was heard of it: it may have done it or not.
    Silent,
}

struct Counted {
    needs: Required,
    written: Vec<NodeIndex>,
    refused: Vec<(NodeIndex, ReplicaError)>,
    silent: Vec<NodeIndex>,
    /// Replicas that may still answer.
    open: Vec<NodeIndex>,
}

/// The answers to one request.
pub(super) struct Tally {
    mutations: RefCell<Vec<Counted>>,
    /// The replicas that were asked by a plan that is older than a change that they have applied, with that change's epoch.
    stale: RefCell<Vec<(NodeIndex, Epoch)>>,
    stage: Cell<Stage>,
    staged: Notify,
    changed: Notify,
    planted: Planted,
}

/// The write that waits for answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The write.
    Counting,
    /// None: the write was planned again, as a whole.
    Superseded,
    /// None: the write has ended, and nothing of it was sent since.
    Over,
}

/// True if a request is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Every mutation has the answers that it needs.
    Done,
    /// More answers may decide it.
    Open,
    /// The rest is to be planned again: this node has applied a change of this epoch that the plan does not know.
    Stale(NodeIndex, Epoch),
    /// Some mutation cannot have them any more.
    Failed(Failure),
}

impl Tally {
    /// Nothing is asked yet.
    pub(super) fn new(planted: Planted) -> Self {
        Tally {
            mutations: RefCell::default(),
            stale: RefCell::default(),
            stage: Cell::new(Stage::Counting),
            staged: Notify::new(),
            changed: Notify::new(),
            planted,
        }
    }

    /// Adds a mutation that `written` have, and which is sent to `contacts`.
    pub(super) fn push(&self, needs: Required, written: Vec<NodeIndex>, contacts: Vec<NodeIndex>) {
        let (refused, silent) = (Vec::new(), Vec::new());
        let needs = match needs {
            Required::Local(needed) if self.planted.is(Bug::LocalCountsRemote) => Required::Total(needed),
            Required::PerDatacenter(mut counts) if self.planted.is(Bug::EachCountsOne) => {
                counts.truncate(1);
                Required::PerDatacenter(counts)
            }
            needs => needs,
        };
        let counted = Counted { needs, written, refused, silent, open: contacts };
        self.mutations.borrow_mut().push(counted);
    }

    /// The replicas that have each mutation.
    pub(super) fn written(&self) -> Vec<Vec<NodeIndex>> {
        self.mutations.borrow().iter().map(|counted| counted.written.clone()).collect()
    }

    /// No write waits for further answers.
    ///
    /// # Panics
    /// If that was said before.
    pub(super) fn end(&self, stage: Stage) {
        assert!(self.stage.get() == Stage::Counting && stage != Stage::Counting, "a round ends once");
        self.stage.set(stage);
        self.staged.notify_all();
    }

    /// Waits until no write waits for answers.
    pub(super) async fn ended(&self) -> Stage {
        while self.stage.get() == Stage::Counting {
            self.staged.notified().await;
        }
        self.stage.get()
    }

    /// Counts a replica's answer for the mutations at `indices`.
    pub(super) fn count(&self, node: NodeIndex, indices: &[usize], answer: &Answer) {
        if let Answer::Refused(ReplicaError::Stale { epoch, .. }) = answer {
            // It has neither done nor refused it.
            self.stale.borrow_mut().push((node, *epoch));
            return self.changed.notify();
        }
        let mut mutations = self.mutations.borrow_mut();
        for &index in indices {
            let counted = &mut mutations[index];
            counted.open.retain(|open| *open != node);
            match answer {
                Answer::Written => {
                    counted.written.push(node);
                    if self.planted.is(Bug::AnswerCountedTwice) {
                        counted.written.push(node);
                    }
                }
                Answer::Refused(error) => counted.refused.push((node, error.clone())),
                Answer::Silent => counted.silent.push(node),
            }
        }
        drop(mutations);
        self.changed.notify();
    }

    /// Waits for the next answer.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The signal of the next answer, or of whatever else may decide the request.
    pub(super) fn signal(&self) -> &Notify {
        &self.changed
    }

    /// What the answers so far come to.
    pub(super) fn verdict(&self, ring: &Ring) -> Verdict {
        let mut verdict = Verdict::Done;
        for counted in &*self.mutations.borrow() {
            let is_early = self.planted.is(Bug::ReplyBeforeQuorum) && !counted.written.is_empty();
            if is_early || is_enough(&counted.needs, ring, &counted.written) {
                continue;
            }
            let possible: Vec<NodeIndex> = counted.written.iter().chain(&counted.open).copied().collect();
            if !is_enough(&counted.needs, ring, &possible) {
                return Verdict::Failed(counted.failure(ring));
            }
            verdict = Verdict::Open;
        }
        match (verdict, self.stale()) {
            (Verdict::Open, Some((node, epoch))) => Verdict::Stale(node, epoch),
            (verdict, _) => verdict,
        }
    }

    /// The last replica that was asked by a plan that is too old, and the epoch of the change that it has applied.
    pub(super) fn stale(&self) -> Option<(NodeIndex, Epoch)> {
        self.stale.borrow().last().copied()
    }

    /// True if some replica may still answer for each of these mutations.
    pub(super) fn may_all_be_answered(&self, indices: &[usize]) -> bool {
        let mutations = self.mutations.borrow();
        indices.iter().all(|&index| !mutations[index].open.is_empty())
    }

    /// True if some replica may still answer.
    pub(super) fn is_open(&self) -> bool {
        self.mutations.borrow().iter().any(|counted| !counted.open.is_empty())
    }

    /// The mutations that do not have the answers that they need.
    pub(super) fn unmet(&self, ring: &Ring) -> Vec<usize> {
        let mutations = self.mutations.borrow();
        let all = mutations.iter().enumerate();
        let unmet = all.filter(|(_, counted)| !is_enough(&counted.needs, ring, &counted.written));
        unmet.map(|(index, _)| index).collect()
    }

    /// What a request is told whose time is over.
    pub(super) fn timeout(&self, ring: &Ring) -> Failure {
        let mutations = self.mutations.borrow();
        let unmet = mutations.iter().find(|counted| !is_enough(&counted.needs, ring, &counted.written));
        Failure::Timeout { received: unmet.map_or(0, |counted| counted.received_in_time(ring)) }
    }
}

impl Counted {
    /// The answers that an error tells. At EACH_QUORUM all are, those that their datacenter did not need too. (Source: Cassandra's
    /// `DatacenterSyncWriteResponseHandler.ackCount`.)
    fn received(&self, ring: &Ring) -> u32 {
        match &self.needs {
            Required::PerDatacenter(_) => u32::try_from(self.written.len()).unwrap_or(u32::MAX),
            needs => count_towards(needs, ring, &self.written).0,
        }
    }

    /// The same of a time-out, which never tells that as many came as the level needs (CASSANDRA-6491).
    fn received_in_time(&self, ring: &Ring) -> u32 {
        self.received(ring).min(self.needs.total().saturating_sub(1))
    }

    /// Where the refusals alone keep the level from being reached it is a failure; where it takes someone's silence, a
    /// time-out, as nobody knows what that one did. Silent are also those that were gone before they could be asked.
    fn failure(&self, ring: &Ring) -> Failure {
        let received = self.received(ring);
        let not_refused: Vec<NodeIndex> =
            [&self.written, &self.open, &self.silent].into_iter().flatten().copied().collect();
        if self.refused.is_empty() || is_enough(&self.needs, ring, &not_refused) {
            return Failure::Timeout { received: self.received_in_time(ring) };
        }
        let refusal = |(node, error): &(NodeIndex, ReplicaError)| Refusal {
            node: ring.node(*node).address.ip(),
            error: error.clone(),
        };
        Failure::Failed { received, refusals: self.refused.iter().map(refusal).collect() }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use topology::{Epoch, HostId, Node, Token};

    use super::*;

    /// The first node is in the first datacenter, the others in the second.
    fn ring() -> Ring {
        let node = |number: u8| Node {
            host_id: HostId([number; 16]),
            address: SocketAddr::from(([127, 0, 0, number], 9042)),
            internode: SocketAddr::from(([127, 0, 0, number], 7000)),
            datacenter: if number == 1 { "datacenter1" } else { "datacenter2" }.to_owned(),
            rack: "rack1".to_owned(),
            tokens: vec![Token(i64::from(number))],
        };
        Ring::new(Epoch::FIRST, (1..=3).map(node).collect(), NodeIndex(0))
    }

    #[test]
    fn a_level_of_each_datacenter_tells_all_answers_and_fewer_than_it_needs() {
        let (ring, nodes) = (ring(), [0, 1, 2].map(NodeIndex));
        let needs = |first, second| {
            Required::PerDatacenter(vec![("datacenter1".to_owned(), first), ("datacenter2".to_owned(), second)])
        };
        let timed_out = |needs, written: &[NodeIndex]| {
            let tally = Tally::new(Planted::NONE);
            tally.push(needs, Vec::new(), nodes.to_vec());
            written.iter().for_each(|node| tally.count(*node, &[0], &Answer::Written));
            assert_eq!(tally.verdict(&ring), Verdict::Open);
            tally.timeout(&ring)
        };
        assert_eq!(timed_out(needs(1, 2), &nodes[..2]), Failure::Timeout { received: 2 });
        assert_eq!(timed_out(needs(1, 2), &nodes[1..]), Failure::Timeout { received: 2 }, "all of the second");
        assert_eq!(timed_out(needs(1, 1), &nodes[1..]), Failure::Timeout { received: 1 }, "it needs two in all");
    }

    #[test]
    fn who_was_gone_before_it_was_asked_has_refused_nothing() {
        let ring = ring();
        let after = |contacts: &[u16], answers: &[(u16, Answer)]| {
            let tally = Tally::new(Planted::NONE);
            tally.push(Required::Total(2), Vec::new(), contacts.iter().copied().map(NodeIndex).collect());
            for (node, answer) in answers {
                tally.count(NodeIndex(*node), &[0], answer);
            }
            tally.verdict(&ring)
        };
        let refused = Answer::Refused(ReplicaError::Gone { shard: 0.into() });
        let stale = Answer::Refused(ReplicaError::Stale { shard: 0.into(), epoch: Epoch(9) });
        assert_eq!(after(&[0], &[]), Verdict::Failed(Failure::Timeout { received: 0 }));
        assert_eq!(after(&[0], &[(0, Answer::Written)]), Verdict::Failed(Failure::Timeout { received: 1 }));
        assert_eq!(after(&[0, 1, 2], &[(0, Answer::Written), (1, refused.clone())]), Verdict::Open);
        assert_eq!(after(&[0, 1], &[(0, stale.clone())]), Verdict::Stale(NodeIndex(0), Epoch(9)));
        let done = [(0, stale), (1, Answer::Written), (2, Answer::Written)];
        assert_eq!(after(&[0, 1, 2], &done), Verdict::Done, "the others suffice");
        let failed = after(&[0, 1, 2], &[(1, refused.clone()), (2, refused)]);
        assert!(matches!(&failed, Verdict::Failed(Failure::Failed { received: 0, refusals }) if refusals.len() == 2));
    }
}
