//! Changes that are asked for as they are, all or none: an import of another cluster's roles, and what operators set that has no statement.
//!
//! A statement's plan knows what its changes fit. These come from files, and a leader must not take another node's word for them: each is judged on the state
//! that those before it make, by the bounds and rules that statements keep.

use std::collections::BTreeSet;

use super::objects::exists;
use super::role::{ensure_cidr_groups, ensure_datacenters, ensure_restriction};
use super::{AccessContext, AccessPlan, end_bootstrap, ensure_length, too_large};
use crate::bounds;
use crate::change::AccessChange;
use crate::check::{Actor, GRANTABLE_IN_SYSTEM, NATIVE, Subject};
use crate::error::{AccessError, invalid, unauthorized};
use crate::permission::PermissionSet;
use crate::resource::Resource;
use crate::role::Attributes;
use crate::snapshot::{Access, Draft};
use crate::statement::Schemas;

/// Judges `changes`, in order, and keeps those that change something. Superusers and the owner of the process may ask for any but
/// [`AccessChange::BootstrapDone`], which is added where it is due.
///
/// # Errors
/// The first change that has no place on the state that those before it make: it names a role, resource, datacenter or CIDR group that does not exist, passes a
/// bound, makes a circle of roles, or takes the superuser's own role from it. Then none is planned.
pub fn plan_changes(
    access: &Access,
    schemas: Schemas<'_>,
    changes: &[AccessChange],
    actor: Actor<'_>,
    context: &AccessContext<'_>,
) -> Result<AccessPlan, AccessError> {
    let subject = ensure_may_list(access, actor, context)?;
    let mut draft = Draft::of(access);
    let mut planned = Vec::new();
    for change in changes {
        if (Judge { subject, access: draft.access(), schemas, context }).judge(change)? {
            draft.pass(change);
            planned.push(change.clone());
        }
    }
    let (before, after) = (access.bytes(), draft.finish().bytes());
    if after > bounds::STATE_BYTES_MAX && after > before {
        return Err(too_large());
    }
    end_bootstrap(access, &mut planned);
    Ok(AccessPlan::of(planned))
}

/// Refuses all but superusers and the owner of the process.
pub(crate) fn ensure_may_list<'a>(
    access: &'a Access,
    actor: Actor<'a>,
    context: &AccessContext<'_>,
) -> Result<Subject<'a>, AccessError> {
    let subject = Subject::new(access, actor, context.settings);
    subject.ensure_logged_in()?;
    match subject.is_superuser() {
        true => Ok(subject),
        false => Err(unauthorized("Only superusers may change roles, permissions and networks as a list of changes")),
    }
}

/// One change against the state that those before it make.
pub(crate) struct Judge<'a> {
    /// With the state before all changes.
    pub(crate) subject: Subject<'a>,
    /// The state that the changes before make.
    pub(crate) access: &'a Access,
    pub(crate) schemas: Schemas<'a>,
    pub(crate) context: &'a AccessContext<'a>,
}

