//! Logged batches of which other nodes keep copies.

use std::time::Duration;

use cluster::coordinator::Failure;
use runtime::sim::Link;
use storage::{BatchHead, BatchName, UnfinishedBatch};
use topology::ConsistencyLevel::{All, One};
use topology::Epoch;

use crate::world::{Change, Member, PAUSE, host_id, on_nodes, on_nodes_with_hints};

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
        let truncated = node.site.agree(Change::Truncate);
        for other in [1, 2] {
            node.on(other, move |member| async move { member.apply_to(truncated) }).await;
        }
        while unfinished(&node, 1).await > 0 {
            node.runtime.sleep(Duration::from_secs(1)).await;
        }
        assert_eq!((node.holders(first).await, node.holders(second).await), (vec![], vec![]));
    });
}

fn begun(node: &Member, seconds_ago: i64) -> BatchHead {
    BatchHead { created: node.runtime.wall_clock_micros() - seconds_ago * 1_000_000, copy_of: None }
}

/// Logs a batch of rows and has the node finish it as its start does.
async fn start_with(node: &Member, head: BatchHead, batches: &[&[&'static [u8]]]) {
    let storage = node.coordinator.storage();
    let mut found = Vec::new();
    for keys in batches {
        let mutations: Vec<Vec<u8>> = keys.iter().map(|key| node.planned(key).mutation).collect();
        let slices: Vec<&[u8]> = mutations.iter().map(Vec::as_slice).collect();
        let (id, sequence) = storage.log_batch(&head, &slices).expect("there is room");
        storage.wait_synced(sequence).await.expect("the disk works");
        found.push(UnfinishedBatch { id, head, mutations });
    }
    let replication = node.replication();
    node.coordinator.finish_batches(found, move |_| Some(replication.clone())).await;
}

/// Cuts a node off from this one, and waits until that is noticed.
async fn cut_off(node: &Member, other: u8) {
    [(0, other), (other, 0)].into_iter().for_each(|(from, to)| node.site.link(from, to, CUT));
    while node.coordinator.is_up(host_id(other)) {
        node.runtime.sleep(PAUSE).await;
    }
}

fn heal(node: &Member, other: u8) {
    [(0, other), (other, 0)].into_iter().for_each(|(from, to)| node.site.link(from, to, Link::default()));
}

/// The seconds after which a batch is too old for the table.
const GRACE: i64 = 864_000;

#[test]
fn a_batch_older_than_the_grace_of_its_table_is_not_delivered() {
    on_nodes(1, 3, async |node| {
        node.until_up(1).await;
        let (old, young) = (key_of(&node, 1), key_of(&node, 0));
        start_with(&node, begun(&node, GRACE + 1), &[&[old]]).await;
        start_with(&node, begun(&node, GRACE - 60), &[&[young]]).await;
        assert_eq!(node.coordinator.storage().unfinished_batches(), 0);
        assert_eq!((node.holders(old).await, node.holders(young).await), (vec![], vec![0]));
    });
}

/// The age of a hint is that of its write, through whichever records it came.
#[test]
fn the_hint_of_a_batch_is_as_old_as_the_batch() {
    on_nodes_with_hints(1, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        let away = key_of(&node, 2);
        cut_off(&node, 2).await;
        start_with(&node, begun(&node, GRACE - 60), &[&[away]]).await;
        let hints = node.coordinator.hints().expect("they are kept");
        assert_eq!((hints.figures().created, node.coordinator.storage().unfinished_batches()), (1, 0));
        node.runtime.sleep(Duration::from_secs(120)).await;
        heal(&node, 2);
        while !hints.pending().is_empty() {
            node.runtime.sleep(PAUSE).await;
        }
        assert_eq!((hints.figures().void, hints.figures().delivered), (1, 0));
        assert_eq!(node.holders(away).await, [0u8; 0]);
    });
}

/// A keeper that starts again has its copies under the names of their batches: it asks the coordinator, which is done with this one.
#[test]
fn a_keeper_that_starts_again_delivers_nothing_that_its_coordinator_is_done_with() {
    on_nodes(1, 3, async |node| {
        node.until_up(1).await;
        let key = key_of(&node, 2);
        assert_eq!(node.write(vec![node.planned(key_of(&node, 0))], One).await, Ok(()));
        let name = |boot| BatchName { host_id: host_id(0), boot, shard: 0, sequence: 0 };
        // Of an earlier start this node knows nothing: its log may be lost.
        for (boot, holders) in [(1, vec![]), (0, vec![2])] {
            node.on(1, move |member| async move {
                member.until_up(0).await;
                member.until_up(2).await;
                let head = BatchHead { copy_of: Some(name(boot)), ..begun(&member, 0) };
                start_with(&member, head, &[&[key]]).await;
            })
            .await;
            while unfinished(&node, 1).await > 0 {
                node.runtime.sleep(PAUSE).await;
            }
            assert_eq!(node.holders(key).await, holders, "of start {boot}");
        }
    });
}

/// A hint of what no replica takes is enough: the batch need not wait.
#[test]
fn a_batch_with_a_hint_of_what_no_replica_takes_is_finished() {
    on_nodes_with_hints(1, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        let (first, second) = (key_of(&node, 1), key_of(&node, 2));
        cut_off(&node, 2).await;
        let batch = vec![node.planned(first), node.planned(second)];
        assert!(node.coordinator.write_logged_batch(batch, One).await.is_err());
        while node.coordinator.storage().unfinished_batches() > 0 || unfinished(&node, 1).await > 0 {
            node.runtime.sleep(PAUSE).await;
        }
        assert_eq!((node.holders(first).await, node.holders(second).await), (vec![1], vec![]));
        heal(&node, 2);
        while node.holders(second).await.is_empty() {
            node.runtime.sleep(PAUSE).await;
        }
    });
}

