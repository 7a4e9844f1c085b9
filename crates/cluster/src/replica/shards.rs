//! The shards of this node as one of them reaches them: itself by a call, the others by message.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use mutation::ReadCommand;
use runtime::{Group, Mesh, MeshSeat, Runtime, ShardId};
use storage::reader::{Page, ReadDone};
use storage::{Ack, RowSink, Shard};
use topology::{Epoch, HostId, Sharder};

use super::acceptor::Acceptor;
use super::apply::{apply_planned, count_here, needed_ack, unreadable};
use super::error::ReplicaError;
use super::message::{CopyOrder, JobCall, PageLimits, ReadRequest, ReplicaReply, ReplicaRequest, WriteTerms};
use super::paxos_message::{Accept, Accepted, Prepare, Prepared};
use super::serve::{page_of_data, serve};
use crate::batches::{BatchName, Copies, Fate};
use crate::counts::Counts;
use crate::fence::Fence;
use crate::paxos::Queue;
use crate::streaming::{CopyAnswer, CopyRequest, JobOrder, JobReport, Sources};
use crate::timeouts::Timeouts;

/// Obeys orders about jobs of copying.
pub(crate) type Obey = Box<dyn Fn(JobOrder) -> Result<JobReport, ReplicaError>>;

/// Encoded mutations by the shard that owns them.
pub(crate) type ByShard = Vec<(ShardId, Vec<Vec<u8>>)>;

/// This node's shards, as the one that this is.
pub(crate) struct Shards {
    pub(crate) runtime: Runtime,
    /// Which shard owns which token.
    pub(crate) sharder: Sharder,
    /// This shard's own.
    pub(crate) storage: Shard,
    /// The epochs of the ring and of the tables, as this shard knows them.
    pub(crate) fence: Rc<Fence>,
    /// The copies of other nodes' batches that this shard keeps.
    pub(crate) copies: Rc<Copies>,
    /// The partitions of this shard at which an attempt is.
    pub(crate) queue: Queue,
    /// The times that requests wait for other nodes.
    pub(crate) timeouts: Rc<Timeouts>,
    acceptor: Rc<Acceptor>,
    /// Copies that other nodes pull from this shard.
    pub(crate) sources: Rc<Sources>,
    /// The jobs by which this shard copies from other nodes; set right after the coordinator's parts are made.
    jobs: Rc<OnceCell<Obey>>,
    /// Counts of requests over several nodes.
    pub(crate) counts: Counts,
    mesh: Mesh<ReplicaRequest, ReplicaReply>,
}

impl Shards {
    /// Takes the seat; the other shards are served from now on.
    pub(crate) fn new(
        runtime: Runtime,
        sharder: Sharder,
        storage: Shard,
        (host_id, timeouts): (HostId, Timeouts),
        seat: MeshSeat<ReplicaRequest, ReplicaReply>,
    ) -> Rc<Shards> {
        let fence = Rc::new(Fence::open(host_id, storage.planted()));
        let copies = Rc::new(Copies::of_node(host_id, storage.planted()));
        let (queue, timeouts) = (Queue::default(), Rc::new(timeouts));
        let acceptor = Rc::new(Acceptor {
            runtime: runtime.clone(),
            storage: storage.clone(),
            fence: Rc::clone(&fence),
            queue: queue.clone(),
            timeouts: Rc::clone(&timeouts),
        });
        let sources = Sources::new(&runtime, &storage, &fence, sharder);
        let jobs = Rc::new(OnceCell::new());
        let mesh = serve(seat, &acceptor, &copies, (&sources, &jobs));
        let counts = Counts::default();
        Rc::new(Shards {
            runtime,
            sharder,
            storage,
            fence,
            copies,
            queue,
            timeouts,
            acceptor,
            sources,
            jobs,
            counts,
            mesh,
        })
    }

    /// The shard that this is.
    #[inline]
    pub(crate) fn here(&self) -> ShardId {
        self.runtime.shard()
    }

    /// Asks another shard, and turns its refusal into an error.
    async fn call(&self, shard: ShardId, request: ReplicaRequest) -> Result<ReplicaReply, ReplicaError> {
        match self.mesh.call(shard, request).await {
            Ok(ReplicaReply::Failed(error)) => Err(error),
            Ok(reply) => Ok(reply),
            Err(gone) => Err(ReplicaError::Gone { shard: gone.shard.into() }),
        }
    }

