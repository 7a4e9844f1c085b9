//! The access state at one moment: an immutable snapshot, cheap to clone.

mod draft;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::change::AccessChange;
use crate::networks::Cidr;
use crate::role::Role;
pub(crate) use draft::Draft;

/// All roles, memberships, grants, identities and CIDR groups at one moment. The default has none.
///
/// Whatever the changes: a role that is named exists, no role inherits itself, no way of memberships is longer than
/// [`NESTING_MAX`](crate::bounds::NESTING_MAX), a grant is of permissions that apply to its resource. Asserted after each change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    inner: Rc<Inner>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Inner {
    /// Names are shared by all snapshots.
    roles: BTreeMap<Rc<str>, Rc<Role>>,
    identities: BTreeMap<Rc<str>, Rc<str>>,
    cidr_groups: BTreeMap<Rc<str>, Rc<BTreeSet<Cidr>>>,
    is_bootstrap_done: bool,
    /// Of all roles.
    grants: usize,
    /// Of all roles, identities and CIDR groups, about.
    bytes: usize,
}

impl Access {
    /// The role of that name.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.inner.roles.get(name).map(Rc::as_ref)
    }

    /// All roles by name, ascending.
    pub fn roles(&self) -> impl ExactSizeIterator<Item = (&str, &Role)> {
        self.inner.roles.iter().map(|(name, role)| (&**name, &**role))
    }

    /// A role's name, as long as the snapshot lives.
    pub(crate) fn key(&self, name: &str) -> Option<&str> {
        self.inner.roles.get_key_value(name).map(|(name, _)| &**name)
    }

    /// The role that an identity logs in as.
    pub fn role_of_identity(&self, identity: &str) -> Option<&str> {
        self.inner.identities.get(identity).map(|role| &**role)
    }

    /// The identities with their roles, ascending.
    pub fn identities(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.inner.identities.iter().map(|(identity, role)| (&**identity, &**role))
    }

    /// The ranges of a CIDR group.
    pub fn cidr_group(&self, name: &str) -> Option<&BTreeSet<Cidr>> {
        self.inner.cidr_groups.get(name).map(Rc::as_ref)
    }

    /// The CIDR groups by name, ascending.
    pub fn cidr_groups(&self) -> impl ExactSizeIterator<Item = (&str, &BTreeSet<Cidr>)> {
        self.inner.cidr_groups.iter().map(|(name, cidrs)| (&**name, &**cidrs))
    }

    /// True if a superuser was made once: no start makes one again, even if it was dropped.
    pub fn is_bootstrap_done(&self) -> bool {
        self.inner.is_bootstrap_done
    }

    /// The number of grants: pairs of a role and a resource.
    pub fn grants(&self) -> usize {
        self.inner.grants
    }

    /// The bytes of all names and texts, about.
    pub fn bytes(&self) -> usize {
        self.inner.bytes
    }

    /// The state after `change`.
    #[must_use]
    pub fn with(&self, change: &AccessChange) -> Access {
        self.with_all(std::slice::from_ref(change))
    }

    /// The state after `changes`, in order. A change that does not fit changes nothing: its planner saw this state, so it would have refused it. Copies each
    /// role that changes once, however many changes there are.
    ///
    /// # Panics
    /// If an invariant is broken: no changes break one.
    #[must_use]
    pub fn with_all(&self, changes: &[AccessChange]) -> Access {
        let mut draft = Draft::of(self);
        for change in changes {
            draft.pass(change);
        }
        draft.finish()
    }

    /// The changes that make this state of the default one: the fewest, in one order.
    pub fn as_changes(&self) -> Vec<AccessChange> {
        let mut changes = Vec::new();
        if self.inner.is_bootstrap_done {
            changes.push(AccessChange::BootstrapDone);
        }
        for (name, cidrs) in self.cidr_groups() {
            changes.push(AccessChange::PutCidrGroup(name.to_owned(), cidrs.clone()));
        }
        for (name, role) in self.roles() {
            changes.push(AccessChange::PutRole(name.to_owned(), role.attributes.clone()));
            if !role.datacenters.is_empty() {
                changes.push(AccessChange::PutDatacenters(name.to_owned(), role.datacenters.clone()));
            }
            if !role.cidr_groups.is_empty() {
                changes.push(AccessChange::PutCidrGroups(name.to_owned(), role.cidr_groups.clone()));
            }
        }
        // A grant on a role, and a membership, follow the roles that they name.
        for (name, role) in self.roles().filter(|(_, role)| !role.grants.is_empty()) {
            let grants = role.grants.iter().map(|(resource, set)| (resource.clone(), *set));
            changes.push(AccessChange::Grant(name.to_owned(), grants.collect()));
        }
        for (name, role) in self.roles() {
            let add = |role: &str| AccessChange::AddMember { role: role.to_owned(), member: name.to_owned() };
            changes.extend(role.member_of().map(add));
        }
        let put = |(identity, role): (&str, &str)| AccessChange::PutIdentity {
            identity: identity.to_owned(),
            role: role.to_owned(),
        };
        changes.extend(self.identities().map(put));
        changes
    }
}

#[cfg(test)]
mod tests;
