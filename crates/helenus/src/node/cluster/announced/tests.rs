//! Events by what becomes of the other nodes.

use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

use query::NodeEvent::{self, Down, New, Removed, Up};
use topology::nodes::{Address, Boot, Features, NodeChange, NodeState, RegisteredNode, Registry, Release, Start};
use topology::{HostId, Token};

use super::Announced;

const OWN: u8 = 9;

/// A step, then the events that clients get.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A node registers a start with this number, at the address that ends so.
    Registers(u8, u64, u8),
    Leaves(u8),
    /// The node's start with this number is ready for clients.
    Ready(u8, u64),
    /// It is down, or not ready.
    NotReady(u8),
    /// It was convicted by its silence.
    Silent(u8),
    Begin,
}
use Step::{Begin, Leaves, NotReady, Ready, Registers, Silent};

struct Cluster {
    registry: Registry,
    announced: Announced,
}

impl Cluster {
    fn take(&mut self, step: Step) {
        let id = |node| HostId([node; 16]);
        match step {
            Registers(node, boot, at) => self.follow(self.registration(id(node), boot, at)),
            Leaves(node) => self.follow(NodeChange::Remove(id(node))),
            Ready(node, boot) => _ = self.announced.hear(id(node), Some(boot)),
            NotReady(node) => _ = self.announced.hear(id(node), None),
            Silent(node) => _ = self.announced.silenced(id(node)),
            Begin => self.announced.begin(),
        }
    }

    fn registration(&self, id: HostId, boot: u64, at: u8) -> NodeChange {
        let start = Start {
            boot: Boot { number: boot, word: 0 },
            internode: Address::from(address(at)),
            native: Address::from(address(at)),
            shard_count: 1,
            release: Release { major: 0, minor: 1, patch: 0 },
            features: Features::default(),
        };
        if self.registry.node(id).is_some() {
            return NodeChange::Started(id, start);
        }
        let (datacenter, rack) = ("datacenter1".to_owned(), "rack1".to_owned());
        let tokens = vec![Token(i64::from(id.0[0]))];
        NodeChange::Put(id, Rc::new(RegisteredNode { state: NodeState::Normal, datacenter, rack, tokens, start }))
    }

    fn follow(&mut self, change: NodeChange) {
        self.registry = self.registry.apply([change]);
        self.announced.follow(HostId([OWN; 16]), &self.registry);
    }

    fn events(&mut self) -> Vec<NodeEvent> {
        std::iter::from_fn(|| self.announced.next()).collect()
    }
}

fn address(at: u8) -> SocketAddr {
    (Ipv4Addr::new(127, 0, 0, at), 9042).into()
}

/// Takes the steps, and compares the events after each.
fn check(steps: &[(Step, &[NodeEvent])]) {
    let mut cluster = Cluster { registry: Registry::default(), announced: Announced::default() };
    for (number, (step, expected)) in steps.iter().enumerate() {
        cluster.take(*step);
        assert_eq!(cluster.events(), *expected, "after step {number}, {step:?}, of {steps:?}");
        assert_eq!(cluster.events(), [], "an event is given once");
    }
}

#[test]
fn a_node_joins_comes_up_goes_down_and_leaves() {
    let [new, up, down, removed] = [New, Up, Down, Removed].map(|event| event(address(1)));
    check(&[
        (Begin, &[]),
        (Registers(OWN, 1, 9), &[]),
        (Ready(1, 1), &[]),
        (Registers(1, 1, 1), &[new]),
        (NotReady(1), &[]),
        (Ready(1, 1), &[up]),
        (Ready(1, 1), &[]),
        (NotReady(1), &[down]),
        (NotReady(1), &[]),
        (Ready(1, 2), &[up]),
        (Registers(1, 2, 1), &[]),
        (Leaves(1), &[removed]),
        (Ready(1, 2), &[]),
    ]);
}

#[test]
fn clients_know_the_nodes_of_the_start() {
    let mut cluster = Cluster { registry: Registry::default(), announced: Announced::default() };
    [Registers(1, 1, 1), Registers(2, 1, 2), Ready(1, 1), Begin].into_iter().for_each(|step| cluster.take(step));
    assert_eq!(cluster.events(), []);
    [Ready(1, 1), Ready(2, 1)].into_iter().for_each(|step| cluster.take(step));
    assert_eq!(cluster.events(), [Up(address(2))]);
    cluster.take(NotReady(1));
    assert_eq!(cluster.events(), [Down(address(1))]);
}

#[test]
fn an_address_that_changes_is_removed_and_the_other_one_is_new() {
    let old = [New, Up, Down, Removed].map(|event| event(address(1)));
    let next = [New, Up].map(|event| event(address(2)));
    check(&[
        (Begin, &[]),
        (Registers(1, 1, 1), &old[..1]),
        (Ready(1, 1), &old[1..2]),
        (NotReady(1), &old[2..3]),
        (Registers(1, 2, 2), &[old[3], next[0]]),
        (Ready(1, 2), &next[1..]),
    ]);
    // The end of its connection is noticed after its next start, which says it is ready before it is registered.
    check(&[
        (Begin, &[]),
        (Registers(1, 1, 1), &old[..1]),
        (Ready(1, 1), &old[1..2]),
        (Ready(1, 2), &[]),
        (Registers(1, 2, 2), &[old[3], next[0], next[1]]),
    ]);
}