    /// Writes mutations as one record of a shard's log.
    pub(crate) async fn write(
        &self,
        shard: ShardId,
        mutations: Vec<Vec<u8>>,
        terms: WriteTerms,
    ) -> Result<(), ReplicaError> {
        match shard == self.here() {
            true => self.write_here(&mutations, terms).await,
            false => self.send(shard, mutations, terms).await,
        }
    }

    /// The same with mutations that other replicas are sent too: they are copied for another shard only, whose thread frees what it gets.
    pub(crate) async fn write_shared(
        &self,
        shard: ShardId,
        mutations: &[&[u8]],
        terms: WriteTerms,
    ) -> Result<(), ReplicaError> {
        match shard == self.here() {
            true => self.write_here(mutations, terms).await,
            false => self.send(shard, mutations.iter().map(|mutation| mutation.to_vec()).collect(), terms).await,
        }
    }

    async fn write_here(&self, mutations: &[impl AsRef<[u8]>], terms: WriteTerms) -> Result<(), ReplicaError> {
        let (storage, shard) = (&self.storage, self.here().0);
        let ack = apply_planned(self.fence.gate(self.here(), terms.planned), storage, mutations).await?;
        match needed_ack(storage, ack, terms.durable) {
            Ack::Now => Ok(()),
            Ack::When(sequence) => {
                let synced = storage.wait_synced(sequence).await;
                synced.map_err(|reason| ReplicaError::NotSynced { shard: shard.into(), reason })
            }
        }
    }

    async fn send(&self, shard: ShardId, mut mutations: Vec<Vec<u8>>, terms: WriteTerms) -> Result<(), ReplicaError> {
        let request = match mutations.len() {
            1 if !terms.durable => ReplicaRequest::Write { mutation: mutations.swap_remove(0), planned: terms.planned },
            _ => ReplicaRequest::WriteBatch { mutations, terms },
        };
        match self.call(shard, request).await? {
            ReplicaReply::Written => Ok(()),
            reply => panic!("a shard answers a write with its outcome, not with {reply:?}"),
        }
    }

    /// Writes each part on its shard. All are waited for; the first refusal is the outcome.
    pub(crate) async fn write_all(self: &Rc<Self>, mut parts: ByShard, terms: WriteTerms) -> Result<(), ReplicaError> {
        if let [(shard, mutations)] = parts.as_mut_slice() {
            return self.write(*shard, std::mem::take(mutations), terms).await;
        }
        let mut running = Vec::with_capacity(parts.len());
        for (shard, mutations) in parts {
            let shards = Rc::clone(self);
            let write = async move { shards.write(shard, mutations, terms).await };
            running.push(self.runtime.spawn(Group::Query, write));
        }
        let mut outcome = Ok(());
        for write in running {
            outcome = outcome.and(write.await);
        }
        outcome
    }

    /// Counts on a shard, and waits for the sync that the mode asks for. Gives the states, where they are wanted.
    pub(crate) async fn count(
        &self,
        shard: ShardId,
        deltas: Vec<Vec<u8>>,
        wants_states: bool,
        planned: Epoch,
    ) -> Result<Vec<Vec<u8>>, ReplicaError> {
        if shard == self.here() {
            return count_here(self.fence.gate(shard, planned), &self.storage, &self.fence, &deltas).await;
        }
        match self.call(shard, ReplicaRequest::Count { deltas, wants_states, planned }).await? {
            ReplicaReply::Counted { states } => Ok(states),
            ReplicaReply::Written if !wants_states => Ok(Vec::new()),
            reply => panic!("a shard answers a count with states, not with {reply:?}"),
        }
    }

    /// The fates of batches as this node knows them: by its own logs, and by the copies that it keeps. One shard is asked about each: that which
    /// coordinated it, or to which its coordinator's shard sends copies.
    pub(crate) async fn fates(&self, names: Vec<BatchName>) -> Result<Vec<Fate>, ReplicaError> {
        let mut known = vec![Fate::Unknown; names.len()];
        let mut by_shard: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        for (index, name) in names.iter().enumerate() {
            let shard = if name.host_id == self.copies.own() { name.shard } else { name.shard % self.sharder.shards };
            // The shard count may have been another.
            if shard < self.sharder.shards {
                by_shard.entry(shard).or_default().push(index);
            }
        }
        for (shard, indices) in by_shard {
            let names = indices.iter().map(|&index| names[index]).collect();
            match self.call(ShardId(shard), ReplicaRequest::Fates { names }).await? {
                ReplicaReply::Fates(fates) => indices.into_iter().zip(fates).for_each(|(at, fate)| known[at] = fate),
                reply => panic!("a shard answers with fates, not with {reply:?}"),
            }
        }
        Ok(known)
    }

