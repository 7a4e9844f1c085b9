//! An access state while changes are applied to it.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::{Access, Inner};
use crate::bounds;
use crate::change::AccessChange;
use crate::networks::Cidr;
use crate::permission::PermissionSet;
use crate::resource::Resource;
use crate::role::{Attributes, Role};

/// A state of its own, which no snapshot shares after its first change: so many changes copy it once.
pub(crate) struct Draft {
    access: Access,
}

impl Draft {
    pub(crate) fn of(access: &Access) -> Draft {
        Draft { access: access.clone() }
    }

    /// The state so far.
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    pub(crate) fn finish(self) -> Access {
        self.access
    }

    pub(crate) fn pass(&mut self, change: &AccessChange) {
        match change {
            AccessChange::PutRole(name, attributes) => self.put_role(name, attributes),
            AccessChange::DropRole(name) => self.drop_role(name),
            AccessChange::AddMember { role, member } => self.add_member(role, member),
            AccessChange::RemoveMember { role, member } => self.remove_member(role, member),
            AccessChange::Grant(name, grants) => grants.iter().for_each(|(resource, set)| {
                self.grant(name, resource, *set);
            }),
            AccessChange::Revoke(name, grants) => grants.iter().for_each(|(resource, set)| {
                self.change_grants(name, resource, |before| before.difference(*set));
            }),
            AccessChange::PutDatacenters(name, datacenters) if datacenters.len() <= bounds::LIST_MAX => {
                self.change_role(name, |role| role.datacenters.clone_from(datacenters));
            }
            AccessChange::PutCidrGroups(name, groups) if groups.len() <= bounds::LIST_MAX => {
                self.change_role(name, |role| role.cidr_groups.clone_from(groups));
            }
            AccessChange::PutDatacenters(..) | AccessChange::PutCidrGroups(..) => {}
            AccessChange::PutCidrGroup(name, cidrs) => self.put_cidr_group(name, cidrs),
            AccessChange::PutIdentity { identity, role } => self.put_identity(identity, role),
            AccessChange::DropIdentity(identity) => {
                if self.access.role_of_identity(identity).is_some() {
                    let inner = self.inner();
                    let role = inner.identities.remove(&**identity).expect("it is there");
                    inner.bytes -= identity.len() + role.len();
                }
            }
            AccessChange::BootstrapDone => self.inner().is_bootstrap_done = true,
        }
    }

    /// The state, copied if another snapshot has it.
    fn inner(&mut self) -> &mut Inner {
        Rc::make_mut(&mut self.access.inner)
    }

    /// Changes a role if there is one of that name, but for its grants, and counts its bytes again.
    fn change_role(&mut self, name: &str, change: impl FnOnce(&mut Role)) {
        if self.access.role(name).is_none() {
            return;
        }
        let inner = self.inner();
        let role = inner.roles.get_mut(name).expect("it is there");
        let bytes = role.bytes();
        change(Rc::make_mut(role));
        inner.bytes = inner.bytes - bytes + role.bytes();
    }

    fn put_role(&mut self, name: &str, attributes: &Attributes) {
        let fits = !name.is_empty() && attributes.options.len() <= bounds::LIST_MAX;
        if self.access.role(name).is_none() && fits && self.access.roles().len() < bounds::ROLES_MAX {
            let inner = self.inner();
            inner.roles.insert(name.into(), Rc::new(Role::default()));
            inner.bytes += name.len();
        }
        if fits {
            self.change_role(name, |role| role.attributes.clone_from(attributes));
        }
    }

    fn drop_role(&mut self, name: &str) {
        let Some(role) = self.access.inner.roles.get(name).cloned() else { return };
        role.member_of().for_each(|other| self.remove_member(other, name));
        role.members().for_each(|member| self.remove_member(name, member));
        role.grants.keys().for_each(|resource| self.change_grants(name, resource, |_| PermissionSet::NONE));
        let resource = Resource::Role(name.to_owned());
        let holders = self.access.roles().filter(|(_, role)| role.grants.contains_key(&resource));
        for holder in holders.map(|(holder, _)| holder.to_owned()).collect::<Vec<_>>() {
            self.change_grants(&holder, &resource, |_| PermissionSet::NONE);
        }
        let identities = self.access.identities().filter(|(_, role)| *role == name);
        for identity in identities.map(|(identity, _)| identity.to_owned()).collect::<Vec<_>>() {
            self.pass(&AccessChange::DropIdentity(identity));
        }
        let inner = self.inner();
        let role = inner.roles.remove(name).expect("it is there");
        inner.bytes -= name.len() + role.bytes();
        let has_none = role.grants.is_empty() && role.member_of.is_empty() && role.members.is_empty();
        assert!(has_none, "nothing refers to a dropped role");
    }

