//! `--sweep`: what a latency is at rates from few operations to what saturates the server, and the best rate at which it stays below a bound.
//!
//! First a closed loop, whose rate is the saturation's. Then fixed rates, from a tenth of that on, a tenth more each, until one is not kept. Then
//! rates half-way between the best that held the bound and the lowest above it that did not, until the two are close.
//!
//! The **knee** is where latency begins to grow faster than the rate: both are laid between 0 and 1, and it is the level that lies deepest below the line
//! from the first to the last (V. Satopää and others, "Finding a 'Kneedle' in a Haystack", 2011).

use std::fmt;
use std::str::FromStr;

use super::report::Report;
use super::statistics::Statistic;

/// The levels that are always tried.
const TENTHS: u64 = 10;
/// Rates that are this share of the saturation's apart are told apart no further.
const APART: f64 = 0.02;
/// Rates between two that are tried at most.
const HALVINGS_MAX: usize = 5;

/// What a latency must stay below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bound {
    statistic: Statistic,
    millis: f64,
}

impl FromStr for Bound {
    type Err = ();

    /// `p99<10ms`, `max<500us`.
    fn from_str(text: &str) -> Result<Bound, ()> {
        let (name, time) = text.split_once('<').ok_or(())?;
        let (digits, unit) = match (time.strip_suffix("ms"), time.strip_suffix("us")) {
            (Some(digits), _) => (digits, 1.0),
            (_, Some(digits)) => (digits, 1e-3),
            (None, None) => (time.strip_suffix('s').ok_or(())?, 1e3),
        };
        let millis = digits.parse::<f64>().map_err(drop)? * unit;
        let statistic = Statistic::ALL.into_iter().find(|statistic| statistic.name() == name).ok_or(())?;
        if millis.is_finite() && millis > 0.0 { Ok(Bound { statistic, millis }) } else { Err(()) }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} < {} ms", self.statistic.name(), self.millis)
    }
}

/// What was found at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    rate: u64,
    latency: f64,
    /// Whether the server did what was asked.
    is_kept: bool,
}

/// A sweep under way, or done.
#[derive(Debug)]
pub(crate) struct Sweep {
    bound: Bound,
    /// Operations a second of the closed loop.
    saturation: f64,
    levels: Vec<Level>,
}

impl Sweep {
    /// A sweep below the rate that a closed loop came to.
    pub(crate) fn below(saturation: f64, bound: Bound) -> Sweep {
        Sweep { bound, saturation, levels: Vec::new() }
    }

    /// Takes in what was measured at a fixed rate.
    pub(crate) fn note(&mut self, report: &Report) {
        let (Some(rate), Some(is_kept)) = (report.rate, report.is_rate_kept) else { return };
        let total = report.measured.total();
        let latency = self.bound.statistic.of(total.latency());
        // Where nothing was done in the time, or in vain, nothing was kept.
        self.levels.push(Level { rate, latency, is_kept: is_kept && total.count() > 0 && total.errors == 0 });
    }

    /// The rate to try next; none is the end.
    pub(crate) fn next(&self) -> Option<u64> {
        let tenth = |number: u64| (self.saturation * number as f64 / TENTHS as f64) as u64;
        let tried = self.levels.len() as u64;
        let is_beyond = self.levels.iter().any(|level| !level.is_kept);
        if tried < TENTHS && !is_beyond {
            return Some(tenth(tried + 1)).filter(|rate| *rate > 0);
        }
        let halvings =
            self.levels.iter().filter(|level| (1..=TENTHS).all(|number| tenth(number) != level.rate)).count();
        let best = self.best().unwrap_or(0);
        let lowest = self.lowest_that_does_not_hold()?;
        let is_close = (lowest - best) as f64 <= self.saturation * APART;
        Some(best + (lowest - best) / 2).filter(|rate| *rate > best && !is_close && halvings < HALVINGS_MAX)
    }

    fn holds(&self, level: &Level) -> bool {
        level.is_kept && level.latency < self.bound.millis
    }

    fn lowest_that_does_not_hold(&self) -> Option<u64> {
        self.levels.iter().filter(|level| !self.holds(level)).map(|level| level.rate).min()
    }

    /// The best rate that held the bound, as all below it did.
    pub(crate) fn best(&self) -> Option<u64> {
        let end = self.lowest_that_does_not_hold().unwrap_or(u64::MAX);
        self.levels.iter().map(|level| level.rate).filter(|rate| *rate < end).max()
    }

    /// Where latency begins to grow faster than the rate. None: of fewer than three levels, or of latencies that do not grow, nothing can be said.
    pub(crate) fn knee(&self) -> Option<u64> {
        let mut kept: Vec<&Level> = self.levels.iter().filter(|level| level.is_kept).collect();
        kept.sort_by_key(|level| level.rate);
        let [first, .., last] = kept[..] else { return None };
        let (width, height) = ((last.rate - first.rate) as f64, last.latency - first.latency);
        if kept.len() < 3 || height <= 0.0 {
            return None;
        }
        let depth = |level: &Level| (level.rate - first.rate) as f64 / width - (level.latency - first.latency) / height;
        kept.into_iter().max_by(|one, other| depth(one).total_cmp(&depth(other))).map(|level| level.rate)
    }

