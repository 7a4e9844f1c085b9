//! Statements about roles and permissions: refusals in Cassandra's words and order, changes, warnings.

mod changes;
mod permissions;
mod roles;

use cql_syntax::{AccessResource, PermissionName, Permissions, Restriction, RolePassword, TableName};

use super::*;
use crate::error::unauthorized;
use crate::permission::{Permission, PermissionSet};
use crate::resource::Resource;
use crate::samples::{grant, login, member, schemas, superuser};

const STRICT: Settings = Settings { authenticates: true, has_passwords: true, authorizes: true };
const OPEN: Settings = Settings { authenticates: false, has_passwords: false, authorizes: false };

const ROOT: Actor<'_> = Actor::Role("root");
const USER: Actor<'_> = Actor::Role("user");

/// `root` is a superuser, `deputy` one through it; `user` and `other` may log in; `group` may not.
fn base() -> Access {
    let group = AccessChange::PutRole("group".into(), crate::Attributes::default());
    let changes = [superuser("root"), login("deputy"), login("user"), login("other"), group, member("root", "deputy")];
    Access::default().with_all(&changes).with(&AccessChange::BootstrapDone)
}

fn with(changes: &[AccessChange]) -> Access {
    base().with_all(changes)
}

fn run(access: &Access, actor: Actor<'_>, statement: AccessStatement) -> Result<AccessPlan, AccessError> {
    run_with(access, actor, statement, STRICT)
}

fn run_with(
    access: &Access,
    actor: Actor<'_>,
    statement: AccessStatement,
    settings: Settings,
) -> Result<AccessPlan, AccessError> {
    let datacenters = ["dc1", "dc2"].map(str::to_owned).into();
    let context = AccessContext { current_keyspace: Some("ks"), datacenters: &datacenters, settings };
    let planned = plan_access(access, schemas(), &statement, actor, &context);
    let checked = check_access(access, schemas(), &statement, actor, &context);
    assert_eq!(planned.as_ref().err(), checked.as_ref().err(), "both refuse alike");
    if let Ok(plan) = &planned {
        let after = access.with_all(&plan.changes);
        assert!(plan.changes.is_empty() || after != *access, "a planned change changes something: {:?}", plan.changes);
    }
    planned
}

fn changes(access: &Access, actor: Actor<'_>, statement: AccessStatement) -> Vec<AccessChange> {
    run(access, actor, statement).expect("it is planned").changes
}

fn refusal(access: &Access, actor: Actor<'_>, statement: AccessStatement) -> AccessError {
    run(access, actor, statement).expect_err("it is refused")
}

/// A restriction to these.
fn only(names: &[&str]) -> Option<Restriction> {
    Some(Restriction::Only(names.iter().map(|name| (*name).to_owned()).collect()))
}

/// Permissions as a statement lists them.
fn written(set: PermissionSet) -> Permissions {
    let name = |name: &str| PermissionName::ALL.into_iter().find(|named| named.as_str() == name);
    Permissions::Listed(set.iter().map(|permission| name(permission.name()).expect("it has a name")).collect())
}

/// A resource as a statement names it.
fn named(resource: Resource) -> AccessResource {
    match resource {
        Resource::AllKeyspaces => AccessResource::AllKeyspaces,
        Resource::Keyspace(keyspace) => AccessResource::Keyspace(keyspace),
        Resource::AllTables(keyspace) => AccessResource::AllTables(keyspace),
        Resource::Table(keyspace, table) => AccessResource::Table(TableName { keyspace: Some(keyspace), table }),
        Resource::AllRoles => AccessResource::AllRoles,
        Resource::Role(role) => AccessResource::Role(role),
        Resource::AllFunctions => AccessResource::AllFunctions,
        Resource::KeyspaceFunctions(keyspace) => AccessResource::KeyspaceFunctions(keyspace),
        Resource::Function { keyspace, name, .. } => AccessResource::Function { keyspace, name, arguments: Vec::new() },
        Resource::AllMBeans => AccessResource::AllMBeans,
        Resource::MBean(name) => AccessResource::MBean(name),
    }
}

fn create(role: &str, options: RoleOptions) -> AccessStatement {
    AccessStatement::CreateRole { role: role.into(), if_not_exists: false, options }
}

fn alter(role: &str, options: RoleOptions) -> AccessStatement {
    AccessStatement::AlterRole { role: role.into(), if_exists: false, options }
}

fn drop_role(role: &str) -> AccessStatement {
    AccessStatement::DropRole { role: role.into(), if_exists: false }
}

fn super_option(superuser: bool) -> RoleOptions {
    RoleOptions { superuser: Some(superuser), ..RoleOptions::default() }
}

fn password(password: RolePassword) -> RoleOptions {
    RoleOptions { password: Some(password), ..RoleOptions::default() }
}

fn hashed() -> RoleOptions {
    password(RolePassword::Hashed(crate::PasswordHash::dummy().as_str().to_owned()))
}

fn no_privilege(name: &str) -> AccessError {
    AccessError::Unauthorized(format!(
        "User {name} does not have sufficient privileges to perform the requested operation"
    ))
}
