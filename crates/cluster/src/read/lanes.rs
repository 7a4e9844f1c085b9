//! The lanes of a read that is reconciled: whose pages each fetches, and how a lane ends.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use mutation::{DecodeError, Position, ReadCommand};
use planted::Planted;
use runtime::{Group, Instant, ShardId, TaskHandle};
use storage::reader::{Page, Source};
use topology::NodeIndex;

use crate::plan::Nodes;
use crate::replica::{PageLimits, PeerRead, PeerShard, ReplicaError, Shards, ask_to_read};

/// Bytes of one lane's page at most.
const LANE_BYTES_MAX: u32 = 256 << 10;

/// The shard of a node that a lane's data comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin {
    Here(ShardId),
    There(NodeIndex, PeerShard),
}

/// A lane's origin, and what is asked there.
#[derive(Clone)]
pub(super) struct Asked<'c> {
    pub(super) shards: Rc<Shards>,
    pub(super) nodes: Rc<Nodes>,
    pub(super) node: NodeIndex,
    pub(super) origin: Origin,
    pub(super) command: ReadCommand<'c>,
    pub(super) limits: PageLimits,
    /// The end of the read's time.
    pub(super) until: Instant,
}

/// First pages that are under way. Dropped, it ends their tasks, which cancels what other nodes were asked.
struct Fetches(VecDeque<TaskHandle<Result<Page, ReplicaError>>>);

impl Drop for Fetches {
    fn drop(&mut self) {
        self.0.drain(..).for_each(TaskHandle::abort);
    }
}

/// Why a lane ended.
pub(super) struct LaneError {
    pub(super) node: NodeIndex,
    pub(super) error: ReplicaError,
}

/// The first pages of all lanes, asked for together. Whoever sends one is noted at once.
pub(super) async fn first_pages<'c>(
    sources: Vec<Asked<'c>>,
    heard: &Rc<RefCell<Vec<NodeIndex>>>,
) -> Vec<(Asked<'c>, Result<Page, LaneError>)> {
    let mut running = Fetches(VecDeque::with_capacity(sources.len()));
    for source in &sources {
        let after = source.command.after.map(|position| position.to_owned());
        let bytes = source.encoded(after.as_ref());
        let (shards, nodes) = (Rc::clone(&source.shards), Rc::clone(&source.nodes));
        let (origin, limits, until, runtime) = (source.origin, source.limits, source.until, shards.runtime.clone());
        let (node, heard) = (source.node, Rc::clone(heard));
        let fetch = runtime.spawn(Group::Query, async move {
            let page = fetch_from(&shards, &nodes, (origin, until), bytes, limits).await;
            if page.is_ok() {
                heard.borrow_mut().push(node);
            }
            page
        });
        running.0.push_back(fetch);
    }
    let mut pages = Vec::with_capacity(sources.len());
    for source in sources {
        let (fetch, node) = (running.0.front_mut().expect("each source has its fetch"), source.node);
        let page = fetch.await.map_err(|error| LaneError { node, error });
        running.0.pop_front();
        pages.push((source, page));
    }
    pages
}

async fn fetch_from(
    shards: &Shards,
    nodes: &Nodes,
    (origin, until): (Origin, Instant),
    command: Vec<u8>,
    limits: PageLimits,
) -> Result<Page, ReplicaError> {
    match origin {
        Origin::Here(shard) => shards.fetch_data(shard, command, limits).await,
        Origin::There(node, of) => {
            let Some(peer) = nodes.peer(node) else { return Err(ReplicaError::Gone { shard: nodes.shard_of(node) }) };
            let time = until - shards.runtime.now();
            let read = PeerRead { of, rows: limits.rows, bytes: limits.bytes, command };
            ask_to_read(peer, read, (time, limits.planned)).await
        }
    }
}

impl Asked<'_> {
    fn encoded(&self, after: Option<&Position>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        ReadCommand { after: after.map(Position::as_ref), ..self.command }.encode(&mut bytes);
        bytes
    }
}

impl Source for Asked<'_> {
    type Error = LaneError;

    async fn fetch(&mut self, after: Option<&Position>) -> Result<Page, LaneError> {
        let origin = (self.origin, self.until);
        let page = fetch_from(&self.shards, &self.nodes, origin, self.encoded(after), self.limits).await;
        page.map_err(|error| LaneError { node: self.node, error })
    }

    fn planted(&self) -> Planted {
        self.shards.storage.planted()
    }

    fn malformed(&self, problem: DecodeError) -> LaneError {
        let (shard, problem) = (self.nodes.shard_of(self.node), problem.to_string());
        LaneError { node: self.node, error: ReplicaError::Malformed { shard, problem } }
    }
}

/// The limits of one lane's page. Beside rows it counts partitions and deletions, so it is given more than its share.
pub(super) fn lane_limits(limits: PageLimits, lanes: usize) -> PageLimits {
    let lanes = u32::try_from(lanes).unwrap_or(u32::MAX).max(1);
    let rows = (limits.rows / lanes).saturating_mul(2).clamp(16, 8192);
    PageLimits { rows, rows_per_partition: u32::MAX, bytes: limits.bytes.min(LANE_BYTES_MAX), ..limits }
}
