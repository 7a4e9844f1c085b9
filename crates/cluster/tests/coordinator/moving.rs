//! Requests to ranges that an operation moves: the third node joins two, each of which has all until then.

use std::ops::Bound;
use std::time::Duration;

use cluster::coordinator::{AgreementError, Failure, PlanPlace, PlannedMutation, Replication};
use runtime::sim::Link;
use topology::ConsistencyLevel::{All, One, Quorum, Serial};
use topology::operations::Phase;
use topology::token_of;

use crate::serial::{KEY, ballots_of, write};
use crate::world::{Change, Member, PAUSE, host_id, on_nodes, table};

/// Keys, some of whose ranges move to the third node.
pub const KEYS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

/// All nodes apply the next phase.
pub async fn pass(node: &Member, phase: Phase) {
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
pub fn moving() -> Vec<&'static [u8]> {
    let keys = moving_of(2);
    assert!(keys.len() > 2, "some ranges move");
    keys
}

/// True if the third node gains a key's range, with two replicas.
pub fn gains(key: &[u8]) -> bool {
    gains_of(key, 2)
}

fn gains_of(key: &[u8], replication_factor: u32) -> bool {
    let ring = crate::world::ring_after();
    let rules = topology::Strategies::default();
    let strategy = topology::ReplicationStrategy::Simple { replication_factor };
    let rules = rules.rules(&strategy).expect("it is built in");
    topology::replicas(&ring, &*rules, token_of(key)).iter().any(|node| node.0 == 2)
}

/// The same with so many replicas.
pub fn moving_of(replication_factor: u32) -> Vec<&'static [u8]> {
    KEYS.chunks(1).filter(|key| gains_of(key, replication_factor)).collect()
}

/// A key whose only replica is a node, before an operation and after it.
fn staying_at(node: &Member, owner: u8) -> &'static [u8] {
    let keys = KEYS.chunks(1).filter(|key| !moving_of(1).contains(key));
    keys.into_iter().find(|key| node.replicas(key) == [owner]).expect("each node keeps some key")
}

/// A key whose only replica is a node, and after the operation the third one.
pub fn moving_from(node: &Member, owner: u8) -> &'static [u8] {
    let keys = moving_of(1);
    keys.into_iter().find(|key| node.replicas(key) == [owner]).expect("the first node loses some key")
}

/// Planted: new-set-not-counted, pending-not-written.
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

/// The most that a range of a scan needs: an error tells it, and fewer that came.
#[test]
fn a_scan_tells_the_number_of_the_range_that_needs_most() {
    on_nodes(2, 2, async |node| {
        for (phase, needed) in [(Phase::Planned, 2), (Phase::WriteBoth, 3), (Phase::Copy, 3), (Phase::ReadNew, 2)] {
            pass(&node, phase).await;
            let replication = node.replication();
            let all = (Bound::Unbounded, Bound::Unbounded);
            assert_eq!(node.coordinator.check_range(&replication, Quorum, all), Ok(needed), "{phase}");
            assert_eq!(node.coordinator.check_range(&replication, One, all), Ok(1), "{phase}");
        }
    });
}

/// The first two nodes apply the next phase of the operation by which the keyspace gets another number of replicas.
pub async fn alter(node: &Member, phase: Phase, factor: u32) {
    let epoch = node.site.agree(Change::Altering(phase, factor));
    node.apply_to(epoch);
    node.on(1, move |other| async move { other.apply_to(epoch) }).await;
}

