//! Three nodes: the first coordinates, the others are started, killed and started again. Each other node shows which rows it has by itself.

mod ends;
mod refusals;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use cql_types::CqlType;
use internode::{Boot, Compression, LocalNode};
use mutation::{ClusteringRef, LiveRow, MutationEncoder, ReadCommand};
use runtime::sim::{Disk, Ended, HostId as Machine, Keep, World, WorldOptions};
use runtime::{Runtime, ShardId};
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::{Flow, ReplayPosition, RowSink, Shard, StorageOptions, Truncations};
use topology::{ConsistencyLevel, Epoch, HostId, Node, NodeIndex, ReplicationStrategy, Ring, Sharder, Token, token_of};

use super::planted;
use crate::coordinator::{Coordinator, CoordinatorParts, Failure, HintFigures, HintOptions, PlannedMutation, ReadDone};
use crate::fence::NO_EPOCH;
use crate::paxos::with_state_table;
use crate::plan::Replication;

const TABLE: TableId = TableId([7; 16]);
/// A table that not all nodes know.
const OTHER: TableId = TableId([8; 16]);
/// Of the world's time.
const AT_MOST: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(10);

fn ip(node: u8) -> IpAddr {
    [10, 0, 0, node + 1].into()
}

fn host_id(node: u8) -> HostId {
    HostId([node + 1; 16])
}

/// A ring of the first so many nodes, as one of them sees it.
fn ring(epoch: u64, nodes: u8, local: u8) -> Rc<Ring> {
    let node = |number: u8| Node {
        host_id: host_id(number),
        address: SocketAddr::new(ip(number), 9042),
        internode: SocketAddr::new(ip(number), 7000),
        datacenter: "datacenter1".into(),
        rack: "rack1".into(),
        tokens: (-2..2).map(|turn: i64| Token((turn * 3 + i64::from(number)) * (i64::MAX / 6))).collect(),
    };
    Rc::new(Ring::new(Epoch(epoch), (0..nodes).map(node).collect(), NodeIndex(u16::from(local))))
}

fn table(id: TableId, name: &str) -> Table {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Blob),
        Column::new(ColumnKind::Clustering, ColumnId(1), "c", CqlType::Blob),
        Column::new(ColumnKind::Regular, ColumnId(2), "v", CqlType::Blob),
    ];
    Table::new(id, "ks", name, columns, TableOptions::default())
}

fn strategy(replication_factor: u32) -> ReplicationStrategy {
    ReplicationStrategy::Simple { replication_factor }
}

fn schema(replicas: u32, has_other: bool) -> Schema {
    let replication = [("class", "SimpleStrategy".to_owned()), ("replication_factor", replicas.to_string())];
    let replication = replication.map(|(name, value)| (name.to_owned(), value)).into();
    let strategy = strategy(replicas);
    let keyspace = KeyspaceDef { name: "ks".into(), replication, strategy, durable_writes: true, tenure: 0 };
    let mut changes = vec![SchemaChange::PutKeyspace(keyspace), SchemaChange::PutTable(Box::new(table(TABLE, "t")))];
    if has_other {
        changes.push(SchemaChange::PutTable(Box::new(table(OTHER, "other"))));
    }
    with_state_table(&Schema::empty().with_all(&changes))
}

/// The keys of the rows that a read gives.
#[derive(Default)]
struct Keys(BTreeSet<Vec<u8>>);

impl RowSink for Keys {
    fn partition(&mut self, _token: Token, key: &[u8], _static_row: Option<LiveRow<'_>>) -> Flow {
        self.0.insert(key.to_vec());
        Flow::Continue
    }

    fn row(&mut self, _clustering: ClusteringRef<'_>, _row: LiveRow<'_>) -> Flow {
        Flow::Continue
    }
}

/// Keys that a node has by itself.
type Shown = Rc<RefCell<BTreeSet<Vec<u8>>>>;

#[derive(Clone)]
struct Options {
    boot: u64,
    replicas: u32,
    hints: HintOptions,
    truncations: Truncations,
    has_other: bool,
}

