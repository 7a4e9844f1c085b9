//! A node counts, loses a range, drops what it has of it, gains the range back, and counts again.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use cluster::coordinator::{KeyspaceToCopy, kept_ranges, receiving};
use runtime::sim::Link;
use topology::ConsistencyLevel::{All, One, Quorum};
use topology::Epoch;
use topology::operations::Phase;

use crate::moving::KEYS;
use crate::world::{COUNTS, Change, Member, PAUSE, TABLE, exchange, on_nodes};

/// By then nothing arrives any more that a link held.
const FORGOTTEN: Duration = Duration::from_secs(120);

/// Two nodes exchange their tokens: all phases, with the copies. Both gain ranges, and the third one loses none.
async fn exchanged(node: &Rc<Member>, pair: (u8, u8)) {
    for phase in [Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew, Phase::Done] {
        exchange_in(node, phase, pair).await;
    }
}

/// All nodes apply the next phase of that, and in Copy the two copy.
pub async fn exchange_in(node: &Rc<Member>, phase: Phase, (one, other): (u8, u8)) {
    let epoch = node.site.agree(Change::Exchange(phase, one, other));
    for each in 0..3 {
        on(node, each, move |each| async move { each.apply_to(epoch) }).await;
    }
    if phase == Phase::Copy {
        for receiver in [one, other] {
            on(node, receiver, move |receiver| async move {
                let before = receiver.site.changes_before(Epoch(epoch));
                let (operation, _) = exchange(&before, (Phase::Copy, one, other));
                let strategy = receiver.replication_strategy();
                let keyspace = KeyspaceToCopy { name: "ks".to_owned(), strategy, tables: vec![TABLE, COUNTS] };
                receiving(&receiver.coordinator).receive(&operation, &[keyspace]).await.expect("its sources are up");
            })
            .await;
        }
    }
}

/// Does something on a node, which may be the first.
pub async fn on<T: 'static, Fut: Future<Output = T> + 'static>(
    node: &Rc<Member>,
    number: u8,
    work: impl FnOnce(Rc<Member>) -> Fut + 'static,
) -> T {
    match number == node.number {
        true => work(Rc::clone(node)).await,
        false => node.on(number, work).await,
    }
}

/// The node drops what it does not keep.
async fn clean_up(node: &Rc<Member>) {
    let (coordinator, strategy) = (&node.coordinator, node.replication_strategy());
    let kept = || Rc::new(kept_ranges(coordinator, "ks", &strategy));
    storage::clean_up(coordinator.storage(), COUNTS, kept).await.expect("the disk is well");
}

pub async fn until_all_up(node: &Rc<Member>) {
    for each in 0..3 {
        on(node, each, move |each| async move {
            for other in (0..3).filter(|other| *other != each.number) {
                each.until_up(other).await;
            }
        })
        .await;
    }
}

async fn counts(node: &Rc<Member>, key: &'static [u8]) -> [i64; 3] {
    let mut all = [0; 3];
    for (each, count) in (0..).zip(&mut all) {
        *count = on(node, each, move |each| async move { each.own_count_through(key).await }).await;
    }
    all
}

/// The replica that it copies from lacks what was counted before, and the one that stays has it: under the same id the count would begin again, and hide the older one
/// everywhere. Planted: tenure-kept.
#[test]
fn what_a_node_counted_before_it_lost_a_range_stays_when_it_counts_again() {
    on_nodes(2, 3, async |node| {
        until_all_up(&node).await;
        let replicas = |key: &[u8]| BTreeSet::from_iter(node.replicas(key));
        let key = KEYS.chunks(1).find(|key| replicas(key) == [0, 1].into()).expect("the first two share some range");
        // The second replica never hears of it.
        node.site.link(0, 1, Link { is_cut: true, ..Link::default() });
        node.runtime.sleep(10 * PAUSE).await;
        assert_eq!(node.coordinator.count(vec![node.planned_delta(key, 7)], One).await, Ok(()));
        node.runtime.sleep(FORGOTTEN).await;
        node.site.link(0, 1, Link::default());
        until_all_up(&node).await;
        assert_eq!(counts(&node, key).await, [7, 0, 0]);

        exchanged(&node, (0, 2)).await;
        assert_eq!(replicas(key), [1, 2].into());
        clean_up(&node).await;
        assert_eq!(counts(&node, key).await, [0, 0, 7], "it has lost the range, and all of it");

        exchanged(&node, (0, 1)).await;
        assert_eq!(replicas(key), [0, 2].into());
        assert_eq!(counts(&node, key).await, [0, 0, 7], "it has copied from the replica that lacks it");
        assert_eq!(node.coordinator.count(vec![node.planned_delta(key, 5)], Quorum).await, Ok(()));
        assert_eq!(counts(&node, key).await, [5, 0, 12], "the older part stays");
        assert_eq!(node.count_at(key, All).await, 12);
        assert_eq!(counts(&node, key).await, [12, 0, 12], "each replica alone");
    });
}
