//! Nodes under TLS on simulated machines: those with certificates of one authority meet, and all others are refused with a line that says why.

#[path = "../../tls/src/tests/authority.rs"]
mod authority;
mod log;

use std::cell::{Cell, OnceCell, RefCell};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use authority::{Authority, Issued, VALID};
use internode::{
    Answering, Boot, CallError, Compression, Hello, Incoming, Listening, LocalNode, Peer, PeerParts, Purpose, Reply,
    Request, Secret, Verbs, Verdict, listen_for_peers,
};
use runtime::sim::{World, WorldOptions};
use runtime::{Group, MeshSeat, Runtime, ShardId, TcpStream};
use tls::{Identity, Material, Options, Pem, Pems, Session};
use topology::HostId;

/// Years of certificates that are not valid now.
const EXPIRED: (i32, i32) = (2000, 2001);
const NOT_YET: (i32, i32) = (2089, 2090);
const SERVER: HostId = HostId([1; 16]);
const CLIENT: HostId = HostId([2; 16]);
const ADDRESS: &str = "10.0.0.1:7000";
const NAME: &str = "Test Cluster";
const ECHO: u8 = 10;
const ANSWER: u8 = 200;
const SHARDS: u16 = 2;
const AT_MOST: Duration = Duration::from_secs(600);
/// Greetings that may be under way at once.
const GREETINGS_MAX: usize = 64;

struct Bytes(Vec<u8>);

impl Reply for Bytes {
    fn kind(&self) -> u8 {
        ANSWER
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn too_large(_size: usize, _max: usize) -> Self {
        Bytes(Vec::new())
    }
}

/// Secret and certificates of a node.
#[derive(Clone, Default)]
struct Proof {
    pems: Option<Pems>,
    secret: Option<&'static [u8]>,
    verifies_addresses: bool,
}

impl Proof {
    /// A certificate, and the authority that is trusted.
    fn of(issued: &Issued, trusted: &Authority) -> Proof {
        let pem = |name: &str, text: &str| Pem { name: name.to_owned(), bytes: text.as_bytes().to_vec() };
        let (certificate, key) = (pem("certificate", &issued.certificate), pem("key", &issued.key));
        Proof { pems: Some(Pems { certificate, key, trusted: Some(pem("trusted", &trusted.pem)) }), ..Proof::default() }
    }

    /// One of the server's and client's addresses.
    fn member(authority: &Authority) -> Proof {
        Proof::of(&authority.issue(&["10.0.0.1", "10.0.0.2"], VALID), authority)
    }

    fn identity(&self) -> Option<Identity> {
        let options = Options { verifies_addresses: self.verifies_addresses, ..Options::default() };
        let parse = |pems| Identity::new(&Material::parse(pems).expect("the PEM is right"), options);
        self.pems.as_ref().map(parse)
    }

