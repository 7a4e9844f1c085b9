//! What the disk has left, and who may take how much of it.
//!
//! ```text
//! left on the disk
//! ├─ 3 reserves   compactions leave so much: they can wait, and a flush cannot for long
//! ├─ 2 reserves   the commit log makes no segment below it: writes are refused
//! ├─ 1 reserve    flushes leave so much
//! └─ 0            the manifest and the metadata log may take the rest: by their records room is given back
//! ```
//!
//! Each looks before it takes, and a shard does not wait for the others' looks: that a few of them take something at the same moment is
//! what the distance between two lines is for.

use std::io;
use std::path::Path;

use runtime::Runtime;

/// Who takes room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskReservation {
    /// A flush.
    Flush,
    /// A new segment of the commit log.
    CommitLog,
    /// A compaction's outputs.
    Compaction,
}

impl DiskReservation {
    /// How many reserves it leaves.
    fn reserves(self) -> u64 {
        match self {
            DiskReservation::Flush => 1,
            DiskReservation::CommitLog => 2,
            DiskReservation::Compaction => 3,
        }
    }
}

/// Fails as a full disk does if `taker` may not take `bytes` of the disk that holds `folder`.
pub async fn require(
    runtime: &Runtime,
    folder: &Path,
    reserve: u64,
    taker: DiskReservation,
    bytes: u64,
) -> io::Result<()> {
    if reserve == 0 {
        return Ok(());
    }
    let left = reserve.saturating_mul(taker.reserves());
    // A file system that does not say it is asked by writing to it.
    let Ok(free) = runtime.free_bytes(folder).await else { return Ok(()) };
    if free >= left.saturating_add(bytes) {
        return Ok(());
    }
    stdx::sometimes!("room refused before the disk is full");
    // No figure that changes: what is tried again and again is reported once.
    let message = format!("disk nearly full; the last {} are reserved for operations that free space", shown(left));
    Err(io::Error::new(io::ErrorKind::StorageFull, message))
}

fn shown(bytes: u64) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}
