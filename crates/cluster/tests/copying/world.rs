//! Nodes on simulated machines, each with shards of its own count, and a table of which each node gets rows that the others lack.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use cluster::coordinator::{
    CommandState, Coordinator, CoordinatorParts, HintOptions, ReadDone, RepairChoice, RepairStatus, RepairedTable,
    repairs,
};
use cluster::fence::CatchUp;
use cluster::paxos::with_state_table;
use cql_types::CqlType;
use internode::{Boot, Compression, LocalNode};
use mutation::{ClusteringBound, ClusteringRef, Deletion, LiveRow, MutationEncoder, ReadCommand};
use runtime::sim::{Keep, Link, World, WorldOptions};
use runtime::{MeshSeat, Runtime};
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::{Ack, Flow, RowSink, Shard, StorageOptions, Truncations};
use topology::{Epoch, HostId, Node, NodeIndex, ReplicationStrategy, Ring, Sharder, Token, token_of};

pub const TABLE: TableId = TableId([7; 16]);
/// The epoch of the state that all nodes begin with.
const FIRST: u64 = 5;
const AT_MOST: Duration = Duration::from_secs(3600);
pub const PAUSE: Duration = Duration::from_millis(1);

/// A change of the state that nodes share.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// The table is emptied.
    Truncate,
    /// The table is dropped.
    Drop,
}

/// Partitions as a node alone sees them: rows with their values' lengths.
pub type Content = BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, usize>>;

fn ip(node: u8) -> IpAddr {
    [10, 0, 0, node + 1].into()
}

pub fn host_id(node: u8) -> HostId {
    HostId([node + 1; 16])
}

fn ring(nodes: u8, local: u8) -> Rc<Ring> {
    let node = |number: u8| Node {
        host_id: host_id(number),
        address: SocketAddr::new(ip(number), 9042),
        internode: SocketAddr::new(ip(number), 7000),
        datacenter: "datacenter1".into(),
        rack: "rack1".into(),
        tokens: (0..4).map(|turn| Token(i64::from(turn) * (i64::MAX / 4) + i64::from(number) * (1 << 60))).collect(),
    };
    Rc::new(Ring::new(Epoch(FIRST), (0..nodes).map(node).collect(), NodeIndex(u16::from(local))))
}

fn table() -> Table {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Blob),
        Column::new(ColumnKind::Clustering, ColumnId(1), "c", CqlType::Blob),
        Column::new(ColumnKind::Regular, ColumnId(2), "v", CqlType::Blob),
    ];
    Table::new(TABLE, "ks", "t", columns, TableOptions::default())
}

fn strategy(replication_factor: u32) -> ReplicationStrategy {
    ReplicationStrategy::Simple { replication_factor }
}

fn schema(replication_factor: u32, has_table: bool) -> Schema {
    let (replication, strategy) = (Default::default(), strategy(replication_factor));
    let keyspace = KeyspaceDef { name: "ks".into(), replication, strategy, durable_writes: true, tenure: 0 };
    let mut changes = vec![SchemaChange::PutKeyspace(keyspace)];
    if has_table {
        changes.push(SchemaChange::PutTable(Box::new(table())));
    }
    Schema::empty().with_all(&changes)
}

/// A step of the test on a shard.
type Job = Box<dyn FnOnce(Rc<Member>) -> Pin<Box<dyn Future<Output = ()>>>>;
/// The test itself, on the first shard of the first node.
type Work = Box<dyn FnOnce(Rc<Member>) -> Pin<Box<dyn Future<Output = ()>>>>;
/// A shard's place.
type Place = (u8, u16);

/// The world as a test sees it.
pub struct Site {
    /// How many shards each node has.
    shards: Vec<u16>,
    replication_factor: u32,
    changes: RefCell<Vec<Change>>,
    jobs: RefCell<BTreeMap<Place, VecDeque<Job>>>,
    links: RefCell<Vec<(u8, u8, Link)>>,
    cuts: RefCell<Vec<u8>>,
    boots: RefCell<BTreeMap<u8, u64>>,
}

impl Site {
    /// The group has agreed on one more change. Gives its epoch; no node has applied it.
    pub fn agree(&self, change: Change) -> u64 {
        let mut changes = self.changes.borrow_mut();
        changes.push(change);
        FIRST + changes.len() as u64
    }

    /// Sets the links between two nodes, in both directions.
    pub fn link(&self, one: u8, other: u8, link: Link) {
        self.links.borrow_mut().extend([(one, other, link), (other, one, link)]);
    }

    /// Cuts the power of a node but the first: it starts again with what its disk has synced.
    pub fn cut_power(&self, node: u8) {
        assert!(node > 0, "the test runs on the first node");
        self.cuts.borrow_mut().push(node);
    }

