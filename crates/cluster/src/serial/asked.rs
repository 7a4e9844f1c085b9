//! The electorate of an attempt, and what each of its members is asked.

use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use runtime::{Elapsed, Group, Instant, ShardId};
use topology::{Epoch, NodeIndex, Required};

use crate::outcome::{Failure, Refusal};
use crate::paxos::Ballot;
use crate::plan::{Nodes, ReplicaPlan, count_towards, is_enough};
use crate::read::Running;
use crate::replica::{
    Accept, Accepted, Prepare, Prepared, ReplicaError, Shards, WriteTerms, ask_to_accept, ask_to_commit, ask_to_prepare,
};

/// The replicas whose majority decides, as one plan knows them.
#[derive(Clone)]
pub(super) struct Electorate {
    shards: Rc<Shards>,
    nodes: Rc<Nodes>,
    needs: Required,
    /// The live ones.
    pub(super) members: Vec<NodeIndex>,
    /// The owner of the token on this node.
    shard: ShardId,
    /// The epoch that the plan rests on.
    planned: Epoch,
}

/// The answers to one question.
pub(super) struct Answers<T> {
    /// Those that did as they were asked.
    pub(super) done: Vec<(NodeIndex, T)>,
    /// The latest ballot of those that are ahead.
    pub(super) outrun: Option<Ballot>,
    /// Those that did not, or of which it is not known.
    pub(super) failed: Vec<(NodeIndex, ReplicaError)>,
    /// Those that had not answered when the question was decided.
    pub(super) open: Vec<NodeIndex>,
    /// The time was over.
    pub(super) is_late: bool,
}

impl Electorate {
    pub(super) fn of(shards: &Rc<Shards>, plan: &ReplicaPlan<'_>, planned: Epoch) -> Electorate {
        let (nodes, ring) = (plan.nodes, plan.nodes.ring());
        let is_near = |node: &NodeIndex| ring.node(*node).datacenter == ring.local_node().datacenter;
        let counts = |node: &NodeIndex| !plan.needs.is_local() || is_near(node);
        let members = plan.replicas.iter().copied().filter(counts).filter(|&node| nodes.is_alive(node)).collect();
        let (shards, nodes, needs) = (Rc::clone(shards), Rc::clone(nodes), plan.needs.clone());
        Electorate { shards, nodes, needs, members, shard: plan.shard, planned }
    }

    /// True if these are a majority.
    pub(super) fn is_majority(&self, nodes: &[NodeIndex]) -> bool {
        is_enough(&self.needs, self.nodes.ring(), nodes)
    }

    /// Has the members promise, until a majority has or cannot any more.
    pub(super) async fn prepare(&self, prepare: &Prepare, until: Instant) -> Answers<crate::replica::Promised> {
        let ask = |node| {
            let prepare = prepare.clone();
            async move { self.prepare_at(node, prepare, until - self.shards.runtime.now()).await }
        };
        let take = |prepared| match prepared {
            Prepared::Promised(promised) => Ok(promised),
            Prepared::Outrun(latest) => Err(latest),
        };
        self.ask(ask, take, until, false).await
    }

    /// Has the members accept, until a majority has; where none can, until it is known of all what they did.
    pub(super) async fn accept(&self, accept: &Accept, until: Instant) -> Answers<()> {
        let ask = |node| {
            let accept = accept.clone();
            async move { self.accept_at(node, accept, until - self.shards.runtime.now()).await }
        };
        let take = |accepted| match accepted {
            Accepted::Done => Ok(()),
            Accepted::Outrun(latest) => Err(latest),
        };
        self.ask(ask, take, until, true).await
    }

    /// Sends a commit's mutations to some of the members. Gives those that have it on their disks.
    pub(super) async fn commit_at(&self, nodes: &[NodeIndex], mutations: &[&[u8]], until: Instant) -> Vec<NodeIndex> {
        let mut running = Running::new();
        for &node in nodes {
            running.push(node, async move {
                let terms = (until - self.shards.runtime.now(), self.planned);
                if node == self.nodes.local() {
                    let terms = WriteTerms { durable: true, planned: self.planned };
                    let mutations = mutations.iter().map(|mutation| mutation.to_vec()).collect();
                    let (shards, shard) = (Rc::clone(&self.shards), self.shard);
                    // What has begun ends as a whole, though the time is over.
                    let write = async move { shards.write(shard, mutations, terms).await };
                    return self.shards.runtime.spawn(Group::Query, write).await;
                }
                match self.nodes.peer(node) {
                    Some(peer) => ask_to_commit(peer, mutations, terms).await,
                    None => Err(ReplicaError::Gone { shard: self.nodes.shard_of(node) }),
                }
            });
        }
        let mut written = Vec::new();
        let (runtime, written_in_time) = (&self.shards.runtime, &mut written);
        let all = async {
            while let Some((node, answer)) = running.next().await {
                match answer {
                    Ok(()) => written_in_time.push(node),
                    Err(error) => tracing::debug!(%error, "a replica does not take the commit that it lacks"),
                }
            }
        };
        // Those that have it by then count.
        let _ = runtime.timeout(until - runtime.now(), all).await;
        written
    }

