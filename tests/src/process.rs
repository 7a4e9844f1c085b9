//! What the kernel says of a process.

use std::process::Command;
use std::time::{Duration, Instant};

/// Bytes of a process in memory.
pub fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process in user space has memory");
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("the kernel writes a number");
    kib * 1024
}

/// Sends a signal to a process; false if it is gone.
pub fn signal(pid: u32, name: &str) -> bool {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    sent.expect("kill is there").success()
}

/// Stops a process (SIGSTOP), and waits until the kernel runs none of its threads.
pub fn pause(pid: u32, patience: Duration) {
    assert!(signal(pid, "STOP"), "process {pid} was gone before SIGSTOP");
    let deadline = Instant::now() + patience;
    while !all_threads_are_stopped(pid) {
        assert!(Instant::now() < deadline, "not all threads stand still within {patience:?} of SIGSTOP");
        std::thread::yield_now();
    }
}

/// True if the kernel runs no thread of the process.
fn all_threads_are_stopped(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the process runs");
    threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("stat")).ok()).all(|stat| {
        // The state follows the name, which is in parentheses.
        stat.rsplit_once(')').is_some_and(|(_, after)| after.trim_start().starts_with('T'))
    })
}

/// CPU time that a process used in user and kernel mode since its start, to the nanosecond where the scheduler tells it.
fn cpu_time(pid: u32) -> Duration {
    // schedstat is per thread; the main thread's file alone would leave out the shards.
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the process is there");
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// The share of a core that a process uses second by second, with `each` done in each of them: a quarter of the seconds stay at or below it.
/// Seconds end as soon as that quarter, `enough` of them, is below `bound`.
///
/// What the host of this machine does beside it is told as the process's time too, but not in each second; what the process does is.
pub fn share_of_a_core(pid: u32, bound: f64, enough: usize, mut each: impl FnMut()) -> f64 {
    let second = Duration::from_secs(1);
    let mut shares: Vec<f64> = Vec::new();
    for _ in 0..4 * enough {
        let (used, began) = (cpu_time(pid), Instant::now());
        each();
        std::thread::sleep(second.saturating_sub(began.elapsed()));
        // A thread that the kernel has ended meanwhile took its time out of the sum.
        if let Some(used) = cpu_time(pid).checked_sub(used) {
            shares.push(used.as_secs_f64() / began.elapsed().as_secs_f64());
        }
        if shares.iter().filter(|&&share| share < bound).count() >= enough {
            break;
        }
    }
    shares.sort_by(f64::total_cmp);
    *shares.get(enough - 1).expect("threads of the process end all the time")
}
