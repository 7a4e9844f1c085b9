//! Three simulated nodes that share a table, of which the first runs a test; the test can do something to the others.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use cluster::coordinator::{
    Coordinator, CoordinatorParts, Failure, PageLimits, PlannedMutation, ReadCounters, ReadDone, Replication,
};
use cluster::fence::NO_EPOCH;
use cluster::paxos::with_state_table;
use cql_types::CqlType;
use internode::{Boot, Compression, LocalNode};
use mutation::{ClusteringRef, LiveRow, MutationEncoder, ReadCommand};
use runtime::Runtime;
use runtime::sim::{HostId as Machine, World, WorldOptions};
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::{Flow, RowSink, Shard, StorageOptions, Truncations};
use topology::{ConsistencyLevel, Epoch, HostId, Node, NodeIndex, ReplicationStrategy, Ring, Sharder, Token, token_of};

pub const TABLE: TableId = TableId([7; 16]);
const AT_MOST: Duration = Duration::from_secs(3600);
const PAUSE: Duration = Duration::from_millis(1);
const LIMITS: PageLimits =
    PageLimits { rows: 50, rows_per_partition: u32::MAX, bytes: 1 << 20, counts_statics: true, planned: NO_EPOCH };

fn ip(node: u8) -> IpAddr {
    [10, 0, 0, node + 1].into()
}

fn host_id(node: u8) -> HostId {
    HostId([node + 1; 16])
}

fn ring(local: u8) -> Rc<Ring> {
    let node = |number: u8| Node {
        host_id: host_id(number),
        address: SocketAddr::new(ip(number), 9042),
        internode: SocketAddr::new(ip(number), 7000),
        datacenter: "datacenter1".into(),
        rack: "rack1".into(),
        tokens: (0..4).map(|turn| Token((turn * 3 + i64::from(number) - 6) * (i64::MAX / 6))).collect(),
    };
    Rc::new(Ring::new(Epoch(1), (0..3).map(node).collect(), NodeIndex(u16::from(local))))
}

/// The table, with a policy of speculation.
pub fn table(speculative_retry: &str) -> Table {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Blob),
        Column::new(ColumnKind::Clustering, ColumnId(1), "c", CqlType::Blob),
        Column::new(ColumnKind::Regular, ColumnId(2), "v", CqlType::Blob),
    ];
    let options = TableOptions { speculative_retry: speculative_retry.to_owned(), ..TableOptions::default() };
    Table::new(TABLE, "ks", "t", columns, options)
}

fn schema() -> Schema {
    let replication = [("class", "SimpleStrategy"), ("replication_factor", "3")];
    let replication = replication.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let keyspace =
        KeyspaceDef { name: "ks".into(), replication, strategy: strategy(3), durable_writes: true, tenure: 0 };
    let changes = [SchemaChange::PutKeyspace(keyspace), SchemaChange::PutTable(Box::new(table("99p")))];
    with_state_table(&Schema::empty().with_all(&changes))
}

fn strategy(replication_factor: u32) -> ReplicationStrategy {
    ReplicationStrategy::Simple { replication_factor }
}

/// A row of a partition.
pub fn mutation(key: &[u8], clustering: u32, timestamp: i64, value: &[u8]) -> Vec<u8> {
    let mut mutation = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut mutation, TABLE, token_of(key), key);
    encoder.row([&clustering.to_be_bytes()[..]]).cell(ColumnId(2), timestamp, None, value);
    encoder.finish();
    mutation
}

/// A row as a client gets it: key, clustering and value, each as it is encoded.
pub type Row = (Vec<u8>, Vec<u8>, Vec<u8>);

/// Collects rows, and does something at one of them.
#[derive(Default)]
pub struct Rows {
    pub rows: Vec<Row>,
    key: Vec<u8>,
    /// At so many rows this is done to the world.
    pub at: Option<(usize, Deed)>,
    pub client: Option<Client>,
}

impl RowSink for Rows {
    fn partition(&mut self, _token: Token, key: &[u8], _static_row: Option<LiveRow<'_>>) -> Flow {
        self.key = key.to_vec();
        Flow::Continue
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let value = row.cell(ColumnId(2)).map(|cell| cell.value.to_vec()).unwrap_or_default();
        self.rows.push((self.key.clone(), clustering.bytes().to_vec(), value));
        if self.at.as_ref().is_some_and(|(count, _)| *count == self.rows.len())
            && let (Some((_, deed)), Some(client)) = (self.at.take(), &self.client)
        {
            client.deeds.borrow_mut().push_back(deed);
        }
        Flow::Continue
    }
}

