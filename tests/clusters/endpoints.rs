//! The nodes that have a copy of a partition, as every node says it, against the tokens of the ring.

use std::collections::BTreeSet;

use helenus_tests::{Builder, Server, http};
use serde_json::Value;

use super::nodes::{KEYSPACE_OF_ONE, Net, connect, start_for_operators, until, value};

/// The owner of a key whose token is known: the node with the next token on the ring.
fn owner(ring: &Value, token: i64) -> String {
    let mut all: Vec<(i64, &str)> = ring
        .as_array()
        .expect("a list")
        .iter()
        .map(|pair| {
            (
                pair["key"].as_str().and_then(|key| key.parse().ok()).expect("a token"),
                pair["value"].as_str().expect("an address"),
            )
        })
        .collect();
    all.sort_unstable();
    let next = all.iter().find(|(at, _)| *at >= token).or(all.first());
    next.expect("a ring has tokens").1.to_owned()
}

#[test]
fn every_node_names_the_owner_of_a_key() {
    let net = Net::new();
    let (_builders, servers) = start_for_operators::<3>(&net);
    let ring = || value(&servers[0], "/storage_service/tokens_endpoint");
    until("all are in the ring", || ring().as_array().is_some_and(|all| all.len() == 3 * 16));
    // A change is answered when all that are up have applied it.
    let live = |server: &Server| value(server, "/gossiper/endpoint/live").as_array().map(Vec::len);
    until("all are up for all", || servers.iter().all(|server| live(server) == Some(3)));
    let mut client = connect(&servers[0]);
    for text in [
        KEYSPACE_OF_ONE,
        "CREATE TABLE lone.one (k text PRIMARY KEY)",
        "CREATE TABLE lone.two (a int, b text, PRIMARY KEY ((a, b)))",
    ] {
        client.query(text).expect("all are up");
    }
    // Tokens as Cassandra 5.0 gives them for these keys.
    let of_text = [("a", -8839064797231613815), ("b", 8833996863197925870_i64), ("cassandra", 356242581507269238)];
    let ring = ring();
    let mut owners = BTreeSet::new();
    for (key, token) in of_text {
        for server in &servers {
            let said = value(server, &format!("/storage_service/natural_endpoints/lone?cf=one&key={key}"));
            assert_eq!(said, serde_json::json!([owner(&ring, token)]), "{key}");
        }
    }
    for number in 0..30 {
        let target = format!("/storage_service/natural_endpoints/lone?cf=two&key={number}:x%20y");
        let said: Vec<Value> = servers.iter().map(|server| value(server, &target)).collect();
        assert!(said.iter().all(|one| *one == said[0] && one.as_array().is_some_and(|all| all.len() == 1)), "{said:?}");
        owners.insert(said[0][0].to_string());
    }
    assert!(owners.len() > 1, "all keys are of {owners:?}");
    drop(client);
    servers.into_iter().for_each(Server::stop);
}

#[test]
fn an_upgrade_is_finalized_by_any_node_of_a_cluster_and_by_no_node_alone() {
    let net = Net::new();
    let (_builders, servers) = start_for_operators::<2>(&net);
    for server in &servers {
        until("both are in the ring", || {
            value(server, "/helenus/upgrade")["nodes"].as_array().is_some_and(|nodes| nodes.len() == 2)
        });
        let facts = value(server, "/helenus/upgrade");
        assert_eq!((&facts["enabled"], &facts["waiting"]), (&Value::from(""), &Value::from("")), "{facts}");
        let finalized = http(server.api_port, "POST", "/helenus/upgrade/finalize").expect("the node answers operators");
        assert_eq!((finalized.status, finalized.body.as_str()), (200, "null"));
    }
    let alone = Builder::new("auto", 1).for_operators().start();
    let refused = http(alone.api_port, "POST", "/helenus/upgrade/finalize").expect("the node answers operators");
    assert!(refused.body.contains("this node is alone"), "{}: {}", refused.status, refused.body);
    alone.stop();
    servers.into_iter().for_each(Server::stop);
}
