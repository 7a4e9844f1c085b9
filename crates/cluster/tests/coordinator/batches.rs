//! Logged batches of which other nodes keep copies.

use std::time::Duration;

use cluster::coordinator::Failure;
use runtime::sim::Link;
use topology::ConsistencyLevel::One;

use crate::world::{Member, PAUSE, on_nodes};

const KEYS: [&[u8]; 12] = [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i", b"j", b"k", b"l"];
const CUT: Link = Link {
    latency_min_nanos: 20_000,
    latency_max_nanos: 200_000,
    lost_per_million: 0,
    held_up_nanos: 0,
    reset_per_million: 0,
    is_cut: true,
};

/// A key whose only replica is this node.
fn key_of(node: &Member, owner: u8) -> &'static [u8] {
    KEYS.into_iter().find(|key| node.replicas(key) == [owner]).expect("each node has some key")
}

async fn unfinished(node: &Member, of: u8) -> usize {
    node.on(of, |member| async move { member.coordinator.storage().unfinished_batches() }).await
}

/// Planted: batch-copy-on-itself.
#[test]
fn a_batch_is_whole_though_its_coordinator_is_gone() {
    on_nodes(1, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        let (first, second) = (key_of(&node, 1), key_of(&node, 2));
        // It is not noticed yet that the second part cannot be delivered.
        node.site.link(0, 2, CUT);
        node.runtime.sleep(10 * PAUSE).await;
        let batch = vec![node.planned(first), node.planned(second)];
        let written = node.coordinator.write_logged_batch(batch, One).await;
        assert_eq!(written, Err(Failure::Timeout { received: 0 }));
        [(0, 1), (1, 0), (2, 0)].into_iter().for_each(|(from, to)| node.site.link(from, to, CUT));
        // No message of its coordinator gets anywhere any more: what is delivered from here on is delivered by a keeper.
        for _ in 0..30 {
            node.runtime.sleep(Duration::from_secs(1)).await;
            if node.on(2, move |member| async move { member.own_rows(second) }).await > 0 {
                break;
            }
        }
        assert_eq!(node.holders(second).await, [2], "a keeper has delivered what the coordinator could not");
        assert_eq!(node.holders(first).await, [1]);
    });
}

#[test]
fn a_batch_that_is_delivered_leaves_no_copies() {
    on_nodes(1, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        let batch = || vec![node.planned(key_of(&node, 1)), node.planned(key_of(&node, 2))];
        assert_eq!(node.coordinator.write_logged_batch(batch(), One).await, Ok(()));
        for keeper in [1, 2] {
            while unfinished(&node, keeper).await > 0 {
                node.runtime.sleep(PAUSE).await;
            }
        }
        // One keeper is enough.
        node.site.link(0, 2, CUT);
        node.runtime.sleep(10 * PAUSE).await;
        let of_one = vec![node.planned(key_of(&node, 0)), node.planned(key_of(&node, 1))];
        assert_eq!(node.coordinator.write_logged_batch(of_one, One).await, Ok(()));
        while unfinished(&node, 1).await > 0 {
            node.runtime.sleep(PAUSE).await;
        }
        assert_eq!(node.coordinator.storage().unfinished_batches(), 0);
    });
}

#[test]
fn a_keeper_that_hears_nothing_asks_and_waits_as_long_as_the_coordinator_goes_on() {
    on_nodes(1, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        let (first, second) = (key_of(&node, 1), key_of(&node, 2));
        // No node reaches the second part's; its coordinator stays, and so does the copy.
        [(0, 2), (1, 2)].into_iter().for_each(|(from, to)| node.site.link(from, to, CUT));
        node.runtime.sleep(10 * PAUSE).await;
        let batch = vec![node.planned(first), node.planned(second)];
        assert!(node.coordinator.write_logged_batch(batch, One).await.is_err());
        node.runtime.sleep(Duration::from_secs(15)).await;
        assert_eq!((unfinished(&node, 1).await, node.coordinator.storage().unfinished_batches()), (1, 1));
        [(0, 2), (1, 2)].into_iter().for_each(|(from, to)| node.site.link(from, to, Link::default()));
        while unfinished(&node, 1).await > 0 {
            node.runtime.sleep(PAUSE).await;
        }
        assert_eq!(node.holders(second).await, [2]);
        assert_eq!(node.coordinator.storage().unfinished_batches(), 0);
    });
}

/// A copy does not bring back the rows that a truncation took.
#[test]
fn a_keeper_delivers_nothing_of_a_truncated_table() {
    on_nodes(1, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        let (first, second) = (key_of(&node, 1), key_of(&node, 2));
        node.site.link(0, 2, CUT);
        node.runtime.sleep(10 * PAUSE).await;
        let batch = vec![node.planned(first), node.planned(second)];
        assert!(node.coordinator.write_logged_batch(batch, One).await.is_err());
        [(0, 1), (1, 0), (2, 0)].into_iter().for_each(|(from, to)| node.site.link(from, to, CUT));
        let truncated = node.site.agree(crate::world::Change::Truncate);
        for other in [1, 2] {
            node.on(other, move |member| async move { member.apply_to(truncated) }).await;
        }
        while unfinished(&node, 1).await > 0 {
            node.runtime.sleep(Duration::from_secs(1)).await;
        }
        assert_eq!((node.holders(first).await, node.holders(second).await), (vec![], vec![]));
    });
}
