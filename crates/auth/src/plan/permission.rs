//! GRANT and REVOKE of permissions.

use cql_syntax::AccessResource;
use schema::system_keyspaces;

use super::objects::exists;
use super::{AccessPlan, Planner, ensure_length};
use crate::bounds;
use crate::change::AccessChange;
use crate::check::{GRANTABLE_IN_SYSTEM, NATIVE};
use crate::error::{AccessError, invalid, unauthorized};
use crate::permission::{Permission, PermissionSet};
use crate::resource::Resource;
use crate::statement::resource_of;

impl Planner<'_> {
    pub(super) fn grant(
        &self,
        permissions: PermissionSet,
        on: &AccessResource,
        grantee: &str,
    ) -> Result<AccessPlan, AccessError> {
        let (permissions, resource) = self.validate_permissions(permissions, on, grantee)?;
        let keyspace = resource.keyspace().filter(|_| resource.is_data());
        let is_system = |name: &str| system_keyspaces::is_local(name) || system_keyspaces::is_replicated(name);
        if keyspace.is_some_and(is_system) && !GRANTABLE_IN_SYSTEM.contains_all(permissions) {
            let words = "Granting permissions on system keyspaces is strictly limited, this operation is not permitted";
            return Err(unauthorized(words));
        }
        self.ensure_authorizer("GRANT")?;
        ensure_length("a resource's name", &resource.name(), bounds::RESOURCE_BYTES_MAX)?;
        let before = self.granted(grantee, &resource);
        if before.is_empty() && self.access.grants() >= bounds::GRANTS_MAX {
            return Err(invalid(format!("a cluster may have {} grants at most", bounds::GRANTS_MAX)));
        }
        let (new, known) = (permissions.difference(before), permissions.intersection(before));
        let change = AccessChange::Grant(grantee.to_owned(), vec![(resource.clone(), new)]);
        Ok(plan(change, new, grantee, "already granted", known, &resource))
    }

    pub(super) fn revoke(
        &self,
        permissions: PermissionSet,
        on: &AccessResource,
        revokee: &str,
    ) -> Result<AccessPlan, AccessError> {
        let (permissions, resource) = self.validate_permissions(permissions, on, revokee)?;
        self.ensure_authorizer("REVOKE")?;
        let before = self.granted(revokee, &resource);
        let (gone, unknown) = (permissions.intersection(before), permissions.difference(before));
        let change = AccessChange::Revoke(revokee.to_owned(), vec![(resource.clone(), gone)]);
        Ok(plan(change, gone, revokee, "not granted", unknown, &resource))
    }

    /// The permissions that apply, and the resource.
    fn validate_permissions(
        &self,
        permissions: PermissionSet,
        on: &AccessResource,
        role: &str,
    ) -> Result<(PermissionSet, Resource), AccessError> {
        // The keyspace of a table is asked for after what the parser refuses, which depends on the form alone.
        let form = resource_of(on, self.schemas, Some(""))?;
        if matches!(&form, Resource::Function { keyspace, .. } | Resource::KeyspaceFunctions(keyspace)
            if keyspace == NATIVE)
        {
            return Err(invalid("Altering permissions on builtin functions is not supported"));
        }
        let permissions = permissions.intersection(form.applicable());
        if permissions.is_empty() {
            let words = "does not support any of the requested permissions";
            return Err(AccessError::Syntax(format!("Resource type {} {words}", form.type_name())));
        }
        let resource = resource_of(on, self.schemas, self.context.current_keyspace)?;
        self.subject.ensure(Permission::Authorize, &resource)?;
        permissions.iter().try_for_each(|permission| self.subject.ensure(permission, &resource))?;
        self.subject.ensure_logged_in()?;
        if self.access.role(role).is_none() {
            return Err(invalid(format!("Role {role} doesn't exist")));
        }
        match exists(self.access, self.schemas, &resource) {
            true => Ok((permissions, resource)),
            false => Err(invalid(format!("Resource {resource} doesn't exist"))),
        }
    }

    fn ensure_authorizer(&self, operation: &str) -> Result<(), AccessError> {
        match self.context.settings.authorizes {
            true => Ok(()),
            false => Err(invalid(format!("{operation} operation is not supported by AllowAllAuthorizer"))),
        }
    }

    /// The permissions on a resource that are granted to a role itself.
    fn granted(&self, role: &str, resource: &Resource) -> PermissionSet {
        self.access.role(role).and_then(|role| role.grants().get(resource).copied()).unwrap_or_default()
    }
}

/// The plan of a change of `changed` permissions, with a warning of those that it did not change.
fn plan(
    change: AccessChange,
    changed: PermissionSet,
    role: &str,
    how: &str,
    unchanged: PermissionSet,
    resource: &Resource,
) -> AccessPlan {
    let changes = if changed.is_empty() { Vec::new() } else { vec![change] };
    let warning = format!("Role '{role}' was {how} {} on {resource}", unchanged.names());
    let warnings = if unchanged.is_empty() { Vec::new() } else { vec![warning] };
    AccessPlan { changes, warnings }
}
