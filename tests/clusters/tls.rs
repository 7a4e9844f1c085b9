//! Nodes that prove themselves by certificates: clusters of them, those that are refused, and certificates exchanged while statements run.

#[path = "../../crates/tls/src/tests/authority.rs"]
mod authority;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use authority::{Authority, Issued, VALID};
use cql_protocol::Consistency;
use helenus_tests::{Builder, Server};

use super::nodes::{KEYSPACE, Net, Three, connect, has, kill_despite_errors, says, until};

/// Years of a certificate that is over.
const EXPIRED: (i32, i32) = (2000, 2001);

/// Puts a node's files where its configuration has them; each takes its place at once.
fn write_files(folder: &Path, issued: &Issued, trusted: &str) {
    let keystore = format!("{}{}", issued.key, issued.certificate);
    for (name, text) in [("keystore.pem", keystore.as_str()), ("truststore.pem", trusted)] {
        let part = folder.join(format!("{name}.part"));
        std::fs::write(&part, text).expect("the temporary folder can be written");
        std::fs::rename(part, folder.join(name)).expect("the temporary folder can be written");
    }
}

/// A node with these files.
fn with_files(node: Builder, issued: &Issued, trusted: &str) -> Builder {
    let folder = node.folder();
    write_files(&folder, issued, trusted);
    let (keystore, truststore) = (folder.join("keystore.pem"), folder.join("truststore.pem"));
    node.configured(&format!(
        "server_encryption_options:\n  internode_encryption: all\n  keystore: {}\n  truststore: {}\n  require_client_auth: true\n  \
         require_endpoint_verification: true\n",
        keystore.display(),
        truststore.display()
    ))
}

/// Connections on loopback come from here, whichever of its addresses they go to.
const DIALLED_FROM: &str = "127.0.0.1";

/// A certificate for the node with this number: for the address that it listens on, and the one that it dials from.
fn issued(net: &Net, authority: &Authority, number: u8, valid: (i32, i32)) -> Issued {
    authority.issue(&[&net.address(number), DIALLED_FROM], valid)
}

/// The node with this number, with a certificate of the authority.
fn member(net: &Net, authority: &Authority, number: u8) -> Builder {
    with_files(net.node(number, &[1, 2]), &issued(net, authority, number, VALID), &authority.pem)
}

/// Three nodes of one cluster, with certificates of the authority.
fn three(authority: &Authority) -> Three {
    let net = Net::new();
    let members = [1, 2, 3].map(|number| member(&net, authority, number));
    Three::of(net, members)
}

#[test]
fn three_nodes_with_certificates_are_a_cluster_and_others_are_refused_by_name() {
    let authority = Authority::new("cluster");
    let mut three = three(&authority);
    let mut client = three.connect(0);
    client.query("CREATE TABLE ks.t (k int PRIMARY KEY, v text)").expect("a majority is up");
    let insert = "INSERT INTO ks.t (k, v) VALUES (1, 'over TLS')";
    until("all replicas take the row", || client.query_at(insert, Consistency::All).is_ok());
    for server in three.servers.iter().flatten() {
        until("the row is read from each", || {
            let read = connect(server).query("SELECT v FROM ks.t WHERE k = 1");
            read.is_ok_and(|answer| has(&answer.body, "over TLS"))
        });
    }

    let (net, other) = (&three.net, Authority::new("other"));
    let plain = net.node(4, &[1, 2]);
    let stranger = with_files(net.node(5, &[1, 2]), &issued(net, &other, 5, VALID), &authority.pem);
    let late = with_files(net.node(6, &[1, 2]), &issued(net, &authority, 6, EXPIRED), &authority.pem);
    let elsewhere = with_files(net.node(7, &[1, 2]), &authority.issue(&["10.9.8.7"], VALID), &authority.pem);
    for (builder, by_listener, by_dialler) in [
        (plain, "the peer does not use TLS and this node does", "the peer uses TLS and this node does not"),
        (
            stranger,
            "it is not signed by a trusted certificate",
            "it does not trust the issuer of this end's certificate",
        ),
        (late, "it expired at 2001-01-01T00:00:00Z", "it judges this end's certificate expired or not valid yet"),
        (elsewhere, "is not among its subject alternative names", "it does not accept this end's certificate"),
    ] {
        let mut refused = builder.launch();
        // It asks both seeds, of which either may be the first.
        three.server(0).wait_for_line(&["rejected internode connection", by_listener]);
        refused.wait_for_line(&["cannot connect to node; retrying", by_dialler]);
        assert!(refused.is_alive() && !says(&refused, "Helenus is ready"), "it goes on looking for the cluster");
        refused.kill();
    }
    three.stop();
}

