//! Checks: may an actor do what a statement needs?
//!
//! Order and sentences are Cassandra's. The rules of system keyspaces hold for whoever asks, superusers included.

use planted::{Bug, Planted};
use schema::system_keyspaces;

use crate::error::{AccessError, unauthorized};
use crate::permission::{Permission, PermissionSet};
use crate::resource::{Resource, applies};
use crate::role::Role;
use crate::snapshot::Access;

/// The permissions that may be granted in a system keyspace.
pub(crate) const GRANTABLE_IN_SYSTEM: PermissionSet =
    PermissionSet::of(&[Permission::Select, Permission::Describe, Permission::Alter]);

/// The tables of keyspace `system` that each role may read: drivers and tools need them.
const READABLE_OF_SYSTEM: [&str; 5] = ["local", "peers", "peers_v2", "size_estimates", "table_estimates"];
/// Keyspaces of which each role may read all tables.
const READABLE: [&str; 3] = ["system_schema", "system_traces", "system_virtual_schema"];
/// The keyspace of native functions.
pub(crate) const NATIVE: &str = "system";

/// The one who sends a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor<'a> {
    /// A client, where no authenticator asks for a name.
    Anonymous,
    /// A client that has logged in as this role.
    Role(&'a str),
    /// The owner of the process, on the maintenance socket: a superuser that is no role.
    Maintenance,
}

impl<'a> Actor<'a> {
    /// The name in messages.
    pub fn name(self) -> &'a str {
        match self {
            Actor::Anonymous => "anonymous",
            Actor::Role(name) => name,
            Actor::Maintenance => "system",
        }
    }
}

/// The settings of a node that checks depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// True if clients must log in.
    pub authenticates: bool,
    /// True if they may log in with a password.
    pub has_passwords: bool,
    /// True if permissions are checked.
    pub authorizes: bool,
}

/// A thing that a statement needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Requirement {
    /// A permission on a resource or on one above it.
    Permission(Permission, Resource),
    /// UNMASK or SELECT_MASKED on a table, of which masked columns are restricted.
    Masked {
        /// The table's keyspace.
        keyspace: String,
        /// The table.
        table: String,
        /// The columns.
        columns: Vec<String>,
    },
    /// A superuser. With the sentence for all others.
    Superuser(&'static str),
}

/// An actor with the state by which it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    access: &'a Access,
    actor: Actor<'a>,
    settings: Settings,
    planted: Planted,
}

