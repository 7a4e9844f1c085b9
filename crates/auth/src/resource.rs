//! Resources: the things that permissions are granted on, in chains from the one to all.
//!
//! ```text
//! data/ks/t ─► data/ks/* ─► data/ks ─► data
//! functions/ks/f[types] ─► functions/ks ─► functions
//! roles/r ─► roles         mbean/name ─► mbean
//! ```

mod name;
mod object_name;

use std::fmt;

use cql_types::{CqlType, class_name};

use crate::permission::{Permission, PermissionSet};

pub use name::ResourceError;
pub(crate) use object_name::applies;

/// A thing that permissions are granted on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// All keyspaces: `data`.
    AllKeyspaces,
    /// A keyspace: `data/ks`.
    Keyspace(String),
    /// All tables of a keyspace, and its types: `data/ks/*`.
    AllTables(String),
    /// A table or view, with its keyspace first: `data/ks/t`.
    Table(String, String),
    /// All roles: `roles`.
    AllRoles,
    /// A role: `roles/r`.
    Role(String),
    /// All functions and aggregates: `functions`.
    AllFunctions,
    /// All functions and aggregates of a keyspace: `functions/ks`.
    KeyspaceFunctions(String),
    /// A function or aggregate: `functions/ks/f[types]`.
    Function {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        name: String,
        /// The classes of its arguments, as [`class_name`] writes them.
        arguments: Vec<String>,
    },
    /// All MBeans: `mbean`.
    AllMBeans,
    /// MBeans by name or pattern: `mbean/name`.
    MBean(String),
}

use Permission as P;

const TABLE: PermissionSet =
    PermissionSet::of(&[P::Alter, P::Drop, P::Select, P::Modify, P::Authorize, P::Unmask, P::SelectMasked]);
const TABLES: PermissionSet =
    PermissionSet::of(&[P::Create, P::Alter, P::Drop, P::Select, P::Modify, P::Authorize, P::Unmask, P::SelectMasked]);
const ROLE: PermissionSet = PermissionSet::of(&[P::Alter, P::Drop, P::Authorize, P::Describe]);
const ROLES: PermissionSet = PermissionSet::of(&[P::Create, P::Alter, P::Drop, P::Authorize, P::Describe]);
const FUNCTION: PermissionSet = PermissionSet::of(&[P::Alter, P::Drop, P::Authorize, P::Execute]);
const FUNCTIONS: PermissionSet = PermissionSet::of(&[P::Create, P::Alter, P::Drop, P::Authorize, P::Execute]);
const MBEAN: PermissionSet = PermissionSet::of(&[P::Select, P::Modify, P::Authorize, P::Describe, P::Execute]);

impl Resource {
    /// The resource of a table.
    pub fn table(keyspace: &str, table: &str) -> Resource {
        Resource::Table(keyspace.to_owned(), table.to_owned())
    }

    /// The resource of a function or aggregate.
    pub fn function(keyspace: &str, name: &str, arguments: &[CqlType]) -> Resource {
        let arguments = arguments.iter().map(class_name::class_name).collect();
        Resource::Function { keyspace: keyspace.to_owned(), name: name.to_owned(), arguments }
    }

    /// The next one of the chain; `None` at its end.
    pub fn parent(&self) -> Option<Resource> {
        match self {
            Resource::Table(keyspace, _) => Some(Resource::AllTables(keyspace.clone())),
            Resource::AllTables(keyspace) => Some(Resource::Keyspace(keyspace.clone())),
            Resource::Keyspace(_) => Some(Resource::AllKeyspaces),
            Resource::Role(_) => Some(Resource::AllRoles),
            Resource::Function { keyspace, .. } => Some(Resource::KeyspaceFunctions(keyspace.clone())),
            Resource::KeyspaceFunctions(_) => Some(Resource::AllFunctions),
            Resource::MBean(_) => Some(Resource::AllMBeans),
            Resource::AllKeyspaces | Resource::AllRoles | Resource::AllFunctions | Resource::AllMBeans => None,
        }
    }

    /// The resource, its parent, and so on.
    pub fn chain(&self) -> impl Iterator<Item = Resource> {
        std::iter::successors(Some(self.clone()), Resource::parent)
    }

    /// The keyspace that it is, or is in.
    pub fn keyspace(&self) -> Option<&str> {
        match self {
            Resource::Keyspace(keyspace)
            | Resource::AllTables(keyspace)
            | Resource::Table(keyspace, _)
            | Resource::KeyspaceFunctions(keyspace)
            | Resource::Function { keyspace, .. } => Some(keyspace),
            _ => None,
        }
    }

    /// True for keyspaces, tables, and all of them.
    pub fn is_data(&self) -> bool {
        self.type_name() == "DataResource"
    }

    /// True for functions, and all of them.
    pub fn is_function(&self) -> bool {
        self.type_name() == "FunctionResource"
    }

    /// The permissions that may be granted on it.
    pub fn applicable(&self) -> PermissionSet {
        match self {
            Resource::AllKeyspaces | Resource::Keyspace(_) | Resource::AllTables(_) => TABLES,
            Resource::Table(..) => TABLE,
            Resource::AllRoles => ROLES,
            Resource::Role(_) => ROLE,
            Resource::AllFunctions | Resource::KeyspaceFunctions(_) => FUNCTIONS,
            Resource::Function { .. } => FUNCTION,
            Resource::AllMBeans | Resource::MBean(_) => MBEAN,
        }
    }

    /// Cassandra's name of its type, which a refusal names.
    pub fn type_name(&self) -> &'static str {
        match self {
            Resource::AllKeyspaces | Resource::Keyspace(_) | Resource::AllTables(_) | Resource::Table(..) => {
                "DataResource"
            }
            Resource::AllRoles | Resource::Role(_) => "RoleResource",
            Resource::AllFunctions | Resource::KeyspaceFunctions(_) | Resource::Function { .. } => "FunctionResource",
            Resource::AllMBeans | Resource::MBean(_) => "JMXResource",
        }
    }
}

/// As messages name it: `<table ks.t>`.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::AllKeyspaces => f.write_str("<all keyspaces>"),
            Resource::Keyspace(keyspace) => write!(f, "<keyspace {keyspace}>"),
            Resource::AllTables(keyspace) => write!(f, "<all tables in {keyspace}>"),
            Resource::Table(keyspace, table) => write!(f, "<table {keyspace}.{table}>"),
            Resource::AllRoles => f.write_str("<all roles>"),
            Resource::Role(role) => write!(f, "<role {role}>"),
            Resource::AllFunctions => f.write_str("<all functions>"),
            Resource::KeyspaceFunctions(keyspace) => write!(f, "<all functions in {keyspace}>"),
            Resource::Function { keyspace, name, arguments } => {
                let types = arguments.iter().map(|class| match class_name::parse(class) {
                    Ok(ty) => ty.to_string(),
                    Err(_) => class.clone(),
                });
                write!(f, "<function {keyspace}.{name}({})>", types.collect::<Vec<_>>().join(", "))
            }
            Resource::AllMBeans => f.write_str("<all mbeans>"),
            Resource::MBean(name) => write!(f, "<mbean {name}>"),
        }
    }
}

#[cfg(test)]
mod tests;