fn options(replicas: u32) -> Options {
    let hints = HintOptions { dir: Some("/data/hints".into()), throttle: 0, ..HintOptions::default() };
    Options { boot: 1, replicas, hints, truncations: Truncations::new(), has_other: true }
}

async fn open(runtime: &Runtime, node: u8, options: Options) -> Coordinator {
    let mut storage = StorageOptions::new("/data", options.boot, 16 << 20);
    storage.planted = planted();
    let (sharder, schema) = (Sharder::new(1), schema(options.replicas, options.has_other));
    let storage = Shard::open(runtime, storage, sharder, &schema, &options.truncations).await.expect("it opens");
    let first = ring(1, 3, node);
    let local = first.local_node().internode;
    let boot = Boot { number: options.boot, word: options.boot };
    let internode = LocalNode::new(host_id(node), "Ring".into(), boot, None, Compression::None);
    let coordinator = Coordinator::new(CoordinatorParts {
        runtime: runtime.clone(),
        ring: first,
        operations: Vec::new(),
        sharder,
        storage,
        seat: runtime::mesh(1, 8).remove(0),
        peer_seat: runtime::mesh(1, 8).remove(0),
        internode: Some(internode),
        scans_max: 4,
        hints: options.hints,
        timeouts: Default::default(),
        strategies: Default::default(),
    });
    let listener = runtime.listen(local).await.expect("the address is this machine's");
    coordinator.accept_peers(listener);
    let (present, replicas) = (coordinator.clone(), options.replicas);
    coordinator
        .deliver_hints(move |table| [TABLE, OTHER].contains(&table).then(|| present.replication(&strategy(replicas))));
    coordinator
}

/// A node that shows what it has, until it is killed.
async fn show(runtime: Runtime, node: u8, options: Options, shown: Shown) {
    let coordinator = open(&runtime, node, options).await;
    loop {
        shown.replace(keys_of(&coordinator).await);
        runtime.sleep(PAUSE).await;
    }
}

/// The keys that a node has by itself.
async fn keys_of(coordinator: &Coordinator) -> BTreeSet<Vec<u8>> {
    let mut keys = Keys::default();
    let done = coordinator.storage().read_through(&ReadCommand::all(TABLE, 1_000), &mut keys).await;
    assert_eq!(done.expect("the disk works"), ReadDone::Complete);
    keys.0
}

/// The coordinator's node, which a client uses.
#[derive(Clone)]
struct Client {
    runtime: Runtime,
    coordinator: Coordinator,
    replication: Rc<Replication>,
}

impl Client {
    async fn open(runtime: Runtime, options: Options) -> Client {
        let replicas = options.replicas;
        let coordinator = open(&runtime, 0, options).await;
        let replication = coordinator.replication(&strategy(replicas));
        Client { runtime, coordinator, replication }
    }

    async fn until(&self, mut is_so: impl FnMut(&Client) -> bool) {
        while !is_so(self) {
            self.runtime.sleep(PAUSE).await;
        }
    }

    fn planned(&self, key: &[u8]) -> PlannedMutation {
        self.planned_in(TABLE, key)
    }

    fn planned_in(&self, table: TableId, key: &[u8]) -> PlannedMutation {
        let mut mutation = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut mutation, table, token_of(key), key);
        let mut row = encoder.row([&b"c"[..]]);
        row.cell(ColumnId(2), 1, None, b"value");
        encoder.finish();
        let (replication, token) = (Rc::clone(&self.replication), token_of(key));
        PlannedMutation { replication, token, shard: ShardId(0), mutation, moment: NO_EPOCH }
    }

    async fn write(&self, key: &[u8], level: ConsistencyLevel) -> Result<(), Failure> {
        self.coordinator.plan(&self.replication, token_of(key), level).expect("enough are alive");
        self.coordinator.write_batch(vec![self.planned(key)], level).await
    }

    /// A key whose only replica is this node.
    fn key_of(&self, node: u16) -> Vec<u8> {
        self.key_of_all([node])
    }

    /// A key with these replicas alone.
    fn key_of_all<const N: usize>(&self, nodes: [u16; N]) -> Vec<u8> {
        let mut keys = (0..1_000u32).map(|number| number.to_be_bytes().to_vec());
        let nodes: BTreeSet<NodeIndex> = nodes.map(NodeIndex).into();
        let replicas = |key: &Vec<u8>| self.replication.replicas(token_of(key)).iter().copied().collect();
        keys.find(|key| nodes == replicas(key)).expect("each node has a part of the ring")
    }

    fn figures(&self) -> HintFigures {
        self.coordinator.hints().expect("there is a folder").figures()
    }
}

