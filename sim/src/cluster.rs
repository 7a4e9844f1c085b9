//! Machines that run nodes, and one that runs their clients.

use std::cell::{Cell, RefCell};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::access::login::PASSWORD_HASH;
use crate::site::Site;
use admin::Questions;
use auth::PasswordHash;
use helenus::config::{
    AccessConfig, AuditOptions, Authenticator, Authorizer, CommitLogSync, Compression, Config, FixedNode, FixedRing,
    Guardrails, HintOptions, Secret, TimeoutOptions, Tokens,
};
use helenus::node::{self, NodeError, Ready};
use planted::Planted;
use runtime::sim::{Disk, Ended, HostId, Started, World, WorldOptions};
use server::Ports;
use topology::{HostId as NodeId, Token};

/// The first node's address.
pub const NODE: SocketAddr = native_address(0);
/// The clients' address.
const CLIENTS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 255, 0, 1));
/// The node's data folder, which is the whole of its disk.
pub const DATA: &str = "/data";
/// The longest that a start may take by the world's clock, from a disk that answers.
const START_AT_MOST: Duration = Duration::from_secs(120);
/// The longest that an orderly end may take: its patience with clients, and some.
const END_AT_MOST: Duration = Duration::from_secs(60);
/// Shards of a node that a nemesis starts.
const SITE_SHARDS: u16 = 2;

/// Where clients reach a node.
pub const fn native_address(index: usize) -> SocketAddr {
    SocketAddr::new(machine_address(index), 9042)
}

const fn machine_address(index: usize) -> IpAddr {
    // The first of them is 10.0.0.1, and there is room for millions before the clients'.
    IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0001 + index as u32))
}

/// What a node is told, beside its number of shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeOptions {
    /// When writes are acknowledged.
    pub sync: CommitLogSync,
    /// The size of a segment of the commit log.
    pub segment_bytes: u64,
    /// What a shard's commit log may take before tables are flushed for its sake; `None`: more than any workload writes.
    pub log_bytes: Option<u64>,
    /// What of the disk is kept for what gives room back, bytes.
    pub disk_reserve: u64,
    /// Put aside what is truncated, which flushes it before.
    pub auto_snapshot: bool,
    /// Flush when the node ends.
    pub flush_on_drain: bool,
    /// Memory of all shards together.
    pub memory_bytes: u64,
    /// How often `periodic` syncs.
    pub sync_period: Duration,
    /// Take in the SSTables that lie in the tables' folders, at each start.
    pub takes_in_sstables: bool,
    /// Keep hints for other nodes, with a server's settings: little data comes, so that their bounds are not reached, and time is virtual.
    pub hints: bool,
    /// Nodes of the ring. One alone is a ring of its own; several are fixed by hand.
    pub nodes: u16,
    /// Clients log in, by the password of [`access`](crate::access), and permissions are checked.
    pub logins: bool,
    /// A bug planted on purpose, in builds for that.
    pub planted: Planted,
}

impl Default for NodeOptions {
    fn default() -> Self {
        NodeOptions {
            sync: CommitLogSync::Group,
            segment_bytes: 128 << 10,
            log_bytes: Some(128 << 10),
            disk_reserve: 0,
            auto_snapshot: false,
            flush_on_drain: false,
            memory_bytes: 256 << 20,
            sync_period: Duration::from_millis(50),
            takes_in_sstables: false,
            hints: true,
            nodes: 1,
            logins: false,
            planted: Planted::default(),
        }
    }
}

/// Why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartFailure {
    /// It said why.
    #[error("{0}")]
    Refused(String),
    /// It said nothing.
    #[error("node not ready within {START_AT_MOST:?}")]
    Hung,
}

/// The disk at a moment.
pub struct Boundary {
    /// With what was pending.
    pub disk: Disk,
    /// The moment, nanoseconds of the world.
    pub as_of: u64,
}

