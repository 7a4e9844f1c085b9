//! Nodes without a cluster: who founds it, who waits, and who joins.

use super::nodes::{FOUNDING, KEYSPACE_OF_ONE, Net, connect, has, says};

#[test]
fn where_no_node_calls_itself_a_seed_all_end_and_name_the_setting() {
    let net = Net::new();
    let nodes = [(1, [2]), (2, [3]), (3, [1])].map(|(number, seeds)| net.node(number, &seeds).launch());
    for node in nodes {
        let said = node.lines_after_failure().join("\n");
        assert!(said.contains("no node of the seed lists calls itself a seed"), "{said}");
        assert!(said.contains("--seeds"), "the setting: {said}");
    }
}

#[test]
fn a_seed_that_does_not_answer_is_named_and_waited_for() {
    let net = Net::new();
    let mut first = net.node(1, &[1, 2]).launch();
    first.wait_for_line(&["waiting for nodes that do not answer", &net.seed(2)]);
    assert!(!says(&first, FOUNDING));
    let mut second = net.node(2, &[1, 2]).launch();
    first.wait_until_ready();
    second.wait_until_ready();
    assert!(says(&first, FOUNDING) != says(&second, FOUNDING), "one of them founds the cluster");
    first.stop();
    second.stop();
}

/// Looking for its cluster, and while the cluster cannot register it.
#[test]
fn a_node_that_waits_for_others_ends_in_order_when_it_is_told_to() {
    let net = Net::new();
    let mut waiting = net.node(1, &[1, 2]).launch();
    waiting.wait_for_line(&["waiting for nodes that do not answer", &net.seed(2)]);
    waiting.stop();
    let first = net.node(3, &[3]).start();
    let second = net.node(4, &[3]);
    second.start().stop();
    let third = net.node(5, &[4]);
    // Its only seed is known to no cluster that runs.
    let mut joining = third.launch();
    joining.wait_for_line(&["looking for the cluster"]);
    joining.stop();
    first.stop();
}

/// It founds, restarts before another node has joined, and is joined then.
#[test]
fn a_founder_that_is_not_to_wait_restarts_alone_and_is_joined_later() {
    let net = Net::new();
    let founder = net.node(1, &[1, 2]).with(&["--found-cluster"]);
    let first = founder.start();
    assert!(says(&first, FOUNDING));
    first.kill();
    let first = founder.start();
    assert!(!says(&first, FOUNDING), "it has founded before");
    let second = net.node(2, &[1, 2]).start();
    assert!(!says(&second, FOUNDING));
    connect(&second).query(KEYSPACE_OF_ONE).expect("it is of the cluster");
    let keyspaces = connect(&first).query("SELECT keyspace_name FROM system_schema.keyspaces").expect("a local read");
    assert!(has(&keyspaces.body, "lone"));
    second.stop();
    first.stop();
}

/// Its data directory is of a node that was alone, without seeds.
#[test]
fn a_node_that_was_alone_is_joined_and_shares_its_rows() {
    let net = Net::new();
    let alone = helenus_tests::Builder::new("auto", 1);
    let before = alone.start();
    let mut client = connect(&before);
    client.query(KEYSPACE_OF_ONE).expect("it is alone");
    client.query("CREATE TABLE lone.t (k int PRIMARY KEY, v text)").expect("it is alone");
    client.query("INSERT INTO lone.t (k, v) VALUES (1, 'written alone')").expect("it is alone");
    before.stop();
    let first = net.node_at(1, alone, &[1]).start();
    let mut client = connect(&first);
    let row = client.query("SELECT v FROM lone.t WHERE k = 1").expect("it is as before");
    assert!(has(&row.body, "written alone"));
    let second = net.node(2, &[1]).start();
    let mut joined = connect(&second);
    let row = joined.query("SELECT v FROM lone.t WHERE k = 1").expect("both are up");
    assert!(has(&row.body, "written alone"));
    joined.query("CREATE TABLE lone.after_joining (k int PRIMARY KEY)").expect("it is of the cluster");
    let tables = client.query("SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'lone'");
    assert!(has(&tables.expect("a local read").body, "after_joining"), "all nodes have it when it is answered");
    second.stop();
    first.stop();
}

/// The log of a node without a keyspace has more changes than the cluster that it joins.
#[test]
fn a_node_alone_without_a_keyspace_leaves_its_group_for_another() {
    let net = Net::new();
    let alone = net.node(2, &[2]);
    let before = alone.start();
    let mut client = connect(&before);
    for _ in 0..10 {
        client.query(KEYSPACE_OF_ONE).expect("it is alone");
        client.query("DROP KEYSPACE lone").expect("it is alone");
    }
    before.stop();
    let mut first = net.node(1, &[1]).start();
    let second = net.node_at(2, alone, &[1]).start();
    assert!(says(&second, "joined the cluster"));
    connect(&second).query(KEYSPACE_OF_ONE).expect("it is of the cluster");
    let keyspaces = connect(&first).query("SELECT keyspace_name FROM system_schema.keyspaces").expect("a local read");
    assert!(has(&keyspaces.body, "lone"));
    first.wait_for_line(&["node is up"]);
    second.stop();
    first.stop();
}

/// It would serve clients without the others.
#[test]
fn a_node_of_a_cluster_does_not_start_without_seeds() {
    let net = Net::new();
    let first = net.node(1, &[1]).start();
    let builder = net.node(2, &[1]);
    builder.start().stop();
    let alone = helenus_tests::Builder::new("auto", 1).with_data_in(builder.data());
    let said = alone.launch().lines_after_failure().join("\n");
    assert!(said.contains("is of a node of a cluster with others (1), and no seeds"), "{said}");
    builder.start().stop();
    first.stop();
}
