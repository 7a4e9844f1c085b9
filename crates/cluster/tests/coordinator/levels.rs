//! Levels that count per datacenter: two nodes of the first, and one of the second, which is silent.

use cluster::coordinator::{Failure, Unavailable};
use runtime::sim::Link;
use topology::ConsistencyLevel::{All, EachQuorum, LocalQuorum, One, Quorum, Three, Two};
use topology::token_of;

use crate::world::{PAUSE, Shape, on_shape};

/// Planted: each-counts-one.
#[test]
fn a_level_of_each_datacenter_waits_for_all_of_them() {
    on_shape(Shape::TwoDatacenters, 3, async |node| {
        node.until_up(1).await;
        node.until_up(2).await;
        for level in [One, Two, Three, Quorum, All, LocalQuorum, EachQuorum] {
            assert_eq!(node.write(vec![node.planned(b"k")], level).await, Ok(()), "{level}");
            assert_eq!(node.read(b"k", level).await, Ok(1), "{level}");
        }
        node.site.link(0, 2, Link { is_cut: true, ..Link::default() });
        node.runtime.sleep(10 * PAUSE).await;
        let written = node.write(vec![node.planned(b"l")], EachQuorum).await;
        assert_eq!(written, Err(Failure::Timeout { received: 2 }), "the second datacenter has not got it");
        assert_eq!(node.holders(b"l").await, [0, 1]);
        for level in [Two, Quorum, LocalQuorum] {
            assert_eq!(node.write(vec![node.planned(b"m")], level).await, Ok(()), "{level}");
        }
        node.until_down(2).await;
        let unavailable = |level| node.coordinator.plan(&node.replication(), token_of(b"m"), level).err();
        let each = Unavailable { level: EachQuorum, required: 1, alive: 0, datacenter: Some("datacenter2".into()) };
        assert_eq!(unavailable(EachQuorum), Some(each));
        assert_eq!(unavailable(All), Some(Unavailable { level: All, required: 3, alive: 2, datacenter: None }));
        assert_eq!((unavailable(LocalQuorum), unavailable(Quorum), unavailable(Two)), (None, None, None));
    });
}