    fn add_member(&mut self, name: &str, member: &str) {
        let Some(key) = self.access.inner.roles.get_key_value(name).map(|(key, _)| Rc::clone(key)) else { return };
        if self.access.role(member).is_none_or(|member| member.member_of.len() >= bounds::MEMBERSHIPS_MAX) {
            return;
        }
        let makes_circle = self.access.roles_of(name).contains(member);
        let longest = self.access.height(name) + 1 + self.access.depth(member);
        if makes_circle || longest > bounds::NESTING_MAX {
            return;
        }
        let member_key = self.access.inner.roles.get_key_value(member).map(|(key, _)| Rc::clone(key));
        self.change_role(name, |role| role.members.extend(member_key));
        self.change_role(member, |member| {
            member.member_of.insert(key);
        });
        assert!(!self.access.roles_of(name).contains(member), "no role inherits itself");
        assert!(self.access.height(member) <= bounds::NESTING_MAX, "ways of memberships are bounded");
    }

    fn remove_member(&mut self, name: &str, member: &str) {
        self.change_role(member, |member| {
            member.member_of.remove(name);
        });
        self.change_role(name, |role| {
            role.members.remove(member);
        });
    }

    fn grant(&mut self, name: &str, resource: &Resource, set: PermissionSet) {
        let exists = match resource {
            Resource::Role(role) => self.access.role(role).is_some(),
            _ => true,
        };
        let is_new = self.access.role(name).is_some_and(|role| !role.grants.contains_key(resource));
        let fits = !is_new || self.access.grants() < bounds::GRANTS_MAX;
        if exists && fits && resource.applicable().contains_all(set) {
            self.change_grants(name, resource, |before| before.union(set));
        }
    }

    fn change_grants(&mut self, name: &str, resource: &Resource, of: impl FnOnce(PermissionSet) -> PermissionSet) {
        let Some(role) = self.access.role(name) else { return };
        let before = role.grants.get(resource).copied().unwrap_or_default();
        let after = of(before);
        if after == before {
            return;
        }
        assert!(resource.applicable().contains_all(after), "{after:?} applies to {resource}");
        self.change_grant_of(name, resource, after);
    }

    /// Replaces one grant, without a count of the role's others: a role may have thousands.
    fn change_grant_of(&mut self, name: &str, resource: &Resource, after: PermissionSet) {
        let inner = self.inner();
        let role = Rc::make_mut(inner.roles.get_mut(name).expect("it is there"));
        let bytes = Role::grant_bytes(resource);
        match after.is_empty() {
            true => {
                role.grants.remove(resource).expect("what had permissions had a grant");
                inner.grants -= 1;
                inner.bytes -= bytes;
            }
            false => {
                if role.grants.insert(resource.clone(), after).is_none() {
                    inner.grants += 1;
                    inner.bytes += bytes;
                }
            }
        }
    }

    fn put_cidr_group(&mut self, name: &str, cidrs: &BTreeSet<Cidr>) {
        let is_known = self.access.cidr_group(name).is_some();
        let fits = cidrs.len() <= bounds::CIDRS_MAX && !name.is_empty();
        let has_room = is_known || self.access.cidr_groups().len() < bounds::CIDR_GROUPS_MAX;
        let before = match cidrs.is_empty() {
            true if is_known => self.inner().cidr_groups.remove(name),
            false if fits && has_room => {
                let inner = self.inner();
                inner.bytes += group_bytes(name, cidrs);
                inner.cidr_groups.insert(name.into(), Rc::new(cidrs.clone()))
            }
            _ => None,
        };
        if let Some(before) = before {
            self.inner().bytes -= group_bytes(name, &before);
        }
    }

    fn put_identity(&mut self, identity: &str, role: &str) {
        let Some(key) = self.access.inner.roles.get_key_value(role).map(|(key, _)| Rc::clone(key)) else { return };
        let is_free = self.access.role_of_identity(identity).is_none();
        if is_free && !identity.is_empty() && self.access.identities().len() < bounds::IDENTITIES_MAX {
            let inner = self.inner();
            inner.bytes += identity.len() + role.len();
            inner.identities.insert(identity.into(), key);
        }
    }
}

/// The bytes of a CIDR group, about.
pub(super) fn group_bytes(name: &str, cidrs: &BTreeSet<Cidr>) -> usize {
    name.len() + size_of::<Cidr>() * cidrs.len()
}
