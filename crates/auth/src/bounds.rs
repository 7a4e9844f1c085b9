//! Bounds of the access state. Planners refuse what passes them, and a change that does has no effect.

/// The most roles of a cluster.
pub const ROLES_MAX: usize = 10_000;
/// The most grants: pairs of a role and a resource.
pub const GRANTS_MAX: usize = 100_000;
/// The most memberships on the way from a role to one that it inherits.
pub const NESTING_MAX: usize = 64;
/// The most roles that one role is granted directly.
pub const MEMBERSHIPS_MAX: usize = 1_000;
/// The most identities.
pub const IDENTITIES_MAX: usize = 10_000;
/// The most CIDR groups.
pub const CIDR_GROUPS_MAX: usize = 1_000;
/// The most ranges of one CIDR group.
pub const CIDRS_MAX: usize = 10_000;
/// The most datacenters or CIDR groups that one role is restricted to, and the most options of a role.
pub const LIST_MAX: usize = 1_000;
/// The most bytes of a role's name, a datacenter's, a CIDR group's or an option.
pub const NAME_BYTES_MAX: usize = 255;
/// The most bytes of an identity: a SPIFFE id has no more.
pub const IDENTITY_BYTES_MAX: usize = 2_048;
/// The most bytes of a resource's name.
pub const RESOURCE_BYTES_MAX: usize = 1_024;
/// The most bytes of all that planners add to: half of what a snapshot of the cluster's state may have.
pub const STATE_BYTES_MAX: usize = 32 << 20;
/// The most bytes of changes that are asked for together, as [`crate::codec`] writes them.
pub const CHANGES_BYTES_MAX: usize = 4 << 20;
