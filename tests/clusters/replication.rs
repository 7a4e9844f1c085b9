//! Keyspaces whose replication changes while clients read and write, and nodes that copy their ranges again.

use std::thread;

use cql_protocol::Consistency;
use helenus_tests::{Builder, Connection, Server, nodetool, pick};

use super::nodes::{Net, connect, has, start_all, start_for_operators, until, value, wait_for_voters};
use super::operations::{Load, done, fill, has_rows, hurry, keyspace, sees_down, three_slow};

/// Changes the number of replicas. Gives the answer, with its warnings.
pub(super) fn alter(client: &mut Connection, name: &str, factor: u8) -> Vec<u8> {
    let create = keyspace(name, factor);
    let alter = create.replacen("CREATE", "ALTER", 1);
    client.query(&alter).expect("all are up").body
}

/// Waits until no operation is there and no node has leftovers, on all of them.
pub(super) fn at_rest(servers: &[&Server]) {
    until("operations have ended and leftovers are dropped", || {
        servers.iter().all(|server| {
            let facts = value(server, "/helenus/operations");
            let is_empty = |name: &str| facts[name].as_array().is_some_and(Vec::is_empty);
            is_empty("operations") && is_empty("unclean")
        })
    });
}

/// The replication of a keyspace in the schema.
fn replication(client: &mut Connection, name: &str) -> Vec<u8> {
    let select = format!("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = '{name}'");
    client.query(&select).expect("a local read").body
}

/// Three replicas, two and three: one of the two may not have a write that was acknowledged before, and the third one copies from one of them alone.
#[test]
fn a_write_that_one_replica_has_missed_outlives_fewer_replicas_and_more() {
    let net = Net::new();
    let (builders, [mut first, second, third]) = start_for_operators(&net);
    wait_for_voters(&mut first, 3);
    let mut client = connect(&first);
    client.query(&keyspace("ks", 3)).expect("all are up");
    client.query("CREATE TABLE ks.rows (k int PRIMARY KEY, v text)").expect("all are up");
    for server in [&first, &second] {
        done(server, "disablehandoff");
    }
    third.kill();
    sees_down(&first, 1);
    for key in 0..150 {
        let insert = format!("INSERT INTO ks.rows (k, v) VALUES ({key}, 'row {key}:')");
        client.query_at(&insert, Consistency::Quorum).expect("two are up");
    }
    let third = builders[2].start();
    for server in [&first, &second] {
        sees_down(server, 0);
    }
    for factor in [2, 3] {
        alter(&mut client, "ks", factor);
        at_rest(&[&first, &second, &third]);
    }
    first.stop();
    sees_down(&second, 1);
    has_rows(&third, "ks.rows", 150, Consistency::Quorum, |_| true);
    [second, third].into_iter().for_each(Server::stop);
}

/// From one replica to three, and back: rows that were there before, and those that clients write meanwhile.
#[test]
fn a_keyspace_gets_three_replicas_and_one_again_while_clients_read_and_write() {
    let net = Net::new();
    let (_builders, [mut first, second, third]) = start_for_operators(&net);
    wait_for_voters(&mut first, 3);
    let mut client = connect(&first);
    client.query(&keyspace("ks", 1)).expect("all are up");
    client.query("CREATE TABLE ks.rows (k int PRIMARY KEY, v text) WITH gc_grace_seconds = 0").expect("all are up");
    let rows = pick(200, 20_000);
    fill(&first, "ks.rows", rows, 200);
    let load = Load::new(&net, 3);
    load.prepare(&mut client);
    client.query(&keyspace("two", 1)).expect("all are up");
    client.query("CREATE TABLE two.rows (k int PRIMARY KEY, v text)").expect("all are up");
    fill(&first, "two.rows", 50, 20);
    let is_kept = |key: usize| key.is_multiple_of(2);
    load.beside(|| {
        let warned = alter(&mut client, "ks", 3);
        let words = "Operation 1 copies the data of keyspace ks to its new replicas: nodetool operations";
        assert!(has(&warned, words), "{:?}", String::from_utf8_lossy(&warned));
        assert!(has(&warned, "you need to run a full (-full) repair"), "Cassandra's own words too");
        assert!(has(&alter(&mut client, "two", 2), "Operation 2 copies the data of keyspace two"));
        assert!(has(&replication(&mut client, "ks"), "datacenter1\0\0\0\u{1}3"), "the schema has it at once");
        at_rest(&[&first, &second, &third]);
        load.more_answers();
        for server in [&first, &second, &third] {
            // A read of one replica is one of the node that is asked, where it is a replica.
            has_rows(server, "ks.rows", rows, Consistency::One, |_| true);
        }
        assert!(has(&alter(&mut client, "ks", 1), "Operation 3 copies the data of keyspace ks"));
        at_rest(&[&first, &second, &third]);
        load.more_answers();
    });
    has_rows(&second, "ks.rows", rows, Consistency::All, |_| true);
    has_rows(&second, "two.rows", 50, Consistency::All, |_| true);
    // A replica that gets its ranges back has none of the rows that were deleted meanwhile.
    for key in (0..rows).filter(|key| !is_kept(*key)) {
        client.query(&format!("DELETE FROM ks.rows WHERE k = {key}")).expect("all are up");
    }
    for (server, line) in
        [&first, &second, &third].into_iter().flat_map(|server| [(server, "flush ks"), (server, "compact ks")])
    {
        done(server, line);
    }
    alter(&mut client, "ks", 3);
    at_rest(&[&first, &second, &third]);
    load.judge(&[&first, &second, &third]);
    [first, second].into_iter().for_each(Server::kill);
    sees_down(&third, 2);
    has_rows(&third, "ks.rows", rows, Consistency::One, is_kept);
    third.stop();
}

