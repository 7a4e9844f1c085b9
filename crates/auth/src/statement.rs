//! Statements about roles and permissions, as a parser gives them.
//!
//! The parser refuses what Cassandra's does: "Multiple definition for property '%s'", "Options 'password' and 'hashed password' are mutually
//! exclusive", "Bind variables cannot be used for role names", quoted strings as names of users and identities' missing quotes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::permission::PermissionSet;
use crate::resource::Resource;

/// A statement about roles and permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessStatement {
    /// CREATE ROLE, CREATE USER.
    CreateRole {
        /// The name.
        role: String,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// WITH.
        options: RoleOptions,
    },
    /// ALTER ROLE, ALTER USER.
    AlterRole {
        /// The name.
        role: String,
        /// IF EXISTS.
        if_exists: bool,
        /// WITH.
        options: RoleOptions,
    },
    /// DROP ROLE, DROP USER.
    DropRole {
        /// The name.
        role: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// GRANT role TO grantee.
    GrantRole {
        /// The role that is granted.
        role: String,
        /// The role that inherits it.
        grantee: String,
    },
    /// REVOKE role FROM revokee.
    RevokeRole {
        /// The role that is revoked.
        role: String,
        /// The role that inherits it.
        revokee: String,
    },
    /// GRANT permissions ON resource TO grantee.
    Grant {
        /// The permissions; all for ALL.
        permissions: PermissionSet,
        /// The resource.
        on: Target,
        /// The role.
        grantee: String,
    },
    /// REVOKE permissions ON resource FROM revokee.
    Revoke {
        /// The permissions; all for ALL.
        permissions: PermissionSet,
        /// The resource.
        on: Target,
        /// The role.
        revokee: String,
    },
    /// ADD IDENTITY.
    AddIdentity {
        /// The identity.
        identity: String,
        /// The role that it logs in as.
        role: String,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// DROP IDENTITY.
    DropIdentity {
        /// The identity.
        identity: String,
        /// IF EXISTS.
        if_exists: bool,
    },
}

/// The resource of GRANT and REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// As written.
    Resource(Resource),
    /// A table without its keyspace: the session's.
    Table(String),
}

/// The options of CREATE ROLE and ALTER ROLE; `None` if not given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoleOptions {
    /// SUPERUSER.
    pub superuser: Option<bool>,
    /// LOGIN.
    pub login: Option<bool>,
    /// PASSWORD, HASHED PASSWORD.
    pub password: Option<Password>,
    /// OPTIONS.
    pub options: Option<BTreeMap<String, String>>,
    /// ACCESS TO DATACENTERS; empty for ACCESS TO ALL DATACENTERS.
    pub datacenters: Option<BTreeSet<String>>,
    /// ACCESS FROM CIDRS; empty for ACCESS FROM ALL CIDRS.
    pub cidr_groups: Option<BTreeSet<String>>,
}

/// A password of a statement. Its debug text does not show it.
#[derive(Clone, PartialEq, Eq)]
pub enum Password {
    /// PASSWORD, as written.
    Plain(String),
    /// PASSWORD, hashed by the node that received the statement.
    Hashed(String),
    /// HASHED PASSWORD, as written.
    Given(String),
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Password::Plain(_) => "Plain(*******)",
            Password::Hashed(_) => "Hashed(*******)",
            Password::Given(_) => "Given(*******)",
        })
    }
}

impl AccessStatement {
    /// CREATE USER: a role that may log in.
    pub fn create_user(user: String, if_not_exists: bool, password: Option<Password>, superuser: bool) -> Self {
        let options = RoleOptions { superuser: Some(superuser), login: Some(true), password, ..RoleOptions::default() };
        AccessStatement::CreateRole { role: user, if_not_exists, options }
    }

    /// ALTER USER.
    pub fn alter_user(user: String, if_exists: bool, password: Option<Password>, superuser: Option<bool>) -> Self {
        let options = RoleOptions { superuser, password, ..RoleOptions::default() };
        AccessStatement::AlterRole { role: user, if_exists, options }
    }

    /// DROP USER.
    pub fn drop_user(user: String, if_exists: bool) -> Self {
        AccessStatement::DropRole { role: user, if_exists }
    }

    fn password(&mut self) -> Option<&mut Password> {
        match self {
            AccessStatement::CreateRole { options, .. } | AccessStatement::AlterRole { options, .. } => {
                options.password.as_mut()
            }
            _ => None,
        }
    }

    /// The password that is to be hashed before the statement is planned.
    pub fn plain_password(&mut self) -> Option<&str> {
        match self.password() {
            Some(Password::Plain(password)) => Some(password),
            _ => None,
        }
    }

    /// Replaces the plain password by its hash.
    pub fn set_hash(&mut self, hash: &crate::PasswordHash) {
        if let Some(password @ Password::Plain(_)) = self.password() {
            *password = Password::Hashed(hash.as_str().to_owned());
        }
    }
}
