//! The copies that this node makes for an operation in phase Copy: which tables and ranges, from whom, and that all of them are durable.
//!
//! A node finds out by itself what it is to copy, from the operation and the ring that all nodes have, and says in the cluster's log when it is done. So no leader has to
//! order it, and a new one knows who has copied. All names of jobs follow from the operation: begun again after a failure they are the same.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use planted::{Bug, Planted};
use runtime::Elapsed;
use schema::TableId;
use storage::CopyName;
use topology::operations::{Operation, OperationId, Phase, RangeMove, TooFewSources};
use topology::{HostId, NodeIndex, ReplicationStrategy, Ring, TokenRange, murmur3};

use crate::paxos::STATE_TABLE;
use crate::plan::Placement;
use crate::repair::{Participant, unwrapped};
use crate::replica::{ReplicaError, Shards};
use crate::streaming::{CopyFigures, CopyJob, JobName, JobOrder, JobState, RANGES_MAX};

/// The rests between two looks at a job.
const REST_MIN: Duration = Duration::from_millis(20);
const REST_MAX: Duration = Duration::from_secs(1);
/// The longest that this node takes to apply what it plans by.
const CATCH_UP_TIME: Duration = Duration::from_secs(2);

/// A keyspace whose ranges may move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyspaceToCopy {
    /// Its name.
    pub name: String,
    /// Its replication in the schema.
    pub strategy: ReplicationStrategy,
    /// Its tables.
    pub tables: Vec<TableId>,
}

/// Error of a node that has not copied all that it is to copy. What is whole is kept, and copied again where it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveFailed {
    /// The operation is in another phase by now, or has ended.
    #[error("the operation is not in the phase of copying any more")]
    Ended,
    /// Too few sources are up.
    #[error("of the tokens after {} up to {} there are {refused}", range.after, range.end)]
    Sources {
        /// The range.
        range: TokenRange,
        /// How many are missing.
        refused: TooFewSources,
    },
    /// The rules of a keyspace's replication are unknown here.
    #[error("the ranges that move are not known: {0}")]
    Rules(String),
    /// The table has changed, or this node does not keep up with changes.
    #[error("table {table}: the ring or the table has changed meanwhile")]
    Changed {
        /// The table.
        table: TableId,
    },
    /// A shard refuses the job.
    #[error("table {table}: {error}")]
    Refused {
        /// The table.
        table: TableId,
        /// The refusal.
        error: ReplicaError,
    },
    /// A job has failed.
    #[error("table {table}: {words}")]
    Failed {
        /// The table.
        table: TableId,
        /// Its words, which name range and source.
        words: String,
    },
}

/// One table's ranges with the same sources.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Task {
    table: TableId,
    ranges: Vec<TokenRange>,
    sources: Vec<HostId>,
}

/// Ranges by those that they are copied from.
type BySources = BTreeMap<Vec<HostId>, Vec<TokenRange>>;

/// How far the copies for an operation are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CopyProgress {
    /// The operation.
    pub operation: OperationId,
    /// Of all tables so far, since the copies began.
    pub figures: CopyFigures,
    /// The part that is copied, from 0 to 1: each table counts as much as another one, and so does each unit of a table.
    pub part: f64,
    /// The time since the copies began.
    pub elapsed: Duration,
}

/// The copies that this node makes for operations. Used on shard 0.
pub struct Receiving {
    shards: Rc<Shards>,
    placement: Rc<Placement>,
    /// Of the operation that it copies for, if it copies now.
    progress: RefCell<Option<CopyProgress>>,
    /// The copies that are done, of operations in Copy: they are not made again after another one has failed.
    done: RefCell<BTreeMap<OperationId, BTreeMap<JobName, CopyFigures>>>,
    /// Nodes whose disks are older than what they have acknowledged.
    regressed: RefCell<BTreeSet<HostId>>,
}

