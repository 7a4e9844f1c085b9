//! The cluster that all runs of a seed begin with: nodes, tables and rows, made once.

use std::net::SocketAddr;
use std::time::Duration;

use cql_protocol::Consistency;
use planted::Planted;
use runtime::Runtime;
use runtime::sim::Disk;

use crate::client::{Client, ClientError, Statement};
use crate::cluster::NodeOptions;
use crate::group_site::GroupSite;
use crate::site::Site;

/// Machines: those of the members, and of a node that joins.
pub(super) const MACHINES: usize = 4;
/// Rows that all replicas have before an operation.
pub(super) const ROWS: i32 = 24;
/// The counter's value then.
pub(super) const COUNT: i64 = 1000;
/// The longest until a step of the preparation is done.
const STEP_AT_MOST: Duration = Duration::from_secs(120);
/// Time in which the nodes of a new cluster become voters.
const VOTERS_CHANGE: Duration = Duration::from_secs(5);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// The clocks of the runs go on after those of the preparation.
const LATER: i64 = 3_600_000_000;

const CHANGES: [&str; 3] = [
    "CREATE KEYSPACE IF NOT EXISTS s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}",
    "CREATE TABLE IF NOT EXISTS s.t (k int PRIMARY KEY, v int)",
    "CREATE TABLE IF NOT EXISTS s.c (k int PRIMARY KEY, n counter)",
];

/// A row.
pub(super) fn insert(key: i32) -> Statement {
    Statement { text: "INSERT INTO s.t (k, v) VALUES (?, 0)", values: vec![key.to_be_bytes().to_vec()] }
}

/// The same by a conditional statement.
pub(super) fn insert_if(key: i32) -> Statement {
    Statement { text: "INSERT INTO s.t (k, v) VALUES (?, 0) IF NOT EXISTS", values: vec![key.to_be_bytes().to_vec()] }
}

/// An addition to the counter.
pub(super) fn add(amount: i64) -> Statement {
    Statement { text: "UPDATE s.c SET n = n + ? WHERE k = 0", values: vec![amount.to_be_bytes().to_vec()] }
}

/// Disks of a cluster whose processes were killed.
pub(super) struct Ground {
    seed: u64,
    members: usize,
    disks: Vec<Disk>,
}

impl Ground {
    /// Makes a cluster of so many members.
    pub(super) fn prepare(seed: u64, members: usize, planted: Planted) -> Result<Ground, String> {
        let mut site = site(seed, planted);
        (0..members).for_each(|node| site.begin_start(node));
        ready(&mut site, members)?;
        site.world().run_for(VOTERS_CHANGE);
        let address = site.native_address(0);
        let clients = site.clients();
        let preparing = site.world().start(clients, false, vec![move |runtime| fill(runtime, address)]);
        site.world().run_until(|_| preparing.is_over(), STEP_AT_MOST);
        let filled = preparing.take_outputs().and_then(|mut outputs| outputs.pop());
        filled.ok_or("the tables were not filled in time")?.map_err(|error| format!("the tables: {error}"))?;
        let hosts = site.nodes();
        hosts[..members].iter().for_each(|host| site.world().kill(*host));
        let disks = hosts[..members].iter().map(|host| site.world().fork_disk(*host)).collect();
        Ok(Ground { seed, members, disks })
    }

    /// The members' number.
    pub(super) fn members(&self) -> usize {
        self.members
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// The cluster again, whose members are ready.
    pub(super) fn start(&self, planted: Planted) -> Result<GroupSite, String> {
        let mut site = site(self.seed, planted);
        let hosts = site.nodes();
        for host in &hosts {
            site.world().set_wall_clock_skew(*host, LATER);
        }
        for (host, disk) in hosts.iter().zip(&self.disks) {
            site.world().exchange_disk(*host, disk.clone());
        }
        (0..self.members).for_each(|node| site.begin_start(node));
        ready(&mut site, self.members)?;
        Ok(site)
    }
}

fn site(seed: u64, planted: Planted) -> GroupSite {
    let options = NodeOptions { planted, ..NodeOptions::default() };
    let mut site = GroupSite::new(seed, &[MACHINES], 1, options);
    (0..MACHINES).for_each(|node| site.set_seeds(node, &[0]));
    // The node that joins finds a member while another one is down.
    site.set_seeds(MACHINES - 1, &[0, 1]);
    site
}

fn ready(site: &mut GroupSite, members: usize) -> Result<(), String> {
    let deadline = site.world().now() + STEP_AT_MOST;
    while let Some(late) = (0..members).find(|node| !site.is_ready(*node)) {
        if let Some(sentence) = site.take_refusal(late) {
            return Err(format!("node {late} has ended by itself: {sentence}"));
        }
        if site.world().now() >= deadline {
            return Err(format!("node {late} is not ready within {STEP_AT_MOST:?}"));
        }
        site.world().run_for(LOOK);
    }
    Ok(())
}

/// Makes the tables, whose rows all replicas have.
async fn fill(runtime: Runtime, address: SocketAddr) -> Result<(), ClientError> {
    let mut client = Client::connect(&runtime, address).await?;
    for change in CHANGES {
        client.change(change).await?;
    }
    client.consistency = Consistency::All;
    for key in 0..ROWS {
        let statement = if key % 8 == 7 { insert_if(key) } else { insert(key) };
        client.run(&statement, None).await?;
    }
    client.run(&add(COUNT), None).await.map(drop)
}
