//! Passwords in a cluster: one node makes the first superuser, and all know it. Roles that may use the nodes of one datacenter alone.

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

/// A node that asks for passwords, checks datacenters and addresses, and is in this datacenter.
fn restricting(net: &Net, number: u8, datacenter: &str) -> Builder {
    let builder = net.node(number, &[1, 2]);
    let place = format!("dc={datacenter}\nrack=rack1\n");
    std::fs::write(builder.folder().join("cassandra-rackdc.properties"), place).expect("it can be written");
    builder.configured(
        "endpoint_snitch: GossipingPropertyFileSnitch\nauthenticator: PasswordAuthenticator\n\
         network_authorizer: org.apache.cassandra.auth.CassandraNetworkAuthorizer\n\
         cidr_authorizer:\n  class_name: CassandraCIDRAuthorizer\n  parameters:\n    cidr_authorizer_mode: ENFORCE\n",
    )
}

/// As in Cassandra a login with the right password succeeds everywhere, and each request is refused where the role has no access.
#[test]
fn a_role_uses_the_datacenters_that_it_has_access_to() {
    const READ: &str = "SELECT cluster_name FROM system.local";
    let net = Net::new();
    let builders = [(1, "east"), (2, "west")].map(|(number, datacenter)| restricting(&net, number, datacenter));
    let mut servers = builders.each_ref().map(Builder::launch);
    servers.iter_mut().for_each(Server::wait_until_ready);
    let secret = builders.iter().find_map(password).expect("one node has the file");
    let [mut root, _] = servers.each_ref().map(|server| log_in(server, &secret).expect("it is the password"));
    let ada = |server: &Server| {
        let opened = Connection::open(&server.address()).and_then(|client| client.logged_in("ada", "secret"));
        opened.expect("it is the password")
    };
    let [east, west] = &servers;
    let made = "CREATE ROLE ada WITH LOGIN = true AND PASSWORD = 'secret' AND ACCESS TO DATACENTERS";
    let unknown = root.query(&format!("{made} {{'north'}}")).expect_err("there is no such datacenter").to_string();
    assert!(unknown.contains("Invalid value(s) for DATACENTERS '[north]'"), "{unknown}");
    root.query(&format!("{made} {{'east'}}")).expect("it is made");
    let (mut near, mut far) = (ada(east), ada(west));
    near.query(READ).expect("it has access");
    for text in [READ, "USE system", "LIST ROLES"] {
        let refused = far.query(text).expect_err("it has no access").to_string();
        assert!(refused.contains("You do not have access to this datacenter (west)"), "{text}: {refused}");
    }
    // A change holds on the other node's next request, of connections that are there.
    root.query("ALTER ROLE ada WITH ACCESS TO DATACENTERS {'west'}").expect("it is altered");
    far.query(READ).expect("it has access");
    let refused = near.query(READ).expect_err("it has none any more").to_string();
    assert!(refused.contains("You do not have access to this datacenter (east)"), "{refused}");
    root.query("ALTER ROLE ada WITH ACCESS TO ALL DATACENTERS").expect("it is altered");
    near.query(READ).expect("it has access");
    servers.into_iter().for_each(Server::stop);
}
