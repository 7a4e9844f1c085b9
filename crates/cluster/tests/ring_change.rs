//! A ring of two simulated nodes becomes one of three under way, and two again: plans and peers follow, and what was planned before is done by
//! the ring that it was planned by.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use cluster::coordinator::{
    Coordinator, CoordinatorParts, Failure, HintOptions, PageLimits, PlannedMutation, ReadDone, Replication,
    Unavailable,
};
use cluster::fence::NO_EPOCH;
use cluster::paxos::with_state_table;
use cql_types::CqlType;
use internode::{Boot, Compression, LocalNode};
use mutation::{ClusteringRef, LiveRow, MutationEncoder, ReadCommand};
use runtime::sim::{World, WorldOptions};
use runtime::{Group, Runtime};
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::{Flow, RowSink, Shard, StorageOptions, Truncations};
use topology::{ConsistencyLevel, Epoch, HostId, Node, NodeIndex, ReplicationStrategy, Ring, Sharder, Token, token_of};

const TABLE: TableId = TableId([7; 16]);
const NAME: &str = "Ring";
const AT_MOST: Duration = Duration::from_secs(3600);
const PAUSE: Duration = Duration::from_millis(1);
const LIMITS: PageLimits =
    PageLimits { rows: 100, rows_per_partition: u32::MAX, bytes: 1 << 20, counts_statics: true, planned: NO_EPOCH };

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
        tokens: (0..4).map(|turn| Token(i64::from(turn) * (i64::MAX / 4) + i64::from(number) * 1_000)).collect(),
    };
    Rc::new(Ring::new(Epoch(epoch), (0..nodes).map(node).collect(), NodeIndex(u16::from(local))))
}

fn table() -> Table {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Blob),
        Column::new(ColumnKind::Clustering, ColumnId(1), "c", CqlType::Blob),
        Column::new(ColumnKind::Regular, ColumnId(2), "v", CqlType::Blob),
    ];
    Table::new(TABLE, "ks", "t", columns, TableOptions::default())
}

fn schema() -> Schema {
    let replication = [("class", "SimpleStrategy"), ("replication_factor", "3")];
    let replication = replication.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let keyspace =
        KeyspaceDef { name: "ks".into(), replication, strategy: strategy(3), durable_writes: true, tenure: 0 };
    let changes = [SchemaChange::PutKeyspace(keyspace), SchemaChange::PutTable(Box::new(table()))];
    with_state_table(&Schema::empty().with_all(&changes))
}

fn strategy(replication_factor: u32) -> ReplicationStrategy {
    ReplicationStrategy::Simple { replication_factor }
}

fn planned(replication: &Rc<Replication>, key: &[u8]) -> PlannedMutation {
    planned_in(TABLE, replication, key)
}

fn planned_in(table: TableId, replication: &Rc<Replication>, key: &[u8]) -> PlannedMutation {
    let mut mutation = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut mutation, table, token_of(key), key);
    let mut row = encoder.row([&b"c"[..]]);
    row.cell(ColumnId(2), 1, None, b"value");
    encoder.finish();
    let (replication, token) = (Rc::clone(replication), token_of(key));
    PlannedMutation { replication, token, shard: runtime::ShardId(0), mutation, moment: NO_EPOCH }
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

/// The rings that a node is to install, one after the other.
type Rings = Rc<RefCell<VecDeque<Rc<Ring>>>>;

async fn open(runtime: &Runtime, first: Rc<Ring>) -> Coordinator {
    let sharder = Sharder::new(1);
    let options = StorageOptions::new("/data", 1, 16 << 20);
    let storage = Shard::open(runtime, options, sharder, &schema(), &Truncations::default()).await.expect("it opens");
    let local = first.local_node().internode;
    let internode = LocalNode::new(first.local_node().host_id, NAME.into(), Boot::default(), None, Compression::None);
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
        hints: HintOptions::default(),
        timeouts: Default::default(),
        strategies: Default::default(),
    });
    let listener = runtime.listen(local).await.expect("the address is this machine's");
    coordinator.accept_peers(listener);
    coordinator
}

/// A node that installs rings as they are given to it.
async fn follow(runtime: Runtime, first: Rc<Ring>, rings: Rings) {
    let coordinator = open(&runtime, first).await;
    loop {
        let next = rings.borrow_mut().pop_front();
        if let Some(ring) = next {
            coordinator.install_ring(ring, None);
        }
        runtime.sleep(PAUSE).await;
    }
}

/// The node of the test's own client.
#[derive(Clone)]
struct Client {
    runtime: Runtime,
    coordinator: Coordinator,
}

impl Client {
    async fn until_up(&self, node: u8) {
        while !self.coordinator.is_up(host_id(node)) {
            self.runtime.sleep(PAUSE).await;
        }
    }

    fn replication(&self, replication_factor: u32) -> Rc<Replication> {
        self.coordinator.replication(&strategy(replication_factor))
    }

    /// The epoch of a plan.
    fn plan(&self, replication: &Replication, key: &[u8], level: ConsistencyLevel) -> Result<u64, Unavailable> {
        self.coordinator.plan(replication, token_of(key), level).map(|plan| plan.epoch().0)
    }

    async fn write(&self, planned: Vec<PlannedMutation>) -> Result<(), Failure> {
        self.coordinator.write_batch(planned, ConsistencyLevel::All).await
    }

