//! Levels in two and three datacenters, with nodes down, with a datacenter that is silent, and with one whose disks fail.

use cql_protocol::Consistency::{self, EachQuorum, LocalQuorum};
use runtime::sim::{DiskCall, DiskError, DiskFault};
use sim::site::Site;
use topology::Strategies;

use super::ring::{READ, Ring, WRITE};

const THREE_AND_TWO: &str = "{'class': 'NetworkTopologyStrategy', 'datacenter0': 3, 'datacenter1': 2}";

fn three_and_two() -> Ring {
    Ring::start(&[3, 2], 2, THREE_AND_TWO, Strategies::default())
}

const ANY_IS_NO_READ: &str = "invalid: ANY ConsistencyLevel is only supported for writes";

#[test]
fn levels_count_datacenters_as_nodes_go_down() {
    let mut ring = three_and_two();
    let any = format!("ANY ok | {ANY_IS_NO_READ}");
    let all_work = "ONE ok\nTWO ok\nTHREE ok\nQUORUM ok\nALL ok\nLOCAL_ONE ok\nLOCAL_QUORUM ok\nEACH_QUORUM ok";
    for node in [0, 4] {
        ring.check(node, &any);
        ring.check(node, all_work);
    }

    // One of two in the other datacenter.
    ring.kill(4, &[0, 3], 4);
    ring.check(0, &any);
    ring.check(
        0,
        "ONE ok\nTWO ok\nTHREE ok\nQUORUM ok\nALL unavailable 4/5\nLOCAL_ONE ok\nLOCAL_QUORUM ok\nEACH_QUORUM unavailable 1/2 in datacenter1",
    );
    ring.check(3, "QUORUM ok\nLOCAL_ONE ok\nLOCAL_QUORUM unavailable 1/2\nEACH_QUORUM unavailable 1/2 in datacenter1");

    // All of the other datacenter.
    ring.kill(3, &[0], 3);
    ring.check(0, &any);
    ring.check(
        0,
        "THREE ok\nQUORUM ok\nALL unavailable 3/5\nLOCAL_ONE ok\nLOCAL_QUORUM ok\nEACH_QUORUM unavailable 0/2 in datacenter1",
    );

    // And one of this one: the quorum of this datacenter is no quorum of all.
    ring.kill(2, &[0], 2);
    ring.check(
        0,
        "TWO ok\nTHREE unavailable 2/3\nQUORUM unavailable 2/3\nALL unavailable 2/5\nLOCAL_QUORUM ok\nEACH_QUORUM unavailable 0/2 in datacenter1",
    );

    // And one more.
    ring.kill(1, &[0], 1);
    ring.check(0, &any);
    ring.check(
        0,
        "ONE ok\nTWO unavailable 1/2\nLOCAL_ONE ok\nLOCAL_QUORUM unavailable 1/2\nEACH_QUORUM unavailable 1/2 in datacenter0",
    );
}

#[test]
fn each_of_three_datacenters_has_its_quorum() {
    let replication = "{'class': 'NetworkTopologyStrategy', 'datacenter0': 2, 'datacenter1': 1, 'datacenter2': 1}";
    let mut ring = Ring::start(&[2, 1, 1], 2, replication, Strategies::default());
    ring.check(2, "ONE ok\nQUORUM ok\nALL ok\nLOCAL_ONE ok\nLOCAL_QUORUM ok\nEACH_QUORUM ok");
    ring.kill(3, &[0, 2], 3);
    ring.check(
        2,
        "THREE ok\nQUORUM ok\nALL unavailable 3/4\nLOCAL_QUORUM ok\nEACH_QUORUM unavailable 0/1 in datacenter2",
    );
    ring.kill(1, &[0, 2], 2);
    ring.check(0, "TWO ok\nQUORUM unavailable 2/3\nLOCAL_ONE ok\nLOCAL_QUORUM unavailable 1/2");
    ring.check(2, "LOCAL_QUORUM ok\nEACH_QUORUM unavailable 1/2 in datacenter0");
}

/// No datacenter of the keyspace is this node's.
#[test]
fn a_datacenter_without_replicas_has_no_local_level() {
    let replication = "{'class': 'NetworkTopologyStrategy', 'datacenter0': 2}";
    let mut ring = Ring::start(&[2, 1], 2, replication, Strategies::default());
    ring.check(2, "ONE ok\nQUORUM ok\nALL ok\nEACH_QUORUM ok\nLOCAL_ONE unavailable 0/1\nLOCAL_QUORUM unavailable 0/1");
}

/// A write counts all answers that came, also those that the datacenter's own quorum did not need.
#[test]
fn a_silent_datacenter_is_a_timeout_with_the_answers_of_the_others() {
    for (text, said) in [(WRITE, "timeout 3/4"), (READ, "timeout 2/4")] {
        let mut ring = three_and_two();
        ring.cut(3);
        ring.cut(4);
        assert_eq!(ring.says(0, EachQuorum, text), said, "{text}");
        for level in [Consistency::Quorum, LocalQuorum, Consistency::LocalOne, Consistency::Three] {
            assert_eq!(ring.says(0, level, text), "ok", "{text} at {level:?}");
        }
    }
}

#[test]
fn a_datacenter_whose_disks_fail_is_a_failure_where_its_answers_count() {
    let mut ring = three_and_two();
    for node in [3, 4] {
        let machine = ring.site.nodes()[node];
        let fault =
            DiskFault { call: Some(DiskCall::Write), at: None, per_million: 1_000_000, error: DiskError::Medium };
        ring.site.world().set_disk_faults(machine, vec![fault]);
    }
    let said = ring.says(0, EachQuorum, WRITE);
    // One refusal decides it; the answers that have come by then are counted.
    assert!(said.starts_with("failure ") && said.contains("/4, "), "{said}");
    assert_eq!(ring.says(0, LocalQuorum, WRITE), "ok");
    assert_eq!(ring.says(0, Consistency::Quorum, WRITE), "ok");
}
