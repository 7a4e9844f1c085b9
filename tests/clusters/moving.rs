//! Nodes that come back at another address: their identity is the host id.

use helenus_tests::{Builder, Server};

use super::nodes::{KEYSPACE_OF_ONE, Net, REGISTERED, Three, connect, has, until};

/// Moves nodes of three to addresses that end in 4, 5 and 6.
fn move_nodes(three: &mut Three, nodes: &[usize]) {
    nodes.iter().for_each(|node| three.kill(*node));
    for node in nodes {
        let data = three.builders[*node].data();
        let at = u8::try_from(node + 4).expect("a small number");
        three.builders[*node] = three.net.node_at(at, Builder::new("auto", 1).with_data_in(data), &[1, 2, 4, 5, 6]);
    }
    three.restart_all(nodes);
}

fn is_changed_by_all(three: &mut Three, name: char) {
    for node in 0..3 {
        let mut client = three.connect(node);
        let create = format!("CREATE TABLE IF NOT EXISTS ks.{name}{node} (k int PRIMARY KEY)");
        until("a leader answers", || client.query(&create).is_ok());
    }
    let tables = three.agreed("SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'ks'");
    assert!((0..3).all(|node| has(&tables, format!("{name}{node}"))));
}

#[test]
fn a_node_that_restarts_at_another_address_is_followed_there() {
    let mut three = Three::start();
    let kept = three.builders.clone();
    let (founder, follower) = (three.founder, (three.founder + 1) % 3);
    for (round, node) in [follower, founder].into_iter().enumerate() {
        move_nodes(&mut three, &[node]);
        let address = three.net.address(u8::try_from(node + 4).expect("a small number"));
        three.server(node).wait_for_line(&[REGISTERED, &address]);
        is_changed_by_all(&mut three, char::from(b'a' + u8::try_from(round).expect("two rounds")));
    }
    three.stop();
    drop(kept);
}

/// The majority has other addresses than the log says.
#[test]
fn nodes_that_all_restart_at_other_addresses_find_each_other() {
    let mut three = Three::start();
    let kept = three.builders.clone();
    move_nodes(&mut three, &[0, 1, 2]);
    is_changed_by_all(&mut three, 'c');
    three.stop();
    drop(kept);
}

/// It has no vote.
#[test]
fn the_second_of_two_nodes_moves() {
    let net = Net::new();
    let first = net.node(1, &[1]).start();
    let builder = net.node(2, &[1]);
    builder.start().stop();
    let moved = net.node_at(3, Builder::new("auto", 1).with_data_in(builder.data()), &[1]).start();
    let mut client = connect(&moved);
    until("the leader answers", || client.query(KEYSPACE_OF_ONE).is_ok());
    Server::stop(moved);
    first.stop();
}
