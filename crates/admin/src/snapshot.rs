//! The steps of a snapshot, of all shards: each for all of them before the next. For the routes, and for whoever asks the shards without HTTP.

use crate::ask::{Question, Questions, SnapshotStep, ask, ask_all};
use crate::facts::TableName;
use crate::problem::Problem;

/// Makes a snapshot of these tables to its end. If a step fails, what was made of it is removed. One at a time.
pub(crate) async fn take(
    questions: &Questions,
    tag: String,
    tables: Vec<TableName>,
    skips_flush: bool,
) -> Result<(), Problem> {
    if !skips_flush {
        ask_all(questions, &Question::Flush(tables.clone())).await?;
    }
    let begin = SnapshotStep::Begin { tag: tag.clone(), tables: tables.clone() };
    ask(questions, 0, Question::Snapshot(begin)).await?;
    let made = async {
        let name = SnapshotStep::Name { tag: tag.clone(), tables: tables.clone() };
        ask_all(questions, &Question::Snapshot(name)).await?;
        let end = SnapshotStep::End { tag: tag.clone(), tables: tables.clone() };
        ask(questions, 0, Question::Snapshot(end)).await
    };
    if let Err(problem) = made.await {
        // What was made of it is none.
        for TableName { keyspace, table } in tables {
            let clear = SnapshotStep::Clear { tag: Some(tag.clone()), keyspaces: vec![keyspace], tables: vec![table] };
            if let Err(more) = ask(questions, 0, Question::Snapshot(clear)).await {
                tracing::warn!(
                    tag,
                    error = more.message,
                    "cannot delete partial snapshot after a failure; delete it with nodetool clearsnapshot"
                );
            }
        }
        return Err(problem);
    }
    Ok(())
}

/// Makes a snapshot as `POST /storage_service/snapshots` does; the error is a sentence.
pub async fn take_snapshot(questions: &Questions, tag: String, tables: Vec<TableName>) -> Result<(), String> {
    take(questions, tag, tables, false).await.map_err(|problem| problem.message)
}
