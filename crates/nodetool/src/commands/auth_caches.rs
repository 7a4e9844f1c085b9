//! Cassandra's caches of roles, permissions and credentials, which are none here: each node checks by the state of access in its memory, and every change of it is there before the client
//! has its answer. The commands are for scripts that know them. They ask the node for its version, so that a node that cannot be reached, or refuses the user, is an error as with others.

use serde::Serialize;

use crate::arguments::{InvalidatePermissionsCache, SetAuthCacheConfig};
use crate::error::ToolError;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

/// A cache of Cassandra's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cache {
    Credentials,
    JmxPermissions,
    NetworkPermissions,
    Permissions,
    Roles,
    /// These have no configuration in Cassandra's `getauthcacheconfig`.
    CidrPermissions,
    CidrGroups,
    Key,
    Counter,
}

/// Those with a configuration, in the order in which Cassandra lists them.
const CONFIGURED: [Cache; 5] =
    [Cache::Credentials, Cache::JmxPermissions, Cache::NetworkPermissions, Cache::Permissions, Cache::Roles];

impl Cache {
    fn name(self) -> &'static str {
        match self {
            Cache::Credentials => "CredentialsCache",
            Cache::JmxPermissions => "JmxPermissionsCache",
            Cache::NetworkPermissions => "NetworkPermissionsCache",
            Cache::Permissions => "PermissionsCache",
            Cache::Roles => "RolesCache",
            Cache::CidrPermissions => "CidrPermissionsCache",
            Cache::CidrGroups => "CidrGroupsCache",
            Cache::Key => "KeyCache",
            Cache::Counter => "CounterCache",
        }
    }

    fn named(name: &str) -> Result<Cache, ToolError> {
        let found = CONFIGURED.into_iter().find(|cache| cache.name() == name);
        found.ok_or_else(|| ToolError::usage(format!("Unknown cache name: {name}")))
    }

    /// Why there is nothing to invalidate.
    fn reason(self) -> &'static str {
        match self {
            Cache::Credentials => {
                "a password that was right is remembered for credentials_validity, by the stored hash that it was verified against: a changed password is verified again"
            }
            Cache::Key => "there is no key cache",
            Cache::Counter => "there is no counter cache",
            _ => {
                "each node checks by the roles and permissions in its memory, which have every change when it is answered"
            }
        }
    }
}

#[derive(Serialize)]
struct Without {
    cache: &'static str,
    is_cached: bool,
    #[serde(skip)]
    what: &'static str,
    #[serde(skip)]
    reason: &'static str,
}

impl Report for Without {
    fn text(&self) -> String {
        format!("{}: nothing to {}: {}\n", self.cache, self.what, self.reason)
    }
}

fn without(cache: Cache, what: &'static str, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    node.get::<String>(Request::get("/storage_service/release_version"))?;
    Ok(Answer::of(&Without { cache: cache.name(), is_cached: false, what, reason: cache.reason() }))
}

pub(super) fn invalidate(cache: Cache, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    without(cache, "invalidate", node)
}

pub(super) fn reload(cache: Cache, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    without(cache, "reload", node)
}

pub(super) fn config(name: &str, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    without(Cache::named(name)?, "configure", node)
}

pub(super) fn set_config(arguments: &SetAuthCacheConfig, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let SetAuthCacheConfig { validity_period, update_interval, max_entries, .. } = arguments;
    let (enables, disables) = (arguments.enable_active_update, arguments.disable_active_update);
    if enables && disables {
        let sentence = "enable-active-update and disable-active-update cannot be used together";
        return Err(ToolError::usage(sentence));
    }
    let is_given = [validity_period, update_interval, max_entries].into_iter().any(Option::is_some);
    if !is_given && !enables && !disables {
        return Err(ToolError::usage("At least one optional parameter need to be passed"));
    }
    config(&arguments.cache_name, node)
}

/// With the checks of Cassandra: a role goes with a resource.
pub(super) fn invalidate_permissions(
    arguments: &InvalidatePermissionsCache,
    node: &mut dyn Surroundings,
) -> Result<Answer, ToolError> {
    let InvalidatePermissionsCache { keyspace, table, all_tables, functions_in_keyspace, function, .. } = arguments;
    let is_wide = arguments.all_keyspaces || arguments.all_roles || arguments.all_functions || arguments.all_mbeans;
    let named = [keyspace, table, &arguments.role, functions_in_keyspace, function, &arguments.mbean];
    let has_resource = is_wide || *all_tables || named.into_iter().any(Option::is_some);
    let lacks = |option: &str, other: &str| {
        Err(ToolError::usage(format!("--{option} option should be passed along with --{other} option")))
    };
    match &arguments.role_name {
        None if has_resource => Err(ToolError::usage("No resource options allowed without a <role> being specified")),
        Some(_) if !has_resource => Err(ToolError::usage("No resource options specified")),
        Some(_) if *all_tables && keyspace.is_none() => lacks("all-tables", "keyspace"),
        Some(_) if table.is_some() && keyspace.is_none() => lacks("table", "keyspace"),
        Some(_) if function.is_some() && functions_in_keyspace.is_none() => lacks("function", "functions-in-keyspace"),
        _ => invalidate(Cache::Permissions, node),
    }
}
