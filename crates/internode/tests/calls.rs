//! Simulated machines: some register verbs and listen, another dials and calls.

use std::cell::{Cell, OnceCell};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use internode::{
    Boot, CallError, Compression, FRAME_BODY_MAX, FrameReader, Head, Hello, Incoming, Listening, LocalNode, Malformed,
    News, Other, PING, PONG, Peer, PeerParts, PeerSocket, Peers, Purpose, Reply, Request, Verbs, Verdict, Watch,
    Welcome, listen_for_peers, write_frame,
};
use runtime::sim::{Link, World, WorldOptions};
use runtime::{Group, Mesh, MeshSeat, Runtime};
use topology::HostId;

const SERVER: HostId = HostId([1; 16]);
const CLIENT: HostId = HostId([2; 16]);
const OTHER: HostId = HostId([3; 16]);
const ECHO: u8 = 10;
const REFUSE: u8 = 11;
const LONG: u8 = 12;
const STAY: u8 = 13;
const UNKNOWN: u8 = 99;
const ANSWER: u8 = 200;
const TOO_LARGE: u8 = 201;
const AT_MOST: Duration = Duration::from_secs(600);

/// Bytes, or the refusal of an answer that is too long.
enum Bytes {
    Of(Vec<u8>),
    TooLarge,
}

