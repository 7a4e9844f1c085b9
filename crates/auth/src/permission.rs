//! Permissions and sets of them.

use std::fmt;

/// A permission. The order is Cassandra's, which lists and messages follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// Make keyspaces, tables, functions, roles.
    Create,
    /// Change them.
    Alter,
    /// Drop them.
    Drop,
    /// Read.
    Select,
    /// INSERT, UPDATE, DELETE, TRUNCATE.
    Modify,
    /// Grant and revoke.
    Authorize,
    /// List roles and permissions; read facts of an MBean.
    Describe,
    /// Call functions and operations of MBeans.
    Execute,
    /// See masked columns in clear.
    Unmask,
    /// Restrict masked columns.
    SelectMasked,
}

impl Permission {
    /// All permissions, ascending.
    pub const ALL: [Permission; 10] = [
        Permission::Create,
        Permission::Alter,
        Permission::Drop,
        Permission::Select,
        Permission::Modify,
        Permission::Authorize,
        Permission::Describe,
        Permission::Execute,
        Permission::Unmask,
        Permission::SelectMasked,
    ];

    /// Its name in statements and tables.
    pub fn name(self) -> &'static str {
        match self {
            Permission::Create => "CREATE",
            Permission::Alter => "ALTER",
            Permission::Drop => "DROP",
            Permission::Select => "SELECT",
            Permission::Modify => "MODIFY",
            Permission::Authorize => "AUTHORIZE",
            Permission::Describe => "DESCRIBE",
            Permission::Execute => "EXECUTE",
            Permission::Unmask => "UNMASK",
            Permission::SelectMasked => "SELECT_MASKED",
        }
    }

    /// The permission of that name, in upper case.
    pub fn of_name(name: &str) -> Option<Permission> {
        Permission::ALL.into_iter().find(|permission| permission.name() == name)
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of permissions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PermissionSet(u16);

impl PermissionSet {
    /// No permission.
    pub const NONE: PermissionSet = PermissionSet(0);
    /// Each permission.
    pub const ALL: PermissionSet = PermissionSet((1 << Permission::ALL.len()) - 1);

    /// The set of these.
    pub const fn of(permissions: &[Permission]) -> PermissionSet {
        let (mut bits, mut index) = (0, 0);
        while index < permissions.len() {
            bits |= 1 << permissions[index] as u16;
            index += 1;
        }
        PermissionSet(bits)
    }

    /// The set with these bits, of which each must be a permission's.
    pub fn of_bits(bits: u16) -> Option<PermissionSet> {
        (bits & !PermissionSet::ALL.0 == 0).then_some(PermissionSet(bits))
    }

    /// Its bits: 1 << n for the permission that is the n-th of [`Permission::ALL`].
    pub fn bits(self) -> u16 {
        self.0
    }

    /// True if it has no permission.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if the permission is one of the set.
    pub fn contains(self, permission: Permission) -> bool {
        self.0 & permission.bit() != 0
    }

    /// True if each permission of `other` is one of the set.
    pub fn contains_all(self, other: PermissionSet) -> bool {
        other.0 & !self.0 == 0
    }

    /// The permissions of either set.
    #[must_use]
    pub fn union(self, other: PermissionSet) -> PermissionSet {
        PermissionSet(self.0 | other.0)
    }

    /// The permissions of both sets.
    #[must_use]
    pub fn intersection(self, other: PermissionSet) -> PermissionSet {
        PermissionSet(self.0 & other.0)
    }

    /// The permissions that `other` has not.
    #[must_use]
    pub fn difference(self, other: PermissionSet) -> PermissionSet {
        PermissionSet(self.0 & !other.0)
    }

    /// Its permissions, ascending.
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.into_iter().filter(move |permission| self.contains(*permission))
    }

    /// The names, in order, with a comma and a space between.
    pub fn names(self) -> String {
        self.iter().map(Permission::name).collect::<Vec<_>>().join(", ")
    }
}

impl From<Permission> for PermissionSet {
    fn from(permission: Permission) -> Self {
        PermissionSet(permission.bit())
    }
}

impl fmt::Debug for PermissionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_bits_go_there_and_back() {
        for (index, permission) in Permission::ALL.into_iter().enumerate() {
            assert_eq!(Permission::of_name(permission.name()), Some(permission));
            assert_eq!(PermissionSet::from(permission).bits(), 1 << index);
        }
        assert_eq!(Permission::of_name("READ"), None);
        assert_eq!(PermissionSet::of_bits(0x400), None);
        assert_eq!(PermissionSet::of_bits(0x3ff), Some(PermissionSet::ALL));
    }

    #[test]
    fn sets_are_sets() {
        let both = PermissionSet::of(&[Permission::Modify, Permission::Create]);
        assert_eq!(both.names(), "CREATE, MODIFY");
        assert!(both.contains(Permission::Modify) && !both.contains(Permission::Alter));
        assert_eq!(both.difference(Permission::Create.into()), Permission::Modify.into());
        assert_eq!(both.intersection(Permission::Create.into()), Permission::Create.into());
        assert!(PermissionSet::ALL.contains_all(both) && !both.contains_all(PermissionSet::ALL));
        assert_eq!(PermissionSet::ALL.iter().collect::<Vec<_>>(), Permission::ALL);
    }
}
