//! Reads that several replicas answer, or another node: of a partition, and over the ring.
//!
//! As few replicas are asked as the level needs, this node first. There is no speculation: one that does not answer in
//! time makes the read time out. What differs between the readers of a partition is reconciled for the client and written
//! back; of a scan it is only reconciled.

use std::cell::RefCell;
use std::ops::Bound as TokenBound;
use std::rc::Rc;
use std::time::Duration;

use mutation::{DecodeError, KeyRange, Position, ReadCommand};
use planted::Planted;
use runtime::{Elapsed, Group, ShardId};
use schema::Table;
use storage::RowSink;
use storage::reader::{Comparison, Lane, Page, ReadDone, Source, merge};
use topology::{ConsistencyLevel, NodeIndex, Required, Token};

use super::Coordinator;
use super::message::{PageLimits, ReplicaError};
use super::outcome::{Failure, Refusal};
use super::repair::Repairs;
use super::replication::{ReplicaPlan, Replication, readers};
use super::tally::Answer;
use super::write::wrong_answer;
use crate::replica::{PeerAnswer, PeerRead, PeerRequest, PeerShard};

/// How long replicas have to answer a read of a partition. Cassandra's `read_request_timeout`.
const READ_TIME: Duration = Duration::from_secs(5);
/// The same for a scan. Cassandra's `range_request_timeout`.
const SCAN_TIME: Duration = Duration::from_secs(10);
/// Bytes of one lane's page at most.
const LANE_BYTES_MAX: u32 = 256 << 10;

/// The shard of a node that a lane's data comes from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    Here(ShardId),
    There(NodeIndex, PeerShard),
}

/// A lane's origin, and what is asked there.
#[derive(Clone)]
struct Asked<'c> {
    coordinator: Coordinator,
    node: NodeIndex,
    origin: Origin,
    command: ReadCommand<'c>,
    limits: PageLimits,
}

/// Why a lane ended.
struct LaneError {
    node: NodeIndex,
    error: ReplicaError,
}

