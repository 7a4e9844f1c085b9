//! ADD and DROP IDENTITY.
//!
//! Not as in Cassandra, where 5.0.6 needs CREATE on one's own role alone, and so lets a role become any other (CVE-2026-27314).

use super::{AccessPlan, Planner, ensure_length};
use crate::bounds;
use crate::change::AccessChange;
use crate::error::{AccessError, invalid, unauthorized};
use crate::permission::Permission;
use crate::resource::Resource;

pub(super) fn add(
    planner: &Planner<'_>,
    identity: &str,
    role: &str,
    if_not_exists: bool,
) -> Result<AccessPlan, AccessError> {
    authorize(planner, Permission::Create, Some(role))?;
    planner.subject.ensure_logged_in()?;
    if planner.access.role(role).is_none() {
        return Err(invalid(format!("Can not add identity for non-existent role '{role}'")));
    }
    ensure_key(identity)?;
    match planner.access.role_of_identity(identity) {
        Some(_) if if_not_exists => return Ok(AccessPlan::none()),
        Some(_) => return Err(invalid(format!("{identity} already exists"))),
        None => {}
    }
    ensure_length("an identity", identity, bounds::IDENTITY_BYTES_MAX)?;
    if planner.access.identities().len() >= bounds::IDENTITIES_MAX {
        return Err(invalid(format!("a cluster may have {} identities at most", bounds::IDENTITIES_MAX)));
    }
    let change = AccessChange::PutIdentity { identity: identity.to_owned(), role: role.to_owned() };
    Ok(AccessPlan::of(vec![change]))
}

pub(super) fn drop(planner: &Planner<'_>, identity: &str, if_exists: bool) -> Result<AccessPlan, AccessError> {
    let role = planner.access.role_of_identity(identity);
    authorize(planner, Permission::Drop, role)?;
    planner.subject.ensure_logged_in()?;
    ensure_key(identity)?;
    match role {
        Some(_) => Ok(AccessPlan::of(vec![AccessChange::DropIdentity(identity.to_owned())])),
        None if if_exists => Ok(AccessPlan::none()),
        None => Err(invalid(format!("identity '{identity}' doesn't exist"))),
    }
}

/// Refuses what Cassandra's table of identities cannot be asked for, in its words.
fn ensure_key(identity: &str) -> Result<(), AccessError> {
    if identity.is_empty() { Err(invalid("Key may not be empty")) } else { Ok(()) }
}

/// The permission on all roles, and AUTHORIZE on the role that the identity logs in as. For a superuser only a superuser.
fn authorize(planner: &Planner<'_>, permission: Permission, role: Option<&str>) -> Result<(), AccessError> {
    planner.subject.ensure_privilege(permission, &Resource::AllRoles)?;
    let Some(role) = role else { return Ok(()) };
    planner.subject.ensure_privilege(Permission::Authorize, &Resource::Role(role.to_owned()))?;
    match planner.access.is_superuser(role) && !planner.subject.is_superuser() {
        true => Err(unauthorized("Only superusers can change identities of a role with superuser status")),
        false => Ok(()),
    }
}
