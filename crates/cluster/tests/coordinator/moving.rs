//! Requests to ranges that an operation moves: the third node joins two, each of which has all until then.

use cluster::coordinator::{AgreementError, Failure};
use runtime::sim::Link;
use topology::ConsistencyLevel::{All, One, Quorum, Serial};
use topology::operations::Phase;
use topology::token_of;

use crate::serial::{KEY, write};
use crate::world::{Change, Member, PAUSE, host_id, on_nodes};

/// Keys, some of whose ranges move to the third node.
const KEYS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

/// All nodes apply the next phase.
async fn pass(node: &Member, phase: Phase) {
    let epoch = node.site.agree(Change::Joining(phase));
    node.apply_to(epoch);
    for other in [1, 2] {
        node.on(other, move |other| async move { other.apply_to(epoch) }).await;
        node.until_up(other).await;
        node.on(other, |other| async move {
            for of in (0..3).filter(|of| *of != other.number) {
                other.until_up(of).await;
            }
        })
        .await;
    }
}

/// The keys whose range the third node gains, as the ring after the operation says.
fn moving() -> Vec<&'static [u8]> {
    let ring = crate::world::ring_after();
    let rules = topology::Strategies::default();
    let strategy = topology::ReplicationStrategy::Simple { replication_factor: 2 };
    let rules = rules.rules(&strategy).expect("it is built in");
    let gains = |key: &&[u8]| topology::replicas(&ring, &*rules, token_of(key)).iter().any(|node| node.0 == 2);
    let keys: Vec<&[u8]> = KEYS.chunks(1).filter(gains).collect();
    assert!(keys.len() > 2, "some ranges move");
    keys
}

/// Planned: new-set-not-counted, pending-not-written.
#[test]
fn a_write_counts_in_both_sets() {
    on_nodes(2, 2, async |node| {
        for phase in [Phase::Planned, Phase::WriteBoth] {
            pass(&node, phase).await;
        }
        let [first, second, ..] = moving()[..] else { panic!("some ranges move") };
        assert_eq!(node.write(vec![node.planned(first)], Quorum).await, Ok(()));
        assert_eq!(node.holders(first).await, [0, 1, 2], "a quorum of two is both");
        node.site.link(0, 2, Link { is_cut: true, ..Link::default() });
        node.runtime.sleep(10 * PAUSE).await;
        let written = node.write(vec![node.planned(second)], Quorum).await;
        assert_eq!(written, Err(Failure::Timeout { received: 2 }), "the new set has it once");
        assert_eq!(node.write(vec![node.planned(second)], One).await, Ok(()), "one that stays is of both sets");
        node.until_down(2).await;
        let unavailable = node.coordinator.plan_write(&node.replication(), token_of(second), Quorum).err();
        assert_eq!(unavailable.map(|refused| (refused.required, refused.alive)), Some((2, 1)));
        let still = KEYS.chunks(1).find(|key| !moving().contains(key)).expect("some ranges stay");
        assert_eq!(node.write(vec![node.planned(still)], All).await, Ok(()), "a range that stays needs no other node");
    });
}

/// Planned: reads-flip-before-copy.
#[test]
fn the_new_replicas_are_read_when_they_have_copied() {
    on_nodes(2, 2, async |node| {
        pass(&node, Phase::Planned).await;
        let keys = moving();
        for key in &keys {
            assert_eq!(node.write(vec![node.planned(key)], Quorum).await, Ok(()));
            assert_eq!(node.holders(key).await, [0, 1], "nothing goes to the new replicas yet");
        }
        let read_by_new = async |level| {
            let mut rows = Vec::new();
            for key in keys.clone() {
                rows.push(node.on(2, move |other| async move { other.read(key, level).await }).await);
            }
            rows
        };
        for phase in [Phase::WriteBoth, Phase::Copy] {
            pass(&node, phase).await;
            assert!(read_by_new(One).await.iter().all(|rows| *rows == Ok(1)), "it has copied nothing: {phase}");
        }
        // A read of a quorum asks the new set too, and gives it what it lacks.
        assert!(read_by_new(Quorum).await.iter().all(|rows| *rows == Ok(1)));
        for key in &keys {
            assert_eq!(node.holders(key).await, [0, 1, 2]);
        }
        pass(&node, Phase::ReadNew).await;
        for level in [One, Quorum] {
            assert!(read_by_new(level).await.iter().all(|rows| *rows == Ok(1)));
        }
    });
}

/// Planned: losing-not-written-after-flip.
#[test]
fn what_is_written_after_the_flip_is_at_the_losing_replicas_too() {
    on_nodes(2, 2, async |node| {
        for phase in [Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew] {
            pass(&node, phase).await;
        }
        for key in moving() {
            assert_eq!(node.write(vec![node.planned(key)], Quorum).await, Ok(()));
            assert_eq!(
                node.holders(key).await,
                [0, 1, 2],
                "a coordinator that lags may read those that lose the range"
            );
        }
    });
}

/// Each replica that has applied WriteBoth refuses a plan from before the operation.
#[test]
fn a_write_by_a_plan_from_before_reaches_the_new_set_too() {
    on_nodes(2, 2, async |node| {
        pass(&node, Phase::Planned).await;
        let keys = moving();
        let planned: Vec<_> = keys.iter().map(|key| node.planned(key)).collect();
        let epoch = node.site.agree(Change::Joining(Phase::WriteBoth));
        for other in [1, 2] {
            node.on(other, move |other| async move { other.apply_to(epoch) }).await;
        }
        for (key, planned) in keys.into_iter().zip(planned) {
            assert_eq!(node.write(vec![planned], Quorum).await, Ok(()));
            assert_eq!(node.holders(key).await, [0, 1, 2]);
        }
        assert!(node.coordinator.is_up(host_id(2)));
    });
}

/// An electorate has both sets, and a majority of each decides.
#[test]
fn a_statement_is_decided_by_majorities_of_both_sets() {
    on_nodes(2, 2, async |node| {
        for phase in [Phase::Planned, Phase::WriteBoth] {
            pass(&node, phase).await;
        }
        assert!(moving().contains(&KEY));
        assert_eq!(write(&node, Serial, Quorum, |_| Some(1)).await, Ok(None));
        assert_eq!(node.holders(KEY).await, [0, 1, 2]);
        node.site.link(0, 2, Link { is_cut: true, ..Link::default() });
        node.runtime.sleep(10 * PAUSE).await;
        let undecided = write(&node, Serial, Quorum, |_| Some(2)).await;
        assert!(matches!(undecided, Err(AgreementError::Failed(Failure::Timeout { .. }))), "{undecided:?}");
    });
}

/// A node that gains a range leads no counter of it before it has copied what was counted.
#[test]
fn a_replica_that_has_copied_nothing_leads_no_counter() {
    on_nodes(2, 2, async |node| {
        pass(&node, Phase::Planned).await;
        let keys = moving();
        for key in &keys {
            node.coordinator.count(vec![node.planned_delta(key, 5)], All).await.expect("all are up");
        }
        for phase in [Phase::WriteBoth, Phase::Copy] {
            pass(&node, phase).await;
            for key in keys.clone() {
                let counted = node.on(2, move |other| async move {
                    other.coordinator.count(vec![other.planned_delta(key, 1)], Quorum).await
                });
                counted.await.expect("all are up");
            }
        }
        for key in keys {
            assert_eq!(node.own_count(key), 7, "what was counted through the third node is on top");
        }
    });
}