/// Machines of three nodes.
struct Nodes {
    world: World<'static>,
    machines: [Machine; 3],
    shown: [Shown; 3],
}

impl Nodes {
    fn new(seed: u64) -> Nodes {
        let mut world = World::new(WorldOptions::new(seed));
        let machines = [0, 1, 2].map(|node| {
            let mut disk = Disk::default();
            disk.prepare_directory("/data");
            world.add_host_with(&[ip(node)], disk)
        });
        Nodes { world, machines, shown: Default::default() }
    }

    fn start(&mut self, node: u8, options: &Options) {
        let (shown, options) = (Rc::clone(&self.shown[usize::from(node)]), options.clone());
        let main = move |runtime| show(runtime, node, options, shown);
        self.world.start(self.machines[usize::from(node)], false, vec![main]);
    }

    /// Starts the first node with work for its client.
    fn work<F, Fut>(&mut self, options: &Options, work: F)
    where
        F: FnOnce(Client) -> Fut + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        let options = options.clone();
        let main = move |runtime: Runtime| async move {
            let client = Client::open(runtime, options).await;
            work(client.clone()).await;
            // The node goes on.
            client.until(|_| false).await;
        };
        self.world.start(self.machines[0], false, vec![main]);
    }

    #[track_caller]
    fn until(&mut self, what: &str, is_so: impl Fn() -> bool) {
        let ended = self.world.run_until(|_| is_so(), AT_MOST);
        assert_eq!(ended, Ended::Condition, "not within {AT_MOST:?}: {what}");
    }

    fn has(&self, node: usize, keys: impl IntoIterator<Item = Vec<u8>>) -> Box<dyn Fn() -> bool> {
        let (shown, keys) = (Rc::clone(&self.shown[node]), keys.into_iter().collect::<BTreeSet<_>>());
        Box::new(move || keys.is_subset(&shown.borrow()))
    }
}

fn keys(numbers: std::ops::Range<u32>) -> impl Iterator<Item = Vec<u8>> {
    numbers.map(|number| number.to_be_bytes().to_vec())
}

/// Work that writes keys at ONE while the third node is away, and says when it is done.
fn writes(numbers: std::ops::Range<u32>, is_done: &Rc<Cell<bool>>) -> impl AsyncFnOnce(Client) + use<> {
    let is_done = Rc::clone(is_done);
    async move |client: Client| {
        client.until(|client| client.coordinator.is_up(host_id(1))).await;
        for key in keys(numbers) {
            client.write(&key, ConsistencyLevel::One).await.expect("two are alive");
        }
        is_done.set(true);
    }
}

#[test]
fn what_a_node_missed_is_delivered_though_it_dies_again_meanwhile() {
    for seed in 0..5 {
        let mut options = options(3);
        // A hint has about 120 bytes: some ten a second.
        options.hints.throttle = 2 * 1200;
        let (mut nodes, is_done) = (Nodes::new(seed), Rc::new(Cell::new(false)));
        nodes.start(1, &options);
        let work = writes(0..60, &is_done);
        nodes.work(&options, move |client| async move { work(client).await });
        nodes.until("all are written", || is_done.get());
        for boot in 1..=3 {
            let shown = Rc::clone(&nodes.shown[2]);
            let before = shown.borrow().len();
            nodes.start(2, &Options { boot, ..options.clone() });
            nodes.until("some are delivered", || shown.borrow().len() >= before + 5);
            assert!(shown.borrow().len() < 60, "seed {seed}: it dies before all are delivered");
            nodes.world.kill(nodes.machines[2]);
            // Long enough for a hint to be refused.
            nodes.world.run_for(Duration::from_secs(3));
        }
        nodes.start(2, &Options { boot: 4, ..options.clone() });
        let has_all = nodes.has(2, keys(0..60));
        nodes.until("all are delivered", has_all);
    }
}

