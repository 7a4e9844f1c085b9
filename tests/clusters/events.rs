//! Events of nodes for clients that registered for them.

use cql_protocol::{Event, StatusChange, TopologyChange, Version};
use helenus_tests::{Builder, Connection, Server, query_frame};

use super::nodes::{KEYSPACE, KEYSPACE_OF_ONE, Net, connect, number_of, until};

/// A client that registered for events of nodes.
fn registered(server: &Server) -> Connection {
    let mut client = connect(server);
    client.register(&["TOPOLOGY_CHANGE", "STATUS_CHANGE"]).expect("no event comes before the answer");
    client
}

/// Waits for the next event, and gives its name and the last number of its address.
fn next(client: &mut Connection) -> (&'static str, u8) {
    let (name, address) = match client.receive_event().expect("an event comes in time") {
        Event::Topology { change: TopologyChange::NewNode, address } => ("NEW_NODE", address),
        Event::Topology { change: TopologyChange::RemovedNode, address } => ("REMOVED_NODE", address),
        Event::Status { change: StatusChange::Up, address } => ("UP", address),
        Event::Status { change: StatusChange::Down, address } => ("DOWN", address),
        Event::Schema(change) => panic!("not asked for: {change:?}"),
    };
    (name, number_of(&address.ip().to_string()))
}

/// Clients of both shards get each event once, in one order.
#[test]
fn clients_hear_of_a_node_that_joins_is_killed_and_is_back() {
    let net = Net::new();
    let first = net.node_at(1, Builder::new("auto", 2), &[1]).start();
    let mut clients: Vec<Connection> = (0..4).map(|_| registered(&first)).collect();
    let mut all_get = |events: &[(&str, u8)]| {
        for (number, client) in clients.iter_mut().enumerate() {
            events.iter().for_each(|event| assert_eq!(next(client), *event, "client {number}, of {events:?}"));
        }
    };
    let builder = net.node(2, &[1]);
    let second = builder.start();
    all_get(&[("NEW_NODE", 2), ("UP", 2)]);
    second.kill();
    all_get(&[("DOWN", 2)]);
    let second = builder.start();
    all_get(&[("UP", 2)]);
    second.stop();
    all_get(&[("DOWN", 2)]);
    let moved = net.node_at(3, Builder::new("auto", 1).with_data_in(builder.data()), &[1]).start();
    all_get(&[("REMOVED_NODE", 2), ("NEW_NODE", 3), ("UP", 3)]);
    // An event that came twice would be here in place of the answer.
    clients.iter_mut().for_each(|client| drop(client.query("SELECT key FROM system.local").expect("an answer")));
    moved.stop();
    first.stop();
}

/// Its own clients hear nothing of a node itself, and nothing that was so before its start.
#[test]
fn clients_hear_of_other_nodes_alone() {
    let net = Net::new();
    let first = net.node(1, &[1]).start();
    let second = net.node(2, &[1]).start();
    let mut client = registered(&second);
    // Sent to the leader, which is up then.
    let mut other = connect(&second);
    until("the leader answers", || other.query(KEYSPACE_OF_ONE).is_ok());
    first.stop();
    let mut event = next(&mut client);
    // When it began to accept clients the other one may have been down, as far as it knew.
    if event == ("UP", 1) {
        event = next(&mut client);
    }
    assert_eq!(event, ("DOWN", 1));
    second.stop();
}

/// It has replies to write still, and accepts no further clients.
#[test]
fn a_node_that_ends_is_down_before_its_last_reply() {
    let net = Net::new();
    let first = net.node(1, &[1]).start();
    let mut client = registered(&first);
    let second = net.node(2, &[1]).start();
    assert_eq!([next(&mut client), next(&mut client)], [("NEW_NODE", 2), ("UP", 2)]);
    let mut of_second = connect(&second);
    // Both nodes have all rows, so the read is a local one.
    for text in [KEYSPACE, "CREATE TABLE ks.t (k int PRIMARY KEY, v blob)"] {
        of_second.query(text).expect("all are up");
    }
    let insert = of_second.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?)").expect("the table is there");
    let value = vec![7; 256 << 10];
    for key in 0..128_i32 {
        of_second.execute(&insert, &[&key.to_be_bytes(), &value]).expect("all are up");
    }
    // A reply for which the kernel has no room between the node and a client that does not read. The node has both requests when it answers the first.
    let texts = ["SELECT key FROM system.local", "SELECT v FROM ks.t"];
    of_second.send(&texts.map(|text| query_frame(Version::V4, 1, text)).concat()).expect("the node reads it");
    of_second.receive().expect("an answer");
    let stopping = std::thread::spawn(move || second.stop());
    assert_eq!(next(&mut client), ("DOWN", 2));
    let reply = of_second.receive().expect("the whole reply is written all the same");
    assert!(reply.opcode == 0x08 && reply.body.len() > 128 * value.len(), "{}", reply.body.len());
    stopping.join().expect("it ends in order");
    first.stop();
}