    fn node(&self, host_id: HostId) -> LocalNode {
        let secret = self.secret.map(|bytes| Secret::new(bytes).expect("it is long enough"));
        let local = LocalNode::new(host_id, NAME.into(), Boot { number: 3, word: 4 }, secret, Compression::All);
        self.identity().into_iter().for_each(|identity| local.use_tls(identity));
        local
    }
}

fn address() -> SocketAddr {
    ADDRESS.parse().expect("an address")
}

fn verbs() -> Verbs {
    let mut verbs = Verbs::new();
    verbs.register(ECHO, "an echo", |body| {
        let bytes = body.to_vec();
        Ok(async move { Bytes(bytes) })
    });
    verbs
}

/// A shard of the server; the first one listens, and ends its connections when the node that dials has waited for `ends_after`.
async fn serve(
    runtime: Runtime,
    seat: MeshSeat<internode::PeerSocket, ()>,
    proof: Proof,
    ends_after: Option<Duration>,
) {
    let incoming = Incoming::default();
    incoming.follow([CLIENT]);
    let requests = incoming.open(&runtime, seat, verbs());
    if let Some(time) = ends_after {
        let (clock, incoming) = (runtime.clone(), incoming.clone());
        runtime.spawn(Group::Query, async move {
            clock.sleep(time).await;
            incoming.end(Duration::from_secs(1)).await;
        });
    }
    if runtime.shard() != ShardId(0) {
        return std::future::pending().await;
    }
    let listener = runtime.listen(address()).await.expect("the address is this machine's");
    let control = Answering { incoming: Incoming::for_all(), verbs: Rc::new(verbs()) };
    let listening = Listening {
        local: proof.node(SERVER),
        judge: Rc::new(|_: &Hello| Verdict::Welcome),
        requests: Rc::new(OnceCell::from(requests)),
        control: Some(control),
    };
    listen_for_peers(runtime, listener, listening).await;
}

fn start(runtime: &Runtime, proof: &Proof, purpose: Purpose) -> Peer {
    let local = proof.node(CLIENT);
    Peer::start(
        runtime,
        PeerParts { address: address(), host_id: SERVER, local, purpose, compresses: true, watch: None },
    )
}

async fn until(runtime: &Runtime, peer: &Peer, is_up: bool) {
    while peer.is_up() != is_up {
        runtime.sleep(Duration::from_millis(1)).await;
    }
}

async fn echo(peer: &Peer, body: &[u8]) -> Vec<u8> {
    let answer = peer.call(Request::of(ECHO), |out| out.extend_from_slice(body)).await.expect("the node answers");
    assert_eq!(answer.kind, ANSWER);
    answer.body
}

/// A server of two shards with this proof, and a client's `work` on each of two shards. Gives the lines that both logged.
fn with_server<F, Fut>(proof: Proof, ends_after: Option<Duration>, work: F) -> Vec<String>
where
    F: Fn(Runtime) -> Fut + Clone + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let no_other: Option<fn(Runtime) -> std::future::Ready<()>> = None;
    with_hosts(proof, ends_after, no_other, work)
}

/// The same, beside the `work` of another host.
fn with_hosts<O, Other, F, Fut>(proof: Proof, ends_after: Option<Duration>, other: Option<O>, work: F) -> Vec<String>
where
    O: FnOnce(Runtime) -> Other + 'static,
    Other: Future<Output = ()> + 'static,
    F: Fn(Runtime) -> Fut + Clone + 'static,
    Fut: Future<Output = ()> + 'static,
{
    log::begin();
    let mut world = World::new(WorldOptions::new(7));
    if let Some(other) = other {
        let host = world.add_host(&["10.0.0.3".parse().expect("an address")]);
        world.start(host, false, vec![other]);
    }
    let ips: [IpAddr; 2] = ["10.0.0.1", "10.0.0.2"].map(|ip| ip.parse().expect("an address"));
    let (server, client) = (world.add_host(&ips[..1]), world.add_host(&ips[1..]));
    let seats = runtime::mesh(SHARDS, 8).into_iter();
    let shards = seats.map(|seat| {
        let proof = proof.clone();
        move |runtime| serve(runtime, seat, proof, ends_after)
    });
    world.start(server, false, shards.collect());
    let asking = world.start(client, false, vec![work; usize::from(SHARDS)]);
    world.run_until(|_| asking.is_over(), AT_MOST);
    assert!(asking.is_over(), "the client's work ends");
    log::take()
}

/// A client that never meets the server, whose log has a line with `rejected`, and the client's one with `reason`.
fn never_meet(server: Proof, client: Proof, rejected: &str, reason: &str) {
    let lines = with_server(server, None, move |runtime| {
        let client = client.clone();
        async move {
            let peer = start(&runtime, &client, Purpose::Requests);
            for _ in 0..500 {
                runtime.sleep(Duration::from_millis(10)).await;
                assert!(!peer.is_up());
            }
        }
    });
    let has = |words: [&str; 2]| lines.iter().any(|line| words.iter().all(|words| line.contains(words)));
    assert!(has(["rejected internode connection", rejected]), "{lines:#?}");
    assert!(has(["cannot connect to node; retrying", reason]), "{lines:#?}");
}

