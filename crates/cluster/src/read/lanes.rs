//! Requests to a reader, and the lanes of a read that is reconciled.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use mutation::{DecodeError, Position, ReadCommand};
use planted::Planted;
use runtime::{Elapsed, Instant, ShardId};
use storage::reader::{Page, Source};
use topology::{Epoch, NodeIndex};

use crate::outcome::Failure;
use crate::plan::Nodes;
use crate::replica::{Compared, PageLimits, PeerRead, PeerShard, ReplicaError, Shards, ask_for_digest, ask_to_read};

/// Bytes of one lane's page at most.
const LANE_BYTES_MAX: u32 = 256 << 10;
/// How often a waiting lane looks whether its node has become suspect.
pub(super) const SUSPECT_CHECK: Duration = Duration::from_millis(50);

/// The shard of a node that a lane's data comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin {
    Here(ShardId),
    There(NodeIndex, PeerShard),
}

/// Which shards of its readers a read is of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Extent {
    /// The owner of one token, which is this shard on this node.
    Owner(ShardId),
    /// All shards.
    AllShards,
}

impl Extent {
    /// The origins of a node's lanes. None: the node was never greeted.
    pub(super) fn origins(self, shards: &Shards, nodes: &Nodes, node: NodeIndex) -> Vec<Origin> {
        let is_here = node == nodes.local();
        match self {
            Extent::Owner(shard) if is_here => vec![Origin::Here(shard)],
            Extent::Owner(_) => vec![Origin::There(node, PeerShard::Owner)],
            Extent::AllShards if is_here => {
                (0..shards.sharder.shards).map(|shard| Origin::Here(ShardId(shard))).collect()
            }
            Extent::AllShards => {
                let count = nodes.shard_count(node);
                (0..count).map(|shard| Origin::There(node, PeerShard::One { shard, count })).collect()
            }
        }
    }
}

/// Why a lane, and with it a merge, ended.
#[derive(Debug)]
pub(super) enum LaneEnd {
    /// A reader failed.
    Reader(NodeIndex, ReplicaError),
    /// The readers' digests of a page differ.
    Differ,
    /// The level cannot be met any more.
    Failed(Failure),
}

/// How pages are asked for: what is the same for all lanes of a read.
#[derive(Clone)]
pub(super) struct Asking<'c> {
    pub(super) shards: Rc<Shards>,
    pub(super) nodes: Rc<Nodes>,
    pub(super) command: ReadCommand<'c>,
    pub(super) limits: PageLimits,
    /// The end of the read's time.
    pub(super) until: Instant,
}

impl Asking<'_> {
    /// The command's bytes, with which a read goes on after `after`.
    pub(super) fn encoded(&self, after: Option<&Position>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        ReadCommand { after: after.map(Position::as_ref), ..self.command }.encode(&mut bytes);
        bytes
    }

    /// The rest of the read's time, and the epoch that its plan rests on.
    fn terms(&self) -> (Duration, Epoch) {
        (self.until - self.shards.runtime.now(), self.limits.planned)
    }

    fn peer_read(&self, of: PeerShard, command: Vec<u8>) -> PeerRead {
        PeerRead { of, rows: self.limits.rows, bytes: self.limits.bytes, command }
    }

    fn gone(&self, node: NodeIndex) -> ReplicaError {
        ReplicaError::Gone { shard: self.nodes.shard_of(node) }
    }

    /// A page of data.
    pub(super) async fn page(&self, origin: Origin, command: Vec<u8>) -> Result<Page, ReplicaError> {
        match origin {
            Origin::Here(shard) => self.shards.fetch_data(shard, command, self.limits).await,
            Origin::There(node, of) => {
                let Some(peer) = self.nodes.peer(node) else { return Err(self.gone(node)) };
                ask_to_read(peer, self.peer_read(of, command), self.terms()).await
            }
        }
    }

    /// A page of data, or its digest.
    pub(super) async fn compared(
        &self,
        origin: Origin,
        command: Vec<u8>,
        gc_before: u32,
    ) -> Result<Compared, ReplicaError> {
        match origin {
            // A call of this process has no bytes to save.
            Origin::Here(_) => self.page(origin, command).await.map(Compared::Page),
            Origin::There(node, of) => {
                let Some(peer) = self.nodes.peer(node) else { return Err(self.gone(node)) };
                ask_for_digest(peer, self.peer_read(of, command), gc_before, self.terms()).await
            }
        }
    }

    /// True if nothing is heard of a node for too long.
    pub(super) fn is_suspect(&self, node: NodeIndex) -> bool {
        self.nodes.peer(node).is_some_and(internode::Peer::is_suspect)
    }
}

/// One lane of a reader, whose further pages are asked for as it runs dry.
pub(super) struct Asked<'c> {
    pub(super) asking: Asking<'c>,
    pub(super) node: NodeIndex,
    pub(super) origin: Origin,
    /// Another reader can go on in its place: this one is given up when it is suspect.
    pub(super) has_spare: bool,
}

impl Source for Asked<'_> {
    type Error = LaneEnd;

    async fn fetch(&mut self, after: Option<&Position>) -> Result<Page, LaneEnd> {
        let mut fetching = pin!(self.asking.page(self.origin, self.asking.encoded(after)));
        loop {
            match self.asking.shards.runtime.timeout(SUSPECT_CHECK, fetching.as_mut()).await {
                Ok(page) => return page.map_err(|error| LaneEnd::Reader(self.node, error)),
                Err(Elapsed) if self.has_spare && self.asking.is_suspect(self.node) => {
                    return Err(LaneEnd::Reader(self.node, self.asking.gone(self.node)));
                }
                Err(Elapsed) => {}
            }
        }
    }

    fn planted(&self) -> Planted {
        self.asking.shards.storage.planted()
    }

    fn malformed(&self, problem: DecodeError) -> LaneEnd {
        malformed(&self.asking.nodes, self.node, &problem)
    }
}

/// The end of a lane whose page makes no sense.
pub(super) fn malformed(nodes: &Nodes, node: NodeIndex, problem: &DecodeError) -> LaneEnd {
    let (shard, problem) = (nodes.shard_of(node), problem.to_string());
    LaneEnd::Reader(node, ReplicaError::Malformed { shard, problem })
}

/// The limits of one lane's page. Beside rows it counts partitions and deletions, so it is given more than its share.
pub(super) fn lane_limits(limits: PageLimits, lanes: usize) -> PageLimits {
    let lanes = u32::try_from(lanes).unwrap_or(u32::MAX).max(1);
    let rows = (limits.rows / lanes).saturating_mul(2).clamp(16, 8192);
    PageLimits { rows, rows_per_partition: u32::MAX, bytes: limits.bytes.min(LANE_BYTES_MAX), ..limits }
}
