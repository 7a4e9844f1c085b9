//! `all-peers-restart`: a node comes back on yesterday's image of its disk, with the next boot number, after all others have restarted.

use std::time::Duration;

use planted::Planted;
use runtime::Runtime;
use runtime::sim::Keep;

use crate::client::{Client, ClientError};
use crate::cluster::NodeOptions;
use crate::group_site::GroupSite;
use crate::site::Site;
use crate::workload::look_at_schema;

type Held = Result<Vec<String>, String>;

/// Longer than a node takes to keep what it heard of the others.
const KEPT: Duration = Duration::from_secs(12);
/// By then nodes are ready, a client is answered, and a node with an older disk has been found out.
const AT_MOST: Duration = Duration::from_secs(60);
/// The node whose disk is exchanged, which is no seed.
const RESTORED: usize = 2;
/// Reached when the cluster has noted it.
const NOTED: &str = "regressed node noted";

/// The node is found out and noted as regressed; changes go on, and it has them too.
pub(super) fn all_peers_restart(seed: u64, planted: Planted) -> Held {
    let options = NodeOptions { planted, ..NodeOptions::default() };
    let mut site = GroupSite::new(seed, &[3], 1, options);
    (0..3).for_each(|node| site.begin_start(node));
    are_ready(&mut site)?;
    change(&mut site, 0, "first")?;
    site.world().run_for(KEPT);
    let restored = site.nodes()[RESTORED];
    let image = site.world().fork_disk(restored);
    change(&mut site, 1, "second")?;
    site.world().run_for(KEPT);
    for node in site.nodes() {
        site.world().kill(node);
    }
    [0, 1].into_iter().for_each(|node| site.begin_start(node));
    are_ready_of(&mut site, &[0, 1])?;
    site.world().exchange_disk(restored, image.after_power_cut(Keep::Everything));
    site.begin_start(RESTORED);
    are_ready(&mut site)?;
    site.world().run_until(|_| stdx::marks::count(NOTED) > 0, AT_MOST);
    if stdx::marks::count(NOTED) == 0 {
        return Ok(vec!["a disk that is older than it was is not found out".to_owned()]);
    }
    change(&mut site, 0, "third")?;
    let address = site.native_address(RESTORED);
    let view = ask(&mut site, move |runtime| look_at_schema(runtime, address)).ok_or("no answer")??;
    let is_there = |name: &&str| view.rows.iter().any(|row| row.starts_with(&format!("keyspaces: {name} ")));
    let missing = ["first", "second", "third"].into_iter().filter(|name| !is_there(name));
    Ok(missing.map(|name| format!("the regressed node has no keyspace {name}")).collect())
}

fn are_ready(site: &mut GroupSite) -> Result<(), String> {
    are_ready_of(site, &[0, 1, 2])
}

fn are_ready_of(site: &mut GroupSite, nodes: &[usize]) -> Result<(), String> {
    let until = site.world().now() + AT_MOST;
    while !nodes.iter().all(|node| site.is_ready(*node)) {
        let refused = nodes.iter().find_map(|node| site.take_refusal(*node));
        if let Some(sentence) = refused {
            return Err(format!("a node has ended: {sentence}"));
        }
        if site.world().now() >= until {
            return Err("the nodes are not ready".to_owned());
        }
        site.world().run_for(Duration::from_millis(100));
    }
    Ok(())
}

/// Makes a keyspace through a node; tries again while its cluster cannot.
fn change(site: &mut GroupSite, node: usize, name: &str) -> Result<(), String> {
    let until = site.world().now() + AT_MOST;
    let address = site.native_address(node);
    loop {
        let text = format!(
            "CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        );
        let changed = ask(site, async move |runtime: Runtime| -> Result<bool, ClientError> {
            Client::connect(&runtime, address).await?.change(&text).await
        });
        match changed {
            Some(Ok(_)) => return Ok(()),
            other if site.world().now() >= until => return Err(format!("keyspace {name} is not made: {other:?}")),
            _ => site.world().run_for(Duration::from_millis(500)),
        }
    }
}

fn ask<T: 'static, Fut: Future<Output = T> + 'static>(
    site: &mut GroupSite,
    main: impl FnOnce(Runtime) -> Fut,
) -> Option<T> {
    let clients = site.clients();
    let asking = site.world().start(clients, false, vec![main]);
    site.world().run_until(|_| asking.is_over(), AT_MOST);
    asking.take_outputs().and_then(|mut outputs| outputs.pop())
}