    /// The sweep for people; `reports` are its runs, the closed loop's first.
    pub(crate) fn text(&self, reports: &[Report]) -> String {
        let mut reports: Vec<&Report> = reports.iter().filter(|report| report.rate.is_some()).collect();
        reports.sort_by_key(|report| report.rate);
        let mut out = format!("\nSweep:\n{:>12}{:>12}", "asked/s", "done/s");
        Statistic::ALL.iter().for_each(|one| out.push_str(&format!("{:>12}", format!("{} ms", one.name()))));
        out.push('\n');
        for report in reports {
            let total = report.measured.total();
            out.push_str(&format!("{:>12}{:>12.0}", report.rate.unwrap_or(0), report.rate_of(&total)));
            Statistic::ALL.iter().for_each(|one| out.push_str(&format!("{:>12.3}", one.of(total.latency()))));
            out.push_str(if report.is_rate_kept == Some(false) { "  not kept\n" } else { "\n" });
        }
        let told = |rate: Option<u64>| rate.map_or("none".to_owned(), |rate| format!("{rate} op/s"));
        out.push_str(&format!("{:<26}: {:.0} op/s\n", "Saturation", self.saturation));
        out.push_str(&format!("{:<26}: {}\n", format!("Knee of {}", self.bound.statistic.name()), told(self.knee())));
        out.push_str(&format!("{:<26}: {}\n", format!("Best with {}", self.bound), told(self.best())));
        out
    }

    /// The sweep for programs.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "bound": self.bound.to_string(),
            "saturation": self.saturation,
            "knee": self.knee(),
            "best": self.best(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sweeps a server of which the latency at each rate is known, and the rate that it keeps.
    fn sweep(bound: &str, saturation: f64, kept: u64, latency: impl Fn(f64) -> f64) -> Sweep {
        let mut sweep = Sweep::below(saturation, bound.parse().expect("is a bound"));
        while let Some(rate) = sweep.next() {
            sweep.levels.push(Level { rate, latency: latency(rate as f64), is_kept: rate <= kept });
            assert!(sweep.levels.len() < 20, "{sweep:?}");
        }
        sweep
    }

    /// Of a queue with one server that does 10,000 a second.
    fn queue(rate: f64) -> f64 {
        1000.0 / (10_000.0 - rate).max(1.0)
    }

    #[test]
    fn the_best_rate_is_found_between_tenths() {
        // 2 ms are reached at 9,500 a second.
        let found = sweep("p99<2ms", 10_000.0, 9_900, queue);
        assert!((9_300..9_500).contains(&found.best().unwrap()), "{found:?}");
        assert!((7_000..=9_000).contains(&found.knee().unwrap()), "{found:?}");
        let rates: Vec<u64> = found.levels.iter().map(|level| level.rate).collect();
        assert_eq!(rates[..10], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(|number| number * 1000));
    }

    #[test]
    fn bounds_that_all_rates_hold_or_none() {
        let found = sweep("p99.9<1s", 10_000.0, 10_000, |_| 3.0);
        assert_eq!((found.best(), found.knee(), found.levels.len()), (Some(10_000), None, 10));
        let found = sweep("mean<1ms", 10_000.0, 10_000, |_| 3.0);
        assert_eq!(found.best(), None);
        assert_eq!(found.levels.last().map(|level| level.rate), Some(125), "it looks below the first tenth too");
    }

    #[test]
    fn nothing_is_tried_beyond_a_rate_that_is_not_kept() {
        let found = sweep("p50<1s", 10_000.0, 4_200, queue);
        assert!(found.levels.iter().all(|level| level.rate <= 5_000), "{found:?}");
        assert!((4_000..=4_200).contains(&found.best().unwrap()), "{found:?}");
    }

    #[test]
    fn a_level_above_one_that_did_not_hold_is_not_the_best() {
        let found = sweep("p95<2ms", 10_000.0, 10_000, |rate| if rate == 3_000.0 { 9.0 } else { 1.0 });
        assert!((2_000..3_000).contains(&found.best().unwrap()), "{found:?}");
    }

    #[test]
    fn bounds_are_read() {
        let bound = |text: &str| text.parse::<Bound>().map(|bound| bound.to_string());
        assert_eq!(bound("p99<10ms"), Ok("p99 < 10 ms".to_owned()));
        assert_eq!(bound("max<2s"), Ok("max < 2000 ms".to_owned()));
        assert_eq!(bound("p99.9<500us"), Ok("p99.9 < 0.5 ms".to_owned()));
        for text in ["p99", "p99<", "p98<1ms", "p99<1", "p99<0ms", "p99<-1ms", "p99<infms", "<1ms"] {
            assert_eq!(bound(text), Err(()), "{text}");
        }
    }
}
