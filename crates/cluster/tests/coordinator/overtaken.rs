//! Reads, repairs, hints and late parts of writes that a change of the table or the ring overtakes on one replica.

use std::time::Duration;

use cluster::coordinator::Failure;
use runtime::Group;
use runtime::sim::Link;
use topology::ConsistencyLevel::{self, All, One, Quorum};

use crate::world::{Change, FIRST, PAUSE, on_nodes, on_nodes_with_hints};

const CUT: Link = Link { is_cut: true, ..SLOW };
const GOOD: Link = Link { latency_min_nanos: 20_000, latency_max_nanos: 200_000, ..SLOW };
/// Half a second, which no request minds.
const SLOW: Link = Link {
    latency_min_nanos: 500_000_000,
    latency_max_nanos: 500_000_000,
    lost_per_million: 0,
    held_up_nanos: 0,
    reset_per_million: 0,
    is_cut: false,
};
/// By then a slow message has arrived, and what follows it.
const ARRIVED: Duration = Duration::from_secs(5);

#[test]
fn a_truncation_takes_along_the_part_of_an_acknowledged_write_that_comes_after_it() {
    on_nodes(3, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        node.site.link(0, 2, SLOW);
        node.runtime.sleep(10 * PAUSE).await;
        assert_eq!(node.write(vec![node.planned(b"k")], Quorum).await, Ok(()));
        let truncated = node.site.agree(Change::Truncate);
        node.apply_to(truncated);
        for other in [1, 2] {
            node.on(other, move |other| async move { other.apply_to(truncated) }).await;
        }
        node.runtime.sleep(ARRIVED).await;
        assert_eq!(node.holders(b"k").await, [0u8; 0], "it was acknowledged before the truncation");
    });
}

#[test]
fn an_acknowledgement_from_before_a_truncation_does_not_count_after_it() {
    on_nodes(3, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        // This node takes it before the others refuse it.
        node.site.link(0, 1, Link { latency_min_nanos: 50_000_000, latency_max_nanos: 50_000_000, ..SLOW });
        node.site.link(0, 2, SLOW);
        node.runtime.sleep(10 * PAUSE).await;
        let planned = node.planned(b"k");
        let truncated = node.site.agree(Change::Truncate);
        for other in [1, 2] {
            node.on(other, move |other| async move { other.apply_to(truncated) }).await;
        }
        // It truncates the row when it catches up with those that are ahead.
        assert_eq!(node.write(vec![planned], Quorum).await, Ok(()));
        let holders = node.holders(b"k").await;
        assert!(holders.len() >= 2, "acknowledged at QUORUM, {holders:?} have it");
    });
}

#[test]
fn a_late_part_of_a_write_follows_a_change_of_the_ring() {
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        node.site.link(0, 1, SLOW);
        node.runtime.sleep(10 * PAUSE).await;
        assert_eq!(node.write(vec![node.planned(b"k")], One).await, Ok(()));
        let grown = node.site.agree(Change::Ring(3));
        for other in [1, 2] {
            node.on(other, move |other| async move { other.apply_to(grown) }).await;
        }
        node.runtime.sleep(ARRIVED).await;
        let (replicas, holders) = (node.replicas(b"k"), node.holders(b"k").await);
        assert!(replicas.contains(&1) && holders.contains(&1), "{replicas:?} are to have it: {holders:?}");
    });
}

#[test]
fn a_reader_that_is_ahead_of_the_plan_is_replaced_by_no_other() {
    on_nodes(3, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        assert_eq!(node.write(vec![node.planned(b"k")], All).await, Ok(()));
        let truncated = node.site.agree(Change::Truncate);
        for other in [1, 2] {
            node.on(other, move |other| async move { other.apply_to(truncated) }).await;
        }
        assert_eq!(node.read(b"k", Quorum).await, Err(Failure::Outdated));
        assert_eq!(node.coordinator.counters().reads.replaced_replicas, 0, "it has not failed");
        assert_eq!(node.read(b"k", Quorum).await, Ok(0));
    });
}

