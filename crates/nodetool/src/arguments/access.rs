//! Options of the commands about roles: the audit log, and the caches of Cassandra that are none here.

use std::path::PathBuf;

use clap::Args;

/// Options that are not given are those of the node's configuration.
#[derive(Debug, Args)]
pub(crate) struct EnableAuditLog {
    /// BinAuditLogger or FileAuditLogger: both write lines of JSON
    #[arg(long)]
    pub(crate) logger: Option<String>,
    /// Keyspaces, with commas
    #[arg(long)]
    pub(crate) included_keyspaces: Option<String>,
    /// Keyspaces, with commas
    #[arg(long)]
    pub(crate) excluded_keyspaces: Option<String>,
    /// QUERY, DML, DDL, DCL, AUTH, ERROR, PREPARE, OTHER, with commas
    #[arg(long)]
    pub(crate) included_categories: Option<String>,
    /// Categories, with commas
    #[arg(long)]
    pub(crate) excluded_categories: Option<String>,
    /// Roles, with commas
    #[arg(long)]
    pub(crate) included_users: Option<String>,
    /// Roles, with commas
    #[arg(long)]
    pub(crate) excluded_users: Option<String>,
    /// MINUTELY, HOURLY, DAILY, …
    #[arg(long)]
    pub(crate) roll_cycle: Option<String>,
    /// true: clients wait where the queue is full; false: entries are dropped
    #[arg(long)]
    pub(crate) blocking: Option<String>,
    /// Bytes of entries that may wait to be written
    #[arg(long)]
    pub(crate) max_queue_weight: Option<String>,
    /// Bytes of all files, above which the oldest is deleted
    #[arg(long)]
    pub(crate) max_log_size: Option<String>,
    /// Not supported
    #[arg(long)]
    pub(crate) archive_command: Option<String>,
    /// Ignored
    #[arg(long)]
    pub(crate) max_archive_retries: Option<String>,
}

/// `import-roles`
#[derive(Debug, Args)]
pub(crate) struct ImportRoles {
    /// Directory of a Cassandra's system_auth on this machine, or its data directory; flush or drain it before
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Print what would be imported, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Make roles that exist as the files have them
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CachedRoles {
    /// Roles [default: all]
    pub(crate) roles: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InvalidatePermissionsCache {
    /// Role [default: all]
    pub(crate) role_name: Option<String>,
    /// ALL KEYSPACES
    #[arg(long)]
    pub(crate) all_keyspaces: bool,
    /// A keyspace
    #[arg(long)]
    pub(crate) keyspace: Option<String>,
    /// All tables of the keyspace
    #[arg(long)]
    pub(crate) all_tables: bool,
    /// A table of the keyspace
    #[arg(long)]
    pub(crate) table: Option<String>,
    /// ALL ROLES
    #[arg(long)]
    pub(crate) all_roles: bool,
    /// A role
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// ALL FUNCTIONS
    #[arg(long)]
    pub(crate) all_functions: bool,
    /// The functions of a keyspace
    #[arg(long)]
    pub(crate) functions_in_keyspace: Option<String>,
    /// A function of that keyspace: name[type^type]
    #[arg(long)]
    pub(crate) function: Option<String>,
    /// ALL MBEANS
    #[arg(long)]
    pub(crate) all_mbeans: bool,
    /// An MBean
    #[arg(long)]
    pub(crate) mbean: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GetAuthCacheConfig {
    /// CredentialsCache, JmxPermissionsCache, NetworkPermissionsCache, PermissionsCache or RolesCache
    #[arg(long)]
    pub(crate) cache_name: String,
}

#[derive(Debug, Args)]
pub(crate) struct SetAuthCacheConfig {
    /// CredentialsCache, JmxPermissionsCache, NetworkPermissionsCache, PermissionsCache or RolesCache
    #[arg(long)]
    pub(crate) cache_name: String,
    /// Without effect
    #[arg(long)]
    pub(crate) validity_period: Option<i32>,
    /// Without effect
    #[arg(long)]
    pub(crate) update_interval: Option<i32>,
    /// Without effect
    #[arg(long)]
    pub(crate) max_entries: Option<i32>,
    /// Without effect
    #[arg(long)]
    pub(crate) enable_active_update: bool,
    /// Without effect
    #[arg(long)]
    pub(crate) disable_active_update: bool,
}
