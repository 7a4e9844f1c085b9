//! How much CPU time a process has used, as `/proc` says: threads that have ended are counted too, to hundredths of a second.

use std::time::Duration;

/// What `/proc` counts in: user space sees a hundred of them a second on every architecture.
const UNIT_MILLIS: u64 = 10;

/// Time in user and in kernel mode, the 14th and 15th field of what stands in `/proc/PID/stat`. The second is the process' name, which may
/// hold anything but ends with the last bracket.
pub fn of_stat(stat: &str) -> Option<Duration> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let user: u64 = fields.nth(11)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    user.checked_add(system)?.checked_mul(UNIT_MILLIS).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 25 5 0 0 20 0 4 0 100 1 2";
        assert_eq!(of_stat(stat), Some(Duration::from_millis(300)));
        assert_eq!(of_stat("nonsense"), None);
        assert_eq!(of_stat("7 (a) S 1 7 7"), None);
    }
}
