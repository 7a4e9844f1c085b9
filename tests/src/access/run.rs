//! A run of the matrix on one server: each statement in each cell, and the verdicts.
//!
//! Statements that hold the same grants are tried together, so that a grant is made once for all of them. A statement that would change something fails
//! after it was allowed, or is undone.

use std::collections::BTreeMap;

use cql_protocol::{
    BatchBuilder, BatchKind, BatchQuery, Consistency, ErrorCode, Execute, Prepare, Query, QueryParams, Request,
    Response, ResultBody, ValuesBuffer, Version,
};

use super::cells::{self, CHIEF, Grant, ROLES, USER, WAYS};
use super::matrix::{Matrix, Row, Verdicts};
use crate::oracle::{Client, Reply, Session, must};

/// A verdict that is no refusal.
const ALLOWED: &str = "allowed";
/// The statement that a batch begins with, which is allowed.
const FIRST_OF_BATCH: &str = "INSERT INTO ks.open (k) VALUES (1)";
/// Numbers of keys: enough that each shard has some.
const KEYS: usize = 16;

/// The connections of a run.
struct Run {
    /// Grants, and undoes.
    owner: Client,
    user: Client,
    chief: Client,
    /// Cells so far.
    cells: usize,
}

/// The verdicts of each row. Features that the server lacks are left out, with the rows that need them: those have none.
pub fn run(address: &str, matrix: &Matrix, rows: &[&Row], lacks: &[&str]) -> Result<Vec<Verdicts>, String> {
    let mut owner = Session::guarded(address).begun()?;
    for text in ROLES {
        must(&mut owner, text)?;
    }
    for (_, text) in matrix.setup.iter().filter(|(feature, _)| !feature.as_deref().is_some_and(|f| lacks.contains(&f)))
    {
        must(&mut owner, text)?;
    }
    let log_in = |name: &str| {
        let client = Client::log_in(address, Version::V5, name, name)?;
        client.map_err(|_| format!("{name} cannot log in"))
    };
    let mut run = Run { user: log_in(USER)?, chief: log_in(CHIEF)?, owner, cells: 0 };
    let mut verdicts: Vec<Verdicts> = rows.iter().map(|_| Verdicts::default()).collect();
    let mut by_held: BTreeMap<Vec<Grant>, Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        by_held.entry(row.held()).or_default().push(at);
    }
    for (held, group) in by_held {
        run.change_grants("GRANT", "TO", USER, &held)?;
        for &at in &group {
            verdicts[at].none = run.cell(rows[at])?;
            verdicts[at].superuser = run.cell_of_superuser(rows[at])?;
            verdicts[at].cells = 2;
        }
        run.try_group(rows, &held, &group, &mut verdicts)?;
        run.change_grants("REVOKE", "FROM", USER, &held)?;
    }
    Ok(verdicts)
}

impl Run {
    /// Tries the rows of a group with each grant in each way.
    fn try_group(
        &mut self,
        rows: &[&Row],
        held: &[Grant],
        group: &[usize],
        verdicts: &mut [Verdicts],
    ) -> Result<(), String> {
        let mut by_grant: BTreeMap<Grant, Vec<usize>> = BTreeMap::new();
        for &at in group {
            for grant in cells::grants(&rows[at].resources()) {
                by_grant.entry(grant).or_default().push(at);
            }
        }
        for (way, (_, role)) in WAYS.iter().enumerate() {
            for (grant, rows_of_grant) in &by_grant {
                // What is held already is neither granted nor revoked.
                let is_held = *role == USER && held.contains(grant);
                let own = if is_held { &[][..] } else { std::slice::from_ref(grant) };
                self.change_grants("GRANT", "TO", role, own)?;
                for &at in rows_of_grant {
                    let verdict = self.cell(rows[at])?;
                    verdicts[at].cells += 1;
                    if verdict != verdicts[at].none {
                        verdicts[at].others.insert((way, grant.clone()), verdict);
                    }
                }
                self.change_grants("REVOKE", "FROM", role, own)?;
            }
        }
        Ok(())
    }

    fn change_grants(&mut self, verb: &str, preposition: &str, role: &str, grants: &[Grant]) -> Result<(), String> {
        for (permission, level) in grants {
            let text = format!("{verb} {permission} ON {} {preposition} {role}", cells::in_cql(level));
            must(&mut self.owner, &text)?;
        }
        Ok(())
    }

    /// The verdict on the user's statement. What was allowed is undone.
    fn cell(&mut self, row: &Row) -> Result<String, String> {
        self.cells += 1;
        let verdict = verdict(&mut self.user, row, self.cells)?;
        self.undo(row, &verdict)?;
        Ok(verdict)
    }

    fn cell_of_superuser(&mut self, row: &Row) -> Result<String, String> {
        self.cells += 1;
        let verdict = verdict(&mut self.chief, row, self.cells)?;
        self.undo(row, &verdict)?;
        Ok(verdict)
    }

    fn undo(&mut self, row: &Row, verdict: &str) -> Result<(), String> {
        let is_done = verdict.starts_with(ALLOWED);
        row.undo().filter(|_| is_done).try_for_each(|text| must(&mut self.owner, text).map(drop))
    }
}

/// Runs the statement as the row says. A refusal is its words; other errors come after the check.
fn verdict(client: &mut Client, row: &Row, cell: usize) -> Result<String, String> {
    let text = row.text.replace("{n}", &(cell % KEYS).to_string());
    let by = row.key("by").unwrap_or_default();
    let params = QueryParams::new(Consistency::One);
    let reply = if by.contains("prepared") {
        let reply = client.ask(&Request::Prepare(Prepare { text: &text, keyspace: None }))?;
        match reply.response()?.1 {
            Response::Result(ResultBody::Prepared(prepared)) if by.contains("batch") => {
                batch(client, BatchQuery::Prepared(&prepared.id))?
            }
            Response::Result(ResultBody::Prepared(prepared)) => {
                let result_metadata_id = prepared.result_metadata_id.as_deref();
                client.ask(&Request::Execute(Execute { id: &prepared.id, result_metadata_id, params }))?
            }
            _ => reply,
        }
    } else if by.contains("batch") {
        batch(client, BatchQuery::Text(&text))?
    } else {
        client.ask(&Request::Query(Query { text: &text, params }))?
    };
    match reply.response()?.1 {
        Response::Error(error) if error.code() == ErrorCode::Unauthorized => Ok(error.message.trim_end().to_string()),
        Response::Result(ResultBody::Rows(rows)) if row.key("shows").is_some() => {
            let first = rows.iter().next().and_then(|mut row| row.next().flatten().map(<[u8]>::to_vec));
            let first = String::from_utf8_lossy(first.as_deref().unwrap_or_default()).into_owned();
            Ok(format!("{ALLOWED}, {} rows, the first of {first}", rows.row_count))
        }
        _ => Ok(ALLOWED.into()),
    }
}

/// A BATCH message of a statement that is allowed, and this one.
fn batch(client: &mut Client, second: BatchQuery<'_>) -> Result<Reply, String> {
    let values = [ValuesBuffer::new(), ValuesBuffer::new()];
    let mut builder = BatchBuilder::new();
    for (query, values) in [BatchQuery::Text(FIRST_OF_BATCH), second].into_iter().zip(&values) {
        builder.push(query, values.values()).map_err(|error| error.to_string())?;
    }
    client.ask(&Request::Batch(builder.batch(BatchKind::Logged, QueryParams::new(Consistency::One))))
}
