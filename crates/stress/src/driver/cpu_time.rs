//! How much CPU time this process has used: threads that have ended are counted too, to hundredths of a second.

use std::time::Duration;

/// What `/proc` counts in: user space sees a hundred of them a second on every architecture.
const UNIT: Duration = Duration::from_millis(10);

/// The CPU time of this process so far; none where `/proc` does not say.
pub(crate) fn so_far() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    parse(&text)
}

/// The fields `utime` and `stime`, the 14th and 15th; the second is a name that may have anything in it, parentheses around it.
fn parse(text: &str) -> Option<Duration> {
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut units = || fields.next()?.parse::<u32>().ok();
    Some(UNIT * (units()? + units()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added() {
        let text = "7 (a) b) (c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 3 0 99";
        assert_eq!(parse(text), Some(Duration::from_secs(2)));
        assert_eq!(parse("nonsense"), None);
        assert!(so_far().is_some());
    }
}
