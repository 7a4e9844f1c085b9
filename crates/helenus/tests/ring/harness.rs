//! Nodes of one ring in this process, each on real shards and loopback ports, and a client of one of them.

use server::Ports;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use cql_protocol::response::ResultBody;
use cql_protocol::{
    Consistency, ErrorBody, FrameHeader, HEADER_LENGTH, Query, QueryParams, Request, Response, Startup, Version,
};
use helenus::config::{
    AccessConfig, AuditOptions, ClusterConfig, CommitLogSync, Compression, Config, FixedNode, FixedRing, HintOptions,
    LOW_BOUND_AGE, TimeoutOptions, Tokens,
};
use helenus::node;
use runtime::Options;
use server::Limits;
use topology::{HostId, Token};

/// How long anything may take before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(60);

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Two or more nodes that may each be started and stopped.
pub struct Ring {
    folder: PathBuf,
    nodes: Vec<FixedNode>,
    pub shards: Vec<u16>,
    pub cluster_names: Vec<String>,
    /// The times that requests wait for other nodes.
    pub timeouts: TimeoutOptions,
}

impl Drop for Ring {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A port that was free a moment ago, at an address of this process: connections of others begin at 127.0.0.1, and might take it meanwhile.
pub fn free_port() -> SocketAddr {
    let pid = std::process::id();
    let (high, low) = ((pid / 250 % 100) as u8, (pid % 250) as u8);
    let listener =
        TcpListener::bind(SocketAddr::from(([127, 130 + high, 1 + low, 1], 0))).expect("loopback has free ports");
    listener.local_addr().expect("a bound socket has an address")
}

pub fn host_id(number: usize) -> HostId {
    HostId([u8::try_from(number + 1).expect("few nodes"); 16])
}

impl Ring {
    /// A ring whose tokens take turns.
    pub fn new(shards: &[u16]) -> Ring {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ring-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let step = i64::MAX / 8;
        let nodes = (0..shards.len()).map(|index| FixedNode {
            host_id: host_id(index),
            internode: free_port(),
            datacenter: "datacenter1".to_owned(),
            rack: format!("rack{index}"),
            tokens: (-4..4).map(|turn| Token(turn * 2 * step + index as i64 * step)).collect(),
        });
        let cluster_names = vec!["Ring".to_owned(); shards.len()];
        // A TRUNCATE that lacks a node is to end before its client does.
        let timeouts = TimeoutOptions { truncate: Duration::from_secs(10), ..TimeoutOptions::default() };
        Ring { folder, nodes: nodes.collect(), shards: shards.to_vec(), cluster_names, timeouts }
    }

    /// The folder of a node's data.
    pub fn data_dir(&self, index: usize) -> PathBuf {
        self.folder.join(format!("node-{index}"))
    }

    /// Has the other nodes look for a node elsewhere; it listens there no more.
    pub fn move_internode(&mut self, index: usize, address: SocketAddr) {
        self.nodes[index].internode = address;
    }

    /// Starts a node in the ring of all.
    pub fn start(&self, index: usize) -> Node {
        self.start_among(index, &(0..self.nodes.len()).collect::<Vec<_>>())
    }

    /// Starts a node in a ring of some.
    pub fn start_among(&self, index: usize, among: &[usize]) -> Node {
        Node::start(self.config(index, among)).expect("the node starts")
    }

    /// Starts a node that finds the others by the first one, which founds their cluster.
    pub fn start_by_seed(&self, index: usize) -> Node {
        let mut config = self.config(index, &[index]);
        let address = self.nodes[index].internode;
        config.fixed_ring = None;
        config.cluster = Some(ClusterConfig {
            listen: address,
            broadcast: address,
            seeds: [self.nodes[0].internode].into(),
            found_without_silent: false,
            recover: None,
            features: Default::default(),
            auto_finalize: false,
            is_without_copy: false,
            token_count: None,
            replaces: None,
            phi_convict_threshold: Default::default(),
            low_bound_age: LOW_BOUND_AGE,
        });
        Node::start(config).expect("the node starts")
    }

