//! Searches of up to three nodes with all seed lists, in all orders of starts, questions and answers, some of which are lost.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn address(node: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1 + u8::try_from(node).expect("few nodes")], 7000))
}

fn host_id(node: usize) -> HostId {
    HostId([u8::try_from(node).expect("few nodes"); 16])
}

fn seeds(list: &[usize]) -> BTreeSet<SocketAddr> {
    list.iter().map(|node| address(*node)).collect()
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Node {
    Down,
    Searching(Search),
    /// A member of the group that this node founded.
    Member(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Question,
    Answer,
}

/// Messages stay: one may be received twice, late, or never.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    nodes: Vec<Node>,
    messages: Vec<(usize, usize, Kind, Introduction)>,
}

fn group(founder: usize) -> GroupId {
    GroupId { id: founder as u128 + 1, incarnation: 0 }
}

impl World {
    fn introduction(&self, node: usize) -> Option<Introduction> {
        match &self.nodes[node] {
            Node::Down => None,
            Node::Searching(search) => Some(search.introduction()),
            Node::Member(founder) => Some(Introduction {
                host_id: host_id(node),
                address: address(node),
                is_seed: true,
                group: Some(group(*founder)),
                knows: BTreeSet::new(),
            }),
        }
    }

    fn send(&mut self, message: (usize, usize, Kind, Introduction)) {
        if !self.messages.contains(&message) {
            self.messages.push(message);
        }
    }

    /// All worlds that one step makes of this one.
    fn next(&self, lists: &[&[usize]]) -> Vec<World> {
        let mut all = Vec::new();
        for (node, state) in self.nodes.iter().enumerate() {
            match state {
                Node::Down => {
                    let mut next = self.clone();
                    next.nodes[node] = Node::Searching(
                        Search::new(host_id(node), address(node), seeds(lists[node])).planted(crate::planted_by_test()),
                    );
                    all.push(next);
                }
                Node::Searching(search) => {
                    let mut asks = self.clone();
                    for to in (0..self.nodes.len()).filter(|to| search.to_ask().any(|at| at == address(*to))) {
                        asks.send((node, to, Kind::Question, search.introduction()));
                    }
                    all.push(asks);
                    let mut decides = self.clone();
                    decides.nodes[node] = match search.decide(false) {
                        Decision::Found => Node::Member(node),
                        Decision::Join(_, group) => Node::Member(group.id as usize - 1),
                        Decision::Wait { .. } | Decision::NoSeed => continue,
                        Decision::TwoGroups(..) => panic!("two groups: {self:?}"),
                    };
                    all.push(decides);
                }
                Node::Member(_) => {}
            }
        }
        for (from, to, kind, word) in &self.messages {
            let mut next = self.clone();
            let Some(own) = self.introduction(*to) else { continue };
            match (&mut next.nodes[*to], kind) {
                (Node::Searching(search), Kind::Question) => {
                    search.asked_by(word);
                    next.send((*to, *from, Kind::Answer, own));
                }
                (Node::Member(_), Kind::Question) => next.send((*to, *from, Kind::Answer, own)),
                // Only the answer to this life's question is heard, and the last one counts: a connection gives no other.
                (Node::Searching(search), Kind::Answer) => search.answered_by(address(*from), word),
                _ => continue,
            }
            all.push(next);
        }
        all
    }

    fn founders(&self) -> BTreeSet<usize> {
        let founder = |node: &Node| if let Node::Member(founder) = node { Some(*founder) } else { None };
        self.nodes.iter().filter_map(founder).collect()
    }
}

/// Visits all worlds that these seed lists can lead to. Gives their number, and in how many a group was founded.
fn explore(lists: &[&[usize]], bound: usize) -> (usize, usize) {
    let mut known = HashSet::new();
    let mut open = vec![World { nodes: vec![Node::Down; lists.len()], messages: Vec::new() }];
    let mut founded = 0;
    while let Some(world) = open.pop() {
        if known.len() >= bound || !known.insert(world.clone()) {
            continue;
        }
        assert!(world.founders().len() < 2, "two groups by {lists:?}: {world:?}");
        founded += world.founders().len();
        open.extend(world.next(lists));
    }
    (known.len(), founded)
}

#[test]
fn two_nodes_found_one_group_in_all_orders() {
    for lists in [[&[0, 1][..], &[0, 1]], [&[0, 1], &[0]], [&[0], &[0, 1]], [&[0, 1], &[1]], [&[1], &[0, 1]]] {
        let (worlds, founded) = explore(&lists, usize::MAX);
        assert!(founded > 0 && worlds > 10, "{lists:?}: {worlds} worlds, {founded}");
    }
}

/// True if each node has heard of each other after some rounds of questions.
fn is_connected(lists: &[Vec<usize>]) -> bool {
    let mut known = BTreeSet::from([0]);
    for _ in 0..lists.len() {
        for (node, list) in lists.iter().enumerate() {
            if list.iter().any(|other| known.contains(other)) {
                known.insert(node);
            }
            if known.contains(&node) {
                known.extend(list);
            }
        }
    }
    known.len() == lists.len()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Nodes with whatever seed lists by which they can hear of each other.
    #[test]
    fn nodes_found_one_group_however_they_know_each_other(
        lists in proptest::collection::vec(proptest::collection::btree_set(0..4_usize, 1..4), 3..5),
        steps in proptest::collection::vec(any::<u16>(), 120),
    ) {
        let count = lists.len();
        let lists: Vec<Vec<usize>> =
            lists.into_iter().map(|list| list.into_iter().filter(|node| *node < count).collect()).collect();
        // A node whose list names it alone founds at once: all others must know it.
        let founds = |node: usize| lists[node][..] == [node];
        let is_known = |node: usize| lists.iter().all(|list| list.contains(&node));
        prop_assume!((0..count).all(|node| !founds(node) || is_known(node)) && is_connected(&lists));
        let lists: Vec<&[usize]> = lists.iter().map(Vec::as_slice).collect();
        let mut world = World { nodes: vec![Node::Down; count], messages: Vec::new() };
        for step in steps {
            let next = world.next(&lists);
            let Some(next) = next.get(usize::from(step) % next.len().max(1)) else { break };
            world = next.clone();
            prop_assert!(world.founders().len() < 2, "two groups by {lists:?}: {world:?}");
        }
    }
}

fn word(node: usize, is_seed: bool, group: Option<GroupId>, knows: &[usize]) -> Introduction {
    Introduction { host_id: host_id(node), address: address(node), is_seed, group, knows: seeds(knows) }
}

#[test]
fn what_is_known_decides() {
    let search = |list: &[usize]| Search::new(host_id(1), address(1), seeds(list));
    assert_eq!(search(&[1]).decide(false), Decision::Found, "its own only seed");
    let mut of_two = search(&[1, 2]);
    assert_eq!(of_two.decide(false), Decision::Wait { silent: vec![address(2)] });
    assert_eq!(of_two.decide(true), Decision::Found, "the operator does not wait for it");
    of_two.answered_by(address(2), &word(2, true, None, &[1, 3]));
    assert_eq!(of_two.decide(false), Decision::Wait { silent: vec![address(3)] }, "a node that another knows");
    of_two.answered_by(address(3), &word(3, false, None, &[]));
    assert_eq!(of_two.decide(false), Decision::Found);
    of_two.answered_by(address(3), &word(3, false, Some(group(3)), &[]));
    assert_eq!(of_two.decide(true), Decision::Join(address(3), group(3)));
    of_two.answered_by(address(2), &word(2, true, Some(group(2)), &[]));
    assert_eq!(of_two.decide(false), Decision::TwoGroups(group(2), group(3)));
    // No seed itself.
    let mut no_seed = search(&[2]);
    assert_eq!(no_seed.decide(true), Decision::Wait { silent: vec![address(2)] });
    no_seed.answered_by(address(2), &word(2, true, None, &[]));
    assert_eq!(no_seed.decide(true), Decision::Wait { silent: Vec::new() });
    no_seed.answered_by(address(2), &word(2, false, None, &[]));
    assert_eq!(no_seed.decide(false), Decision::NoSeed);
    // Itself by another of its addresses.
    let mut itself = search(&[1, 4]);
    itself.answered_by(address(4), &Introduction { address: address(4), ..word(1, true, None, &[]) });
    assert_eq!(itself.decide(false), Decision::Found);
}

#[test]
fn a_node_that_answered_one_of_a_lower_id_asks_it_before_it_founds() {
    let mut search = Search::new(host_id(1), address(1), seeds(&[1, 2])).planted(crate::planted_by_test());
    search.answered_by(address(2), &word(2, true, None, &[]));
    search.asked_by(&word(0, true, None, &[1]));
    assert_eq!(search.decide(false), Decision::Wait { silent: vec![address(0)] });
    search.answered_by(address(0), &word(0, true, None, &[1]));
    assert_eq!(search.decide(true), Decision::Wait { silent: Vec::new() }, "the other founds");
    search.asked_by(&word(0, true, None, &[1]));
    search.answered_by(address(0), &word(0, true, Some(group(0)), &[]));
    assert_eq!(search.decide(false), Decision::Join(address(0), group(0)));
}

/// The first one that answered has died, or has no leader to ask.
#[test]
fn members_are_asked_in_turn_to_accept_a_node() {
    let mut search = Search::new(host_id(9), address(9), seeds(&[1, 2, 3, 4]));
    for member in [1, 2, 3] {
        search.answered_by(address(member), &word(member, true, Some(group(1)), &[]));
    }
    search.answered_by(address(4), &word(4, true, None, &[]));
    let asked = |search: &mut Search| {
        let Decision::Join(at, _) = search.decide(false) else { panic!("there are members") };
        search.not_accepted_by(at);
        at
    };
    let all: Vec<SocketAddr> = (0..6).map(|_| asked(&mut search)).collect();
    assert_eq!(all, [1, 2, 3, 1, 2, 3].map(address));
}
