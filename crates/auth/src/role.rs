//! A role: attributes, memberships, grants, restrictions.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::hash::PasswordHash;
use crate::permission::PermissionSet;
use crate::resource::Resource;

/// The facts of a role that CREATE ROLE and ALTER ROLE set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    /// True if it has all permissions.
    pub is_superuser: bool,
    /// True if it may log in.
    pub may_log_in: bool,
    /// The hash of its password, if it has one.
    pub hash: Option<PasswordHash>,
    /// Options of its own; no statement sets any so far.
    pub options: BTreeMap<String, String>,
}

/// A role. Each snapshot that did not change it shares it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Role {
    pub(crate) attributes: Attributes,
    pub(crate) member_of: BTreeSet<Rc<str>>,
    pub(crate) members: BTreeSet<Rc<str>>,
    pub(crate) grants: BTreeMap<Resource, PermissionSet>,
    pub(crate) datacenters: BTreeSet<String>,
    pub(crate) cidr_groups: BTreeSet<String>,
}

impl Role {
    /// The facts that CREATE ROLE and ALTER ROLE set.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// The roles that are granted to it directly, ascending.
    pub fn member_of(&self) -> impl ExactSizeIterator<Item = &str> {
        self.member_of.iter().map(|role| &**role)
    }

    /// The roles that it is granted to directly, ascending.
    pub fn members(&self) -> impl ExactSizeIterator<Item = &str> {
        self.members.iter().map(|role| &**role)
    }

    /// The permissions that are granted to it directly, by resource.
    pub fn grants(&self) -> &BTreeMap<Resource, PermissionSet> {
        &self.grants
    }

    /// The datacenters whose nodes it may use; empty if all.
    pub fn datacenters(&self) -> &BTreeSet<String> {
        &self.datacenters
    }

    /// The CIDR groups that it may connect from; empty if all.
    pub fn cidr_groups(&self) -> &BTreeSet<String> {
        &self.cidr_groups
    }

    /// The bytes of one grant, about.
    pub(crate) fn grant_bytes(resource: &Resource) -> usize {
        resource.name().len() + size_of::<u16>()
    }

    /// The bytes of its texts but those of grants, about.
    pub(crate) fn bytes(&self) -> usize {
        let texts = |set: &BTreeSet<String>| set.iter().map(String::len).sum::<usize>();
        let options = self.attributes.options.iter().map(|(name, value)| name.len() + value.len());
        self.attributes.hash.as_ref().map_or(0, |hash| hash.as_str().len())
            + options.sum::<usize>()
            + self.member_of.iter().map(|role| role.len()).sum::<usize>()
            + texts(&self.datacenters)
            + texts(&self.cidr_groups)
    }
}