impl Reply for Bytes {
    fn kind(&self) -> u8 {
        match self {
            Bytes::Of(_) => ANSWER,
            Bytes::TooLarge => TOO_LARGE,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        if let Bytes::Of(bytes) = self {
            out.extend_from_slice(bytes);
        }
    }

    fn too_large(_size: usize, _max: usize) -> Self {
        Bytes::TooLarge
    }
}

fn address() -> SocketAddr {
    "10.0.0.1:7000".parse().expect("an address")
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn other_address() -> SocketAddr {
    "10.0.0.3:7000".parse().expect("an address")
}

fn verbs(runtime: &Runtime) -> Verbs {
    let mut verbs = Verbs::new();
    verbs.register(ECHO, "an echo", |body| {
        let bytes = body.to_vec();
        Ok(async move { Bytes::Of(bytes) })
    });
    verbs.register(REFUSE, "a refusal", |_| {
        Err::<std::future::Ready<Bytes>, _>(Malformed::new("no body is right here"))
    });
    verbs.register(LONG, "a long answer", |_| Ok(async { Bytes::Of(vec![0; FRAME_BODY_MAX + 1]) }));
    let clock = runtime.clone();
    verbs.register(STAY, "a slow answer", move |_| {
        let clock = clock.clone();
        Ok(async move {
            clock.sleep(Duration::from_millis(500)).await;
            Bytes::Of(Vec::new())
        })
    });
    verbs
}

async fn serve(runtime: Runtime, seat: MeshSeat<PeerSocket, ()>, local: HostId, at: SocketAddr) {
    let incoming = Incoming::default();
    incoming.follow([CLIENT]);
    let mesh = incoming.open(&runtime, seat, verbs(&runtime));
    let listener = runtime.listen(at).await.expect("the address is this machine's");
    listen_for_peers(runtime, listener, listening(local, incoming, mesh)).await;
}

fn node(host_id: HostId) -> LocalNode {
    LocalNode::new(host_id, "Test Cluster".into(), Boot::default(), None, Compression::All)
}

/// Where members alone are accepted.
fn listening(local: HostId, incoming: Incoming, requests: Mesh<PeerSocket, ()>) -> Listening {
    let judge = move |hello: &Hello| match incoming.is_member(hello.host_id) {
        true => Verdict::Welcome,
        false => Verdict::Stranger,
    };
    Listening { local: node(local), judge: Rc::new(judge), requests: Rc::new(OnceCell::from(requests)), control: None }
}

fn start(runtime: &Runtime) -> Peer {
    let (local, purpose) = (node(CLIENT), Purpose::Requests);
    Peer::start(
        runtime,
        PeerParts { address: address(), host_id: SERVER, local, purpose, compresses: true, watch: None },
    )
}

/// Runs a client's `work` against the server.
fn with_peer<F, Fut>(work: F)
where
    F: FnOnce(Runtime, Peer) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut world = World::new(WorldOptions::new(7));
    let (server, client) = (world.add_host(&[ip("10.0.0.1")]), world.add_host(&[ip("10.0.0.2")]));
    let seat = runtime::mesh(1, 8).remove(0);
    world.start(server, false, vec![|runtime| serve(runtime, seat, SERVER, address())]);
    let main = |runtime: Runtime| async move {
        let peer = start(&runtime);
        work(runtime, peer).await;
    };
    let asking = world.start(client, false, vec![main]);
    world.run_until(|_| asking.is_over(), AT_MOST);
    assert!(asking.is_over(), "the client's work ends");
}

async fn until(runtime: &Runtime, peer: &Peer, is_up: bool) {
    while peer.is_up() != is_up {
        runtime.sleep(Duration::from_millis(1)).await;
    }
}

async fn echo(peer: &Peer, text: &[u8]) -> Result<(u8, Vec<u8>), CallError> {
    let answer = peer.call(Request::of(ECHO), |out| out.extend_from_slice(text)).await?;
    answer.decode(|kind, body| Ok((kind, body)))
}

#[test]
fn a_call_is_answered_by_its_verb() {
    with_peer(async |runtime, peer| {
        assert_eq!(echo(&peer, b"early").await, Err(CallError::Gone), "it is not greeted yet");
        until(&runtime, &peer, true).await;
        assert_eq!(echo(&peer, b"text").await, Ok((ANSWER, b"text".to_vec())));
        assert_eq!(echo(&peer, b"").await, Ok((ANSWER, Vec::new())));
    });
}

#[test]
fn an_unknown_verb_and_a_malformed_body_end_the_connection() {
    with_peer(async |runtime, peer| {
        for verb in [UNKNOWN, REFUSE] {
            until(&runtime, &peer, true).await;
            let answer = peer.call(Request::of(verb), |out| out.push(1)).await;
            assert_eq!(answer.err(), Some(CallError::Gone), "verb {verb}");
            until(&runtime, &peer, true).await;
            assert!(echo(&peer, b"again").await.is_ok(), "it is dialled again");
        }
    });
}

#[test]
fn an_answer_that_cannot_be_decoded_ends_its_connection_and_no_later_one() {
    with_peer(async |runtime, peer| {
        until(&runtime, &peer, true).await;
        let early = peer.call(Request::of(ECHO), |out| out.push(1)).await.expect("it answers");
        let answer = peer.call(Request::of(ECHO), |out| out.push(1)).await.expect("it answers");
        let refused = |_: u8, _: Vec<u8>| Err::<(), _>(Malformed::new("no such answer"));
        assert_eq!(answer.decode(refused), Err(CallError::Gone));
        until(&runtime, &peer, false).await;
        until(&runtime, &peer, true).await;
        assert_eq!(early.decode(refused), Err(CallError::Gone), "the caller has no answer in any case");
        for _ in 0..3 {
            assert!(echo(&peer, b"still").await.is_ok(), "the connection after it stays");
        }
    });
}

#[test]
fn what_no_frame_holds_is_refused_on_both_sides() {
    with_peer(async |runtime, peer| {
        until(&runtime, &peer, true).await;
        let answer = peer.call(Request::of(ECHO), |out| out.resize(out.len() + FRAME_BODY_MAX + 1, 0)).await;
        assert_eq!(answer.err(), Some(CallError::TooLarge { size: FRAME_BODY_MAX + 1, max: FRAME_BODY_MAX }));
        let answer = peer.call(Request::of(LONG), |_| {}).await.expect("it answers");
        assert_eq!(answer.kind, TOO_LARGE);
        assert!(peer.is_up(), "neither ends the connection");
    });
}

/// Connections that the client's shard keeps to two servers, followed as rings change.
#[test]
fn peers_follow_membership_and_keep_the_connections_that_stay() {
    let mut world = World::new(WorldOptions::new(9));
    let hosts = [ip("10.0.0.1"), ip("10.0.0.3"), ip("10.0.0.2")].map(|ip| world.add_host(&[ip]));
    let servers = [SERVER, OTHER].map(|id| (id, if id == SERVER { address() } else { other_address() }));
    for ((local, at), host) in servers.into_iter().zip(hosts) {
        let seat = runtime::mesh(1, 8).remove(0);
        world.start(host, false, vec![move |runtime| serve(runtime, seat, local, at)]);
    }
    let other = |(host_id, address)| Other { host_id, address, is_in_other_datacenter: false };
    let [first, second] = servers.map(other);
    let main = move |runtime: Runtime| async move {
        let peers = Peers::new(&runtime, node(CLIENT));
        peers.follow([first]);
        let kept = peers.get(SERVER).expect("it is followed");
        assert!(peers.get(OTHER).is_none());
        until(&runtime, &kept, true).await;

        let calling = kept.clone();
        let waiting = runtime.spawn(Group::Query, async move { calling.call(Request::of(STAY), |_| {}).await.is_ok() });
        runtime.sleep(Duration::from_millis(1)).await;
        peers.follow([first, second]);
        let added = peers.get(OTHER).expect("it is followed");
        until(&runtime, &added, true).await;
        assert!(waiting.await, "a call outlives the change of a ring that its node stays in");
        assert!(kept.is_up() && peers.get(SERVER).expect("it is followed").is_up());

        peers.follow([second]);
        assert!(!kept.is_up() && peers.get(SERVER).is_none(), "who left is down at once");
        assert_eq!(echo(&kept, b"gone").await.err(), Some(CallError::Gone));
        assert!(echo(&added, b"stays").await.is_ok());
        runtime.sleep(Duration::from_secs(10)).await;
        assert!(!kept.is_up(), "and is not dialled again");

        // The same node at another address, where nothing listens.
        peers.follow([other((OTHER, "10.0.0.9:7000".parse().expect("an address")))]);
        assert!(!added.is_up() && !peers.get(OTHER).expect("it is followed").is_up());
    };
    let asking = world.start(hosts[2], false, vec![main]);
    world.run_until(|_| asking.is_over(), AT_MOST);
    assert!(asking.is_over(), "the client's work ends");
}

/// Greets the client, gives it a frame again and again, and counts its pings.
async fn trickle(runtime: Runtime, pings: Rc<Cell<u32>>) {
    let listener = runtime.listen(address()).await.expect("the address is this machine's");
    let (socket, _) = listener.accept().await.expect("the client dials");
    let stream = Rc::new(runtime.adopt(socket));
    let (_, bytes) = stream.read(Vec::with_capacity(2048)).await;
    let hello = Hello::decode(&bytes).expect("the bytes are right").expect("they come as one").0;
    let Hello { version, wanted: host_id, group, boot, epoch, random, cluster_name, .. } = hello;
    let (verdict, shard_count, proof) = (Verdict::Welcome, 1, None);
    let welcome = Welcome { version, verdict, shard_count, host_id, group, boot, epoch, random, cluster_name, proof };
    stream.write_all(welcome.encode()).await.0.expect("the client reads");
    let giving = Rc::clone(&stream);
    let clock = runtime.clone();
    let _giving = runtime.spawn(Group::Query, async move {
        loop {
            let mut pong = Vec::new();
            write_frame(&mut pong, &Head { number: u64::MAX, kind: PONG, ..Head::default() }, false, |body| {
                body.extend([0; 4])
            })
            .expect("it is short");
            giving.write_all(pong).await.0.expect("the client reads");
            clock.sleep(Duration::from_millis(400)).await;
        }
    });
    let mut frames = FrameReader::new();
    loop {
        let (result, buffer) = stream.read(frames.take_for_read()).await;
        frames.put_back(buffer);
        assert_ne!(result.expect("the connection works"), 0);
        while let Some(frame) = frames.next_frame().expect("the bytes are right") {
            assert_eq!(frame.head.kind, PING);
            pings.set(pings.get() + 1);
        }
    }
}

/// The client's work and the test take turns: each waits for the other's stage.
struct Stage {
    runtime: Runtime,
    now: Rc<Cell<u8>>,
}

impl Stage {
    async fn reached(&self, stage: u8) {
        while self.now.get() < stage {
            self.runtime.sleep(Duration::from_millis(1)).await;
        }
    }

