//! One run of the packing: its sources and its bounds.

use std::path::Path;
use std::time::{Duration, SystemTime};

/// The version of everything in the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Time after which a tool that packs counts as hung.
pub const PACK_TIME: Duration = Duration::from_secs(600);

/// Effort of the compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressing {
    /// As small as the tools can, for what is shipped.
    Small,
    /// Within a second, for tests.
    Quick,
}

/// Sources of a run, and where its packages go.
pub struct Order<'a> {
    /// The binary, with its symbols.
    pub binary: &'a Path,
    /// The program that writes man pages and completions.
    pub pages: &'a Path,
    /// The folder of the packages.
    pub out: &'a Path,
    /// The time of everything that is packed.
    pub date: SystemTime,
    /// Effort of the compression.
    pub pressing: Pressing,
}

/// Seconds since 1970.
pub fn seconds(date: SystemTime) -> u64 {
    date.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A text file.
pub fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}
