//! Sequences of moving ranges that break careless versions, by their names.

use std::rc::Rc;

use cluster::coordinator::{AgreementError, Failure, Proposed};
use cluster::paxos::Purpose;
use runtime::Group;
use runtime::sim::Link;
use topology::ConsistencyLevel::{Quorum, Serial};
use topology::operations::Phase;

use crate::serial::{Attempt, KEY, begin, prepare, propose, read, write};
use crate::tenures::{exchange_in, on, until_all_up};
use crate::world::{Member, PAUSE, on_nodes};

const CUT: Link = Link {
    latency_min_nanos: 20_000,
    latency_max_nanos: 200_000,
    lost_per_million: 0,
    held_up_nanos: 0,
    reset_per_million: 0,
    is_cut: true,
};

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