#[test]
fn what_was_truncated_since_is_not_delivered() {
    for seed in 0..5 {
        let options = options(3);
        let (mut nodes, is_done) = (Nodes::new(seed), Rc::new(Cell::new(false)));
        nodes.start(1, &options);
        let (before, after) = (writes(0..10, &Rc::default()), writes(10..12, &is_done));
        nodes.work(&options, move |client| async move {
            before(client.clone()).await;
            let storage = client.coordinator.storage();
            let position = storage.begin_truncation(TABLE);
            storage.truncation_is_durable(TABLE, position);
            after(client.clone()).await;
        });
        nodes.until("all are written", || is_done.get());
        nodes.start(2, &options);
        let has_later = nodes.has(2, keys(10..12));
        nodes.until("what was written after is delivered", has_later);
        // In the order of the files: those from before were looked at already.
        assert!(nodes.shown[2].borrow().iter().eq(keys(10..12).collect::<Vec<_>>().iter()), "seed {seed}");
    }
}

#[test]
fn what_was_truncated_while_the_node_was_down_is_not_delivered() {
    let mut options = options(3);
    let (mut nodes, is_done) = (Nodes::new(1), Rc::new(Cell::new(false)));
    nodes.start(1, &options);
    let (work, is_ended) = (writes(0..10, &is_done), Rc::new(Cell::new(false)));
    let ended = Rc::clone(&is_ended);
    nodes.work(&options, move |client| async move {
        work(client.clone()).await;
        client.coordinator.hints().expect("there is a folder").end(AT_MOST).await;
        ended.set(true);
    });
    nodes.until("all are written", || is_ended.get());
    nodes.world.kill(nodes.machines[0]);
    options.boot = 2;
    options.truncations = [(TABLE, vec![ReplayPosition::before_boot(2, 0)])].into();
    let is_done = Rc::new(Cell::new(false));
    let work = writes(10..12, &is_done);
    nodes.work(&options, move |client| async move { work(client).await });
    nodes.until("all are written", || is_done.get());
    nodes.start(2, &options);
    let has_later = nodes.has(2, keys(10..12));
    nodes.until("what was written after is delivered", has_later);
    assert_eq!(nodes.shown[2].borrow().len(), 2);
}

#[test]
fn a_write_at_any_is_on_the_disk_when_it_is_answered() {
    for seed in 0..5 {
        let mut options = options(1);
        let (mut nodes, answered) = (Nodes::new(seed), Rc::new(RefCell::new(None)));
        let told = Rc::clone(&answered);
        nodes.work(&options, move |client| async move {
            let key = client.key_of(1);
            client.write(&key, ConsistencyLevel::Any).await.expect("a hint is enough");
            told.replace(Some(key));
        });
        nodes.until("it is answered", || answered.borrow().is_some());
        nodes.world.crash(nodes.machines[0], Keep::Nothing);
        options.boot = 2;
        nodes.work(&options, async |_| {});
        nodes.start(1, &options);
        let has_it = nodes.has(1, answered.take());
        nodes.until("it is delivered", has_it);
    }
}

#[test]
fn without_hints_a_write_at_any_that_no_replica_takes_times_out() {
    let mut options = options(1);
    options.hints.is_enabled = false;
    let (mut nodes, is_done) = (Nodes::new(1), Rc::new(Cell::new(false)));
    let done = Rc::clone(&is_done);
    nodes.work(&options, move |client| async move {
        let key = client.key_of(1);
        let failure = client.write(&key, ConsistencyLevel::Any).await.expect_err("nothing has it");
        assert_eq!(failure, Failure::Timeout { received: 0 });
        done.set(true);
    });
    nodes.until("it is answered", || is_done.get());
}

