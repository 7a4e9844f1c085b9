//! A node that gains ranges copies them: the third node joins two, each of which has all until then.

use std::cell::Cell;
use std::rc::Rc;

use cluster::coordinator::{CopyFigures, KeyspaceToCopy, ReceiveFailed, receiving};
use cluster::paxos::STATE_TABLE;
use runtime::Group;
use runtime::sim::Link;
use topology::ConsistencyLevel::{All, Quorum, Serial};
use topology::operations::Phase;

use crate::moving::{KEYS, moving, pass};
use crate::serial::{KEY, write};
use crate::world::{Change, Member, PAUSE, TABLE, joining_operation, on_nodes};

/// The third node copies what it gains.
async fn receive(node: &Member) -> Result<CopyFigures, ReceiveFailed> {
    node.on(2, |joining| async move { receive_on(&joining).await }).await
}

async fn receive_on(joining: &Member) -> Result<CopyFigures, ReceiveFailed> {
    let operation = joining_operation(Phase::Copy);
    let strategy = joining.replication_strategy();
    let keyspace = KeyspaceToCopy { strategy, tables: vec![TABLE] };
    receiving(&joining.coordinator).receive(&operation, &[keyspace]).await
}

#[test]
fn a_node_copies_the_ranges_that_it_gains() {
    on_nodes(2, 2, async |node| {
        pass(&node, Phase::Planned).await;
        for key in KEYS.chunks(1) {
            assert_eq!(node.write(vec![node.planned(key)], All).await, Ok(()));
        }
        pass(&node, Phase::WriteBoth).await;
        assert_eq!(receive(&node).await, Err(ReceiveFailed::Ended), "nothing is copied before Copy");
        pass(&node, Phase::Copy).await;
        let figures = receive(&node).await.expect("both sources are up");
        assert_eq!(figures.rows, moving().len() as u64);
        for key in KEYS.chunks(1) {
            let rows = node.on(2, move |joining| async move { joining.own_rows_of(TABLE, key).await }).await;
            assert_eq!(rows == 1, moving().contains(&key), "{key:?}");
        }
        // Once more changes nothing.
        assert_eq!(receive(&node).await.map(|figures| figures.rows), Ok(figures.rows));
    });
}

/// A node that waits to join is no change of the ring: plans stand, and a copy that runs goes on.
#[test]
fn a_copy_goes_on_while_another_node_is_queued_to_join() {
    on_nodes(2, 2, async |node| {
        for phase in [Phase::Planned, Phase::WriteBoth] {
            pass(&node, phase).await;
        }
        for key in KEYS.chunks(1) {
            assert_eq!(node.write(vec![node.planned(key)], All).await, Ok(()));
        }
        pass(&node, Phase::Copy).await;
        let (planned, again) = (vec![node.planned(moving()[0])], node.coordinator.counters().planned_again);
        // Its sources take so long for an answer that the change comes between two of them.
        let slow = Link { latency_min_nanos: 20_000_000, latency_max_nanos: 20_000_000, ..Link::default() };
        (0..2).for_each(|source| node.site.link(source, 2, slow));
        let (epoch, queues) = (node.site.agree(Change::JoiningBefore(Phase::Copy)), 50 * PAUSE);
        let (copying, copied) = (Rc::clone(&node), Rc::<Cell<bool>>::default());
        let is_copied = Rc::clone(&copied);
        let copying = node.runtime.spawn(Group::Query, async move {
            let third = async move |third: Rc<Member>| {
                let applying = Rc::clone(&third);
                drop(third.runtime.spawn(Group::Query, async move {
                    applying.runtime.sleep(queues).await;
                    applying.apply_to(epoch);
                }));
                receive_on(&third).await
            };
            let outcome = copying.on(2, third).await;
            copied.set(true);
            outcome
        });
        node.runtime.sleep(queues).await;
        assert!(!is_copied.get(), "the copy is under way");
        node.apply_to(epoch);
        node.on(1, move |other| async move { other.apply_to(epoch) }).await;
        node.runtime.sleep(20 * PAUSE).await;
        assert!(!is_copied.get(), "the copy is under way when all have applied the change");
        let figures = copying.await.expect("nothing that it rests on has changed");
        assert_eq!(figures.rows, moving().len() as u64);
        assert_eq!(node.write(planned, All).await, Ok(()));
        assert_eq!(node.coordinator.counters().planned_again, again, "a plan from before stands");
    });
}

/// Planned: paxos-not-copied.
#[test]
fn registers_of_conditional_statements_move_with_their_rows() {
    on_nodes(2, 2, async |node| {
        pass(&node, Phase::Planned).await;
        assert!(moving().contains(&KEY), "the partition moves");
        assert_eq!(write(&node, Serial, Quorum, |_| Some(1)).await, Ok(None));
        for phase in [Phase::WriteBoth, Phase::Copy] {
            pass(&node, phase).await;
        }
        let registers = async || node.on(2, |joining| async move { joining.own_rows_of(STATE_TABLE, KEY).await }).await;
        assert_eq!(registers().await, 0);
        receive(&node).await.expect("both sources are up");
        assert_eq!(registers().await, 1, "a promise, an acceptance, and a commit");
    });
}
