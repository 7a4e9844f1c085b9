//! Objects: which of them exist, and grants that follow them: creators receive all permissions, and with an object its permissions go.

use crate::change::AccessChange;
use crate::check::{Actor, Subject};
use crate::resource::Resource;
use crate::snapshot::Access;
use crate::statement::Schemas;

/// True if a resource exists. The schema has no functions of users yet, so none of those does; MBeans always do.
pub(crate) fn exists(access: &Access, schemas: Schemas<'_>, resource: &Resource) -> bool {
    match resource {
        Resource::Keyspace(keyspace) | Resource::AllTables(keyspace) | Resource::KeyspaceFunctions(keyspace) => {
            schemas.has_keyspace(keyspace)
        }
        Resource::Table(keyspace, table) => schemas.table(keyspace, table).is_some(),
        Resource::Role(role) => access.role(role).is_some(),
        Resource::Function { .. } => false,
        Resource::MBean(name) => !name.is_empty(),
        Resource::AllKeyspaces | Resource::AllRoles | Resource::AllFunctions | Resource::AllMBeans => true,
    }
}

/// The resources that CREATE KEYSPACE makes: the keyspace, and its functions, of which it has none yet. All other statements make one.
pub fn made_with_keyspace(keyspace: &str) -> [Resource; 2] {
    [Resource::Keyspace(keyspace.to_owned()), Resource::KeyspaceFunctions(keyspace.to_owned())]
}

/// The changes that grant an actor all permissions on what it made, for the same entry. The caller asks for nothing where IF NOT EXISTS made nothing: a grant
/// on what another role made would give that away.
///
/// An actor that is no role gets none, and where no permissions are checked none are granted.
pub fn created(access: &Access, subject: &Subject<'_>, resources: &[Resource]) -> Vec<AccessChange> {
    let Actor::Role(name) = subject.actor() else { return Vec::new() };
    if !subject.settings().authorizes || access.role(name).is_none() {
        return Vec::new();
    }
    let mut grants: Vec<_> = resources.iter().map(|resource| (resource.clone(), resource.applicable())).collect();
    grants.sort_unstable();
    grants.dedup();
    let change = AccessChange::Grant(name.to_owned(), grants);
    if resources.is_empty() { Vec::new() } else { vec![change] }
}

/// The changes that revoke all permissions on a keyspace, table, function or MBean that is dropped, for the entry that drops it. With a keyspace go its tables
/// and functions. A dropped role takes its own along.
pub fn dropped(access: &Access, resource: &Resource) -> Vec<AccessChange> {
    let mut changes = Vec::new();
    for (name, role) in access.roles() {
        let gone: Vec<_> = match resource {
            Resource::Keyspace(keyspace) => {
                let within = role.grants().iter().filter(|(held, _)| held.keyspace() == Some(keyspace));
                within.map(|(held, set)| (held.clone(), *set)).collect()
            }
            _ => role.grants().get(resource).map(|set| (resource.clone(), *set)).into_iter().collect(),
        };
        if !gone.is_empty() {
            changes.push(AccessChange::Revoke(name.to_owned(), gone));
        }
    }
    changes
}
