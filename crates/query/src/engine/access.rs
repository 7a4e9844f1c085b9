//! Statements about roles and permissions: checked on the shard that has the connection, hashed outside the shards, planned by the leader of the metadata
//! group, and answered when all shards have them.
//!
//! | from | event | to |
//! |---|---|---|
//! | asked | this shard's state refuses it, or it is a LIST | answered: the refusal, or the rows |
//! | asked | its password is hashed, or it has none | proposed, by shard 0 |
//! | asked | too many passwords are being hashed | answered: overloaded |
//! | proposed | the group applied it | answered, with warnings |
//! | proposed | the leader refused it: this node, whose state is as late, plans it itself | answered: the refusal, or that nothing changes |
//! | proposed | the same, and by then it can be carried out | proposed |
//! | proposed | it could not be made durable | answered: the error |

use std::time::Duration;

use auth::{AccessChange, AccessContext, AccessError, Actor, ForeignRoles, PasswordHash, RolesImport};
use cluster::coordinator::TimeoutKind;
use cql_protocol::response::insert_warnings;
use cql_protocol::{FrameHeader, write_void};
use cql_syntax::AccessStatement;

use super::Engine;
use super::ddl::{Answered, LEADER, TRIES_MAX, ask};
use crate::Session;
use crate::access::{AccessIntention, FirstSuperuser, check, datacenters, schemas, write_listed};
use crate::control::{ControlReply, ControlRequest};
use crate::error::QueryError;

/// Between two attempts to make the first superuser.
const AGAIN: Duration = Duration::from_secs(1);

/// Carries out a statement of a session, and appends its answer.
pub(super) async fn run_access(
    engine: &Engine,
    session: &Session,
    (header, statement): (&FrameHeader, &AccessStatement),
    keyspace: Option<&str>,
    out: &mut Vec<u8>,
) -> Result<(), QueryError> {
    let rules = engine.inner.authorizer.rules();
    if statement.is_list() {
        let (access, catalog) = (engine.access(), engine.catalog());
        let listed = auth::list(&access.subject(session.actor()), schemas(&catalog), statement, keyspace, rules)?;
        write_listed(&listed, header, out);
        return Ok(());
    }
    check_access(engine, session, statement, keyspace)?;
    let mut statement = statement.clone();
    let mut warnings = auth::networks::leave_out_unenforced(&mut statement, rules);
    if let Some(password) = auth::plain_password(&statement) {
        let hash = hash(engine, password.to_owned(), session).await?;
        auth::set_hash(&mut statement, &hash);
    }
    let settings = engine.access().settings();
    let intention = AccessIntention::new(&statement, (session.actor(), settings), keyspace);
    warnings.extend(propose(engine, intention).await?);
    let start = out.len();
    write_void(out, header.version, header.stream);
    insert_warnings(out, start, &warnings);
    Ok(())
}

/// Changes that are not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessChangesError {
    /// They are refused, all of them, in words for who asked.
    #[error("{0}")]
    Refused(String),
    /// They may or may not have been made: no leader, or no answer of it.
    #[error("{0}")]
    Failed(String),
}

impl From<QueryError> for AccessChangesError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Server { message } => AccessChangesError::Failed(message),
            other => AccessChangesError::Refused(other.to_string()),
        }
    }
}

/// Changes roles, permissions and networks as an actor asks for, all or none, and gives warnings. Answered when all shards of the nodes that are up have the
/// changes; those that the state has already are no changes.
///
/// # Errors
/// The actor is no superuser and not the owner of the process, or a change has no place on the state ([`auth::plan_changes`]), or there are more than
/// [`auth::bounds::CHANGES_BYTES_MAX`] of them, or no leader answers.
///
/// # Panics
/// If resources of a grant do not ascend.
pub async fn propose_access_changes(
    engine: &Engine,
    actor: Actor<'_>,
    changes: Vec<AccessChange>,
) -> Result<Vec<String>, AccessChangesError> {
    let settings = engine.access().settings();
    Ok(propose(engine, AccessIntention::of_changes(changes, (actor, settings))?).await?)
}

