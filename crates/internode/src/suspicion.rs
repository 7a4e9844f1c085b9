//! Suspicion of a node, per shard: a call waits, and nothing was heard for longer than the node's answers take.
//!
//! It is a hint for the choice among replicas, cheap and soon over, and no judgement: a suspect node stays connected and gets writes. Who is down is decided by
//! silence of heartbeats, later.

use std::time::Duration;

use runtime::Instant;

use crate::recent_times::RecentTimes;

/// Silence below which no node is suspect.
const SUSPECT_MIN: Duration = Duration::from_millis(50);
/// Silence in terms of the 99th percentile of answer times, and of their median.
const TIMES: u32 = 4;
const TIMES_OF_MEDIAN: u32 = 16;

/// The times that a node's answers took lately.
#[derive(Debug)]
pub(crate) struct AnswerTimes {
    times: RecentTimes,
}

impl AnswerTimes {
    /// None yet.
    pub(crate) fn new(now: Instant) -> AnswerTimes {
        AnswerTimes { times: RecentTimes::new(now) }
    }

    /// An answer has come after `time`.
    pub(crate) fn note(&mut self, time: Duration, now: Instant) {
        self.times.note(time, now);
    }

    /// True if the node is suspect now, of which nothing was heard for so long while a call waits.
    ///
    /// The percentile alone would not do: one answer of a hundred that came late, as those do which waited for a link to heal or for a busy machine, makes a
    /// node that has just failed and fails again look as if silence were its habit. So few do not move the median.
    pub(crate) fn is_suspicious(&self, silence: Duration, now: Instant) -> bool {
        let times =
            |percentile, times| self.times.percentile(percentile, now).unwrap_or_default().saturating_mul(times);
        silence >= SUSPECT_MIN && (silence >= times(99.0, TIMES) || silence >= times(50.0, TIMES_OF_MEDIAN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// The least silence that is suspicious at a millisecond, in milliseconds.
    fn limit(times: &AnswerTimes, now: u64) -> u64 {
        (0..100_000)
            .find(|millis| times.is_suspicious(Duration::from_millis(*millis), at(now)))
            .expect("some silence is")
    }

    #[test]
    fn the_limit_is_fifty_milliseconds_or_four_times_what_answers_take() {
        let mut times = AnswerTimes::new(at(0));
        assert_eq!(limit(&times, 0), 50, "no answer yet");
        (0..990).for_each(|_| times.note(Duration::from_millis(40), at(1)));
        let of_usual = limit(&times, 1);
        assert!((160..=192).contains(&of_usual), "{of_usual}: a bucket is a fifth wide");
        (0..10).for_each(|_| times.note(Duration::from_secs(9), at(2)));
        assert_eq!(limit(&times, 2), of_usual, "one of a hundred does not count");
        (0..20).for_each(|_| times.note(Duration::from_millis(100), at(3)));
        let of_slow = limit(&times, 3);
        assert!((400..=480).contains(&of_slow), "{of_slow}");
    }

    /// A node that was silent for seconds answers what waited for it. It is suspect as soon as before when it is silent again.
    #[test]
    fn late_answers_of_one_silence_do_not_hide_the_next() {
        let mut times = AnswerTimes::new(at(0));
        (0..900).for_each(|_| times.note(Duration::from_millis(1), at(1)));
        (0..100).for_each(|_| times.note(Duration::from_secs(2), at(2)));
        assert_eq!(limit(&times, 2), 50);
    }

    #[test]
    fn a_node_all_of_whose_answers_take_long_is_not_suspect_by_them() {
        let mut times = AnswerTimes::new(at(0));
        (0..1_000).for_each(|_| times.note(Duration::from_millis(300), at(1)));
        assert!((1_200..=1_440).contains(&limit(&times, 1)));
    }

    #[test]
    fn answers_are_forgotten_after_two_minutes() {
        let mut times = AnswerTimes::new(at(0));
        (0..2).for_each(|_| times.note(Duration::from_millis(500), at(10)));
        times.note(Duration::from_millis(1), at(60_001));
        assert!(limit(&times, 60_001) >= 2_000, "of the window before");
        times.note(Duration::from_millis(1), at(120_002));
        assert_eq!(limit(&times, 120_002), 50);
        times.note(Duration::from_millis(500), at(120_003));
        times.note(Duration::from_millis(1), at(600_000));
        assert_eq!(limit(&times, 600_000), 50, "nothing was heard for long");
    }

    #[test]
    fn an_answer_that_took_longest_makes_none_suspect() {
        let mut times = AnswerTimes::new(at(0));
        times.note(Duration::from_secs(3_600), at(1));
        assert!(!times.is_suspicious(Duration::from_secs(3_600), at(1)));
    }
}
