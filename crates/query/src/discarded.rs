//! Names of snapshots that hold what TRUNCATE and DROP discard.

use runtime::Runtime;

/// The time in such a name: milliseconds since 1970, as in Cassandra.
pub(crate) fn snapshot_time(runtime: &Runtime) -> String {
    (runtime.wall_clock_micros() / 1000).to_string()
}