    /// The time until the node is suspect of a call that begins now.
    async fn suspected_after(&self, peer: &Peer) -> Duration {
        let (began, calling) = (self.runtime.now(), peer.clone());
        let call = self.runtime.spawn(Group::Query, async move { echo(&calling, b"silent").await });
        while !peer.is_suspect() {
            self.runtime.sleep(Duration::from_millis(1)).await;
        }
        let after = self.runtime.now() - began;
        self.now.set(self.now.get() + 1);
        assert!(call.await.is_ok(), "a suspect node is not down");
        assert!(!peer.is_suspect(), "it has answered");
        after
    }
}

/// The link is cut at the odd stages, and whole again at the even ones.
#[test]
fn a_node_is_suspect_while_a_call_waits_and_nothing_is_heard() {
    let mut world = World::new(WorldOptions::new(11));
    let (server, client) = (world.add_host(&[ip("10.0.0.1")]), world.add_host(&[ip("10.0.0.2")]));
    let seat = runtime::mesh(1, 8).remove(0);
    world.start(server, false, vec![|runtime| serve(runtime, seat, SERVER, address())]);
    let stage: Rc<Cell<u8>> = Rc::default();
    let of_client = stage.clone();
    let main = move |runtime: Runtime| async move {
        let (peer, stage) = (start(&runtime), Stage { runtime: runtime.clone(), now: of_client });
        until(&runtime, &peer, true).await;
        for _ in 0..3 {
            assert!(echo(&peer, b"soon").await.is_ok() && !peer.is_suspect());
        }
        runtime.sleep(Duration::from_secs(3)).await;
        assert!(!peer.is_suspect(), "no call waits");
        stage.now.set(1);
        stage.reached(2).await;
        let after = stage.suspected_after(&peer).await;
        assert!((50..60).contains(&after.as_millis()), "{after:?}");
        // Its answers take half a second from now on, most of all then.
        for _ in 0..5 {
            assert!(peer.call(Request::of(STAY), |_| {}).await.is_ok() && !peer.is_suspect());
        }
        stage.reached(4).await;
        stage.now.set(5);
        stage.reached(6).await;
        let after = stage.suspected_after(&peer).await;
        assert!((2_000..2_500).contains(&after.as_millis()), "{after:?}");
    };
    let asking = world.start(client, false, vec![main]);
    let link = |is_cut| Link { is_cut, ..Link::default() };
    for (begins, is_cut) in [(1, true), (3, false), (5, true), (7, false)] {
        world.run_until(|_| stage.get() == begins, AT_MOST);
        assert_eq!(stage.get(), begins, "the client goes on");
        world.set_link(server, client, link(is_cut));
        stage.set(begins + 1);
    }
    world.run_until(|_| asking.is_over(), AT_MOST);
    assert!(asking.is_over(), "the client's work ends");
}

/// Its own silence is not the other's. After ten seconds the other end would close the connection.
#[test]
fn a_process_that_was_paused_keeps_its_connections() {
    let mut world = World::new(WorldOptions::new(12));
    let (server, client) = (world.add_host(&[ip("10.0.0.1")]), world.add_host(&[ip("10.0.0.2")]));
    let seat = runtime::mesh(1, 8).remove(0);
    world.start(server, false, vec![|runtime| serve(runtime, seat, SERVER, address())]);
    let news: Rc<Cell<(u32, u32)>> = Rc::default();
    let watched = news.clone();
    let main = move |runtime: Runtime| async move {
        let watch = move |_, news: News<'_>| {
            let (up, down) = watched.get();
            watched.set(match news {
                News::Up(_) => (up + 1, down),
                News::Down | News::Refused(_) => (up, down + 1),
            });
        };
        let (local, purpose) = (node(CLIENT), Purpose::Requests);
        let watch = Some(Rc::new(watch) as Watch);
        let _peer = Peer::start(
            &runtime,
            PeerParts { address: address(), host_id: SERVER, local, purpose, compresses: true, watch },
        );
        std::future::pending::<()>().await;
    };
    let _asking = world.start(client, false, vec![main]);
    world.run_until(|_| news.get().0 == 1, AT_MOST);
    for _ in 0..5 {
        world.pause(client);
        world.run_for(Duration::from_secs(7));
        world.resume(client);
        world.run_for(Duration::from_secs(5));
        assert_eq!(news.get(), (1, 0), "up and down");
    }
}

