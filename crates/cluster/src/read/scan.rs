//! Range scans of this node: all its shards are asked, and their partitions come out in the order of tokens. Scans over a
//! ring of several nodes are in `replicas.rs`.
//!
//! Shards own interleaved slices of the ring, so each has a part of every range. Each is a lane: one page at a time, the first
//! pages asked for together, later ones as a lane runs dry. The lane whose next partition comes first gives that
//! partition to the sink. With a single shard there is nothing to merge and rows go to the sink unencoded.

use std::rc::Rc;

use mutation::{Position, ReadCommand};
use runtime::{Group, ShardId};
use schema::Table;
use storage::reader::{Page, ReadDone};
use storage::{Flow, RowSink};
use topology::Token;

use super::feed::Feed;
use crate::replica::{PageItem, PageLimits, PageReader, ReplicaError, Shards};

/// One shard's part of a scan.
struct Lane {
    shard: ShardId,
    items: Vec<u8>,
    /// How much of `items` the sink has had. Always the start of a partition, or the end.
    offset: usize,
    /// Tombstones before the partition there that the sink does not know of yet, and the token of the last.
    tombstones: (Token, u32),
    /// Where the next page begins; `None`: `items` is the last.
    more_after: Option<Position>,
}

impl Lane {
    fn new(shard: ShardId, page: Page) -> Result<Self, ReplicaError> {
        let mut lane =
            Lane { shard, items: page.items, offset: 0, tombstones: (Token::MIN, 0), more_after: page.more_after };
        lane.take_tombstones()?;
        Ok(lane)
    }

    /// Passes on to the next partition, or to the end.
    fn take_tombstones(&mut self) -> Result<(), ReplicaError> {
        let length = self.items.len();
        let mut reader = PageReader::new(&self.items[self.offset..]);
        let mut offset = self.offset;
        while let Some(PageItem::Tombstones { token, count }) =
            reader.next().map_err(|problem| malformed(self.shard, problem))?
        {
            self.tombstones = (token, self.tombstones.1.saturating_add(count));
            offset = reader.offset(length);
        }
        self.offset = offset;
        Ok(())
    }

    /// Tells the sink of them.
    fn give_tombstones(&mut self, sink: &mut impl RowSink) -> Flow {
        match std::mem::replace(&mut self.tombstones, (Token::MIN, 0)) {
            (_, 0) => Flow::Continue,
            (token, count) => sink.tombstones(token, |_| count),
        }
    }

    /// The partition that the lane gives next.
    fn head(&self) -> Result<Option<(Token, &[u8])>, mutation::DecodeError> {
        match PageReader::new(&self.items[self.offset..]).next()? {
            Some(PageItem::Partition { token, key, .. }) => Ok(Some((token, key))),
            // The offset is where a partition begins; a page that begins otherwise has no owner for its rows.
            Some(PageItem::Row { .. } | PageItem::Tombstones { .. }) => {
                Err(mutation::DecodeError::Unknown { what: "a page's first item", value: 2 })
            }
            None => Ok(None),
        }
    }
}

/// Scans what this node has.
pub(super) async fn scan_shards(
    shards: &Rc<Shards>,
    table: &Table,
    command: ReadCommand<'_>,
    limits: PageLimits,
    sink: &mut impl RowSink,
) -> Result<ReadDone, ReplicaError> {
    if shards.sharder.shards == 1 {
        return shards.read_here(command, sink).await;
    }
    let limits = lane_limits(limits, shards.sharder.shards);
    let mut lanes = first_pages(shards, &command, limits).await?;
    loop {
        if let Some(position) = refill(shards, &mut lanes, &command, limits, sink).await? {
            return Ok(ReadDone::Stopped(position));
        }
        let Some(lane) = first_lane(&lanes)? else {
            lanes.iter_mut().for_each(|lane| _ = lane.give_tombstones(sink));
            return Ok(ReadDone::Complete);
        };
        if let Some(position) = give_partition(&mut lanes[lane], table, command.now_in_seconds, sink)? {
            return Ok(ReadDone::Stopped(position));
        }
        shards.runtime.maybe_yield().await;
    }
}

