//! Requests that arrive late.

use std::time::Duration;

use cluster::coordinator::Failure;
use runtime::sim::Link;
use topology::ConsistencyLevel::All;

use crate::world::on_nodes;

/// Longer than a write may take, shorter than the connection is thought to be alive for.
const HELD: Duration = Duration::from_secs(8);

/// Sequence *held-frame*: the link holds a write until long after its client received a time-out, and the row has been deleted since. It must not be applied. Planted:
/// deadline-from-receipt.
#[test]
fn a_frame_that_the_link_held_is_not_served() {
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        // The first pong has the reading of the other end's clock.
        node.runtime.sleep(Duration::from_secs(15)).await;
        assert_eq!(node.write(vec![node.planned(b"before")], All).await, Ok(()));
        node.site.link(0, 1, Link { is_cut: true, ..Link::default() });
        node.runtime.sleep(Duration::from_millis(10)).await;
        let written = node.write(vec![node.planned(b"held")], All).await;
        assert_eq!(written, Err(Failure::Timeout { received: 1 }));
        node.runtime.sleep(HELD - Duration::from_secs(2)).await;
        node.site.link(0, 1, Link::default());
        node.runtime.sleep(Duration::from_secs(2)).await;
        node.until_up(1).await;
        assert_eq!(node.holders(b"before").await, [0, 1]);
        assert_eq!(node.holders(b"held").await, [0], "its deadline passed while the link held it");
    });
}