    fn sharder(&self, node: u8) -> Sharder {
        Sharder::new(self.shards[usize::from(node)])
    }

    fn places(&self) -> Vec<Place> {
        let of = |(node, shards): (u8, &u16)| (0..*shards).map(move |shard| (node, shard)).collect::<Vec<_>>();
        (0..).zip(&self.shards).flat_map(of).collect()
    }
}

/// A shard of a node.
pub struct Member {
    pub node: u8,
    pub runtime: Runtime,
    pub coordinator: Coordinator,
    pub site: Rc<Site>,
    applied: Cell<u64>,
    schema: RefCell<Schema>,
}

/// The seats of a shard.
struct Seats {
    replicas: MeshSeat<cluster::coordinator::ReplicaRequest, cluster::coordinator::ReplicaReply>,
    peers: MeshSeat<internode::PeerSocket, ()>,
    /// Keeps the shards of a node together at their start.
    started: Rc<Cell<u16>>,
}

impl Member {
    async fn start(runtime: Runtime, node: u8, seats: Seats, site: Rc<Site>) -> Rc<Member> {
        let schema = schema(site.replication_factor, true);
        let sharder = site.sharder(node);
        let boot = site.boots.borrow()[&node];
        let options = StorageOptions::new("/data", boot, 32 << 20);
        let stored = with_state_table(&schema);
        let storage = Shard::open(&runtime, options, sharder, &stored, &Truncations::default()).await;
        let name = "Ring".to_owned();
        let nodes = u8::try_from(site.shards.len()).expect("few nodes");
        let coordinator = Coordinator::new(CoordinatorParts {
            runtime: runtime.clone(),
            ring: ring(nodes, node),
            operations: Vec::new(),
            sharder,
            storage: storage.expect("it opens"),
            seat: seats.replicas,
            peer_seat: seats.peers,
            internode: Some(LocalNode::new(host_id(node), name, Boot::default(), None, Compression::None)),
            scans_max: 4,
            hints: HintOptions::default(),
            timeouts: Default::default(),
            strategies: Default::default(),
        });
        let (applied, schema) = (Cell::new(FIRST), RefCell::new(schema));
        let member = Rc::new(Member { node, runtime, coordinator, site, applied, schema });
        let of = Rc::downgrade(&member);
        let catch_up: CatchUp = Box::new(move |_, epoch| {
            let member = of.upgrade();
            Box::pin(async move {
                let member = member.expect("a node outlives its requests");
                member.apply_to(epoch.0);
                Epoch(member.applied.get())
            })
        });
        member.coordinator.fence().begin(Epoch(FIRST), Epoch(FIRST), &member.schema.borrow(), catch_up);
        seats.started.set(seats.started.get() + 1);
        while seats.started.get() < member.runtime.shard_count() {
            member.runtime.sleep(PAUSE).await;
        }
        if member.runtime.shard().0 == 0 {
            let storage = member.coordinator.storage();
            storage.retire_old_segments().await.expect("old segments can be removed");
            let listener = member.runtime.listen(SocketAddr::new(ip(node), 7000)).await;
            member.coordinator.accept_peers(listener.expect("the address is this machine's"));
        }
        member
    }

