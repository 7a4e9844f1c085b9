//! Nodes that leave: decommissioned while they run, removed while they are down. All others forget them, and never accept them again.

use cql_protocol::{Consistency, Event, TopologyChange};
use helenus_tests::{Builder, Connection, HttpAnswer, Server, http};
use serde_json::Value;

use super::nodes::{
    KEYSPACE, KEYSPACE_OF_ONE, Net, connect, has, number_of, start_for_operators, until, value, wait_for_voters,
};

/// The refusal of the last node.
const LAST: &str = "no other normal nodes in the ring; decommission would be pointless";

fn post(server: &Server, target: &str) -> HttpAnswer {
    http(server.api_port, "POST", target).expect("the node answers operators")
}

/// Has the node do something.
fn done(server: &Server, target: &str) {
    let answer = post(server, target);
    assert_eq!(answer.status, 200, "{target}: {}", answer.body);
}

/// The sentence of a node that does not.
fn refused(server: &Server, target: &str) -> String {
    let answer = post(server, target);
    assert_eq!(answer.status, 400, "{target}: {}", answer.body);
    let body: Value = serde_json::from_str(&answer.body).expect("an answer in JSON");
    body["message"].as_str().expect("a sentence").to_owned()
}

fn host_id(server: &Server) -> String {
    value(server, "/storage_service/hostid/local").as_str().expect("a host id").to_owned()
}

/// The host ids of the nodes that this one knows.
fn ring(server: &Server) -> Vec<String> {
    let pairs = value(server, "/storage_service/host_id");
    let pairs = pairs.as_array().expect("a list");
    pairs.iter().map(|pair| pair["value"].as_str().expect("a host id").to_owned()).collect()
}

/// Three nodes that answer operators, of which all vote; the leader is the first.
fn three(net: &Net) -> ([Builder; 3], [Server; 3]) {
    let (builders, mut servers) = start_for_operators(net);
    wait_for_voters(&mut servers[0], 3);
    let leader = format!("{}:", net.address(1));
    until("the founder leads, and all know", || {
        servers.iter().all(|server| {
            let group = value(server, "/helenus/metadata_group");
            let leads = group["leader"].as_str().is_some_and(|address| address.starts_with(&leader));
            leads && group["voters"].as_array().is_some_and(|voters| voters.len() == 3) && group["is_changing"] == false
        })
    });
    (builders, servers)
}

/// The last number of the address of the next removal.
fn next_removed(client: &mut Connection) -> u8 {
    match client.receive_event().expect("an event comes in time") {
        Event::Topology { change: TopologyChange::RemovedNode, address } => number_of(&address.ip().to_string()),
        // Removed while it is up, a node is not down before.
        other => panic!("not expected: {other:?}"),
    }
}

fn peers(client: &mut Connection) -> Vec<u8> {
    client.query("SELECT host_id FROM system.peers").expect("a local read").body
}

