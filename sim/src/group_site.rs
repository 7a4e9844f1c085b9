//! A cluster of nodes that find each other by seeds and agree by their metadata group, on simulated machines.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use admin::{Answer, NodeFacts, Question, Questions};
use helenus::config::{ClusterConfig, Config, Recover};
use helenus::node::{self, NodeError, Ready};
use membership::Replaced;
use runtime::ShardId;
use runtime::sim::{Disk, Ended, HostId, Started, World, WorldOptions};
use topology::Strategies;

use crate::cluster::{DATA, NodeOptions, config};
use crate::site::Site;

/// The port between nodes.
const STORAGE_PORT: u16 = 7000;
/// Registers of attempts are forgotten within a seed's time.
const LOW_BOUND_AGE: Duration = Duration::from_secs(6);

/// Machines of a cluster, each with a node's folder, and one of the clients'.
pub struct GroupSite {
    world: World<'static>,
    nodes: Vec<HostId>,
    clients: HostId,
    /// The number of each node's datacenter.
    datacenters: Vec<usize>,
    /// Racks, which nodes are put into by turns.
    racks: usize,
    /// The seed list of each node, by number.
    seeds: Vec<BTreeSet<usize>>,
    /// The recovery of a lost majority by each node's next starts.
    recover: Vec<Option<Recover>>,
    replaces: Vec<Option<Replaced>>,
    /// The number of tokens that a node asks for at its next starts, if it has another.
    token_counts: Vec<Option<u16>>,
    options: NodeOptions,
    strategies: Strategies,
    shards: u16,
    running: Vec<Option<Started<Result<(), NodeError>>>>,
    said: Vec<Rc<RefCell<Option<Ready>>>>,
    /// Where operators ask the nodes that were started last.
    questions: Vec<Option<Questions>>,
    /// Sentences of earlier starts, which nothing has taken.
    refused: Vec<Option<String>>,
}

/// A question that is not answered yet.
pub struct Asking(Pin<Box<dyn Future<Output = Option<Answer>>>>);

impl Asking {
    /// The answer once it is there: `None` within it if the node has ended without one.
    pub fn take(&mut self) -> Option<Option<Answer>> {
        match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    }
}

fn address(node: usize) -> IpAddr {
    let number = u16::try_from(node + 1).expect("a world has fewer machines");
    IpAddr::V4(Ipv4Addr::new(10, 1, (number >> 8) as u8, number as u8))
}

impl GroupSite {
    /// A cluster on which nothing runs, with so many nodes in each datacenter. Two nodes are all nodes' seeds, of two datacenters where there are more.
    pub fn new(seed: u64, datacenters: &[usize], shards: u16, options: NodeOptions) -> GroupSite {
        let mut world = World::new(WorldOptions::new(seed));
        let datacenters: Vec<usize> =
            datacenters.iter().enumerate().flat_map(|(number, nodes)| vec![number; *nodes]).collect();
        let nodes: Vec<HostId> =
            (0..datacenters.len()).map(|node| world.add_host_with(&[address(node)], empty_disk())).collect();
        let clients = world.add_host(&[IpAddr::V4(Ipv4Addr::new(10, 2, 0, 1))]);
        let running = nodes.iter().map(|_| None).collect();
        let said = nodes.iter().map(|_| Rc::default()).collect();
        let second = (1..nodes.len()).find(|other| datacenters[*other] != datacenters[0]).unwrap_or(1);
        let seeds = vec![BTreeSet::from([0, second.min(nodes.len() - 1)]); nodes.len()];
        let recover = vec![None; nodes.len()];
        let replaces = vec![None; nodes.len()];
        let token_counts = vec![None; nodes.len()];
        let refused = vec![None; nodes.len()];
        let questions = nodes.iter().map(|_| None).collect();
        GroupSite {
            world,
            clients,
            racks: nodes.len(),
            nodes,
            datacenters,
            seeds,
            recover,
            replaces,
            token_counts,
            options,
            strategies: Strategies::default(),
            shards,
            running,
            said,
            questions,
            refused,
        }
    }

    /// The node as its operators see it; `None` if it does not answer in time.
    pub fn facts(&mut self, node: usize, at_most: Duration) -> Option<NodeFacts> {
        match self.ask(node, Question::Node, at_most) {
            Some(Answer::Node(facts)) => Some(*facts),
            _ => None,
        }
    }

