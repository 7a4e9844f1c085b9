//! The registry, ranges, and NetworkTopologyStrategy against another way to say where its replicas are.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, vec};
use proptest::{prop_assert, prop_assert_eq, proptest};

use super::*;
use crate::ring::{Epoch, HostId, Node, NodeIndex, Ring};
use crate::token::{Token, TokenRange};

/// A ring of nodes given as (datacenter, rack, tokens).
fn ring(nodes: Vec<(String, String, Vec<i64>)>) -> Ring {
    let node = |(index, (datacenter, rack, tokens)): (u8, (String, String, Vec<i64>))| Node {
        host_id: HostId([index; 16]),
        address: ([10, 0, 0, index], 9042).into(),
        internode: ([10, 0, 0, index], 7000).into(),
        datacenter,
        rack,
        tokens: tokens.into_iter().map(Token).collect(),
    };
    Ring::new(Epoch::FIRST, (0u8..).zip(nodes).map(node).collect(), NodeIndex(0))
}

/// All copies on the first so many nodes.
struct First(u32);

impl Strategy for First {
    fn factor(&self) -> Factor {
        Factor::Total(self.0)
    }

    fn place(&self, _: TokenRange, ring: &Ring) -> Vec<NodeIndex> {
        (0u16..).take(ring.nodes().len().min(self.0 as usize)).map(NodeIndex).collect()
    }
}

fn first(options: &StrategyOptions) -> Result<Box<dyn Strategy>, OptionsError> {
    if let Some(option) = options.keys().find(|option| *option != "copies") {
        return Err(OptionsError::Unrecognized { option: option.clone() });
    }
    let copies = options.get("copies").ok_or_else(|| OptionsError::invalid("First needs copies"))?;
    Ok(Box::new(First(parse_factor(copies)?)))
}

fn stored(class: &str, options: &[(&str, &str)]) -> ReplicationStrategy {
    let class = [("class", class)];
    let replication = options.iter().chain(&class).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let replication = replication.collect();
    ReplicationStrategy::parse_stored(&replication).expect("it can be parsed")
}

#[test]
fn a_registered_class_has_its_rules_under_its_full_name() {
    let mut strategies = Strategies::default();
    strategies.register("org.example.First", first);
    strategies.register("First", first);
    for class in ["org.example.First", "org.apache.cassandra.locator.First", "First"] {
        let strategy = stored(class, &[("copies", "2")]);
        assert_eq!(strategy.class(), full_class(class));
        assert_eq!(strategies.rules(&strategy).expect("it is known").factor(), Factor::Total(2), "{class}");
    }
    let refused = |strategy| strategies.rules(&strategy).err().expect("it is refused");
    let unknown = OptionsError::invalid("Unable to find replication strategy class 'org.example.Second'");
    assert_eq!(refused(stored("org.example.Second", &[])), unknown);
    let option = "colour".to_owned();
    assert_eq!(refused(stored("First", &[("colour", "red")])), OptionsError::Unrecognized { option });
    assert_eq!(refused(stored("First", &[("copies", "many")])), OptionsError::invalid("For input string: \"many\""));
}

#[test]
fn built_in_classes_have_their_factors() {
    let factor = |strategy| Strategies::default().rules(&strategy).expect("it is built in").factor();
    assert_eq!(factor(stored("SimpleStrategy", &[("replication_factor", "3")])), Factor::Total(3));
    let two = [("dc1".to_owned(), 3), ("dc2".to_owned(), 1)].into();
    assert_eq!(factor(stored("NetworkTopologyStrategy", &[("dc1", "3"), ("dc2", "1")])), Factor::PerDatacenter(two));
    assert_eq!(factor(stored("LocalStrategy", &[])), Factor::OwnNode);
    assert_eq!(factor(stored("EverywhereStrategy", &[])), Factor::AllNodes);
}

#[test]
#[should_panic(expected = "is a built-in strategy")]
fn a_built_in_class_is_not_replaced() {
    Strategies::default().register("SimpleStrategy", first);
}

#[test]
#[should_panic(expected = "is registered once")]
fn a_class_is_registered_once() {
    let mut strategies = Strategies::default();
    strategies.register("First", first);
    strategies.register("org.apache.cassandra.locator.First", first);
}