/// Planted: schema-places-at-once. An operation of a keyspace's replication places its requests, whatever its schema says by then, and plans from before it are stale.
#[test]
fn a_keyspace_that_gains_replicas_is_written_to_both_sets() {
    on_nodes(1, 2, async |node| {
        node.until_up(1).await;
        let [first, second, third, fourth, fifth, ..] = KEYS.chunks(1).collect::<Vec<_>>()[..] else {
            panic!("there are some")
        };
        let before = vec![node.planned(first)];
        for (phase, key) in [(Phase::Queued, first), (Phase::Planned, second)] {
            alter(&node, phase, 2).await;
            let planned = if key == first { before.clone() } else { vec![node.planned(key)] };
            assert_eq!(node.write(planned, All).await, Ok(()));
            assert_eq!(node.holders(key).await, node.replicas(key), "one, as before: {phase}");
            assert_eq!((node.replicas(key).len(), node.read(key, All).await), (1, Ok(1)));
        }
        let planned = vec![node.planned(third)];
        alter(&node, Phase::WriteBoth, 2).await;
        assert_eq!(node.write(planned, All).await, Ok(()), "it is planned again");
        assert_eq!(node.holders(third).await, [0, 1]);
        alter(&node, Phase::Copy, 2).await;
        alter(&node, Phase::ReadNew, 2).await;
        let planned = vec![node.planned(fifth)];
        assert_eq!(node.write(vec![node.planned(fourth)], All).await, Ok(()));
        assert_eq!(node.holders(fourth).await, [0, 1]);
        alter(&node, Phase::Done, 2).await;
        assert_eq!(node.write(planned, All).await, Ok(()), "the schema alone says it now");
        assert_eq!((node.holders(fifth).await, node.replicas(fifth).len()), (vec![0, 1], 2));
    });
}

#[test]
fn an_aborted_replication_leaves_the_replicas_from_before() {
    for last in [Phase::Queued, Phase::Planned, Phase::WriteBoth, Phase::Copy] {
        on_nodes(1, 2, async move |node| {
            node.until_up(1).await;
            let [first, second, ..] = KEYS.chunks(1).collect::<Vec<_>>()[..] else { panic!("there are some") };
            let phases = [Phase::Queued, Phase::Planned, Phase::WriteBoth, Phase::Copy];
            for phase in phases.into_iter().filter(|phase| *phase <= last) {
                alter(&node, phase, 2).await;
            }
            assert_eq!(node.write(vec![node.planned(first)], All).await, Ok(()));
            let planned = vec![node.planned(second)];
            alter(&node, Phase::Aborted, 2).await;
            assert_eq!(node.write(planned, All).await, Ok(()));
            assert_eq!(node.holders(second).await, node.replicas(second), "one, after {last}");
            assert_eq!((node.replicas(second).len(), node.read(first, All).await), (1, Ok(1)));
        });
    }
}

/// Planted: reads-flip-before-copy.
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

/// Planted: losing-not-written-after-flip.
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

/// Conditional statements whose electorate is one shard are fenced as all others: in the call that applies. Planted: commit-without-fence.
#[test]
fn a_commit_at_one_replica_is_planned_again_when_its_range_moves() {
    on_nodes(1, 2, async |node| {
        pass(&node, Phase::Planned).await;
        let (key, table) = (moving_from(&node, 0), table());
        let ballots = ballots_of(&node);
        let replication = node.replication();
        let attempt = async |replication: &Replication, key: &'static [u8]| {
            let plan = node.coordinator.plan(replication, token_of(key), Serial).expect("it is up");
            assert_eq!(node.coordinator.serial_place(&plan), PlanPlace::Here);
            let begun = node.coordinator.attempt(&plan, (&table, token_of(key), key), 1_000).await;
            begun.map(|attempt| attempt.expect("no other attempt is there"))
        };
        let mut begun = attempt(&replication, key).await.expect("it is the only replica");
        pass(&node, Phase::WriteBoth).await;
        let committed = begun.commit(ballots(begun.latest()), vec![node.planned(key).mutation]).await;
        assert_eq!(committed.err(), Some(Failure::Outdated));
        assert_eq!(node.holders(key).await, [0u8; 0], "nothing was written");
        drop(begun);
        assert_eq!(attempt(&replication, key).await.err(), Some(Failure::Outdated), "nor is one begun by that plan");

        let (still, replication) = (staying_at(&node, 0), node.replication());
        let mut begun = attempt(&replication, still).await.expect("its range does not move");
        let truncated = node.site.agree(Change::Truncate);
        node.apply_to(truncated);
        let committed = begun.commit(ballots(begun.latest()), vec![node.planned(still).mutation]).await;
        assert_eq!(committed.err(), Some(Failure::Outdated), "it has judged rows that are gone");
        assert_eq!(node.own_rows(still), 0);
        drop(begun);
        let mut again = attempt(&node.replication(), still).await.expect("it is planned again");
        assert!(again.commit(ballots(again.latest()), vec![node.planned(still).mutation]).await.is_ok());
        assert_eq!(node.own_rows(still), 1);
    });
}

