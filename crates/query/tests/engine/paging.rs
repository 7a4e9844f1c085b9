//! Paging states: every shape of SELECT goes on after restarts with other shard counts, and nothing but its own state is taken.

use std::sync::Mutex;

use crate::harness::{Client, Folder, Reply, buffer, run_node, run_node_with};
use crate::requests::{KEYSPACE, must};
use cql_protocol::{Consistency, ErrorCode, QueryParams, Response, ResultBody, Value};

type Row = Vec<Option<Vec<u8>>>;

/// A SELECT of each shape. All have more than two pages of two rows; none shows what a restart changes.
const SHAPES: [&str; 23] = [
    "SELECT * FROM ks.t WHERE p = 3",
    "SELECT c, v FROM ks.t WHERE p = 3 ORDER BY c DESC",
    "SELECT * FROM ks.t WHERE p = 3 AND c >= 2 AND c < 9",
    "SELECT * FROM ks.t WHERE p = 3 AND c IN (1, 2, 5, 6, 7, 8, 9, 20)",
    "SELECT * FROM ks.t WHERE p IN (3, 1, 99, 2)",
    "SELECT * FROM ks.t WHERE p IN (3, 1, 2) PER PARTITION LIMIT 4",
    "SELECT * FROM ks.t",
    "SELECT * FROM ks.t LIMIT 23",
    "SELECT * FROM ks.t PER PARTITION LIMIT 2",
    "SELECT * FROM ks.t PER PARTITION LIMIT 4 LIMIT 21",
    "SELECT p, c FROM ks.t WHERE token(p) > -6000000000000000000 AND token(p) <= 6000000000000000000",
    "SELECT DISTINCT p, s FROM ks.t",
    "SELECT DISTINCT p FROM ks.t WHERE p IN (1, 2, 3, 4, 5, 6, 7, 8)",
    "SELECT * FROM ks.t WHERE v > 4 ALLOW FILTERING",
    "SELECT * FROM ks.t WHERE c = 2 PER PARTITION LIMIT 1 ALLOW FILTERING",
    "SELECT * FROM system_schema.columns",
    "SELECT column_name FROM system_schema.columns WHERE keyspace_name = 'system' AND table_name = 'local'",
    "SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'system' ORDER BY table_name DESC LIMIT 17",
    "SELECT table_name, column_name FROM system_schema.columns PER PARTITION LIMIT 4",
    "SELECT DISTINCT keyspace_name FROM system_schema.tables WHERE token(keyspace_name) > -9000000000000000000",
    "SELECT * FROM system_schema.columns WHERE keyspace_name IN ('system_traces', 'nothere', 'system_auth', 'ks')",
    "SELECT * FROM system_virtual_schema.columns",
    "SELECT table_name FROM system_virtual_schema.columns WHERE token(keyspace_name) > 'system_views'",
];

fn page(reply: &Reply) -> (Vec<Row>, Option<Vec<u8>>) {
    match reply.response().1 {
        Response::Result(ResultBody::Rows(rows)) => {
            let all = rows.iter().map(|row| row.map(|value| value.map(<[u8]>::to_vec)).collect()).collect();
            (all, rows.paging_state.map(<[u8]>::to_vec))
        }
        other => panic!("rows were expected, not {other:?}"),
    }
}

fn params<'a>(size: i32, state: Option<&'a [u8]>) -> QueryParams<'a> {
    QueryParams { page_size: Some(size), paging_state: state, ..QueryParams::new(Consistency::One) }
}

async fn fill(client: &Client) {
    must(client, KEYSPACE).await;
    must(client, "CREATE TABLE ks.t (p int, c int, s text STATIC, v int, PRIMARY KEY (p, c))").await;
    for p in 0..12 {
        must(client, &format!("INSERT INTO ks.t (p, s) VALUES ({p}, 'static {p}')")).await;
        for c in 0..10 {
            must(client, &format!("INSERT INTO ks.t (p, c, v) VALUES ({p}, {c}, {})", (p + c) % 10)).await;
        }
    }
}

/// A walk through a statement's pages.
#[derive(Default, Clone)]
struct Walk {
    seen: Vec<Row>,
    state: Option<Vec<u8>>,
    is_over: bool,
    pages: u32,
}