    /// Has a shard promise, and read a page.
    pub(crate) async fn prepare(
        &self,
        shard: ShardId,
        prepare: Prepare,
        planned: Epoch,
    ) -> Result<Prepared, ReplicaError> {
        if shard == self.here() {
            return self.acceptor.prepare(&prepare, planned).await;
        }
        let prepare = Box::new(prepare);
        match self.call(shard, ReplicaRequest::Prepare { prepare, planned }).await? {
            ReplicaReply::Prepared(prepared) => Ok(*prepared),
            reply => panic!("a shard answers with a promise, not with {reply:?}"),
        }
    }

    /// Has a shard accept a proposal.
    pub(crate) async fn accept(
        &self,
        shard: ShardId,
        accept: Accept,
        planned: Epoch,
    ) -> Result<Accepted, ReplicaError> {
        if shard == self.here() {
            // What has begun ends as a whole, whoever still waits for it.
            let acceptor = Rc::clone(&self.acceptor);
            return self.runtime.spawn(Group::Query, async move { acceptor.accept(accept, planned).await }).await;
        }
        match self.call(shard, ReplicaRequest::Accept { accept: Box::new(accept), planned }).await? {
            ReplicaReply::Accepted(accepted) => Ok(accepted),
            reply => panic!("a shard accepts or does not, and does not say {reply:?}"),
        }
    }

    /// The shard's own jobs obey orders from now on.
    pub(crate) fn set_jobs(&self, obey: Obey) {
        assert!(self.jobs.set(obey).is_ok(), "the jobs of a shard are made once");
    }

    /// Has a shard serve a copy of another node.
    pub(crate) async fn copy(
        &self,
        shard: ShardId,
        from: HostId,
        planned: Epoch,
        request: CopyRequest,
    ) -> Result<CopyAnswer, ReplicaError> {
        let order = Box::new(CopyOrder { from, planned, request });
        match self.call(shard, ReplicaRequest::Copy(order)).await? {
            ReplicaReply::Copy(answer) => Ok(answer.0),
            reply => panic!("a shard answers for a copy, not with {reply:?}"),
        }
    }

    /// Gives a shard an order about a job of copying.
    pub(crate) async fn order(&self, shard: ShardId, order: JobOrder) -> Result<JobReport, ReplicaError> {
        match self.call(shard, ReplicaRequest::Job(Box::new(JobCall(order)))).await? {
            ReplicaReply::Job(report) => Ok(report.0),
            reply => panic!("a shard answers with a job's state, not with {reply:?}"),
        }
    }

    /// Reads from this shard alone, letting others run in between.
    pub(crate) async fn read_here(
        &self,
        command: ReadCommand<'_>,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, ReplicaError> {
        let read = self.storage.read_through(&command, sink).await;
        read.map_err(|error| unreadable(self.here().0, error))
    }

    /// One page of what lives, from a shard, which may be this one.
    pub(crate) async fn fetch(
        &self,
        shard: ShardId,
        command: Vec<u8>,
        limits: PageLimits,
    ) -> Result<Page, ReplicaError> {
        self.page(shard, ReplicaRequest::Read(ReadRequest { command, limits })).await
    }

    /// The same with all that reconciliation needs.
    pub(crate) async fn fetch_data(
        &self,
        shard: ShardId,
        command: Vec<u8>,
        limits: PageLimits,
    ) -> Result<Page, ReplicaError> {
        self.page(shard, ReplicaRequest::ReadData(ReadRequest { command, limits })).await
    }

    /// The same from this shard. Dropped, the future ends the read.
    pub(crate) async fn fetch_data_here(&self, command: &[u8], limits: PageLimits) -> Result<Page, ReplicaError> {
        page_of_data(&self.runtime, (&self.storage, &self.fence), command, limits).await
    }

    async fn page(&self, shard: ShardId, request: ReplicaRequest) -> Result<Page, ReplicaError> {
        match self.call(shard, request).await? {
            ReplicaReply::Page(page) => Ok(page),
            reply => panic!("a shard answers a read with a page, not with {reply:?}"),
        }
    }
}

/// Adds a mutation to its shard's.
pub(crate) fn add(parts: &mut ByShard, shard: ShardId, mutation: Vec<u8>) {
    match parts.iter_mut().find(|(known, _)| *known == shard) {
        Some((_, mutations)) => mutations.push(mutation),
        None => parts.push((shard, vec![mutation])),
    }
}
