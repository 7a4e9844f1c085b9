//! The nodes of a cluster as drivers find them, in the system tables of any node.

use super::nodes::{Three, has, until};

#[test]
fn each_node_lists_the_others_as_its_peers() {
    let mut three = Three::start();
    let addresses: Vec<String> = (1..=3).map(|number| three.net.address(number)).collect();
    for node in 0..3 {
        let mut client = three.connect(node);
        until("two peers", || {
            let of_row = |body: &[u8]| (0..3).filter(|other| has(body, octets(&addresses[*other]))).collect::<Vec<_>>();
            let bodies = ["peers", "peers_v2"]
                .map(|table| client.query(&format!("SELECT peer FROM system.{table}")).expect("a local read").body);
            let others: Vec<usize> = (0..3).filter(|other| *other != node).collect();
            bodies.iter().all(|body| of_row(body) == others)
        });
    }
    // A founder has its tokens by its registration, which comes after its start.
    let founder = three.founder;
    let mut client = three.connect(founder);
    let of_founder = client.query("SELECT tokens FROM system.local").expect("a local read").body;
    let other = (founder + 1) % 3;
    let address = &addresses[founder];
    let seen = three.connect(other).query(&format!("SELECT tokens FROM system.peers WHERE peer = '{address}'"));
    let seen = seen.expect("a local read").body;
    assert_eq!(tail(&of_founder), tail(&seen), "the tokens are those that the cluster has");
    three.stop();
}

/// The value of an answer with one row and one column, from its count of elements on.
fn tail(body: &[u8]) -> &[u8] {
    let at = body.windows(4).position(|bytes| bytes == [0, 0, 0, 16]).expect("a node has 16 tokens");
    &body[at..]
}

fn octets(address: &str) -> Vec<u8> {
    address.split('.').map(|part| part.parse().expect("an octet")).collect()
}