/// The bytes of a host id.
fn bytes(host_id: &str) -> Vec<u8> {
    let digits: Vec<u8> = host_id.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A follower, and then the leader. A majority of the voters is there all along, and what is left decides alone.
#[test]
fn two_of_three_nodes_are_decommissioned_and_the_last_one_changes_its_schema() {
    let net = Net::new();
    let (builders, servers) = three(&net);
    let [leader, last, follower] = servers;
    let ids = [&leader, &last, &follower].map(host_id);
    let mut client = connect(&last);
    client.query(KEYSPACE_OF_ONE).expect("all are up");
    client.register(&["TOPOLOGY_CHANGE"]).expect("no event comes before the answer");

    done(&follower, "/storage_service/decommission");
    // The answer comes when the change is applied everywhere.
    for server in [&leader, &last] {
        assert_eq!(ring(server).len(), 2, "{:?}", ring(server));
        assert!(!ring(server).contains(&ids[2]));
        assert_eq!(value(server, "/helenus/metadata_group")["voters"].as_array().map(Vec::len), Some(1));
    }
    let said = follower.lines_after_end().join("\n");
    assert!(said.contains("this node has left the cluster and ends"), "{said}");
    assert_eq!(next_removed(&mut client), 3);
    connect(&leader).query("CREATE TYPE lone.u (v int)").expect("a majority is up");

    done(&leader, "/storage_service/decommission");
    assert_eq!(ring(&last), [ids[1].clone()]);
    let said = leader.lines_after_end().join("\n");
    assert!(said.contains("this node has left the cluster and ends"), "{said}");
    assert_eq!(next_removed(&mut client), 1);
    let mut client = connect(&last);
    assert!(!has(&peers(&mut client), bytes(&ids[0])), "system.peers has no node");
    client.query("CREATE TABLE lone.t (k int PRIMARY KEY)").expect("the last node decides alone");
    assert_eq!(refused(&last, "/storage_service/decommission"), LAST);

    for (builder, id) in [(&builders[0], &ids[0]), (&builders[2], &ids[2])] {
        let said = builder.launch().lines_after_failure().join("\n");
        assert!(said.contains("never accepted again"), "host {id}: {said}");
    }
    assert_eq!(ring(&last), [ids[1].clone()]);
    last.stop();
}

#[test]
fn a_killed_node_is_removed_and_its_data_is_never_accepted_again() {
    let net = Net::new();
    let (builders, servers) = three(&net);
    let [leader, other, killed] = servers;
    let id = host_id(&killed);
    let target = format!("/storage_service/remove_node?host_id={id}");
    let alive = refused(&other, &target);
    assert!(
        alive.starts_with("Node /") && alive.contains("is alive and owns this ID. Use decommission command"),
        "{alive}"
    );
    assert_eq!(refused(&killed, &target), "Cannot remove self");
    let unknown = "/storage_service/remove_node?host_id=00000000-0000-4000-8000-000000000000";
    assert_eq!(refused(&other, unknown), "Host ID not found.");

    let mut client = connect(&other);
    client.query(KEYSPACE).expect("all are up");
    client.query("CREATE TABLE ks.t (k int PRIMARY KEY)").expect("all are up");
    let insert = "INSERT INTO ks.t (k) VALUES (777)";
    until("all replicas take the row", || client.query_at(insert, Consistency::All).is_ok());
    killed.kill();
    until("it is down for both", || {
        [&leader, &other].iter().all(|server| value(server, "/failure_detector/count/endpoint/down") == 1)
    });
    let few = "Not enough live nodes to maintain replication factor in keyspace ks (RF = 3, N = 3).";
    assert!(refused(&other, &target).starts_with(few));
    assert_eq!(ring(&other).len(), 3, "nothing was changed");

    let idle = "No token removals in process.";
    assert_eq!(value(&other, "/storage_service/removal_status"), idle);
    done(&other, &format!("{target}&force=true"));
    for server in [&leader, &other] {
        assert!(!ring(server).contains(&id) && ring(server).len() == 2, "{:?}", ring(server));
    }
    assert_eq!(value(&other, "/storage_service/removal_status"), idle);
    assert!(!has(&peers(&mut client), bytes(&id)));
    // A removal that was done is done.
    done(&leader, &target);

    let said = builders[2].launch().lines_after_failure().join("\n");
    assert!(said.contains("never accepted again"), "{said}");
    // Its own log knows by now, or the others refuse it as before.
    let again = builders[2].launch().lines_after_failure().join("\n");
    assert!(again.contains("never accepted again"), "{again}");
    assert_eq!(ring(&other).len(), 2);
    client.query("CREATE TABLE ks.t2 (k int PRIMARY KEY)").expect("both are up");
    let tables = client.query("SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'ks'");
    assert!(has(&tables.expect("a local read").body, "t2"));
    // An empty folder is a new node, at the same address, and gets the rows.
    let new = net.node(3, &[1]).start();
    leader.stop();
    other.stop();
    let row = connect(&new).query("SELECT k FROM ks.t WHERE k = 777").expect("its own replica is enough");
    assert!(has(&row.body, 777_i32.to_be_bytes()), "the new node has not copied the row");
    new.stop();
}