/// A world with the nodes' machines and one of the clients'. Where nothing else is said, the first node is meant.
pub struct Cluster {
    /// The world.
    pub world: World<'static>,
    /// The first node's machine.
    pub node: HostId,
    /// All nodes' machines.
    pub nodes: Vec<HostId>,
    /// The clients' machine.
    pub clients: HostId,
    options: NodeOptions,
    running: Vec<Option<Started<Result<(), NodeError>>>>,
    /// True once the node that was started last has said that it is ready.
    is_ready: Vec<Rc<Cell<bool>>>,
    /// Where operators ask the nodes that were started last.
    questions: Vec<Option<Questions>>,
    boundaries: Option<Vec<Boundary>>,
}

impl Cluster {
    /// Machines on which nothing runs. The first node's has `disk`, or an empty one.
    pub fn new(seed: u64, options: NodeOptions, disk: Option<Disk>) -> Cluster {
        let mut world = World::new(WorldOptions::new(seed));
        let mut given = disk;
        let nodes: Vec<HostId> = (0..usize::from(options.nodes))
            .map(|index| {
                let disk = given.take().unwrap_or_else(empty_disk);
                world.add_host_with(&[machine_address(index)], disk)
            })
            .collect();
        let clients = world.add_host(&[CLIENTS]);
        let running = nodes.iter().map(|_| None).collect();
        let questions = nodes.iter().map(|_| None).collect();
        let is_ready = nodes.iter().map(|_| Rc::default()).collect();
        Cluster { world, node: nodes[0], nodes, clients, options, running, is_ready, questions, boundaries: None }
    }

    /// The ring of several nodes, as each of them is given it. Their tokens take turns.
    fn fixed_ring(&self, index: usize) -> Option<FixedRing> {
        let count = self.nodes.len();
        if count == 1 {
            return None;
        }
        let step = i64::MAX / (4 * count as i64);
        let nodes = (0..count).map(|index| FixedNode {
            host_id: node_id(index),
            internode: SocketAddr::new(machine_address(index), 7000),
            datacenter: "datacenter1".to_owned(),
            rack: format!("rack{index}"),
            tokens: (-4..4).map(|turn| Token((turn * count as i64 + index as i64) * step)).collect(),
        });
        Some(FixedRing { host_id: node_id(index), nodes: nodes.collect() })
    }

    fn config(&self, index: usize, shards: u16) -> Config {
        Config { fixed_ring: self.fixed_ring(index), ..config(self.options, native_address(index), shards) }
    }

    /// Starts the node, as `helenus serve` does, without waiting for it. What it says when it is ready appears in the cell.
    pub fn begin_start(&mut self, shards: u16) -> Rc<RefCell<Option<Ready>>> {
        self.begin_start_at(0, shards)
    }

    fn begin_start_at(&mut self, index: usize, shards: u16) -> Rc<RefCell<Option<Ready>>> {
        let said = Rc::new(RefCell::new(None));
        let config = self.config(index, shards);
        let (seats, questions) = node::seats_for_operators(shards);
        self.questions[index] = Some(questions);
        let is_ready: Rc<Cell<bool>> = Rc::default();
        self.is_ready[index] = is_ready.clone();
        let mains = seats
            .into_iter()
            .map(|seat| {
                let (config, said, is_ready) = (config.clone(), said.clone(), is_ready.clone());
                let say = move |ready| {
                    *said.borrow_mut() = Some(ready);
                    is_ready.set(true);
                };
                move |runtime| node::run(runtime, seat, config, || {}, say)
            })
            .collect();
        self.running[index] = Some(self.world.start(self.nodes[index], true, mains));
        said
    }

    /// Starts the node and waits until it is ready.
    pub fn start(&mut self, shards: u16) -> Result<Ready, StartFailure> {
        self.start_at(0, shards)
    }