    /// Starts the only node of a ring of one, or says why it does not start.
    pub fn try_start(&self, salvage_commitlog: bool) -> Result<Node, String> {
        self.try_start_as(|config| config.salvage_commitlog = salvage_commitlog)
    }

    /// [`Ring::try_start`] with another configuration.
    pub fn try_start_as(&self, change: impl FnOnce(&mut Config)) -> Result<Node, String> {
        let mut config = self.config(0, &[0]);
        change(&mut config);
        Node::start(config)
    }

    fn config(&self, index: usize, among: &[usize]) -> Config {
        let nodes = among.iter().map(|&other| self.nodes[other].clone()).collect();
        Config {
            cluster_name: self.cluster_names[index].clone(),
            snitch: "SimpleSnitch",
            data_dir: self.data_dir(index),
            listen: Ports::plain(([127, 0, 0, 1], 0).into(), None),
            proves_clients: false,
            client_tls: None,
            api_tls: None,
            access: AccessConfig::open(),
            audit: AuditOptions::new(self.data_dir(index).join("audit")),
            api: None,
            metrics: None,
            insecure: false,
            broadcast: None,
            shards: self.shards[index],
            cpus: Vec::new(),
            memory_bytes: u64::from(self.shards[index]) * (64 << 20),
            reactor: None,
            idle_poll: Duration::ZERO,
            datacenter: "datacenter1".to_owned(),
            rack: "rack1".to_owned(),
            cluster: None,
            fixed_ring: Some(FixedRing { host_id: host_id(index), nodes }),
            tokens: Tokens::Count(4),
            internode_secret: None,
            internode_compression: Compression::All,
            internode_tls: None,
            commitlog_sync: CommitLogSync::Group,
            commitlog_sync_period: Duration::from_secs(10),
            commitlog_segment_bytes: 1 << 20,
            commitlog_total_bytes: None,
            memtable_bytes: None,
            row_cache_bytes: None,
            compaction_throughput: 0,
            disk_reserve: 0,
            stream_throughput: 0,
            auto_snapshot: true,
            flush_on_drain: false,
            import_sstables: false,
            prepared_bytes_max: None,
            masks_enabled: false,
            guardrails: query::Guardrails::default(),
            limits: Limits::default(),
            log_level: tracing::Level::INFO,
            log_to_stdout: false,
            strategies: Default::default(),
            planted: planted::Planted::NONE,
            salvage_commitlog: false,
            hints: HintOptions::in_data_dir(&self.data_dir(index)),
            timeouts: self.timeouts,
        }
    }
}

/// A running node. Dropped, it ends as if it were killed: nothing is answered or synced any more.
pub struct Node {
    pub native: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Node {
    fn start(config: Config) -> Result<Node, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, started) = mpsc::channel();
        let stopping = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mains = node::seats(config.shards).into_iter().map(|seat| {
                let (config, ready, stop) = (config.clone(), ready.clone(), Arc::clone(&stopping));
                move |runtime: runtime::Runtime| async move {
                    let clock = runtime.clone();
                    let failed = ready.clone();
                    let running = node::run(
                        runtime,
                        seat,
                        config,
                        || {},
                        move |node: node::Ready| {
                            ready.send(Ok(node.listening.native)).expect("the test waits");
                        },
                    );
                    let stopped = async {
                        while !stop.load(Ordering::Relaxed) {
                            clock.sleep(Duration::from_millis(5)).await;
                        }
                        Ok(())
                    };
                    if let Err(error) = first(running, stopped).await {
                        let _ = failed.send(Err(error.to_string()));
                    }
                }
            });
            runtime::run(Options::default(), mains.collect()).expect("the shards start");
        });
        match started.recv_timeout(PATIENCE).expect("the node starts in time, or says why not") {
            Ok(native) => Ok(Node { native, stop, thread: Some(thread) }),
            Err(sentence) => {
                thread.join().expect("no shard panicked");
                Err(sentence)
            }
        }
    }

    pub fn client(&self) -> Client {
        Client::connect(self.native)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("a shard panicked");
        }
    }
}

/// Waits until it is so.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

