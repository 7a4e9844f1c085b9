//! Statements about roles, permissions and identities. Names of roles are strings: as such they are no keywords, and may be empty.

use std::fmt::{self, Display, Formatter};

use super::ddl::{if_exists, if_not_exists};
use super::types::write_type;
use super::{write_qualified, write_separated};
use crate::ast::{AccessResource, AccessStatement, Permissions, Restriction, RoleOptions, RolePassword};
use crate::quote_identifier;

impl Display for AccessStatement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = self.kind();
        match self {
            AccessStatement::CreateRole { role, if_not_exists: given, options } => {
                write!(f, "{kind} {}{}{options}", if_not_exists(*given), quoted(role))
            }
            AccessStatement::AlterRole { role, if_exists: given, options } => {
                write!(f, "{kind} {}{}{options}", if_exists(*given), quoted(role))
            }
            AccessStatement::CreateUser { user, if_not_exists: given, password, superuser } => {
                write!(f, "{kind} {}{}", if_not_exists(*given), quoted(user))?;
                write_user_options(f, password.as_ref(), *superuser)
            }
            AccessStatement::AlterUser { user, if_exists: given, password, superuser } => {
                write!(f, "{kind} {}{}", if_exists(*given), quoted(user))?;
                write_user_options(f, password.as_ref(), *superuser)
            }
            AccessStatement::DropRole { role: name, if_exists: given }
            | AccessStatement::DropUser { user: name, if_exists: given }
            | AccessStatement::DropIdentity { identity: name, if_exists: given } => {
                write!(f, "{kind} {}{}", if_exists(*given), quoted(name))
            }
            AccessStatement::ListUsers => f.write_str(kind),
            AccessStatement::ListRoles { of, is_recursive } => {
                f.write_str(kind)?;
                write_list_of(f, of.as_deref(), *is_recursive)
            }
            AccessStatement::ListPermissions { permissions, on, of, is_recursive } => {
                write!(f, "{kind} {permissions}")?;
                on.iter().try_for_each(|resource| write!(f, " ON {resource}"))?;
                write_list_of(f, of.as_deref(), *is_recursive)
            }
            AccessStatement::GrantRole { role, grantee } => write!(f, "{kind} {} TO {}", quoted(role), quoted(grantee)),
            AccessStatement::RevokeRole { role, revokee } => {
                write!(f, "{kind} {} FROM {}", quoted(role), quoted(revokee))
            }
            AccessStatement::Grant { permissions, on, grantee } => {
                write!(f, "{kind} {permissions} ON {on} TO {}", quoted(grantee))
            }
            AccessStatement::Revoke { permissions, on, revokee } => {
                write!(f, "{kind} {permissions} ON {on} FROM {}", quoted(revokee))
            }
            AccessStatement::AddIdentity { identity, role, if_not_exists: given } => {
                write!(f, "{kind} {}{} TO ROLE {}", if_not_exists(*given), quoted(identity), quoted(role))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn write_user_options(f: &mut Formatter<'_>, password: Option<&RolePassword>, superuser: Option<bool>) -> fmt::Result {
    if let Some(password) = password {
        f.write_str(" WITH ")?;
        write_password(f, password, " ")?;
    }
    f.write_str(match superuser {
        Some(true) => " SUPERUSER",
        Some(false) => " NOSUPERUSER",
        None => "",
    })
}

fn write_password(f: &mut Formatter<'_>, password: &RolePassword, joint: &str) -> fmt::Result {
    match password {
        RolePassword::Plain(password) => write!(f, "PASSWORD{joint}{}", quoted(password)),
        RolePassword::Hashed(hash) => write!(f, "HASHED PASSWORD{joint}{}", quoted(hash)),
        RolePassword::Generated => f.write_str("GENERATED PASSWORD"),
    }
}

fn write_list_of(f: &mut Formatter<'_>, of: Option<&str>, is_recursive: bool) -> fmt::Result {
    of.iter().try_for_each(|role| write!(f, " OF {}", quoted(role)))?;
    f.write_str(if is_recursive { "" } else { " NORECURSIVE" })
}

impl Display for RoleOptions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let RoleOptions { password, superuser, login, options, datacenters, cidr_groups } = self;
        let mut joints = [" WITH "].into_iter().chain(std::iter::repeat(" AND "));
        let mut join = |f: &mut Formatter<'_>| f.write_str(joints.next().unwrap_or_default());
        if let Some(password) = password {
            join(f)?;
            write_password(f, password, " = ")?;
        }
        for (name, value) in [("SUPERUSER", superuser), ("LOGIN", login)] {
            if let Some(value) = value {
                join(f)?;
                write!(f, "{name} = {value}")?;
            }
        }
        if let Some(options) = options {
            join(f)?;
            f.write_str("OPTIONS = {")?;
            write_separated(f, options, ", ", |f, (name, value)| write!(f, "{name}: {value}"))?;
            f.write_str("}")?;
        }
        for (access, things, restriction) in [("TO", "DATACENTERS", datacenters), ("FROM", "CIDRS", cidr_groups)] {
            if let Some(restriction) = restriction {
                join(f)?;
                write!(f, "ACCESS {access} ")?;
                write_restriction(f, things, restriction)?;
            }
        }
        Ok(())
    }
}

fn write_restriction(f: &mut Formatter<'_>, things: &str, restriction: &Restriction) -> fmt::Result {
    match restriction {
        Restriction::All => write!(f, "ALL {things}"),
        Restriction::Only(names) => {
            write!(f, "{things} {{")?;
            write_separated(f, names, ", ", |f, name| f.write_str(&quoted(name)))?;
            f.write_str("}")
        }
    }
}

impl Display for Permissions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Permissions::All => f.write_str("ALL PERMISSIONS"),
            Permissions::Listed(listed) => {
                write_separated(f, listed, ", ", |f, permission| f.write_str(permission.as_str()))
            }
        }
    }
}

impl Display for AccessResource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            AccessResource::AllKeyspaces => f.write_str("ALL KEYSPACES"),
            AccessResource::Keyspace(keyspace) => write!(f, "KEYSPACE {}", quote_identifier(keyspace)),
            AccessResource::AllTables(keyspace) => {
                write!(f, "ALL TABLES IN KEYSPACE {}", quote_identifier(keyspace))
            }
            AccessResource::Table(table) => write!(f, "TABLE {table}"),
            AccessResource::AllRoles => f.write_str("ALL ROLES"),
            AccessResource::Role(role) => write!(f, "ROLE {}", quoted(role)),
            AccessResource::AllFunctions => f.write_str("ALL FUNCTIONS"),
            AccessResource::KeyspaceFunctions(keyspace) => {
                write!(f, "ALL FUNCTIONS IN KEYSPACE {}", quote_identifier(keyspace))
            }
            AccessResource::Function { keyspace, name, arguments } => {
                f.write_str("FUNCTION ")?;
                write_qualified(f, Some(keyspace), name)?;
                f.write_str("(")?;
                write_separated(f, arguments, ", ", write_type)?;
                f.write_str(")")
            }
            AccessResource::AllMBeans => f.write_str("ALL MBEANS"),
            AccessResource::MBean(name) => write!(f, "MBEAN {}", quoted(name)),
        }
    }
}
