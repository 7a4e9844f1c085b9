//! LIST ROLES, LIST USERS and LIST PERMISSIONS: the rows that an actor may see, in Cassandra's order.

use std::collections::{BTreeMap, BTreeSet};

use cql_syntax::AccessStatement;

use crate::check::{Actor, Subject};
use crate::error::{AccessError, invalid, unauthorized};
use crate::networks::NetworkRules;
use crate::permission::{Permission, PermissionSet};
use crate::plan::exists;
use crate::resource::Resource;
use crate::snapshot::Access;
use crate::statement::{Schemas, resource_of};

/// The datacenters of a role that is not restricted to any.
const ALL: &str = "ALL";

/// A row of LIST ROLES or LIST USERS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRow {
    /// The name.
    pub role: String,
    /// True if it is a superuser: of LIST ROLES itself, of LIST USERS also by a role that it inherits.
    pub is_superuser: bool,
    /// True if it may log in.
    pub may_log_in: bool,
    /// Its options.
    pub options: BTreeMap<String, String>,
    /// The datacenters that it may use: `ALL`, `n/a` if it may not log in, or their names.
    pub datacenters: String,
}

/// A row of LIST PERMISSIONS.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PermissionRow {
    /// The role that it is granted to directly; in columns `role` and `username`.
    pub role: String,
    /// The name of the resource, by which rows are ordered.
    name: String,
    /// The permission.
    pub permission: Permission,
    /// The resource, as messages name it.
    pub resource: String,
}

/// The answer to a LIST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// Of LIST ROLES.
    Roles(Vec<RoleRow>),
    /// Of LIST USERS.
    Users(Vec<RoleRow>),
    /// Of LIST PERMISSIONS.
    Permissions(Vec<PermissionRow>),
}

/// Answers a LIST for a session in this keyspace, or refuses it. Where roles are not restricted to datacenters, all of them have `ALL`, as in Cassandra.
///
/// # Panics
/// If it is another statement: [`crate::plan_access`] plans those.
pub fn list(
    subject: &Subject<'_>,
    schemas: Schemas<'_>,
    statement: &AccessStatement,
    current_keyspace: Option<&str>,
    rules: NetworkRules,
) -> Result<Listed, AccessError> {
    match statement {
        AccessStatement::ListRoles { of, is_recursive } => {
            list_roles(subject, of.as_deref(), *is_recursive).map(|rows| Listed::Roles(by_rules(rows, rules)))
        }
        AccessStatement::ListUsers => list_users(subject).map(|rows| Listed::Users(by_rules(rows, rules))),
        AccessStatement::ListPermissions { permissions, on, of, is_recursive } => {
            let on = on.as_ref().map(|on| resource_of(on, schemas, current_keyspace)).transpose()?;
            let (permissions, of) = (permissions.into(), of.as_deref());
            list_permissions(subject, schemas, permissions, on.as_ref(), of, *is_recursive).map(Listed::Permissions)
        }
        other => panic!("{} lists nothing", other.kind()),
    }
}

/// LIST ROLES, of one role or of all. Without DESCRIBE on all roles: those of the actor, and of roles that it inherits.
pub(crate) fn list_roles(
    subject: &Subject<'_>,
    of: Option<&str>,
    is_recursive: bool,
) -> Result<Vec<RoleRow>, AccessError> {
    let access = subject.access();
    let listed = listed(subject, of, is_recursive)?;
    Ok(listed.into_iter().filter_map(|role| row(access, role)).collect())
}

/// LIST USERS: those of the roles that may log in.
pub(crate) fn list_users(subject: &Subject<'_>) -> Result<Vec<RoleRow>, AccessError> {
    let access = subject.access();
    let users = list_roles(subject, None, false)?.into_iter().filter(|row| row.may_log_in);
    Ok(users.map(|row| RoleRow { is_superuser: access.is_superuser(&row.role), ..row }).collect())
}

