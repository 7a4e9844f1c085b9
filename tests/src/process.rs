//! What the kernel says of a process.

use std::time::Duration;

/// Bytes of a process in memory.
pub fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process in user space has memory");
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("the kernel writes a number");
    kib * 1024
}

/// CPU time that a process used in user and kernel mode since its start, to the nanosecond where the scheduler tells it.
pub fn cpu_time(pid: u32) -> Duration {
    // schedstat is per thread; the main thread's file alone would leave out the shards.
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the process is there");
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}