/// Plans an import of another cluster's roles on this shard's state. [`propose_access_changes`] makes its changes.
///
/// # Errors
/// The actor is no superuser and not the owner of the process.
pub fn plan_roles_import(
    engine: &Engine,
    actor: Actor<'_>,
    (foreign, replaces): (&ForeignRoles, bool),
) -> Result<RolesImport, AccessError> {
    let (access, catalog) = (engine.access(), engine.catalog());
    let datacenters = datacenters(&engine.inner.coordinator.ring());
    let context = AccessContext { current_keyspace: None, datacenters: &datacenters, settings: access.settings() };
    auth::plan_import(access.state(), schemas(&catalog), (foreign, replaces), actor, &context)
}

/// Has shard 0 carry out an intention.
async fn propose(engine: &Engine, intention: AccessIntention) -> Result<Vec<String>, QueryError> {
    match engine.control().call(LEADER, ControlRequest::Access { intention }).await {
        Ok(ControlReply::Access(outcome)) => outcome,
        Ok(reply) => panic!("shard 0 answers a statement about roles with its outcome, not with {reply:?}"),
        Err(gone) => Err(QueryError::Server { message: gone.to_string() }),
    }
}

/// Refuses a statement that the session may not send or that makes no sense. A password costs no hash before.
pub(super) fn check_access(
    engine: &Engine,
    session: &Session,
    statement: &AccessStatement,
    keyspace: Option<&str>,
) -> Result<(), QueryError> {
    let (access, catalog, ring) = (engine.access(), engine.catalog(), engine.inner.coordinator.ring());
    let rules = engine.inner.authorizer.rules();
    check(statement, (&access, session.actor()), (&catalog, &ring), (keyspace, rules))
}

async fn hash(engine: &Engine, password: String, session: &Session) -> Result<PasswordHash, QueryError> {
    let hasher = engine.inner.password_hasher.as_ref().expect("a node where passwords are set has a hasher");
    let hashed = hasher.hash(password, session.client()).await;
    hashed.map_err(|busy| QueryError::Overloaded { message: busy.to_string() })
}

/// Carries out a statement on shard 0 of the node that was asked. Gives its warnings.
pub(super) async fn lead_access(engine: &Engine, intention: &AccessIntention) -> Result<Vec<String>, QueryError> {
    let _turn = engine.proposer().turn().await;
    let plan = || {
        let (access, catalog) = (engine.access(), engine.catalog());
        intention.plan(access.state(), schemas(&catalog), &datacenters(&engine.inner.coordinator.ring()))
    };
    for _ in 0..TRIES_MAX {
        let planned = plan();
        match ask(engine, intention.to_bytes(), TimeoutKind::Other).await {
            Answered::Applied { .. } => return Ok(planned.unwrap_or_default().warnings),
            Answered::Refused => {
                // The state is as late as the refusal now. Where it can be carried out after all, others have changed it since.
                let plan = plan()?;
                if plan.changes.is_empty() {
                    return Ok(plan.warnings);
                }
            }
            Answered::Again => {}
            Answered::Failed(message) => return Err(QueryError::Server { message }),
        }
    }
    Err(QueryError::Server { message: "roles changed too often meanwhile; try again".to_owned() })
}

/// Makes the first superuser of the cluster, unless one was ever made; on shard 0. Tries until the cluster has a leader that answers. True if it was made by
/// a proposal of this node: its password is the one that counts.
pub async fn propose_first_superuser(engine: &Engine, name: &str, hash: &PasswordHash) -> bool {
    let intention = FirstSuperuser { name: name.to_owned(), hash: hash.clone() }.to_bytes();
    while !engine.access().state().is_bootstrap_done() {
        let turn = engine.proposer().turn().await;
        let answer = ask(engine, intention.clone(), TimeoutKind::Other).await;
        drop(turn);
        match answer {
            Answered::Applied { .. } => return true,
            // Another node's attempt was first, and its entry is applied here; or the leader is of a release that knows no roles.
            Answered::Refused if engine.access().state().is_bootstrap_done() => break,
            Answered::Refused | Answered::Again => {}
            Answered::Failed(reason) => tracing::warn!(reason, "cannot make the first superuser; retrying"),
        }
        engine.inner.runtime.sleep(AGAIN).await;
    }
    // An attempt of this node without an answer may have made it.
    let access = engine.access();
    let made = access.state().role(name).and_then(|role| role.attributes().hash.as_ref());
    made == Some(hash)
}
