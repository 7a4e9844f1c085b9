//! Each kind of request waits for its own time.

use std::time::Duration;

use cluster::coordinator::{Failure, TimeoutKind};
use runtime::sim::Link;
use topology::ConsistencyLevel::{All, One};

use crate::world::{PAUSE, on_nodes};

const KINDS: [(TimeoutKind, u64); 3] =
    [(TimeoutKind::Write, 300), (TimeoutKind::Read, 700), (TimeoutKind::CounterWrite, 1_100)];

/// The simulated time from the sending of a request to its failure is that of its kind.
#[test]
fn a_request_ends_after_the_time_of_its_kind_which_may_change() {
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        assert_eq!(node.write(vec![node.planned(b"k")], All).await, Ok(()));
        for (kind, millis) in KINDS {
            node.coordinator.timeouts().set(kind, Duration::from_millis(millis));
        }
        node.site.link(1, 0, Link { is_cut: true, ..Link::default() });
        node.runtime.sleep(10 * PAUSE).await;
        for (kind, millis) in KINDS {
            let began = node.runtime.now();
            let ended = match kind {
                TimeoutKind::Write => node.write(vec![node.planned(b"k")], All).await,
                TimeoutKind::Read => node.read(b"k", All).await.map(|_| ()),
                _ => node.coordinator.count(vec![node.planned_delta(b"k", 1)], All).await,
            };
            assert!(matches!(ended, Err(Failure::Timeout { received: 1 })), "{kind:?}: {ended:?}");
            let (waited, time) = (node.runtime.now() - began, Duration::from_millis(millis));
            assert!(waited >= time && waited < time + 100 * PAUSE, "{kind:?} ends after {time:?}, not {waited:?}");
        }
        // What does not wait for the other node is as before.
        assert_eq!(node.write(vec![node.planned(b"l")], One).await, Ok(()));
    });
}

/// A frame carries the time of its request: the other node drops what arrives later.
#[test]
fn the_deadline_of_a_frame_is_that_of_its_kind() {
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        // The first pong has the reading of the other end's clock.
        node.runtime.sleep(Duration::from_secs(15)).await;
        node.coordinator.timeouts().set(TimeoutKind::Write, Duration::from_millis(200));
        node.site.link(0, 1, Link { is_cut: true, ..Link::default() });
        node.runtime.sleep(10 * PAUSE).await;
        let written = node.write(vec![node.planned(b"held")], All).await;
        assert_eq!(written, Err(Failure::Timeout { received: 1 }));
        // With the usual time of 2 s it would still be good.
        node.runtime.sleep(Duration::from_millis(800)).await;
        node.site.link(0, 1, Link::default());
        node.runtime.sleep(Duration::from_secs(1)).await;
        node.until_up(1).await;
        assert_eq!(node.holders(b"held").await, [0], "its deadline passed while the link held it");
    });
}
