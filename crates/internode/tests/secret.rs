//! Nodes with a shared secret on simulated machines: those that prove it meet, and all others are refused with a line in the log.

mod log;

use std::cell::OnceCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use internode::{
    Boot, Compression, GreetingError, GroupTag, Hello, Incoming, Listening, LocalNode, Peer, PeerParts, Purpose,
    Secret, Verbs, Verdict, Welcome, listen_for_peers,
};
use runtime::sim::{World, WorldOptions};
use runtime::{Runtime, TcpStream};
use topology::HostId;

const SERVER: HostId = HostId([1; 16]);
const CLIENT: HostId = HostId([2; 16]);
const ADDRESS: &str = "10.0.0.1:7000";
const RELAY: &str = "10.0.0.3:7000";
const NAME: &str = "Test Cluster";
const RIGHT: &[u8] = b"the secret of all nodes";
const WRONG: &[u8] = b"the secret of no nodes ";
const AT_MOST: Duration = Duration::from_secs(600);
const REFUSED: &str =
    "rejected internode connection: shared secret not proven; give all nodes the same internode_secret_file";
/// Bytes of a greeting before its body.
const HEAD: usize = 16;

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn node(host_id: HostId, secret: Option<&[u8]>) -> LocalNode {
    let secret = secret.map(|bytes| Secret::new(bytes).expect("it is long enough"));
    LocalNode::new(host_id, NAME.into(), Boot { number: 3, word: 4 }, secret, Compression::default())
}

fn start(runtime: &Runtime, at: &str, secret: Option<&[u8]>) -> Peer {
    let (address, local, purpose) = (address(at), node(CLIENT, secret), Purpose::Requests);
    Peer::start(runtime, PeerParts { address, host_id: SERVER, local, purpose, compresses: false, watch: None })
}

async fn until_up(runtime: &Runtime, peer: &Peer) {
    while !peer.is_up() {
        runtime.sleep(Duration::from_millis(1)).await;
    }
}

/// A server with this secret, and a client's `work`. Gives the lines that both logged.
fn with_server<F, Fut>(secret: Option<&'static [u8]>, work: F) -> Vec<String>
where
    F: FnOnce(Runtime) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    log::begin();
    let mut world = World::new(WorldOptions::new(7));
    let ips: [IpAddr; 2] = ["10.0.0.1", "10.0.0.2"].map(|ip| ip.parse().expect("an address"));
    let (server, client) = (world.add_host(&ips[..1]), world.add_host(&[ips[1], address(RELAY).ip()]));
    let seat = runtime::mesh(1, 8).remove(0);
    let main = move |runtime: Runtime| async move {
        let incoming = Incoming::default();
        incoming.follow([CLIENT]);
        let requests = incoming.open(&runtime, seat, Verbs::new());
        let listener = runtime.listen(address(ADDRESS)).await.expect("the address is this machine's");
        let judge = Rc::new(|_: &Hello| Verdict::Welcome);
        let listening = Listening {
            local: node(SERVER, secret),
            judge,
            requests: Rc::new(OnceCell::from(requests)),
            control: None,
        };
        listen_for_peers(runtime, listener, listening).await;
    };
    world.start(server, false, vec![main]);
    let asking = world.start(client, false, vec![work]);
    world.run_until(|_| asking.is_over(), AT_MOST);
    assert!(asking.is_over(), "the client's work ends");
    log::take()
}

/// A client with another secret, or none, never meets a server.
fn never_meet(server: Option<&'static [u8]>, client: Option<&'static [u8]>) {
    let lines = with_server(server, move |runtime| async move {
        let peer = start(&runtime, ADDRESS, client);
        for _ in 0..1000 {
            runtime.sleep(Duration::from_millis(10)).await;
            assert!(!peer.is_up());
        }
    });
    let has = |words: &str| lines.iter().any(|line| line.contains(words));
    assert!(has(REFUSED), "{lines:?}");
    assert!(has("cannot connect to node; retrying") && has("NotProven"), "{lines:?}");
}

#[test]
fn nodes_with_the_same_secret_or_none_meet() {
    for secret in [None, Some(RIGHT)] {
        let lines = with_server(secret, move |runtime| async move {
            let peer = start(&runtime, ADDRESS, secret);
            until_up(&runtime, &peer).await;
            runtime.sleep(Duration::from_secs(60)).await;
            assert!(peer.is_up());
        });
        assert!(!lines.iter().any(|line| line.contains("rejected")), "{lines:?}");
    }
}

#[test]
fn nodes_with_different_secrets_never_meet() {
    never_meet(Some(RIGHT), Some(WRONG));
}

#[test]
fn a_node_without_a_secret_never_meets_one_that_has_it() {
    never_meet(Some(RIGHT), None);
    never_meet(None, Some(RIGHT));
}