#[test]
fn nodes_of_one_authority_meet_for_each_purpose_and_on_each_shard() {
    let authority = Authority::new("one");
    for secret in [None, Some(&b"the secret of all nodes"[..])] {
        for verifies_addresses in [false, true] {
            let proof = Proof { secret, verifies_addresses, ..Proof::member(&authority) };
            let client = proof.clone();
            let lines = with_server(proof, None, move |runtime| {
                let client = client.clone();
                async move {
                    for purpose in [Purpose::Control, Purpose::Requests] {
                        let peer = start(&runtime, &client, purpose);
                        until(&runtime, &peer, true).await;
                        for length in [0, 1, 16_383, 16_384, 3 << 20] {
                            let body: Vec<u8> = (0..length).map(|index: u32| (index % 253) as u8).collect();
                            assert!(echo(&peer, &body).await == body, "{length} bytes");
                        }
                        runtime.sleep(Duration::from_secs(60)).await;
                        assert!(peer.is_up(), "pings go through it");
                        peer.end();
                    }
                }
            });
            assert!(!lines.iter().any(|line| line.contains("rejected")), "{lines:#?}");
        }
    }
}

#[test]
fn calls_in_both_directions_at_once_do_not_wait_for_each_other() {
    let proof = Proof::member(&Authority::new("one"));
    let client = proof.clone();
    with_server(proof, None, move |runtime| {
        let client = client.clone();
        async move {
            let peer = Rc::new(start(&runtime, &client, Purpose::Requests));
            until(&runtime, &peer, true).await;
            let calls = (0..200u32).map(|number| {
                let peer = Rc::clone(&peer);
                runtime.spawn(Group::Query, async move {
                    let body = vec![number as u8; 40_000];
                    assert!(echo(&peer, &body).await == body, "call {number}");
                })
            });
            for call in calls.collect::<Vec<_>>() {
                call.await;
            }
        }
    });
}

#[test]
fn a_node_that_ends_says_so_by_tls_too() {
    let proof = Proof::member(&Authority::new("one"));
    let client = proof.clone();
    let lines = with_server(proof, Some(Duration::from_secs(5)), move |runtime| {
        let client = client.clone();
        async move {
            let peer = start(&runtime, &client, Purpose::Requests);
            until(&runtime, &peer, true).await;
            until(&runtime, &peer, false).await;
        }
    });
    let ends = lines.iter().filter(|line| line.contains("connection to node ended; reconnecting"));
    let closed = ends.filter(|line| line.contains("the peer closed the connection")).count();
    assert_eq!(closed, usize::from(SHARDS), "{lines:#?}");
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let (one, other) = (Authority::new("one"), Authority::new("other"));
    let stranger = || Proof::of(&other.issue(&["10.0.0.2"], VALID), &one);
    never_meet(
        Proof::member(&one),
        stranger(),
        "it is not signed by a trusted certificate",
        "it does not trust the issuer of this end's certificate",
    );
    never_meet(
        stranger(),
        Proof::member(&one),
        "it does not trust the issuer of this end's certificate",
        "it is not signed by a trusted certificate",
    );
}

#[test]
fn a_certificate_that_is_not_valid_now_is_refused() {
    let one = Authority::new("one");
    for (valid, flaw) in
        [(EXPIRED, "it expired at 2001-01-01T00:00:00Z"), (NOT_YET, "it is not valid before 2089-01-01T00:00:00Z")]
    {
        let late = Proof::of(&one.issue(&["10.0.0.2"], valid), &one);
        never_meet(Proof::member(&one), late, flaw, "the other end refused this end's TLS handshake");
    }
}

