//! Repairs of a table of which each node has something that the others lack.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use cluster::coordinator::{CommandState, Copies, RepairChoice, copies, repairs, set_stream_throughput};
use runtime::sim::Link;
use topology::{Token, TokenRange, token_of};

use crate::world::{Change, Content, Member, PAUSE, assert_all_have, keys, on_nodes};

/// A link on which half a page takes a while.
const SLOW: Link = Link {
    latency_min_nanos: 20_000_000,
    latency_max_nanos: 20_000_000,
    lost_per_million: 0,
    held_up_nanos: 0,
    reset_per_million: 0,
    is_cut: false,
};
/// Many segments end their connection.
const RESETTING: Link = Link { reset_per_million: 150_000, ..SLOW };
const GOOD: Link = Link { latency_min_nanos: 20_000, latency_max_nanos: 200_000, ..SLOW };

/// Gives the nodes rows by turns; some rows are newer on one node, some partitions are deleted on another. Gives what all should have.
async fn differ(node: &Rc<Member>, keys: &[Vec<u8>], nodes: u8, length: usize) -> Content {
    let mut expected = Content::new();
    for (number, key) in keys.iter().enumerate() {
        let (one, other) = ((number % usize::from(nodes)) as u8, ((number + 1) % usize::from(nodes)) as u8);
        node.write(one, key, b"a", (1, length)).await;
        node.write(other, key, b"b", (1, length)).await;
        let mut rows: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        let clustering = |name: &[u8]| [&[1, name.len() as u8][..], name].concat();
        match number % 4 {
            0 => {
                // Newer, and shorter, on another node.
                node.write(other, key, b"a", (2, 3)).await;
                rows.extend([(clustering(b"a"), 3), (clustering(b"b"), length)]);
            }
            1 => node.delete(other, key, 5).await,
            2 => {
                node.delete_up_to(other, key, b"a", 5).await;
                rows.insert(clustering(b"b"), length);
            }
            _ => rows.extend([(clustering(b"a"), length), (clustering(b"b"), length)]),
        }
        if !rows.is_empty() {
            expected.insert(key.clone(), rows);
        }
    }
    expected
}

fn assert_done(state: &CommandState) {
    assert_eq!(*state, CommandState::Successful);
}

fn each_has_all(shards: &'static [u16]) {
    on_nodes(shards, async |node| {
        node.until_all_up().await;
        let (nodes, keys) = (shards.len() as u8, keys(60));
        let expected = differ(&node, &keys, nodes, 20).await;
        for other in 0..nodes {
            assert_ne!(node.content(other, &keys).await, expected, "node {other} lacks something before");
        }
        let status = node.repair().await;
        assert_done(&status.state);
        let figures = status.figures;
        assert!(figures.units > 0 && figures.units_done == figures.units, "{figures:?}");
        assert!(figures.rows > 0 && figures.bytes > 0 && figures.files > 0, "{figures:?}");
        assert_all_have(&node, &keys, &expected).await;
    });
}

#[test]
fn each_of_two_nodes_has_all_after_a_repair() {
    each_has_all(&[1, 1]);
}

#[test]
fn each_of_three_nodes_has_all_after_a_repair() {
    each_has_all(&[1, 1, 1]);
}

#[test]
fn nodes_of_the_same_count_of_shards_have_all() {
    each_has_all(&[2, 2]);
}

#[test]
fn nodes_of_different_counts_of_shards_have_all() {
    each_has_all(&[2, 3, 1]);
}

#[test]
fn a_repair_of_what_agrees_changes_nothing() {
    on_nodes(&[1, 2], async |node| {
        node.until_all_up().await;
        let keys = keys(20);
        let expected = differ(&node, &keys, 2, 20).await;
        for _ in 0..2 {
            assert_done(&node.repair().await.state);
            assert_all_have(&node, &keys, &expected).await;
        }
    });
}