    /// Starts the node of that number and waits until it is ready.
    pub fn start_at(&mut self, index: usize, shards: u16) -> Result<Ready, StartFailure> {
        let said = self.begin_start_at(index, shards);
        let node = self.running[index].take().expect("it was just started");
        let ended = self.run_until(|_| said.borrow().is_some() || node.is_over(), START_AT_MOST);
        if let Some(ready) = said.take() {
            self.running[index] = Some(node);
            return Ok(ready);
        }
        match node.take_outputs() {
            Some(outputs) => {
                let error = outputs.into_iter().find_map(Result::err);
                let sentence = error.map_or_else(|| "it ended without a word".to_owned(), |error| error.to_string());
                Err(StartFailure::Refused(sentence))
            }
            None => {
                debug_assert_ne!(ended, Ended::Condition);
                self.world.kill(self.nodes[index]);
                Err(StartFailure::Hung)
            }
        }
    }

    /// Runs until the condition is so. Boundaries are kept with their time, if wanted.
    pub fn run_until(&mut self, mut is_so: impl FnMut(&mut World<'static>) -> bool, at_most: Duration) -> Ended {
        let (node, boundaries) = (self.node, &mut self.boundaries);
        self.world.run_until(
            |world| {
                if let Some(boundaries) = boundaries {
                    // Nobody was told anything between the boundary and now: only the node's shard had a turn.
                    let as_of = world.now().as_nanos();
                    boundaries.extend(world.take_boundaries(node).into_iter().map(|disk| Boundary { disk, as_of }));
                }
                is_so(world)
            },
            at_most,
        )
    }

    /// Whether starts take in the SSTables that lie in the tables' folders, from now on.
    pub fn set_takes_in_sstables(&mut self, takes_in: bool) {
        self.options.takes_in_sstables = takes_in;
    }

    /// Where operators ask the first node, which was started.
    pub fn questions(&self) -> Questions {
        self.questions[0].clone().expect("the node was started")
    }

    /// Runs until what somebody beside the shards waits for is there; `None` if it takes too long.
    pub fn run_beside<T>(&mut self, future: impl Future<Output = T>, at_most: Duration) -> Option<T> {
        let mut future = std::pin::pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        let mut output = None;
        self.run_until(
            |_| {
                if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                    output = Some(value);
                }
                output.is_some()
            },
            at_most,
        );
        output
    }

    /// From now on boundaries are kept.
    pub fn keep_boundaries(&mut self) {
        self.world.keep_boundaries(self.node);
        self.boundaries.get_or_insert_default();
    }

    /// The boundaries so far.
    pub fn take_boundaries(&mut self) -> Vec<Boundary> {
        self.boundaries.take().unwrap_or_default()
    }

    /// Whether the node of that number runs.
    pub fn is_running(&self, index: usize) -> bool {
        self.world.is_running(self.nodes[index])
    }

    /// Ends the node as SIGTERM does, and waits for its end. What it said at its end, or that it did not end.
    pub fn terminate(&mut self) -> Result<(), String> {
        self.terminate_at(0)
    }

    /// Ends the node of that number as SIGTERM does.
    pub fn terminate_at(&mut self, index: usize) -> Result<(), String> {
        let Some(node) = self.running[index].take() else { return Ok(()) };
        self.world.terminate(self.nodes[index]);
        self.run_until(|_| node.is_over(), END_AT_MOST);
        match node.take_outputs() {
            Some(outputs) => outputs.into_iter().collect::<Result<Vec<()>, _>>().map(drop).map_err(|e| e.to_string()),
            None => {
                self.world.kill(self.nodes[index]);
                Err(format!("the node did not end within {END_AT_MOST:?} of SIGTERM"))
            }
        }
    }
}

/// One cluster of one node, or of a ring that is fixed by hand. All are in one datacenter.
impl Site for Cluster {
    fn world(&mut self) -> &mut World<'static> {
        &mut self.world
    }

    fn nodes(&self) -> Vec<HostId> {
        self.nodes.clone()
    }

    fn clients(&self) -> HostId {
        self.clients
    }

    fn datacenter(&self, _: usize) -> usize {
        0
    }

    fn native_address(&self, node: usize) -> SocketAddr {
        native_address(node)
    }

    fn empty_disk(&self) -> Disk {
        empty_disk()
    }

    fn begin_start(&mut self, node: usize) {
        self.begin_start_at(node, SITE_SHARDS);
    }

    fn is_ready(&self, node: usize) -> bool {
        self.is_running(node) && self.is_ready[node].get()
    }

    fn take_refusal(&mut self, node: usize) -> Option<String> {
        let running = self.running[node].take_if(|running| running.is_over())?;
        let outputs = running.take_outputs().unwrap_or_default();
        outputs.into_iter().find_map(Result::err).map(|error| error.to_string())
    }
}