#[test]
fn a_dialler_that_only_hears_shows_that_it_is_there() {
    let mut world = World::new(WorldOptions::new(13));
    let (server, client) = (world.add_host(&[ip("10.0.0.1")]), world.add_host(&[ip("10.0.0.2")]));
    let pings = Rc::new(Cell::new(0));
    let counting = Rc::clone(&pings);
    world.start(server, false, vec![|runtime| trickle(runtime, counting)]);
    let main = |runtime: Runtime| async move {
        let peer = start(&runtime);
        until(&runtime, &peer, true).await;
        runtime.sleep(Duration::from_secs(30)).await;
        assert!(peer.is_up());
    };
    let asking = world.start(client, false, vec![main]);
    world.run_until(|_| asking.is_over(), AT_MOST);
    assert!(asking.is_over() && (7..15).contains(&pings.get()), "{} pings", pings.get());
}

#[test]
fn a_call_that_waits_when_its_node_leaves_is_gone() {
    with_peer(async |runtime, peer| {
        until(&runtime, &peer, true).await;
        let (calling, leaving) = (peer.clone(), peer.clone());
        let waiting = runtime.spawn(Group::Query, async move { calling.call(Request::of(STAY), |_| {}).await.err() });
        runtime.sleep(Duration::from_millis(1)).await;
        leaving.end();
        assert_eq!(waiting.await, Some(CallError::Gone));
    });
}