    /// Does the test's jobs.
    async fn serve(self: Rc<Self>) {
        let place = (self.node, self.runtime.shard().0);
        loop {
            let job = self.site.jobs.borrow_mut().get_mut(&place).and_then(VecDeque::pop_front);
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
                let (coordinator, storage) = (&self.coordinator, self.coordinator.storage());
                match change {
                    Change::Truncate => {
                        coordinator.fence().truncating(Epoch(at), TABLE);
                        let position = storage.begin_truncation(TABLE);
                        storage.truncation_is_durable(TABLE, position);
                    }
                    Change::Drop => {
                        let after = schema(self.site.replication_factor, false);
                        storage.update_schema(&with_state_table(&after));
                        coordinator.fence().schema_changed(Epoch(at), &self.schema.borrow(), &after);
                        self.schema.replace(after);
                    }
                }
                self.applied.set(at);
                self.coordinator.fence().reached(Epoch(at));
            }
        }
    }

    /// Does something on a shard, which may be this one, and waits for it.
    pub async fn on<T: 'static, Fut: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        place: Place,
        work: impl FnOnce(Rc<Member>) -> Fut + 'static,
    ) -> T {
        if place == (self.node, self.runtime.shard().0) {
            return work(Rc::clone(self)).await;
        }
        let outcome: Rc<RefCell<Option<T>>> = Rc::default();
        let told = Rc::clone(&outcome);
        let job: Job = Box::new(move |member| {
            Box::pin(async move {
                let done = work(member).await;
                *told.borrow_mut() = Some(done);
            })
        });
        self.site.jobs.borrow_mut().entry(place).or_default().push_back(job);
        loop {
            if let Some(outcome) = outcome.borrow_mut().take() {
                return outcome;
            }
            self.runtime.sleep(PAUSE).await;
        }
    }

    /// All shards of a node apply what was agreed on.
    pub async fn apply_on(self: &Rc<Self>, node: u8, epoch: u64) {
        for place in self.site.places().into_iter().filter(|place| place.0 == node) {
            self.on(place, move |member| async move { member.apply_to(epoch) }).await;
        }
    }

    /// Waits until all shards of all nodes reach all other nodes.
    pub async fn until_all_up(self: &Rc<Self>) {
        for place in self.site.places() {
            self.on(place, |member| async move {
                let others: Vec<HostId> = member.coordinator.ring().others().map(|node| node.host_id).collect();
                while !others.iter().all(|host| member.coordinator.is_up(*host)) {
                    member.runtime.sleep(PAUSE).await;
                }
            })
            .await;
        }
    }

    /// Applies a mutation on one node alone.
    async fn put(self: &Rc<Self>, node: u8, key: &[u8], mutation: Vec<u8>) {
        let shard = self.site.sharder(node).shard_of(token_of(key));
        self.on((node, shard), |member| async move {
            let storage = member.coordinator.storage();
            let ack = storage.apply_in_steps(&[mutation]).await.expect("it is of the table");
            if let Ack::When(sequence) = ack {
                storage.wait_synced(sequence).await.expect("the disk is well");
            }
        })
        .await;
    }

    /// Writes a row on one node alone.
    pub async fn write(self: &Rc<Self>, node: u8, key: &[u8], clustering: &[u8], (timestamp, length): (i64, usize)) {
        let mut mutation = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut mutation, TABLE, token_of(key), key);
        encoder.row([clustering]).cell(ColumnId(2), timestamp, None, &vec![b'v'; length]);
        encoder.finish();
        self.put(node, key, mutation).await;
    }

    /// Deletes a partition on one node alone.
    pub async fn delete(self: &Rc<Self>, node: u8, key: &[u8], timestamp: i64) {
        let mut mutation = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut mutation, TABLE, token_of(key), key);
        encoder.partition_deletion(self.deletion(timestamp));
        encoder.finish();
        self.put(node, key, mutation).await;
    }

    /// Deletes the rows up to one, with it, on one node alone.
    pub async fn delete_up_to(self: &Rc<Self>, node: u8, key: &[u8], clustering: &[u8], timestamp: i64) {
        let mut mutation = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut mutation, TABLE, token_of(key), key);
        let end = ClusteringBound { prefix: &[clustering], inclusive: true };
        let start = ClusteringBound { prefix: &[], inclusive: true };
        encoder.range_tombstone(start, end, self.deletion(timestamp));
        encoder.finish();
        self.put(node, key, mutation).await;
    }

    fn deletion(&self, timestamp: i64) -> Deletion {
        let seconds = self.runtime.wall_clock_micros() / 1_000_000;
        Deletion { timestamp, local_deletion_time: u32::try_from(seconds).expect("a date of this century") }
    }

    /// The partitions that a node has by itself: no other is asked.
    pub async fn content(self: &Rc<Self>, node: u8, keys: &[Vec<u8>]) -> Content {
        let mut content = Content::new();
        for key in keys {
            let shard = self.site.sharder(node).shard_of(token_of(key));
            let of = key.clone();
            let rows = self.on((node, shard), |member| async move { member.own_rows(&of).await }).await;
            if !rows.is_empty() {
                content.insert(key.clone(), rows);
            }
        }
        content
    }

    async fn own_rows(&self, key: &[u8]) -> BTreeMap<Vec<u8>, usize> {
        let command = ReadCommand::partition(TABLE, token_of(key), key, now_in_seconds(&self.runtime));
        let mut rows = Rows::default();
        let done = self.coordinator.storage().read_through(&command, &mut rows).await.expect("it can be read");
        assert_eq!(done, ReadDone::Complete);
        rows.0
    }

    /// Begins a repair of the table that this node leads. Gives its number.
    pub fn begin_repair(&self, choice: &RepairChoice) -> u32 {
        let replication = self.coordinator.replication(&strategy(self.site.replication_factor));
        let tables = vec![RepairedTable { id: TABLE, name: "t".into() }];
        let begun = repairs(&self.coordinator).begin("ks", tables, &replication, choice);
        begun.expect("the terms are right").expect("there are several replicas")
    }

    /// Waits until a repair has ended.
    pub async fn ended(&self, number: u32) -> RepairStatus {
        loop {
            let status = repairs(&self.coordinator).wait(number, usize::MAX, Duration::from_secs(5)).await;
            let status = status.expect("it is known");
            if status.state != CommandState::Running {
                return repairs(&self.coordinator).status(number, 0).expect("it is known");
            }
        }
    }

    /// Repairs the table, led by this node.
    pub async fn repair(&self) -> RepairStatus {
        self.ended(self.begin_repair(&RepairChoice::default())).await
    }
}

