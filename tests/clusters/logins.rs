//! Passwords in a cluster: one node makes the first superuser, and all know it.

use std::path::PathBuf;

use helenus_tests::{Builder, Connection, Net, Server};

fn file(builder: &Builder) -> PathBuf {
    builder.data().join("initial-superuser")
}

fn password(builder: &Builder) -> Option<String> {
    let text = std::fs::read_to_string(file(builder)).ok()?;
    Some(text.lines().find_map(|line| line.strip_prefix("password: ")).expect("it has the password").to_owned())
}

fn log_in(server: &Server, password: &str) -> std::io::Result<Connection> {
    Connection::open(&server.address())?.logged_in("cassandra", password)
}

/// Nodes that start at once may each draw a password and write it. The one whose proposal comes first counts; the others remove their files before they are ready.
#[test]
fn nodes_that_start_at_once_have_one_superuser_and_one_file() {
    let net = Net::new();
    let builder = |number| net.node(number, &[1, 2]).with(&["--authenticator", "PasswordAuthenticator"]);
    let builders = [1, 2, 3].map(builder);
    let mut servers = builders.each_ref().map(Builder::launch);
    servers.iter_mut().for_each(Server::wait_until_ready);
    let passwords: Vec<String> = builders.iter().filter_map(password).collect();
    assert_eq!(passwords.len(), 1, "one node has the file");
    for server in &servers {
        let mut client = log_in(server, &passwords[0]).expect("all nodes know the superuser");
        client.query("SELECT cluster_name FROM system.local").expect("is served");
        log_in(server, "another").map(drop).expect_err("that is not its password");
    }
    let joining = builder(4);
    let joined = joining.start();
    assert!(!file(&joining).exists(), "the superuser was there before this node");
    log_in(&joined, &passwords[0]).expect("it knows the superuser");
    joined.stop();
    let [first, second, third] = servers;
    third.stop();
    second.stop();
    first.stop();
    let mut servers = builders.each_ref().map(Builder::launch);
    servers.iter_mut().for_each(Server::wait_until_ready);
    let after: Vec<String> = builders.iter().filter_map(password).collect();
    assert_eq!(after, passwords, "no start makes another");
    servers.into_iter().for_each(Server::stop);
}
