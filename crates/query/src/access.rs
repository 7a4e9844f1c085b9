//! Statements about roles and permissions: from the syntax tree to `auth`, which checks them.
//!
//! No authenticator asks clients for a name yet: each client is anonymous, and all of these statements are refused, as Cassandra refuses them with
//! `AllowAllAuthenticator`.

mod snapshot;

use std::collections::{BTreeMap, BTreeSet};

use auth::{
    Access, AccessContext, AccessStatement, Actor, Password, Permission, PermissionSet, Resource, Settings, Subject,
    Target,
};
use cql_syntax::{AccessResource, AccessStatement as Written, Permissions, Restriction, RoleOptions, RolePassword};
use schema::SchemaError;
use topology::Ring;

pub use snapshot::AccessSnapshot;

use crate::catalog::{Catalog, no_keyspace};
use crate::error::{QueryError, invalid};

/// The settings of `AllowAllAuthenticator` and `AllowAllAuthorizer`.
const SETTINGS: Settings = Settings { authenticates: false, has_passwords: false, authorizes: false };

/// A statement in the terms of `auth`.
#[derive(Debug, PartialEq, Eq)]
enum AccessRequest {
    /// Changes the state.
    Change(AccessStatement),
    /// LIST ROLES.
    ListRoles { of: Option<String>, is_recursive: bool },
    /// LIST USERS.
    ListUsers,
    /// LIST permissions.
    ListPermissions { permissions: PermissionSet, on: Option<Target>, of: Option<String>, is_recursive: bool },
}

/// The reason why the statement of an anonymous client is not executed.
pub(crate) fn refusal(catalog: &Catalog, ring: &Ring, statement: &Written, keyspace: Option<&str>) -> QueryError {
    let datacenters = ring.nodes().iter().map(|node| node.datacenter.clone()).collect();
    let context = AccessContext { current_keyspace: keyspace, datacenters: &datacenters, settings: SETTINGS };
    let checked = request(statement, catalog).and_then(|request| check(&request, catalog, &context));
    checked.err().unwrap_or_else(|| invalid(format!("{} is not supported yet", statement.kind())))
}

fn check(request: &AccessRequest, catalog: &Catalog, context: &AccessContext<'_>) -> Result<(), QueryError> {
    let (access, actor, schema) = (Access::default(), Actor::Anonymous, &catalog.schema);
    let subject = Subject::new(&access, actor, context.settings);
    match request {
        AccessRequest::Change(statement) => auth::check_access(&access, schema, statement, actor, context)?,
        AccessRequest::ListRoles { of, is_recursive } => {
            auth::list_roles(&subject, of.as_deref(), *is_recursive)?;
        }
        AccessRequest::ListUsers => {
            auth::list_users(&subject)?;
        }
        AccessRequest::ListPermissions { permissions, on, of, is_recursive } => {
            let on = on.as_ref().map(|target| in_keyspace(target, context.current_keyspace)).transpose()?;
            let of = of.as_deref();
            auth::list_permissions(&subject, schema, *permissions, on.as_ref(), of, *is_recursive)?;
        }
    }
    Ok(())
}

/// The resource of a target, whose keyspace may be the session's.
fn in_keyspace(target: &Target, current: Option<&str>) -> Result<Resource, QueryError> {
    match target {
        Target::Resource(resource) => Ok(resource.clone()),
        Target::Table(table) => Ok(Resource::table(current.ok_or_else(no_keyspace)?, table)),
    }
}

fn request(statement: &Written, catalog: &Catalog) -> Result<AccessRequest, QueryError> {
    let statement = match statement.clone() {
        Written::CreateRole { role, if_not_exists, options } => {
            AccessStatement::CreateRole { role, if_not_exists, options: options_of(options)? }
        }
        Written::AlterRole { role, if_exists, options } => {
            AccessStatement::AlterRole { role, if_exists, options: options_of(options)? }
        }
        Written::DropRole { role, if_exists } => AccessStatement::DropRole { role, if_exists },
        Written::CreateUser { user, if_not_exists, password, superuser } => {
            let password = password.map(password_of).transpose()?;
            AccessStatement::create_user(user, if_not_exists, password, superuser.unwrap_or(false))
        }
        Written::AlterUser { user, if_exists, password, superuser } => {
            AccessStatement::alter_user(user, if_exists, password.map(password_of).transpose()?, superuser)
        }
        Written::DropUser { user, if_exists } => AccessStatement::drop_user(user, if_exists),
        Written::GrantRole { role, grantee } => AccessStatement::GrantRole { role, grantee },
        Written::RevokeRole { role, revokee } => AccessStatement::RevokeRole { role, revokee },
        Written::Grant { permissions, on, grantee } => {
            AccessStatement::Grant { permissions: permissions_of(&permissions), on: target_of(on, catalog)?, grantee }
        }
        Written::Revoke { permissions, on, revokee } => {
            AccessStatement::Revoke { permissions: permissions_of(&permissions), on: target_of(on, catalog)?, revokee }
        }
        Written::AddIdentity { identity, role, if_not_exists } => {
            AccessStatement::AddIdentity { identity, role, if_not_exists }
        }
        Written::DropIdentity { identity, if_exists } => AccessStatement::DropIdentity { identity, if_exists },
        Written::ListRoles { of, is_recursive } => return Ok(AccessRequest::ListRoles { of, is_recursive }),
        Written::ListUsers => return Ok(AccessRequest::ListUsers),
        Written::ListPermissions { permissions, on, of, is_recursive } => {
            let on = on.map(|resource| target_of(resource, catalog)).transpose()?;
            let permissions = permissions_of(&permissions);
            return Ok(AccessRequest::ListPermissions { permissions, on, of, is_recursive });
        }
    };
    Ok(AccessRequest::Change(statement))
}

