//! Three nodes on simulated machines, each a coordinator with one shard, and a log of changes that each applies when the test says so or when a request needs it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use cluster::coordinator::{
    Coordinator, CoordinatorParts, Failure, HintOptions, PageLimits, PlannedMutation, ReadDone, Replication,
    Unavailable, replication_of,
};
use cluster::fence::{CatchUp, NO_EPOCH};
use cluster::paxos::{Bound, with_state_table};
use cql_types::CqlType;
use internode::{Boot, Compression, LocalNode};
use mutation::{ClusteringRef, LiveRow, MutationEncoder, ReadCommand};
use runtime::Runtime;
use runtime::sim::{Keep, Link, World, WorldOptions};
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::{Flow, RowSink, Shard, StorageOptions, SyncMode, Truncations};
use topology::operations::{Kind, Operation, OperationId, Phase, Target};
use topology::{ConsistencyLevel, Epoch, HostId, Node, NodeIndex, ReplicationStrategy, Ring, Sharder, Token, token_of};

pub const TABLE: TableId = TableId([7; 16]);
/// A table of counters.
pub const COUNTS: TableId = TableId([8; 16]);
/// The epoch of the state that all nodes begin with.
pub const FIRST: u64 = 5;
const NODES: u8 = 3;
const AT_MOST: Duration = Duration::from_secs(3600);
pub const PAUSE: Duration = Duration::from_millis(1);
pub const LIMITS: PageLimits =
    PageLimits { rows: 100, rows_per_partition: u32::MAX, bytes: 1 << 20, counts_statics: true, planned: NO_EPOCH };

/// The bug that `HELENUS_PLANT` names, where bugs are compiled in.
fn planted() -> planted::Planted {
    #[cfg(feature = "planted")]
    if let Ok(name) = std::env::var("HELENUS_PLANT") {
        return planted::Planted::named(&name).expect("a bug of the list");
    }
    planted::Planted::NONE
}

/// A change of the state that nodes share.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// The ring is of the first so many nodes.
    Ring(u8),
    /// The third node joins the first two; the operation is in this phase.
    Joining(Phase),
    /// The same, and a fourth node waits for its turn to join.
    JoiningBefore(Phase),
    /// Two nodes exchange their tokens; the operation is in this phase, or over.
    Exchange(Phase, u8, u8),
    /// The first of three nodes leaves; the operation is in this phase.
    Leaving(Phase),
    /// The keyspace is to have so many replicas, as its schema says from the first phase on; the operation is in this phase.
    Altering(Phase, u32),
    /// The table is emptied.
    Truncate,
    /// The keyspace has so many replicas.
    Replicas(u32),
    /// The table is dropped.
    Drop,
    /// The table is created, under the id that it had.
    Create,
    /// The low bound of attempts: refused, and closed.
    LowBound(i64, i64),
    /// No ring and no table changes.
    Other,
}

fn ip(node: u8) -> IpAddr {
    [10, 0, 0, node + 1].into()
}

/// A node's identity.
pub fn host_id(node: u8) -> HostId {
    HostId([node + 1; 16])
}

/// The strategy of the keyspace, and where nodes are.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// So many replicas, in one datacenter.
    Simple(u32),
    /// Two replicas in the datacenter of the first two nodes, and one in that of the third.
    TwoDatacenters,
}

impl Shape {
    fn strategy(self) -> ReplicationStrategy {
        match self {
            Shape::Simple(replication_factor) => ReplicationStrategy::Simple { replication_factor },
            Shape::TwoDatacenters => {
                let datacenters = [("datacenter1".to_owned(), 2), ("datacenter2".to_owned(), 1)].into();
                ReplicationStrategy::NetworkTopology { datacenters }
            }
        }
    }

    fn datacenter(self, node: u8) -> &'static str {
        if matches!(self, Shape::TwoDatacenters) && node == 2 { "datacenter2" } else { "datacenter1" }
    }
}

/// The ring of the first so many nodes, as one of them sees it.
fn ring(shape: Shape, epoch: u64, nodes: u8, local: u8) -> Rc<Ring> {
    ring_of(shape, epoch, &[0, 1, 2][..usize::from(nodes)], local)
}