    async fn prepare_at(&self, node: NodeIndex, prepare: Prepare, time: Duration) -> Result<Prepared, ReplicaError> {
        if node == self.nodes.local() {
            return self.shards.prepare(self.shard, prepare, self.planned).await;
        }
        let gone = || ReplicaError::Gone { shard: self.nodes.shard_of(node) };
        ask_to_prepare(self.nodes.peer(node).ok_or_else(gone)?, prepare, (time, self.planned)).await
    }

    async fn accept_at(&self, node: NodeIndex, accept: Accept, time: Duration) -> Result<Accepted, ReplicaError> {
        if node == self.nodes.local() {
            return self.shards.accept(self.shard, accept, self.planned).await;
        }
        let gone = || ReplicaError::Gone { shard: self.nodes.shard_of(node) };
        ask_to_accept(self.nodes.peer(node).ok_or_else(gone)?, accept, (time, self.planned)).await
    }

    /// Asks all members, and takes answers until a majority has done it. Where none can, to the end of all if `to_the_end`, as long as none has done it.
    async fn ask<A, T, Fut: Future<Output = Result<A, ReplicaError>>>(
        &self,
        ask: impl Fn(NodeIndex) -> Fut,
        take: impl Fn(A) -> Result<T, Ballot>,
        until: Instant,
        to_the_end: bool,
    ) -> Answers<T> {
        let runtime = &self.shards.runtime;
        let mut running = Running::new();
        self.members.iter().for_each(|&node| running.push(node, ask(node)));
        let (open, is_late) = (self.members.clone(), false);
        let mut answers = Answers { done: Vec::new(), outrun: None, failed: Vec::new(), open, is_late };
        loop {
            let done: Vec<NodeIndex> = answers.done.iter().map(|(node, _)| *node).collect();
            let possible = [&done[..], &answers.open[..]].concat();
            let is_over = self.is_majority(&done) || answers.open.is_empty();
            let is_lost = !self.is_majority(&possible);
            if is_over || (is_lost && (!to_the_end || !done.is_empty())) {
                return answers;
            }
            match runtime.timeout(until - runtime.now(), running.next()).await {
                Ok(Some((node, answer))) => {
                    answers.open.retain(|open| *open != node);
                    match answer.map(&take) {
                        Ok(Ok(done)) => answers.done.push((node, done)),
                        Ok(Err(latest)) => answers.outrun = answers.outrun.max(Some(latest)),
                        Err(error) => answers.failed.push((node, error)),
                    }
                }
                Ok(None) | Err(Elapsed) => {
                    answers.is_late = true;
                    return answers;
                }
            }
        }
    }

    /// The node of a stale answer, and the change that it knows.
    pub(super) fn stale<T>(&self, answers: &Answers<T>) -> Option<(NodeIndex, Epoch)> {
        answers.failed.iter().find_map(|(node, error)| match error {
            ReplicaError::Stale { epoch, .. } => Some((*node, *epoch)),
            _ => None,
        })
    }

    /// The failure of a question that no majority did, though none is ahead.
    pub(super) fn failure<T>(&self, answers: &Answers<T>) -> Failure {
        let ring = self.nodes.ring();
        let done: Vec<NodeIndex> = answers.done.iter().map(|(node, _)| *node).collect();
        let received = count_towards(&self.needs, ring, &done).0.min(self.needs.total().saturating_sub(1));
        let is_refusal = |error: &&(NodeIndex, ReplicaError)| !matches!(error.1, ReplicaError::Gone { .. });
        let refused: Vec<&(NodeIndex, ReplicaError)> = answers.failed.iter().filter(is_refusal).collect();
        let others: Vec<NodeIndex> =
            self.members.iter().copied().filter(|node| refused.iter().all(|(refused, _)| refused != node)).collect();
        // One was silent, whose answer might have sufficed.
        if self.is_majority(&others) || answers.is_late || refused.is_empty() {
            return Failure::Timeout { received };
        }
        let refusal = |(node, error): &&(NodeIndex, ReplicaError)| Refusal {
            node: ring.node(*node).internode.ip(),
            error: error.clone(),
        };
        Failure::Failed { received, refusals: refused.iter().map(refusal).collect() }
    }
}

/// True if a replica that answered so has certainly not accepted.
pub(super) fn is_refused_before(error: &ReplicaError) -> bool {
    use ReplicaError::{DiskFull, Lags, Malformed, Overloaded, Stale, TooLarge, UnknownTable, Unreadable};
    matches!(
        error,
        Stale { .. }
            | Lags { .. }
            | Overloaded { .. }
            | UnknownTable { .. }
            | Malformed { .. }
            | DiskFull { .. }
            | Unreadable { .. }
            | TooLarge { .. }
    )
}
