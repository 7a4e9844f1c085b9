//! Roles and permissions between the syntax tree, the shard's state and `auth`, which judges and plans.

mod grants;
mod hasher;
mod intention;
mod listed;
mod snapshot;

use std::collections::BTreeSet;

use auth::networks::{NetworkRules, ensure_enforced};
use auth::{AccessContext, Actor, Schemas};
use cql_syntax::AccessStatement;
use topology::Ring;

use crate::catalog::Catalog;
use crate::error::QueryError;

pub(crate) use grants::grants_beside;
pub use hasher::{HasherIsBusy, Hashing, PasswordHasher};
pub(crate) use intention::{ACCESS, AccessIntention, FirstSuperuser, plan_bytes};
pub(crate) use listed::write_listed;
pub use snapshot::AccessSnapshot;

/// The objects that statements may name.
pub(crate) fn schemas(catalog: &Catalog) -> Schemas<'_> {
    Schemas { users: &catalog.schema, system: catalog.system.schema() }
}

/// The datacenters of a ring.
pub(crate) fn datacenters(ring: &Ring) -> BTreeSet<String> {
    ring.nodes().iter().map(|node| node.datacenter.clone()).collect()
}

/// Refuses a statement that the actor may not send or that makes no sense on this state. Its password may be plain: this comes before it is hashed.
pub(crate) fn check(
    statement: &AccessStatement,
    (snapshot, actor): (&AccessSnapshot, Actor<'_>),
    (catalog, ring): (&Catalog, &Ring),
    (keyspace, rules): (Option<&str>, NetworkRules),
) -> Result<(), QueryError> {
    if statement.is_list() {
        return Ok(auth::list(&snapshot.subject(actor), schemas(catalog), statement, keyspace, rules).map(drop)?);
    }
    let datacenters = datacenters(ring);
    let context =
        AccessContext { current_keyspace: keyspace, datacenters: &datacenters, settings: snapshot.settings() };
    auth::check_access(snapshot.state(), schemas(catalog), statement, actor, &context)?;
    Ok(ensure_enforced(statement, rules)?)
}
