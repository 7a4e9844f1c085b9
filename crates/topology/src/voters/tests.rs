//! The choice of voters: each rule over all small clusters, and that the choice is the best of all sets.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

const DATACENTERS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
const RACKS: [&str; 3] = ["r1", "r2", "r3"];

fn host(number: usize) -> HostId {
    HostId((number as u128).to_be_bytes())
}

/// A node of a datacenter and rack, by their places in the lists.
fn node(number: usize, datacenter: usize, rack: usize, is_live: bool, is_voter: bool) -> Candidate<'static> {
    let (datacenter, rack) = (DATACENTERS[datacenter], RACKS[rack]);
    Candidate { host_id: host(number), datacenter, rack, is_live, is_voter }
}

/// Live nodes that do not vote: `counts[d]` in datacenter *d*, each in the next rack.
fn cluster(counts: &[usize]) -> Vec<Candidate<'static>> {
    let places = counts.iter().enumerate().flat_map(|(datacenter, count)| (0..*count).map(move |of| (datacenter, of)));
    places.enumerate().map(|(number, (datacenter, of))| node(number, datacenter, of % 3, true, false)).collect()
}

fn voting(nodes: &[Candidate<'static>], voters: &BTreeSet<HostId>) -> Vec<Candidate<'static>> {
    nodes.iter().map(|node| Candidate { is_voter: voters.contains(&node.host_id), ..*node }).collect()
}

fn of<'a>(nodes: &'a [Candidate<'static>], ids: &BTreeSet<HostId>) -> Vec<&'a Candidate<'static>> {
    nodes.iter().filter(|node| ids.contains(&node.host_id)).collect()
}

/// How many of the nodes each datacenter has, or each rack.
fn counts<'a, K: Ord>(
    nodes: &[&'a Candidate<'static>],
    key: impl Fn(&'a Candidate<'static>) -> K,
) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    nodes.iter().for_each(|node| *counts.entry(key(node)).or_default() += 1);
    counts
}

