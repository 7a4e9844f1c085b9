//! Statements about roles, permissions and identities.

use std::fmt;

use cql_types::{CqlType, Literal};

use super::TableName;

/// A statement about roles, permissions or identities. Names of roles are folded to lower case unless they were quoted.
#[derive(Debug, Clone, PartialEq)]
pub enum AccessStatement {
    /// CREATE ROLE.
    CreateRole {
        /// The name.
        role: String,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// WITH.
        options: RoleOptions,
    },
    /// ALTER ROLE.
    AlterRole {
        /// The name.
        role: String,
        /// IF EXISTS.
        if_exists: bool,
        /// WITH.
        options: RoleOptions,
    },
    /// DROP ROLE.
    DropRole {
        /// The name.
        role: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// CREATE USER.
    CreateUser {
        /// The name, as written.
        user: String,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// WITH PASSWORD.
        password: Option<RolePassword>,
        /// SUPERUSER, NOSUPERUSER.
        superuser: Option<bool>,
    },
    /// ALTER USER.
    AlterUser {
        /// The name, as written.
        user: String,
        /// IF EXISTS.
        if_exists: bool,
        /// WITH PASSWORD.
        password: Option<RolePassword>,
        /// SUPERUSER, NOSUPERUSER.
        superuser: Option<bool>,
    },
    /// DROP USER.
    DropUser {
        /// The name, as written.
        user: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// LIST ROLES.
    ListRoles {
        /// OF.
        of: Option<String>,
        /// False with NORECURSIVE.
        is_recursive: bool,
    },
    /// LIST USERS.
    ListUsers,
    /// GRANT role TO role.
    GrantRole {
        /// The role that is granted.
        role: String,
        /// TO.
        grantee: String,
    },
    /// REVOKE role FROM role.
    RevokeRole {
        /// The role that is revoked.
        role: String,
        /// FROM.
        revokee: String,
    },
    /// GRANT permissions ON resource TO role.
    Grant {
        /// The permissions.
        permissions: Permissions,
        /// ON.
        on: AccessResource,
        /// TO.
        grantee: String,
    },
    /// REVOKE permissions ON resource FROM role.
    Revoke {
        /// The permissions.
        permissions: Permissions,
        /// ON.
        on: AccessResource,
        /// FROM.
        revokee: String,
    },
    /// LIST permissions.
    ListPermissions {
        /// The permissions.
        permissions: Permissions,
        /// ON.
        on: Option<AccessResource>,
        /// OF.
        of: Option<String>,
        /// False with NORECURSIVE.
        is_recursive: bool,
    },
    /// ADD IDENTITY.
    AddIdentity {
        /// The identity, as written.
        identity: String,
        /// TO ROLE, as written.
        role: String,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// DROP IDENTITY.
    DropIdentity {
        /// The identity, as written.
        identity: String,
        /// IF EXISTS.
        if_exists: bool,
    },
}

impl AccessStatement {
    /// True for LIST, which changes nothing.
    pub fn is_list(&self) -> bool {
        use AccessStatement::{ListPermissions, ListRoles, ListUsers};
        matches!(self, ListRoles { .. } | ListUsers | ListPermissions { .. })
    }

    /// The password that it sets, if it sets one.
    pub fn password(&self) -> Option<&RolePassword> {
        match self {
            AccessStatement::CreateRole { options, .. } | AccessStatement::AlterRole { options, .. } => {
                options.password.as_ref()
            }
            AccessStatement::CreateUser { password, .. } | AccessStatement::AlterUser { password, .. } => {
                password.as_ref()
            }
            _ => None,
        }
    }

    /// The same, to be replaced by its hash.
    pub fn password_mut(&mut self) -> Option<&mut RolePassword> {
        match self {
            AccessStatement::CreateRole { options, .. } | AccessStatement::AlterRole { options, .. } => {
                options.password.as_mut()
            }
            AccessStatement::CreateUser { password, .. } | AccessStatement::AlterUser { password, .. } => {
                password.as_mut()
            }
            _ => None,
        }
    }

    /// The leading words, in upper case: `CREATE ROLE`.
    pub fn kind(&self) -> &'static str {
        match self {
            AccessStatement::CreateRole { .. } => "CREATE ROLE",
            AccessStatement::AlterRole { .. } => "ALTER ROLE",
            AccessStatement::DropRole { .. } => "DROP ROLE",
            AccessStatement::CreateUser { .. } => "CREATE USER",
            AccessStatement::AlterUser { .. } => "ALTER USER",
            AccessStatement::DropUser { .. } => "DROP USER",
            AccessStatement::ListRoles { .. } => "LIST ROLES",
            AccessStatement::ListUsers => "LIST USERS",
            AccessStatement::GrantRole { .. } | AccessStatement::Grant { .. } => "GRANT",
            AccessStatement::RevokeRole { .. } | AccessStatement::Revoke { .. } => "REVOKE",
            AccessStatement::ListPermissions { .. } => "LIST",
            AccessStatement::AddIdentity { .. } => "ADD IDENTITY",
            AccessStatement::DropIdentity { .. } => "DROP IDENTITY",
        }
    }
}

/// The options of CREATE ROLE and ALTER ROLE; `None` if not given.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RoleOptions {
    /// PASSWORD, HASHED PASSWORD or GENERATED PASSWORD.
    pub password: Option<RolePassword>,
    /// SUPERUSER.
    pub superuser: Option<bool>,
    /// LOGIN.
    pub login: Option<bool>,
    /// OPTIONS, in the order written, each name once.
    pub options: Option<Vec<(Literal, Literal)>>,
    /// ACCESS TO DATACENTERS.
    pub datacenters: Option<Restriction>,
    /// ACCESS FROM CIDRS.
    pub cidr_groups: Option<Restriction>,
}

/// The datacenters or CIDR groups that a role may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restriction {
    /// ALL.
    All,
    /// `{'a', 'b'}`, in the order written.
    Only(Vec<String>),
}