#[test]
fn a_range_knows_its_tokens() {
    let range = |after, end| TokenRange { after: Token(after), end: Token(end) };
    let (plain, wrapped, whole) = (range(10, 20), range(20, 10), range(5, 5));
    assert!(!plain.contains(Token(10)) && plain.contains(Token(11)) && plain.contains(Token(20)));
    assert!(!wrapped.contains(Token(20)) && wrapped.contains(Token(21)) && wrapped.contains(Token(10)));
    assert!(!wrapped.contains(Token(11)));
    assert!([4, 5, 6].into_iter().all(|token| whole.contains(Token(token))));
    assert!(TokenRange::ALL.contains(Token::MIN) && TokenRange::ALL.contains(Token::MAX));
}

#[test]
fn a_ring_has_ranges_between_its_tokens() {
    let of = |tokens: Vec<i64>| ring(vec![("dc".to_owned(), "r".to_owned(), tokens)]);
    let ranges = |ring: &Ring| ring.ranges().map(|range| (range.after.0, range.end.0)).collect::<Vec<_>>();
    assert_eq!(ranges(&of(vec![])), [(i64::MIN, i64::MIN)]);
    assert_eq!(ranges(&of(vec![7])), [(7, 7)]);
    assert_eq!(ranges(&of(vec![7, -3, 20])), [(20, -3), (-3, 7), (7, 20)]);
}

/// The replicas as Cassandra found them before CASSANDRA-10342: nodes of a rack that was seen are put aside, and fill up once all racks are seen.
fn as_put_aside(datacenters: &BTreeMap<String, u32>, range: TokenRange, ring: &Ring) -> Vec<NodeIndex> {
    let mut found: Vec<NodeIndex> = Vec::new();
    for (name, factor) in datacenters {
        let members = || ring.walk(range.end).filter(|node| ring.node(*node).datacenter == *name);
        let racks: BTreeSet<&str> = members().map(|node| ring.node(node).rack.as_str()).collect();
        let (mut own, mut aside, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        for node in members() {
            if own.contains(&node) || own.len() == *factor as usize {
                continue;
            }
            match seen.len() == racks.len() || seen.insert(ring.node(node).rack.as_str()) {
                true => own.push(node),
                false => aside.push(node),
            }
            if seen.len() == racks.len() {
                for node in aside.drain(..) {
                    if own.len() < *factor as usize && !own.contains(&node) {
                        own.push(node);
                    }
                }
            }
        }
        found.extend(own);
    }
    found.sort_unstable();
    found
}

proptest! {
    #[test]
    fn racks_are_chosen_as_by_putting_aside(
        places in vec((0u8..3, 0u8..4), 1..12),
        owners in btree_map(-1000i64..1000, 0usize..12, 1..60),
        factors in vec(0u32..6, 3),
    ) {
        let nodes = places.iter().enumerate().map(|(node, (datacenter, rack))| {
            let owned = owners.iter().filter(|(_, owner)| **owner % places.len() == node).map(|(token, _)| *token);
            (format!("dc{datacenter}"), format!("r{rack}"), owned.collect())
        });
        let ring = ring(nodes.collect());
        let datacenters: BTreeMap<String, u32> =
            factors.iter().enumerate().map(|(number, factor)| (format!("dc{number}"), *factor)).collect();
        let rules = NetworkTopologyStrategy { datacenters: datacenters.clone() };
        for range in ring.ranges() {
            let mut placed = rules.place(range, &ring);
            if let Some(first) = placed.first() {
                // The first node of the walk that any datacenter takes.
                let takes = |node: &NodeIndex| datacenters.get(&ring.node(*node).datacenter).is_some_and(|factor| *factor > 0);
                prop_assert_eq!(ring.walk(range.end).find(takes), Some(*first));
            }
            placed.sort_unstable();
            prop_assert_eq!(placed, as_put_aside(&datacenters, range, &ring));
        }
    }

    #[test]
    fn a_token_is_in_one_range_and_the_ring_finds_it(tokens in vec(-50i64..50, 0..12), probe in -60i64..60) {
        let tokens: BTreeSet<i64> = tokens.into_iter().collect();
        let ring = ring(vec![("dc".to_owned(), "r".to_owned(), tokens.into_iter().collect())]);
        let holding: Vec<TokenRange> = ring.ranges().filter(|range| range.contains(Token(probe))).collect();
        prop_assert_eq!(holding, [ring.range_of(Token(probe))]);
        prop_assert!(ring.ranges().count() >= 1);
    }
}
