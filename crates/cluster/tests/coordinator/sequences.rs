//! Sequences of moving ranges that break careless versions, by their names.

use std::rc::Rc;
use std::time::Duration;

use cluster::coordinator::{AgreementError, Failure, KeyspaceToCopy, Proposed, receiving};
use cluster::paxos::Purpose;
use runtime::Group;
use runtime::sim::Link;
use topology::ConsistencyLevel::{Quorum, Serial};
use topology::ReplicationStrategy;
use topology::operations::Phase;

use crate::moving::{alter, moving_from, moving_of, pass};
use crate::serial::{Attempt, KEY, begin, prepare, propose, read, write};
use crate::tenures::{exchange_in, on, until_all_up};
use crate::world::{Member, PAUSE, Shape, TABLE, altering_operation, on_nodes};

const CUT: Link = Link {
    latency_min_nanos: 20_000,
    latency_max_nanos: 200_000,
    lost_per_million: 0,
    held_up_nanos: 0,
    reset_per_million: 0,
    is_cut: true,
};

/// By then nothing arrives any more that a link held.
const FORGOTTEN: Duration = Duration::from_secs(120);

/// An attempt of a node that a majority has promised.
async fn prepared_on(node: &Rc<Member>, coordinator: u8) -> Attempt {
    let prepared = on(node, coordinator, |member| async move {
        let mut attempt = begin(&member, Serial, Purpose::Write).await?;
        let seen = prepare(&mut attempt).await?;
        assert_eq!(seen, Some(None), "nothing is there");
        Ok::<_, AgreementError>(attempt)
    });
    prepared.await.expect("all are up")
}

/// RF 3 → 1: {A, B, C} → {A}. A write reaches B and C, and is acknowledged; A, which stays, copies. It must have it.
#[test]
fn three_to_one() {
    on_nodes(3, 3, async |node| {
        until_all_up(&node).await;
        let key = moving_of(1)[0];
        node.site.link(0, 2, CUT);
        node.runtime.sleep(10 * PAUSE).await;
        assert_eq!(node.write(vec![node.planned(key)], Quorum).await, Ok(()));
        node.runtime.sleep(FORGOTTEN).await;
        node.site.link(0, 2, Link { is_cut: false, ..CUT });
        until_all_up(&node).await;
        assert_eq!(node.holders(key).await, [0, 1]);
        for phase in [Phase::Queued, Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew] {
            alter(&node, phase, 1).await;
            let epoch = node.coordinator.ring().epoch().0;
            node.on(2, move |staying| async move { staying.apply_to(epoch) }).await;
            if phase == Phase::Copy {
                let copied = node.on(2, |staying| async move {
                    let strategy = ReplicationStrategy::Simple { replication_factor: 1 };
                    let keyspace = KeyspaceToCopy { name: "ks".to_owned(), strategy, tables: vec![TABLE] };
                    let operation = altering_operation(Shape::Simple(3), Phase::Copy, 1);
                    receiving(&staying.coordinator).receive(&operation, &[keyspace]).await
                });
                copied.await.expect("the others are up");
            }
        }
        let rows = node.on(2, move |staying| async move { staying.own_rows_of(TABLE, key).await }).await;
        assert_eq!(rows, 1, "it is read from this node alone");
        assert_eq!(node.read(key, Quorum).await, Ok(1));
    });
}

/// A → B: an unfinished write reaches A. A read in *write both* returns it, and so does each later one in *read new*, though nothing was copied.
#[test]
fn read_goes_back() {
    on_nodes(1, 2, async |node| {
        for phase in [Phase::Planned, Phase::WriteBoth] {
            pass(&node, phase).await;
        }
        let key = moving_from(&node, 0);
        node.coordinator.storage().apply(&node.planned(key).mutation).expect("there is room");
        let read = async || node.on(1, move |reader| async move { reader.read(key, Quorum).await }).await;
        assert_eq!(read().await, Ok(1));
        assert_eq!(node.holders(key).await, [0, 2], "it is not returned before the new replica has it");
        for phase in [Phase::Copy, Phase::ReadNew] {
            pass(&node, phase).await;
            assert_eq!(read().await, Ok(1), "{phase}");
        }
    });
}

/// A loses the range to B. What was promised to a plan of A alone counts for no proposal in *write both*; and B's acceptance from then is not that of a majority when B is
/// all of the electorate: the coordinator does not know what was chosen meanwhile.
#[test]
fn carried_over_acceptance() {
    on_nodes(1, 3, async |node| {
        until_all_up(&node).await;
        let [a, ..] = node.replicas(KEY)[..] else { panic!("the partition has a replica") };
        let (b, c) = ((a + 1) % 3, (a + 2) % 3);
        exchange_in(&node, Phase::Planned, (a, b)).await;
        let mut promised = prepared_on(&node, c).await;
        exchange_in(&node, Phase::WriteBoth, (a, b)).await;
        let proposed = on(&node, c, |_| async move { propose(&mut promised, 5).await }).await;
        assert_eq!(proposed, Err(AgreementError::Failed(Failure::Outdated)), "B has promised nothing");

        // B accepts, and A has promised a later ballot to an attempt that does not reach B.
        let mut attempt = prepared_on(&node, c).await;
        node.site.link(a, b, CUT);
        node.runtime.sleep(10 * PAUSE).await;
        on(&node, a, |member| async move {
            let runtime = member.runtime.clone();
            drop(runtime.spawn(Group::Query, async move {
                let mut attempt = begin(&member, Serial, Purpose::Write).await.expect("B is up, as A knows");
                // It proposes nothing, whatever comes of it.
                let _ = prepare(&mut attempt).await;
            }));
        })
        .await;
        node.runtime.sleep(50 * PAUSE).await;
        let (proposed, mut attempt) = on(&node, c, |_| async move { (propose(&mut attempt, 6).await, attempt) }).await;
        assert_eq!(proposed, Ok(Proposed::Overtaken), "A has not accepted it");
        node.site.link(a, b, Link { is_cut: false, ..CUT });
        until_all_up(&node).await;

        for phase in [Phase::Copy, Phase::ReadNew, Phase::Done] {
            exchange_in(&node, phase, (a, b)).await;
        }
        assert_eq!(node.replicas(KEY), [b]);
        let seen = on(&node, a, |member| async move { write(&member, Serial, Quorum, |_| Some(7)).await }).await;
        assert!([Ok(Some(6)), Ok(None)].contains(&seen), "it is finished first, or ruled out: {seen:?}");
        let outcome = on(&node, c, |_| async move { prepare(&mut attempt).await }).await;
        assert_eq!(outcome, Err(AgreementError::Unknown { received: 0 }), "B's acceptance is of another electorate");
        for reader in 0..3 {
            assert_eq!(on(&node, reader, |member| async move { read(&member, Serial).await }).await, Ok(Some(7)));
        }
    });
}
