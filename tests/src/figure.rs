//! Figures of the clock: told in every run, judged by a soak alone, since a busy machine misses any aim.

use std::time::Duration;

use crate::pick;

/// Tells a time beside its aim, on a line that `cargo xtask ci` keeps. A soak fails if the aim is missed.
pub fn tell_time(what: &str, time: Duration, aim: Duration) {
    tell(what, time.as_secs_f64() * 1000.0, "ms", aim.as_secs_f64() * 1000.0);
}

/// Tells a share of a core beside its aim, likewise.
pub fn tell_share(what: &str, share: f64, aim: f64) {
    tell(what, share * 100.0, "% of a core", aim * 100.0);
}

fn tell(what: &str, value: f64, unit: &str, aim: f64) {
    let line = line(what, value, unit, aim);
    println!("{line}");
    assert!(pick(true, value <= aim), "{line}");
}

fn line(what: &str, value: f64, unit: &str, aim: f64) -> String {
    let verdict = if value <= aim { "" } else { " MISSED" };
    format!("figure: {value:.2} {unit}: {what} (aim {aim:.2}){verdict}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_aim_ends_its_line() {
        assert_eq!(line("start", 16.0, "ms", 60.0), "figure: 16.00 ms: start (aim 60.00)");
        assert_eq!(line("start", 61.0, "ms", 60.0), "figure: 61.00 ms: start (aim 60.00) MISSED");
    }
}