impl Judge<'_> {
    /// Refuses a change that does not fit. True if it changes something.
    pub(crate) fn judge(&self, change: &AccessChange) -> Result<bool, AccessError> {
        match change {
            AccessChange::PutRole(name, attributes) => self.put_role(name, attributes),
            AccessChange::DropRole(name) => self.drop_role(name),
            AccessChange::AddMember { role, member } => self.add_member(role, member),
            AccessChange::RemoveMember { role, member } => {
                self.ensure_role(role)?;
                Ok(self.is_direct_member(role, member)?)
            }
            AccessChange::Grant(name, grants) => self.grant(name, grants),
            AccessChange::Revoke(name, grants) => {
                let held = |resource| self.held(name, resource);
                self.ensure_role(name)?;
                Ok(grants.iter().any(|(resource, set)| !held(resource).intersection(*set).is_empty()))
            }
            AccessChange::PutDatacenters(name, set) => {
                self.ensure_role(name)?;
                self.ensure_restrictions(set, &BTreeSet::new())?;
                Ok(self.access.role(name).is_some_and(|role| role.datacenters() != set))
            }
            AccessChange::PutCidrGroups(name, set) => {
                self.ensure_role(name)?;
                self.ensure_restrictions(&BTreeSet::new(), set)?;
                Ok(self.access.role(name).is_some_and(|role| role.cidr_groups() != set))
            }
            AccessChange::PutCidrGroup(name, cidrs) if cidrs.is_empty() => {
                super::drop_cidr_group(self.access, name).map(|_| true)
            }
            AccessChange::PutCidrGroup(name, cidrs) => {
                super::cidr_groups::ensure_group(self.access, name, cidrs.len())?;
                Ok(self.access.cidr_group(name) != Some(cidrs))
            }
            AccessChange::PutIdentity { identity, role } => self.put_identity(identity, role),
            AccessChange::DropIdentity(identity) => match self.access.role_of_identity(identity) {
                Some(_) => Ok(true),
                None => Err(invalid(format!("identity '{identity}' doesn't exist"))),
            },
            AccessChange::BootstrapDone => Err(invalid("the end of the bootstrap is no change that is asked for")),
        }
    }

    fn put_role(&self, name: &str, attributes: &Attributes) -> Result<bool, AccessError> {
        if name.is_empty() {
            return Err(invalid("Role name can't be an empty string"));
        }
        ensure_length("a role's name", name, bounds::NAME_BYTES_MAX)?;
        if attributes.options.len() > bounds::LIST_MAX {
            return Err(invalid(format!("role {name} may have {} options at most", bounds::LIST_MAX)));
        }
        for (option, value) in &attributes.options {
            if option.is_empty() {
                return Err(invalid(format!("an option of role {name} has no name")));
            }
            ensure_length("an option of a role", option, bounds::NAME_BYTES_MAX)?;
            ensure_length("the value of a role's option", value, bounds::NAME_BYTES_MAX)?;
        }
        let Some(known) = self.access.role(name) else {
            return match self.access.roles().len() < bounds::ROLES_MAX {
                true => Ok(true),
                false => Err(invalid(format!("a cluster may have {} roles at most", bounds::ROLES_MAX))),
            };
        };
        let is_other_status = known.attributes().is_superuser != attributes.is_superuser;
        let is_own = matches!(self.subject.actor(), Actor::Role(own) if self.access.roles_of(own).contains(name));
        if is_other_status && is_own {
            let words = "You aren't allowed to alter your own superuser status or that of a role granted to you";
            return Err(unauthorized(words));
        }
        Ok(known.attributes() != attributes)
    }

    fn drop_role(&self, name: &str) -> Result<bool, AccessError> {
        self.ensure_role(name)?;
        match self.subject.actor() == Actor::Role(name) {
            true => Err(invalid("Cannot DROP primary role for current login")),
            false => Ok(true),
        }
    }

    fn add_member(&self, role: &str, member: &str) -> Result<bool, AccessError> {
        self.ensure_role(role)?;
        if self.is_direct_member(role, member)? {
            return Ok(false);
        }
        if self.access.roles_of(role).contains(member) {
            return Err(invalid(format!("{role} is a member of {member}")));
        }
        if self.access.height(role) + 1 + self.access.depth(member) > bounds::NESTING_MAX {
            let words = format!("{member} cannot be a member of {role}");
            return Err(invalid(format!("{words}: roles may be nested {} deep at most", bounds::NESTING_MAX)));
        }
        let memberships = self.access.role(member).map_or(0, |role| role.member_of().len());
        match memberships < bounds::MEMBERSHIPS_MAX {
            true => Ok(true),
            false => Err(invalid(format!("role {member} may be granted {} roles at most", bounds::MEMBERSHIPS_MAX))),
        }
    }

    fn grant(&self, name: &str, grants: &[(Resource, PermissionSet)]) -> Result<bool, AccessError> {
        self.ensure_role(name)?;
        let mut added = 0;
        for (resource, set) in grants {
            grantable(self.access, self.schemas, resource, *set)?;
            added += usize::from(self.held(name, resource).is_empty());
        }
        if self.access.grants() + added > bounds::GRANTS_MAX {
            return Err(invalid(format!("a cluster may have {} grants at most", bounds::GRANTS_MAX)));
        }
        Ok(grants.iter().any(|(resource, set)| !self.held(name, resource).contains_all(*set)))
    }

    fn put_identity(&self, identity: &str, role: &str) -> Result<bool, AccessError> {
        if self.access.role(role).is_none() {
            return Err(invalid(format!("Can not add identity for non-existent role '{role}'")));
        }
        if identity.is_empty() {
            return Err(invalid("Key may not be empty"));
        }
        ensure_length("an identity", identity, bounds::IDENTITY_BYTES_MAX)?;
        match self.access.role_of_identity(identity) {
            Some(known) if known == role => return Ok(false),
            Some(_) => return Err(invalid(format!("{identity} already exists"))),
            None => {}
        }
        match self.access.identities().len() < bounds::IDENTITIES_MAX {
            true => Ok(true),
            false => Err(invalid(format!("a cluster may have {} identities at most", bounds::IDENTITIES_MAX))),
        }
    }

    /// Refuses datacenters and CIDR groups that a role cannot be restricted to.
    pub(crate) fn ensure_restrictions(
        &self,
        datacenters: &BTreeSet<String>,
        groups: &BTreeSet<String>,
    ) -> Result<(), AccessError> {
        ensure_restriction(datacenters)?;
        ensure_restriction(groups)?;
        ensure_datacenters(self.context.datacenters, datacenters)?;
        ensure_cidr_groups(self.access, groups)
    }

    fn ensure_role(&self, name: &str) -> Result<(), AccessError> {
        match self.access.role(name) {
            Some(_) => Ok(()),
            None => Err(invalid(format!("Role {name} doesn't exist"))),
        }
    }

    /// True if the role is granted to the member itself, which exists.
    fn is_direct_member(&self, role: &str, member: &str) -> Result<bool, AccessError> {
        self.ensure_role(member)?;
        Ok(self.access.role(member).is_some_and(|member| member.member_of().any(|name| name == role)))
    }

    /// The permissions on a resource that are granted to a role itself.
    fn held(&self, name: &str, resource: &Resource) -> PermissionSet {
        self.access.role(name).and_then(|role| role.grants().get(resource).copied()).unwrap_or_default()
    }
}