/// The same of nodes that have exchanged their tokens: `places` says whose each node has.
fn ring_of(shape: Shape, epoch: u64, places: &[u8], local: u8) -> Rc<Ring> {
    let node = |(number, place): (u8, &u8)| Node {
        host_id: host_id(number),
        address: SocketAddr::new(ip(number), 9042),
        internode: SocketAddr::new(ip(number), 7000),
        datacenter: shape.datacenter(number).into(),
        rack: "rack1".into(),
        tokens: tokens(*place),
    };
    Rc::new(Ring::new(Epoch(epoch), (0..).zip(places).map(node).collect(), NodeIndex(u16::from(local))))
}

/// The tokens that a node has at first.
fn tokens(number: u8) -> Vec<Token> {
    (0..4).map(|turn| Token(i64::from(turn) * (i64::MAX / 4) + i64::from(number) * (1 << 60))).collect()
}

/// The ring when the third node has joined.
pub fn ring_after() -> Rc<Ring> {
    ring(Shape::Simple(2), FIRST, NODES, 0)
}

/// The ring and the operation by which the third node joins, as a node sees it.
fn joining(shape: Shape, epoch: u64, phase: Phase, local: u8) -> (Rc<Ring>, Rc<Operation>) {
    let after = ring(shape, epoch, NODES, local);
    let mut nodes = after.nodes().to_vec();
    let joining = nodes.last_mut().expect("three nodes");
    let tokens = [(joining.host_id, std::mem::take(&mut joining.tokens))].into();
    let (id, kind, target) = (OperationId(1), Kind::Bootstrap, Target::Tokens(tokens));
    let (is_without_copy, is_forced, lost) = (false, false, Default::default());
    let (copied, has_given_tokens) = (Default::default(), false);
    let operation = Operation { id, kind, phase, target, copied, has_given_tokens, is_without_copy, is_forced, lost };
    (Rc::new(Ring::new(Epoch(epoch), nodes, NodeIndex(u16::from(local)))), Rc::new(operation))
}

/// The ring with a fourth node, and the operation by which that is to join after another one.
fn with_queued(ring: &Ring, other: &Operation) -> (Rc<Ring>, Rc<Operation>) {
    let node = Node {
        host_id: host_id(NODES),
        address: SocketAddr::new(ip(NODES), 9042),
        internode: SocketAddr::new(ip(NODES), 7000),
        tokens: Vec::new(),
        ..ring.local_node().clone()
    };
    let target = Target::Tokens([(node.host_id, vec![Token(17)])].into());
    let queued = Operation { id: OperationId(other.id.0 + 1), phase: Phase::Queued, target, ..other.clone() };
    let nodes = ring.nodes().iter().cloned().chain([node]).collect();
    (Rc::new(Ring::new(ring.epoch(), nodes, ring.local())), Rc::new(queued))
}

/// The operation by which two nodes exchange their tokens, after `before`, and whose tokens each node has until it is done.
pub fn exchange(before: &[Change], (phase, one, other): (Phase, u8, u8)) -> (Operation, [u8; NODES as usize]) {
    let mut places = [0, 1, 2];
    let mut number = 1;
    for change in before {
        if let Change::Exchange(Phase::Done, one, other) = change {
            places.swap(usize::from(*one), usize::from(*other));
            number += 1;
        }
    }
    let tokens_of = |node: u8| tokens(places[usize::from(node)]);
    let target = Target::Tokens([(host_id(one), tokens_of(other)), (host_id(other), tokens_of(one))].into());
    let (is_without_copy, is_forced, lost) = (false, false, Default::default());
    let (copied, has_given_tokens, id, kind) = (Default::default(), true, OperationId(number), Kind::Move);
    (Operation { id, kind, phase, target, copied, has_given_tokens, is_without_copy, is_forced, lost }, places)
}

/// The operation by which the keyspace gets so many replicas.
pub fn altering_operation(shape: Shape, phase: Phase, replication_factor: u32) -> Operation {
    let (before, after) = (shape.strategy(), ReplicationStrategy::Simple { replication_factor });
    let target = Target::Replication { keyspace: "ks".to_owned(), before, after };
    Operation { id: OperationId(1), kind: Kind::Replication, target, ..joining_operation(phase) }
}

/// The operation by which the third node joins.
pub fn joining_operation(phase: Phase) -> Operation {
    let (_, operation) = joining(Shape::Simple(1), 1, phase, 0);
    Rc::unwrap_or_clone(operation)
}

