//! The place of a node that is alone, as its snitch says: keyspaces name its datacenter.

use helenus_tests::Builder;

use super::nodes::{connect, has};

#[test]
fn a_lone_node_has_the_place_of_its_snitch_and_keeps_it() {
    let builder = Builder::new("auto", 1);
    let folder = builder.folder();
    let place =
        |text: &str| std::fs::write(folder.join("cassandra-rackdc.properties"), text).expect("it can be written");
    place("# as Cassandra ships it\ndc=DC1\nrack=RAC1\n");
    let builder = builder.configured("endpoint_snitch: org.apache.cassandra.locator.GossipingPropertyFileSnitch\n");
    let server = builder.start();
    let mut client = connect(&server);
    let local = client.query("SELECT data_center, rack FROM system.local").expect("a local read").body;
    assert!(has(&local, "DC1") && has(&local, "RAC1"));
    let keyspace = "CREATE KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 1}";
    client.query(keyspace).expect("its datacenter is known");
    server.stop();
    place("dc=DC2\nrack=RAC1\n");
    let said = builder.launch().lines_after_failure().join("\n");
    let sentence = "Cannot start node if snitch's data center (DC2) differs from previous data center (DC1)";
    assert!(said.contains(sentence), "{said}");
    place("dc=DC1\n");
    let said = builder.launch().lines_after_failure().join("\n");
    assert!(said.contains("DC or rack not found in snitch properties"), "{said}");
}

#[test]
fn a_lone_node_has_the_place_that_a_file_by_addresses_names() {
    let builder = Builder::new("auto", 1);
    let folder = builder.folder();
    let places = "default=dc1:r1\n127.0.0.2=dc2:r2\n";
    std::fs::write(folder.join("cassandra-topology.properties"), places).expect("it can be written");
    let lines = "listen_address: 127.0.0.2\nendpoint_snitch: org.apache.cassandra.locator.PropertyFileSnitch\n";
    let server = builder.configured(lines).start();
    let local = connect(&server).query("SELECT data_center, rack FROM system.local").expect("a local read").body;
    assert!(has(&local, "dc2") && has(&local, "r2"));
    server.stop();
}