#[test]
fn a_certificate_of_another_address_is_refused_where_addresses_are_verified() {
    let one = Authority::new("one");
    let elsewhere = Proof::of(&one.issue(&["10.0.0.9"], VALID), &one);
    let strict = Proof { verifies_addresses: true, ..Proof::member(&one) };
    let flaw = "10.0.0.2 is not among its subject alternative names";
    never_meet(strict, elsewhere, flaw, "it does not accept this end's certificate");
}

#[test]
fn a_node_without_tls_and_one_with_it_never_meet_and_both_know_why() {
    let one = Authority::new("one");
    let uses = "the peer uses TLS and this node does not";
    never_meet(Proof::member(&one), Proof::default(), "the peer does not use TLS and this node does", uses);
    never_meet(Proof::default(), Proof::member(&one), uses, "connection closed during the handshake");
}

#[test]
fn half_open_handshakes_are_bounded_and_a_node_meets_after_them() {
    let proof = Proof::member(&Authority::new("one"));
    let client = proof.clone();
    let lines = with_server(proof, None, move |runtime| {
        let client = client.clone();
        async move {
            let mut open = Vec::new();
            for _ in 0..2 * GREETINGS_MAX {
                let stream = runtime.connect(address()).await.expect("the server listens");
                // The beginning of a handshake that is never continued.
                let _ = stream.write_all(vec![0x16, 3, 1, 0x10, 0]).await;
                open.push(stream);
            }
            let peer = start(&runtime, &client, Purpose::Requests);
            until(&runtime, &peer, true).await;
            assert_eq!(echo(&peer, b"text").await, b"text");
        }
    });
    let timed_out = lines.iter().filter(|line| line.contains("handshake timed out")).count();
    assert!((1..=2 * GREETINGS_MAX).contains(&timed_out), "{timed_out} of them were open at once");
}

/// Opens connections on which nothing is said, and another one for each that ends.
async fn open_silent(runtime: Runtime) {
    for _ in 0..2 * GREETINGS_MAX {
        let clock = runtime.clone();
        let silent = runtime.spawn(Group::Query, async move {
            loop {
                if let Ok(stream) = clock.connect(address()).await {
                    let _ = stream.read(Vec::with_capacity(1)).await;
                }
                clock.sleep(Duration::from_millis(10)).await;
            }
        });
        drop(silent);
    }
    std::future::pending().await
}

#[test]
fn a_host_that_says_nothing_on_many_connections_keeps_no_node_out() {
    let proof = Proof::member(&Authority::new("one"));
    let client = proof.clone();
    let lines = with_hosts(proof, None, Some(open_silent), move |runtime| {
        let client = client.clone();
        async move {
            runtime.sleep(Duration::from_secs(1)).await;
            let peer = start(&runtime, &client, Purpose::Requests);
            runtime.sleep(Duration::from_secs(3)).await;
            assert!(peer.is_up());
        }
    });
    let first = |words: &str| lines.iter().position(|line| line.contains(words));
    let (met, timed_out) = (first("connected to node").expect("it was up"), first("handshake timed out"));
    assert!(
        timed_out.is_some_and(|timed_out| met < timed_out),
        "the node does not wait for a silent one's time-out: {lines:#?}"
    );
}

/// A host between two nodes that has a session with each of them. Clones are the same.
#[derive(Clone)]
struct Between {
    runtime: Runtime,
    /// With the dialler, and with the listener.
    sockets: Rc<[TcpStream; 2]>,
    sessions: Rc<[RefCell<Session>; 2]>,
}

impl Between {
    /// Accepts connections at an address, and dials the server for each.
    async fn listen(runtime: Runtime, at: SocketAddr, identity: Identity) {
        let listener = runtime.listen(at).await.expect("the address is this machine's");
        loop {
            let (socket, from) = listener.accept().await.expect("the client dials");
            let server = runtime.connect(address()).await.expect("the server listens");
            let now = runtime.wall_clock_micros();
            let sessions = [identity.accept(now, from.ip()), identity.dial(now, address().ip())];
            let between = Between {
                runtime: runtime.clone(),
                sockets: Rc::new([runtime.adopt(socket), server]),
                sessions: Rc::new(sessions.map(RefCell::new)),
            };
            for end in 0..2 {
                drop(runtime.spawn(Group::Query, between.clone().send(end)));
                drop(runtime.spawn(Group::Query, between.clone().pass_on(end)));
            }
        }
    }