#[test]
fn only_the_range_that_was_asked_for_is_repaired() {
    on_nodes(&[1, 1], async |node| {
        node.until_all_up().await;
        let keys = keys(40);
        for key in &keys {
            node.write(1, key, b"a", (1, 5)).await;
        }
        let range = TokenRange { after: Token(-(1 << 62)), end: Token(-1) };
        let choice = RepairChoice { range: Some(range), ..RepairChoice::default() };
        assert_done(&node.ended(node.begin_repair(&choice)).await.state);
        let has: Vec<Vec<u8>> = node.content(0, &keys).await.into_keys().collect();
        let mut expected: Vec<Vec<u8>> = keys.iter().filter(|key| range.contains(token_of(key))).cloned().collect();
        expected.sort();
        assert!(!expected.is_empty(), "some keys are in the range");
        assert_eq!(has, expected);
    });
}

#[test]
fn a_replica_that_is_down_is_named() {
    on_nodes(&[1, 1, 1], async |node| {
        node.until_all_up().await;
        node.site.link(0, 2, Link { is_cut: true, ..GOOD });
        while node.coordinator.is_up(crate::world::host_id(2)) {
            node.runtime.sleep(PAUSE).await;
        }
        let status = node.repair().await;
        let CommandState::Failed(words) = &status.state else { panic!("a replica is down: {status:?}") };
        assert!(words.contains("Endpoint not alive: /10.0.0.3:7000"), "{words}");
    });
}

/// Waits until a repair has copied some bytes.
async fn until_under_way(node: &Rc<Member>, number: u32) {
    while repairs(&node.coordinator).status(number, 0).expect("it is known").figures.bytes == 0 {
        node.runtime.sleep(PAUSE).await;
    }
}

/// Repairs two nodes, over links that lose connections under way or not, and gives the bytes that receivers got in all.
fn bytes_received(loses_connections: bool) -> u64 {
    let bytes = Rc::new(Cell::new(0));
    let told = Rc::clone(&bytes);
    on_nodes(&[1, 1], async move |node| {
        node.until_all_up().await;
        let keys = keys(40);
        // Several pages for each unit.
        let expected = differ(&node, &keys, 2, 100_000).await;
        node.site.link(0, 1, SLOW);
        node.runtime.sleep(10 * PAUSE).await;
        let number = node.begin_repair(&RepairChoice::default());
        until_under_way(&node, number).await;
        if loses_connections {
            node.site.link(0, 1, RESETTING);
        }
        node.runtime.sleep(Duration::from_secs(1)).await;
        node.site.link(0, 1, SLOW);
        let status = node.ended(number).await;
        assert_done(&status.state);
        assert_all_have(&node, &keys, &expected).await;
        told.set(status.figures.bytes);
    });
    bytes.get()
}

#[test]
fn pages_that_are_lost_are_sent_again() {
    let (clean, lossy) = (bytes_received(false), bytes_received(true));
    assert!(clean < lossy, "units begin again: {clean} bytes without losses, {lossy} with");
}

#[test]
fn a_source_that_dies_ends_the_repair_and_the_next_one_works() {
    on_nodes(&[1, 1], async |node| {
        node.until_all_up().await;
        let keys = keys(40);
        let expected = differ(&node, &keys, 2, 100_000).await;
        // What the other node has is on its disk.
        node.site.link(0, 1, SLOW);
        let number = node.begin_repair(&RepairChoice::default());
        until_under_way(&node, number).await;
        node.site.link(0, 1, Link { is_cut: true, ..GOOD });
        node.site.cut_power(1);
        let status = node.ended(number).await;
        let CommandState::Failed(words) = &status.state else { panic!("a source has died: {status:?}") };
        assert!(words.contains("ks.t") && words.contains("10.0.0.2:7000"), "table and node are named: {words}");
        node.site.link(0, 1, GOOD);
        node.until_all_up().await;
        assert_done(&node.repair().await.state);
        assert_all_have(&node, &keys, &expected).await;
    });
}

