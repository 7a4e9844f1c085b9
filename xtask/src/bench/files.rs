//! The files of a server under test, its memory's and its disk's counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Files that have not changed for so long are not compacted.
const SETTLED: Duration = Duration::from_secs(15);
/// How long compactions may take after a load.
const SETTLING_MAX: Duration = Duration::from_secs(900);

/// What is there when compactions have ended.
pub struct Settled {
    /// How long that took after the load.
    pub time: Duration,
    /// Files of data.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The most bytes that they had together meanwhile.
    pub bytes_most: u64,
}

/// Waits until no compaction has changed the files below a folder for a while: what one takes would be counted for what follows.
pub fn settle(folder: &Path, is_of_table: &dyn Fn(&Path) -> bool) -> Result<Settled, String> {
    let began = Instant::now();
    let look =
        || -> BTreeMap<PathBuf, u64> { data_files(folder).into_iter().filter(|(path, _)| is_of_table(path)).collect() };
    let mut files = look();
    let mut since = Instant::now();
    let mut bytes_most = 0;
    while since.elapsed() < SETTLED {
        if began.elapsed() > SETTLING_MAX {
            return Err(format!("the files still change after {} s", SETTLING_MAX.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(200));
        let now = look();
        bytes_most = bytes_most.max(now.values().sum());
        if now != files {
            (files, since) = (now, Instant::now());
        }
    }
    let time = began.elapsed().saturating_sub(SETTLED);
    Ok(Settled { time, files: files.len(), bytes: files.values().sum(), bytes_most })
}

/// The files of data below a folder and their lengths.
fn data_files(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    // What is removed between two looks is not there.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => found.extend(data_files(&path)),
            Ok(metadata) if path.to_string_lossy().ends_with("-Data.db") => drop(found.insert(path, metadata.len())),
            _ => {}
        }
    }
    found
}

/// Bytes that a process has had written to disks, log and files alike.
pub fn written_bytes(pid: u32) -> Result<u64, String> {
    let path = format!("/proc/{pid}/io");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes:"));
    line.and_then(|bytes| bytes.trim().parse().ok()).ok_or_else(|| format!("{path} has no write_bytes"))
}

/// Reads that the folder's disk has completed since the machine started: whatever else reads it is counted too.
pub fn device_reads(folder: &Path) -> Result<u64, String> {
    use std::os::unix::fs::MetadataExt;
    let device = std::fs::metadata(folder).map_err(|error| format!("{}: {error}", folder.display()))?.dev();
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00));
    let statistics = std::fs::read_to_string("/proc/diskstats").map_err(|error| format!("/proc/diskstats: {error}"))?;
    let line = statistics.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.first()? == &major.to_string() && fields.get(1)? == &minor.to_string();
        is_it.then(|| fields.get(3).and_then(|reads| reads.parse().ok()))?
    });
    line.ok_or_else(|| format!("the disk {major}:{minor} has no line in /proc/diskstats"))
}