/// True if an operation is in a phase, as a node knows it.
fn is_in(server: &Server, number: u64, phase: &str) -> bool {
    let facts = value(server, "/helenus/operations");
    let mut all = facts["operations"].as_array().expect("a list").iter();
    all.any(|operation| operation["number"] == number && operation["phase"] == phase)
}

/// While its data is copied the replication of a keyspace is altered and aborted, and the keyspace is dropped.
#[test]
fn a_replication_that_is_aborted_is_the_one_from_before() {
    let net = Net::new();
    let (_builders, servers) = three_slow(&net);
    let [first, second, third] = &servers;
    let mut client = connect(first);
    client.query(&keyspace("ks", 1)).expect("all are up");
    client.query("CREATE TABLE ks.rows (k int PRIMARY KEY, v text)").expect("all are up");
    let rows = pick(300, 4_000);
    fill(first, "ks.rows", rows, 2_000);
    let before = replication(&mut client, "ks");
    alter(&mut client, "ks", 3);
    until("it copies", || is_in(first, 1, "copy"));
    let listed = done(second, "operations").output;
    assert!(listed.contains("1 replication: copy\n    keyspace: ks\n"), "{listed}");
    // Another one waits for it, and begins where the aborted one began.
    assert!(has(&alter(&mut client, "ks", 2), "Operation 2 copies the data of keyspace ks"));
    assert!(is_in(first, 2, "queued"));
    done(first, "operations abort 1");
    until("the other one copies", || is_in(first, 3, "copy"));
    done(second, "operations abort 3");
    at_rest(&[first, second, third]);
    assert_eq!(replication(&mut client, "ks"), before, "the schema has it too");
    has_rows(third, "ks.rows", rows, Consistency::All, |_| true);

    // A keyspace that is dropped takes its operation along, and another one may have its name.
    alter(&mut client, "ks", 3);
    until("it copies", || is_in(first, 4, "copy"));
    client.query("DROP KEYSPACE ks").expect("all are up");
    at_rest(&[first, second, third]);
    client.query(&keyspace("ks", 1)).expect("all are up");
    client.query("CREATE TABLE ks.rows (k int PRIMARY KEY, v text)").expect("all are up");
    fill(first, "ks.rows", 50, 20);
    has_rows(third, "ks.rows", 50, Consistency::All, |_| true);
    servers.into_iter().for_each(Server::stop);
}

#[test]
fn a_node_copies_its_ranges_again_unless_that_is_aborted() {
    let net = Net::new();
    let (_builders, servers) = three_slow(&net);
    let [first, second, third] = &servers;
    let mut client = connect(first);
    done(second, "rebuild");
    client.query(&keyspace("ks", 3)).expect("all are up");
    client.query("CREATE TABLE ks.rows (k int PRIMARY KEY, v text)").expect("all are up");
    fill(first, "ks.rows", 300, 2_000);
    let none = nodetool(second, "rebuild -- dc9");
    assert_eq!(none.code, 1);
    assert!(none.errors.contains("available datacenters are: datacenter1"), "{}", none.errors);
    thread::scope(|scope| {
        let rebuilding = scope.spawn(|| nodetool(third, "rebuild"));
        until("the node copies", || is_in(first, 1, "copy"));
        let again = nodetool(third, "rebuild");
        assert!(again.errors.contains("Node is still rebuilding (operation 1)"), "{}", again.errors);
        done(first, "operations abort 1");
        let aborted = rebuilding.join().expect("it is run");
        assert_eq!(aborted.code, 2);
        let words = "operation 1 was aborted; the node has not copied all of its ranges";
        assert!(aborted.errors.contains(words), "{}", aborted.errors);
    });
    servers.iter().for_each(hurry);
    done(third, "rebuild -- datacenter1");
    has_rows(third, "ks.rows", 300, Consistency::One, |_| true);
    servers.into_iter().for_each(Server::stop);
}