#[test]
fn a_repair_of_what_was_truncated_meanwhile_ends_the_read() {
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        node.coordinator.storage().apply(&node.planned(b"k").mutation).expect("there is room");
        node.site.link(0, 1, SLOW);
        node.runtime.sleep(10 * PAUSE).await;
        let reader = std::rc::Rc::clone(&node);
        let reading = node.runtime.spawn(Group::Query, async move { reader.read(b"k", All).await });
        // The other node is asked after half a second, and written to half a second later.
        node.runtime.sleep(Duration::from_millis(700)).await;
        let truncated = node.site.agree(Change::Truncate);
        node.on(1, move |other| async move { other.apply_to(truncated) }).await;
        assert_eq!(reading.await, Err(Failure::Outdated));
        assert_eq!(node.coordinator.counters().reads.repaired_blocking, 1, "what was read was to be repaired");
        assert_eq!(node.holders(b"k").await, [0u8; 0]);
    });
}

#[test]
fn a_hint_is_planned_when_it_is_delivered() {
    on_nodes_with_hints(2, 2, async |node| {
        node.until_up(1).await;
        node.site.link(0, 1, CUT);
        node.runtime.sleep(10 * PAUSE).await;
        assert_eq!(node.write(vec![node.planned(b"k")], One).await, Ok(()));
        let hints = node.coordinator.hints().expect("they are kept");
        while hints.figures().created == 0 {
            node.runtime.sleep(PAUSE).await;
        }
        // Its target has numbers that this node does not know.
        let grown = node.site.agree(Change::Ring(3));
        for other in [1, 2] {
            node.on(other, move |other| async move { other.apply_to(grown) }).await;
        }
        node.site.link(0, 1, GOOD);
        while hints.figures().delivered == 0 {
            node.runtime.sleep(PAUSE).await;
        }
        let (replicas, holders) = (node.replicas(b"k"), node.holders(b"k").await);
        assert!(holders.contains(&1) || !replicas.contains(&1), "{replicas:?} are to have it: {holders:?}");
        assert_eq!(node.coordinator.ring().epoch().0, grown, "this node has caught up for its hint");
    });
}

#[test]
fn a_hint_does_not_bring_back_what_its_target_has_truncated_first() {
    on_nodes_with_hints(2, 2, async |node| {
        node.until_up(1).await;
        node.site.link(0, 1, CUT);
        node.runtime.sleep(10 * PAUSE).await;
        assert_eq!(node.write(vec![node.planned(b"k")], One).await, Ok(()));
        let hints = node.coordinator.hints().expect("they are kept");
        while hints.figures().created == 0 {
            node.runtime.sleep(PAUSE).await;
        }
        // This node, which has the hint, has not heard of it yet.
        let truncated = node.site.agree(Change::Truncate);
        node.on(1, move |other| async move { other.apply_to(truncated) }).await;
        node.site.link(0, 1, GOOD);
        while !hints.pending().is_empty() {
            node.runtime.sleep(PAUSE).await;
        }
        assert_eq!((hints.figures().void, hints.figures().delivered), (1, 0));
        assert_eq!(node.holders(b"k").await, [0u8; 0]);
    });
}

/// A write whose other replica has applied a change that this node cannot follow has a hint for it.
fn a_stale_part_is_hinted(level: ConsistencyLevel, written: Result<(), Failure>) {
    on_nodes_with_hints(2, 2, async move |node| {
        node.until_up(1).await;
        // This node has written its own part before the other answers.
        node.site.link(0, 1, SLOW);
        node.runtime.sleep(10 * PAUSE).await;
        node.site.stick(0);
        let grown = node.site.agree(Change::Ring(3));
        for other in [1, 2] {
            node.on(other, move |other| async move { other.apply_to(grown) }).await;
        }
        assert_eq!(node.write(vec![node.planned(b"k")], level).await, written);
        let hints = node.coordinator.hints().expect("they are kept");
        // An hour of the world at most.
        while hints.figures().created == 0 {
            node.runtime.sleep(PAUSE).await;
        }
        assert_eq!(node.coordinator.ring().epoch().0, FIRST, "the change is not known here");
        node.site.loosen(0);
        while hints.figures().delivered == 0 {
            node.runtime.sleep(PAUSE).await;
        }
        let (replicas, holders) = (node.replicas(b"k"), node.holders(b"k").await);
        assert!(holders.contains(&1) || !replicas.contains(&1), "{replicas:?} are to have it: {holders:?}");
    });
}

#[test]
fn a_stale_part_of_an_acknowledged_write_is_hinted_where_its_change_cannot_be_followed() {
    a_stale_part_is_hinted(One, Ok(()));
}

#[test]
fn a_stale_part_of_a_write_that_timed_out_is_hinted_too() {
    a_stale_part_is_hinted(All, Err(Failure::Timeout { received: 1 }));
}
