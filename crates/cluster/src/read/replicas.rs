//! Reads that several replicas answer, or another node: of a partition, and over the ring.
//!
//! As few replicas are asked as the level needs, this node first. There is no speculation: one that does not answer in
//! time makes the read time out. What differs between the readers of a partition is reconciled for the client and written
//! back; of a scan it is only reconciled.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use mutation::{KeyRange, ReadCommand};
use runtime::{Elapsed, Group, ShardId};
use schema::Table;
use storage::RowSink;
use storage::reader::{Comparison, Lane, ReadDone, merge};
use topology::{ConsistencyLevel, Epoch, NodeIndex};

use super::lanes::{Asked, LaneError, Origin, first_pages, lane_limits};
use super::ranges::{is_behind, ranges};
use super::reads::Reads;
use super::repair::Repairs;
use super::scan::scan_shards;
use crate::outcome::{Failure, Refusal};
use crate::plan::{Nodes, ReplicaPlan, Replication, readers};
use crate::replica::{PageLimits, PeerShard, ReplicaError, WriteTerms};
use crate::write::{Answer, Place};

/// Time-out of replicas' answers to a read of a partition. Cassandra's `read_request_timeout`.
const READ_TIME: Duration = Duration::from_secs(5);
/// The same for a scan. Cassandra's `range_request_timeout`.
const SCAN_TIME: Duration = Duration::from_secs(10);
impl Reads {
    pub(super) async fn read_replicas(
        &self,
        plan: &ReplicaPlan<'_>,
        table: &Table,
        command: ReadCommand<'_>,
        limits: PageLimits,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, Failure> {
        let nodes = plan.nodes;
        let readers = readers(plan.needs, nodes, plan.replicas);
        // A node may have gone down since the plan was made: no readers are no answer, not an empty one.
        if readers.is_empty() {
            return Err(Failure::Timeout { received: 0 });
        }
        let origins = readers.iter().map(|&node| match node == nodes.local() {
            true => (node, Origin::Here(plan.shard)),
            false => (node, Origin::There(node, PeerShard::Owner)),
        });
        let origins: Vec<_> = origins.collect();
        let KeyRange::Partition { token, key } = command.keys else { unreachable!("a plan is for one partition") };
        let mut repairs = match table.options.read_repair == "BLOCKING" && readers.len() > 1 {
            true => {
                let storage = &self.shards.storage;
                let (bytes_max, planted) = (storage.mutation_bytes_max(), storage.planted());
                Some(Repairs::new(table.id, token, key, readers.len(), bytes_max, planted))
            }
            false => None,
        };
        let found = repairs.as_mut();
        let done = self.read_lanes(nodes, &readers, origins, table, command, limits, READ_TIME, found, sink).await?;
        if let Some(repairs) = repairs {
            self.repair(nodes, &readers, (plan.shard, limits.planned), repairs).await?;
        }
        Ok(done)
    }

    /// Writes to each reader what it lacks, and waits until all have it. It rests on what was read: where the table was truncated since, nothing of it is written.
    async fn repair(
        &self,
        nodes: &Rc<Nodes>,
        readers: &[NodeIndex],
        (shard, planned): (ShardId, Epoch),
        repairs: Repairs,
    ) -> Result<(), Failure> {
        let terms = WriteTerms { durable: false, planned };
        let mut running = Vec::new();
        for (lane, mutation) in repairs.into_mutations() {
            stdx::sometimes!("read repair");
            let place = Place::of(readers[lane], shard, nodes);
            let (shards, nodes) = (Rc::clone(&self.shards), Rc::clone(nodes));
            let write = async move { place.write(&shards, &nodes, &[&mutation], terms).await };
            running.push(self.shards.runtime.spawn(Group::Query, write));
        }
        let mut repaired = readers.to_vec();
        for write in running {
            let (node, answer) = write.await;
            if let Answer::Refused(stale @ ReplicaError::Stale { .. }) = answer {
                return Err(Failure::Refused(stale));
            }
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
        let (nodes, needs) = (replication.nodes(), replication.required(level));
        let mut after = command.after;
        for (keys, readers) in ranges(replication, needs, &command.keys) {
            let KeyRange::Tokens { end, .. } = keys else { unreachable!("ranges are of tokens") };
            if after.is_some_and(|after| is_behind(after.token, end)) {
                continue;
            }
            let command = ReadCommand { keys, after: after.take(), ..command };
            let done = match readers.as_slice() {
                // A level may need no answers, of a keyspace without replicas.
                [] if needs.total() == 0 => continue,
                [] => return Err(Failure::Timeout { received: 0 }),
                [only] if *only == nodes.local() => scan_shards(&self.shards, table, command, limits, sink).await?,
                _ => {
                    let origins = readers.iter().flat_map(|&node| self.origins_of(nodes, node)).collect();
                    self.read_lanes(nodes, &readers, origins, table, command, limits, SCAN_TIME, None, sink).await?
                }
            };
            if let ReadDone::Stopped(_) = done {
                return Ok(done);
            }
        }
        Ok(ReadDone::Complete)
    }

    /// All shards of a node.
    fn origins_of(&self, nodes: &Nodes, node: NodeIndex) -> Vec<(NodeIndex, Origin)> {
        if node == nodes.local() {
            return (0..self.shards.sharder.shards).map(|shard| (node, Origin::Here(ShardId(shard)))).collect();
        }
        let count = nodes.shard_count(node);
        let origin = |shard| (node, Origin::There(node, PeerShard::One { shard, count }));
        (0..count).map(origin).collect()
    }

    #[expect(clippy::too_many_arguments, reason = "it is the one place where all of a read comes together")]
    async fn read_lanes(
        &self,
        nodes: &Rc<Nodes>,
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
        let until = self.shards.runtime.now() + time;
        let asked = |(node, origin)| {
            let (shards, nodes) = (Rc::clone(&self.shards), Rc::clone(nodes));
            Asked { shards, nodes, node, origin, command, limits, until }
        };
        let sources: Vec<Asked<'_>> = origins.into_iter().map(asked).collect();
        let heard = Rc::new(RefCell::new(Vec::new()));
        let work = async {
            let mut lanes = Vec::with_capacity(sources.len());
            for (source, page) in first_pages(sources, &heard).await {
                lanes.push(Lane::new(source, page?, table)?);
            }
            let pause = async || self.shards.runtime.maybe_yield().await;
            let comparison = repairs.map(|repairs| repairs as &mut dyn Comparison);
            merge(&mut lanes, table, &command, pause, comparison, sink).await
        };
        let outcome = self.shards.runtime.timeout(time, work).await;
        let heard = heard.borrow();
        match outcome {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(LaneError { node, error })) => {
                let received = count(readers.iter().filter(|&&reader| reader != node && heard.contains(&reader)));
                match error {
                    ReplicaError::Gone { .. } => Err(Failure::Timeout { received }),
                    error => {
                        let node = nodes.address(node);
                        Err(Failure::Failed { received, refusals: vec![Refusal { node, error }] })
                    }
                }
            }
            Err(Elapsed) => {
                // All may have sent a page, and one of them not the next: the client's error counts that one as missing too.
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
