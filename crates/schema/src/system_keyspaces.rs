//! The keyspaces that are the server's own, by name: what users may not change.

/// On each node its own.
pub const LOCAL: [&str; 2] = ["system", "system_schema"];

/// Replicated; users may not change their tables.
pub const REPLICATED: [&str; 3] = ["system_auth", "system_distributed", "system_traces"];

/// Made up when they are read.
pub const VIRTUAL: [&str; 2] = ["system_views", "system_virtual_schema"];

/// Whether `keyspace` is on each node its own.
pub fn is_local(keyspace: &str) -> bool {
    LOCAL.contains(&keyspace)
}

/// Whether `keyspace` is one of the server's replicated ones.
pub fn is_replicated(keyspace: &str) -> bool {
    REPLICATED.contains(&keyspace)
}

/// Whether `keyspace` is virtual.
pub fn is_virtual(keyspace: &str) -> bool {
    VIRTUAL.contains(&keyspace)
}

/// Whether `keyspace` is the server's own in any way.
pub fn is_system(keyspace: &str) -> bool {
    is_local(keyspace) || is_replicated(keyspace) || is_virtual(keyspace)
}
