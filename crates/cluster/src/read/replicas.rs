//! Reads that several replicas answer, or another node: of a partition, and over the ring.
//!
//! A read goes in rounds (`round.rs`): where all readers agree on a page, it is given to the client and the next one takes another round; where they
//! differ, and in scans, each reader's lanes are merged to the read's end. A reader that fails in the middle is replaced by another, which goes on after the last place
//! that was given. What differs between the readers is reconciled for the client and written back.

use std::rc::Rc;
use std::time::Duration;

use mutation::{KeyRange, Position, ReadCommand};
use runtime::{Elapsed, Instant};
use storage::RowSink;
use storage::reader::{Comparison, Lane, ReadDone, merge};
use topology::{ConsistencyLevel, NodeIndex, Required};

use super::lanes::{Asked, Asking, Extent, LaneEnd, lane_limits};
use super::ranges::{Piece, is_behind, ranges};
use super::reached::Reached;
use super::reading::Reading;
use super::reads::Reads;
use super::repair::Repairs;
use super::repair_writes::RepairTargets;
use super::round::{Agreeing, Course, Failed, Outcome, Pages, Round};
use super::scan::scan_shards;
use super::speculation::TableTimes;
use crate::outcome::Failure;
use crate::plan::{Nodes, ReplicaPlan, Replication, is_enough, order};
use crate::replica::DigestRule;
use crate::timeouts::TimeoutKind;

/// The replicas of a partition or a range, and what a read needs of them.
pub(super) struct Readers<'r> {
    pub(super) nodes: &'r Rc<Nodes>,
    pub(super) needs: &'r Required,
    /// The live ones, the first to ask first.
    pub(super) order: &'r [NodeIndex],
    pub(super) extent: Extent,
    /// The time of the whole read.
    pub(super) time: Duration,
}

impl Reads {
    /// Reads a partition from replicas. `failed` has those that were asked before.
    pub(super) async fn read_replicas(
        &self,
        plan: &ReplicaPlan<'_>,
        reading: Reading<'_, '_, impl RowSink>,
        failed: Failed,
    ) -> Result<ReadDone, Failure> {
        let order = order(plan.nodes, plan.replicas);
        let (extent, time) = (Extent::Owner(plan.shard), self.shards.timeouts.get(TimeoutKind::Read));
        let readers = Readers { nodes: plan.nodes, needs: plan.needs, order: &order, extent, time };
        self.read_from(&readers, reading, failed).await
    }

    /// Reads to the end, or until the sink has enough, and repairs what it found.
    async fn read_from(
        &self,
        readers: &Readers<'_>,
        reading: Reading<'_, '_, impl RowSink>,
        failed: Failed,
    ) -> Result<ReadDone, Failure> {
        // A node may have gone down since the plan was made: no readers are no answer, not an empty one.
        if readers.order.is_empty() {
            return Err(Failure::Timeout { received: 0 });
        }
        let runtime = &self.shards.runtime;
        let (table, until) = (reading.table, runtime.now() + readers.time);
        let planned = reading.limits.planned;
        let is_scan = matches!(readers.extent, Extent::AllShards);
        let times = self.times.of(table, is_scan, runtime.now());
        let storage = &self.shards.storage;
        let is_blocking = table.options.read_repair == "BLOCKING";
        let now_in_seconds = reading.command.now_in_seconds;
        let rule = DigestRule::of(table, now_in_seconds, storage.planted());
        let mut repairs = is_blocking.then(|| Repairs::new(rule, storage.mutation_bytes_max()));
        let work = self.read_on(readers, reading, failed, &times, until, repairs.as_mut());
        let done = match runtime.timeout(readers.time, work).await {
            Ok(done) => done?,
            // All may have sent a page, and one of them not the next: the client's error counts that one as missing too.
            Err(Elapsed) => return Err(Failure::Timeout { received: readers.needs.total().saturating_sub(1) }),
        };
        if let Some(repairs) = repairs {
            let (nodes, needs, order) = (readers.nodes, readers.needs, readers.order);
            self.repair(&RepairTargets { nodes, needs, order, times: &times, planned }, repairs).await?;
        }
        Ok(done)
    }

