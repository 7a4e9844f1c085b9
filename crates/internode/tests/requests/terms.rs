//! The terms of requests, as a peer keeps to them: the connection for large ones, cancelling, deadlines.

use std::time::Duration;

use internode::{CallError, Compression, LocalNode, Peer, PeerParts, Purpose, Request};
use runtime::{Group, Runtime};

use super::world::{CLIENT, ECHO, SERVER, STAY, address, node, with_server};

const LARGE: usize = 100 << 10;

fn peer(runtime: &Runtime, local: LocalNode) -> Peer {
    let (purpose, compresses) = (Purpose::Requests, true);
    Peer::start(runtime, PeerParts { address: address(), host_id: SERVER, local, purpose, compresses, watch: None })
}

async fn echo(peer: &Peer, bytes: usize) -> Result<usize, CallError> {
    let body = vec![7; bytes];
    let request = Request::of(ECHO).of_size(bytes);
    let answer = peer.call(request, |out| out.extend_from_slice(&body)).await?;
    assert_eq!(answer.body, body);
    Ok(answer.body.len())
}

#[test]
fn large_requests_have_a_connection_that_is_dialled_for_them_and_closed_when_idle() {
    with_server(|runtime, served| async move {
        let peer = peer(&runtime, node(CLIENT));
        served.wait_for(&runtime, |_| peer.is_up()).await;
        for bytes in [0, 10, 64 << 10] {
            assert_eq!(echo(&peer, bytes).await, Ok(bytes));
        }
        assert_eq!(*served.purposes.borrow(), [Purpose::Requests]);
        let (first, second) = (echo(&peer, LARGE), echo(&peer, LARGE + 1));
        assert_eq!((first.await, second.await), (Ok(LARGE), Ok(LARGE + 1)));
        assert_eq!(*served.purposes.borrow(), [Purpose::Requests, Purpose::Bulk]);
        // Nine minutes are not idle enough, and eleven are.
        for (minutes, connections) in [(9, 2), (11, 3)] {
            runtime.sleep(Duration::from_secs(60 * minutes)).await;
            assert_eq!(echo(&peer, LARGE).await, Ok(LARGE));
            assert_eq!(served.purposes.borrow().len(), connections, "after {minutes} minutes");
        }
        assert!(peer.is_up());
        peer.end();
        assert_eq!(echo(&peer, LARGE).await, Err(CallError::Gone));
    });
}

#[test]
fn a_large_request_is_made_on_the_connection_for_requests_while_there_is_none_for_bulk() {
    with_server(|runtime, served| async move {
        served.refuses_bulk.set(true);
        let peer = peer(&runtime, node(CLIENT));
        served.wait_for(&runtime, |_| peer.is_up()).await;
        for _ in 0..3 {
            let began = runtime.now();
            assert_eq!(echo(&peer, LARGE).await, Ok(LARGE));
            assert!(runtime.now() - began < Duration::from_secs(1));
        }
        served.refuses_bulk.set(false);
        runtime.sleep(Duration::from_secs(3)).await;
        assert_eq!(echo(&peer, LARGE).await, Ok(LARGE));
        assert!(served.purposes.borrow().iter().filter(|purpose| **purpose == Purpose::Bulk).count() > 1);
        peer.end();
        let began = runtime.now();
        assert_eq!(echo(&peer, LARGE).await, Err(CallError::Gone));
        assert!(runtime.now() - began < Duration::from_millis(1), "it does not wait for a node that is down");
    });
}

#[test]
fn a_call_that_is_dropped_is_cancelled_where_its_caller_says_so() {
    with_server(|runtime, served| async move {
        let peer = peer(&runtime, node(CLIENT));
        served.wait_for(&runtime, |_| peer.is_up()).await;
        for (request, dropped) in [(Request::of(STAY), 0), (Request::of(STAY).cancelled_when_dropped(), 1)] {
            let (calling, before) = (peer.clone(), served.begun.get());
            let task = runtime.spawn(Group::Query, async move { calling.call(request, |_| {}).await.is_ok() });
            served.wait_for(&runtime, |served| served.begun.get() == before + 1).await;
            task.abort();
            runtime.sleep(Duration::from_secs(1)).await;
            assert_eq!(served.dropped.get(), dropped, "{request:?}");
        }
        // One that was answered is not cancelled.
        let request = Request::of(ECHO).cancelled_when_dropped();
        assert!(peer.call(request, |_| {}).await.is_ok() && peer.is_up());
    });
}

#[test]
fn a_request_ends_at_the_other_node_when_its_time_is_over() {
    with_server(|runtime, served| async move {
        let local = LocalNode::new(CLIENT, "Test Cluster".into(), Default::default(), None, Compression::All);
        let peer = peer(&runtime, local);
        served.wait_for(&runtime, |_| peer.is_up()).await;
        // Some pings: the other end's clock is known by them.
        runtime.sleep(Duration::from_secs(30)).await;
        let request = Request::of(STAY).within(Duration::from_secs(2));
        let calling = peer.clone();
        let task = runtime.spawn(Group::Query, async move { calling.call(request, |_| {}).await.is_ok() });
        runtime.sleep(Duration::from_millis(1_900)).await;
        assert_eq!((served.begun.get(), served.dropped.get()), (1, 0));
        runtime.sleep(Duration::from_millis(200)).await;
        assert_eq!(served.dropped.get(), 1);
        assert!(!task.is_finished(), "its caller has a time of its own");
    });
}