#[test]
fn the_connections_of_a_node_that_left_are_closed_and_it_is_refused() {
    let mut world = World::new(WorldOptions::new(11));
    let (server, client) = (world.add_host(&[ip("10.0.0.1")]), world.add_host(&[ip("10.0.0.2")]));
    let seat = runtime::mesh(1, 8).remove(0);
    let main = |runtime: Runtime| async move {
        let incoming = Incoming::default();
        let members = incoming.clone();
        incoming.follow([CLIENT]);
        let mesh = incoming.open(&runtime, seat, verbs(&runtime));
        let listener = runtime.listen(address()).await.expect("the address is this machine's");
        let listening = listening(SERVER, incoming, mesh);
        runtime.spawn(Group::Query, listen_for_peers(runtime.clone(), listener, listening));
        for is_member in [false, true] {
            runtime.sleep(Duration::from_secs(10)).await;
            members.follow(is_member.then_some(CLIENT));
        }
        std::future::pending::<()>().await;
    };
    world.start(server, false, vec![main]);
    let main = |runtime: Runtime| async move {
        let peer = start(&runtime);
        until(&runtime, &peer, true).await;
        until(&runtime, &peer, false).await;
        runtime.sleep(Duration::from_secs(5)).await;
        assert!(!peer.is_up(), "a stranger is not welcome");
        until(&runtime, &peer, true).await;
        assert!(echo(&peer, b"back").await.is_ok());
    };
    let asking = world.start(client, false, vec![main]);
    world.run_until(|_| asking.is_over(), AT_MOST);
    assert!(asking.is_over(), "the client's work ends");
}