/// A node whose datacenter a file beside its configuration names.
fn node_of(net: &Net, number: u8, datacenter: &str) -> Builder {
    let builder = net.node_at(number, Builder::new("auto", 1).for_operators(), &[1]);
    let place = format!("dc={datacenter}\nrack=rack1\n");
    std::fs::write(builder.folder().join("cassandra-rackdc.properties"), place).expect("it can be written");
    builder.configured("endpoint_snitch: GossipingPropertyFileSnitch\n")
}

/// A datacenter is added to a keyspace, served by itself, lost for good, and taken out again.
#[test]
fn a_datacenter_is_added_and_taken_out_again() {
    let net = Net::new();
    let [mut first, second, third] =
        [(1, "dc1"), (2, "dc1"), (3, "dc2")].map(|(number, name)| node_of(&net, number, name).start());
    wait_for_voters(&mut first, 3);
    let mut client = connect(&first);
    let replication =
        |factors: &str| format!("KEYSPACE ks WITH replication = {{'class': 'NetworkTopologyStrategy', {factors}}}");
    client.query(&format!("CREATE {}", replication("'dc1': 2"))).expect("all are up");
    client.query("CREATE TABLE ks.rows (k int PRIMARY KEY, v text)").expect("all are up");
    fill(&first, "ks.rows", 150, 100);
    client.query(&format!("ALTER {}", replication("'dc1': 2, 'dc2': 1"))).expect("all are up");
    at_rest(&[&first, &second, &third]);
    has_rows(&third, "ks.rows", 150, Consistency::LocalQuorum, |_| true);
    done(&third, "rebuild -- dc1");
    let unknown = client.query(&format!("ALTER {}", replication("'dc1': 2, 'dc9': 1"))).expect_err("it has no node");
    assert!(unknown.to_string().contains("Unrecognized strategy option {dc9}"), "{unknown}");

    let id = value(&third, "/storage_service/hostid/local").as_str().expect("a host id").to_owned();
    third.kill();
    sees_down(&first, 1);
    let without = format!("ALTER {}", replication("'dc1': 2"));
    let refused = client.query(&without).expect_err("none of it is up").to_string();
    assert!(refused.contains("Datacenter dc2 cannot be taken out of the replication of keyspace ks"), "{refused}");
    assert!(refused.contains(&format!("nodetool removenode --force {id}")), "{refused}");
    done(&first, &format!("removenode --force {id}"));
    let altered = client.query(&without).expect("its nodes are gone").body;
    assert!(!has(&altered, "Operation"), "nothing moves");
    at_rest(&[&first, &second]);
    has_rows(&second, "ks.rows", 150, Consistency::All, |_| true);
    [first, second].into_iter().for_each(Server::stop);
}

/// All nodes are killed while they copy: the operation goes on when they are back, and until then the replicas from before are read.
#[test]
fn a_replication_goes_on_when_all_nodes_are_started_again() {
    let net = Net::new();
    let (builders, servers) = three_slow(&net);
    let mut client = connect(&servers[0]);
    client.query(&keyspace("ks", 1)).expect("all are up");
    client.query("CREATE TABLE ks.rows (k int PRIMARY KEY, v text)").expect("all are up");
    fill(&servers[0], "ks.rows", 300, 2_000);
    alter(&mut client, "ks", 3);
    until("it copies", || is_in(&servers[0], 1, "copy"));
    drop(client);
    servers.into_iter().for_each(Server::kill);
    let servers = start_all(&builders);
    let [first, second, third] = &servers;
    servers.iter().for_each(|server| sees_down(server, 0));
    assert!(is_in(first, 1, "copy"), "the copy has ended before its time");
    has_rows(second, "ks.rows", 300, Consistency::One, |_| true);
    servers.iter().for_each(hurry);
    at_rest(&[first, second, third]);
    for server in &servers {
        has_rows(server, "ks.rows", 300, Consistency::One, |_| true);
    }
    servers.into_iter().for_each(Server::stop);
}
