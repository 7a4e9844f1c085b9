//! Liveness as operators see it on each node: after a kill at once, after a stop when the limit is over, and for a node that was stopped itself.

use helenus_tests::Server;
use serde_json::Value;

use super::nodes::{KEYSPACE, Net, connect, number_of, says, start_for_operators, until, value};

/// A node's facts of each, by the last number of its address.
fn nodes(server: &Server) -> Vec<(u8, Value)> {
    let all = value(server, "/helenus/nodes");
    let number = |node: &Value| number_of(node["endpoint"].as_str().expect("an address"));
    all.as_array().expect("a list").iter().map(|node| (number(node), node.clone())).collect()
}

/// The nodes that are up for this one, itself among them.
fn up(server: &Server) -> Vec<u8> {
    let mut up: Vec<u8> =
        nodes(server).into_iter().filter(|(_, node)| node["is_up"] == true).map(|(number, _)| number).collect();
    up.sort_unstable();
    up
}

#[test]
fn a_killed_node_is_down_at_once_a_stopped_one_by_its_silence_and_it_takes_no_other_for_dead() {
    let net = Net::new();
    let (builders, servers) = start_for_operators::<3>(&net);
    let mut servers = Vec::from(servers);
    connect(&servers[0]).query(KEYSPACE).expect("all are up");
    let all = [1, 2, 3];
    until("all are up for all", || servers.iter().all(|server| up(server) == all));
    // What a node says of itself arrives at the others.
    until("one schema, and the facts of all", || {
        servers.iter().all(|server| {
            let nodes = nodes(server);
            let schema = |(_, node): &(u8, Value)| node["life"]["schema_version"].clone();
            let has_facts = |(_, node): &(u8, Value)| {
                let life = &node["life"];
                life["generation"].is_u64() && life["load_bytes"].is_u64() && life["is_ready"] == true
            };
            nodes.iter().all(|node| has_facts(node) && schema(node).is_string() && schema(node) == schema(&nodes[0]))
        })
    });
    for (number, node) in nodes(&servers[0]).into_iter().filter(|(number, _)| *number != 1) {
        // One machine has one clock.
        let (offset, error) = (node["life"]["clock_offset_us"].as_i64(), node["life"]["clock_error_us"].as_i64());
        let (offset, error) = offset.zip(error).expect("it was measured");
        assert!(offset.abs() <= error + 1_000, "node {number}: {node}");
    }

    let killed = servers.pop().expect("there are three");
    killed.kill();
    until("the killed one is down", || servers.iter().all(|server| up(server) == [1, 2]));
    servers.iter().for_each(|server| assert!(!says(server, "it does not answer heartbeats"), "its connection ended"));
    let downtime = |number| value(&servers[0], &format!("/gossiper/downtime/{}", net.address(number))).as_u64();
    until("its downtime is counted", || downtime(3).is_some_and(|milliseconds| milliseconds > 0));
    assert_eq!([downtime(1), downtime(2)], [Some(0), Some(0)]);
    let states = value(&servers[0], "/failure_detector/endpoints/");
    let alive = |number| {
        let address = net.address(number);
        let found = states.as_array().expect("a list").iter().find(|state| state["addrs"] == address.as_str());
        found.expect("each node has a state")["is_alive"].clone()
    };
    assert_eq!([1, 2, 3].map(alive), [true, true, false]);
    servers.push(builders[2].start());
    until("it is up again", || servers.iter().all(|server| up(server) == all));

    let (stopped, others) = servers.split_last().expect("there are three");
    stopped.while_paused(|| {
        until("the stopped one is down", || others.iter().all(|server| up(server) == [1, 2]));
    });
    others.iter().for_each(|server| assert!(says(server, "it does not answer heartbeats"), "it was silent"));
    until("it is up again", || servers.iter().all(|server| up(server) == all));
    assert!(!says(&servers[2], "node is down"), "the stopped one took others for dead");
    servers.into_iter().for_each(Server::stop);
}
