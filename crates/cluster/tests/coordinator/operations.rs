//! A node that gains ranges copies them: the third node joins two, each of which has all until then.

use std::rc::Rc;

use cluster::coordinator::{CopyFigures, KeyspaceToCopy, ReceiveFailed, receiving};
use cluster::paxos::STATE_TABLE;
use topology::ConsistencyLevel::{All, Quorum, Serial};
use topology::operations::Phase;

use crate::moving::{KEYS, alter, moving, pass};
use crate::serial::{KEY, write};
use crate::world::{Member, Shape, TABLE, altering_operation, joining_operation, on_nodes};

/// The third node copies what it gains.
async fn receive(node: &Member) -> Result<CopyFigures, ReceiveFailed> {
    node.on(2, |joining| async move {
        let operation = joining_operation(Phase::Copy);
        let strategy = joining.replication_strategy();
        let keyspace = KeyspaceToCopy { name: "ks".to_owned(), strategy, tables: vec![TABLE] };
        receiving(&joining.coordinator).receive(&operation, &[keyspace]).await
    })
    .await
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