/// The operation by which the first node leaves.
fn leaving_operation(phase: Phase) -> Operation {
    let target = Target::Tokens([(host_id(0), Vec::new())].into());
    Operation { kind: Kind::Decommission, target, ..joining_operation(phase) }
}

pub fn table() -> Table {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Blob),
        Column::new(ColumnKind::Clustering, ColumnId(1), "c", CqlType::Blob),
        Column::new(ColumnKind::Regular, ColumnId(2), "v", CqlType::Blob),
    ];
    Table::new(TABLE, "ks", "t", columns, TableOptions::default())
}

fn counts() -> Table {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Blob),
        Column::new(ColumnKind::Clustering, ColumnId(1), "c", CqlType::Blob),
        Column::new(ColumnKind::Regular, ColumnId(2), "n", CqlType::Counter),
    ];
    Table::new(COUNTS, "ks", "counts", columns, TableOptions::default())
}

/// The schema, with the table or without.
fn schema(shape: Shape, has_table: bool) -> Schema {
    let (replication, strategy) = (Default::default(), shape.strategy());
    let keyspace = KeyspaceDef { name: "ks".into(), replication, strategy, durable_writes: true, tenure: 0 };
    let mut changes = vec![SchemaChange::PutKeyspace(keyspace), SchemaChange::PutTable(Box::new(counts()))];
    if has_table {
        changes.push(SchemaChange::PutTable(Box::new(table())));
    }
    Schema::empty().with_all(&changes)
}

/// The schema after ALTER KEYSPACE.
fn placed_otherwise(before: &Schema, strategy: ReplicationStrategy) -> Schema {
    let def = before.keyspace("ks").expect("it is there").def.clone();
    before.with(&SchemaChange::PutKeyspace(KeyspaceDef { strategy, tenure: def.tenure + 1, ..def }))
}

/// A step of the test on a node.
type Job = Box<dyn FnOnce(Rc<Member>) -> Pin<Box<dyn Future<Output = ()>>>>;

/// The world as a test sees it.
pub struct Site {
    shape: Shape,
    changes: RefCell<Vec<Change>>,
    jobs: [RefCell<VecDeque<Job>>; NODES as usize],
    links: RefCell<Vec<(u8, u8, Link)>>,
    cuts: RefCell<Vec<u8>>,
    /// Starts of each node.
    boots: [Cell<u64>; NODES as usize],
    is_stuck: [Cell<bool>; NODES as usize],
    /// Nodes keep hints.
    keeps_hints: bool,
    /// When logs are synced.
    sync: SyncMode,
}

impl Site {
    /// The group has agreed on one more change. Gives its epoch; no node has applied it.
    pub fn agree(&self, change: Change) -> u64 {
        let mut changes = self.changes.borrow_mut();
        changes.push(change);
        FIRST + changes.len() as u64
    }

    /// The changes before an epoch.
    pub fn changes_before(&self, epoch: Epoch) -> Vec<Change> {
        let count = (epoch.0 - FIRST - 1) as usize;
        self.changes.borrow()[..count].to_vec()
    }

    /// Sets the link from one node to another.
    pub fn link(&self, from: u8, to: u8, link: Link) {
        self.links.borrow_mut().push((from, to, link));
    }

    /// Cuts the power of a node but the first: it starts again with what its disk has synced.
    pub fn cut_power(&self, node: u8) {
        assert!(node > 0, "the test runs on the first node");
        self.cuts.borrow_mut().push(node);
    }

    /// The node does not catch up by itself any more.
    pub fn stick(&self, node: u8) {
        self.is_stuck[usize::from(node)].set(true);
    }

    /// It does again.
    pub fn loosen(&self, node: u8) {
        self.is_stuck[usize::from(node)].set(false);
    }
}

/// A node.
pub struct Member {
    pub number: u8,
    pub runtime: Runtime,
    pub coordinator: Coordinator,
    pub site: Rc<Site>,
    applied: Cell<u64>,
    schema: RefCell<Schema>,
}

