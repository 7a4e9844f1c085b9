//! Whether operations that are due at even times begin then.

/// How large a share of the operations must have begun when the last is due, in percent.
const KEPT_PERCENT: u64 = 99;

/// How many operations were due and had not begun, over a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Backlog {
    /// Sum and count of what was seen in each quarter of the run.
    quarters: [(u64, u64); 4],
    /// Operations that were due.
    pub(crate) due: u64,
    /// Those that were due before the last and had not begun when it was.
    at_end: u64,
}

impl Backlog {
    /// So many of a run's operations are due, of which so many have not begun. Without knowing how many there will be, nothing is said of
    /// the run's quarters.
    pub(crate) fn note(&mut self, due: u64, waiting: u64, expected: Option<u64>) {
        (self.due, self.at_end) = (due, waiting);
        let Some(expected) = expected else { return };
        let quarter = (due.saturating_sub(1) * 4 / expected.max(1)).min(3) as usize;
        let (sum, count) = &mut self.quarters[quarter];
        *sum += waiting;
        *count += 1;
    }

    /// Why the rate was not kept, if it was not: more than a tenth of a second's operations had not started when the last was due, and these
    /// were more than one of a hundred, or their mean number had grown from quarter to quarter of the run.
    pub(crate) fn failure(&self, per_second: u64) -> Option<String> {
        let (due, waiting) = (self.due, self.at_end);
        if waiting <= per_second / 10 {
            return None;
        }
        if (due - waiting) * 100 < due * KEPT_PERCENT {
            return Some(format!("{waiting} of {due} operations had not started when the last was due"));
        }
        let mean = |(sum, count): (u64, u64)| sum as f64 / count.max(1) as f64;
        let grows = self.quarters.windows(2).all(|pair| mean(pair[1]) > mean(pair[0]));
        grows.then(|| format!("the backlog grew until the end, when {waiting} due operations had not started"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(due: u64, at_end: u64, quarters: [u64; 4]) -> Backlog {
        Backlog { quarters: quarters.map(|sum| (sum, 1)), due, at_end }
    }

    #[test]
    fn a_rate_is_kept_up_to_a_hundredth_unless_the_backlog_grows() {
        assert_eq!(backlog(10_000, 100, [5, 50, 20, 100]).failure(1_000), None);
        assert!(backlog(10_000, 101, [5, 50, 20, 100]).failure(1_000).unwrap().contains("101 of 10000"));
        assert!(backlog(1_000_000, 500, [100, 200, 300, 400]).failure(1_000).unwrap().contains("grew"));
        assert_eq!(backlog(1_000_000, 90, [10, 20, 30, 80]).failure(1_000), None);
        assert_eq!(backlog(1_000, 90, [10, 20, 30, 80]).failure(1_000), None, "a short run may end in a hiccup");
        assert_eq!(backlog(0, 0, [0; 4]).failure(1_000), None);
    }
}
