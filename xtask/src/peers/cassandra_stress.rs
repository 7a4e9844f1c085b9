//! cassandra-stress, the load generator of Cassandra's distributions: a second opinion on our own, where somebody has it.

use std::path::PathBuf;

const PROGRAM: &str = "cassandra-stress";

/// What helps where there is none.
pub const MISSING: &str = "no cassandra-stress in PATH, and none in a Cassandra distribution that CASSANDRA_HOME names (it is on no package registry)";

/// The program: in PATH, or in the distribution that `CASSANDRA_HOME` names.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = std::env::var_os("CASSANDRA_HOME").map(|home| PathBuf::from(home).join("tools/bin"));
    std::env::split_paths(&path).chain(home).map(|folder| folder.join(PROGRAM)).find(|program| program.is_file())
}