impl Member {
    async fn start(runtime: Runtime, number: u8, nodes: u8, site: Rc<Site>) -> Rc<Member> {
        let schema = schema(site.shape, true);
        let sharder = Sharder::new(1);
        let boot = &site.boots[usize::from(number)];
        boot.set(boot.get() + 1);
        let mut options = StorageOptions::new("/data", boot.get(), 16 << 20);
        options.planted = planted();
        options.sync = site.sync;
        let stored = with_state_table(&schema);
        let storage = Shard::open(&runtime, options, sharder, &stored, &Truncations::default()).await;
        let name = "Ring".to_owned();
        let dir = site.keeps_hints.then(|| "/data/hints".into());
        let coordinator = Coordinator::new(CoordinatorParts {
            runtime: runtime.clone(),
            ring: ring(site.shape, FIRST, nodes.max(number + 1), number),
            operations: Vec::new(),
            sharder,
            storage: storage.expect("it opens"),
            seat: runtime::mesh(1, 8).remove(0),
            peer_seat: runtime::mesh(1, 8).remove(0),
            internode: Some(LocalNode::new(host_id(number), name, Boot::default(), None, Compression::None)),
            scans_max: 4,
            hints: HintOptions { dir, throttle: 0, ..HintOptions::default() },
            timeouts: Default::default(),
            strategies: Default::default(),
        });
        coordinator.storage().retire_old_segments().await.expect("old segments can be removed");
        let listener = runtime.listen(SocketAddr::new(ip(number), 7000)).await.expect("the address is this machine's");
        coordinator.accept_peers(listener);
        let (present, strategy) = (coordinator.clone(), site.shape.strategy());
        coordinator.deliver_hints(move |table| (table == TABLE).then(|| replication_of(&present, "ks", &strategy)));
        let (applied, schema) = (Cell::new(FIRST), RefCell::new(schema));
        let member = Rc::new(Member { number, runtime, coordinator, site, applied, schema });
        let of = Rc::downgrade(&member);
        let catch_up: CatchUp = Box::new(move |_, epoch| {
            let member = of.upgrade();
            Box::pin(async move {
                let member = member.expect("a node outlives its requests");
                while member.site.is_stuck[usize::from(member.number)].get() {
                    member.runtime.sleep(PAUSE).await;
                }
                member.apply_to(epoch.0);
                Epoch(member.applied.get())
            })
        });
        member.coordinator.fence().begin(Epoch(FIRST), Epoch(FIRST), &member.schema.borrow(), catch_up);
        member
    }

    /// Does the test's jobs.
    async fn serve(self: Rc<Self>) {
        loop {
            let job = self.site.jobs[usize::from(self.number)].borrow_mut().pop_front();
            match job {
                Some(job) => job(Rc::clone(&self)).await,
                None => self.runtime.sleep(PAUSE).await,
            }
        }
    }

    /// Applies what the group has agreed on, up to an epoch.
    pub fn apply_to(&self, epoch: u64) {
        let changes = self.site.changes.borrow().clone();
        for (at, change) in (FIRST + 1..).zip(changes) {
            if at > self.applied.get() && at <= epoch {
                self.apply(Epoch(at), change);
                self.applied.set(at);
                self.coordinator.fence().reached(Epoch(at));
            }
        }
    }