    /// The answer of a node's shard 0 to an operator; `None` if there is none in time.
    pub fn ask(&mut self, node: usize, question: Question, at_most: Duration) -> Option<Answer> {
        let mut asking = pin!(self.questions[node].as_ref()?.call(ShardId(0), question));
        let mut context = Context::from_waker(Waker::noop());
        let mut answer = None;
        let is_there = |_: &mut World<'static>| {
            if let Poll::Ready(said) = asking.as_mut().poll(&mut context) {
                answer = said.ok();
                return true;
            }
            false
        };
        let ended = self.world.run_until(is_there, at_most);
        answer.filter(|_| ended == Ended::Condition)
    }

    /// A question to a node's shard 0 as its operator asks it, which is answered while the world goes on; `None` if the node was never started.
    pub fn begin_asking(&self, node: usize, question: Question) -> Option<Asking> {
        let questions = self.questions[node].clone()?;
        let asking = async move { questions.call(ShardId(0), question).await.ok() };
        Some(Asking(Box::pin(asking)))
    }

    /// One machine more, on which nothing runs, before or beside the others' nodes. Gives its number.
    pub fn add_node(&mut self, datacenter: usize) -> usize {
        let node = self.nodes.len();
        let host = self.world.add_host_with(&[address(node)], empty_disk());
        self.nodes.push(host);
        self.datacenters.push(datacenter);
        self.seeds.push(BTreeSet::from([0]));
        self.recover.push(None);
        self.replaces.push(None);
        self.token_counts.push(None);
        self.running.push(None);
        self.said.push(Rc::default());
        self.questions.push(None);
        self.refused.push(None);
        node
    }

    /// The replication strategies that the nodes' program knows, before any node was started.
    pub fn set_strategies(&mut self, strategies: Strategies) {
        self.strategies = strategies;
    }

    /// So many racks, before any node was started. Otherwise each node has its own.
    pub fn set_racks(&mut self, racks: usize) {
        self.racks = racks.max(1);
    }

    /// The seed list of a node's next starts.
    pub fn set_seeds(&mut self, node: usize, seeds: &[usize]) {
        self.seeds[node] = seeds.iter().copied().collect();
    }

    /// The node whose place a node takes if it joins at its next starts.
    pub fn set_replaces(&mut self, node: usize, replaces: Option<Replaced>) {
        self.replaces[node] = replaces;
    }

    /// The number of tokens that a node is to have from its next start on.
    pub fn set_token_count(&mut self, node: usize, count: u16) {
        self.token_counts[node] = Some(count);
    }

    /// True if two nodes are in the same rack.
    pub fn is_same_place(&self, one: usize, other: usize) -> bool {
        self.datacenters[one] == self.datacenters[other] && one % self.racks == other % self.racks
    }

    /// The recovery of a lost majority by a node's next starts.
    pub fn set_recover(&mut self, node: usize, recover: Option<Recover>) {
        self.recover[node] = recover;
    }

    /// Where other nodes reach a node.
    pub fn internode_address(&self, node: usize) -> SocketAddr {
        SocketAddr::new(address(node), STORAGE_PORT)
    }

    fn config(&self, node: usize) -> Config {
        let internode = self.internode_address(node);
        let cluster = ClusterConfig {
            listen: internode,
            broadcast: internode,
            seeds: self.seeds[node].iter().map(|seed| self.internode_address(*seed)).collect(),
            found_without_silent: false,
            recover: self.recover[node],
            features: Default::default(),
            auto_finalize: false,
            is_without_copy: false,
            token_count: self.token_counts[node],
            replaces: self.replaces[node],
            phi_convict_threshold: Default::default(),
            low_bound_age: LOW_BOUND_AGE,
        };
        let datacenter = format!("datacenter{}", self.datacenters[node]);
        let rack = format!("rack{}", node % self.racks);
        Config {
            cluster: Some(cluster),
            datacenter,
            rack,
            strategies: self.strategies.clone(),
            ..config(self.options, self.native_address(node), self.shards)
        }
    }
}

fn empty_disk() -> Disk {
    let mut disk = Disk::default();
    disk.prepare_directory(DATA);
    disk
}

impl Site for GroupSite {
    fn world(&mut self) -> &mut World<'static> {
        &mut self.world
    }

    fn nodes(&self) -> Vec<HostId> {
        self.nodes.clone()
    }

    fn clients(&self) -> HostId {
        self.clients
    }

    fn datacenter(&self, node: usize) -> usize {
        self.datacenters[node]
    }

    fn native_address(&self, node: usize) -> SocketAddr {
        SocketAddr::new(address(node), 9042)
    }

    fn empty_disk(&self) -> Disk {
        empty_disk()
    }

    fn begin_start(&mut self, node: usize) {
        // A sentence of the start before is not lost.
        self.refused[node] = self.take_refusal(node);
        let said = Rc::new(RefCell::new(None));
        let config = self.config(node);
        let (seats, questions) = node::seats_for_operators(self.shards);
        self.questions[node] = Some(questions);
        let mains = seats
            .into_iter()
            .map(|seat| {
                let (config, said) = (config.clone(), said.clone());
                move |runtime| node::run(runtime, seat, config, || {}, move |ready| *said.borrow_mut() = Some(ready))
            })
            .collect();
        self.running[node] = Some(self.world.start(self.nodes[node], true, mains));
        self.said[node] = said;
    }

    fn is_ready(&self, node: usize) -> bool {
        self.world.is_running(self.nodes[node]) && self.said[node].borrow().is_some()
    }

    fn take_refusal(&mut self, node: usize) -> Option<String> {
        if let Some(sentence) = self.refused[node].take() {
            return Some(sentence);
        }
        let is_over = self.running[node].as_ref().is_some_and(Started::is_over);
        let outputs = if is_over { self.running[node].take()?.take_outputs()? } else { return None };
        outputs.into_iter().find_map(Result::err).map(|error| error.to_string())
    }
}