fn now_in_seconds(runtime: &Runtime) -> u32 {
    u32::try_from(runtime.wall_clock_micros() / 1_000_000).expect("a date of this century")
}

/// Rows that a read gives, with the lengths of their values.
#[derive(Default)]
struct Rows(BTreeMap<Vec<u8>, usize>);

impl RowSink for Rows {
    fn partition(&mut self, _token: Token, _key: &[u8], _static_row: Option<LiveRow<'_>>) -> Flow {
        Flow::Continue
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let length = row.cells().map(|cell| cell.value.len()).sum();
        self.0.insert(clustering.bytes().to_vec(), length);
        Flow::Continue
    }
}

/// Runs `work` on the first shard of the first of some nodes, each with so many shards, whose keyspace has a replica on each.
pub fn on_nodes<Fut>(shards: &[u16], work: impl FnOnce(Rc<Member>) -> Fut + 'static)
where
    Fut: Future<Output = ()> + 'static,
{
    let nodes = u8::try_from(shards.len()).expect("few nodes");
    let mut world = World::new(WorldOptions::new(3));
    let hosts: Vec<_> = (0..nodes).map(|node| world.add_host(&[ip(node)])).collect();
    hosts.iter().for_each(|host| world.with_disk(*host, |disk| disk.prepare_directory("/data")));
    let site = Rc::new(Site {
        shards: shards.to_vec(),
        replication_factor: u32::from(nodes),
        changes: RefCell::default(),
        jobs: RefCell::default(),
        links: RefCell::default(),
        cuts: RefCell::default(),
        boots: RefCell::default(),
    });
    let is_over = Rc::new(Cell::new(false));
    let mut work = Some(work);
    let others = Rc::clone(&site);
    let start = |world: &mut World<'_>, node: u8, mut work: Option<Work>| {
        *others.boots.borrow_mut().entry(node).or_default() += 1;
        let count = others.shards[usize::from(node)];
        let seats = runtime::mesh(count, 8).into_iter().zip(runtime::mesh(count, 8));
        let started = Rc::new(Cell::new(0));
        let mains = seats.enumerate().map(|(shard, (replicas, peers))| {
            let (site, seats) = (Rc::clone(&others), Seats { replicas, peers, started: Rc::clone(&started) });
            let work = if shard == 0 { work.take() } else { None };
            move |runtime: Runtime| async move {
                let member = Member::start(runtime, node, seats, site).await;
                match work {
                    Some(work) => work(member).await,
                    None => member.serve().await,
                }
            }
        });
        let mains: Vec<_> = mains.collect();
        world.start(hosts[usize::from(node)], false, mains);
    };
    for node in 1..nodes {
        start(&mut world, node, None);
    }
    let (work, over) = (work.take().expect("it is done once"), Rc::clone(&is_over));
    start(
        &mut world,
        0,
        Some(Box::new(move |member| {
            Box::pin(async move {
                work(Rc::clone(&member)).await;
                over.set(true);
                member.serve().await;
            })
        })),
    );
    let step = |world: &mut World<'_>| {
        for (from, to, link) in site.links.take() {
            world.set_link(hosts[usize::from(from)], hosts[usize::from(to)], link);
        }
        for node in site.cuts.take() {
            world.crash(hosts[usize::from(node)], Keep::Nothing);
            start(world, node, None);
        }
        is_over.get()
    };
    world.run_until(step, AT_MOST);
    assert!(is_over.get(), "the work ends");
}

/// Keys of partitions: enough that each shard of each node has some.
pub fn keys(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|number| format!("key {number}").into_bytes()).collect()
}

/// Asserts that a set of nodes has the same content.
pub async fn assert_all_have(member: &Rc<Member>, keys: &[Vec<u8>], expected: &Content) {
    let nodes = u8::try_from(member.site.shards.len()).expect("few nodes");
    let mut differ = Vec::new();
    for node in 0..nodes {
        let content = member.content(node, keys).await;
        let of = |content: &Content, key: &[u8]| content.get(key).cloned().unwrap_or_default();
        let wrong = keys.iter().filter(|key| of(&content, key) != of(expected, key));
        let shown = |key: &Vec<u8>| {
            let name = String::from_utf8_lossy(key);
            format!("node {node}, {name}: {:?} and not {:?}", of(&content, key), of(expected, key))
        };
        differ.extend(wrong.map(shown));
    }
    assert!(differ.is_empty(), "partitions with other rows: {differ:#?}");
}