    fn apply(&self, epoch: Epoch, change: Change) {
        let (coordinator, storage) = (&self.coordinator, self.coordinator.storage());
        match change {
            Change::Ring(nodes) => coordinator.install_ring(ring(self.site.shape, epoch.0, nodes, self.number), None),
            Change::Joining(phase) => {
                let (ring, operation) = joining(self.site.shape, epoch.0, phase, self.number);
                coordinator.install_ring(ring, Some(operation));
            }
            Change::Leaving(phase) => {
                let ring = ring(self.site.shape, epoch.0, NODES, self.number);
                coordinator.install_ring(ring, [Rc::new(leaving_operation(phase))]);
            }
            Change::JoiningBefore(phase) => {
                let (ring, operation) = joining(self.site.shape, epoch.0, phase, self.number);
                let (ring, queued) = with_queued(&ring, &operation);
                coordinator.install_ring(ring, [operation, queued]);
            }
            Change::Exchange(phase, one, other) => {
                let before = self.site.changes_before(epoch);
                let (operation, mut places) = exchange(&before, (phase, one, other));
                if phase == Phase::ReadNew && [one, other].contains(&self.number) {
                    coordinator.fence().begin_tenure(operation.id.0);
                }
                if phase == Phase::Done {
                    places.swap(usize::from(one), usize::from(other));
                }
                let ring = ring_of(self.site.shape, epoch.0, &places, self.number);
                coordinator.install_ring(ring, (phase != Phase::Done).then(|| Rc::new(operation)));
            }
            Change::Altering(phase, replication_factor) => {
                let operation = altering_operation(self.site.shape, phase, replication_factor);
                let nodes = coordinator.ring().nodes().len() as u8;
                let ring = ring(self.site.shape, epoch.0, nodes, self.number);
                coordinator.install_ring(ring, Some(Rc::new(operation)));
                // The schema has it from the beginning, unless it is aborted.
                let strategy = match phase {
                    Phase::Aborted => self.site.shape.strategy(),
                    _ => ReplicationStrategy::Simple { replication_factor },
                };
                let before = self.schema.borrow().clone();
                if *before.keyspace("ks").expect("it is there").strategy() != strategy {
                    self.set_schema(epoch, placed_otherwise(&before, strategy));
                }
            }
            Change::Truncate => {
                coordinator.fence().truncating(epoch, TABLE);
                let position = storage.begin_truncation(TABLE);
                storage.truncation_is_durable(TABLE, position);
            }
            Change::Drop | Change::Create | Change::Replicas(_) => {
                let after = match change {
                    Change::Replicas(replication_factor) => {
                        let strategy = ReplicationStrategy::Simple { replication_factor };
                        placed_otherwise(&self.schema.borrow(), strategy)
                    }
                    _ => schema(self.site.shape, matches!(change, Change::Create)),
                };
                self.set_schema(epoch, after);
            }
            Change::LowBound(refused, closed) => {
                coordinator.fence().low_bound_changed(epoch, Bound { refused, closed });
            }
            Change::Other => {}
        }
    }

    fn set_schema(&self, epoch: Epoch, after: Schema) {
        self.coordinator.storage().update_schema(&with_state_table(&after));
        self.coordinator.fence().schema_changed(epoch, &self.schema.borrow(), &after);
        self.schema.replace(after);
    }

    /// Does something on another node, and waits for it.
    pub async fn on<T: 'static, Fut: Future<Output = T> + 'static>(
        &self,
        node: u8,
        work: impl FnOnce(Rc<Member>) -> Fut + 'static,
    ) -> T {
        let outcome: Rc<RefCell<Option<T>>> = Rc::default();
        let told = Rc::clone(&outcome);
        let job: Job = Box::new(move |member| {
            Box::pin(async move {
                let done = work(member).await;
                *told.borrow_mut() = Some(done);
            })
        });
        self.site.jobs[usize::from(node)].borrow_mut().push_back(job);
        loop {
            if let Some(outcome) = outcome.borrow_mut().take() {
                return outcome;
            }
            self.runtime.sleep(PAUSE).await;
        }
    }

    /// Waits until this node reaches another.
    pub async fn until_up(&self, node: u8) {
        while !self.coordinator.is_up(host_id(node)) {
            self.runtime.sleep(PAUSE).await;
        }
    }

    /// Waits until another node is down.
    pub async fn until_down(&self, node: u8) {
        while self.coordinator.is_up(host_id(node)) {
            self.runtime.sleep(PAUSE).await;
        }
    }

    pub fn replication(&self) -> Rc<Replication> {
        replication_of(&self.coordinator, "ks", self.schema.borrow().keyspace("ks").expect("it is there").strategy())
    }

    /// Deletes what this node has of counters, as a cleanup does with ranges that it does not own.
    pub fn forget_counts(&self) {
        let storage = self.coordinator.storage();
        let position = storage.begin_truncation(COUNTS);
        storage.truncation_is_durable(COUNTS, position);
    }

    /// The strategy of the keyspace at the beginning.
    pub fn replication_strategy(&self) -> ReplicationStrategy {
        self.site.shape.strategy()
    }

