//! How much CPU time a process has used, to the nanosecond: `/proc/PID/stat` counts in ticks of 10 ms, but each thread's
//! `schedstat` begins with its time on a CPU in nanoseconds.

use std::io;
use std::path::Path;
use std::time::Duration;

use runtime::Runtime;

use crate::StressError;

/// No such process.
const ESRCH: i32 = 3;

/// The CPU time of all threads of a process, by its number or `self`. Threads that end are no longer counted, so it is of
/// use only while the process keeps its threads.
pub(crate) async fn of_process(runtime: &Runtime, pid: &str) -> Result<Duration, StressError> {
    let failed = |source| StressError::CpuTime { pid: pid.to_owned(), source };
    let tasks = Path::new("/proc").join(pid).join("task");
    let mut nanos = 0u64;
    for entry in runtime.read_dir(&tasks).await.map_err(failed)? {
        match runtime.read_file(&tasks.join(&entry.name).join("schedstat")).await {
            Ok(text) => nanos += first_number(&text).ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))?,
            Err(error) if has_ended(&error) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(Duration::from_nanos(nanos))
}

/// Whether that says of a thread that it has ended since it was listed, or since its file was opened.
fn has_ended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH)
}

fn first_number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_ends_meanwhile_is_no_failure() {
        assert!(has_ended(&io::Error::from_raw_os_error(ESRCH)));
        assert!(has_ended(&io::ErrorKind::NotFound.into()));
        assert!(!has_ended(&io::ErrorKind::PermissionDenied.into()));
    }

    #[test]
    fn the_first_number_is_taken() {
        assert_eq!(first_number(b"91408 1418904 2\n"), Some(91408));
        assert_eq!(first_number(b""), None);
    }
}
