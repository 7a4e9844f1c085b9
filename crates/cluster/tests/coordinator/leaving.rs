//! Hints for replicas that lose their ranges, and of nodes that leave: a write at ANY may be nowhere else.

use std::rc::Rc;

use cluster::coordinator::{Failure, Hints, hand_on};
use runtime::sim::Link;
use topology::ConsistencyLevel::Any;
use topology::operations::Phase;

use crate::moving::{moving_from, pass};
use crate::operations::receive;
use crate::world::{Change, Member, PAUSE, host_id, on_nodes_with_hints};

fn cut() -> Link {
    Link { is_cut: true, ..Link::default() }
}

fn hints(node: &Member) -> &Hints {
    node.coordinator.hints().expect("they are kept")
}

/// Sets the links between two nodes.
fn link(node: &Member, (one, other): (u8, u8), link: Link) {
    [(one, other), (other, one)].into_iter().for_each(|(from, to)| node.site.link(from, to, link));
}

/// Writes a row at ANY on the second node while its only replica, the first one, is away: a hint is all that there is of it. It is not delivered before the test says so.
async fn write_hinted(node: &Member, key: &'static [u8]) {
    let second = async move |second: Rc<Member>| {
        second.until_up(0).await;
        hints(&second).pause(true);
        link(&second, (0, 1), cut());
        second.until_down(0).await;
        assert_eq!(second.write(vec![second.planned(key)], Any).await, Ok(()), "a hint is enough");
        assert_eq!(hints(&second).pending().len(), 1);
        link(&second, (0, 1), Link::default());
        second.until_up(0).await;
    };
    node.on(1, second).await;
}

/// Delivers the second node's hints.
async fn deliver(node: &Member) {
    let second = async |second: Rc<Member>| {
        hints(&second).pause(false);
        while !hints(&second).pending().is_empty() {
            second.runtime.sleep(PAUSE).await;
        }
    };
    node.on(1, second).await;
}

/// Planted: hint-to-a-former-replica.
#[test]
fn hint_to_the_leftovers() {
    on_nodes_with_hints(1, 2, async |node| {
        pass(&node, Phase::Planned).await;
        let key = moving_from(&node, 0);
        write_hinted(&node, key).await;
        for phase in [Phase::WriteBoth, Phase::Copy] {
            pass(&node, phase).await;
        }
        receive(&node).await.expect("the source is up");
        pass(&node, Phase::ReadNew).await;
        let done = node.site.agree(Change::Ring(3));
        node.apply_to(done);
        for other in [1, 2] {
            node.on(other, move |other| async move { other.apply_to(done) }).await;
        }
        deliver(&node).await;
        assert_eq!(node.holders(key).await, [2], "it is where it is read");
    });
}

/// The new replica may have copied the range before the hint comes.
#[test]
fn a_hint_for_a_replica_that_loses_its_range_reaches_the_new_one_too() {
    for last in [Phase::WriteBoth, Phase::Copy, Phase::ReadNew] {
        on_nodes_with_hints(1, 2, async move |node| {
            pass(&node, Phase::Planned).await;
            let key = moving_from(&node, 0);
            write_hinted(&node, key).await;
            for phase in [Phase::WriteBoth, Phase::Copy, Phase::ReadNew].into_iter().filter(|phase| *phase <= last) {
                pass(&node, phase).await;
                if phase == Phase::Copy {
                    receive(&node).await.expect("the source is up");
                }
            }
            deliver(&node).await;
            assert_eq!(node.holders(key).await, [0, 2], "{last}");
        });
    }
}

#[test]
fn a_node_that_leaves_hands_on_its_hints() {
    on_nodes_with_hints(1, 3, async |node| {
        for other in [1, 2] {
            node.until_up(other).await;
        }
        // The first node leaves, so none of its keys is among them.
        let keys: Vec<[u8; 1]> = (b'a'..=b'z').map(|key| [key]).filter(|key| node.replicas(key) == [2]).collect();
        let [key, later, ..] = keys[..] else { panic!("the third node has some") };
        (0..2).for_each(|other| link(&node, (other, 2), cut()));
        node.until_down(2).await;
        node.on(1, async |other| other.until_down(2).await).await;
        assert_eq!(node.write(vec![node.planned(&key)], Any).await, Ok(()), "a hint is enough");
        assert!(hand_on(&node.coordinator) > 0, "it has not left yet");
        for phase in [Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew] {
            let epoch = node.site.agree(Change::Leaving(phase));
            node.apply_to(epoch);
            node.on(1, move |other| async move { other.apply_to(epoch) }).await;
            assert!(hand_on(&node.coordinator) > 0, "nothing is handed on before, {phase}");
        }
        hints(&node).pause(true);
        while hand_on(&node.coordinator) > 0 {
            node.runtime.sleep(PAUSE).await;
        }
        assert!(hints(&node).pending().is_empty());
        let refused = node.write(vec![node.planned(&later)], Any).await;
        assert!(matches!(refused, Err(Failure::Timeout { .. })), "no write rests on this node any more: {refused:?}");
        // From here on only the second node is there for the third one.
        link(&node, (1, 2), Link::default());
        let has_it = async || node.on(1, async |other| other.coordinator.is_up(host_id(2))).await;
        while !has_it().await {
            node.runtime.sleep(PAUSE).await;
        }
        while node.on(2, async move |third| third.own_rows(&key)).await == 0 {
            node.runtime.sleep(PAUSE).await;
        }
        let left = async || {
            let second = async |second: Rc<Member>| {
                (second.coordinator.storage().unfinished_batches(), hints(&second).pending().len())
            };
            node.on(1, second).await
        };
        while left().await != (0, 0) {
            node.runtime.sleep(PAUSE).await;
        }
    });
}