    /// A row of a partition, planned now.
    pub fn planned(&self, key: &[u8]) -> PlannedMutation {
        let mut mutation = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut mutation, TABLE, token_of(key), key);
        let mut row = encoder.row([&b"c"[..]]);
        row.cell(ColumnId(2), 1, None, b"value");
        encoder.finish();
        self.planned_of(key, mutation)
    }

    /// A number to be added to a counter, planned now.
    pub fn planned_delta(&self, key: &[u8], delta: i64) -> PlannedMutation {
        let mut mutation = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut mutation, COUNTS, token_of(key), key);
        let mut row = encoder.row([&b"c"[..]]);
        row.cell(ColumnId(2), 1, None, &delta.to_be_bytes());
        encoder.finish();
        self.planned_of(key, mutation)
    }

    fn planned_of(&self, key: &[u8], mutation: Vec<u8>) -> PlannedMutation {
        let (replication, token) = (self.replication(), token_of(key));
        let moment = self.coordinator.fence().moment();
        PlannedMutation { replication, token, shard: runtime::ShardId(0), mutation, moment }
    }

    /// Writes what was planned.
    pub async fn write(&self, planned: Vec<PlannedMutation>, level: ConsistencyLevel) -> Result<(), Failure> {
        self.coordinator.write_batch(planned, level).await
    }

    /// The rows of a partition.
    pub async fn read(&self, key: &[u8], level: ConsistencyLevel) -> Result<usize, Failure> {
        let replication = self.replication();
        let plan = self.coordinator.plan(&replication, token_of(key), level);
        let plan = plan.map_err(|Unavailable { alive, .. }| Failure::Timeout { received: alive })?;
        let command = ReadCommand::partition(TABLE, token_of(key), key, 1_000);
        let mut rows = Rows::default();
        let done = self.coordinator.read(&plan, &table(), command, LIMITS, &mut rows).await?;
        assert_eq!(done, ReadDone::Complete);
        Ok(rows.0)
    }

    /// The rows of a partition that this node itself has, replica or not.
    pub fn own_rows(&self, key: &[u8]) -> usize {
        let command = ReadCommand::partition(TABLE, token_of(key), key, 1_000);
        let mut rows = Rows::default();
        let _ = self.coordinator.storage().read(&command, &mut rows);
        rows.0
    }

    /// The same of a table, files included.
    pub async fn own_rows_of(&self, table: TableId, key: &[u8]) -> usize {
        let command = ReadCommand::partition(table, token_of(key), key, 1_000);
        let mut rows = Rows::default();
        let _ = self.coordinator.storage().read_through(&command, &mut rows).await.expect("it can be read");
        rows.0
    }

    /// The counter of a partition as this node itself has it.
    pub fn own_count(&self, key: &[u8]) -> i64 {
        let command = ReadCommand::partition(COUNTS, token_of(key), key, 1_000);
        let mut counts = Counts::default();
        let _ = self.coordinator.storage().read(&command, &mut counts);
        counts.0
    }

    /// The same, files included.
    pub async fn own_count_through(&self, key: &[u8]) -> i64 {
        let command = ReadCommand::partition(COUNTS, token_of(key), key, 1_000);
        let mut counts = Counts::default();
        let _ = self.coordinator.storage().read_through(&command, &mut counts).await.expect("it can be read");
        counts.0
    }

    /// The counter of a partition as its replicas have it, which are repaired.
    pub async fn count_at(&self, key: &[u8], level: ConsistencyLevel) -> i64 {
        let replication = self.replication();
        let plan = self.coordinator.plan(&replication, token_of(key), level).expect("enough are up");
        let command = ReadCommand::partition(COUNTS, token_of(key), key, 1_000);
        let mut count = Counts::default();
        let done = self.coordinator.read(&plan, &counts(), command, LIMITS, &mut count).await;
        assert_eq!(done, Ok(ReadDone::Complete));
        count.0
    }

    /// The nodes that have a partition's row.
    pub async fn holders(&self, key: &'static [u8]) -> Vec<u8> {
        let mut holders = Vec::new();
        for node in 0..NODES {
            let has_it = match node == self.number {
                true => self.own_rows(key) > 0,
                false => self.on(node, move |member| async move { member.own_rows(key) > 0 }).await,
            };
            holders.extend(has_it.then_some(node));
        }
        holders
    }

    /// The nodes that are to have a partition, by the ring that this node has.
    pub fn replicas(&self, key: &[u8]) -> Vec<u8> {
        let replication = self.replication();
        let mut replicas: Vec<u8> = replication.replicas(token_of(key)).iter().map(|node| node.0 as u8).collect();
        replicas.sort_unstable();
        replicas
    }
}

