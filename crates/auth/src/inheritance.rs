//! Roles through roles: which a role has, and what it is allowed by them.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::permission::PermissionSet;
use crate::resource::Resource;
use crate::role::Role;
use crate::snapshot::Access;

impl Access {
    /// A role and all that it inherits, through whichever roles; empty if it does not exist.
    pub fn roles_of(&self, name: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = self.key(name).into_iter().collect();
        while let Some(name) = open.pop() {
            if found.insert(name) {
                open.extend(self.role(name).into_iter().flat_map(|role| role.member_of()));
            }
        }
        found
    }

    /// True if the role is a superuser, itself or by a role that it inherits.
    pub fn is_superuser(&self, name: &str) -> bool {
        let mut roles = self.roles_of(name).into_iter();
        roles.any(|role| self.role(role).is_some_and(|role| role.attributes.is_superuser))
    }

    /// True if the role may log in. That is not inherited.
    pub fn may_log_in(&self, name: &str) -> bool {
        self.role(name).is_some_and(|role| role.attributes.may_log_in)
    }

    /// The permissions of a role on a resource itself: granted to it or to a role that it inherits. For a superuser all that apply.
    pub fn permissions_on(&self, name: &str, resource: &Resource) -> PermissionSet {
        if self.is_superuser(name) {
            return resource.applicable();
        }
        let roles = self.roles_of(name).into_iter().filter_map(|role| self.role(role));
        roles.filter_map(|role| role.grants.get(resource)).fold(PermissionSet::NONE, |all, set| all.union(*set))
    }

    /// The most memberships on a way from the role to one that it inherits.
    pub(crate) fn height(&self, name: &str) -> usize {
        self.longest(name, |role| &role.member_of)
    }

    /// The most memberships on a way from the role to one that inherits it.
    pub(crate) fn depth(&self, name: &str) -> usize {
        self.longest(name, |role| &role.members)
    }

    /// The longest way from a role by `next`. It goes level by level, and looks at a role once on each level that it is on: no way is longer than
    /// [`crate::bounds::NESTING_MAX`].
    fn longest(&self, name: &str, next: fn(&Role) -> &BTreeSet<Rc<str>>) -> usize {
        let mut level: BTreeSet<&str> = self.key(name).into_iter().collect();
        let mut length = 0;
        loop {
            let roles = level.into_iter().filter_map(|name| self.role(name));
            level = roles.flat_map(next).map(|name| &**name).collect();
            if level.is_empty() {
                return length;
            }
            length += 1;
            assert!(length <= crate::bounds::NESTING_MAX, "ways of memberships are bounded");
        }
    }
}