    async fn read(&self, replication: &Replication, key: &[u8]) -> Result<usize, Failure> {
        let plan = self.coordinator.plan(replication, token_of(key), ConsistencyLevel::All).expect("all are alive");
        let command = ReadCommand::partition(TABLE, token_of(key), key, 1_000);
        let mut rows = Rows::default();
        let done = self.coordinator.read(&plan, &table(), command, LIMITS, &mut rows).await?;
        assert_eq!(done, ReadDone::Complete);
        Ok(rows.0)
    }

    async fn scan(&self, replication: &Replication) -> Result<usize, Failure> {
        let (command, mut rows) = (ReadCommand::all(TABLE, 1_000), Rows::default());
        let level = ConsistencyLevel::All;
        let done = self.coordinator.scan(replication, level, &table(), command, LIMITS, &mut rows).await?;
        assert_eq!(done, ReadDone::Complete);
        Ok(rows.0)
    }
}

/// Three machines of which the first runs `work`; the others follow the rings that `work` gives them.
fn on_three_nodes<F, Fut>(work: F)
where
    F: FnOnce(Client, [Rings; 3]) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut world = World::new(WorldOptions::new(3));
    let hosts = [0, 1, 2].map(|node| world.add_host(&[ip(node)]));
    let rings = [(); 3].map(|()| Rings::default());
    for node in [1u8, 2] {
        let rings = Rc::clone(&rings[usize::from(node)]);
        // The third node begins with a ring that the others do not have yet.
        let first = if node == 2 { ring(2, 3, 2) } else { ring(1, 2, 1) };
        world.start(hosts[usize::from(node)], false, vec![move |runtime| follow(runtime, first, rings)]);
    }
    let main = move |runtime: Runtime| async move {
        let coordinator = open(&runtime, ring(1, 2, 0)).await;
        work(Client { runtime, coordinator }, rings).await;
    };
    let working = world.start(hosts[0], false, vec![main]);
    world.run_until(|_| working.is_over(), AT_MOST);
    assert!(working.is_over(), "the work ends");
}

#[test]
fn a_ring_grows_and_shrinks_under_way() {
    on_three_nodes(async |client, rings| {
        let all = ConsistencyLevel::All;
        let of_two = client.replication(2);
        client.until_up(1).await;
        assert_eq!(client.plan(&of_two, b"a", all), Ok(1), "a plan has the epoch of its ring");
        assert_eq!(client.write(vec![planned(&of_two, b"a")]).await, Ok(()));

        // A write that was planned by the first ring is done by it, though the next one is installed while it is under way.
        let (writer, late) = (client.clone(), planned(&of_two, b"b"));
        let writing = client.runtime.spawn(Group::Query, async move { writer.write(vec![late]).await });
        client.runtime.yield_now().await;
        rings[1].borrow_mut().push_back(ring(2, 3, 1));
        client.coordinator.install_ring(ring(2, 3, 0), None);
        assert!(client.coordinator.is_up(host_id(1)), "who stays is up without a new connection");
        assert_eq!(writing.await, Ok(()));
        assert_eq!(client.plan(&of_two, b"b", all), Ok(1), "an old replication plans by its own ring");
        assert_eq!(client.write(vec![planned(&of_two, b"c")]).await, Ok(()));

        client.until_up(2).await;
        let of_three = client.replication(3);
        assert_eq!(client.plan(&of_three, b"d", all), Ok(2));
        assert_eq!(client.write(vec![planned(&of_three, b"d")]).await, Ok(()));
        assert_eq!(client.read(&of_three, b"d").await, Ok(1));
        assert_eq!(client.read(&of_three, b"a").await, Ok(1), "the new node is asked, and repaired");
        assert_eq!(client.scan(&of_three).await, Ok(4));

        // Mutations of one write that were planned by two rings are all done by the present one.
        let mixed = vec![planned(&of_two, b"e"), planned(&of_three, b"f")];
        assert_eq!(client.write(mixed).await, Ok(()));

        client.coordinator.install_ring(ring(3, 2, 0), None);
        rings[1].borrow_mut().push_back(ring(3, 2, 1));
        assert!(!client.coordinator.is_up(host_id(2)), "who left is no peer");
        let unavailable = Unavailable { level: all, required: 3, alive: 2, datacenter: None };
        assert_eq!(client.plan(&of_three, b"g", all), Err(unavailable), "who left answers no old plan either");
        let of_two = client.replication(2);
        assert_eq!(client.plan(&of_two, b"g", all), Ok(3));
        assert_eq!(client.write(vec![planned(&of_two, b"g")]).await, Ok(()));
        assert_eq!(client.scan(&of_two).await, Ok(7));
    });
}

#[test]
fn a_refusal_names_the_shard_and_the_node() {
    on_three_nodes(async |client, _| {
        client.until_up(1).await;
        let unknown = planned_in(TableId([8; 16]), &client.replication(2), b"a");
        let refused = client.coordinator.write_batch(vec![unknown], ConsistencyLevel::One).await;
        let words = "shard 0 does not know the table (10.0.0.1), shard 0 of node 10.0.0.2:7000 does not know the table";
        let expected = format!("Operation failed - received 0 responses and 2 failures: {words}");
        assert_eq!(refused.expect_err("no node knows the table").to_string(), expected);
    });
}

#[test]
#[should_panic(expected = "epoch 1 cannot come after 1")]
fn an_epoch_grows() {
    on_three_nodes(async |client, _| client.coordinator.install_ring(ring(1, 3, 0), None));
}

#[test]
#[should_panic(expected = "a node stays the same in all rings that it sees")]
fn a_node_does_not_become_another() {
    on_three_nodes(async |client, _| client.coordinator.install_ring(ring(2, 3, 1), None));
}
