//! Two simulated machines: one registers verbs and listens, the other dials and calls.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use internode::{
    CallError, FRAME_BODY_MAX, Incoming, Listening, Malformed, Peer, PeerParts, PeerSocket, Reply, Verbs,
    listen_for_peers,
};
use runtime::sim::{World, WorldOptions};
use runtime::{MeshSeat, Runtime};
use topology::HostId;

const SERVER: HostId = HostId([1; 16]);
const CLIENT: HostId = HostId([2; 16]);
const ECHO: u8 = 10;
const REFUSE: u8 = 11;
const LONG: u8 = 12;
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

async fn serve(runtime: Runtime, seat: MeshSeat<PeerSocket, ()>) {
    let mut verbs = Verbs::new();
    verbs.register(ECHO, "an echo", |body| {
        let bytes = body.to_vec();
        Ok(async move { Bytes::Of(bytes) })
    });
    verbs.register(REFUSE, "a refusal", |_| {
        Err::<std::future::Ready<Bytes>, _>(Malformed::new("no body is right here"))
    });
    verbs.register(LONG, "a long answer", |_| Ok(async { Bytes::Of(vec![0; FRAME_BODY_MAX + 1]) }));
    let mesh = Incoming::default().open(&runtime, seat, verbs);
    let listener = runtime.listen(address()).await.expect("the address is this machine's");
    let listening = Listening { local: SERVER, others: vec![CLIENT], cluster_name: "Test Cluster".into() };
    listen_for_peers(runtime, listener, listening, mesh).await;
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
    world.start(server, false, vec![|runtime| serve(runtime, seat)]);
    let main = |runtime: Runtime| async move {
        let parts =
            PeerParts { address: address(), host_id: SERVER, local: CLIENT, cluster_name: "Test Cluster".into() };
        let peer = Peer::start(&runtime, parts);
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
    let answer = peer.call(ECHO, |out| out.extend_from_slice(text)).await?;
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
            let answer = peer.call(verb, |out| out.push(1)).await;
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
        let early = peer.call(ECHO, |out| out.push(1)).await.expect("it answers");
        let answer = peer.call(ECHO, |out| out.push(1)).await.expect("it answers");
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
        let answer = peer.call(ECHO, |out| out.resize(out.len() + FRAME_BODY_MAX + 1, 0)).await;
        assert_eq!(answer.err(), Some(CallError::TooLarge { size: FRAME_BODY_MAX + 1, max: FRAME_BODY_MAX }));
        let answer = peer.call(LONG, |_| {}).await.expect("it answers");
        assert_eq!(answer.kind, TOO_LARGE);
        assert!(peer.is_up(), "neither ends the connection");
    });
}
