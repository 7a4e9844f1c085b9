//! A simulated machine that listens for nodes, and another one that runs a test's client.

use std::cell::{Cell, OnceCell};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use internode::{
    Boot, Compression, FRAME_BODY_MAX, GroupTag, Hello, Incoming, Listening, LocalNode, Purpose, Reply, Verbs, Verdict,
    Welcome, listen_for_peers,
};
use runtime::sim::{World, WorldOptions};
use runtime::{Runtime, TcpStream};
use topology::HostId;

pub const SERVER: HostId = HostId([1; 16]);
pub const CLIENT: HostId = HostId([2; 16]);
/// Answered with its body, after a millisecond.
pub const ECHO: u8 = 10;
/// Answered in an hour, by a megabyte at most; its caller may cancel it.
pub const STAY: u8 = 13;
/// The kind of all answers.
pub const ANSWER: u8 = 200;
/// A world that takes longer than this, in its own time, hangs.
const AT_MOST: Duration = Duration::from_secs(4_000);

/// What the server does, as its tests see it. Its machine and the client's are one process.
#[derive(Clone, Default)]
pub struct Served {
    /// Requests whose work has begun.
    pub begun: Rc<Cell<u32>>,
    /// Requests to stay whose work has ended before its end.
    pub dropped: Rc<Cell<u32>>,
    /// Connections for bulk are refused.
    pub refuses_bulk: Rc<Cell<bool>>,
    /// Purposes of the connections that were greeted.
    pub purposes: Rc<std::cell::RefCell<Vec<Purpose>>>,
    /// Its connections.
    pub incoming: Incoming,
}

impl Served {
    /// Waits for a condition, in the world's time.
    pub async fn wait_for(&self, runtime: &Runtime, holds: impl Fn(&Served) -> bool) {
        while !holds(self) {
            runtime.sleep(Duration::from_millis(1)).await;
        }
    }
}

struct Bytes(Vec<u8>);

impl Reply for Bytes {
    fn kind(&self) -> u8 {
        ANSWER
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn too_large(_size: usize, _max: usize) -> Self {
        unreachable!("no test asks for more than {FRAME_BODY_MAX} bytes")
    }
}

/// Counts a request that ends early.
struct Ends(Rc<Cell<u32>>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

pub fn address() -> SocketAddr {
    "10.0.0.1:7000".parse().expect("an address")
}

pub fn node(host_id: HostId) -> LocalNode {
    LocalNode::new(host_id, "Test Cluster".into(), Boot::default(), None, Compression::None)
}

fn verbs(runtime: &Runtime, served: &Served) -> Verbs {
    let mut verbs = Verbs::new();
    let (clock, begun) = (runtime.clone(), Rc::clone(&served.begun));
    verbs.register(ECHO, "an echo", move |body| {
        let (bytes, clock) = (body.to_vec(), clock.clone());
        begun.set(begun.get() + 1);
        Ok(async move {
            clock.sleep(Duration::from_millis(1)).await;
            Bytes(bytes)
        })
    });
    let (clock, served) = (runtime.clone(), served.clone());
    verbs.register_cancellable(STAY, "a slow answer", 1 << 20, move |_| {
        let (clock, ends) = (clock.clone(), Ends(Rc::clone(&served.dropped)));
        served.begun.set(served.begun.get() + 1);
        Ok(async move {
            clock.sleep(Duration::from_secs(3_600)).await;
            std::mem::forget(ends);
            Bytes(Vec::new())
        })
    });
    verbs
}

async fn serve(runtime: Runtime, served: Served) {
    served.incoming.follow([CLIENT]);
    let verbs = verbs(&runtime, &served);
    let requests = served.incoming.open(&runtime, runtime::mesh(1, 8).remove(0), verbs);
    let (purposes, refuses_bulk) = (Rc::clone(&served.purposes), Rc::clone(&served.refuses_bulk));
    let judge = Rc::new(move |hello: &Hello| {
        purposes.borrow_mut().push(hello.purpose);
        match hello.purpose == Purpose::Bulk && refuses_bulk.get() {
            true => Verdict::Stranger,
            false => Verdict::Welcome,
        }
    });
    let listener = runtime.listen(address()).await.expect("the address is this machine's");
    let requests = Rc::new(OnceCell::from(requests));
    listen_for_peers(runtime, listener, Listening { local: node(SERVER), judge, requests, control: None }).await;
}

/// Runs a client's `work` beside the server.
pub fn with_server<F, Fut>(work: F)
where
    F: FnOnce(Runtime, Served) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut world = World::new(WorldOptions::new(7));
    let ip = |text: &str| -> IpAddr { text.parse().expect("an address") };
    let (server, client) = (world.add_host(&[ip("10.0.0.1")]), world.add_host(&[ip("10.0.0.2")]));
    let served = Served::default();
    let serving = served.clone();
    world.start(server, false, vec![move |runtime| serve(runtime, serving)]);
    let asking = world.start(client, false, vec![move |runtime| work(runtime, served)]);
    world.run_until(|_| asking.is_over(), AT_MOST);
    assert!(asking.is_over(), "the client's work ends");
}

/// A connection that has said hello as this node, and is welcome.
pub async fn greeted(runtime: &Runtime, host_id: HostId) -> TcpStream {
    let stream = runtime.connect(address()).await.expect("the server listens");
    let hello = Hello {
        version: 2,
        version_min: 2,
        purpose: Purpose::Requests,
        has_secret: false,
        compresses: false,
        shard: 0,
        shard_count: 1,
        host_id,
        wanted: SERVER,
        group: GroupTag::default(),
        boot: Boot::default(),
        epoch: 0,
        random: [9; 16],
        cluster_name: "Test Cluster".into(),
    };
    send(&stream, hello.encode()).await;
    let mut bytes = Vec::with_capacity(2048);
    while Welcome::decode(&bytes).expect("the bytes are right").is_none() {
        let (result, read) = stream.read(bytes).await;
        assert_ne!(result.expect("the connection works"), 0, "it is welcome");
        bytes = read;
    }
    stream
}

pub async fn send(stream: &TcpStream, bytes: Vec<u8>) {
    stream.write_all(bytes).await.0.expect("the other end reads");
}