#[test]
fn a_hint_for_a_node_that_left_goes_to_the_present_replicas() {
    let options = options(1);
    let (mut nodes, hinted) = (Nodes::new(1), Rc::new(Cell::new(false)));
    nodes.start(1, &options);
    let done = Rc::clone(&hinted);
    let own = Rc::clone(&nodes.shown[0]);
    nodes.work(&options, move |client| async move {
        client.until(|client| client.coordinator.is_up(host_id(1))).await;
        let all: Vec<_> = keys(0..20).collect();
        for key in &all {
            client.write(key, ConsistencyLevel::Any).await.expect("a hint is enough");
        }
        client.coordinator.install_ring(ring(2, 2, 0), None);
        client.until(|client| client.figures().rerouted > 0 && client.figures().bytes == 0).await;
        own.replace(keys_of(&client.coordinator).await);
        done.set(true);
    });
    nodes.until("all is delivered", || hinted.get());
    let (own, other) = (Rc::clone(&nodes.shown[0]), Rc::clone(&nodes.shown[1]));
    let all: BTreeSet<_> = keys(0..20).collect();
    nodes.until("two nodes have all rows together", || own.borrow().union(&other.borrow()).eq(&all));
    assert!(!own.borrow().is_empty() && !other.borrow().is_empty(), "each has a part of them");
}

#[test]
fn hints_without_room_are_dropped_and_fail_no_write() {
    let mut options = options(3);
    options.hints.host_bytes_max = Some(1000);
    let (mut nodes, is_done) = (Nodes::new(1), Rc::new(Cell::new(false)));
    nodes.start(1, &options);
    let (work, done) = (writes(0..50, &Rc::default()), Rc::clone(&is_done));
    nodes.work(&options, move |client| async move {
        client.until(|client| client.figures().bytes_max > 0).await;
        work(client.clone()).await;
        let figures = client.figures();
        assert!(figures.created > 0 && figures.bytes <= 1000, "{figures:?}");
        assert_eq!(figures.created + figures.dropped, 50, "{figures:?}");
        done.set(true);
    });
    nodes.until("all are written", || is_done.get());
}

#[test]
fn after_the_window_no_hint_is_kept() {
    let mut options = options(3);
    options.hints.window = Duration::from_secs(60);
    let (mut nodes, is_done) = (Nodes::new(1), Rc::new(Cell::new(false)));
    nodes.start(1, &options);
    let (first, second, third) =
        (writes(0..5, &Rc::default()), writes(5..10, &Rc::default()), writes(10..15, &is_done));
    nodes.work(&options, move |client| async move {
        first(client.clone()).await;
        client.runtime.sleep(Duration::from_secs(50)).await;
        second(client.clone()).await;
        assert_eq!((client.figures().created, client.figures().dropped), (10, 0));
        client.runtime.sleep(Duration::from_secs(20)).await;
        third(client.clone()).await;
        assert_eq!((client.figures().created, client.figures().dropped), (10, 5));
    });
    nodes.until("all are written", || is_done.get());
    nodes.start(2, &options);
    let has_all = nodes.has(2, keys(0..10));
    nodes.until("what was kept is delivered", has_all);
    assert_eq!(nodes.shown[2].borrow().len(), 10);
}

#[test]
fn a_batch_at_any_has_hints_for_what_is_away_and_waits_for_the_rest() {
    let options = options(1);
    let (mut nodes, is_done) = (Nodes::new(1), Rc::new(Cell::new(false)));
    nodes.start(1, &options);
    let done = Rc::clone(&is_done);
    nodes.work(&options, move |client| async move {
        client.until(|client| client.coordinator.is_up(host_id(1))).await;
        let planned = [1, 2].map(|node| client.planned(&client.key_of(node)));
        let written = client.coordinator.write_batch(planned.into(), ConsistencyLevel::Any).await;
        assert_eq!(written, Ok(()));
        assert_eq!(client.figures().created, 1);
        done.set(true);
    });
    nodes.until("it is answered", || is_done.get());
}
