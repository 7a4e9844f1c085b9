//! Connections of a dialler that keeps to the greeting and to nothing else: the node that was dialled stays within its bounds.

use std::cell::OnceCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use internode::{
    Boot, Compression, Frame, FrameReader, GroupTag, Head, Hello, Incoming, Listening, LocalNode, PING, PONG, Purpose,
    Verbs, Verdict, Welcome, listen_for_peers, write_frame,
};
use runtime::sim::{World, WorldOptions};
use runtime::{Runtime, TcpStream};
use topology::HostId;

const SERVER: HostId = HostId([1; 16]);
const CLIENT: HostId = HostId([2; 16]);
const AT_MOST: Duration = Duration::from_secs(600);

fn address() -> SocketAddr {
    "10.0.0.1:7000".parse().expect("an address")
}

async fn serve(runtime: Runtime) {
    let incoming = Incoming::default();
    incoming.follow([CLIENT]);
    let requests = incoming.open(&runtime, runtime::mesh(1, 8).remove(0), Verbs::new());
    let local = LocalNode::new(SERVER, "Test Cluster".into(), Boot::default(), None, Compression::None);
    let judge = Rc::new(|_: &Hello| Verdict::Welcome);
    let listener = runtime.listen(address()).await.expect("the address is this machine's");
    listen_for_peers(
        runtime,
        listener,
        Listening { local, judge, requests: Rc::new(OnceCell::from(requests)), control: None },
    )
    .await;
}

/// Runs `work` with a connection to the server.
fn with_stream<F, Fut>(work: F)
where
    F: FnOnce(Runtime, TcpStream) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut world = World::new(WorldOptions::new(7));
    let ip = |text: &str| -> IpAddr { text.parse().expect("an address") };
    let (server, client) = (world.add_host(&[ip("10.0.0.1")]), world.add_host(&[ip("10.0.0.2")]));
    world.start(server, false, vec![serve]);
    let main = |runtime: Runtime| async move {
        let stream = runtime.connect(address()).await.expect("the server listens");
        work(runtime, stream).await;
    };
    let asking = world.start(client, false, vec![main]);
    world.run_until(|_| asking.is_over(), AT_MOST);
    assert!(asking.is_over(), "the client's work ends");
}

async fn greet(stream: &TcpStream) {
    let hello = Hello {
        version: 2,
        version_min: 2,
        purpose: Purpose::Requests,
        has_secret: false,
        compresses: false,
        shard: 0,
        shard_count: 1,
        host_id: CLIENT,
        wanted: SERVER,
        group: GroupTag::default(),
        boot: Boot::default(),
        epoch: 0,
        random: [9; 16],
        cluster_name: "Test Cluster".into(),
    };
    send(stream, hello.encode()).await;
    let mut bytes = Vec::with_capacity(2048);
    while Welcome::decode(&bytes).expect("the bytes are right").is_none() {
        let (result, read) = stream.read(bytes).await;
        assert_ne!(result.expect("the connection works"), 0, "it is welcome");
        bytes = read;
    }
}

async fn send(stream: &TcpStream, bytes: Vec<u8>) {
    stream.write_all(bytes).await.0.expect("the other end reads");
}

fn ping(number: u64, out: &mut Vec<u8>) {
    write_frame(out, &Head { number, kind: PING, ..Head::default() }, false, |_| {}).expect("it is short");
}

/// The time until the server closes the connection.
async fn closed_after(runtime: &Runtime, stream: &TcpStream) -> Duration {
    let began = runtime.now();
    while let (Ok(1..), _) = stream.read(Vec::with_capacity(64)).await {}
    runtime.now() - began
}

#[test]
fn many_pings_are_answered_by_few_pongs() {
    const PINGS: u64 = 20_000;
    with_stream(|_, stream| async move {
        greet(&stream).await;
        let mut bytes = Vec::new();
        (1..=PINGS).for_each(|number| ping(number, &mut bytes));
        send(&stream, bytes).await;
        let (mut frames, mut pongs) = (FrameReader::new(), Vec::new());
        while pongs.last() != Some(&PINGS) {
            let (result, buffer) = stream.read(frames.take_for_read()).await;
            frames.put_back(buffer);
            assert_ne!(result.expect("the connection works"), 0, "the last ping is answered");
            while let Some(Frame { head: Head { number, kind, .. }, .. }) =
                frames.next_frame().expect("the bytes are right")
            {
                assert_eq!(kind, PONG);
                pongs.push(number);
            }
        }
        // At most one pong waits while others are being sent.
        assert!(pongs.is_sorted() && pongs.len() < 1_000, "{} pongs", pongs.len());
    });
}

#[test]
fn a_connection_without_a_byte_for_ten_seconds_is_closed() {
    with_stream(|runtime, stream| async move {
        greet(&stream).await;
        for number in 1..=3 {
            runtime.sleep(Duration::from_secs(8)).await;
            let mut bytes = Vec::new();
            ping(number, &mut bytes);
            send(&stream, bytes).await;
        }
        let silence = closed_after(&runtime, &stream).await;
        assert!((Duration::from_secs(10)..Duration::from_secs(13)).contains(&silence), "{silence:?}");
    });
}

#[test]
fn one_that_does_not_greet_is_closed_sooner() {
    with_stream(|runtime, stream| async move {
        let silence = closed_after(&runtime, &stream).await;
        assert!(silence < Duration::from_secs(3), "{silence:?}");
    });
}
