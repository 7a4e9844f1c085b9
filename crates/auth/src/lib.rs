//! Roles, permissions and logins as pure functions.
//!
//! [`Access`] is a domain of the cluster's state: a function of its changes, in the order of the log. [`plan_access`] makes changes of statements,
//! [`Subject`] checks requests, [`requirements`] says what each kind of statement needs. Beside them: SASL PLAIN, password hashes, redaction of
//! statement texts, network rules. Nothing here reads a clock, a file or a socket. Words, states and bytes: `docs/internals/access.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod bounds;
mod change;
mod check;
pub mod codec;
pub mod domain;
mod error;
pub mod hash;
mod import;
mod inheritance;
mod list;
mod login;
pub mod matrix;
pub mod networks;
mod permission;
mod plan;
mod redact;
mod resource;
mod role;
mod sasl;
mod snapshot;
mod statement;

pub use change::AccessChange;
pub use check::{Actor, Requirement, Settings, Subject};
pub use codec::DecodeError;
pub use error::AccessError;
pub use hash::PasswordHash;
pub use import::{ForeignGrant, ForeignRole, ForeignRoles, RolesImport, plan_import};
pub use list::{Listed, PermissionRow, RoleRow, list};
pub use login::{LoginError, first_superuser};
pub use matrix::{Objects, StatementKind, requirements};
pub use networks::Cidr;
pub use permission::{Permission, PermissionSet};
pub use plan::{
    AccessContext, AccessPlan, check_access, created, drop_cidr_group, dropped, made_with_keyspace, plan_access,
    plan_changes, put_cidr_group,
};
pub use redact::{redact, redact_message};
pub use resource::{Resource, ResourceError};
pub use role::{Attributes, Role};
pub use sasl::{Credentials, SaslError, login_forbidden, parse_plain, wrong_credentials};
pub use snapshot::Access;
pub use statement::{Schemas, plain_password, set_hash};

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