impl Walk {
    async fn go(&mut self, client: &Client, text: &str, size: i32) {
        let (rows, state) = page(&client.query_with(text, params(size, self.state.as_deref())).await);
        assert!(rows.len() <= usize::try_from(size).expect("a page has rows"), "{text}");
        self.pages += 1;
        assert!(self.pages < 1_000, "{text} has no end: {:?}", self.state);
        self.seen.extend(rows);
        self.is_over = state.is_none();
        self.state = state;
    }

    async fn go_to_the_end(&mut self, client: &Client, text: &str, size: i32) {
        while !self.is_over {
            self.go(client, text, size).await;
        }
    }
}

#[test]
fn every_shape_goes_on_after_restarts_with_other_shard_counts() {
    pages_over_restarts("paging-shapes", false);
}

/// A place is one in the data, wherever it lies: with files of other shard counts, which several shards read.
#[test]
fn every_shape_goes_on_over_files_after_restarts_with_other_shard_counts() {
    pages_over_restarts("paging-shapes-files", true);
}

fn pages_over_restarts(name: &str, flushes: bool) {
    let folder = Folder::new(name);
    let walks = Mutex::new(vec![Walk::default(); SHAPES.len()]);
    run_node_with(folder.path(), 2, |client, _, storage| {
        let walks = &walks;
        async move {
            fill(&client).await;
            if flushes {
                // This shard's only: what the others have is in their memtables.
                storage.flush_at_end(true).await.expect("all is flushed");
            }
            let mut known = walks.lock().expect("one at a time").clone();
            for (walk, text) in known.iter_mut().zip(SHAPES) {
                walk.go(&client, text, 2).await;
                assert!(!walk.is_over, "{text}");
            }
            *walks.lock().expect("one at a time") = known;
        }
    });
    for shards in [1, 3] {
        run_node_with(folder.path(), shards, |client, _, storage| {
            let walks = &walks;
            async move {
                if flushes {
                    storage.flush_at_end(true).await.expect("all is flushed");
                }
                let mut known = walks.lock().expect("one at a time").clone();
                for (walk, text) in known.iter_mut().zip(SHAPES) {
                    walk.go(&client, text, 2).await;
                    if shards == 3 {
                        walk.go_to_the_end(&client, text, 7).await;
                        let (whole, _) = page(&client.query(text).await);
                        assert!(whole.len() > 4, "{text} has more than two pages");
                        assert_eq!(walk.seen, whole, "{text}");
                    }
                }
                *walks.lock().expect("one at a time") = known;
            }
        });
    }
}

#[test]
fn each_size_of_page_gives_the_same_rows() {
    let folder = Folder::new("paging-sizes");
    run_node(folder.path(), 2, |client| async move {
        fill(&client).await;
        for text in SHAPES {
            let (whole, state) = page(&client.query(text).await);
            assert_eq!(state, None, "{text}");
            for size in [1, 2, 5, 10, 1000] {
                let mut walk = Walk::default();
                walk.go_to_the_end(&client, text, size).await;
                assert_eq!(walk.seen, whole, "{text} in pages of {size}");
            }
        }
    });
}

/// A partition with nothing but a static row is a row only when nothing else came: at the end of a scan that is when all is read.
#[test]
fn a_page_that_a_static_row_fills_at_the_end_is_not_known_to_be_the_last() {
    let folder = Folder::new("paging-static-end");
    run_node(folder.path(), 2, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (p int, c int, s int STATIC, PRIMARY KEY (p, c))").await;
        must(&client, "INSERT INTO ks.t (p, s) VALUES (1, 1)").await;
        must(&client, "INSERT INTO ks.t (p, s) VALUES (2, 1)").await;
        let scans = ["SELECT p FROM ks.t", "SELECT p FROM ks.t WHERE s = 1 ALLOW FILTERING"];
        for text in scans {
            for (size, pages) in [(1, 3), (2, 2), (3, 1)] {
                let mut walk = Walk::default();
                walk.go_to_the_end(&client, text, size).await;
                assert_eq!((walk.seen.len(), walk.pages), (2, pages), "{text} in pages of {size}");
            }
        }
        // Partitions that are named are known to be over.
        for (text, pages) in [("SELECT p FROM ks.t WHERE p = 1", 1), ("SELECT p FROM ks.t WHERE p IN (1, 2)", 2)] {
            let mut walk = Walk::default();
            walk.go_to_the_end(&client, text, 1).await;
            assert_eq!(walk.pages, pages, "{text}");
        }
        let mut limited = Walk::default();
        limited.go_to_the_end(&client, "SELECT p FROM ks.t LIMIT 2", 1).await;
        assert_eq!((limited.seen.len(), limited.pages), (2, 2), "LIMIT is known to be reached");
    });
}

