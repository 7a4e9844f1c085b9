//! A node that gains ranges copies them: the third node joins two, each of which has all until then.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use cluster::coordinator::{CopyFigures, KeyspaceToCopy, ReceiveFailed, copies, receiving};
use cluster::paxos::STATE_TABLE;
use runtime::Group;
use runtime::sim::Link;
use topology::ConsistencyLevel::{All, One, Quorum, Serial};
use topology::operations::Phase;
use topology::{Token, token_of};

use crate::moving::{KEYS, alter, gains, moving, moving_from, pass};
use crate::serial::{KEY, write};
use crate::world::{Change, Member, PAUSE, Shape, TABLE, altering_operation, joining_operation, on_nodes, ring_after};

/// Rows of a table of which each range has some.
const MANY: u32 = 200;

fn many(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

async fn receive_on(joining: &Member) -> Result<CopyFigures, ReceiveFailed> {
    let operation = joining_operation(Phase::Copy);
    let strategy = joining.replication_strategy();
    let keyspace = KeyspaceToCopy { name: "ks".to_owned(), strategy, tables: vec![TABLE] };
    receiving(&joining.coordinator).receive(&operation, &[keyspace]).await
}

/// The outcome of a copy, once it is there.
type Outcome = Rc<RefCell<Option<Result<CopyFigures, ReceiveFailed>>>>;

/// The third node copies what it gains.
pub async fn receive(node: &Member) -> Result<CopyFigures, ReceiveFailed> {
    let outcome = begin_receiving(node).await;
    ended(node, &outcome).await
}

/// It begins to.
async fn begin_receiving(node: &Member) -> Outcome {
    let outcome = Outcome::default();
    let told = Rc::clone(&outcome);
    node.on(2, |joining| async move {
        let runtime = joining.runtime.clone();
        drop(runtime.spawn(Group::Maintenance, async move {
            let copied = receive_on(&joining).await;
            *told.borrow_mut() = Some(copied);
        }));
    })
    .await;
    outcome
}

async fn ended(node: &Member, outcome: &Outcome) -> Result<CopyFigures, ReceiveFailed> {
    loop {
        if let Some(outcome) = outcome.borrow_mut().take() {
            return outcome;
        }
        node.runtime.sleep(PAUSE).await;
    }
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

/// Units that were listed before a power cut are not copied again, and no other one is left out. Planted: unit-skipped-at-resume.
#[test]
fn a_copy_goes_on_where_a_power_cut_ended_it() {
    on_nodes(2, 2, async |node| {
        for phase in [Phase::Planned, Phase::WriteBoth] {
            pass(&node, phase).await;
        }
        for number in 0..MANY {
            assert_eq!(node.write(vec![node.planned(&many(number))], All).await, Ok(()));
        }
        pass(&node, Phase::Copy).await;
        let slow = Link { latency_min_nanos: 20_000_000, latency_max_nanos: 20_000_000, ..Link::default() };
        (0..2).for_each(|source| node.site.link(source, 2, slow));
        // Of the first source's ranges, when they are copied, and of the second one's.
        let (copying, seen) = (Rc::clone(&node), Rc::<Cell<[CopyFigures; 2]>>::default());
        let sees = Rc::clone(&seen);
        let copying = node.runtime.spawn(Group::Query, async move {
            let third = async move |third: Rc<Member>| {
                let looking = Rc::clone(&third);
                drop(third.runtime.spawn(Group::Query, async move {
                    loop {
                        let [first, _] = sees.get();
                        match copies(&looking.coordinator).jobs.first() {
                            Some(job) if job.units == 3 => sees.set([*job, CopyFigures::default()]),
                            Some(job) => sees.set([first, *job]),
                            None => {}
                        }
                        looking.runtime.sleep(PAUSE).await;
                    }
                }));
                receive_on(&third).await
            };
            copying.on(2, third).await
        });
        while seen.get()[1].units_done < 2 {
            node.runtime.sleep(PAUSE).await;
        }
        let before = seen.get();
        assert_eq!(before.map(|job| (job.units_done, job.units)), [(3, 3), (2, 4)], "it is under way");
        assert!(before.iter().all(|job| job.rows > 0), "both have brought something: {before:?}");
        node.site.cut_power(2);
        copying.abort();
        (0..2).for_each(|source| node.site.link(source, 2, Link::default()));
        let epoch = node.site.agree(Change::Other);
        node.on(2, move |third| async move { third.apply_to(epoch) }).await;
        node.on(2, async |third| {
            third.until_up(0).await;
            third.until_up(1).await;
        })
        .await;
        let after = receive(&node).await.expect("both sources are up");
        let gained: Vec<Vec<u8>> = (0..MANY).map(many).filter(|key| gains(key)).collect();
        let ring = ring_after();
        let mut units = BTreeMap::<Token, u64>::new();
        gained.iter().for_each(|key| *units.entry(ring.range_of(token_of(key)).end).or_default() += 1);
        let copied = before.iter().map(|job| job.rows).sum::<u64>() + after.rows;
        let unit = units.into_values().max().expect("some ranges move");
        let again = copied.checked_sub(gained.len() as u64);
        assert!(again.is_some_and(|again| again <= unit), "one unit at most is copied again: {before:?}, {after:?}");
        for key in gained {
            let words = format!("{key:?}");
            let rows = node.on(2, async move |third| third.own_rows_of(TABLE, &key).await).await;
            assert_eq!(rows, 1, "row {words}");
        }
    });
}

/// A write by the plan from before, which a source acknowledges, is for the receiver too: the source gives nothing before it refuses such plans. Planted:
/// source-serves-old-epoch.
#[test]
fn a_source_gives_nothing_before_it_refuses_plans_from_before() {
    on_nodes(1, 2, async |node| {
        pass(&node, Phase::Planned).await;
        let key = moving_from(&node, 0);
        node.site.stick(0);
        for phase in [Phase::WriteBoth, Phase::Copy] {
            let epoch = node.site.agree(Change::Joining(phase));
            for other in [1, 2] {
                node.on(other, move |other| async move { other.apply_to(epoch) }).await;
            }
        }
        let outcome = begin_receiving(&node).await;
        node.runtime.sleep(Duration::from_secs(3)).await;
        let written = node.write(vec![node.planned(key)], One).await;
        assert_eq!(written, Ok(()), "it knows of no other replica");
        node.site.loosen(0);
        ended(&node, &outcome).await.expect("both sources are up");
        let rows = node.on(2, move |joining| async move { joining.own_rows_of(TABLE, key).await }).await;
        assert_eq!(rows, 1, "acknowledged, and read from the third node alone when the operation ends");
    });
}

/// A shard installs the ring of an entry before the node's list of operations has it: what is copied is judged by an operation that is gone by then, with its node.
#[test]
fn nothing_is_to_copy_for_an_operation_that_has_ended_with_its_node() {
    on_nodes(1, 2, async |node| {
        for phase in [Phase::Planned, Phase::WriteBoth, Phase::Copy] {
            pass(&node, phase).await;
        }
        let operation = joining_operation(Phase::Copy);
        let strategy = node.replication_strategy();
        let keyspaces = [KeyspaceToCopy { name: "ks".to_owned(), strategy, tables: vec![TABLE] }];
        let receiving = receiving(&node.coordinator);
        assert_eq!(receiving.is_receiver(&operation, &keyspaces), Ok(false), "the third node alone gains ranges");
        let removed = node.site.agree(Change::Ring(2));
        node.apply_to(removed);
        assert_eq!(receiving.is_receiver(&operation, &keyspaces), Err(ReceiveFailed::Ended));
        assert_eq!(receiving.receive(&operation, &keyspaces).await, Err(ReceiveFailed::Ended));
    });
}

/// Data that comes after the end of an operation is not applied, though the source does not know the end yet. Planted: late-copy-applied.
#[test]
fn nothing_is_copied_for_an_operation_that_was_aborted() {
    on_nodes(1, 2, async |node| {
        pass(&node, Phase::Planned).await;
        let key = moving_from(&node, 0);
        assert_eq!(node.write(vec![node.planned(key)], All).await, Ok(()));
        for phase in [Phase::WriteBoth, Phase::Copy] {
            pass(&node, phase).await;
        }
        node.site.stick(0);
        node.site.link(0, 2, Link { is_cut: true, ..Link::default() });
        let outcome = begin_receiving(&node).await;
        node.runtime.sleep(500 * PAUSE).await;
        let aborted = node.site.agree(Change::Joining(Phase::Aborted));
        node.on(2, move |joining| async move { joining.apply_to(aborted) }).await;
        assert_eq!(ended(&node, &outcome).await, Err(ReceiveFailed::Ended));
        // The source's answers arrive from here on.
        node.site.link(0, 2, Link::default());
        node.runtime.sleep(Duration::from_secs(20)).await;
        let rows = node.on(2, move |joining| async move { joining.own_rows_of(TABLE, key).await }).await;
        assert_eq!(rows, 0, "it could return when its deletion is purged elsewhere");
    });
}

/// Planted: paxos-not-copied.
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

/// Only its tables are copied, and each node has all of them by itself then. Rows that were there before, and those that are written meanwhile.
#[test]
fn a_replica_that_a_keyspace_gains_copies_its_tables() {
    on_nodes(1, 2, async |node| {
        node.until_up(1).await;
        for phase in [Phase::Queued, Phase::Planned, Phase::WriteBoth, Phase::Copy] {
            alter(&node, phase, 2).await;
            for key in KEYS.chunks(1).skip(if phase == Phase::Queued { 0 } else { 20 }) {
                assert_eq!(node.write(vec![node.planned(key)], All).await, Ok(()));
            }
        }
        let operation = || altering_operation(Shape::Simple(1), Phase::Copy, 2);
        let keyspace = |name: &str| KeyspaceToCopy {
            name: name.to_owned(),
            strategy: topology::ReplicationStrategy::Simple { replication_factor: 2 },
            tables: if name == "empty" { Vec::new() } else { vec![TABLE] },
        };
        let of_another = receiving(&node.coordinator).is_receiver(&operation(), &[keyspace("other")]);
        assert_eq!(of_another, Ok(false), "it has the same strategy, and no operation");
        assert_eq!(receiving(&node.coordinator).is_receiver(&operation(), &[keyspace("ks")]), Ok(true));
        let copy = move |member: Rc<Member>| async move {
            let copied =
                receiving(&member.coordinator).receive(&operation(), &[keyspace("other"), keyspace("ks")]).await;
            assert!(copied.expect("the source is up").rows > 0);
        };
        copy(Rc::clone(&node)).await;
        node.on(1, copy).await;
        for phase in [Phase::ReadNew, Phase::Done] {
            alter(&node, phase, 2).await;
        }
        for key in KEYS.chunks(1) {
            let rows = move |member: Rc<Member>| async move { member.own_rows_of(TABLE, key).await };
            assert_eq!([rows(Rc::clone(&node)).await, node.on(1, rows).await], [1, 1], "{key:?}");
            assert_eq!(node.read(key, All).await, Ok(1));
        }
    });
}
