//! Paging states of every page so far go on after restarts with other shard counts; one that is made up, changed, or another
//! statement's is a protocol error.

use std::ops::ControlFlow;

use helenus_tests::{Builder, Server};
use scylla::client::session::Session;
use scylla::errors::{DbError, ExecutionError, RequestAttemptError};
use scylla::response::PagingState;
use scylla::statement::Statement;

use super::connect;

/// A SELECT over all partitions, one of a partition, one of several, and one of a table that is made up when it is read.
const SELECTS: [&str; 4] = [
    "SELECT k, c FROM paged.t",
    "SELECT k, c FROM paged.t WHERE k = 3 ORDER BY c DESC",
    "SELECT k, c FROM paged.t WHERE k IN (1, 4, 2) AND c > 3",
    "SELECT table_name, column_name FROM system_schema.columns WHERE keyspace_name = 'system'",
];
const PARTITIONS: i32 = 20;
const ROWS: i32 = 30;

/// A statement's pages so far.
struct Walk {
    text: &'static str,
    rows: Vec<String>,
    state: Option<PagingState>,
}

impl Walk {
    async fn go(&mut self, session: &Session, page_size: i32) {
        let Some(state) = self.state.take() else { return };
        let statement = Statement::new(self.text).with_page_size(page_size);
        let (page, next) = session.query_single_page(statement, &[], state).await.expect("a page");
        self.rows.extend(rows(page));
        self.state = match next.into_paging_control_flow() {
            ControlFlow::Continue(next) => Some(next),
            ControlFlow::Break(()) => None,
        };
    }
}

fn rows(result: scylla::response::query_result::QueryResult) -> Vec<String> {
    let result = result.into_rows_result().expect("rows");
    let rows = result.rows::<scylla::value::Row>().expect("any row is one");
    rows.map(|row| format!("{:?}", row.expect("a row").columns)).collect()
}

async fn fill(session: &Session) {
    let keyspace = "CREATE KEYSPACE paged WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': '1'}";
    for text in [keyspace, "CREATE TABLE paged.t (k int, c int, PRIMARY KEY (k, c))"] {
        session.query_unpaged(text, ()).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let insert = session.prepare("INSERT INTO paged.t (k, c) VALUES (?, ?)").await.expect("prepares");
    for (k, c) in (0..PARTITIONS).flat_map(|k| (0..ROWS).map(move |c| (k, c))) {
        session.execute_unpaged(&insert, (k, c)).await.expect("inserts");
    }
}

/// The answer to a statement that is given this state.
async fn answer(session: &Session, text: &str, state: &[u8]) -> Result<(), DbError> {
    let state = PagingState::new_from_raw_bytes(state);
    match session.query_single_page(Statement::new(text).with_page_size(7), &[], state).await {
        Ok(_) => Ok(()),
        Err(ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _))) => Err(error),
        Err(other) => panic!("{text}: {other}"),
    }
}

/// Gives each statement what is no state of it.
async fn is_refused(session: &Session, walks: &[Walk]) {
    let states: Vec<Vec<u8>> =
        walks.iter().filter_map(|walk| Some(walk.state.as_ref()?.as_bytes_slice()?.to_vec())).collect();
    assert_eq!(states.len(), SELECTS.len(), "each statement has more pages");
    for (walk, state) in walks.iter().zip(&states) {
        assert_eq!(answer(session, walk.text, state).await, Ok(()), "{}", walk.text);
        for place in 0..state.len() {
            let mut changed = state.clone();
            changed[place] ^= 0x10;
            let answer = answer(session, walk.text, &changed).await;
            assert_eq!(answer, Err(DbError::ProtocolError), "{}: byte {place} is another", walk.text);
        }
        for made_up in [&b"no state at all"[..], &state[..state.len() / 2], &[state.as_slice(), b"x"].concat()] {
            assert_eq!(answer(session, walk.text, made_up).await, Err(DbError::ProtocolError), "{}", walk.text);
        }
        for foreign in states.iter().filter(|foreign| *foreign != state) {
            assert_eq!(answer(session, walk.text, foreign).await, Err(DbError::ProtocolError), "{}", walk.text);
        }
    }
}

async fn whole(session: &Session, text: &str) -> Vec<String> {
    rows(session.query_unpaged(text, ()).await.expect("all rows"))
}

#[test]
fn a_state_goes_on_after_a_restart_with_another_shard_count_and_a_forged_one_does_not() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio starts");
    let mut walks = SELECTS.map(|text| Walk { text, rows: Vec::new(), state: Some(PagingState::start()) });
    let mut builder = Builder::new("uring", 2);
    for (reactor, shards) in [("uring", 2), ("epoll", 1), ("uring", 3)] {
        builder = builder.dealt_to(reactor, shards);
        let server: Server = builder.start();
        runtime.block_on(async {
            let session = connect(&server).await;
            if shards == 2 {
                fill(&session).await;
            }
            for walk in &mut walks {
                walk.go(&session, 7).await;
            }
            is_refused(&session, &walks).await;
            if shards == 3 {
                for walk in &mut walks {
                    while walk.state.is_some() {
                        walk.go(&session, 11).await;
                    }
                    assert_eq!(walk.rows, whole(&session, walk.text).await, "{}", walk.text);
                }
            }
        });
        server.stop();
    }
}