fn options_of(written: RoleOptions) -> Result<auth::RoleOptions, QueryError> {
    let RoleOptions { password, superuser, login, options, datacenters, cidr_groups } = written;
    let pairs = |entries: Vec<(cql_types::Literal, cql_types::Literal)>| -> BTreeMap<String, String> {
        entries.into_iter().map(|(name, value)| (name.text.to_string(), value.text.to_string())).collect()
    };
    let names = |restriction| -> BTreeSet<String> {
        match restriction {
            Restriction::All => BTreeSet::new(),
            Restriction::Only(names) => names.into_iter().collect(),
        }
    };
    Ok(auth::RoleOptions {
        superuser,
        login,
        password: password.map(password_of).transpose()?,
        options: options.map(pairs),
        datacenters: datacenters.map(names),
        cidr_groups: cidr_groups.map(names),
    })
}

fn password_of(written: RolePassword) -> Result<Password, QueryError> {
    match written {
        RolePassword::Plain(password) => Ok(Password::Plain(password)),
        RolePassword::Hashed(hash) => Ok(Password::Given(hash)),
        RolePassword::Generated => Err(invalid("GENERATED PASSWORD is not supported yet")),
    }
}

fn permissions_of(written: &Permissions) -> PermissionSet {
    let Permissions::Listed(listed) = written else { return PermissionSet::ALL };
    let named = |name: &str| Permission::of_name(name).expect("both crates name the same permissions");
    let sets = listed.iter().map(|permission| PermissionSet::from(named(permission.as_str())));
    sets.fold(PermissionSet::NONE, PermissionSet::union)
}

fn target_of(written: AccessResource, catalog: &Catalog) -> Result<Target, QueryError> {
    Ok(Target::Resource(match written {
        AccessResource::AllKeyspaces => Resource::AllKeyspaces,
        AccessResource::Keyspace(keyspace) => Resource::Keyspace(keyspace),
        AccessResource::AllTables(keyspace) => Resource::AllTables(keyspace),
        AccessResource::Table(name) => match name.keyspace {
            Some(keyspace) => Resource::Table(keyspace, name.table),
            None => return Ok(Target::Table(name.table)),
        },
        AccessResource::AllRoles => Resource::AllRoles,
        AccessResource::Role(role) => Resource::Role(role),
        AccessResource::AllFunctions => Resource::AllFunctions,
        AccessResource::KeyspaceFunctions(keyspace) => Resource::KeyspaceFunctions(keyspace),
        AccessResource::Function { keyspace, name, arguments } => {
            // Types of arguments are looked up in the keyspace.
            if !arguments.is_empty() && !catalog.has_keyspace(&keyspace) {
                let message = format!("Keyspace {keyspace} doesn't exist");
                return Err(SchemaError::Configuration { message }.into());
            }
            Resource::function(&keyspace, &name, &arguments)
        }
        AccessResource::AllMBeans => Resource::AllMBeans,
        AccessResource::MBean(name) => Resource::MBean(name),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_have_the_same_names_in_both_crates() {
        let all = Permissions::Listed(cql_syntax::PermissionName::ALL.to_vec());
        assert_eq!(permissions_of(&all), PermissionSet::ALL);
        assert_eq!(permissions_of(&Permissions::All), PermissionSet::ALL);
        let some = [cql_syntax::PermissionName::Unmask, cql_syntax::PermissionName::Create];
        let set = PermissionSet::of(&[Permission::Unmask, Permission::Create]);
        assert_eq!(permissions_of(&Permissions::Listed(some.to_vec())), set);
    }
}
