//! Requests whose plans are older, or newer, than what the nodes that serve them have applied.

use cluster::coordinator::{Failure, ReplicaError};
use topology::ConsistencyLevel::{All, One};
use topology::{Epoch, token_of};

use crate::world::{Change, FIRST, TABLE, on_nodes, table};

/// Planted: stale-plan-served.
#[test]
fn a_write_of_a_table_that_was_dropped_and_made_again_is_not_served() {
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        let planned = node.planned(b"k");
        node.site.agree(Change::Drop);
        let made = node.site.agree(Change::Create);
        node.on(1, move |other| async move { other.apply_to(made) }).await;
        let written = node.write(vec![planned], All).await;
        assert!(
            matches!(written, Err(Failure::Refused(ReplicaError::UnknownTable { .. }))),
            "the table that was meant is gone: {written:?}"
        );
        assert_eq!(node.on(1, |other| async move { other.own_rows(b"k") }).await, 0);
        assert_eq!(node.write(vec![node.planned(b"k")], All).await, Ok(()), "it is the table of now that is meant");
        assert_eq!(node.holders(b"k").await, [0, 1]);
    });
}

/// Planted: newer-plan-not-waited-for.
#[test]
fn a_write_that_is_newer_than_a_truncation_is_not_truncated() {
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        assert_eq!(node.write(vec![node.planned(b"old")], All).await, Ok(()));
        let truncated = node.site.agree(Change::Truncate);
        node.apply_to(truncated);
        assert_eq!(node.write(vec![node.planned(b"new")], All).await, Ok(()));
        node.on(1, move |other| async move { other.apply_to(truncated) }).await;
        assert_eq!(node.holders(b"new").await, [0, 1], "what was acknowledged after the truncation stays");
        assert_eq!(node.holders(b"old").await, [0u8; 0]);
    });
}

#[test]
fn a_plain_write_that_is_older_than_a_truncation_comes_after_it() {
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        let planned = node.planned(b"k");
        let truncated = node.site.agree(Change::Truncate);
        node.on(1, move |other| async move { other.apply_to(truncated) }).await;
        assert_eq!(node.write(vec![planned], All).await, Ok(()));
        assert_eq!(node.holders(b"k").await, [0, 1]);
    });
}

#[test]
fn a_write_before_a_change_of_the_ring_reaches_the_replicas_of_now() {
    const KEYS: [&[u8]; 8] = [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h"];
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        let planned = KEYS.map(|key| node.planned(key));
        let grown = node.site.agree(Change::Ring(3));
        for other in [1, 2] {
            node.on(other, move |other| async move { other.apply_to(grown) }).await;
        }
        let mut has_moved = false;
        for (key, planned) in KEYS.into_iter().zip(planned) {
            // A node that this one does not reach yet keeps the level from being met: the write is sent again then, as a client would.
            while node.write(vec![planned.clone()], All).await.is_err() {
                node.until_up(1).await;
            }
            let replicas = node.replicas(key);
            let holders = node.holders(key).await;
            assert!(
                replicas.iter().all(|replica| holders.contains(replica)),
                "{replicas:?} are to have it: {holders:?}"
            );
            has_moved |= replicas.contains(&2);
        }
        assert!(has_moved, "the third node has got some range");
        assert_eq!(node.coordinator.ring().epoch().0, grown, "this node has caught up for its requests");
    });
}

#[test]
fn changes_of_other_things_make_no_request_wait() {
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        node.site.stick(1);
        let other = node.site.agree(Change::Other);
        node.apply_to(other);
        assert_eq!(node.write(vec![node.planned(b"k")], All).await, Ok(()));
        assert_eq!(node.read(b"k", All).await, Ok(1));
    });
}

#[test]
fn a_node_that_does_not_catch_up_refuses_what_rests_on_more() {
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        node.site.stick(1);
        let truncated = node.site.agree(Change::Truncate);
        node.apply_to(truncated);
        assert_eq!(node.write(vec![node.planned(b"k")], One).await, Ok(()), "one that has caught up is enough for ONE");
        let read = node.read(b"k", All).await;
        let Err(Failure::Failed { refusals, .. }) = &read else { panic!("it is refused in time: {read:?}") };
        assert!(matches!(refusals[0].error, ReplicaError::Lags { epoch, .. } if epoch.0 == FIRST + 1), "{refusals:?}");
    });
}

#[test]
fn a_read_of_a_table_that_changed_is_planned_again_by_its_engine() {
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        assert_eq!(node.write(vec![node.planned(b"k")], All).await, Ok(()));
        let truncated = node.site.agree(Change::Truncate);
        node.on(1, move |other| async move { other.apply_to(truncated) }).await;
        assert_eq!(node.read(b"k", All).await, Err(Failure::Outdated));
        assert_eq!(node.read(b"k", All).await, Ok(0), "this node has caught up by then");
        let gone = node.site.agree(Change::Drop);
        node.apply_to(gone);
        assert_eq!(node.read(b"k", All).await, Err(Failure::Outdated), "the engine finds no such table");
    });
}

/// Its conditions would be judged by rows that are being taken, and what it writes would stay.
#[test]
fn no_conditional_statement_ends_within_a_call_while_a_truncation_is_under_way() {
    on_nodes(1, 1, async |node| {
        let (fence, table, key) = (node.coordinator.fence(), table(), &b"k"[..]);
        let begins = || node.coordinator.attempt_now(&table, token_of(key), key, 1_000).is_some();
        assert!(begins());
        fence.truncating(Epoch(FIRST + 1), TABLE);
        assert!(!begins(), "it waits");
        fence.reached(Epoch(FIRST + 1));
        assert!(begins());
    });
}