/// Something that is done to the world between two of its steps.
pub type Deed = Box<dyn FnOnce(&mut World<'_>, &[Machine; 3])>;
/// Something that a node does.
type Errand = Box<dyn FnOnce(&Coordinator)>;

async fn open(runtime: &Runtime, local: u8) -> Coordinator {
    let sharder = Sharder::new(1);
    let options = StorageOptions::new("/data", 1, 16 << 20);
    let storage = Shard::open(runtime, options, sharder, &schema(), &Truncations::default()).await.expect("it opens");
    let ring = ring(local);
    let internode = LocalNode::new(host_id(local), "Reads".into(), Boot::default(), None, Compression::None);
    let listener = runtime.listen(ring.local_node().internode).await.expect("the address is this machine's");
    let coordinator = Coordinator::new(CoordinatorParts {
        runtime: runtime.clone(),
        ring,
        operations: Vec::new(),
        sharder,
        storage,
        seat: runtime::mesh(1, 8).remove(0),
        peer_seat: runtime::mesh(1, 8).remove(0),
        internode: Some(internode),
        scans_max: 4,
        hints: Default::default(),
        timeouts: Default::default(),
        strategies: Default::default(),
    });
    coordinator.accept_peers(listener);
    coordinator
}

/// A node that does its errands.
async fn serve(runtime: Runtime, local: u8, errands: Rc<RefCell<VecDeque<Errand>>>) {
    let coordinator = open(&runtime, local).await;
    loop {
        let next = errands.borrow_mut().pop_front();
        if let Some(errand) = next {
            errand(&coordinator);
        }
        runtime.sleep(PAUSE).await;
    }
}

/// The node of the test's own client.
#[derive(Clone)]
pub struct Client {
    pub runtime: Runtime,
    pub coordinator: Coordinator,
    deeds: Rc<RefCell<VecDeque<Deed>>>,
    errands: [Rc<RefCell<VecDeque<Errand>>>; 3],
}

impl Client {
    pub fn replication(&self, replication_factor: u32) -> Rc<Replication> {
        self.coordinator.replication(&strategy(replication_factor))
    }

    pub fn counters(&self) -> ReadCounters {
        self.coordinator.counters().reads
    }

    /// Does something to the world, and waits until it is done.
    pub async fn to_world(&self, deed: impl FnOnce(&mut World<'_>, &[Machine; 3]) + 'static) {
        self.deeds.borrow_mut().push_back(Box::new(deed));
        while !self.deeds.borrow().is_empty() {
            self.runtime.sleep(PAUSE).await;
        }
    }

    /// Applies a mutation on one node alone.
    pub async fn apply_on(&self, node: usize, mutation: Vec<u8>) {
        let apply = move |coordinator: &Coordinator| {
            coordinator.storage().apply(&mutation).expect("there is room");
        };
        if node == 0 {
            return apply(&self.coordinator);
        }
        let is_done = Rc::new(std::cell::Cell::new(false));
        let done = Rc::clone(&is_done);
        let errand = move |coordinator: &Coordinator| {
            apply(coordinator);
            done.set(true);
        };
        self.errands[node].borrow_mut().push_back(Box::new(errand));
        while !is_done.get() {
            self.runtime.sleep(PAUSE).await;
        }
    }

    /// Writes to all replicas.
    pub async fn write(&self, replication: &Rc<Replication>, key: &[u8], mutation: Vec<u8>) {
        let (replication, token, shard) = (Rc::clone(replication), token_of(key), runtime::ShardId(0));
        let planned = PlannedMutation { replication, token, shard, mutation, moment: NO_EPOCH };
        self.coordinator.write_batch(vec![planned], ConsistencyLevel::All).await.expect("all are up");
    }

    /// Reads a partition into `rows`.
    pub async fn read_into(
        &self,
        (replication, level): (&Replication, ConsistencyLevel),
        table: &Table,
        key: &[u8],
        rows: &mut Rows,
    ) -> Result<(), Failure> {
        let plan = self.coordinator.plan(replication, token_of(key), level).expect("enough are alive");
        let command = ReadCommand::partition(TABLE, token_of(key), key, 1_000);
        let done = self.coordinator.read(&plan, table, command, LIMITS, rows).await?;
        assert_eq!(done, ReadDone::Complete);
        Ok(())
    }

    /// The rows of a partition.
    pub async fn read(
        &self,
        at: (&Replication, ConsistencyLevel),
        table: &Table,
        key: &[u8],
    ) -> Result<Vec<Row>, Failure> {
        let mut rows = Rows::default();
        self.read_into(at, table, key, &mut rows).await?;
        Ok(rows.rows)
    }

    /// Reads all partitions into `rows`.
    pub async fn scan_into(
        &self,
        (replication, level): (&Replication, ConsistencyLevel),
        table: &Table,
        rows: &mut Rows,
    ) -> Result<(), Failure> {
        let command = ReadCommand::all(TABLE, 1_000);
        let done = self.coordinator.scan(replication, level, table, command, LIMITS, rows).await?;
        assert_eq!(done, ReadDone::Complete);
        Ok(())
    }
}

/// Runs a test on the first of three nodes that know each other.
pub fn on_three_nodes<F, Fut>(work: F)
where
    F: FnOnce(Client) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut world = World::new(WorldOptions::new(3));
    let hosts = [0, 1, 2].map(|node| world.add_host(&[ip(node)]));
    let errands = [(); 3].map(|()| Rc::default());
    for node in [1u8, 2] {
        let errands = Rc::clone(&errands[usize::from(node)]);
        world.start(hosts[usize::from(node)], false, vec![move |runtime| serve(runtime, node, errands)]);
    }
    let deeds: Rc<RefCell<VecDeque<Deed>>> = Rc::default();
    let of_client = Rc::clone(&deeds);
    let main = move |runtime: Runtime| async move {
        let coordinator = open(&runtime, 0).await;
        let client = Client { runtime, coordinator, deeds: of_client, errands };
        for node in [1, 2] {
            while !client.coordinator.is_up(host_id(node)) {
                client.runtime.sleep(PAUSE).await;
            }
        }
        work(client).await;
    };
    let working = world.start(hosts[0], false, vec![main]);
    let is_over = |world: &mut World<'_>| {
        loop {
            let Some(deed) = deeds.borrow_mut().pop_front() else { return working.is_over() };
            deed(world, &hosts);
        }
    };
    world.run_until(is_over, AT_MOST);
    assert!(working.is_over(), "the work ends");
}
