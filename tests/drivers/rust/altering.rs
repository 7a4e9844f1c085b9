//! Prepared statements whose table changed, and errors as the driver tells them.

use scylla::client::session::Session;
use scylla::errors::{DbError, ExecutionError, RequestAttemptError};
use scylla::statement::{Consistency, Statement};

use super::scenarios::execute;

pub async fn statements_are_prepared_anew(session: &Session) {
    execute(session, "CREATE TABLE altered (a int PRIMARY KEY, b int, c int)").await;
    let insert = session.prepare("INSERT INTO altered (a, b) VALUES (?, ?)").await.expect("prepares");
    let rest = session.prepare("SELECT a, b FROM altered WHERE a = ?").await.expect("prepares");
    let whole = session.prepare("SELECT a, b, c FROM altered WHERE a = ?").await.expect("prepares");
    session.execute_unpaged(&insert, (1, 2)).await.expect("inserts");
    session.execute_unpaged(&whole, (1,)).await.expect("selects");
    execute(session, "ALTER TABLE altered ADD aa text").await;
    session.execute_unpaged(&insert, (2, 3)).await.expect("inserts after a column was added");
    assert_eq!(row(session, &rest, 2).await, (2, 3));
    execute(session, "ALTER TABLE altered DROP c").await;
    assert_eq!(row(session, &rest, 1).await, (1, 2));
    // The server has forgotten the statement, and refuses to prepare it anew.
    session.execute_unpaged(&whole, (1,)).await.expect_err("a dropped column");
}

async fn row(session: &Session, select: &scylla::statement::prepared::PreparedStatement, key: i32) -> (i32, i32) {
    let rows = session.execute_unpaged(select, (key,)).await.expect("selects").into_rows_result().expect("rows");
    rows.single_row().expect("one row")
}

pub async fn errors(session: &Session) {
    assert!(matches!(refused(session, "SELEKT 1").await, DbError::SyntaxError));
    assert!(matches!(refused(session, "SELECT * FROM nowhere").await, DbError::Invalid));
    let wrong = "CREATE KEYSPACE wrong WITH replication = {'class': 'NoSuchStrategy'}";
    assert!(matches!(refused(session, wrong).await, DbError::ConfigError));
    execute(session, "CREATE TABLE twice (a int PRIMARY KEY)").await;
    match refused(session, "CREATE TABLE twice (a int PRIMARY KEY)").await {
        DbError::AlreadyExists { keyspace, table } => assert_eq!((&*keyspace, &*table), ("tested", "twice")),
        other => panic!("{other:?}"),
    }
    execute(session, "CREATE KEYSPACE three WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
        .await;
    execute(session, "CREATE TABLE three.t (a int PRIMARY KEY)").await;
    let mut quorum = Statement::new("INSERT INTO three.t (a) VALUES (1)");
    quorum.set_consistency(Consistency::Quorum);
    match refused(session, quorum).await {
        DbError::Unavailable { consistency, required, alive } => {
            assert_eq!((consistency, required, alive), (Consistency::Quorum, 2, 1));
        }
        other => panic!("{other:?}"),
    }
}

async fn refused(session: &Session, statement: impl Into<Statement>) -> DbError {
    match session.query_unpaged(statement, ()).await {
        Err(ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _))) => error,
        other => panic!("{other:?}"),
    }
}
