//! The names of resources, as `system_auth.role_permissions` and files of Cassandra have them: `data/ks/t`.

use cql_types::class_name;

use super::Resource;

const DATA: &str = "data";
const ROLES: &str = "roles";
const FUNCTIONS: &str = "functions";
const MBEAN: &str = "mbean";
const ALL_TABLES: &str = "*";

/// Refusal of a name, in Cassandra's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// It begins as those of this kind.
    #[error("{name} is not a valid {kind} resource name{advice}")]
    Kind {
        /// The name.
        name: String,
        /// The kind of resource.
        kind: &'static str,
        /// Its end, if that is wrong.
        advice: &'static str,
    },
    /// It begins as none.
    #[error("Name {name} is not valid for any resource type")]
    Other {
        /// The name.
        name: String,
    },
}

impl Resource {
    /// Its name.
    pub fn name(&self) -> String {
        match self {
            Resource::AllKeyspaces => DATA.to_owned(),
            Resource::Keyspace(keyspace) => format!("{DATA}/{keyspace}"),
            Resource::AllTables(keyspace) => format!("{DATA}/{keyspace}/{ALL_TABLES}"),
            Resource::Table(keyspace, table) => format!("{DATA}/{keyspace}/{table}"),
            Resource::AllRoles => ROLES.to_owned(),
            Resource::Role(role) => format!("{ROLES}/{role}"),
            Resource::AllFunctions => FUNCTIONS.to_owned(),
            Resource::KeyspaceFunctions(keyspace) => format!("{FUNCTIONS}/{keyspace}"),
            Resource::Function { keyspace, name, arguments } => {
                format!("{FUNCTIONS}/{keyspace}/{name}[{}]", arguments.join("^"))
            }
            Resource::AllMBeans => MBEAN.to_owned(),
            Resource::MBean(name) => format!("{MBEAN}/{name}"),
        }
    }

    /// The resource of that name.
    pub fn of_name(name: &str) -> Result<Resource, ResourceError> {
        let refused = |advice| {
            let kinds = [(ROLES, "role"), (DATA, "data"), (FUNCTIONS, "function"), (MBEAN, "JMX")];
            let name = name.to_owned();
            match kinds.into_iter().find(|(root, _)| name.starts_with(root)) {
                Some((_, kind)) => ResourceError::Kind { name, kind, advice },
                None => ResourceError::Other { name },
            }
        };
        let (root, rest) = name.split_once('/').map_or((name, None), |(root, rest)| (root, Some(rest)));
        if rest.is_some_and(str::is_empty) {
            return Err(refused(""));
        }
        match (root, rest) {
            (DATA, None) => Ok(Resource::AllKeyspaces),
            (DATA, Some(rest)) => data(rest).ok_or_else(|| refused("")),
            (ROLES, None) => Ok(Resource::AllRoles),
            (ROLES, Some(role)) => Ok(Resource::Role(role.to_owned())),
            (FUNCTIONS, None) => Ok(Resource::AllFunctions),
            (FUNCTIONS, Some(rest)) if !rest.contains('/') => Ok(Resource::KeyspaceFunctions(rest.to_owned())),
            (FUNCTIONS, Some(_)) if !name.ends_with(']') => Err(refused(". It must end with \"[]\"")),
            (FUNCTIONS, Some(rest)) => function(rest).ok_or_else(|| refused("")),
            (MBEAN, None) => Ok(Resource::AllMBeans),
            (MBEAN, Some(name)) => Ok(Resource::MBean(name.to_owned())),
            _ => Err(refused("")),
        }
    }
}

fn data(rest: &str) -> Option<Resource> {
    let Some((keyspace, table)) = rest.split_once('/') else {
        return Some(Resource::Keyspace(rest.to_owned()));
    };
    let is_whole = !keyspace.is_empty() && !table.is_empty() && !table.contains('/');
    is_whole.then(|| match table {
        ALL_TABLES => Resource::AllTables(keyspace.to_owned()),
        _ => Resource::table(keyspace, table),
    })
}

fn function(rest: &str) -> Option<Resource> {
    let (keyspace, function) = rest.split_once('/')?;
    let (name, arguments) = function.strip_suffix(']')?.rsplit_once('[')?;
    let arguments = arguments.split('^').filter(|class| !class.is_empty()).map(canonical);
    let is_whole = !keyspace.is_empty() && !name.is_empty();
    let arguments = arguments.collect::<Option<Vec<_>>>().filter(|_| is_whole)?;
    Some(Resource::Function { keyspace: keyspace.to_owned(), name: name.to_owned(), arguments })
}

/// A class of an argument as this code writes it.
fn canonical(class: &str) -> Option<String> {
    class_name::parse(class.trim()).ok().map(|ty| class_name::class_name(&ty))
}