fn hello(has_secret: bool) -> Hello {
    Hello {
        version: 2,
        version_min: 2,
        purpose: Purpose::Requests,
        has_secret,
        compresses: false,
        shard: 0,
        shard_count: 1,
        host_id: CLIENT,
        wanted: SERVER,
        group: GroupTag::default(),
        boot: Boot::default(),
        epoch: 0,
        random: [9; 16],
        cluster_name: NAME.into(),
    }
}

async fn send(stream: &TcpStream, bytes: &[u8]) {
    stream.write_all(bytes.to_vec()).await.0.expect("the other end reads");
}

/// A greeting with its bytes.
async fn receive<T>(
    stream: &TcpStream,
    decode: impl Fn(&[u8]) -> Result<Option<(T, usize)>, GreetingError>,
) -> (T, Vec<u8>) {
    let mut bytes = Vec::with_capacity(2048);
    loop {
        let (result, read) = stream.read(bytes).await;
        assert_ne!(result.expect("the connection works"), 0, "a greeting comes");
        bytes = read;
        if let Some((greeting, _)) = decode(&bytes).expect("the bytes are right") {
            return (greeting, bytes);
        }
    }
}

/// A verdict with its bytes, which a proof may follow.
async fn verdict(stream: &TcpStream) -> (u8, Vec<u8>) {
    receive(stream, |bytes| {
        let length = bytes.get(8..12).map(|length| u32::from_be_bytes(length.try_into().expect("four bytes")) as usize);
        Ok(length.filter(|length| bytes.len() >= HEAD + length).map(|length| (bytes[HEAD], HEAD + length)))
    })
    .await
}

fn sealed(body: &[u8]) -> Vec<u8> {
    let head = [&b"helepeer"[..], &(body.len() as u32).to_be_bytes(), &crc32fast::hash(body).to_be_bytes()];
    [&head.concat()[..], body].concat()
}

/// Greets the server and answers its welcome; the server's last verdict.
async fn forge(runtime: &Runtime, hello: &[u8], answer: impl FnOnce(&Welcome) -> Vec<u8>) -> u8 {
    let stream = runtime.connect(address(ADDRESS)).await.expect("the server listens");
    send(&stream, hello).await;
    let (welcome, _) = receive(&stream, Welcome::decode).await;
    assert_eq!(welcome.verdict, Verdict::Welcome);
    send(&stream, &answer(&welcome)).await;
    verdict(&stream).await.0
}

fn refused_with(work: impl AsyncFn(&Runtime) -> u8 + 'static) {
    let lines = with_server(Some(RIGHT), move |runtime| async move {
        assert_eq!(work(&runtime).await, Verdict::NotProven as u8);
    });
    assert!(lines.iter().any(|line| line.contains(REFUSED)), "{lines:?}");
}

#[test]
fn a_reflected_proof_is_refused() {
    refused_with(async |runtime| {
        let reflect = |welcome: &Welcome| sealed(&[&[0], &welcome.proof.expect("the server proves it")[..]].concat());
        forge(runtime, &hello(true).encode(), reflect).await
    });
}

#[test]
fn no_proof_and_a_short_one_are_refused() {
    refused_with(async |runtime| forge(runtime, &hello(true).encode(), |_| sealed(&[0])).await);
    refused_with(async |runtime| forge(runtime, &hello(true).encode(), |_| sealed(&[0; 32])).await);
}

#[test]
fn one_that_has_no_secret_gets_no_proof() {
    with_server(Some(RIGHT), |runtime| async move {
        let stream = runtime.connect(address(ADDRESS)).await.expect("the server listens");
        send(&stream, &hello(false).encode()).await;
        let (welcome, _) = receive(&stream, Welcome::decode).await;
        assert_eq!((welcome.verdict, welcome.proof), (Verdict::NotProven, None));
    });
}

/// Forwards one greeting of each kind between a client and the server; the client's bytes.
async fn relay(runtime: &Runtime) -> (Vec<u8>, Vec<u8>) {
    let listener = runtime.listen(address(RELAY)).await.expect("the address is this machine's");
    let (socket, _) = listener.accept().await.expect("the client dials");
    let client = runtime.adopt(socket);
    let server = runtime.connect(address(ADDRESS)).await.expect("the server listens");
    let (_, hello) = receive(&client, Hello::decode).await;
    send(&server, &hello).await;
    let (_, welcome) = receive(&server, Welcome::decode).await;
    send(&client, &welcome).await;
    let (_, proof) = verdict(&client).await;
    send(&server, &proof).await;
    let (last, bytes) = verdict(&server).await;
    assert_eq!(last, 0, "the client has proven itself");
    send(&client, &bytes).await;
    (hello, proof)
}

#[test]
fn a_replayed_proof_is_refused() {
    refused_with(async |runtime| {
        let _peer = start(runtime, RELAY, Some(RIGHT));
        let (hello, proof) = relay(runtime).await;
        forge(runtime, &hello, |_| proof).await
    });
}