/// The first try may end before anything is sent: then the second one makes the hints.
#[test]
fn a_batch_whose_first_delivery_sends_nothing_is_hinted_by_the_next() {
    on_nodes_with_hints(1, 3, async |node| {
        let (here, away) = (key_of(&node, 0), key_of(&node, 2));
        node.until_up(1).await;
        node.until_up(2).await;
        cut_off(&node, 1).await;
        cut_off(&node, 2).await;
        // A change has begun here that the node does not get to the end of.
        let epoch = Epoch(node.site.agree(Change::Other));
        node.site.stick(0);
        node.coordinator.fence().truncating(epoch, crate::world::TABLE);
        let batch = vec![node.planned(here), node.planned(away)];
        assert!(node.coordinator.write_logged_batch(batch, One).await.is_err());
        let hints = node.coordinator.hints().expect("they are kept");
        assert_eq!((hints.figures().created, node.own_rows(here)), (0, 0));
        node.coordinator.fence().reached(epoch);
        while node.coordinator.storage().unfinished_batches() > 0 {
            node.runtime.sleep(PAUSE).await;
        }
        assert_eq!((hints.figures().created, node.own_rows(here)), (1, 1));
    });
}

/// The live replicas of both parts are the same, those that are down are not: each of them will have one part only.
#[test]
fn a_batch_that_would_be_split_between_nodes_that_are_down_is_logged() {
    on_nodes(2, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        let of = |replicas: [u8; 2]| KEYS.into_iter().find(|key| node.replicas(key) == replicas).expect("there is one");
        let (first, second) = (of([0, 1]), of([0, 2]));
        cut_off(&node, 1).await;
        cut_off(&node, 2).await;
        let batch = || vec![node.planned(first), node.planned(second)];
        assert!(node.coordinator.write_logged_batch(batch(), All).await.is_err());
        assert_eq!(node.coordinator.storage().unfinished_batches(), 1, "it will be finished");
        let of_one_place = vec![node.planned(first), node.planned(first)];
        assert!(node.coordinator.write_logged_batch(of_one_place, All).await.is_err());
        assert_eq!(node.coordinator.storage().unfinished_batches(), 1, "each replica will have all of it or nothing");
    });
}

/// Clients wait for the first tries of all batches together, not for one after the other.
#[test]
fn a_start_waits_a_bounded_time_for_all_batches() {
    on_nodes(1, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        let (here, away) = (key_of(&node, 0), key_of(&node, 2));
        node.site.link(2, 0, CUT);
        node.runtime.sleep(10 * PAUSE).await;
        let began = node.runtime.now();
        start_with(&node, begun(&node, 0), &[&[away], &[away], &[here], &[away]]).await;
        let took = node.runtime.now() - began;
        assert!(took < Duration::from_millis(2_500), "{took:?}");
        assert_eq!(node.holders(here).await, [0], "what can be delivered is, at once");
    });
}
