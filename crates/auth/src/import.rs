//! Roles that another cluster's files have, as changes of this one's state: taken over where they fit, and else left out with a reason.
//!
//! The files are Cassandra's `system_auth`, read elsewhere; here are its rows alone. Each change is judged as the leader will judge it, so that the list that
//! comes out is made whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::change::AccessChange;
use crate::check::Actor;
use crate::error::AccessError;
use crate::hash::PasswordHash;
use crate::networks::Cidr;
use crate::permission::{Permission, PermissionSet};
use crate::plan::{AccessContext, Judge, ensure_may_list};
use crate::resource::Resource;
use crate::role::Attributes;
use crate::snapshot::{Access, Draft};
use crate::statement::Schemas;

/// The rows of another cluster's files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForeignRoles {
    /// Roles.
    pub roles: Vec<ForeignRole>,
    /// Grants of permissions.
    pub grants: Vec<ForeignGrant>,
    /// Identities of certificates, with their roles.
    pub identities: Vec<(String, String)>,
    /// CIDR groups, with their ranges as text.
    pub cidr_groups: Vec<(String, Vec<String>)>,
    /// Roles that the reader left out, with its reasons.
    pub left_out: Vec<(String, String)>,
}

/// A role of another cluster. Debug text does not show the hash.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ForeignRole {
    /// Its name.
    pub name: String,
    /// True if it has all permissions.
    pub is_superuser: bool,
    /// True if it may log in.
    pub may_log_in: bool,
    /// The hash of its password, whatever its form.
    pub hash: Option<String>,
    /// The roles that are granted to it.
    pub member_of: Vec<String>,
    /// The datacenters that it is restricted to; none: all.
    pub datacenters: BTreeSet<String>,
    /// The CIDR groups that it is restricted to; none: all.
    pub cidr_groups: BTreeSet<String>,
}

impl fmt::Debug for ForeignRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignRole({})", self.name)
    }
}

/// Permissions of a role of another cluster, in the words of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignGrant {
    /// The role.
    pub role: String,
    /// The resource's name: `data/ks/t`.
    pub resource: String,
    /// The permissions' names.
    pub permissions: Vec<String>,
}

/// An import, planned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RolesImport {
    /// The changes, for [`crate::plan_changes`].
    pub changes: Vec<AccessChange>,
    /// Lines about what they take over.
    pub imported: Vec<String>,
    /// Lines about what is left as it is, with the reasons.
    pub skipped: Vec<String>,
}

/// Plans an import. A role that exists stays as it is with all that it has; with `replaces` it becomes as the files have it.
///
/// # Errors
/// The actor is no superuser and not the owner of the process. All else that does not fit is left out, and said so.
pub fn plan_import(
    access: &Access,
    schemas: Schemas<'_>,
    (foreign, replaces): (&ForeignRoles, bool),
    actor: Actor<'_>,
    context: &AccessContext<'_>,
) -> Result<RolesImport, AccessError> {
    let subject = ensure_may_list(access, actor, context)?;
    let draft = Draft::of(access);
    let mut import = Import { draft, schemas, context, subject, replaces, planned: RolesImport::default() };
    import.cidr_groups(foreign);
    let taken = import.roles(foreign);
    for role in foreign.roles.iter().filter(|role| taken.contains(&*role.name)) {
        import.memberships(role);
    }
    import.grants(foreign, &taken);
    import.identities(foreign, &taken);
    Ok(import.planned)
}

struct Import<'a> {
    draft: Draft,
    schemas: Schemas<'a>,
    context: &'a AccessContext<'a>,
    subject: crate::check::Subject<'a>,
    replaces: bool,
    planned: RolesImport,
}

