//! The terms of statements about roles and permissions, as the syntax tree has them, in the terms of this crate.
//!
//! The parser refuses what Cassandra's does: "Multiple definition for property '%s'", "Options 'password' and 'hashed password' are mutually
//! exclusive", "Bind variables cannot be used for role names", quoted strings as names of users and identities' missing quotes.

use std::collections::BTreeSet;

use cql_syntax::{AccessResource, AccessStatement, Permissions, Restriction, RolePassword};
use schema::{Schema, Table};

use crate::error::{AccessError, invalid};
use crate::hash::PasswordHash;
use crate::permission::{Permission, PermissionSet};
use crate::resource::Resource;

/// The objects that statements may name.
#[derive(Debug, Clone, Copy)]
pub struct Schemas<'a> {
    /// The users' keyspaces.
    pub users: &'a Schema,
    /// The server's own.
    pub system: &'a Schema,
}

impl<'a> Schemas<'a> {
    /// True if there is such a keyspace.
    pub(crate) fn has_keyspace(self, name: &str) -> bool {
        [self.users, self.system].iter().any(|schema| schema.keyspace(name).is_some())
    }

    /// The table of that name.
    pub(crate) fn table(self, keyspace: &str, name: &str) -> Option<&'a Table> {
        [self.users, self.system].into_iter().find_map(|schema| schema.table(keyspace, name)).map(|table| &**table)
    }
}

/// The password of a statement that is to be hashed before the statement is proposed.
pub fn plain_password(statement: &AccessStatement) -> Option<&str> {
    match statement.password() {
        Some(RolePassword::Plain(password)) => Some(password),
        _ => None,
    }
}

/// Replaces the plain password of a statement by its hash: HASHED PASSWORD needs what PASSWORD does.
pub fn set_hash(statement: &mut AccessStatement, hash: &PasswordHash) {
    if let Some(password @ RolePassword::Plain(_)) = statement.password_mut() {
        *password = RolePassword::Hashed(hash.as_str().to_owned());
    }
}

/// The names of a restriction; none for ALL.
pub(crate) fn names(restriction: &Restriction) -> BTreeSet<String> {
    match restriction {
        Restriction::All => BTreeSet::new(),
        Restriction::Only(names) => names.iter().cloned().collect(),
    }
}

impl From<&Permissions> for PermissionSet {
    fn from(written: &Permissions) -> PermissionSet {
        let Permissions::Listed(listed) = written else { return PermissionSet::ALL };
        let named = |name: &str| Permission::of_name(name).expect("both crates name the same permissions");
        let sets = listed.iter().map(|permission| PermissionSet::from(named(permission.as_str())));
        sets.fold(PermissionSet::NONE, PermissionSet::union)
    }
}

/// The resource of a statement. A table may be in the session's keyspace.
pub(crate) fn resource_of(
    written: &AccessResource,
    schemas: Schemas<'_>,
    current_keyspace: Option<&str>,
) -> Result<Resource, AccessError> {
    Ok(match written {
        AccessResource::AllKeyspaces => Resource::AllKeyspaces,
        AccessResource::Keyspace(keyspace) => Resource::Keyspace(keyspace.clone()),
        AccessResource::AllTables(keyspace) => Resource::AllTables(keyspace.clone()),
        AccessResource::Table(name) => {
            let words = "No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename";
            let keyspace = name.keyspace.as_deref().or(current_keyspace).ok_or_else(|| invalid(words))?;
            Resource::table(keyspace, &name.table)
        }
        AccessResource::AllRoles => Resource::AllRoles,
        AccessResource::Role(role) => Resource::Role(role.clone()),
        AccessResource::AllFunctions => Resource::AllFunctions,
        AccessResource::KeyspaceFunctions(keyspace) => Resource::KeyspaceFunctions(keyspace.clone()),
        AccessResource::Function { keyspace, name, arguments } => {
            // Types of arguments are looked up in the keyspace.
            if !arguments.is_empty() && !schemas.has_keyspace(keyspace) {
                return Err(AccessError::Configuration(format!("Keyspace {keyspace} doesn't exist")));
            }
            Resource::function(keyspace, name, arguments)
        }
        AccessResource::AllMBeans => Resource::AllMBeans,
        AccessResource::MBean(name) => Resource::MBean(name.clone()),
    })
}

#[cfg(test)]
mod tests {
    use cql_syntax::PermissionName;

    use super::*;

    #[test]
    fn permissions_have_the_same_names_in_both_crates() {
        let set = |listed: &[PermissionName]| PermissionSet::from(&Permissions::Listed(listed.to_vec()));
        assert_eq!(set(&PermissionName::ALL), PermissionSet::ALL);
        assert_eq!(PermissionSet::from(&Permissions::All), PermissionSet::ALL);
        let some = PermissionSet::of(&[Permission::Unmask, Permission::Create]);
        assert_eq!(set(&[PermissionName::Unmask, PermissionName::Create]), some);
    }
}