/// A password of a statement. Its debug text does not show it; the printed statement does.
#[derive(Clone, PartialEq, Eq)]
pub enum RolePassword {
    /// PASSWORD.
    Plain(String),
    /// HASHED PASSWORD.
    Hashed(String),
    /// GENERATED PASSWORD.
    Generated,
}

impl fmt::Debug for RolePassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RolePassword::Plain(_) => "Plain(*******)",
            RolePassword::Hashed(_) => "Hashed(*******)",
            RolePassword::Generated => "Generated",
        })
    }
}

/// The permissions of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permissions {
    /// ALL.
    All,
    /// As listed.
    Listed(Vec<PermissionName>),
}

/// The name of a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionName {
    /// CREATE.
    Create,
    /// ALTER.
    Alter,
    /// DROP.
    Drop,
    /// SELECT.
    Select,
    /// MODIFY.
    Modify,
    /// AUTHORIZE.
    Authorize,
    /// DESCRIBE.
    Describe,
    /// EXECUTE.
    Execute,
    /// UNMASK.
    Unmask,
    /// SELECT_MASKED.
    SelectMasked,
}

impl PermissionName {
    /// All of them.
    pub const ALL: [PermissionName; 10] = [
        PermissionName::Create,
        PermissionName::Alter,
        PermissionName::Drop,
        PermissionName::Select,
        PermissionName::Modify,
        PermissionName::Authorize,
        PermissionName::Describe,
        PermissionName::Execute,
        PermissionName::Unmask,
        PermissionName::SelectMasked,
    ];

    /// The keyword.
    pub fn as_str(self) -> &'static str {
        match self {
            PermissionName::Create => "CREATE",
            PermissionName::Alter => "ALTER",
            PermissionName::Drop => "DROP",
            PermissionName::Select => "SELECT",
            PermissionName::Modify => "MODIFY",
            PermissionName::Authorize => "AUTHORIZE",
            PermissionName::Describe => "DESCRIBE",
            PermissionName::Execute => "EXECUTE",
            PermissionName::Unmask => "UNMASK",
            PermissionName::SelectMasked => "SELECT_MASKED",
        }
    }
}

/// The resource of GRANT, REVOKE and LIST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessResource {
    /// ALL KEYSPACES.
    AllKeyspaces,
    /// KEYSPACE.
    Keyspace(String),
    /// ALL TABLES IN KEYSPACE.
    AllTables(String),
    /// TABLE.
    Table(TableName),
    /// ALL ROLES.
    AllRoles,
    /// ROLE.
    Role(String),
    /// ALL FUNCTIONS.
    AllFunctions,
    /// ALL FUNCTIONS IN KEYSPACE.
    KeyspaceFunctions(String),
    /// FUNCTION: a function or an aggregate.
    Function {
        /// The keyspace.
        keyspace: String,
        /// The name.
        name: String,
        /// The types of the arguments.
        arguments: Vec<CqlType>,
    },
    /// ALL MBEANS.
    AllMBeans,
    /// MBEAN, MBEANS: a name or a pattern, in the canonical form of JMX.
    MBean(String),
}