async fn first<T>(a: impl Future<Output = T>, b: impl Future<Output = T>) -> T {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    std::future::poll_fn(|cx| match a.as_mut().poll(cx) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(output),
        std::task::Poll::Pending => b.as_mut().poll(cx),
    })
    .await
}

/// Rows as bytes, column by column.
pub type Rows = Vec<Vec<Option<Vec<u8>>>>;

/// A connection to one node.
pub struct Client {
    stream: TcpStream,
    pub version: Version,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("the node listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("more than zero");
        let mut client = Client { stream, version: Version::V4 };
        let mut buffer = Vec::new();
        let startup = Startup::of(&[("CQL_VERSION", "3.0.0")], &mut buffer);
        let (header, body) = client.ask(&Request::Startup(startup));
        assert!(matches!(Response::decode(&header, &body), Ok((_, Response::Ready))), "the node greets");
        client
    }

    fn ask(&mut self, request: &Request<'_>) -> (FrameHeader, Vec<u8>) {
        let mut frame = Vec::new();
        request.encode_frame(self.version, 1, &mut frame);
        self.stream.write_all(&frame).expect("the node takes the request");
        let mut head = [0; HEADER_LENGTH];
        self.stream.read_exact(&mut head).expect("the node answers");
        let header = FrameHeader::decode(&head).expect("the header is right");
        let mut body = vec![0; header.length as usize];
        self.stream.read_exact(&mut body).expect("the answer is whole");
        (header, body)
    }

    fn page(
        &mut self,
        text: &str,
        consistency: Consistency,
        page_size: Option<i32>,
        paging_state: Option<&[u8]>,
    ) -> Result<(Rows, Option<Vec<u8>>), ErrorBody> {
        let params = QueryParams { page_size, paging_state, ..QueryParams::new(consistency) };
        let (header, body) = self.ask(&Request::Query(Query { text, params }));
        match Response::decode(&header, &body).expect("the answer can be decoded").1 {
            Response::Error(error) => Err(error),
            Response::Result(ResultBody::Rows(rows)) => {
                let state = rows.paging_state.map(<[u8]>::to_vec);
                let table = rows.iter().map(|row| row.map(|value| value.map(<[u8]>::to_vec)).collect());
                Ok((table.collect(), state))
            }
            Response::Result(_) => Ok((Vec::new(), None)),
            other => panic!("{text} was answered {other:?}"),
        }
    }

    /// Runs a statement.
    pub fn try_run(&mut self, text: &str, consistency: Consistency) -> Result<Rows, ErrorBody> {
        self.page(text, consistency, None, None).map(|(rows, _)| rows)
    }

    /// Runs a statement that must succeed.
    pub fn run(&mut self, text: &str, consistency: Consistency) -> Rows {
        self.try_run(text, consistency).unwrap_or_else(|error| panic!("{text}: {error:?}"))
    }

    /// All pages of a query.
    pub fn pages(&mut self, text: &str, consistency: Consistency, page_size: i32) -> Rows {
        let (mut all, mut state) = (Vec::new(), None::<Vec<u8>>);
        loop {
            let page = self.page(text, consistency, Some(page_size), state.as_deref());
            let (rows, next) = page.unwrap_or_else(|error| panic!("{text}: {error:?}"));
            assert!(
                rows.len() <= usize::try_from(page_size).expect("it is positive"),
                "a page holds what was asked for"
            );
            all.extend(rows);
            match next {
                None => return all,
                next => state = next,
            }
        }
    }

    /// Repeats a statement until it succeeds: the nodes may not have met yet.
    pub fn run_when_met(&mut self, text: &str, consistency: Consistency) -> Rows {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.try_run(text, consistency) {
                Ok(rows) => return rows,
                Err(error) => assert!(Instant::now() < deadline, "{text}: {error:?}"),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Repeats a statement until it fails, and gives the error.
    pub fn error_when_seen(&mut self, text: &str, consistency: Consistency) -> ErrorBody {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Err(error) = self.try_run(text, consistency) {
                return error;
            }
            assert!(Instant::now() < deadline, "{text} goes on to succeed");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