    async fn read_on(
        &self,
        readers: &Readers<'_>,
        reading: Reading<'_, '_, impl RowSink>,
        failed: Failed,
        times: &TableTimes,
        until: Instant,
        mut repairs: Option<&mut Repairs<'_>>,
    ) -> Result<ReadDone, Failure> {
        let Reading { table, command, limits, sink } = reading;
        let mut compares = matches!(readers.extent, Extent::Owner(_));
        let mut after = command.after.map(|position| position.to_owned());
        let course = Course::after(failed);
        // Each turn ends the read, ends the comparing, or adds a replica to those that failed.
        loop {
            let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..command };
            let lanes = self.count_lanes(readers, &course);
            let limits = lane_limits(limits, if compares { 1 } else { lanes });
            let (shards, nodes) = (Rc::clone(&self.shards), Rc::clone(readers.nodes));
            let round = Round {
                asking: Asking { shards, nodes, command, limits, until },
                needs: readers.needs,
                order: readers.order,
                course: &course,
                extent: readers.extent,
                table,
                compares,
                times,
                counters: &self.counters,
            };
            let mut reached = None;
            let outcome = round.run(after.as_ref()).await?;
            let done = match outcome {
                Outcome::Agreed(node, page) => {
                    let pause = async || self.shards.runtime.maybe_yield().await;
                    match Lane::new(Agreeing { round: round.clone(), node }, page, table) {
                        Ok(lane) => merge(&mut [lane], table, &command, pause, None, &mut reached, sink).await,
                        Err(end) => Err(end),
                    }
                }
                Outcome::Pages(pages) => {
                    self.merge_lanes(&round, pages, repairs.as_deref_mut(), &mut reached, sink).await
                }
            };
            let end = match done {
                Ok(done) => return Ok(done),
                Err(end) => end,
            };
            match end {
                LaneEnd::Failed(failure) => return Err(failure),
                LaneEnd::Differ => {
                    assert!(compares, "only digests differ");
                    compares = false;
                }
                // The plan is too old: no other reader is any better.
                LaneEnd::Reader(_, error) if error.is_stale() => return Err(Failure::Refused(error)),
                LaneEnd::Reader(node, error) => {
                    stdx::sometimes!("a read goes on at another reader");
                    self.count(|counters| counters.replaced_replicas += 1);
                    course.fail(node, error);
                }
            }
            after = reached.or(after);
        }
    }

    /// How many lanes the first readers have together.
    fn count_lanes(&self, readers: &Readers<'_>, course: &Course) -> usize {
        let is_there = |node: &&NodeIndex| !course.has_failed(**node);
        let needed = usize::try_from(readers.needs.total()).unwrap_or(usize::MAX).max(1);
        let nodes = readers.order.iter().filter(is_there).take(needed);
        nodes.map(|&node| readers.extent.origins(&self.shards, readers.nodes, node).len()).sum()
    }

    /// Merges what each reader sends to the end of the read.
    pub(super) async fn merge_lanes(
        &self,
        round: &Round<'_, '_>,
        pages: Vec<(NodeIndex, Pages)>,
        repairs: Option<&mut Repairs<'_>>,
        reached: &mut Option<Position>,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, LaneEnd> {
        let has_spare = pages.len() + round.course.failed_count() < round.order.len();
        let mut nodes = Vec::new();
        let mut lanes = Vec::new();
        for (node, pages) in pages {
            for (origin, page) in pages {
                nodes.push(node);
                let asked = Asked { asking: round.asking.clone(), node, origin, has_spare };
                lanes.push(Lane::new(asked, page, round.table)?);
            }
        }
        let is_single = nodes.iter().all(|node| nodes.first() == Some(node));
        let comparison = match repairs {
            Some(repairs) if !is_single => {
                repairs.begin(&nodes);
                Some(repairs as &mut dyn Comparison)
            }
            _ => None,
        };
        let pause = async || self.shards.runtime.maybe_yield().await;
        merge(&mut lanes, round.table, &round.asking.command, pause, comparison, reached, sink).await
    }

    /// Scans token range by token range, each at the nodes that are its readers.
    pub(super) async fn scan_ring(
        &self,
        replication: &Replication,
        level: ConsistencyLevel,
        reading: Reading<'_, '_, impl RowSink>,
    ) -> Result<ReadDone, Failure> {
        let nodes = replication.nodes();
        let is_here_enough = |needs| is_enough(needs, nodes.ring(), &[nodes.local()]);
        let Reading { table, command, limits, sink } = reading;
        if replication.replicas_of_all() == Some(&[nodes.local()]) && is_here_enough(replication.required(level)) {
            return Ok(scan_shards(&self.shards, table, command, limits, sink).await?);
        }
        let mut after = command.after;
        for Piece { keys, needs, readers, order } in ranges(replication, level, &command.keys) {
            let KeyRange::Tokens { end, .. } = keys else { unreachable!("ranges are of tokens") };
            if after.is_some_and(|after| is_behind(after.token, end)) {
                continue;
            }
            if readers.is_empty() {
                // A level may need no answers, of a keyspace without replicas.
                match needs.total() {
                    0 => continue,
                    _ => return Err(Failure::Timeout { received: 0 }),
                }
            }
            let command = ReadCommand { keys, after: after.take(), ..command };
            let (extent, time) = (Extent::AllShards, self.shards.timeouts.get(TimeoutKind::Range));
            let from = Readers { nodes, needs, order: &order, extent, time };
            let reading = Reading { table, command, limits, sink: &mut *sink };
            let is_here = is_here_enough(needs) && readers == [nodes.local()];
            let done = match is_here {
                true => self.scan_here(&from, reading).await?,
                false => Box::pin(self.read_from(&from, reading, Vec::new())).await?,
            };
            if let ReadDone::Stopped(_) = done {
                return Ok(done);
            }
        }
        Ok(ReadDone::Complete)
    }

    /// Scans a range of which this node's answer is enough; others go on where it cannot.
    async fn scan_here(
        &self,
        readers: &Readers<'_>,
        reading: Reading<'_, '_, impl RowSink>,
    ) -> Result<ReadDone, Failure> {
        let Reading { table, command, limits, sink } = reading;
        if readers.order.len() == 1 {
            return Ok(scan_shards(&self.shards, table, command, limits, sink).await?);
        }
        let mut noting = Reached::new(sink);
        let error = match scan_shards(&self.shards, table, command, limits, &mut noting).await {
            Ok(done) => return Ok(done),
            Err(error) if error.is_stale() => return Err(error.into()),
            Err(error) => error,
        };
        let reached = noting.position(table);
        let command = ReadCommand { after: reached.as_ref().map(Position::as_ref).or(command.after), ..command };
        let failed = vec![(readers.nodes.local(), error)];
        Box::pin(self.read_from(readers, Reading { table, command, limits, sink }, failed)).await
    }
}
