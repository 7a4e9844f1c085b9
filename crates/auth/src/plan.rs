//! From a statement about roles and permissions to changes: pure, so that any node plans alike, with the checks and words of Cassandra 5.0.6.
//!
//! Order, as there: what its parser refuses; what the actor may not do; what makes no sense with this state; the changes.

mod changes;
mod cidr_groups;
mod identity;
mod membership;
mod objects;
mod permission;
mod role;

use std::collections::BTreeSet;

use cql_syntax::{AccessStatement, RoleOptions};

use crate::bounds;
use crate::change::AccessChange;
use crate::check::{Actor, Settings, Subject};
use crate::error::{AccessError, invalid};
use crate::snapshot::Access;
use crate::statement::{Schemas, plain_password};

pub use changes::plan_changes;
pub(crate) use changes::{Judge, ensure_may_list};
pub use cidr_groups::{drop_cidr_group, put_cidr_group};
pub(crate) use objects::exists;
pub use objects::{created, dropped, made_with_keyspace};

/// The facts that planning needs besides state, schema and actor.
#[derive(Debug, Clone, Copy)]
pub struct AccessContext<'a> {
    /// The session's keyspace, for tables without one.
    pub current_keyspace: Option<&'a str>,
    /// The datacenters of the cluster: ACCESS TO DATACENTERS names no others.
    pub datacenters: &'a BTreeSet<String>,
    /// The settings of the node.
    pub settings: Settings,
}

/// A planned statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessPlan {
    /// To be applied together; empty if the statement changes nothing (IF NOT EXISTS).
    pub changes: Vec<AccessChange>,
    /// Warnings for the client.
    pub warnings: Vec<String>,
}

/// Checks `statement` against the state and makes its changes.
///
/// # Panics
/// If it has a plain password: no change contains one, so it is hashed before. Or if it is a LIST, which [`crate::list`] answers.
pub fn plan_access(
    access: &Access,
    schemas: Schemas<'_>,
    statement: &AccessStatement,
    actor: Actor<'_>,
    context: &AccessContext<'_>,
) -> Result<AccessPlan, AccessError> {
    assert!(plain_password(statement).is_none(), "a password is hashed before it is planned");
    Planner::new(access, schemas, actor, context).plan(statement)
}

/// The refusals of [`plan_access`] alone, also for a plain password: a password is hashed only for a statement that is not refused.
pub fn check_access(
    access: &Access,
    schemas: Schemas<'_>,
    statement: &AccessStatement,
    actor: Actor<'_>,
    context: &AccessContext<'_>,
) -> Result<(), AccessError> {
    Planner::new(access, schemas, actor, context).plan(statement).map(drop)
}

struct Planner<'a> {
    access: &'a Access,
    schemas: Schemas<'a>,
    subject: Subject<'a>,
    context: &'a AccessContext<'a>,
}

impl<'a> Planner<'a> {
    fn new(access: &'a Access, schemas: Schemas<'a>, actor: Actor<'a>, context: &'a AccessContext<'a>) -> Planner<'a> {
        Planner { access, schemas, subject: Subject::new(access, actor, context.settings), context }
    }

    fn plan(&self, statement: &AccessStatement) -> Result<AccessPlan, AccessError> {
        let mut plan = match statement {
            AccessStatement::CreateRole { role, if_not_exists, options } => self.create(role, *if_not_exists, options),
            AccessStatement::AlterRole { role, if_exists, options } => self.alter(role, *if_exists, options),
            AccessStatement::CreateUser { user, if_not_exists, password, superuser } => {
                // A role that may log in.
                let (superuser, login) = (Some(superuser.unwrap_or(false)), Some(true));
                let options = RoleOptions { superuser, login, password: password.clone(), ..RoleOptions::default() };
                self.create(user, *if_not_exists, &options)
            }
            AccessStatement::AlterUser { user, if_exists, password, superuser } => {
                let options =
                    RoleOptions { superuser: *superuser, password: password.clone(), ..RoleOptions::default() };
                self.alter(user, *if_exists, &options)
            }
            AccessStatement::DropRole { role, if_exists } | AccessStatement::DropUser { user: role, if_exists } => {
                self.drop(role, *if_exists)
            }
            AccessStatement::GrantRole { role, grantee } => self.grant_role(role, grantee),
            AccessStatement::RevokeRole { role, revokee } => self.revoke_role(role, revokee),
            AccessStatement::Grant { permissions, on, grantee } => self.grant(permissions.into(), on, grantee),
            AccessStatement::Revoke { permissions, on, revokee } => self.revoke(permissions.into(), on, revokee),
            AccessStatement::AddIdentity { identity, role, if_not_exists } => {
                identity::add(self, identity, role, *if_not_exists)
            }
            AccessStatement::DropIdentity { identity, if_exists } => identity::drop(self, identity, *if_exists),
            AccessStatement::ListRoles { .. }
            | AccessStatement::ListUsers
            | AccessStatement::ListPermissions { .. } => panic!("{} changes nothing", statement.kind()),
        }?;
        let is_smaller = plan.changes.iter().all(AccessChange::gives_room_back);
        if !is_smaller && self.access.bytes() > bounds::STATE_BYTES_MAX {
            return Err(too_large());
        }
        end_bootstrap(self.access, &mut plan.changes);
        Ok(plan)
    }

    /// Refuses a role that does not exist.
    fn ensure_exists(&self, role: &str) -> Result<(), AccessError> {
        match self.access.role(role) {
            Some(_) => Ok(()),
            None => Err(invalid(format!("{role} doesn't exist"))),
        }
    }
}

impl AccessPlan {
    fn of(changes: Vec<AccessChange>) -> AccessPlan {
        AccessPlan { changes, warnings: Vec::new() }
    }

    fn none() -> AccessPlan {
        AccessPlan::default()
    }
}

/// Adds that no start makes a superuser, where these changes make the first one that may log in.
fn end_bootstrap(access: &Access, changes: &mut Vec<AccessChange>) {
    let is_first = |change: &AccessChange| match change {
        AccessChange::PutRole(_, attributes) => attributes.is_superuser && attributes.may_log_in,
        _ => false,
    };
    if !access.is_bootstrap_done() && changes.iter().any(is_first) {
        changes.push(AccessChange::BootstrapDone);
    }
}

fn too_large() -> AccessError {
    invalid("roles, permissions and networks of this cluster are as large as they may become")
}

/// Refuses a name that is longer than the state keeps.
fn ensure_length(what: &str, name: &str, bytes_max: usize) -> Result<(), AccessError> {
    match name.len() <= bytes_max {
        true => Ok(()),
        false => Err(invalid(format!("{what} may have {bytes_max} bytes at most"))),
    }
}

#[cfg(test)]
mod tests;