impl Coordinator {
    pub(super) async fn read_replicas(
        &self,
        plan: &ReplicaPlan<'_>,
        table: &Table,
        command: ReadCommand<'_>,
        limits: PageLimits,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, Failure> {
        let inner = &*self.inner;
        let readers = readers(plan.needs, &inner.ring, &inner.nodes, plan.replicas);
        // A node may have gone down since the plan was made: no readers are no answer, not an empty one.
        if readers.is_empty() {
            return Err(Failure::Timeout { received: 0 });
        }
        let origins = readers.iter().map(|&node| match node == inner.nodes.local() {
            true => (node, Origin::Here(plan.shard)),
            false => (node, Origin::There(node, PeerShard::Owner)),
        });
        let origins: Vec<_> = origins.collect();
        let KeyRange::Partition { token, key } = command.keys else { unreachable!("a plan is for one partition") };
        let mut repairs = match table.options.read_repair == "BLOCKING" && readers.len() > 1 {
            true => {
                let (bytes_max, planted) = (inner.storage.mutation_bytes_max(), inner.storage.planted());
                Some(Repairs::new(table.id, token, key, readers.len(), bytes_max, planted))
            }
            false => None,
        };
        let found = repairs.as_mut();
        let done = self.read_lanes(&readers, origins, table, command, limits, READ_TIME, found, sink).await?;
        if let Some(repairs) = repairs {
            self.repair(&readers, plan.shard, repairs).await?;
        }
        Ok(done)
    }

    /// Writes to each reader what it lacks, and waits until all have it.
    async fn repair(&self, readers: &[NodeIndex], shard: ShardId, repairs: Repairs) -> Result<(), Failure> {
        let mut running = Vec::new();
        for (lane, mutation) in repairs.into_mutations() {
            stdx::sometimes!("read repair");
            let (coordinator, place) = (self.clone(), self.place_of(readers[lane], shard));
            let write = async move { coordinator.write_to_place(place, vec![mutation], false).await };
            running.push(self.inner.runtime.spawn(Group::Query, write));
        }
        let mut repaired = readers.to_vec();
        for write in running {
            let (node, answer) = write.await;
            if answer != Answer::Written {
                repaired.retain(|reader| *reader != node);
            }
        }
        let is_whole = repaired.len() == readers.len();
        if is_whole { Ok(()) } else { Err(Failure::Timeout { received: count(repaired.iter()) }) }
    }

    /// Scans token range by token range, each at the nodes that are its readers.
    pub(super) async fn scan_ring(
        &self,
        replication: &Replication,
        level: ConsistencyLevel,
        table: &Table,
        command: ReadCommand<'_>,
        limits: PageLimits,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, Failure> {
        let needs = replication.required(level);
        let mut after = command.after;
        for (keys, readers) in self.ranges(replication, needs, &command.keys) {
            let KeyRange::Tokens { end, .. } = keys else { unreachable!("ranges are of tokens") };
            if after.is_some_and(|after| is_behind(after.token, end)) {
                continue;
            }
            let command = ReadCommand { keys, after: after.take(), ..command };
            let done = match readers.as_slice() {
                [] => return Err(Failure::Timeout { received: 0 }),
                [only] if *only == self.inner.nodes.local() => self.scan_here(table, command, limits, sink).await?,
                _ => {
                    let origins = readers.iter().flat_map(|&node| self.origins_of(node)).collect();
                    self.read_lanes(&readers, origins, table, command, limits, SCAN_TIME, None, sink).await?
                }
            };
            if let ReadDone::Stopped(_) = done {
                return Ok(done);
            }
        }
        Ok(ReadDone::Complete)
    }

    /// The pieces of a range of tokens that have the same readers, ascending.
    fn ranges(
        &self,
        replication: &Replication,
        needs: &Required,
        keys: &KeyRange<'_>,
    ) -> Vec<(KeyRange<'static>, Vec<NodeIndex>)> {
        let KeyRange::Tokens { start, end } = *keys else { unreachable!("a scan is of tokens") };
        let inner = &*self.inner;
        let mut pieces: Vec<(TokenBound<Token>, TokenBound<Token>, Vec<NodeIndex>)> = Vec::new();
        let mut from = start;
        let ends = inner.ring.owners().iter().map(|&(token, _)| Some(token)).chain([None]);
        for token in ends {
            // The last piece goes from the last token to the end of the tokens, where the first node's range begins.
            let to = token.map_or(TokenBound::Unbounded, TokenBound::Included);
            let is_last = is_past_or_at(to, end);
            let to = if is_last { end } else { to };
            if is_before(from, to) {
                let replicas = replication.replicas(token.unwrap_or(Token::MIN));
                let readers = readers(needs, &inner.ring, &inner.nodes, replicas);
                match pieces.last_mut() {
                    Some((_, last, same)) if *same == readers => *last = to,
                    _ => pieces.push((from, to, readers)),
                }
                from = match to {
                    TokenBound::Included(token) => TokenBound::Excluded(token),
                    other => other,
                };
            }
            if is_last {
                break;
            }
        }
        pieces.into_iter().map(|(start, end, readers)| (KeyRange::Tokens { start, end }, readers)).collect()
    }

    /// All shards of a node.
    fn origins_of(&self, node: NodeIndex) -> Vec<(NodeIndex, Origin)> {
        let inner = &*self.inner;
        if node == inner.nodes.local() {
            return (0..inner.sharder.shards).map(|shard| (node, Origin::Here(ShardId(shard)))).collect();
        }
        let count = inner.nodes.shard_count(node);
        let origin = |shard| (node, Origin::There(node, PeerShard::One { shard, count }));
        (0..count).map(origin).collect()
    }

    #[expect(clippy::too_many_arguments, reason = "it is the one place where all of a read comes together")]
    async fn read_lanes(
        &self,
        readers: &[NodeIndex],
        origins: Vec<(NodeIndex, Origin)>,
        table: &Table,
        command: ReadCommand<'_>,
        limits: PageLimits,
        time: Duration,
        repairs: Option<&mut Repairs>,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, Failure> {
        let limits = lane_limits(limits, origins.len());
        let asked = |(node, origin)| Asked { coordinator: self.clone(), node, origin, command, limits };
        let sources: Vec<Asked<'_>> = origins.into_iter().map(asked).collect();
        let heard = Rc::new(RefCell::new(Vec::new()));
        let work = async {
            let mut lanes = Vec::with_capacity(sources.len());
            for (source, page) in first_pages(sources, &heard).await {
                lanes.push(Lane::new(source, page?, table)?);
            }
            let pause = async || self.inner.runtime.maybe_yield().await;
            let comparison = repairs.map(|repairs| repairs as &mut dyn Comparison);
            merge(&mut lanes, table, &command, pause, comparison, sink).await
        };
        let outcome = self.inner.runtime.timeout(time, work).await;
        let heard = heard.borrow();
        match outcome {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(LaneError { node, error })) => {
                let received = count(readers.iter().filter(|&&reader| reader != node && heard.contains(&reader)));
                match error {
                    ReplicaError::Gone { .. } => Err(Failure::Timeout { received }),
                    error => {
                        let node = self.inner.ring.node(node).address.ip();
                        Err(Failure::Failed { received, refusals: vec![Refusal { node, error }] })
                    }
                }
            }
            Err(Elapsed) => {
                // All may have sent a page and one not the next: then too the client is told that one is missing.
                let answered = count(readers.iter().filter(|reader| heard.contains(reader)));
                let received = answered.min(count(readers.iter()).saturating_sub(1));
                Err(Failure::Timeout { received })
            }
        }
    }
}

fn count<'n>(nodes: impl Iterator<Item = &'n NodeIndex>) -> u32 {
    u32::try_from(nodes.count()).unwrap_or(u32::MAX)
}

/// The first pages of all lanes, asked for together. Whoever sends one is noted at once.
async fn first_pages<'c>(
    sources: Vec<Asked<'c>>,
    heard: &Rc<RefCell<Vec<NodeIndex>>>,
) -> Vec<(Asked<'c>, Result<Page, LaneError>)> {
    let mut running = Vec::with_capacity(sources.len());
    for source in sources {
        let after = source.command.after.map(|position| position.to_owned());
        let bytes = source.encoded(after.as_ref());
        let (coordinator, origin, limits) = (source.coordinator.clone(), source.origin, source.limits);
        let runtime = coordinator.inner.runtime.clone();
        let (node, heard) = (source.node, Rc::clone(heard));
        let fetch = runtime.spawn(Group::Query, async move {
            let page = coordinator.fetch_from(origin, bytes, limits).await;
            if page.is_ok() {
                heard.borrow_mut().push(node);
            }
            page
        });
        running.push((source, fetch));
    }
    let mut pages = Vec::with_capacity(running.len());
    for (source, fetch) in running {
        let node = source.node;
        pages.push((source, fetch.await.map_err(|error| LaneError { node, error })));
    }
    pages
}

