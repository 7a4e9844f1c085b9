//! Requests of a trace: the node that answers sends its steps with its answer.

use internode::{Peer, PeerParts, Purpose, Request};
use runtime::{Group, Runtime};

use super::world::{CLIENT, ECHO, SERVER, address, node, with_server};

fn peer(runtime: &Runtime) -> Peer {
    let (local, purpose) = (node(CLIENT), Purpose::Requests);
    Peer::start(
        runtime,
        PeerParts { address: address(), host_id: SERVER, local, purpose, compresses: true, watch: None },
    )
}

/// Has a task of its own make the request, as a coordinator does.
async fn echo(runtime: &Runtime, peer: &Peer) {
    let calling = peer.clone();
    let call = async move { calling.call(Request::of(ECHO), |out| out.extend_from_slice(b"message")).await };
    let answer = runtime.spawn(Group::Query, call).await.expect("the server answers");
    assert_eq!(answer.body, b"message", "neither id nor steps are the message's");
}

#[test]
fn a_traced_request_is_answered_with_the_steps_of_the_node_that_answers() {
    with_server(|runtime, served| async move {
        let peer = peer(&runtime);
        served.wait_for(&runtime, |_| peer.is_up()).await;
        let trace = runtime.tracing().begin([7; 16]);
        runtime.tracing().under(trace.clone(), echo(&runtime, &peer)).await;
        let steps: Vec<(String, bool)> =
            trace.steps().into_iter().map(|step| (step.activity, step.source == Some(address()))).collect();
        let expected = [
            ("Sending request to /10.0.0.1:7000", false),
            ("Message received: an echo", true),
            ("Enqueuing response", true),
            ("Processing response from /10.0.0.1:7000", false),
        ];
        assert_eq!(steps, expected.map(|(activity, is_there)| (activity.to_owned(), is_there)));
        assert!(trace.steps()[2].elapsed_micros >= 1_000, "the server waits for a millisecond");

        echo(&runtime, &peer).await;
        assert_eq!(trace.steps().len(), expected.len(), "a request of no trace adds nothing");
    });
}
