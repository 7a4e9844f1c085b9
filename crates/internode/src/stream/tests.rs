//! Connections under TLS on simulated machines: how they end, and what they keep.

#[path = "../../../tls/src/tests/authority.rs"]
mod authority;

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::task::Poll;

use runtime::sim::{World, WorldOptions};
use tls::{Identity, Material, Options, Pem, Pems};
use topology::HostId;

use super::*;
use crate::identity::Boot;
use crate::local_node::Compression;
use authority::{Authority, VALID};

const ADDRESS: &str = "10.0.0.1:7000";
/// Larger than any buffer on the way.
const LARGE: usize = 1 << 20;

fn address() -> SocketAddr {
    ADDRESS.parse().expect("an address")
}

fn pems() -> Pems {
    let authority = Authority::new("one");
    let issued = authority.issue(&["10.0.0.1"], VALID);
    let pem = |text: &str| Pem { name: "a file".to_owned(), bytes: text.as_bytes().to_vec() };
    Pems { certificate: pem(&issued.certificate), key: pem(&issued.key), trusted: Some(pem(&authority.pem)) }
}

fn node(host_id: u8, pems: &Pems) -> LocalNode {
    let boot = Boot { number: 1, word: 1 };
    let local = LocalNode::new(HostId([host_id; 16]), "Test Cluster".into(), boot, None, Compression::None);
    local.use_tls(Identity::new(&Material::parse(pems).expect("the PEM is right"), Options::default()));
    local
}

/// Runs both ends of one connection, each on a machine of its own, until the dialling one's work is over.
fn with_connection<L, D>(
    listener: impl FnOnce(Runtime, Stream) -> L + 'static,
    dialler: impl FnOnce(Runtime, Stream) -> D + 'static,
) where
    L: Future<Output = ()> + 'static,
    D: Future<Output = ()> + 'static,
{
    let mut world = World::new(WorldOptions::new(7));
    let ips: [IpAddr; 2] = ["10.0.0.1", "10.0.0.2"].map(|ip| ip.parse().expect("an address"));
    let (server, client) = (world.add_host(&ips[..1]), world.add_host(&ips[1..]));
    let pems = pems();
    let (of_server, of_client) = (node(1, &pems), node(2, &pems));
    let listening = world.start(
        server,
        false,
        vec![move |runtime: Runtime| async move {
            let port = runtime.listen(address()).await.expect("the address is this machine's");
            let (socket, from) = port.accept().await.expect("the client dials");
            let stream = Stream::accept(&runtime, socket, from, &of_server).await.expect("it is proven");
            listener(runtime, stream).await;
        }],
    );
    let dialling = world.start(
        client,
        false,
        vec![move |runtime: Runtime| async move {
            runtime.sleep(Duration::from_millis(100)).await;
            let stream = Stream::dial(&runtime, address(), &of_client).await.expect("it is proven");
            dialler(runtime, stream).await;
        }],
    );
    world.run_until(|_| listening.is_over() && dialling.is_over(), Duration::from_secs(600));
    assert!(listening.is_over() && dialling.is_over(), "both ends' work is over");
}

fn tls(stream: &Stream) -> &TlsStream {
    match stream {
        Stream::Tls(tls) => tls,
        Stream::Plain(_) => panic!("both nodes use TLS"),
    }
}

async fn read(stream: &Stream, count: usize) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(count);
    while buffer.len() < count {
        let (result, read) = stream.read(buffer).await;
        assert!(result.expect("the other end sends") > 0, "the connection ends early");
        buffer = read;
    }
    buffer
}

#[test]
fn a_connection_ends_in_order_though_its_session_cannot_read_on() {
    with_connection(
        |runtime, stream| async move {
            stream.write_all(b"answer".to_vec()).await.0.expect("the other end is there");
            // As after a read that was dropped with bytes that had come: the records that follow cannot be read.
            read_out(&stream).await;
            drop((stream, runtime));
        },
        |_, stream| async move {
            let tcp = tls(&stream).tcp();
            tcp.write_all(vec![0x17; LARGE]).await.0.expect("the other end reads what it cannot use");
            tcp.shutdown().expect("it is open");
            // All arrives: the answer, the last word, and no reset.
            assert_eq!(read(&stream, 6).await, b"answer");
            assert_eq!(stream.read(Vec::with_capacity(1)).await.0.expect("it ended in order"), 0);
        },
    );
}

/// A connection that waits for the other end keeps little memory.
async fn keeps_little(stream: &Stream) {
    let mut waiting = pin!(stream.read(Vec::with_capacity(1)));
    poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context).is_ready())).await;
    let kept = tls(stream).kept_bytes();
    assert!(kept <= 8 << 10, "{kept} bytes are kept");
}

#[test]
fn a_session_that_waits_keeps_little_memory() {
    with_connection(
        |_, stream| async move {
            for length in [LARGE, 6] {
                assert_eq!(read(&stream, length).await.len(), length);
                stream.write_all(vec![2; length]).await.0.expect("the other end reads");
            }
            keeps_little(&stream).await;
        },
        |_, stream| async move {
            // Much in both directions, and then what two ends exchange that have nothing to say.
            for length in [LARGE, 6] {
                stream.write_all(vec![1; length]).await.0.expect("the other end reads");
                assert_eq!(read(&stream, length).await.len(), length);
            }
            keeps_little(&stream).await;
        },
    );
}
