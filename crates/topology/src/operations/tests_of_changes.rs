//! Operations and changes for the tests of state and bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use proptest::collection::{btree_map, btree_set};
use proptest::prelude::*;

use super::{EndNumber, Kind, Operation, OperationChange, OperationId, Phase, Target};
use crate::ring::HostId;
use crate::strategy::ReplicationStrategy;
use crate::token::Token;

pub fn joining(number: u64, nodes: &[(u8, &[i64])]) -> Operation {
    let tokens = |tokens: &[i64]| tokens.iter().copied().map(Token).collect();
    let nodes = nodes.iter().map(|(node, of)| (HostId([*node; 16]), tokens(of))).collect();
    of(number, Kind::Bootstrap, Target::Tokens(nodes))
}

pub fn replication(number: u64, keyspace: &str) -> Operation {
    let simple = |replication_factor| ReplicationStrategy::Simple { replication_factor };
    let target = Target::Replication { keyspace: keyspace.to_owned(), before: simple(1), after: simple(3) };
    of(number, Kind::Replication, target)
}

fn of(number: u64, kind: Kind, target: Target) -> Operation {
    let (id, phase, lost) = (OperationId(number), Phase::Queued, BTreeSet::new());
    let (copied, has_given_tokens) = (BTreeSet::new(), false);
    Operation { id, kind, phase, target, lost, copied, has_given_tokens, is_without_copy: false, is_forced: false }
}

fn any_id() -> impl Strategy<Value = OperationId> {
    (1u64..6).prop_map(OperationId)
}

fn any_end() -> impl Strategy<Value = EndNumber> {
    (1u64..6).prop_map(EndNumber)
}

fn any_host() -> impl Strategy<Value = HostId> {
    (0u8..5).prop_map(|number| HostId([number; 16]))
}

fn any_phase() -> impl Strategy<Value = Phase> {
    (1u8..=7).prop_map(|byte| Phase::of_byte(byte).expect("a phase"))
}

fn any_strategy() -> impl Strategy<Value = ReplicationStrategy> {
    let name = || "[a-b]{0,2}";
    prop_oneof![
        (0u32..4).prop_map(|replication_factor| ReplicationStrategy::Simple { replication_factor }),
        btree_map(name(), 1u32..4, 0..3).prop_map(|datacenters| ReplicationStrategy::NetworkTopology { datacenters }),
        Just(ReplicationStrategy::Everywhere),
        btree_map(name(), ".{0,3}", 0..3)
            .prop_map(|options| ReplicationStrategy::Registered { class: "org.example.Own".into(), options }),
    ]
}

/// Few tokens, nodes and keyspaces, so that operations touch each other.
fn any_target() -> impl Strategy<Value = Target> {
    let tokens = btree_set(-4i64..4, 0..3).prop_map(|set| set.into_iter().map(Token).collect::<Vec<_>>());
    let nodes = btree_map(any_host(), tokens, 0..3).prop_map(|nodes: BTreeMap<_, _>| Target::Tokens(nodes));
    let replication = ("[a-b]", any_strategy(), any_strategy())
        .prop_map(|(keyspace, before, after)| Target::Replication { keyspace, before, after });
    let copy = (any_host(), prop_oneof![Just(None), Just(Some("dc".to_owned()))])
        .prop_map(|(node, datacenter)| Target::Copy { node, datacenter });
    prop_oneof![nodes, replication, copy]
}

prop_compose! {
    /// Of a kind that fits its target, most of the time.
    pub fn any_operation()(
        id in any_id(), kind in 1u8..=9, fits in 0u8..8, phase in any_phase(), target in any_target(),
        lost in btree_set(any_host(), 0..2), is_without_copy in any::<bool>(), is_forced in any::<bool>(),
        copied in btree_set(any_host(), 0..2), has_given_tokens in any::<bool>(),
    ) -> Operation {
        let fitting = match target {
            Target::Tokens(_) => Kind::Bootstrap,
            Target::Replication { .. } => Kind::Replication,
            Target::Copy { .. } => Kind::Rebuild,
        };
        let kind = if fits > 0 { fitting } else { Kind::of_byte(kind).expect("a kind") };
        Operation { id, kind, phase, target, lost, copied, has_given_tokens, is_without_copy, is_forced }
    }
}

pub fn any_change() -> impl Strategy<Value = OperationChange> {
    let queued =
        any_operation().prop_map(|operation| Operation { phase: Phase::Queued, copied: BTreeSet::new(), ..operation });
    let hosts = || btree_set(any_host(), 0..3);
    prop_oneof![
        6 => queued.prop_map(|operation| OperationChange::Queue(Rc::new(operation))),
        5 => (any_id(), any_target()).prop_map(|(id, target)| OperationChange::Plan(id, target)),
        9 => (any_id(), any_phase()).prop_map(|(id, phase)| OperationChange::Advance(id, phase)),
        1 => (any_id(), hosts()).prop_map(|(id, unclean)| OperationChange::Finish(id, unclean)),
        1 => (any_id(), hosts()).prop_map(|(id, nodes)| OperationChange::Gained(id, nodes)),
        1 => (any_id(), hosts()).prop_map(|(id, unclean)| OperationChange::Abort(id, unclean)),
        1 => (any_host(), any_end()).prop_map(|(node, last)| OperationChange::Cleaned(node, last)),
        3 => (any_id(), any_host()).prop_map(|(id, receiver)| OperationChange::Copied(id, receiver)),
        1 => (any_id(), any_host()).prop_map(|(id, host)| OperationChange::GiveUp(id, host)),
        2 => any_operation().prop_map(|operation| OperationChange::Restore(Rc::new(operation))),
        1 => any_id().prop_map(OperationChange::RestoreNext),
        1 => (any_host(), any_end()).prop_map(|(node, last)| OperationChange::Unclean(node, last)),
        1 => any_end().prop_map(OperationChange::RestoreEnded),
    ]
}
