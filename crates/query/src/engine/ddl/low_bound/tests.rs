//! Plans of the low bound on states of a few nodes, and intentions on their way.

use std::collections::BTreeMap;

use topology::ReplicationStrategy::Simple;
use topology::Token;
use topology::nodes::{Address, Boot, Features, NodeChange, RegisteredNode, Release, Start};
use topology::operations::{Kind, OperationId, Phase, Target};

use super::*;

fn node(number: u8) -> HostId {
    HostId([number; 16])
}

/// Nodes 1 to `count`, one token each.
fn registry(count: u8) -> Registry {
    let put = |number: u8| {
        let address = Address::new([10, 0, 0, number].into(), 7000);
        let start = Start {
            boot: Boot { number: 1, word: 1 },
            internode: address,
            native: address,
            shard_count: 1,
            release: Release { major: 0, minor: 1, patch: 0 },
            features: Features(0),
        };
        let registered = RegisteredNode {
            state: NodeState::Normal,
            datacenter: "datacenter1".to_owned(),
            rack: "rack1".to_owned(),
            tokens: vec![Token(i64::from(number) << 56)],
            start,
        };
        NodeChange::Put(node(number), Rc::new(registered))
    };
    Registry::default().apply((1..=count).map(put))
}

/// A keyspace with a table and so many replicas.
fn schema(factor: u32) -> Schema {
    let statements = [
        format!("CREATE KEYSPACE ks WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}"),
        "CREATE TABLE ks.t (k int PRIMARY KEY)".to_owned(),
    ];
    let mut schema = Schema::empty();
    for (number, text) in (1..).zip(statements) {
        let context = schema::DdlContext {
            current_keyspace: None,
            new_id: schema::TableId([number; 16]),
            datacenters: &BTreeMap::from([("datacenter1".to_owned(), 4)]),
            strategies: &Strategies::default(),
            now_micros: 1,
            masks_enabled: false,
        };
        let plan = schema::plan_ddl(&schema, &cql_syntax::parse(&text).unwrap(), &context).unwrap();
        schema = schema.with_all(&plan.changes);
    }
    schema
}

#[test]
fn an_intention_is_the_same_after_its_way() {
    for intention in
        [LowBoundIntention::Refuse { below: -5, apart: 7 }, LowBoundIntention::Finished { node: node(3), below: 9 }]
    {
        let bytes = intention.to_bytes();
        assert_eq!(LowBoundIntention::decode(&bytes), Ok(intention));
        (1..bytes.len()).for_each(|length| assert!(LowBoundIntention::decode(&bytes[..length]).is_err()));
        assert!(LowBoundIntention::decode(&[&bytes[..], &[0]].concat()).is_err());
        let newer = LowBoundIntention::decode(&[&[LOW_BOUND, 2], &bytes[2..]].concat());
        assert_eq!(newer, Err(DecodeError::NewerVersion { version: 2, supported: 1 }));
    }
    assert!(LowBoundIntention::decode(&[LOW_BOUND, VERSION, 3, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
}

/// Four nodes, three replicas of each range: two that have finished are a majority of two ranges, three of all.
#[test]
fn it_is_closed_when_a_majority_of_each_range_has_finished() {
    let (registry, strategies) = (registry(4), Strategies::default());
    let plan =
        |bound: &LowBound, schema: &Schema, intention| changes(bound, intention, (&registry, schema, &strategies), &[]);
    let finished = |number| LowBoundIntention::Finished { node: node(number), below: 100 };
    let of_three = schema(3);
    let refused = LowBound::default().with_all(plan(
        &LowBound::default(),
        &of_three,
        LowBoundIntention::Refuse { below: 100, apart: 10 },
    ));
    assert_eq!(refused.times().refused, 100);
    let mut bound = refused.clone();
    for (number, is_closed) in [(1, false), (3, false), (4, true)] {
        bound = bound.with_all(plan(&bound, &of_three, finished(number)));
        assert_eq!(bound.times().closed == 100, is_closed, "node {number}");
    }
    // Another number of replicas meanwhile: those that have finished are not those that count.
    let mut bound = refused;
    for number in 1..=4 {
        bound = bound.with_all(plan(&bound, &schema(2), finished(number)));
    }
    assert_eq!(bound.times().closed, 0);
    // Of one replica, each node has ranges of its own.
    let of_one = schema(1);
    let mut bound = LowBound::default().with_all(plan(
        &LowBound::default(),
        &of_one,
        LowBoundIntention::Refuse { below: 100, apart: 10 },
    ));
    for number in 1..=4 {
        assert_eq!(bound.times().closed, 0);
        bound = bound.with_all(plan(&bound, &of_one, finished(number)));
    }
    assert_eq!(bound.times().closed, 100);
}

/// Three replicas of each range become one: while both sets decide, a majority of each must have finished.
#[test]
fn it_is_closed_by_majorities_of_both_sets_while_an_operation_moves_ranges() {
    let (registry, schema, strategies) = (registry(4), schema(3), Strategies::default());
    let operation = |phase| {
        let (before, after) = (Simple { replication_factor: 3 }, Simple { replication_factor: 1 });
        let target = Target::Replication { keyspace: "ks".to_owned(), before, after };
        let (id, kind, lost) = (OperationId(1), Kind::Replication, BTreeSet::new());
        Rc::new(Operation {
            id,
            kind,
            phase,
            target,
            lost,
            copied: BTreeSet::new(),
            has_given_tokens: false,
            is_without_copy: false,
            is_forced: false,
        })
    };
    let closed_by = |finished: &[u8], phases: [Phase; 2]| {
        let plan = |bound: &LowBound, intention, phase| {
            changes(bound, intention, (&registry, &schema, &strategies), &[operation(phase)])
        };
        let refuse = LowBoundIntention::Refuse { below: 100, apart: 10 };
        let mut bound = LowBound::default().with_all(plan(&LowBound::default(), refuse, phases[0]));
        for number in finished {
            let finished = LowBoundIntention::Finished { node: node(*number), below: 100 };
            bound = bound.with_all(plan(&bound, finished, phases[1]));
        }
        bound.times().closed == 100
    };
    assert!(closed_by(&[1, 3, 4], [Phase::Planned; 2]));
    assert!(!closed_by(&[1, 3, 4], [Phase::WriteBoth; 2]), "the second node is all of a set");
    assert!(closed_by(&[1, 2, 3, 4], [Phase::WriteBoth; 2]));
    assert!(!closed_by(&[1, 2, 3, 4], [Phase::Planned, Phase::WriteBoth]), "by other sets than those of the refusal");
}

/// Its registers of attempts may be older than what it has said.
#[test]
fn a_node_in_doubt_does_not_count_in_whatever_state_it_is() {
    let (schema, strategies, all) = (schema(3), Strategies::default(), [1, 2].map(node).into());
    let normal = registry(3);
    let is_enough = |registry: &Registry| are_majorities(&all, (registry, &schema, &strategies), &[]);
    assert!(is_enough(&normal));
    let doubted = NodeChange::Doubted(node(2), 1);
    for state in [NodeState::Normal, NodeState::Leaving, NodeState::Regressed] {
        let noted = normal.apply([NodeChange::SetState(node(2), state), doubted.clone()]);
        assert!(!is_enough(&noted), "{state:?}");
        let renewed = noted.apply([NodeChange::Renewed(node(2))]);
        assert_eq!(is_enough(&renewed), state != NodeState::Regressed, "{state:?}");
    }
}
