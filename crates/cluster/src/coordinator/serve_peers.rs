//! What this node does when another asks it.

use std::time::Duration;

use internode::{Listening, PeerSocket, Verbs, listen_for_peers};
use mutation::ReadCommandBuf;
use runtime::{Group, MeshSeat, ShardId, TcpListener};

use super::message::{PageLimits, ReadRequest, ReplicaError, ReplicaReply, ReplicaRequest};
use super::{Coordinator, Page};
use crate::replica::{PeerAnswer, PeerRead, PeerRequest, PeerShard, register};

/// The most that one page for another node holds, bytes, whatever it asks for.
const PAGE_BYTES_MAX: u32 = 1 << 20;

impl Coordinator {
    /// Takes the seat on which greeted connections come to this shard.
    pub(super) fn open_peers(&self, seat: MeshSeat<PeerSocket, ()>) {
        let mut verbs = Verbs::new();
        let coordinator = self.clone();
        register(&mut verbs, move |request| {
            let coordinator = coordinator.clone();
            async move { coordinator.answer_peer(request).await }
        });
        let mesh = self.inner.incoming.open(&self.inner.runtime, seat, verbs);
        self.inner.peer_sockets.set(mesh).ok().expect("the seat is opened once");
    }

    /// Lets the ring's other nodes in. On shard 0, when every shard has its coordinator.
    pub fn accept_peers(&self, listener: TcpListener, cluster_name: &str) {
        let ring = &self.inner.ring;
        let local = ring.local_node().host_id;
        let others = ring.nodes().iter().map(|node| node.host_id).filter(|id| *id != local).collect();
        let listening = Listening { local, others, cluster_name: cluster_name.to_owned() };
        let mesh = self.inner.peer_sockets.get().expect("it is set when the coordinator is made").clone();
        let runtime = &self.inner.runtime;
        let accepting = runtime.spawn(Group::Query, listen_for_peers(runtime.clone(), listener, listening, mesh));
        *self.inner.accepting.borrow_mut() = Some(accepting);
    }

    /// Lets no further connections of other nodes in; for shard 0, before the shards end theirs.
    pub fn stop_accepting_peers(&self) {
        if let Some(accepting) = self.inner.accepting.take() {
            accepting.abort();
        }
    }

    /// Ends the connections on which this shard answers other nodes: requests being served are answered, if they take no longer than
    /// `patience`. What is answered later would not be in the last sync.
    pub async fn end_peers(&self, patience: Duration) {
        self.inner.incoming.end(patience).await;
    }

    async fn answer_peer(&self, request: PeerRequest) -> PeerAnswer {
        match request {
            PeerRequest::Write { mutations } => match self.write_for_peer(mutations).await {
                Ok(()) => PeerAnswer::Written,
                Err(error) => PeerAnswer::Failed(error),
            },
            PeerRequest::Count { deltas } => match self.count_for_peer(deltas).await {
                Ok(states) => PeerAnswer::Counted { states },
                Err(error) => PeerAnswer::Failed(error),
            },
            PeerRequest::Read(read) => match self.read_for_peer(read).await {
                Ok(page) => PeerAnswer::Page(page),
                Err(error) => PeerAnswer::Failed(error),
            },
        }
    }

    async fn read_for_peer(&self, read: PeerRead) -> Result<Page, ReplicaError> {
        let malformed = |problem: String| ReplicaError::Malformed { shard: self.shard().0, problem };
        let shards = self.inner.sharder.shards;
        let shard = match read.of {
            PeerShard::One { shard, count } if count == shards && shard < shards => ShardId(shard),
            PeerShard::One { shard, count } => {
                return Err(malformed(format!("shard {shard} of {count} was asked for, and there are {shards}")));
            }
            PeerShard::Owner => {
                let command = ReadCommandBuf::decode(&read.command).map_err(|error| malformed(error.to_string()))?;
                match command.command().keys {
                    mutation::KeyRange::Partition { token, .. } => ShardId(self.inner.sharder.shard_of(token)),
                    mutation::KeyRange::Tokens { .. } => {
                        return Err(malformed("a range of tokens has no one owner".to_owned()));
                    }
                }
            }
        };
        let bytes = read.bytes.min(PAGE_BYTES_MAX);
        let limits = PageLimits { rows: read.rows, rows_per_partition: u32::MAX, bytes, counts_statics: true };
        self.fetch_data(shard, read.command, limits).await
    }

    /// One page of a shard of this node, with all that reconciliation needs.
    pub(super) async fn fetch_data(
        &self,
        shard: ShardId,
        command: Vec<u8>,
        limits: PageLimits,
    ) -> Result<Page, ReplicaError> {
        match self.call(shard, ReplicaRequest::ReadData(ReadRequest { command, limits })).await? {
            ReplicaReply::Page(page) => Ok(page),
            reply => panic!("a shard answers a read with a page, not with {reply:?}"),
        }
    }
}
