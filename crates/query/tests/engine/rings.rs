//! A ring that changes while statements are prepared: they are planned by the ring that is installed last.

use std::rc::Rc;

use cql_protocol::response::ResultBody;
use cql_protocol::{ErrorCode, ErrorKind, Response, Value};
use topology::{Epoch, HostId, Node, NodeIndex, Ring, Token, token_of};

use crate::harness::{Client, Folder, Reply, run_node};
use crate::requests::{KEYSPACE, ints, must};

/// An epoch that no change of the test's schema has.
const LATER: u64 = 1000;

/// The present ring with another node, which owns the token and does not answer.
fn with_other(ring: &Ring, epoch: u64, token: Token) -> Rc<Ring> {
    let local = ring.local_node();
    let other = Node {
        host_id: HostId([9; 16]),
        address: ([127, 0, 0, 9], 9042).into(),
        internode: ([127, 0, 0, 9], 7000).into(),
        tokens: vec![token],
        ..local.clone()
    };
    Rc::new(Ring::new(Epoch(epoch), vec![other, local.clone()], NodeIndex(1)))
}

async fn put(client: &Client, insert: &[u8], key: i32) -> Reply {
    client.execute_values(insert, &[Value::Bytes(&key.to_be_bytes()), Value::Bytes(&key.to_be_bytes())]).await
}

#[test]
fn prepared_statements_are_planned_by_the_ring_that_is_installed() {
    let folder = Folder::new("rings");
    run_node(folder.path(), 1, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").await;
        let insert = client.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?)").await;
        let select = client.prepare("SELECT v FROM ks.t WHERE k = ?").await;
        let key = 7i32.to_be_bytes();
        let put_it = put(&client, &insert.id, 7).await;
        assert!(matches!(put_it.response().1, Response::Result(ResultBody::Void)));
        let alone = client.engine.coordinator().ring();

        // The node that does not answer owns the key's token alone.
        client.engine.install_ring(with_other(&alone, LATER, token_of(&key)), Vec::new());
        let refused = put(&client, &insert.id, 7).await.error();
        assert_eq!(refused.code(), ErrorCode::Unavailable, "{refused}");
        let refused = client.execute_values(&select.id, &[Value::Bytes(&key)]).await.error();
        assert!(matches!(refused.kind, ErrorKind::Unavailable { required: 1, alive: 0, .. }), "{refused}");
        let ownership = client.engine.ownership("ks");
        assert_eq!((ownership.len(), ownership.iter().sum::<f64>().round()), (2, 1.0));

        let back = Ring::new(Epoch(LATER + 1), vec![alone.local_node().clone()], NodeIndex(0));
        client.engine.install_ring(Rc::new(back), Vec::new());
        client.engine.coordinator().fence().reached(Epoch(LATER + 1));
        assert_eq!(ints(&client.execute_values(&select.id, &[Value::Bytes(&key)]).await), [7]);
        assert_eq!(client.engine.stats().unprepared, 0, "no client had to prepare again");
    });
}