impl Coordinator {
    async fn fetch_from(&self, origin: Origin, command: Vec<u8>, limits: PageLimits) -> Result<Page, ReplicaError> {
        match origin {
            Origin::Here(shard) => self.fetch_data(shard, command, limits).await,
            Origin::There(node, of) => {
                let read = PeerRead { of, rows: limits.rows, bytes: limits.bytes, command };
                match self.inner.nodes.call(node, &PeerRequest::Read(read)).await? {
                    PeerAnswer::Page(page) => Ok(page),
                    _ => Err(wrong_answer()),
                }
            }
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
        let page = self.coordinator.fetch_from(self.origin, self.encoded(after), self.limits).await;
        page.map_err(|error| LaneError { node: self.node, error })
    }

    fn planted(&self) -> Planted {
        self.coordinator.inner.storage.planted()
    }

    fn malformed(&self, problem: DecodeError) -> LaneError {
        LaneError { node: self.node, error: ReplicaError::Malformed { shard: 0, problem: problem.to_string() } }
    }
}

/// What one lane's page may hold. Beside rows it counts partitions and deletions, so it is given more than its share.
fn lane_limits(limits: PageLimits, lanes: usize) -> PageLimits {
    let lanes = u32::try_from(lanes).unwrap_or(u32::MAX).max(1);
    let rows = (limits.rows / lanes).saturating_mul(2).clamp(16, 8192);
    PageLimits { rows, rows_per_partition: u32::MAX, bytes: limits.bytes.min(LANE_BYTES_MAX), ..limits }
}

/// Whether `token` is behind the end of a range.
fn is_behind(token: Token, end: TokenBound<Token>) -> bool {
    match end {
        TokenBound::Unbounded => false,
        TokenBound::Included(end) => token > end,
        TokenBound::Excluded(end) => token >= end,
    }
}

/// Whether a range that ends at `to` ends at or behind one that ends at `end`.
fn is_past_or_at(to: TokenBound<Token>, end: TokenBound<Token>) -> bool {
    match (to, end) {
        (TokenBound::Unbounded, _) => true,
        (_, TokenBound::Unbounded) => false,
        (
            TokenBound::Included(to) | TokenBound::Excluded(to),
            TokenBound::Included(end) | TokenBound::Excluded(end),
        ) => to >= end,
    }
}

/// Whether there can be a token between two bounds.
fn is_before(from: TokenBound<Token>, to: TokenBound<Token>) -> bool {
    match (from, to) {
        (TokenBound::Unbounded, _) | (_, TokenBound::Unbounded) => true,
        (TokenBound::Included(from), TokenBound::Included(to)) => from <= to,
        (
            TokenBound::Included(from) | TokenBound::Excluded(from),
            TokenBound::Included(to) | TokenBound::Excluded(to),
        ) => from < to,
    }
}
