//! Nodes that meet and are not of one cluster: two groups, and other secrets.

use std::os::unix::fs::PermissionsExt;

use helenus_tests::Server;

use super::nodes::{KEYSPACE_OF_ONE, Net, connect, kill_despite_errors, says};

/// Both go on serving, and each has a line that names a group.
#[test]
fn two_clusters_never_merge() {
    let (one, other) = (Net::new(), Net::new());
    let moved = one.node(1, &[1]);
    let mut servers = [moved.start(), one.node(2, &[1]).start(), other.node(1, &[1]).start()];
    // A cluster without a keyspace and without another node would be left for another.
    servers.iter().for_each(|server| {
        connect(server).query(KEYSPACE_OF_ONE).expect("a majority is up");
    });
    let [first, second, mut stranger] = servers;
    first.stop();
    let seeds = format!("{},{}", one.seed(1), other.seed(1));
    let mut first = one.with_seeds(1, moved, &seeds).start();
    first.wait_for_line(&["seed is of another metadata group", "group=", "clusters never merge"]);
    stranger.wait_for_line(&["rejected internode connection", "group=", "two clusters never merge"]);
    servers = [first, second, stranger];
    for server in &servers {
        connect(server).query("CREATE TABLE lone.t (k int PRIMARY KEY)").map(drop).unwrap_or_else(|error| {
            // Two of them are of one cluster.
            assert!(error.to_string().contains("already existing"), "{error}");
        });
    }
    servers.into_iter().for_each(|server| _ = kill_despite_errors(server));
}

/// A file with a secret, beside the data of a node.
pub fn secret_file(of: &helenus_tests::Builder, secret: &str) -> String {
    let file = of.data().with_extension("secret");
    std::fs::write(&file, secret).expect("the temporary folder can be written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o400)).expect("the file is ours");
    file.to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn a_node_without_the_secret_or_with_another_one_is_not_accepted() {
    let net = Net::new();
    let with_secret = |number, secret: &str| {
        let node = net.node(number, &[1]);
        let file = secret_file(&node, secret);
        node.with(&["--internode-secret-file", &file])
    };
    let mut founder = with_secret(1, "the secret of the cluster").start();
    let mut refused = [net.node(2, &[1]).launch(), with_secret(3, "the secret of another one").launch()];
    for node in &mut refused {
        node.wait_for_line(&["secret not proven; give all nodes the same internode_secret_file"]);
    }
    founder.wait_for_line(&["rejected internode connection", "secret not proven"]);
    with_secret(4, "the secret of the cluster").start().stop();
    for mut node in refused {
        assert!(node.is_alive() && !says(&node, "Helenus is ready"), "it goes on looking for the cluster");
        node.kill();
    }
    Server::stop(founder);
}

#[test]
fn a_port_for_other_nodes_that_is_open_to_the_world_needs_a_secret() {
    let net = Net::new();
    // An address of documentation, which the node must not try to listen on.
    let open = net.node(1, &[1]).with_only(&["--seeds", "192.0.2.1", "--listen-address", "192.0.2.1"]);
    let said = open.launch().lines_after_failure().join("\n");
    assert!(
        said.contains("listen_address 192.0.2.1 is not loopback and there is neither internode_secret_file"),
        "{said}"
    );
}