/// Refuses a grant on what does not exist, of permissions that do not apply there, or that no role may have in keyspaces of the system.
fn grantable(
    access: &Access,
    schemas: Schemas<'_>,
    resource: &Resource,
    set: PermissionSet,
) -> Result<(), AccessError> {
    let is_native = resource.is_function() && resource.keyspace() == Some(NATIVE);
    if is_native {
        return Err(invalid("Altering permissions on builtin functions is not supported"));
    }
    if set.is_empty() || !resource.applicable().contains_all(set) {
        let names = set.difference(resource.applicable()).names();
        return Err(invalid(format!("permissions [{names}] do not apply to {resource}")));
    }
    let keyspace = resource.keyspace().filter(|_| resource.is_data());
    let is_system =
        |name: &str| schema::system_keyspaces::is_local(name) || schema::system_keyspaces::is_replicated(name);
    if keyspace.is_some_and(is_system) && !GRANTABLE_IN_SYSTEM.contains_all(set) {
        let words = "Granting permissions on system keyspaces is strictly limited, this operation is not permitted";
        return Err(unauthorized(format!("{words}: {} on {resource}", set.difference(GRANTABLE_IN_SYSTEM).names())));
    }
    ensure_length("a resource's name", &resource.name(), bounds::RESOURCE_BYTES_MAX)?;
    match exists(access, schemas, resource) {
        true => Ok(()),
        false => Err(invalid(format!("Resource {resource} doesn't exist"))),
    }
}