impl Import<'_> {
    fn access(&self) -> &Access {
        self.draft.access()
    }

    fn judge(&self) -> Judge<'_> {
        Judge { subject: self.subject, access: self.draft.access(), schemas: self.schemas, context: self.context }
    }

    fn skip(&mut self, line: impl Into<String>) {
        self.planned.skipped.push(line.into());
    }

    /// Takes a change over where it fits. False if it does not.
    fn take(&mut self, change: AccessChange, line: &str) -> bool {
        match self.judge().judge(&change) {
            Ok(false) => true,
            Ok(true) => {
                self.draft.pass(&change);
                self.planned.changes.push(change);
                self.planned.imported.push(line.to_owned());
                true
            }
            Err(error) => {
                self.skip(format!("{line}: {error}"));
                false
            }
        }
    }

    fn cidr_groups(&mut self, foreign: &ForeignRoles) {
        for (name, ranges) in &foreign.cidr_groups {
            let line = format!("CIDR group {name}");
            match ranges.iter().map(|range| range.parse()).collect::<Result<BTreeSet<Cidr>, _>>() {
                Err(error) => self.skip(format!("{line}: {error}")),
                Ok(cidrs) => match self.access().cidr_group(name) {
                    Some(known) if *known != cidrs && !self.replaces => self.skip(format!("{line}: it exists")),
                    _ => drop(self.take(AccessChange::PutCidrGroup(name.clone(), cidrs), &line)),
                },
            }
        }
    }

    /// Takes roles over. Gives those that are as the files have them from now on.
    fn roles<'f>(&mut self, foreign: &'f ForeignRoles) -> BTreeSet<&'f str> {
        for (name, reason) in &foreign.left_out {
            self.skip(format!("role {name}: {reason}"));
        }
        let mut taken = BTreeSet::new();
        for role in &foreign.roles {
            if self.access().role(&role.name).is_some() && !self.replaces {
                self.skip(format!("role {}: it exists", role.name));
            } else if self.role(role) {
                taken.insert(&*role.name);
            }
        }
        taken
    }

    fn role(&mut self, role: &ForeignRole) -> bool {
        let (name, line) = (role.name.clone(), format!("role {}", role.name));
        // Without its restrictions a role would have more than it had.
        let datacenters = AccessChange::PutDatacenters(name.clone(), role.datacenters.clone());
        let groups = AccessChange::PutCidrGroups(name.clone(), role.cidr_groups.clone());
        if let Err(error) = self.judge().ensure_restrictions(&role.datacenters, &role.cidr_groups) {
            self.skip(format!("{line}: {error}"));
            return false;
        }
        let hash = role.hash.as_deref().map(PasswordHash::parse);
        if matches!(hash, Some(Err(_))) {
            let words = "its hash is of no form that is verified here; it is imported without a password";
            self.skip(format!("password of {name}: {words}"));
        }
        let options = self.access().role(&name).map(|role| role.attributes().options.clone()).unwrap_or_default();
        let attributes = Attributes {
            is_superuser: role.is_superuser,
            may_log_in: role.may_log_in,
            hash: hash.and_then(Result::ok),
            options,
        };
        self.take(AccessChange::PutRole(name.clone(), attributes), &line)
            && self.take(datacenters, &format!("{line}: access to datacenters"))
            && self.take(groups, &format!("{line}: access from CIDR groups"))
    }

    fn memberships(&mut self, role: &ForeignRole) {
        let name = &role.name;
        let held: Vec<String> =
            self.access().role(name).map(|role| role.member_of().map(str::to_owned).collect()).unwrap_or_default();
        for gone in held.into_iter().filter(|held| !role.member_of.contains(held)) {
            let line = format!("role {name}: member of {gone} no more");
            self.take(AccessChange::RemoveMember { role: gone, member: name.clone() }, &line);
        }
        for of in &role.member_of {
            let change = AccessChange::AddMember { role: of.clone(), member: name.clone() };
            self.take(change, &format!("role {name}: member of {of}"));
        }
    }

    fn grants(&mut self, foreign: &ForeignRoles, taken: &BTreeSet<&str>) {
        let known: BTreeSet<&str> = foreign.roles.iter().map(|role| &*role.name).collect();
        let left_out: BTreeSet<&str> = foreign.left_out.iter().map(|(name, _)| &**name).collect();
        let mut wanted: BTreeMap<&str, BTreeMap<Resource, PermissionSet>> = BTreeMap::new();
        for grant in &foreign.grants {
            let line = format!("role {}: permissions on {}", grant.role, grant.resource);
            if !taken.contains(&*grant.role) {
                // The line of the role says why, where the files have it.
                if !known.contains(&*grant.role) && !left_out.contains(&*grant.role) {
                    self.skip(format!("{line}: the files have no such role"));
                }
                continue;
            }
            let resource = match Resource::of_name(&grant.resource) {
                Ok(resource) => resource,
                Err(error) => {
                    self.skip(format!("{line}: {error}"));
                    continue;
                }
            };
            let mut set = PermissionSet::NONE;
            for name in &grant.permissions {
                match Permission::of_name(name) {
                    Some(permission) if resource.applicable().contains(permission) => {
                        set = set.union(permission.into())
                    }
                    Some(_) => self.skip(format!("{line}: {name} does not apply")),
                    None => self.skip(format!("{line}: {name} is no permission")),
                }
            }
            if !set.is_empty() {
                let held = wanted.entry(&grant.role).or_default().entry(resource).or_default();
                *held = held.union(set);
            }
        }
        for name in taken {
            let wanted = wanted.remove(name).unwrap_or_default();
            let held = self.access().role(name).map(|role| role.grants().clone()).unwrap_or_default();
            for (resource, set) in held {
                let gone = set.difference(wanted.get(&resource).copied().unwrap_or_default());
                if !gone.is_empty() {
                    let line = format!("role {name}: no more {} on {resource}", gone.names());
                    self.take(AccessChange::Revoke((*name).to_owned(), vec![(resource, gone)]), &line);
                }
            }
            for (resource, set) in wanted {
                let line = format!("role {name}: {} on {resource}", set.names());
                self.take(AccessChange::Grant((*name).to_owned(), vec![(resource, set)]), &line);
            }
        }
    }

    fn identities(&mut self, foreign: &ForeignRoles, taken: &BTreeSet<&str>) {
        for (identity, role) in foreign.identities.iter().filter(|(_, role)| taken.contains(&**role)) {
            let change = AccessChange::PutIdentity { identity: identity.clone(), role: role.clone() };
            self.take(change, &format!("identity {identity} of role {role}"));
        }
    }
}

#[cfg(test)]
mod tests;
