//! A run of the matrix on one server, or on the nodes of a cluster: each statement in each cell, and the verdicts.
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
use crate::oracle::{Client, Reply, SUPERUSER, Session, must};

/// A verdict that is no refusal.
const ALLOWED: &str = "allowed";
/// The statement that a batch begins with, which is allowed.
const FIRST_OF_BATCH: &str = "INSERT INTO ks.open (k) VALUES (1)";
/// Numbers of keys: enough that each shard has some.
const KEYS: usize = 16;

/// The connections of a run, and where the next statement goes.
struct Run {
    nodes: Vec<Node>,
    /// The node that grants, revokes and undoes.
    granting: usize,
    /// Cells so far.
    cells: usize,
}

/// The connections to one node.
struct Node {
    /// Grants, and undoes.
    owner: Client,
    user: Client,
    chief: Client,
}

/// The outcome of a run.
pub struct Outcome {
    /// The verdicts of each row.
    pub verdicts: Vec<Verdicts>,
    /// Times that a statement was tried right after the REVOKE of the grant that had changed its verdict.
    pub after_revoke: usize,
    /// Those of them in which the grant still counted.
    pub not_revoked: Vec<String>,
}

impl Outcome {
    /// The number of cells that were tried.
    pub fn cells(&self) -> usize {
        self.verdicts.iter().map(|verdicts| verdicts.cells).sum()
    }
}

/// Runs the rows on servers that are one node or one cluster. Features that they lack are left out, with the rows that need them: those have no verdicts.
///
/// Of several nodes each grants in turn, and the others run the statement as soon as GRANT or REVOKE is answered.
pub fn run(addresses: &[String], matrix: &Matrix, rows: &[&Row], lacks: &[&str]) -> Result<Outcome, String> {
    let [first, ..] = addresses else { return Err("there is no server".into()) };
    let mut owner = Session::guarded(first).begun()?;
    for text in ROLES {
        must(&mut owner, text)?;
    }
    for (_, text) in matrix.setup.iter().filter(|(feature, _)| !feature.as_deref().is_some_and(|f| lacks.contains(&f)))
    {
        must(&mut owner, text)?;
    }
    let nodes = addresses.iter().map(|address| Node::connect(address)).collect::<Result<_, _>>()?;
    let mut run = Run { nodes, granting: 0, cells: 0 };
    let verdicts = rows.iter().map(|_| Verdicts::default()).collect();
    let mut outcome = Outcome { verdicts, after_revoke: 0, not_revoked: Vec::new() };
    let mut by_held: BTreeMap<Vec<Grant>, Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        by_held.entry(row.held()).or_default().push(at);
    }
    for (held, group) in by_held {
        run.change_grants("GRANT", "TO", USER, &held)?;
        for &at in &group {
            let verdicts = &mut outcome.verdicts[at];
            verdicts.none = run.cell(rows[at])?;
            verdicts.superuser = run.cell_of_superuser(rows[at])?;
            verdicts.cells = 2;
        }
        run.try_group(rows, &held, &group, &mut outcome)?;
        run.change_grants("REVOKE", "FROM", USER, &held)?;
    }
    Ok(outcome)
}

impl Node {
    fn connect(address: &str) -> Result<Node, String> {
        let log_in = |name: &str| {
            let client = Client::log_in(address, Version::V5, name, name)?;
            client.map_err(|_| format!("{name} cannot log in at {address}"))
        };
        Ok(Node { owner: log_in(SUPERUSER)?, user: log_in(USER)?, chief: log_in(CHIEF)? })
    }
}

impl Run {
    /// Tries the rows of a group with each grant in each way.
    fn try_group(
        &mut self,
        rows: &[&Row],
        held: &[Grant],
        group: &[usize],
        outcome: &mut Outcome,
    ) -> Result<(), String> {
        let mut by_grant: BTreeMap<Grant, Vec<usize>> = BTreeMap::new();
        for &at in group {
            for grant in cells::grants(&rows[at].resources()) {
                by_grant.entry(grant).or_default().push(at);
            }
        }
        for (way, (name, role)) in WAYS.iter().enumerate() {
            for (grant, rows_of_grant) in &mut by_grant {
                // Another row is the first after GRANT each time.
                let first = self.cells % rows_of_grant.len();
                rows_of_grant.rotate_left(first);
                // What is held already is neither granted nor revoked.
                let is_held = *role == USER && held.contains(grant);
                let own = if is_held { &[][..] } else { std::slice::from_ref(grant) };
                self.granting = (self.granting + 1) % self.nodes.len();
                self.change_grants("GRANT", "TO", role, own)?;
                let mut changed = Vec::new();
                for &at in &*rows_of_grant {
                    let verdict = self.cell(rows[at])?;
                    let verdicts = &mut outcome.verdicts[at];
                    verdicts.cells += 1;
                    if verdict != verdicts.none {
                        verdicts.others.insert((way, grant.clone()), verdict);
                        changed.push(at);
                    }
                }
                self.change_grants("REVOKE", "FROM", role, own)?;
                for at in changed.into_iter().filter(|_| !own.is_empty()) {
                    outcome.after_revoke += 1;
                    let (verdict, none) = (self.cell(rows[at])?, &outcome.verdicts[at].none);
                    if verdict != *none {
                        let (row, (permission, level)) = (&rows[at].name, grant);
                        let message =
                            format!("{row}: {name} {permission} {level}: expected `{none}`, given `{verdict}`");
                        outcome.not_revoked.push(message);
                    }
                }
            }
        }
        Ok(())
    }

    fn change_grants(&mut self, verb: &str, preposition: &str, role: &str, grants: &[Grant]) -> Result<(), String> {
        for (permission, level) in grants {
            let text = format!("{verb} {permission} ON {} {preposition} {role}", cells::in_cql(level));
            must(&mut self.nodes[self.granting].owner, &text)?;
        }
        Ok(())
    }

    /// The node that runs the next statement: each of those that do not grant, in turn.
    fn next(&mut self) -> usize {
        self.cells += 1;
        match self.nodes.len() {
            1 => 0,
            count => (self.granting + 1 + self.cells % (count - 1)) % count,
        }
    }

    /// The verdict on the user's statement. What was allowed is undone.
    fn cell(&mut self, row: &Row) -> Result<String, String> {
        let node = self.next();
        let verdict = verdict(&mut self.nodes[node].user, row, self.cells)?;
        self.undo(row, &verdict)?;
        Ok(verdict)
    }

    fn cell_of_superuser(&mut self, row: &Row) -> Result<String, String> {
        let node = self.next();
        let verdict = verdict(&mut self.nodes[node].chief, row, self.cells)?;
        self.undo(row, &verdict)?;
        Ok(verdict)
    }

    fn undo(&mut self, row: &Row, verdict: &str) -> Result<(), String> {
        let is_done = verdict.starts_with(ALLOWED);
        let owner = &mut self.nodes[self.granting].owner;
        row.undo().filter(|_| is_done).try_for_each(|text| must(owner, text).map(drop))
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
