//! A ring that changes while statements are prepared: they are planned by the ring that is installed last.

use std::rc::Rc;
use std::time::Duration;

use cluster::paxos::STATE_TABLE;
use cql_protocol::response::ResultBody;
use cql_protocol::{ErrorCode, ErrorKind, Response, Value};
use mutation::MutationRef;
use query::clean_up;
use schema::TableId;
use storage::CopySource;
use topology::{Epoch, HostId, Node, NodeIndex, Ring, Token, TokenRange, token_of};

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

/// The tokens of a table that are in the shard's files, ascending.
async fn tokens_of(client: &Client, table: TableId) -> Vec<Token> {
    let source = CopySource::open(client.engine.coordinator().storage(), table).await.expect("the disk works");
    let mut scan = source.scan(TokenRange { after: Token::MIN, end: Token::MAX });
    let mut tokens = Vec::new();
    loop {
        let page = scan.page(100_000, Duration::from_secs(5)).await.expect("the disk works");
        tokens.extend(page.mutations.iter().map(|bytes| MutationRef::decode(bytes).expect("a mutation").token()));
        if page.is_last {
            tokens.dedup();
            return tokens;
        }
    }
}

#[test]
fn a_cleanup_drops_what_another_node_has_of_all_tables_and_of_the_states_of_conditions() {
    // The second keyspace has rows on each of two nodes.
    for keyspaces in [&["ks"][..], &["ks", "two"]] {
        let folder = Folder::new("rings-cleanup");
        run_node(folder.path(), 1, move |client| async move {
            must(&client, KEYSPACE).await;
            if keyspaces.len() == 2 {
                let replication = "{'class': 'SimpleStrategy', 'replication_factor': 2}";
                must(&client, &format!("CREATE KEYSPACE two WITH replication = {replication}")).await;
            }
            for keyspace in keyspaces {
                must(&client, &format!("CREATE TABLE {keyspace}.t (k int PRIMARY KEY, v int)")).await;
            }
            for key in 0..40 {
                must(&client, &format!("INSERT INTO ks.t (k, v) VALUES ({key}, 1) IF NOT EXISTS")).await;
            }
            let id = |keyspace: &str| client.engine.schema().table(keyspace, "t").expect("it was created").id;
            let table = id("ks");
            let all = tokens_of(&client, table).await;
            assert_eq!((all.len(), tokens_of(&client, STATE_TABLE).await), (40, all.clone()));
            clean_up(&client.engine).await.expect("the disk works");
            assert_eq!(tokens_of(&client, table).await, all, "a node alone keeps all");

            // A ring of two tokens: the other node has what lies between them.
            let alone = client.engine.coordinator().ring();
            let mut nodes = with_other(&alone, LATER, all[25]).nodes().to_vec();
            nodes[1].tokens = vec![all[10]];
            let ring = |epoch, nodes| Rc::new(Ring::new(Epoch(epoch), nodes, NodeIndex(1)));
            client.engine.install_ring(ring(LATER, nodes.clone()), Vec::new());
            clean_up(&client.engine).await.expect("the disk works");
            let kept: Vec<Token> = all.iter().copied().filter(|token| *token <= all[10] || *token > all[25]).collect();
            assert_eq!(tokens_of(&client, table).await, kept);
            // A state may be of either keyspace.
            let states = if keyspaces.len() == 2 { &all } else { &kept };
            assert_eq!(tokens_of(&client, STATE_TABLE).await, *states);

            // A node that has lost its tokens has nothing.
            nodes[1].tokens.clear();
            client.engine.install_ring(ring(LATER + 1, nodes), Vec::new());
            clean_up(&client.engine).await.expect("the disk works");
            assert_eq!((tokens_of(&client, table).await, tokens_of(&client, STATE_TABLE).await), (vec![], vec![]));
        });
    }
}