#[test]
fn what_is_no_state_of_the_statement_is_a_protocol_error() {
    let folder = Folder::new("paging-forged");
    run_node(folder.path(), 2, |client| async move {
        fill(&client).await;
        must(&client, "CREATE TABLE ks.u (p int, c int, s text STATIC, v int, PRIMARY KEY (p, c))").await;
        let refused = async |text: &str, state: &[u8], why: &str| {
            let reply = client.query_with(text, params(3, Some(state))).await;
            match reply.response().1 {
                Response::Error(error) => {
                    assert_eq!(error.code(), ErrorCode::ProtocolError, "{text}: {why}");
                    assert_eq!(error.message, "Invalid value for the paging state", "{text}: {why}");
                }
                other => panic!("{text}: {why}: taken, {other:?}"),
            }
        };
        let mut states = Vec::new();
        for text in SHAPES {
            let (_, state) = page(&client.query_with(text, params(3, None)).await);
            states.push(state.expect("there is more"));
        }
        for (text, state) in SHAPES.iter().zip(&states) {
            for (index, byte) in state.iter().enumerate() {
                let mut changed = state.clone();
                changed[index] = byte.wrapping_add(1);
                refused(text, &changed, "a changed byte").await;
                if index > 0 {
                    refused(text, &state[..index], "cut").await;
                }
            }
            refused(text, &[state.as_slice(), &[0]].concat(), "longer").await;
            refused(text, &[0xff; 4096], "noise").await;
            for (other, foreign) in SHAPES.iter().zip(&states).filter(|(other, _)| *other != text) {
                refused(text, foreign, other).await;
            }
        }
        for (text, state) in SHAPES.iter().zip(&states).filter(|(text, _)| text.contains("ks.t")) {
            refused(&text.replace("ks.t", "ks.u"), state, "of another table").await;
        }
        must(&client, "DROP TABLE ks.t").await;
        must(&client, "CREATE TABLE ks.t (p int, c int, s text STATIC, v int, PRIMARY KEY (p, c))").await;
        for (text, state) in SHAPES.iter().zip(&states).filter(|(text, _)| text.contains("ks.t")) {
            refused(text, state, "the table was dropped and made again").await;
        }
    });
}

#[test]
fn a_prepared_statements_state_belongs_to_its_values() {
    let folder = Folder::new("paging-values");
    run_node(folder.path(), 2, |client| async move {
        fill(&client).await;
        for text in ["SELECT * FROM ks.t WHERE p = ?", "SELECT * FROM ks.t WHERE v > ? ALLOW FILTERING"] {
            let select = client.prepare(text).await;
            let ask = async |value: i32, state: Option<&[u8]>| {
                let values = buffer(&[Value::Bytes(&value.to_be_bytes())]);
                client.execute(&select.id, QueryParams { values: values.values(), ..params(3, state) }).await
            };
            let state = page(&ask(3, None).await).1.expect("there is more");
            assert_eq!(page(&ask(3, Some(&state)).await).0.len(), 3);
            assert_eq!(ask(4, Some(&state)).await.error().code(), ErrorCode::ProtocolError, "{text}");
            // A column more is no other table.
            must(&client, &format!("ALTER TABLE ks.t ADD w{} int", text.len())).await;
            let select = client.prepare(text).await;
            let values = buffer(&[Value::Bytes(&3i32.to_be_bytes())]);
            let next = QueryParams { values: values.values(), ..params(3, Some(&state)) };
            assert_eq!(page(&client.execute(&select.id, next).await).0.len(), 3, "{text}");
        }
    });
}
