//! The scenario `group`, a seed of each shape and the first one twice; and a cluster of many nodes.

use std::time::Duration;

use planted::Planted;
use runtime::Runtime;
use sim::client::{Client, ClientError};
use sim::cluster::NodeOptions;
use sim::clusters::{SHAPE_COUNT, random};
use sim::group_site::GroupSite;
use sim::site::Site;
use sim::workload::look_at_schema;

#[test]
fn the_schema_of_a_cluster_survives_all_troubles() {
    let totals = random(SHAPE_COUNT, SHAPE_COUNT, Duration::MAX, SHAPE_COUNT, Planted::default());
    println!("{} changes, {} troubles, marks {:?}", totals.changed, totals.troubles, totals.marks);
    assert!(totals.failures.is_empty(), "{:#?}", totals.failures);
    assert_eq!((totals.seeds, totals.twice), (SHAPE_COUNT, 1));
}

/// Many nodes over simulated sockets, a hundred in a soak: all join, and a change of any is seen by all when it is answered.
#[test]
fn many_nodes_agree() {
    let is_soak = std::env::var_os("HELENUS_SOAK").is_some();
    let shape = if is_soak { [34, 33, 33] } else { [14, 13, 13] };
    let nodes: usize = shape.iter().sum();
    let mut site = GroupSite::new(7, &shape, 1, NodeOptions { memory_bytes: 64 << 20, ..NodeOptions::default() });
    (0..nodes).for_each(|node| site.begin_start(node));
    let until = Duration::from_secs(120);
    let all_ready = |site: &mut GroupSite| (0..nodes).all(|node| site.is_ready(node));
    let began = site.world().now();
    while !all_ready(&mut site) {
        assert!(site.world().now() - began < until, "nodes that are not ready");
        site.world().run_for(Duration::from_millis(100));
    }
    let joined = site.world().now() - began;
    site.world().run_for(Duration::from_secs(5));
    let (clients, address) = (site.clients(), site.native_address(nodes - 1));
    let began = site.world().now();
    let change = async move |runtime: Runtime| -> Result<bool, ClientError> {
        let mut client = Client::connect(&runtime, address).await?;
        client.change("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}").await
    };
    let changing = site.world().start(clients, false, vec![change]);
    site.world().run_until(|_| changing.is_over(), Duration::from_secs(30));
    let changed = changing.take_outputs().expect("it is answered").pop().expect("one client");
    assert!(changed.expect("it is done"));
    let answered = site.world().now() - began;
    println!("figure: {joined:?} until {nodes} nodes have joined, {answered:?} until a change is known by all");
    assert!(answered < Duration::from_secs(1), "{answered:?}");
    for node in (0..nodes).step_by(7) {
        let address = site.native_address(node);
        let look = async move |runtime: Runtime| look_at_schema(runtime, address).await;
        let looking = site.world().start(clients, false, vec![look]);
        site.world().run_until(|_| looking.is_over(), Duration::from_secs(30));
        let view = looking.take_outputs().expect("it is answered").pop().expect("one client").expect("it can be read");
        assert!(view.rows.iter().any(|row| row.starts_with("keyspaces: k ")), "node {node}: {:?}", view.rows);
    }
}
