//! Counters, and levels of one datacenter.

use std::time::Duration;

use cluster::coordinator::{Failure, TimeoutKind};
use runtime::sim::Link;
use topology::ConsistencyLevel::{All, LocalQuorum, One};

use crate::world::{Change, Member, PAUSE, Shape, on_nodes, on_shape};

const KEYS: [&[u8]; 12] = [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i", b"j", b"k", b"l"];

/// Planted: delta-sent-twice.
#[test]
fn a_delta_whose_answer_is_lost_is_not_sent_again() {
    on_nodes(1, 3, async |node| {
        node.until_up(1).await;
        let key = KEYS.into_iter().find(|key| node.replicas(key) == [1]).expect("the node has some key");
        assert_eq!(node.coordinator.count(vec![node.planned_delta(key, 7)], One).await, Ok(()));
        // Sooner than the silent connection ends.
        node.coordinator.timeouts().set(TimeoutKind::CounterWrite, Duration::from_secs(2));
        node.site.link(1, 0, Link { is_cut: true, ..Link::default() });
        node.runtime.sleep(10 * PAUSE).await;
        let counted = node.coordinator.count(vec![node.planned_delta(key, 5)], One).await;
        assert_eq!(counted, Err(Failure::Timeout { received: 0 }), "whether it counted is not known");
        assert_eq!(node.on(1, move |member| async move { member.own_count(key) }).await, 12);
    });
}

#[test]
fn a_node_of_this_datacenter_leads_rather_than_one_of_another() {
    on_shape(Shape::TwoDatacenters, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        let counted = node
            .on(2, |member| async move {
                member.until_up(0).await;
                member.until_up(1).await;
                member.coordinator.count(vec![member.planned_delta(b"k", 3)], One).await
            })
            .await;
        assert_eq!(counted, Ok(()), "a replica leads itself");
        assert_eq!(node.coordinator.count(vec![node.planned_delta(b"k", 4)], LocalQuorum).await, Ok(()));
        assert_eq!(node.own_count(b"k"), 7, "the parts of both leaders");
    });
}

/// Planted: local-counts-remote.
#[test]
fn a_local_level_counts_no_answers_of_other_datacenters() {
    on_shape(Shape::TwoDatacenters, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        assert_eq!(node.write(vec![node.planned(b"k")], LocalQuorum).await, Ok(()));
        node.site.link(0, 1, Link { is_cut: true, ..Link::default() });
        node.runtime.sleep(10 * PAUSE).await;
        let written = node.write(vec![node.planned(b"l")], LocalQuorum).await;
        assert_eq!(written, Err(Failure::Timeout { received: 1 }), "the third node is elsewhere");
        assert_eq!(node.holders(b"l").await, [0, 2]);
    });
}

/// Planted: tenure-kept.
#[test]
fn a_range_that_was_lost_and_gained_again_is_counted_in_another_part() {
    on_nodes(3, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        let count =
            async |key: &'static [u8], delta| node.coordinator.count(vec![node.planned_delta(key, delta)], All).await;
        for key in KEYS {
            assert_eq!(count(key, 7).await, Ok(()));
        }
        alter(&node, 1).await;
        let key = KEYS.into_iter().find(|key| !node.replicas(key).contains(&0)).expect("some range is lost");
        node.forget_counts();
        alter(&node, 3).await;
        assert_eq!(count(key, 5).await, Ok(()));
        assert_eq!(node.on(1, move |member| async move { member.own_count(key) }).await, 12, "the older part stays");
        assert_eq!(node.own_count(key), 5, "the older part was lost here");
    });
}

/// All nodes apply an ALTER KEYSPACE.
async fn alter(node: &Member, replicas: u32) {
    let epoch = node.site.agree(Change::Replicas(replicas));
    node.apply_to(epoch);
    for other in 1..3 {
        node.on(other, move |member| async move { member.apply_to(epoch) }).await;
    }
}