/// A batch that the second node writes.
async fn write_on_second(node: &Member, batch: Vec<PlannedMutation>) -> Result<(), Failure> {
    node.on(1, move |other| async move { other.coordinator.write_logged_batch(batch, One).await }).await
}

/// The second node's batch of two keys, as it plans them now.
async fn planned_on_second(node: &Member, keys: [&'static [u8]; 2]) -> Vec<PlannedMutation> {
    node.on(1, move |other| async move { keys.map(|key| other.planned(key)).to_vec() }).await
}

async fn unfinished(node: &Member, of: u8) -> usize {
    node.on(of, |other| async move { other.coordinator.storage().unfinished_batches() }).await
}

/// The rows of a replica that gains a range are not read yet, and an operation may be aborted: the old set must have them too.
#[test]
fn a_batch_is_not_delivered_by_a_replica_that_gains_the_range_alone() {
    on_nodes(1, 2, async |node| {
        for phase in [Phase::Planned, Phase::WriteBoth] {
            pass(&node, phase).await;
        }
        let keys = [moving_from(&node, 0), staying_at(&node, 1)];
        [1, 2].into_iter().for_each(|from| node.site.link(from, 0, Link { is_cut: true, ..Link::default() }));
        node.on(1, |other| async move { other.until_down(0).await }).await;
        let batch = planned_on_second(&node, keys).await;
        let written = write_on_second(&node, batch).await;
        assert!(matches!(written, Err(Failure::Timeout { .. })), "{written:?}");
        node.runtime.sleep(Duration::from_secs(30)).await;
        assert_eq!(unfinished(&node, 1).await, 1, "it is tried again and again");
        [1, 2].into_iter().for_each(|from| node.site.link(from, 0, Link::default()));
        while unfinished(&node, 1).await > 0 {
            node.runtime.sleep(PAUSE).await;
        }
        assert_eq!(node.holders(keys[0]).await, [0, 2]);
        assert_eq!(node.holders(keys[1]).await, [1]);
    });
}

/// One record at its only replica, as it was planned; of two replicas one has a part of it alone.
#[test]
fn a_batch_that_an_operation_sets_apart_is_logged() {
    on_nodes(1, 2, async |node| {
        pass(&node, Phase::Planned).await;
        let keys = [moving_from(&node, 0), staying_at(&node, 0)];
        let batch = planned_on_second(&node, keys).await;
        let epoch = node.site.agree(Change::Joining(Phase::WriteBoth));
        node.apply_to(epoch);
        node.on(2, move |other| async move { other.apply_to(epoch) }).await;
        node.site.link(1, 2, Link { is_cut: true, ..Link::default() });
        node.runtime.sleep(10 * PAUSE).await;
        let written = write_on_second(&node, batch).await;
        assert!(matches!(written, Err(Failure::Timeout { .. })), "{written:?}");
        assert_eq!(unfinished(&node, 1).await, 1, "the rest of it is not lost");
        node.site.link(1, 2, Link::default());
        while unfinished(&node, 1).await > 0 {
            node.runtime.sleep(PAUSE).await;
        }
        assert_eq!(node.holders(keys[0]).await, [0, 2]);
        assert_eq!(node.holders(keys[1]).await, [0]);
    });
}

/// A node that joins is gone if its operation is aborted.
#[test]
fn a_node_that_joins_keeps_no_copies_of_batches() {
    on_nodes(1, 2, async |node| {
        pass(&node, Phase::Planned).await;
        node.site.link(0, 1, Link { is_cut: true, ..Link::default() });
        node.runtime.sleep(10 * PAUSE).await;
        let batch = vec![node.planned(staying_at(&node, 0)), node.planned(staying_at(&node, 1))];
        let written = node.coordinator.write_logged_batch(batch, One).await;
        assert!(matches!(written, Err(Failure::BatchLog { keepers: 1, .. })), "{written:?}");
        assert_eq!(unfinished(&node, 2).await, 0);
    });
}
