//! GRANT and REVOKE of roles.

use super::{AccessPlan, Planner};
use crate::bounds;
use crate::change::AccessChange;
use crate::error::{AccessError, invalid};
use crate::permission::Permission;
use crate::resource::Resource;

impl Planner<'_> {
    pub(super) fn grant_role(&self, role: &str, grantee: &str) -> Result<AccessPlan, AccessError> {
        self.authorize_membership(role, grantee)?;
        if self.access.roles_of(grantee).contains(role) {
            return Err(invalid(format!("{grantee} is a member of {role}")));
        }
        if self.access.roles_of(role).contains(grantee) {
            return Err(invalid(format!("{role} is a member of {grantee}")));
        }
        if self.access.height(role) + 1 + self.access.depth(grantee) > bounds::NESTING_MAX {
            return Err(invalid(format!("roles may be nested {} deep at most", bounds::NESTING_MAX)));
        }
        let memberships = self.access.role(grantee).map_or(0, |role| role.member_of().len());
        if memberships >= bounds::MEMBERSHIPS_MAX {
            return Err(invalid(format!("a role may be granted {} roles at most", bounds::MEMBERSHIPS_MAX)));
        }
        let change = AccessChange::AddMember { role: role.to_owned(), member: grantee.to_owned() };
        Ok(AccessPlan::of(vec![change]))
    }

    pub(super) fn revoke_role(&self, role: &str, revokee: &str) -> Result<AccessPlan, AccessError> {
        self.authorize_membership(role, revokee)?;
        // A role counts as a member of itself, so that a REVOKE of it from itself is no error.
        if role == revokee {
            return Ok(AccessPlan::none());
        }
        let is_member = self.access.role(revokee).is_some_and(|member| member.member_of().any(|name| name == role));
        if !is_member {
            return Err(invalid(format!("{revokee} is not a member of {role}")));
        }
        let change = AccessChange::RemoveMember { role: role.to_owned(), member: revokee.to_owned() };
        Ok(AccessPlan::of(vec![change]))
    }

    fn authorize_membership(&self, role: &str, member: &str) -> Result<(), AccessError> {
        self.subject.ensure_privilege(Permission::Authorize, &Resource::Role(role.to_owned()))?;
        self.subject.ensure_logged_in()?;
        self.ensure_exists(role)?;
        self.ensure_exists(member)
    }
}