/// LIST PERMISSIONS: which of `permissions` are granted, on a resource and those above it, to a role and those that it inherits.
pub(crate) fn list_permissions(
    subject: &Subject<'_>,
    schemas: Schemas<'_>,
    permissions: PermissionSet,
    on: Option<&Resource>,
    of: Option<&str>,
    is_recursive: bool,
) -> Result<Vec<PermissionRow>, AccessError> {
    let access = subject.access();
    subject.ensure_logged_in()?;
    if let Some(resource) = on.filter(|resource| !exists(access, schemas, resource)) {
        return Err(invalid(format!("{resource} doesn't exist")));
    }
    ensure_exists(access, of)?;
    if !subject.settings().authorizes {
        return Err(invalid("LIST PERMISSIONS operation is not supported by AllowAllAuthorizer"));
    }
    ensure_may_view(subject, of)?;
    let levels = on.map(|resource| resource.chain().take(if is_recursive { usize::MAX } else { 1 }));
    let levels: Option<BTreeSet<Resource>> = levels.map(Iterator::collect);
    let holders: BTreeSet<&str> = match of {
        Some(of) => access.roles_of(of),
        None => access.roles().map(|(name, _)| name).collect(),
    };
    let mut rows = Vec::new();
    for name in holders {
        let grants = access.role(name).into_iter().flat_map(|role| role.grants());
        for (resource, set) in grants.filter(|(held, _)| levels.as_ref().is_none_or(|levels| levels.contains(held))) {
            let listed = set.intersection(permissions).iter();
            rows.extend(listed.map(|permission| PermissionRow {
                role: name.to_owned(),
                name: resource.name(),
                permission,
                resource: resource.to_string(),
            }));
        }
    }
    rows.sort_unstable();
    Ok(rows)
}

fn listed<'a>(
    subject: &Subject<'a>,
    of: Option<&'a str>,
    is_recursive: bool,
) -> Result<BTreeSet<&'a str>, AccessError> {
    let access = subject.access();
    subject.ensure_logged_in()?;
    ensure_exists(access, of)?;
    let roles_of = |role: &'a str| match is_recursive {
        true => access.roles_of(role),
        false => access.role(role).into_iter().flat_map(|known| known.member_of()).chain([role]).collect(),
    };
    if subject.has(Permission::Describe, &Resource::AllRoles) {
        return Ok(of.map_or_else(|| access.roles().map(|(name, _)| name).collect(), roles_of));
    }
    let Actor::Role(own) = subject.actor() else { return Ok(BTreeSet::new()) };
    match of {
        None => Ok(roles_of(own)),
        Some(of) if access.roles_of(own).contains(of) => Ok(roles_of(of)),
        Some(of) => Err(unauthorized(format!("You are not authorized to view roles granted to {of} "))),
    }
}

fn ensure_exists(access: &Access, of: Option<&str>) -> Result<(), AccessError> {
    match of.filter(|of| access.role(of).is_none()) {
        Some(of) => Err(invalid(format!("{} doesn't exist", Resource::Role(of.to_owned())))),
        None => Ok(()),
    }
}

fn ensure_may_view(subject: &Subject<'_>, of: Option<&str>) -> Result<(), AccessError> {
    let is_own = match (subject.actor(), of) {
        (Actor::Role(own), Some(of)) => subject.access().roles_of(own).contains(of),
        _ => false,
    };
    let resource = of.map_or(Resource::AllRoles, |of| Resource::Role(of.to_owned()));
    match is_own || subject.has(Permission::Describe, &resource) {
        true => Ok(()),
        false => {
            let whose = of.unwrap_or("everyone");
            Err(unauthorized(format!("You are not authorized to view {whose}'s permissions")))
        }
    }
}

fn by_rules(mut rows: Vec<RoleRow>, rules: NetworkRules) -> Vec<RoleRow> {
    if !rules.checks_datacenters {
        rows.iter_mut().for_each(|row| ALL.clone_into(&mut row.datacenters));
    }
    rows
}

fn row(access: &Access, name: &str) -> Option<RoleRow> {
    let role = access.role(name)?;
    let attributes = role.attributes();
    let datacenters = match role.datacenters() {
        _ if !attributes.may_log_in => "n/a".to_owned(),
        names if names.is_empty() || access.is_superuser(name) => ALL.to_owned(),
        names => names.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    };
    Some(RoleRow {
        role: name.to_owned(),
        is_superuser: attributes.is_superuser,
        may_log_in: attributes.may_log_in,
        options: attributes.options.clone(),
        datacenters,
    })
}

#[cfg(test)]
mod tests;