    /// Sends what a session has to say.
    async fn send(self, end: usize) {
        loop {
            let mut out = Vec::new();
            self.sessions[end].borrow_mut().send(&mut out);
            if self.sockets[end].write_all(out).await.0.is_err() {
                return;
            }
            self.runtime.sleep(Duration::from_millis(1)).await;
        }
    }

    /// Passes on what an end says to the other one.
    async fn pass_on(self, end: usize) {
        loop {
            let (result, bytes) = self.sockets[end].read(Vec::with_capacity(16 << 10)).await;
            if !matches!(result, Ok(1..)) {
                let _ = self.sockets[1 - end].shutdown();
                return;
            }
            let (mut plain, mut taken) = (Vec::with_capacity(1 << 20), 0);
            while taken < bytes.len() {
                let mut session = self.sessions[end].borrow_mut();
                taken += session.receive(&bytes[taken..]).expect("both ends speak TLS");
                session.read(&mut plain);
            }
            // What comes early waits for the other end's handshake.
            let mut passed = 0;
            while passed < plain.len() {
                let written = self.sessions[1 - end].borrow_mut().write(&plain[passed..]);
                passed += written.expect("the session goes on");
                self.runtime.sleep(Duration::from_millis(1)).await;
            }
        }
    }
}

/// A client that dials a server through a host between them, which has a certificate of their authority: true if they meet. The lines of the log.
fn meet_through_another_host(secret: Option<&'static [u8]>) -> (bool, Vec<String>) {
    let authority = Authority::new("one");
    let proof = Proof { secret, ..Proof::member(&authority) };
    let (client, between) = (proof.clone(), Proof::member(&authority));
    let met = Rc::new(Cell::new(false));
    let is_up = Rc::clone(&met);
    let lines = with_server(proof, None, move |runtime| {
        let (client, between, is_up) = (client.clone(), between.clone(), Rc::clone(&is_up));
        async move {
            let at = SocketAddr::new("10.0.0.2".parse().expect("an address"), 7000 + runtime.shard().0);
            let identity = between.identity().expect("it has a certificate");
            drop(runtime.spawn(Group::Query, Between::listen(runtime.clone(), at, identity)));
            let (local, purpose) = (client.node(CLIENT), Purpose::Requests);
            let peer = Peer::start(
                &runtime,
                PeerParts { address: at, host_id: SERVER, local, purpose, compresses: true, watch: None },
            );
            for _ in 0..300 {
                runtime.sleep(Duration::from_millis(10)).await;
                is_up.set(is_up.get() || peer.is_up());
            }
        }
    });
    (met.get(), lines)
}

#[test]
fn a_secret_is_proven_for_one_session_and_not_through_a_host_between_the_nodes() {
    let (met, lines) = meet_through_another_host(Some(b"the secret of all nodes"));
    let refused =
        lines.iter().any(|line| line.contains("cannot connect to node; retrying") && line.contains("NotProven"));
    assert!(!met && refused, "{lines:#?}");
    // Certificates alone are of the authority, not of a node: it passes on what it reads.
    assert!(meet_through_another_host(None).0, "the host in between works");
}

