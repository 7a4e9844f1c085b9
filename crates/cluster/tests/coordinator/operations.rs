//! A node that gains ranges copies them: the third node joins two, each of which has all until then.

use cluster::coordinator::{CopyFigures, KeyspaceToCopy, ReceiveFailed, receiving};
use cluster::paxos::STATE_TABLE;
use topology::ConsistencyLevel::{All, Quorum, Serial};
use topology::operations::Phase;

use crate::moving::{KEYS, moving, pass};
use crate::serial::{KEY, write};
use crate::world::{Member, TABLE, joining_operation, on_nodes};

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