/// Counts the rows that a read gives.
#[derive(Default)]
struct Rows(usize);

impl RowSink for Rows {
    fn partition(&mut self, _token: Token, _key: &[u8], _static_row: Option<LiveRow<'_>>) -> Flow {
        Flow::Continue
    }

    fn row(&mut self, _clustering: ClusteringRef<'_>, _row: LiveRow<'_>) -> Flow {
        self.0 += 1;
        Flow::Continue
    }
}

/// Sums up the counters that a read gives.
#[derive(Default)]
struct Counts(i64);

impl RowSink for Counts {
    fn partition(&mut self, _token: Token, _key: &[u8], _static_row: Option<LiveRow<'_>>) -> Flow {
        Flow::Continue
    }

    fn row(&mut self, _clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        for cell in row.cells() {
            let bytes: [u8; 8] = cell.value.try_into().expect("a counter has eight bytes");
            self.0 += i64::from_be_bytes(bytes);
        }
        Flow::Continue
    }
}

/// Runs `work` on the first of three nodes, of which the first `nodes` are the ring.
pub fn on_nodes<Fut>(replication_factor: u32, nodes: u8, work: impl FnOnce(Rc<Member>) -> Fut + 'static)
where
    Fut: Future<Output = ()> + 'static,
{
    on_shape(Shape::Simple(replication_factor), nodes, work);
}

/// The same with hints.
pub fn on_nodes_with_hints<Fut>(replication_factor: u32, nodes: u8, work: impl FnOnce(Rc<Member>) -> Fut + 'static)
where
    Fut: Future<Output = ()> + 'static,
{
    run((Shape::Simple(replication_factor), true, SyncMode::Group), nodes, work);
}

/// The same with another strategy.
pub fn on_shape<Fut>(shape: Shape, nodes: u8, work: impl FnOnce(Rc<Member>) -> Fut + 'static)
where
    Fut: Future<Output = ()> + 'static,
{
    run((shape, false, SyncMode::Group), nodes, work);
}

/// The same with three replicas and logs that are synced seldom, but for what waits for it.
pub fn on_seldom_synced<Fut>(work: impl FnOnce(Rc<Member>) -> Fut + 'static)
where
    Fut: Future<Output = ()> + 'static,
{
    run((Shape::Simple(3), false, SyncMode::Periodic { period: AT_MOST }), 3, work);
}

fn run<Fut>(
    (shape, keeps_hints, sync): (Shape, bool, SyncMode),
    nodes: u8,
    work: impl FnOnce(Rc<Member>) -> Fut + 'static,
) where
    Fut: Future<Output = ()> + 'static,
{
    let mut world = World::new(WorldOptions::new(3));
    let hosts = [0, 1, 2].map(|node| world.add_host(&[ip(node)]));
    hosts.iter().for_each(|host| world.with_disk(*host, |disk| disk.prepare_directory("/data")));
    let site = Rc::new(Site {
        shape,
        changes: RefCell::default(),
        jobs: Default::default(),
        links: RefCell::default(),
        cuts: RefCell::default(),
        boots: Default::default(),
        is_stuck: Default::default(),
        keeps_hints,
        sync,
    });
    let others = Rc::clone(&site);
    let start = |world: &mut World<'_>, node: u8| {
        let site = Rc::clone(&others);
        let main = move |runtime: Runtime| async move { Member::start(runtime, node, nodes, site).await.serve().await };
        world.start(hosts[usize::from(node)], false, vec![main]);
    };
    (1..NODES).for_each(|node| start(&mut world, node));
    let of_work = Rc::clone(&site);
    let main = move |runtime: Runtime| async move { work(Member::start(runtime, 0, nodes, of_work).await).await };
    let working = world.start(hosts[0], false, vec![main]);
    let step = |world: &mut World<'_>| {
        for (from, to, link) in site.links.take() {
            world.set_link(hosts[usize::from(from)], hosts[usize::from(to)], link);
        }
        for node in site.cuts.take() {
            world.crash(hosts[usize::from(node)], Keep::Nothing);
            start(world, node);
        }
        working.is_over()
    };
    world.run_until(step, AT_MOST);
    assert!(working.is_over(), "the work ends");
}