/// A change of the table in the middle ends the repair, and nothing that was copied comes back.
fn a_change_ends_it(change: Change, changes_first: u8) {
    on_nodes(&[1, 1], async move |node| {
        node.until_all_up().await;
        let keys = keys(40);
        differ(&node, &keys, 2, 100_000).await;
        node.site.link(0, 1, SLOW);
        let number = node.begin_repair(&RepairChoice::default());
        until_under_way(&node, number).await;
        let epoch = node.site.agree(change);
        node.apply_on(changes_first, epoch).await;
        node.runtime.sleep(Duration::from_millis(100)).await;
        node.apply_on(1 - changes_first, epoch).await;
        let status = node.ended(number).await;
        let CommandState::Failed(words) = &status.state else { panic!("the table has changed: {status:?}") };
        assert!(words.contains("ks.t"), "{words}");
        for other in 0..2 {
            assert_eq!(node.content(other, &keys).await, Content::new(), "node {other}: {words}");
        }
        if matches!(change, Change::Truncate) {
            node.site.link(0, 1, GOOD);
            node.write(1, &keys[0], b"new", (9, 5)).await;
            assert_done(&node.repair().await.state);
            assert_eq!(node.content(0, &keys).await.len(), 1, "what was written since is repaired");
        }
    });
}

#[test]
fn a_truncation_at_the_receiver_ends_a_repair() {
    a_change_ends_it(Change::Truncate, 0);
}

#[test]
fn a_truncation_at_the_source_ends_a_repair() {
    a_change_ends_it(Change::Truncate, 1);
}

#[test]
fn a_drop_ends_a_repair() {
    a_change_ends_it(Change::Drop, 0);
}

#[test]
fn an_ended_repair_leaves_no_copies_open() {
    on_nodes(&[1, 1], async |node| {
        node.until_all_up().await;
        let keys = keys(20);
        differ(&node, &keys, 2, 20).await;
        assert_done(&node.repair().await.state);
        // Both ends receive the news, and no request waits for it.
        node.runtime.sleep(Duration::from_secs(1)).await;
        for other in 0..2 {
            let left = node.on((other, 0), async |member| copies(&member.coordinator)).await;
            assert_eq!(left, Copies::default(), "node {other}");
        }
    });
}

#[test]
fn a_leader_that_dies_leaves_nothing_running() {
    on_nodes(&[1, 1, 1], async |node| {
        node.until_all_up().await;
        let keys = keys(40);
        differ(&node, &keys, 3, 100_000).await;
        node.site.link(0, 1, SLOW);
        node.site.link(0, 2, SLOW);
        node.on((1, 0), async |member| _ = member.begin_repair(&RepairChoice::default())).await;
        loop {
            let here = copies(&node.coordinator);
            if here.open > 0 && here.jobs.iter().any(|job| job.bytes > 0) {
                break;
            }
            node.runtime.sleep(PAUSE).await;
        }
        node.site.link(1, 0, Link { is_cut: true, ..SLOW });
        node.site.link(1, 2, Link { is_cut: true, ..SLOW });
        node.site.cut_power(1);
        for other in [0, 2] {
            let began = node.runtime.now();
            while node.on((other, 0), async |member| copies(&member.coordinator)).await != Copies::default() {
                node.runtime.sleep(Duration::from_secs(1)).await;
            }
            assert!(node.runtime.now() - began < Duration::from_secs(180), "node {other} forgets it in time");
        }
    });
}

