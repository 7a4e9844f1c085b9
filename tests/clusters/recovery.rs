//! A majority of the voters is lost for good: one node begins the metadata group again, others follow it, and no two of its incarnations merge.

use helenus_tests::Builder;

use super::nodes::{Three, connect, has, until};

/// Keyspaces by name.
const KEYSPACES: &str = "SELECT keyspace_name FROM system_schema.keyspaces";

fn create(name: &str) -> String {
    format!("CREATE KEYSPACE {name} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}")
}

/// A node of the three with its data, as it is started once.
fn once(three: &Three, node: usize, arguments: &[&str]) -> Builder {
    let number = u8::try_from(node + 1).expect("one of three");
    let builder = Builder::new("auto", 1).with_data_in(three.builders[node].data());
    three.net.node_at(number, builder, &[1, 2]).with(arguments)
}

fn keyspaces(three: &mut Three, node: usize) -> Vec<u8> {
    three.connect(node).query(KEYSPACES).expect("a local read").body
}

#[test]
fn a_lost_majority_is_recovered_from_twice_and_the_two_recoveries_never_merge() {
    let mut three = Three::start();
    three.connect(0).query(&create("before")).expect("all are up");
    (0..3).for_each(|node| three.kill(node));

    three.servers[0] = Some(once(&three, 0, &["--recover-metadata"]).start());
    three.server(0).wait_for_line(&["metadata group begins again"]);
    three.connect(0).query(&create("first")).expect("alone it is a majority");
    // It is lost too, before another one has followed it.
    three.kill(0);

    three.servers[1] = Some(once(&three, 1, &["--recover-metadata"]).start());
    three.connect(1).query(&create("second")).expect("alone it is a majority");
    let leader = three.net.seed(2);
    three.servers[2] = Some(once(&three, 2, &["--recover-metadata", &leader]).start());
    until("the follower has the state", || has(&keyspaces(&mut three, 2), "second"));
    three.connect(2).query(&create("third")).expect("the recovered group has a leader");
    until("both have it", || has(&keyspaces(&mut three, 1), "third"));
    assert!(has(&keyspaces(&mut three, 2), "before"), "what was acknowledged before is kept");

    // The first one was not lost after all.
    three.restart(0);
    three.server(0).wait_for_line(&["of another metadata group"]);
    three.connect(1).query(&create("fourth")).expect("it goes on");
    let (one, other) = (keyspaces(&mut three, 0), keyspaces(&mut three, 1));
    assert!(has(&one, "first") && !has(&one, "second") && !has(&one, "fourth"), "the first recovery");
    assert!(has(&other, "fourth") && !has(&other, "first"), "the second one");
    // Their logs have the errors that they met with.
    drop(three);
}

#[test]
fn a_recovery_is_refused_while_there_is_a_leader_and_on_a_node_whose_log_is_shorter() {
    let mut three = Three::start();
    three.kill(2);
    let mut refused = once(&three, 2, &["--recover-metadata"]).launch();
    refused.wait_for_line(&["the metadata group has a leader"]);
    drop(refused);
    three.connect(0).query(&create("later")).expect("a majority is up");
    (0..2).for_each(|node| three.kill(node));
    // Alone it leads nothing, and has what the third one lacks.
    three.restart(0);
    let mut refused = once(&three, 2, &["--recover-metadata"]).launch();
    refused.wait_for_line(&["has a later metadata log"]);
    drop(refused);
    assert!(has(&connect(three.server(0)).query(KEYSPACES).expect("a local read").body, "later"));
    three.kill(0);
}
