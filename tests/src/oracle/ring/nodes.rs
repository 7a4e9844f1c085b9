//! The nodes of a ring: three processes of Helenus that this starts, or three real servers that `xtask` has started.

use std::time::Duration;

use super::Ring;
use super::topology::{self, NODES};
use crate::oracle::session::Names;
use crate::process::{pause, signal};
use crate::{Builder, Net, Server};

/// Time in which the kernel stops a process.
const PAUSE_TIME_MAX: Duration = Duration::from_secs(30);

/// In the line of the node that founded the cluster, when others vote too.
const VOTERS: &str = "changing the voters of the metadata group";

enum Process {
    Helenus(Box<Server>),
    Real(u32),
}

/// A ring's nodes, of which some may be down.
pub struct Nodes {
    /// Where each listens for CQL.
    pub addresses: Vec<String>,
    /// How answers name them.
    pub names: Names,
    processes: Vec<Option<Process>>,
}

impl Nodes {
    /// Those of a ring of real servers.
    pub fn of_peers(ring: &Ring) -> Nodes {
        let processes = ring.nodes.iter().map(|(_, process)| Some(Process::Real(*process))).collect();
        Nodes::new(ring.nodes.iter().map(|(address, _)| address.clone()).collect(), processes)
    }

    /// Starts three nodes of Helenus with nothing, and waits until all of them vote.
    pub fn start(topology: &str) -> Result<Nodes, String> {
        let (places, settings, net) = (topology::places(topology)?, topology::settings()?, Net::new());
        let node = |number: u8| -> Builder {
            let place = &places[usize::from(number) - 1];
            let token = format!("--initial-token={}", place.token);
            let arguments = ["--datacenter", &place.datacenter, "--rack", &place.rack, &token];
            net.node(number, &[1]).with(&arguments).configured(&settings)
        };
        let mut first = node(1).start();
        let mut others = [node(2).launch(), node(3).launch()];
        others.iter_mut().for_each(Server::wait_until_ready);
        first.wait_for_line(&[VOTERS]);
        let servers: Vec<Server> = std::iter::once(first).chain(others).collect();
        let addresses = servers.iter().map(Server::address).collect();
        Ok(Nodes::new(addresses, servers.into_iter().map(|server| Some(Process::Helenus(Box::new(server)))).collect()))
    }

    fn new(addresses: Vec<String>, processes: Vec<Option<Process>>) -> Nodes {
        assert_eq!(processes.len(), NODES, "a ring has {NODES} nodes");
        let ips: Vec<String> =
            addresses.iter().filter_map(|address| Some(address.rsplit_once(':')?.0.into())).collect();
        Nodes { names: Names::of(&ips), addresses, processes }
    }

    /// True if they are real servers.
    pub fn are_real(&self) -> bool {
        self.processes.iter().flatten().any(|process| matches!(process, Process::Real(_)))
    }

    /// The nodes that are up.
    pub fn up(&self) -> impl Iterator<Item = usize> {
        (0..NODES).filter(|&node| self.processes[node].is_some())
    }

    /// Kills a node with SIGKILL.
    pub fn kill(&mut self, node: usize) {
        match self.processes[node].take().expect("the node is up") {
            Process::Helenus(server) => server.kill(),
            Process::Real(process) => assert!(signal(process, "KILL"), "the real server is gone already"),
        }
    }

    /// Does something while a node stands still.
    pub fn while_paused<T>(&self, node: usize, work: impl FnOnce() -> T) -> T {
        let process = match self.processes[node].as_ref().expect("the node is up") {
            Process::Helenus(server) => server.pid(),
            Process::Real(process) => *process,
        };
        pause(process, PAUSE_TIME_MAX);
        let done = work();
        assert!(signal(process, "CONT"), "a process that stands still does not end");
        done
    }

    /// Lines that the logs of Helenus's nodes must not have, of those that are up; the others' are judged when they are killed.
    pub fn complaints(&self) -> Vec<String> {
        let helenus = self.processes.iter().flatten().filter_map(|process| match process {
            Process::Helenus(server) => Some(server.complaints()),
            Process::Real(_) => None,
        });
        helenus.flatten().collect()
    }
}
