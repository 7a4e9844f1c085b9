//! The settings of hints, under the names of `cassandra.yaml`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a shard keeps and delivers hints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintOptions {
    /// `hints_directory`, of all shards. `None`: no hint is kept, and none is looked for.
    pub dir: Option<PathBuf>,
    /// `hinted_handoff_enabled`: hints are kept.
    pub is_enabled: bool,
    /// `hinted_handoff_disabled_datacenters`: none is kept for their nodes.
    pub disabled_datacenters: BTreeSet<String>,
    /// `max_hint_window`: time after the oldest hint of a node after which no further one is kept for it.
    pub window: Duration,
    /// `hinted_handoff_throttle`: bytes a second that the node sends to another; 0: no limit.
    pub throttle: u64,
    /// `max_hints_file_size`: length from which a file is sealed.
    pub file_bytes_max: u64,
    /// `max_hints_size_per_host`, of all shards; `None`: a quarter of what all hints may take.
    pub host_bytes_max: Option<u64>,
    /// `hints_flush_period`: time after which what was written is synced, if nothing asks for it sooner.
    pub flush_period: Duration,
    /// `min_free_space_per_drive`: bytes of the disk that hints leave free.
    pub disk_reserve: u64,
}

impl HintOptions {
    /// Name of the folder of hints in a node's data folder.
    pub const FOLDER: &str = "hints";
    /// Cassandra's default throttle.
    pub const THROTTLE: u64 = 1 << 20;
    /// Cassandra's default window.
    pub const WINDOW: Duration = Duration::from_secs(3 * 3600);
    /// The default length of a file.
    pub const FILE_BYTES: u64 = 32 << 20;
    /// Cassandra's default flush period.
    pub const FLUSH_PERIOD: Duration = Duration::from_secs(10);

    /// Defaults of a node with that data folder, which keeps its hints there.
    pub fn in_data_dir(data_dir: &Path) -> HintOptions {
        HintOptions { dir: Some(data_dir.join(HintOptions::FOLDER)), ..HintOptions::default() }
    }
}

impl Default for HintOptions {
    fn default() -> Self {
        HintOptions {
            dir: None,
            is_enabled: true,
            disabled_datacenters: BTreeSet::new(),
            window: HintOptions::WINDOW,
            throttle: HintOptions::THROTTLE,
            file_bytes_max: HintOptions::FILE_BYTES,
            host_bytes_max: None,
            flush_period: HintOptions::FLUSH_PERIOD,
            disk_reserve: 0,
        }
    }
}