impl<'a> Subject<'a> {
    /// The subject of these.
    pub fn new(access: &'a Access, actor: Actor<'a>, settings: Settings) -> Subject<'a> {
        Subject { access, actor, settings, planted: Planted::NONE }
    }

    /// The same with a bug that was planted on purpose.
    #[must_use]
    pub fn planted(self, planted: Planted) -> Subject<'a> {
        Subject { planted, ..self }
    }

    /// The state by which it is judged.
    pub fn access(&self) -> &'a Access {
        self.access
    }

    /// The one who acts.
    pub fn actor(&self) -> Actor<'a> {
        self.actor
    }

    /// The settings by which it is judged.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// True if the role that acts is a superuser, itself or by another role. An anonymous client never is.
    pub fn is_superuser(&self) -> bool {
        match self.actor {
            Actor::Anonymous => false,
            Actor::Role(name) => self.access.is_superuser(name),
            Actor::Maintenance => true,
        }
    }

    /// True if the actor has the permission on this resource itself or on one above it.
    pub fn has(&self, permission: Permission, resource: &Resource) -> bool {
        if !self.settings.authorizes || self.is_superuser() {
            return true;
        }
        // Native functions are for everyone.
        if resource.is_function() && resource.keyspace() == Some(NATIVE) {
            return true;
        }
        let Actor::Role(name) = self.actor else { return false };
        // What is granted on all keyspaces does not hold in those of the system.
        let is_system = resource.is_data() && resource.keyspace().is_some_and(system_keyspaces::is_system);
        let is_system = is_system && !self.planted.is(Bug::AllKeyspacesInSystem);
        let holds = |level: &Resource| !is_system || *level != Resource::AllKeyspaces;
        let roles = self.access.roles_of(name).into_iter();
        let roles: Vec<&Role> = roles.filter_map(|role| self.access.role(role)).collect();
        let has = |level: &Resource, role: &Role| role.grants().get(level).is_some_and(|set| set.contains(permission));
        resource.chain().filter(holds).any(|level| roles.iter().any(|role| has(&level, role)))
    }

    /// Refuses if the actor has not the permission on the resource or on one above it.
    pub fn ensure(&self, permission: Permission, resource: &Resource) -> Result<(), AccessError> {
        if self.has(permission, resource) {
            return Ok(());
        }
        let name = self.actor.name();
        Err(unauthorized(format!("User {name} has no {permission} permission on {resource} or any of its parents")))
    }

    /// The same for statements about roles, which name no permission.
    pub(crate) fn ensure_privilege(&self, permission: Permission, resource: &Resource) -> Result<(), AccessError> {
        self.ensure(permission, resource).map_err(|_| {
            let name = self.actor.name();
            let words = "does not have sufficient privileges to perform the requested operation";
            unauthorized(format!("User {name} {words}"))
        })
    }

    /// Refuses an anonymous client.
    pub(crate) fn ensure_logged_in(&self) -> Result<(), AccessError> {
        match self.actor {
            Actor::Anonymous => Err(unauthorized("You have to be logged in and not anonymous to perform this request")),
            Actor::Role(_) | Actor::Maintenance => Ok(()),
        }
    }

    /// Refuses if the actor has not what a statement needs.
    pub fn check(&self, requirement: &Requirement) -> Result<(), AccessError> {
        match requirement {
            Requirement::Permission(permission, resource) => self.check_permission(*permission, resource),
            Requirement::Masked { keyspace, table, columns } => self.check_masked(keyspace, table, columns),
            // Where clients need not log in, each is a superuser here, as in Cassandra.
            Requirement::Superuser(_) if !self.settings.authenticates || self.is_superuser() => Ok(()),
            Requirement::Superuser(sentence) => Err(unauthorized(*sentence)),
        }
    }

    /// Refuses with the first requirement that is not met.
    pub fn check_all(&self, requirements: &[Requirement]) -> Result<(), AccessError> {
        requirements.iter().try_for_each(|requirement| self.check(requirement))
    }

    fn check_permission(&self, permission: Permission, resource: &Resource) -> Result<(), AccessError> {
        if resource.is_data() {
            refuse_change_of_system(permission, resource)?;
            let reads = permission == Permission::Select || self.planted.is(Bug::ReadableIsWritable);
            if reads && is_readable(resource) {
                return Ok(());
            }
        }
        match (self.ensure(permission, resource), resource) {
            (Err(_), Resource::MBean(name)) if self.has_by_pattern(permission, name) => Ok(()),
            (checked, _) => checked,
        }
    }

    /// True if the permission is granted on a pattern that applies to an MBean's name. As in Cassandra that allows what is done with the MBean, while GRANT
    /// and REVOKE ask for the very resource or all MBeans.
    fn has_by_pattern(&self, permission: Permission, mbean: &str) -> bool {
        let Actor::Role(name) = self.actor else { return false };
        let roles = self.access.roles_of(name).into_iter().filter_map(|role| self.access.role(role));
        roles.flat_map(Role::grants).any(|(resource, granted)| match resource {
            Resource::MBean(pattern) => granted.contains(permission) && applies(pattern, mbean),
            _ => false,
        })
    }

    fn check_masked(&self, keyspace: &str, table: &str, columns: &[String]) -> Result<(), AccessError> {
        let resource = Resource::table(keyspace, table);
        let permissions = [Permission::Unmask, Permission::SelectMasked];
        if permissions.iter().any(|permission| self.has(*permission, &resource)) {
            return Ok(());
        }
        let (name, columns) = (self.actor.name(), columns.join(", "));
        Err(unauthorized(format!(
            "User {name} has no UNMASK nor SELECT_MASKED permission on table {keyspace}.{table}, \
             cannot query masked columns [{columns}]"
        )))
    }
}

/// True for the tables that each role may read.
fn is_readable(resource: &Resource) -> bool {
    let Resource::Table(keyspace, table) = resource else { return false };
    READABLE.contains(&&**keyspace) || (keyspace == NATIVE && READABLE_OF_SYSTEM.contains(&&**table))
}

/// Refuses changes of the system's own keyspaces and of virtual ones, whoever asks. Of replicated ones the keyspace itself may be altered: its replication.
fn refuse_change_of_system(permission: Permission, resource: &Resource) -> Result<(), AccessError> {
    let changes = matches!(permission, Permission::Create | Permission::Alter | Permission::Drop);
    let Some(keyspace) = resource.keyspace().filter(|_| changes) else { return Ok(()) };
    if system_keyspaces::is_local(keyspace) || system_keyspaces::is_virtual(keyspace) {
        return Err(unauthorized(format!("{keyspace} keyspace is not user-modifiable.")));
    }
    let is_replication = permission == Permission::Alter && matches!(resource, Resource::Keyspace(_));
    match system_keyspaces::is_replicated(keyspace) && !is_replication {
        true => Err(unauthorized(format!("Cannot {permission} {resource}"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
