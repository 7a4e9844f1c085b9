//! A change of the access state.

use std::collections::BTreeSet;

use crate::networks::Cidr;
use crate::permission::PermissionSet;
use crate::resource::Resource;
use crate::role::Attributes;

/// One change. Each that does not fit the state it is applied to changes nothing ([`crate::Access::with_all`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessChange {
    /// A role is made, or its attributes are replaced.
    PutRole(String, Attributes),
    /// A role is dropped: with its memberships on both sides, its grants, the grants on it, its identities and restrictions.
    DropRole(String),
    /// A role is granted to another one.
    AddMember {
        /// The role that is granted.
        role: String,
        /// The role that inherits it.
        member: String,
    },
    /// A role is revoked from another one.
    RemoveMember {
        /// The role that is revoked.
        role: String,
        /// The role that inherited it.
        member: String,
    },
    /// Permissions are granted to a role.
    Grant(String, Vec<(Resource, PermissionSet)>),
    /// Permissions are revoked from a role.
    Revoke(String, Vec<(Resource, PermissionSet)>),
    /// The datacenters whose nodes a role may use; empty: all.
    PutDatacenters(String, BTreeSet<String>),
    /// The CIDR groups that a role may connect from; empty: all.
    PutCidrGroups(String, BTreeSet<String>),
    /// The ranges of a CIDR group; empty: the group is dropped.
    PutCidrGroup(String, BTreeSet<Cidr>),
    /// An identity logs in as a role.
    PutIdentity {
        /// The identity of a certificate.
        identity: String,
        /// The role.
        role: String,
    },
    /// An identity is dropped.
    DropIdentity(String),
    /// The first superuser was made: no start makes one again.
    BootstrapDone,
}

impl AccessChange {
    /// True if the state has nothing more after it: a full disk must take it.
    pub fn gives_room_back(&self) -> bool {
        match self {
            AccessChange::DropRole(_)
            | AccessChange::RemoveMember { .. }
            | AccessChange::Revoke(..)
            | AccessChange::DropIdentity(_) => true,
            AccessChange::PutDatacenters(_, set) | AccessChange::PutCidrGroups(_, set) => set.is_empty(),
            AccessChange::PutCidrGroup(_, cidrs) => cidrs.is_empty(),
            AccessChange::PutRole(..)
            | AccessChange::AddMember { .. }
            | AccessChange::Grant(..)
            | AccessChange::PutIdentity { .. }
            | AccessChange::BootstrapDone => false,
        }
    }
}