impl Receiving {
    pub(crate) fn new(shards: &Rc<Shards>, placement: &Rc<Placement>) -> Rc<Receiving> {
        let (shards, placement) = (Rc::clone(shards), Rc::clone(placement));
        let (progress, done, regressed) = (RefCell::default(), RefCell::default(), RefCell::default());
        Rc::new(Receiving { shards, placement, progress, done, regressed })
    }

    /// How far the copies for an operation are; `None`: none are made now.
    pub fn progress(&self) -> Option<CopyProgress> {
        *self.progress.borrow()
    }

    fn moves(&self, operation: &Operation, keyspace: &KeyspaceToCopy) -> Result<Vec<RangeMove>, ReceiveFailed> {
        let moves = self.placement.moves(operation, (&keyspace.name, &keyspace.strategy));
        moves.map_err(ReceiveFailed::Rules)
    }

    /// Fails unless the operation is in Copy here: the ring may be one by now that lacks the nodes of its target.
    fn must_be_in_copy(&self, operation: &Operation) -> Result<(), ReceiveFailed> {
        self.placement.is_in(operation.id, Phase::Copy).then_some(()).ok_or(ReceiveFailed::Ended)
    }

    /// True if this node is to copy something for an operation that is in Copy.
    pub fn is_receiver(&self, operation: &Operation, keyspaces: &[KeyspaceToCopy]) -> Result<bool, ReceiveFailed> {
        self.must_be_in_copy(operation)?;
        for keyspace in keyspaces {
            let moves = self.moves(operation, keyspace)?;
            let nodes = self.placement.nodes();
            let ring = nodes.ring();
            if moves.iter().any(|moved| moved.receivers(ring).any(|node| node == ring.local())) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// These nodes are regressed from now on: their disks are older than what they have acknowledged.
    pub fn note_regressed(&self, hosts: BTreeSet<HostId>) {
        self.regressed.replace(hosts);
    }

    /// Copies all that this node is to copy for an operation that is in Copy. Done when all of it is durable.
    pub async fn receive(
        &self,
        operation: &Operation,
        keyspaces: &[KeyspaceToCopy],
    ) -> Result<CopyFigures, ReceiveFailed> {
        let copied = self.receive_all(operation, self.tasks(operation, keyspaces)?).await;
        self.progress.replace(None);
        copied
    }

    async fn receive_all(&self, operation: &Operation, tasks: Vec<Task>) -> Result<CopyFigures, ReceiveFailed> {
        let (began, count) = (self.shards.runtime.now(), tasks.len());
        let mut done = CopyFigures::default();
        for (number, task) in tasks.into_iter().enumerate() {
            let note = |now: CopyFigures| {
                let mut figures = done;
                figures.add(now);
                let part = if now.units == 0 { 0.0 } else { now.units_done as f64 / now.units as f64 };
                let elapsed = self.shards.runtime.now() - began;
                let part = (number as f64 + part) / count as f64;
                self.progress.replace(Some(CopyProgress { operation: operation.id, figures, part, elapsed }));
            };
            note(CopyFigures::default());
            let name = task.name(operation.id);
            if let Some(figures) = self.done(operation.id, name) {
                done.add(figures);
                continue;
            }
            let figures = self.carry_out(operation, task, &note).await?;
            done.add(figures);
            self.note_done(operation.id, name, figures);
        }
        Ok(done)
    }

    fn done(&self, operation: OperationId, name: JobName) -> Option<CopyFigures> {
        self.done.borrow().get(&operation)?.get(&name).copied()
    }

    fn note_done(&self, operation: OperationId, name: JobName, figures: CopyFigures) {
        let mut done = self.done.borrow_mut();
        done.retain(|of, _| self.placement.is_in(*of, Phase::Copy));
        done.entry(operation).or_default().insert(name, figures);
    }

    /// The tables that are copied, those of users first. The registers of conditional statements move with the rows: a proposal that was accepted and not committed is
    /// nowhere else.
    fn tasks(&self, operation: &Operation, keyspaces: &[KeyspaceToCopy]) -> Result<Vec<Task>, ReceiveFailed> {
        self.must_be_in_copy(operation)?;
        let mut tasks = Vec::new();
        let mut of_registers = BySources::new();
        for keyspace in keyspaces {
            let by_sources = self.by_sources(operation, keyspace)?;
            for (sources, ranges) in &by_sources {
                of_registers.entry(sources.clone()).or_default().extend(ranges);
            }
            tasks.extend(keyspace.tables.iter().flat_map(|table| tasks_of(*table, &by_sources)));
        }
        if !self.shards.storage.planted().is(Bug::PaxosNotCopied) {
            tasks.extend(tasks_of(STATE_TABLE, &of_registers));
        }
        Ok(tasks)
    }

    fn by_sources(&self, operation: &Operation, keyspace: &KeyspaceToCopy) -> Result<BySources, ReceiveFailed> {
        let moves = self.moves(operation, keyspace)?;
        let nodes = self.placement.nodes();
        let (ring, local) = (nodes.ring(), nodes.local());
        let mut by_sources = BySources::new();
        for moved in moves {
            if !moved.receivers(ring).any(|node| node == local) {
                continue;
            }
            let is_regressed = |node: NodeIndex| self.regressed.borrow().contains(&ring.node(node).host_id);
            let can_serve = |node| nodes.is_alive(node);
            let sources = sources_of(&moved, ring, can_serve, is_regressed, self.shards.storage.planted());
            let sources = sources.map_err(|refused| ReceiveFailed::Sources { range: moved.range, refused })?;
            let mut hosts: Vec<HostId> = sources.into_iter().map(|node| ring.node(node).host_id).collect();
            hosts.sort_unstable();
            if !hosts.is_empty() {
                by_sources.entry(hosts).or_default().extend(unwrapped(moved.range));
            }
        }
        Ok(by_sources)
    }

    /// Copies one table's ranges, on all shards.
    async fn carry_out(
        &self,
        operation: &Operation,
        task: Task,
        note: &dyn Fn(CopyFigures),
    ) -> Result<CopyFigures, ReceiveFailed> {
        let table = task.table;
        // Whatever is confirmed was asked of sources that had applied WriteBoth.
        self.must_be_in_copy(operation)?;
        let Some(planned) = self.plan(table).await? else { return Ok(CopyFigures::default()) };
        let name = task.name(operation.id);
        let participant = Participant { shards: Rc::clone(&self.shards) };
        let confirms = Some(task.confirms(operation.id));
        let job = CopyJob { table, ranges: task.ranges, sources: task.sources, planned, confirms };
        let refused = |error| ReceiveFailed::Refused { table, error };
        participant.obey(JobOrder::Begin(name, Box::new(job))).await.map_err(refused)?;
        let mut rest = REST_MIN;
        let outcome = loop {
            self.shards.runtime.sleep(rest).await;
            rest = (rest * 2).min(REST_MAX);
            if !self.placement.is_in(operation.id, Phase::Copy) {
                break Err(ReceiveFailed::Ended);
            }
            let report = match participant.obey(JobOrder::Ask(name)).await {
                Ok(report) => report,
                Err(error) => break Err(refused(error)),
            };
            note(report.figures);
            match report.state {
                JobState::Done => break Ok(report.figures),
                JobState::Waiting | JobState::Running => {}
                JobState::Unknown => {
                    break Err(ReceiveFailed::Failed { table, words: "a shard has lost it".to_owned() });
                }
                JobState::Failed(words) => break Err(ReceiveFailed::Failed { table, words }),
            }
        };
        if outcome == Err(ReceiveFailed::Ended) && self.shards.storage.planted().is(Bug::LateCopyApplied) {
            return outcome;
        }
        // Its shards forget it; one that failed is begun again. Nothing of it comes after a cleanup.
        while !participant.end(name).await.map_err(refused)? {
            self.shards.runtime.sleep(REST_MIN).await;
        }
        outcome
    }

    /// The epoch that a table's copy rests on, once this node has applied it. `None`: the table is gone.
    async fn plan(&self, table: TableId) -> Result<Option<topology::Epoch>, ReceiveFailed> {
        let fence = &self.shards.fence;
        let Some(planned) = fence.copy_planned_at(table) else { return Ok(None) };
        match self.shards.runtime.timeout(CATCH_UP_TIME, fence.catch_up(None, planned)).await {
            Ok(true) => Ok(Some(planned)),
            Ok(false) | Err(Elapsed) => Err(ReceiveFailed::Changed { table }),
        }
    }
}

impl Task {
    /// The same for the same copy, at each node and start.
    fn name(&self, operation: OperationId) -> JobName {
        let mut bytes = operation.0.to_be_bytes().to_vec();
        bytes.extend_from_slice(&self.table.0);
        self.sources.iter().for_each(|host| bytes.extend_from_slice(&host.0));
        for range in &self.ranges {
            bytes.extend_from_slice(&range.after.0.to_be_bytes());
            bytes.extend_from_slice(&range.end.0.to_be_bytes());
        }
        JobName(named(&bytes))
    }

    /// The copy that its units are confirmed for. Of rows it does not matter by which sources a range was copied: each choice of them is enough, for each token by itself. A
    /// range of registers has those of all keyspaces, whose replicas differ: what some sources have is not what others have.
    fn confirms(&self, operation: OperationId) -> CopyName {
        let copy = match self.table == STATE_TABLE {
            true => named(&self.sources.iter().flat_map(|host| host.0).collect::<Vec<u8>>()),
            false => self.table.0,
        };
        CopyName { operation, copy }
    }
}

/// A name that is the same for the same bytes.
fn named(bytes: &[u8]) -> [u8; 16] {
    let halves = [murmur3::hash(bytes), murmur3::hash(&[bytes, &[1]].concat())];
    let mut name = [0; 16];
    name[..8].copy_from_slice(&halves[0].to_be_bytes());
    name[8..].copy_from_slice(&halves[1].to_be_bytes());
    name
}

/// The nodes that the ring's local node copies a range from, of those that are up.
fn sources_of(
    moved: &RangeMove,
    ring: &Ring,
    is_alive: impl Fn(NodeIndex) -> bool,
    is_regressed: impl Fn(NodeIndex) -> bool,
    planted: Planted,
) -> Result<Vec<NodeIndex>, TooFewSources> {
    let mut sources = moved.sources_beside(ring, ring.local(), is_alive, is_regressed)?;
    if planted.is(Bug::OneSourceForTheDead) {
        sources.truncate(1);
    }
    Ok(sources)
}

fn tasks_of(table: TableId, by_sources: &BySources) -> Vec<Task> {
    let of = |(sources, ranges): (&Vec<HostId>, &Vec<TokenRange>)| {
        let ranges = union(ranges.clone());
        let chunks: Vec<Vec<TokenRange>> = ranges.chunks(RANGES_MAX).map(<[TokenRange]>::to_vec).collect();
        let sources = sources.clone();
        chunks.into_iter().map(move |ranges| Task { table, ranges, sources: sources.clone() })
    };
    by_sources.iter().flat_map(of).collect()
}

/// Ranges that do not wrap, with those that touch or overlap made one, ascending.
fn union(mut ranges: Vec<TokenRange>) -> Vec<TokenRange> {
    ranges.sort_unstable_by_key(|range| range.after);
    let mut all: Vec<TokenRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.after <= last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use topology::operations::{Kind, Target};
    use topology::{Epoch, Node, Strategies, Token};

    use super::*;

    /// Four nodes, each with one token, of which the last one joins; as that sees them.
    fn joining() -> (Ring, Operation) {
        let node = |number: u8| Node {
            host_id: HostId([number; 16]),
            address: ([10, 0, 0, number], 9042).into(),
            internode: ([10, 0, 0, number], 7000).into(),
            datacenter: "datacenter1".into(),
            rack: "rack1".into(),
            tokens: if number < 3 { vec![Token(100 * i64::from(number))] } else { Vec::new() },
        };
        let operation = Operation {
            id: OperationId(1),
            kind: Kind::Bootstrap,
            phase: Phase::Copy,
            target: Target::Tokens([(HostId([3; 16]), vec![Token(50)])].into()),
            lost: Default::default(),
            copied: Default::default(),
            has_given_tokens: false,
            is_without_copy: false,
            is_forced: false,
        };
        (Ring::new(Epoch(1), (0..4).map(node).collect(), NodeIndex(3)), operation)
    }

    /// Each pair of replicas may be all that have a row: the dead one and either of the others. Planted: one-source-for-the-dead.
    #[test]
    fn the_place_of_a_dead_replica_is_filled_from_one_in_every_quorum() {
        let (ring, operation) = joining();
        let strategy = ReplicationStrategy::Simple { replication_factor: 3 };
        let moves = operation.moves(&ring, &strategy, &Strategies::default()).expect("built in");
        assert!(!moves.is_empty(), "each range has a replica more to lose");
        for moved in moves {
            let dead = moved.counterpart(&ring, ring.local()).expect("a replica loses the range");
            let sources = |is_alive: &dyn Fn(NodeIndex) -> bool| {
                sources_of(&moved, &ring, is_alive, |_| false, crate::planted_by_test())
            };
            assert_eq!(sources(&|_| true), Ok(vec![dead]), "it takes the place of one that is up");
            let from = sources(&|node| node != dead).expect("two are up");
            let old = moved.old_replicas();
            for other in old.iter().filter(|other| **other != dead) {
                let holding = [dead, *other];
                let misses = format!("{holding:?} have a row, and {from:?} are asked");
                assert!(from.iter().any(|source| holding.contains(source)), "{misses}");
            }
        }
    }

    #[test]
    fn ranges_that_touch_or_overlap_are_one() {
        let range = |after, end| TokenRange { after: Token(after), end: Token(end) };
        let all = union(vec![range(5, 9), range(0, 2), range(8, 12), range(2, 3), range(20, 30), range(21, 22)]);
        assert_eq!(all, [range(0, 3), range(5, 12), range(20, 30)]);
    }

    #[test]
    fn a_copy_has_one_name_and_another_has_another() {
        let range = TokenRange { after: Token(1), end: Token(2) };
        let task = Task { table: TableId([1; 16]), ranges: vec![range], sources: vec![HostId([2; 16])] };
        assert_eq!(task.name(OperationId(7)), task.clone().name(OperationId(7)));
        let others = [
            task.name(OperationId(8)),
            Task { table: TableId([2; 16]), ..task.clone() }.name(OperationId(7)),
            Task { sources: vec![HostId([3; 16])], ..task.clone() }.name(OperationId(7)),
            Task { ranges: vec![range, range], ..task.clone() }.name(OperationId(7)),
        ];
        assert!(others.iter().all(|other| *other != task.name(OperationId(7))));
    }

    #[test]
    fn units_are_confirmed_for_the_table_and_those_of_registers_for_the_sources_too() {
        let range = TokenRange { after: Token(1), end: Token(2) };
        let task = |table, source: u8| {
            let task = Task { table, ranges: vec![range], sources: vec![HostId([source; 16])] };
            task.confirms(OperationId(7))
        };
        let (one, two) = (TableId([1; 16]), TableId([2; 16]));
        assert_eq!(task(one, 3), task(one, 4));
        assert_ne!(task(one, 3), task(two, 3));
        assert_ne!(task(STATE_TABLE, 3), task(STATE_TABLE, 4));
    }
}