#[test]
fn a_source_gives_no_more_in_a_second_than_it_may() {
    const RATE: u64 = 200_000;
    on_nodes(&[1, 1], async |node| {
        node.until_all_up().await;
        let keys = keys(20);
        for key in &keys {
            node.write(1, key, b"a", (1, 100_000)).await;
        }
        node.on((1, 0), async |member| set_stream_throughput(&member.coordinator, RATE)).await;
        let began = node.runtime.now();
        assert_done(&node.repair().await.state);
        // Two megabytes, of which the first page goes at once.
        let took = (node.runtime.now() - began).as_secs_f64();
        assert!((7.0..15.0).contains(&took), "{took} s");
        assert_eq!(node.content(0, &keys).await.len(), keys.len());
    });
}

/// A rate at which a repair of what [`slow_repair`] writes takes more than a minute.
const SLOW_RATE: u64 = 16_000;

/// Gives each node rows that the others lack, has one give them slowly, and begins a repair.
async fn slow_repair(node: &Rc<Member>, keys: &[Vec<u8>], (nodes, source, length): (u8, u8, usize)) -> (u32, Content) {
    node.until_all_up().await;
    let expected = differ(node, keys, nodes, length).await;
    node.on((source, 0), async |member| set_stream_throughput(&member.coordinator, SLOW_RATE)).await;
    (node.begin_repair(&RepairChoice::default()), expected)
}

#[test]
fn a_copy_stays_open_while_another_one_of_its_job_is_pulled() {
    on_nodes(&[1, 1, 1], async |node| {
        let keys = keys(60);
        let (number, expected) = slow_repair(&node, &keys, (3, 1, 40_000)).await;
        // The first node pulls from the second one, and then from the third, which the others have left by then.
        node.runtime.sleep(Duration::from_secs(90)).await;
        let status = repairs(&node.coordinator).status(number, 0).expect("it is known");
        assert_eq!(status.state, CommandState::Running, "it takes long");
        let open = node.on((2, 0), async |member| copies(&member.coordinator).open).await;
        assert_eq!(open, 1, "the first node's");
        assert_done(&node.ended(number).await.state);
        assert_all_have(&node, &keys, &expected).await;
    });
}

#[test]
fn receivers_wait_for_a_place_at_a_source_as_long_as_others_have_all() {
    // Each of 17 shards that receive needs a place at the one shard of the first node, which has 16.
    on_nodes(&[1, 17], async |node| {
        let keys = keys(100);
        let (number, expected) = slow_repair(&node, &keys, (2, 0, 20_000)).await;
        let began = node.runtime.now();
        let mut most = 0;
        while repairs(&node.coordinator).status(number, 0).expect("it is known").state == CommandState::Running {
            most = most.max(copies(&node.coordinator).open);
            node.runtime.sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(most, 16, "all places are taken");
        assert!(node.runtime.now() - began > Duration::from_secs(70), "for longer than a source may be busy otherwise");
        assert_done(&node.ended(number).await.state);
        assert_all_have(&node, &keys, &expected).await;
    });
}

#[test]
fn a_job_that_is_ended_lets_everything_go() {
    on_nodes(&[1, 1, 1], async |node| {
        let keys = keys(40);
        let (number, _) = slow_repair(&node, &keys, (3, 1, 40_000)).await;
        until_under_way(&node, number).await;
        let before = node.coordinator.storage().stats().files;
        node.site.link(0, 2, Link { is_cut: true, ..GOOD });
        let CommandState::Failed(words) = node.ended(number).await.state else { panic!("a participant is away") };
        assert!(words.contains("10.0.0.3:7000"), "{words}");
        let began = node.runtime.now();
        while copies(&node.coordinator) != Copies::default() || node.coordinator.storage().stats().memory_used > 0 {
            assert!(node.runtime.now() - began < Duration::from_secs(180), "{:?}", copies(&node.coordinator));
            node.runtime.sleep(PAUSE).await;
        }
        assert!(node.coordinator.storage().stats().files <= before + 1, "no unit is in several files");
        node.on((1, 0), async |member| set_stream_throughput(&member.coordinator, 0)).await;
        node.site.link(0, 2, GOOD);
        node.until_all_up().await;
        assert_done(&node.repair().await.state);
    });
}