/// The limits of one lane's page: its share of the whole, and never too much to hold in memory.
fn lane_limits(limits: PageLimits, shards: u16) -> PageLimits {
    let shards = u32::from(shards);
    PageLimits { rows: (limits.rows / shards).clamp(16, 4096), bytes: limits.bytes.min(256 << 10), ..limits }
}

async fn first_pages(
    shards: &Rc<Shards>,
    command: &ReadCommand<'_>,
    limits: PageLimits,
) -> Result<Vec<Lane>, ReplicaError> {
    let mut running = Vec::with_capacity(usize::from(shards.sharder.shards));
    for shard in (0..shards.sharder.shards).map(ShardId) {
        let asking = Rc::clone(shards);
        let mut bytes = Vec::with_capacity(64);
        command.encode(&mut bytes);
        let fetch = async move { asking.fetch(shard, bytes, limits).await };
        running.push((shard, shards.runtime.spawn(Group::Query, fetch)));
    }
    let mut lanes = Vec::with_capacity(running.len());
    for (shard, page) in running {
        lanes.push(Lane::new(shard, page.await?)?);
    }
    Ok(lanes)
}

/// Gives every lane that ran dry its next page: only then is it known which comes first. `Some`: the sink wants no more.
async fn refill(
    shards: &Shards,
    lanes: &mut [Lane],
    command: &ReadCommand<'_>,
    limits: PageLimits,
    sink: &mut impl RowSink,
) -> Result<Option<Position>, ReplicaError> {
    for lane in lanes {
        while lane.offset >= lane.items.len() {
            let Some(position) = lane.more_after.take() else { break };
            if lane.give_tombstones(sink) == Flow::Stop {
                return Ok(Some(position));
            }
            let command = ReadCommand { after: Some(position.as_ref()), ..*command };
            let mut bytes = Vec::with_capacity(128);
            command.encode(&mut bytes);
            *lane = Lane::new(lane.shard, shards.fetch(lane.shard, bytes, limits).await?)?;
        }
    }
    Ok(None)
}

/// The lane whose next partition comes first; `None`: all are at their end.
fn first_lane(lanes: &[Lane]) -> Result<Option<usize>, ReplicaError> {
    let mut first: Option<(usize, (Token, &[u8]))> = None;
    for (index, lane) in lanes.iter().enumerate() {
        let head = lane.head().map_err(|problem| malformed(lane.shard, problem))?;
        if let Some(head) = head
            && first.is_none_or(|(_, least)| head < least)
        {
            first = Some((index, head));
        }
    }
    Ok(first.map(|(index, _)| index))
}

/// Gives the sink all that the lane's page holds of its next partition. A partition that goes on in the lane's next page
/// comes first among the lanes again, since no other lane holds a smaller one.
fn give_partition(
    lane: &mut Lane,
    table: &Table,
    now_in_seconds: u32,
    sink: &mut impl RowSink,
) -> Result<Option<Position>, ReplicaError> {
    // Whoever has had enough of them says so again at the partition.
    let _ = lane.give_tombstones(sink);
    let shard = lane.shard;
    let length = lane.items.len();
    let mut reader = PageReader::new(&lane.items[lane.offset..]);
    let mut feed = Feed::new(now_in_seconds);
    let mut is_first = true;
    loop {
        let before = reader.offset(length);
        match reader.next().map_err(|problem| malformed(shard, problem))? {
            Some(PageItem::Partition { .. }) if !is_first => {
                lane.offset = before;
                return Ok(None);
            }
            Some(item) => {
                if let Some(position) = feed.give(item, table, sink) {
                    return Ok(Some(position));
                }
            }
            None => {
                lane.offset = length;
                return Ok(None);
            }
        }
        is_first = false;
    }
}

fn malformed(shard: ShardId, problem: mutation::DecodeError) -> ReplicaError {
    ReplicaError::Malformed { shard: shard.into(), problem: problem.to_string() }
}