#[test]
fn the_word_of_an_earlier_start_counts_no_more() {
    let [new, up, down] = [New, Up, Down].map(|event| event(address(1)));
    check(&[
        (Begin, &[]),
        (Registers(1, 1, 1), &[new]),
        (Ready(1, 1), &[up]),
        (Registers(1, 2, 1), &[down]),
        (Ready(1, 2), &[up]),
    ]);
}

/// The address that both had at once is no node's only when both have another one.
#[test]
fn two_nodes_exchange_their_addresses() {
    let ([new_1, up_1], [new_2, up_2]) =
        ([New, Up].map(|event| event(address(1))), [New, Up].map(|event| event(address(2))));
    check(&[
        (Begin, &[]),
        (Registers(1, 1, 1), &[new_1]),
        (Registers(2, 1, 2), &[new_2]),
        (Registers(1, 2, 2), &[Removed(address(1)), new_2]),
        (Ready(1, 2), &[up_2]),
        (Registers(2, 2, 1), &[new_1]),
        (Ready(2, 2), &[up_1]),
    ]);
}

/// Events wait while all shards are given the one before.
#[test]
fn changes_that_undo_each_other_meanwhile_give_no_event() {
    let mut cluster = Cluster { registry: Registry::default(), announced: Announced::default() };
    let mut events = |steps: &[Step]| {
        steps.iter().for_each(|step| cluster.take(*step));
        cluster.events()
    };
    let [new_1, up_1] = [New, Up].map(|event| event(address(1)));
    assert_eq!(events(&[Begin, Registers(1, 1, 1), Leaves(1)]), []);
    assert_eq!(events(&[Registers(2, 1, 1), Ready(2, 1)]), [new_1, up_1]);
    assert_eq!(events(&[NotReady(2), Ready(2, 2)]), []);
    // Another node takes the place of one that left: the removal goes first, whatever the order of the host ids.
    assert_eq!(events(&[Leaves(2), Registers(3, 1, 1)]), [Removed(address(1)), new_1]);
    assert_eq!(events(&[Leaves(3), Registers(0, 1, 1)]), [Removed(address(1)), new_1]);
}

/// A node that hears no majority may be cut off itself: drivers that believe its events would use no node that is well.
#[test]
fn a_node_that_hears_no_majority_tells_of_no_silent_one() {
    let ups = [1, 2].map(|at| Up(address(at)));
    let downs = [1, 2].map(|at| Down(address(at)));
    let news = [1, 2].map(|at| New(address(at)));
    let begin: [(Step, &[NodeEvent]); 5] = [
        (Begin, &[]),
        (Registers(1, 1, 1), &news[..1]),
        (Registers(2, 1, 2), &news[1..]),
        (Ready(1, 1), &ups[..1]),
        (Ready(2, 1), &ups[1..]),
    ];
    let then = |steps: &[(Step, &[NodeEvent])]| check(&[&begin[..], steps].concat());
    // Heard again, the first is up, and then the second is down beyond doubt.
    then(&[(Silent(1), &downs[..1]), (Silent(2), &[]), (NotReady(2), &[]), (Ready(1, 1), &[ups[0], downs[1]])]);
    then(&[(Silent(1), &downs[..1]), (Silent(2), &[]), (Ready(2, 1), &[]), (Ready(1, 1), &ups[..1])]);
    // The end of a connection, or the node's own word, leaves no doubt.
    then(&[(NotReady(1), &downs[..1]), (NotReady(2), &downs[1..])]);
    then(&[(Silent(1), &downs[..1]), (NotReady(2), &downs[1..]), (Ready(2, 1), &ups[1..])]);
    // A start that is registered later is not heard either; one that leaves is removed all the same.
    then(&[(Silent(1), &downs[..1]), (Silent(2), &[]), (Registers(2, 2, 2), &[]), (Ready(2, 2), &[])]);
    then(&[(Silent(1), &downs[..1]), (Silent(2), &[]), (Leaves(2), &[Removed(address(2))])]);
}

/// Both in one round: neither is known to be down.
#[test]
fn nodes_that_fall_silent_at_once_give_no_event() {
    let mut cluster = Cluster { registry: Registry::default(), announced: Announced::default() };
    let mut events = |steps: &[Step]| {
        steps.iter().for_each(|step| cluster.take(*step));
        cluster.events()
    };
    let begin = [Registers(1, 1, 1), Registers(2, 1, 2), Ready(1, 1), Ready(2, 1), Begin];
    assert_eq!(events(&begin), []);
    assert_eq!(events(&[Silent(1), Silent(2)]), []);
    assert_eq!(events(&[Ready(2, 1)]), [Down(address(1))]);
    assert_eq!(events(&[Ready(1, 1)]), [Up(address(1))]);
}

/// Of two nodes there is no majority to ask: the other one is down.
#[test]
fn of_two_nodes_the_silent_one_is_down() {
    let [new, up, down] = [New, Up, Down].map(|event| event(address(1)));
    check(&[(Begin, &[]), (Registers(1, 1, 1), &[new]), (Ready(1, 1), &[up]), (Silent(1), &[down])]);
}
