//! The writes of read repair, and how many of them the client waits for.
//!
//! A repair counts only the answers that the level needs: the readers that lack nothing count at once. Where one is silent or refuses, another
//! live replica is written what no replica has confirmed yet, and counts in its stead (CASSANDRA-10726): what a read gave is then on as many replicas as a
//! later read at the level asks, whichever those are.

use std::rc::Rc;
use std::time::Duration;

use runtime::{Elapsed, Group, ShardId, TaskHandle};
use topology::{Epoch, NodeIndex, Required};

use super::contacts::{Contacts, Verdict};
use super::reads::Reads;
use super::repair::{Repair, Repairs};
use super::running::Running;
use super::speculation::TableTimes;
use crate::outcome::Failure;
use crate::plan::Nodes;
use crate::replica::{ReplicaError, WriteTerms};
use crate::timeouts::TimeoutKind;
use crate::write::{Answer, Place};

/// Partitions that are repaired at once.
const AT_ONCE: usize = 32;
/// The least silence after which another replica is written: a write waits for a sync, which the times of reads say nothing of.
const DELAY_MIN: Duration = Duration::from_millis(50);

/// Where repairs of one read go.
pub(super) struct RepairTargets<'r> {
    pub(super) nodes: &'r Rc<Nodes>,
    pub(super) needs: &'r Required,
    /// The live replicas.
    pub(super) order: &'r [NodeIndex],
    pub(super) times: &'r TableTimes,
    /// The epoch that the read's plan rests on, and with it what was read.
    pub(super) planned: Epoch,
}

impl Reads {
    /// Writes to each reader what it lacks, and waits until as many replicas have all as the level needs.
    pub(super) async fn repair(&self, targets: &RepairTargets<'_>, repairs: Repairs<'_>) -> Result<(), Failure> {
        let found = repairs.into_found();
        let mut waiting = found.iter();
        let mut running = Running::new();
        loop {
            while running.len() < AT_ONCE
                && let Some(repair) = waiting.next()
            {
                running.push((), self.repair_one(targets, repair));
            }
            match running.next().await {
                Some(((), outcome)) => outcome?,
                None => return Ok(()),
            }
        }
    }

    async fn repair_one(&self, targets: &RepairTargets<'_>, repair: &Repair) -> Result<(), Failure> {
        stdx::sometimes!("read repair");
        self.count(|counters| counters.repaired_blocking += 1);
        let runtime = &self.shards.runtime;
        let planted = self.shards.storage.planted();
        let mut order = repair.readers.clone();
        order.extend(targets.order.iter().filter(|node| !repair.readers.contains(node)));
        let mut contacts = Contacts::new(targets.needs, targets.nodes, &order, planted);
        let mut pending: Vec<NodeIndex> = repair.lacking().collect();
        let mut running = Running::new();
        for &reader in &repair.readers {
            contacts.ask_this(reader);
            match pending.contains(&reader) {
                true => running.push(reader, self.write_repair(targets, repair, reader, repair.mutations(reader))),
                false => contacts.answered(reader),
            }
        }
        let (began, repair_time) = (runtime.now(), self.shards.timeouts.get(TimeoutKind::Write));
        let delay = targets.times.repair_delay(DELAY_MIN);
        loop {
            for spare in contacts.ask() {
                stdx::sometimes!("read repair at another replica");
                self.count(|counters| counters.speculated_repair_writes += 1);
                // Of what it has nothing is known: it is written all that a reader lacks that has not confirmed it.
                let mutations = pending.iter().flat_map(|reader| repair.mutations(*reader)).collect();
                running.push(spare, self.write_repair(targets, repair, spare, mutations));
            }
            match contacts.verdict() {
                Verdict::Done => return Ok(()),
                // A reader that is not repaired is no failure of the data that was read.
                Verdict::Failed(_) => return Err(Failure::Timeout { received: contacts.received() }),
                Verdict::Open => {}
            }
            let waited = runtime.now() - began;
            if waited >= repair_time {
                return Err(Failure::Timeout { received: contacts.received() });
            }
            let time = if waited < delay { delay.min(repair_time) - waited } else { repair_time - waited };
            match runtime.timeout(time, running.next()).await {
                Ok(Some((node, Ok(())))) => {
                    pending.retain(|reader| *reader != node);
                    contacts.answered(node);
                }
                // What was read may be gone by now: then none of it is to be written.
                Ok(Some((_, Err(error)))) if error.is_stale() => return Err(Failure::Refused(error)),
                Ok(Some((node, Err(error)))) => contacts.failed(node, error),
                Ok(None) => return Err(Failure::Timeout { received: contacts.received() }),
                Err(Elapsed) if waited < delay => {
                    for node in contacts.expected() {
                        contacts.overdue(node);
                    }
                }
                Err(Elapsed) => {}
            }
        }
    }

    /// Writes a replica's mutations, one after the other: together they may be longer than a record of the log. It goes on when the read has ended.
    fn write_repair(
        &self,
        targets: &RepairTargets<'_>,
        repair: &Repair,
        node: NodeIndex,
        mutations: Vec<Vec<u8>>,
    ) -> TaskHandle<Result<(), ReplicaError>> {
        let (shards, nodes) = (Rc::clone(&self.shards), Rc::clone(targets.nodes));
        let place = Place::of(node, ShardId(shards.sharder.shard_of(repair.token)), &nodes);
        let terms = WriteTerms { durable: false, planned: targets.planned };
        let terms = (terms, shards.timeouts.get(TimeoutKind::Write));
        self.shards.runtime.spawn(Group::Query, async move {
            for mutation in &mutations {
                match place.write(&shards, &nodes, &[mutation], terms, false).await {
                    (_, Answer::Written) => {}
                    (_, Answer::Refused(error)) => return Err(error),
                    (_, Answer::Silent) => return Err(ReplicaError::Gone { shard: nodes.shard_of(node) }),
                }
            }
            Ok(())
        })
    }
}