#[test]
fn a_node_that_dials_after_a_change_of_certificates_uses_the_new_ones() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let server = Proof::member(&new);
    let (client, next) = (Proof::member(&old), Proof::member(&new));
    with_server(server, None, move |runtime| {
        let (client, next) = (client.clone(), next.clone());
        async move {
            let local = client.node(CLIENT);
            let purpose = Purpose::Requests;
            let parts = PeerParts {
                address: address(),
                host_id: SERVER,
                local: local.clone(),
                purpose,
                compresses: true,
                watch: None,
            };
            let peer = Peer::start(&runtime, parts);
            for _ in 0..500 {
                runtime.sleep(Duration::from_millis(10)).await;
                assert!(!peer.is_up());
            }
            let material = Material::parse(&next.pems.expect("it has some")).expect("the PEM is right");
            local.tls().expect("it uses TLS").replace(&material);
            until(&runtime, &peer, true).await;
            assert_eq!(echo(&peer, b"text").await, b"text");
        }
    });
}

/// Harm to the next bytes on the way.
#[derive(Debug, Clone, Copy)]
enum Harm {
    /// A bit of the last one is changed.
    Flipped,
    /// They and all after them do not arrive: the connection ends.
    Cut,
}

/// Harm that is set, by direction: to the server, to the client.
type Harms = Rc<[Cell<Option<Harm>>; 2]>;

/// Forwards what comes from one to the other.
async fn forward(from: TcpStream, to: TcpStream, harms: Harms, direction: usize) {
    loop {
        let (result, mut bytes) = from.read(Vec::with_capacity(16 << 10)).await;
        let harm = match result {
            Ok(1..) => harms[direction].take(),
            _ => Some(Harm::Cut),
        };
        match harm {
            None => {}
            Some(Harm::Flipped) => *bytes.last_mut().expect("there are bytes") ^= 1,
            Some(Harm::Cut) => return [from, to].iter().for_each(|stream| _ = stream.shutdown()),
        }
        if to.write_all(bytes).await.0.is_err() {
            return;
        }
    }
}

async fn relay(runtime: Runtime, at: SocketAddr, harms: Harms) {
    let listener = runtime.listen(at).await.expect("the address is this machine's");
    loop {
        let (socket, _) = listener.accept().await.expect("the client dials");
        let client = runtime.adopt(socket);
        let server = runtime.connect(address()).await.expect("the server listens");
        let (to_server, to_client) = (Rc::clone(&harms), Rc::clone(&harms));
        drop(runtime.spawn(Group::Query, forward(client.clone(), server.clone(), to_server, 0)));
        drop(runtime.spawn(Group::Query, forward(server, client, to_client, 1)));
    }
}

#[test]
fn bytes_that_are_changed_or_cut_on_the_way_end_the_connection_and_are_never_an_answer() {
    let proof = Proof::member(&Authority::new("one"));
    let client = proof.clone();
    let lines = with_server(proof, None, move |runtime| {
        let client = client.clone();
        async move {
            let at = SocketAddr::new("10.0.0.2".parse().expect("an address"), 7000 + runtime.shard().0);
            let harms = Harms::default();
            drop(runtime.spawn(Group::Query, relay(runtime.clone(), at, Rc::clone(&harms))));
            let (local, purpose) = (client.node(CLIENT), Purpose::Requests);
            let peer = Peer::start(
                &runtime,
                PeerParts { address: at, host_id: SERVER, local, purpose, compresses: true, watch: None },
            );
            for harm in [Harm::Flipped, Harm::Cut] {
                for direction in 0..2 {
                    until(&runtime, &peer, true).await;
                    assert_eq!(echo(&peer, b"whole").await, b"whole");
                    harms[direction].set(Some(harm));
                    let answer = peer.call(Request::of(ECHO), |out| out.extend_from_slice(b"harmed")).await;
                    assert_eq!(answer.err(), Some(CallError::Gone), "{harm:?} {direction}");
                }
            }
            until(&runtime, &peer, true).await;
            assert_eq!(echo(&peer, b"whole").await, b"whole");
        }
    });
    let has = |words: &str| {
        lines.iter().any(|line| line.contains("connection to node ended; reconnecting") && line.contains(words))
    };
    assert!(has("malformed or damaged TLS record") && has("connection ended without TLS's close_notify"), "{lines:#?}");
}
