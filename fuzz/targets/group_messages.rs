//! Messages between the nodes of a group, and heartbeats: the bodies that a control connection brings.

use metadata::group::{GroupMessage, GroupWire, Heartbeat};
use raft::NodeId;

const SENDER: NodeId = NodeId(1);

fn read_message(wire: &mut GroupWire, body: &[u8]) {
    let Ok(arrived) = wire.receive(SENDER, body) else { return };
    // Answers to chunks alone.
    assert!(arrived.replies.iter().all(|reply| reply.len() < 64));
    if let Some(message) = arrived.message {
        let again = sent(&message);
        assert_eq!(again, Some(message), "an encoded message decodes");
    }
}

/// The message as another node has it, if a single body holds it.
fn sent(message: &GroupMessage) -> Option<GroupMessage> {
    let bodies = GroupWire::new().encode(SENDER, message).expect("it was within the bounds");
    let mut wire = GroupWire::new();
    let arrived = bodies.iter().map(|body| wire.receive(SENDER, body).expect("encoded bodies decode"));
    arrived.last().expect("there is a body").message
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let mut wire = GroupWire::new();
    read_message(&mut wire, data);
    if let Ok(heartbeat) = Heartbeat::decode(data) {
        assert_eq!(Heartbeat::decode(&heartbeat.to_bytes()), Ok(heartbeat));
    }
    // Bodies in a row: each is a length of two bytes and its bytes.
    let mut rest = data;
    while let Some((length, tail)) = rest.split_first_chunk::<2>() {
        let (body, tail) = tail.split_at(usize::from(u16::from_be_bytes(*length)).min(tail.len()));
        read_message(&mut wire, body);
        wire.elapse();
        rest = tail;
    }
}