#[test]
fn certificates_are_exchanged_while_statements_run_and_none_fails() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let mut three = three(&old);
    let mut client = three.connect(0);
    client.query("CREATE TABLE ks.t (k int PRIMARY KEY, v text)").expect("a majority is up");
    for server in three.servers.iter().flatten() {
        let mut client = connect(server);
        until("each shard of each node has its connections", || {
            let select = |key| format!("SELECT v FROM ks.t WHERE k = {key}");
            (0..32).all(|key| client.query_at(&select(key), Consistency::All).is_ok())
        });
    }
    let folders = three.builders.each_ref().map(Builder::folder);
    let (is_over, counts) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 3]);
    // Characters of the values: the first long ones are sent on connections for bulk, which are dialled then.
    let length = AtomicUsize::new(10);
    std::thread::scope(|scope| {
        let servers = || three.servers.iter().flatten();
        let writers: Vec<_> = (0..)
            .zip(servers())
            .zip(&counts)
            .map(|((writer, server), count)| {
                let (mut client, is_over, length) = (connect(server), &is_over, &length);
                scope.spawn(move || {
                    // At ALL each statement is also a request to both other nodes, and fails with it.
                    for key in (writer..).step_by(3) {
                        if is_over.load(Ordering::Relaxed) {
                            return;
                        }
                        let value = "v".repeat(length.load(Ordering::Relaxed));
                        let insert = format!("INSERT INTO ks.t (k, v) VALUES ({key}, '{value}')");
                        client.query_at(&insert, Consistency::All).expect("no statement fails");
                        let select = format!("SELECT v FROM ks.t WHERE k = {key}");
                        let found = client.query_at(&select, Consistency::All).expect("no statement fails");
                        assert!(has(&found.body, &value), "the row is what was written");
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let all_go_on = || {
            let before = counts.each_ref().map(|count| count.load(Ordering::Relaxed));
            until("statements go on through all nodes", || {
                let have_more =
                    counts.iter().zip(before).all(|(count, before)| count.load(Ordering::Relaxed) > before + 1);
                have_more || writers.iter().any(|writer| writer.is_finished())
            });
        };
        all_go_on();
        // As an operator does it: all trust the new authority, then all are of it, then none trusts the old one.
        let both = format!("{}{}", old.pem, new.pem);
        for (round, (authority, trusted)) in [(&old, &both), (&new, &both), (&new, &new.pem)].into_iter().enumerate() {
            for (number, folder) in (1..).zip(&folders) {
                write_files(folder, &issued(&three.net, authority, number, VALID), trusted);
            }
            for server in servers() {
                until("the node has reloaded its certificates", || {
                    let lines = server.lines();
                    lines.iter().filter(|line| line.contains("TLS certificates reloaded")).count() > round
                });
            }
            all_go_on();
            length.store(100_000, Ordering::Relaxed);
        }
        all_go_on();
        is_over.store(true, Ordering::Relaxed);
    });
    // What dials from here on uses the new ones: a node that comes back trusts no other.
    three.servers[2].take().expect("it runs").stop();
    three.restart(2);
    let mut client = three.connect(2);
    until("it reads what was written, from the others", || {
        client.query("SELECT v FROM ks.t WHERE k = 0").is_ok()
            && client.query("CREATE TABLE IF NOT EXISTS ks.u (k int PRIMARY KEY)").is_ok()
    });
    // The old certificates are strangers now.
    let issued = issued(&three.net, &old, 4, VALID);
    let old = with_files(three.net.node(4, &[1, 2]), &issued, &format!("{}{}", old.pem, new.pem)).launch();
    three.server(0).wait_for_line(&["rejected internode connection", "it is not signed by a trusted certificate"]);
    old.kill();
    three.stop();
}

#[test]
fn a_bad_file_is_an_error_line_and_the_certificate_in_use_stays() {
    let mut three = three(&Authority::new("cluster"));
    let truststore = three.builders[2].folder().join("truststore.pem");
    std::fs::write(truststore, "no PEM").expect("the temporary folder can be written");
    three.server(2).wait_for_line(&["ERROR", "cannot reload TLS certificates; keeping those in use", "is not PEM"]);
    // Connections that are made from here on are made with the certificate that was there before.
    three.servers[0].take().expect("it runs").stop();
    three.restart(0);
    let [first, second, third] = three.servers.map(|server| server.expect("it runs"));
    until("the node that came back leads or follows", || connect(&first).query(KEYSPACE).is_ok());
    let create = "CREATE TABLE IF NOT EXISTS ks.t (k int PRIMARY KEY)";
    until("a majority is up", || connect(&first).query(create).is_ok());
    until("the node with the bad file follows", || connect(&third).query("SELECT k FROM ks.t WHERE k = 1").is_ok());
    assert!(!says(&third, "TLS handshake failed") && !says(&first, "TLS handshake failed"));
    kill_despite_errors(third);
    [first, second].into_iter().for_each(Server::stop);
}