fn empty_disk() -> Disk {
    let mut disk = Disk::default();
    disk.prepare_directory(DATA);
    disk
}

/// The access of a node: open, or with logins and permissions and a first superuser whose hash costs little.
fn access(logins: bool) -> AccessConfig {
    if !logins {
        return AccessConfig::open();
    }
    let hash = PasswordHash::parse(PASSWORD_HASH).expect("it is a hash");
    AccessConfig {
        authenticator: Authenticator::Password,
        authorizer: Authorizer::Cassandra,
        superuser_hash: Some(hash),
        ..AccessConfig::open()
    }
}

/// The configuration of a node alone that clients reach at `listen`.
pub(crate) fn config(options: NodeOptions, listen: SocketAddr, shards: u16) -> Config {
    Config {
        datacenter: "datacenter1".to_owned(),
        rack: "rack1".to_owned(),
        cluster_name: "simulation".to_owned(),
        snitch: "SimpleSnitch",
        data_dir: PathBuf::from(DATA),
        listen: Ports::plain(listen, Some(SocketAddr::new(listen.ip(), 19042))),
        client_tls: None,
        proves_clients: false,
        api_tls: None,
        access: access(options.logins),
        audit: AuditOptions::new(PathBuf::from(DATA).join("audit")),
        api: None,
        metrics: None,
        insecure: false,
        broadcast: None,
        shards,
        cpus: Vec::new(),
        memory_bytes: options.memory_bytes,
        reactor: None,
        idle_poll: Duration::ZERO,
        cluster: None,
        fixed_ring: None,
        internode_tls: None,
        internode_secret: Some(Secret::new(b"the secret of a simulation").expect("it is long enough")),
        tokens: Tokens::Count(4),
        internode_compression: Compression::All,
        commitlog_sync: options.sync,
        commitlog_sync_period: options.sync_period,
        commitlog_segment_bytes: options.segment_bytes,
        commitlog_total_bytes: options.log_bytes.map(|bytes| bytes * u64::from(shards)),
        memtable_bytes: None,
        row_cache_bytes: None,
        // As fast as the disk: there is little data, and time is virtual.
        compaction_throughput: 0,
        disk_reserve: options.disk_reserve,
        stream_throughput: 0,
        auto_snapshot: options.auto_snapshot,
        flush_on_drain: options.flush_on_drain,
        import_sstables: options.takes_in_sstables,
        prepared_bytes_max: None,
        masks_enabled: false,
        guardrails: large_batches(),
        limits: server::Limits::default(),
        log_level: tracing::Level::INFO,
        log_to_stdout: false,
        strategies: Default::default(),
        planted: options.planted,
        salvage_commitlog: false,
        hints: if options.hints { HintOptions::in_data_dir(Path::new(DATA)) } else { HintOptions::default() },
        // Shorter than the defaults: a run has more of what comes after a time-out.
        timeouts: TimeoutOptions {
            counter_write: Duration::from_secs(2),
            truncate: Duration::from_secs(10),
            ..TimeoutOptions::default()
        },
    }
}

fn node_id(index: usize) -> NodeId {
    let mut id = [(index as u8).wrapping_add(1); 16];
    // Of the first ones all bytes are the same, as they have always been.
    id[0] = id[0].wrapping_add((index >> 8) as u8);
    NodeId(id)
}

/// Scenarios send batches that are long enough to be written in steps, which the default refuses.
fn large_batches() -> Guardrails {
    let mut rails = Guardrails::default();
    rails.batch_size.fail = None;
    rails
}