fn by_datacenter(nodes: &[Candidate<'static>], first: Option<&str>) -> Vec<usize> {
    counts(&of(nodes, &choose(nodes, first)), |node| node.datacenter).into_values().collect()
}

/// True if no datacenter of three or more has half of the voters.
fn is_spread(nodes: &[Candidate<'static>], ids: &BTreeSet<HostId>) -> bool {
    let all: Vec<&Candidate<'static>> = nodes.iter().collect();
    let datacenters = counts(&all, |node| node.datacenter).len();
    datacenters < 3 || counts(&of(nodes, ids), |node| node.datacenter).values().all(|count| 2 * count < ids.len())
}

/// The criteria 1 to 4 as the text has them.
fn quality(nodes: &[Candidate<'static>], ids: &BTreeSet<HostId>, first: Option<&str>) -> [usize; 4] {
    let chosen = of(nodes, ids);
    let squares = |counts: Vec<usize>| counts.into_iter().map(|count| count * count).sum();
    let elsewhere = chosen.iter().filter(|node| first.is_some_and(|first| first != node.datacenter)).count();
    [
        chosen.iter().filter(|node| !node.is_live).count(),
        squares(counts(&chosen, |node| node.datacenter).into_values().collect()),
        elsewhere,
        squares(counts(&chosen, |node| (node.datacenter, node.rack)).into_values().collect()),
    ]
}

/// The first of two datacenters by the rule's text.
fn first_of_two(nodes: &[Candidate<'static>], named: Option<&'static str>) -> Option<&'static str> {
    let all: Vec<&Candidate<'static>> = nodes.iter().collect();
    let names: Vec<&'static str> = counts(&all, |node| node.datacenter).into_keys().collect();
    let [one, other] = names[..] else { return None };
    let voters = |name: &str| nodes.iter().filter(|node| node.is_voter && node.datacenter == name).count();
    named.filter(|name| names.contains(name)).or(Some(if voters(other) > voters(one) { other } else { one }))
}

/// The choice by trying all sets.
fn best_of_all(nodes: &[Candidate<'static>], named: Option<&'static str>) -> BTreeSet<HostId> {
    let first = first_of_two(nodes, named);
    let sets = (0u32..1 << nodes.len()).map(|bits| {
        let chosen = nodes.iter().enumerate().filter(|(place, _)| bits & 1 << place != 0);
        chosen.map(|(_, node)| node.host_id).collect::<BTreeSet<_>>()
    });
    let sets: Vec<BTreeSet<HostId>> = sets.collect();
    let all: Vec<&Candidate<'static>> = nodes.iter().collect();
    let mut count = count_max(nodes.len(), counts(&all, |node| node.datacenter).len());
    loop {
        let fitting = sets.iter().filter(|set| set.len() == count && is_spread(nodes, set));
        let new = |set: &BTreeSet<HostId>| of(nodes, set).iter().filter(|node| !node.is_voter).count();
        if let Some(best) = fitting.min_by_key(|set| (quality(nodes, set, first), new(set), (*set).clone())) {
            return best.clone();
        }
        count -= 2;
    }
}

#[test]
fn the_count_follows_the_nodes_and_the_datacenters() {
    let count = |counts: &[usize]| choose(&cluster(counts), None).len();
    assert_eq!((0..=9).map(|nodes| count(&[nodes])).collect::<Vec<_>>(), [0, 1, 1, 3, 3, 5, 5, 5, 5, 5]);
    assert_eq!(count(&[4, 4]), 5);
    assert_eq!(count(&[2, 2, 2, 2, 2]), 5);
    assert_eq!(count(&[1; 6]), 5, "never six");
    assert_eq!((count(&[2, 1, 1, 1, 1, 1]), count(&[1; 7]), count(&[9; 8])), (7, 7, 7));
    assert_eq!(choose(&[], None), BTreeSet::new());
}

#[test]
fn of_three_datacenters_none_has_half_even_if_there_are_fewer_voters_for_it() {
    let spread = |counts: &[usize]| by_datacenter(&cluster(counts), None);
    assert_eq!(spread(&[1, 1, 1]), [1, 1, 1]);
    assert_eq!(spread(&[3, 3, 3]), [2, 2, 1]);
    assert_eq!(spread(&[9, 2, 1]), [2, 2, 1]);
    assert_eq!(spread(&[9, 1, 1]), [1, 1, 1], "five would be three, one and one");
    assert_eq!(spread(&[9, 1, 1, 1]), [2, 1, 1, 1]);
    assert_eq!(spread(&[9, 1, 1, 1, 1, 1]), [2, 1, 1, 1, 1, 1]);
}

#[test]
fn of_two_datacenters_the_first_has_the_larger_part() {
    let nodes = cluster(&[4, 4]);
    assert_eq!(by_datacenter(&nodes, None), [3, 2]);
    assert_eq!(by_datacenter(&nodes, Some("b")), [2, 3]);
    assert_eq!(by_datacenter(&nodes, Some("elsewhere")), [3, 2]);
    assert_eq!(by_datacenter(&cluster(&[1, 9]), Some("a")), [1, 4], "as far as it has nodes");
    let lone = choose(&cluster(&[1, 1]), Some("b"));
    assert_eq!(lone, [host(1)].into());
}

#[test]
fn a_second_datacenter_does_not_take_the_larger_part_from_the_one_that_was_there() {
    let grown: Vec<_> = (0..5).map(|number| node(number, 1, number % 3, true, true)).collect();
    let added = (5..10).map(|number| node(number, 0, number % 3, true, false));
    let nodes: Vec<_> = grown.into_iter().chain(added).collect();
    assert_eq!(by_datacenter(&nodes, None), [2, 3]);
}

#[test]
fn a_vote_moves_from_a_dead_node_and_back_only_for_a_better_spread() {
    let mut nodes = cluster(&[6]);
    let before = choose(&nodes, None);
    nodes = voting(&nodes, &before);
    let lost = *before.iter().next().expect("there are voters");
    let set_live = |nodes: &mut Vec<Candidate<'_>>, is_live| {
        let found = nodes.iter_mut().find(|node| node.host_id == lost).expect("it is there");
        found.is_live = is_live;
    };
    set_live(&mut nodes, false);
    let after = choose(&nodes, None);
    assert_eq!((after.contains(&lost), after.intersection(&before).count()), (false, 4), "one vote moves");
    // Back again it is no better than the one that replaced it, which is of the same rack.
    nodes = voting(&nodes, &after);
    set_live(&mut nodes, true);
    assert_eq!(choose(&nodes, None), after);
}

#[test]
fn votes_are_spread_over_racks() {
    // Racks of 3, 2 and 2 nodes: five voters are two, two and one.
    let nodes = cluster(&[7]);
    let spread: Vec<usize> = counts(&of(&nodes, &choose(&nodes, None)), |node| node.rack).into_values().collect();
    assert_eq!(spread, [2, 2, 1]);
}

#[test]
fn a_regressed_node_is_no_candidate() {
    use crate::nodes::{Address, Boot, Features, NodeChange, RegisteredNode, Release, Start};
    let address = Address::new([127, 0, 0, 1].into(), 7000);
    let start = Start {
        boot: Boot { number: 1, word: 1 },
        internode: address,
        native: address,
        shard_count: 1,
        release: Release { major: 0, minor: 1, patch: 0 },
        features: Features(0),
    };
    let put = |number| {
        let (datacenter, rack) = ("a".to_owned(), "r1".to_owned());
        let node = RegisteredNode { state: NodeState::Normal, datacenter, rack, tokens: Vec::new(), start };
        NodeChange::Put(host(number), node.into())
    };
    let regressed = NodeChange::SetState(host(0), NodeState::Regressed);
    let leaving = NodeChange::SetState(host(4), NodeState::Leaving);
    let registry = Registry::default().apply((0..5).map(put).chain([regressed, leaving]));
    let (live, present) = ([host(1), host(2)].into(), [host(0), host(3)].into());
    let candidates = candidates(&registry, &live, &present);
    assert_eq!(
        candidates,
        [
            node(1, 0, 0, true, false),
            node(2, 0, 0, true, false),
            Candidate { is_voter: true, ..node(3, 0, 0, false, false) }
        ]
    );
    assert_eq!(choose(&candidates, None), [host(1), host(2), host(3)].into());
}

/// Each multiset of `count` kinds of nodes, as numbers below `kinds`, ascending.
fn each_multiset(count: usize, kinds: usize, mut each: impl FnMut(&[usize])) {
    let mut chosen = vec![0; count];
    loop {
        each(&chosen);
        let Some(place) = chosen.iter().rposition(|kind| *kind + 1 < kinds) else { return };
        let next = chosen[place] + 1;
        chosen[place..].fill(next);
    }
}

#[test]
fn the_choice_is_the_best_of_all_sets_in_every_cluster_of_four() {
    for count in 1..=4 {
        // Three datacenters of two racks, live or not, voting or not.
        each_multiset(count, 24, |kinds| {
            let nodes: Vec<_> = kinds.iter().enumerate().map(|(number, kind)| of_kind(number, *kind)).collect();
            assert_eq!(choose(&nodes, None), best_of_all(&nodes, None), "{nodes:?}");
        });
    }
}

fn of_kind(number: usize, kind: usize) -> Candidate<'static> {
    node(number, kind % 3, kind / 3 % 2, (kind / 6).is_multiple_of(2), kind / 12 == 0)
}

#[test]
fn every_cluster_of_six_live_nodes_follows_the_rules() {
    for count in 1..=6 {
        // Three datacenters of three racks.
        each_multiset(count, 9, |kinds| {
            let place = |(number, kind): (usize, &usize)| node(number, kind % 3, kind / 3, true, false);
            check_rules(&kinds.iter().enumerate().map(place).collect::<Vec<_>>(), None);
        });
    }
}

/// The rules, each by what an exchange of one voter for another node could improve.
fn check_rules(nodes: &[Candidate<'static>], named: Option<&'static str>) {
    let voters = choose(nodes, named);
    let first = first_of_two(nodes, named);
    let all: Vec<&Candidate<'static>> = nodes.iter().collect();
    let datacenters = counts(&all, |node| node.datacenter);
    let count_max = count_max(nodes.len(), datacenters.len());
    assert!(voters.len() % 2 == 1 && voters.len() <= count_max, "{voters:?}");
    assert!(voters.len() == count_max || datacenters.len() > 2, "{voters:?}");
    assert!(is_spread(nodes, &voters), "{voters:?} of {nodes:?}");
    let best = quality(nodes, &voters, first);
    for out in &voters {
        for node in nodes.iter().filter(|node| !voters.contains(&node.host_id)) {
            let mut other = voters.clone();
            other.remove(out);
            other.insert(node.host_id);
            let is_better = is_spread(nodes, &other) && quality(nodes, &other, first) < best;
            assert!(!is_better, "{other:?} in place of {voters:?} of {nodes:?}");
        }
    }
    // Votes move for a reason only.
    let present: BTreeSet<HostId> = nodes.iter().filter(|node| node.is_voter).map(|node| node.host_id).collect();
    if present != voters && present.len() == voters.len() && is_spread(nodes, &present) {
        assert!(best < quality(nodes, &present, first), "{present:?} became {voters:?} of {nodes:?}");
    }
    assert_eq!(choose(&voting(nodes, &voters), named), voters, "chosen again: {nodes:?}");
}

/// Nodes of up to eight datacenters.
fn any_nodes(max: usize) -> impl Strategy<Value = Vec<Candidate<'static>>> {
    (1usize..=8).prop_flat_map(move |datacenters| {
        let kind = (0..datacenters, 0usize..3, prop::bool::weighted(0.7), any::<bool>());
        vec(kind, 1..=max).prop_map(|kinds| {
            let kinds = kinds.into_iter().enumerate();
            kinds.map(|(number, (datacenter, rack, live, votes))| node(number, datacenter, rack, live, votes)).collect()
        })
    })
}

fn any_name() -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![Just(None), Just(Some("a")), Just(Some("b"))]
}

proptest! {
    #[test]
    fn the_choice_is_the_best_of_all_sets(nodes in any_nodes(9), named in any_name()) {
        prop_assert_eq!(choose(&nodes, named), best_of_all(&nodes, named));
    }

    #[test]
    fn every_cluster_follows_the_rules(nodes in any_nodes(24), named in any_name()) {
        check_rules(&nodes, named);
    }

    #[test]
    fn the_order_of_the_nodes_does_not_matter(nodes in any_nodes(24), swaps in vec(any::<(Index, Index)>(), 24)) {
        let mut other = nodes.clone();
        for (one, with) in swaps {
            other.swap(one.index(nodes.len()), with.index(nodes.len()));
        }
        prop_assert_eq!(choose(&other, None), choose(&nodes, None));
    }
}

#[test]
fn a_thousand_racks_are_no_burden() {
    let names: Vec<String> = (0..1000).map(|number| format!("rack{number}")).collect();
    let nodes = names.iter().enumerate().map(|(number, rack)| {
        let node = node(number, number % 6, 0, number % 10 != 0, number < 7);
        Candidate { rack, ..node }
    });
    let nodes: Vec<Candidate<'_>> = nodes.collect();
    let voters = choose(&nodes, None);
    assert_eq!(voters.len(), 7);
    // Node 0 is down, and so the sixth datacenter's second voter, or the first's other node, votes for it.
    assert_eq!(voters.iter().filter(|id| **id < host(7)).count(), 6, "{voters:?}");
}
