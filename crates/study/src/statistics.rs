//! Medians, and ratios with the confidence that a few rounds give.
//!
//! Systems take turns, so a machine's mood falls on all of a round alike: the ratio is taken within each round, and rounds are compared by
//! the logarithms of their ratios. Their mean's interval is Student's, of 95 %: with five rounds it is honest about how little five are.

use serde::{Deserialize, Serialize};

/// The 97.5th percentile of Student's distribution, for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// Of more degrees, nearly.
const NORMAL: f64 = 1.960;

/// The middle of some figures, and their span.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// None of no figures.
    pub(crate) fn of(mut figures: Vec<f64>) -> Option<Spread> {
        figures.sort_by(f64::total_cmp);
        let (least, most) = (*figures.first()?, *figures.last()?);
        let middle = figures.len() / 2;
        let median = match figures.len() % 2 {
            0 => (figures[middle - 1] + figures[middle]) / 2.0,
            _ => figures[middle],
        };
        Some(Spread { least, median, most })
    }
}

/// Fewer rounds have no interval: that of two holds next to anything, since Student's factor for them is 12.7.
const ROUNDS_MIN: usize = 3;
/// An interval whose ends are further apart says nothing.
const INTERVAL_FACTOR_MAX: f64 = 1e6;

/// A ratio over some rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    /// The geometric mean of the rounds' ratios.
    pub(crate) mean: f64,
    /// How sure it is.
    pub(crate) interval: Interval,
}

/// The interval that holds the true ratio with 95 % confidence, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Interval {
    /// Its ends.
    Of(f64, f64),
    /// Under three rounds.
    TooFewRounds,
    /// The rounds differ so much that it would span more than six orders of magnitude.
    TooWide,
}

impl Interval {
    fn of(logarithms: &[f64], mean: f64) -> Interval {
        if logarithms.len() < ROUNDS_MIN {
            return Interval::TooFewRounds;
        }
        let count = logarithms.len() as f64;
        let variance = logarithms.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let student = STUDENT.get(logarithms.len() - 2).copied().unwrap_or(NORMAL);
        let half = student * (variance / count).sqrt();
        match 2.0 * half > INTERVAL_FACTOR_MAX.ln() {
            true => Interval::TooWide,
            false => Interval::Of((mean - half).exp(), (mean + half).exp()),
        }
    }

    /// Its ends, if there are.
    pub(crate) fn ends(self) -> Option<(f64, f64)> {
        match self {
            Interval::Of(low, high) => Some((low, high)),
            Interval::TooFewRounds | Interval::TooWide => None,
        }
    }
}

impl Ratio {
    /// Of the rounds' ratios; none if there is none, or one that is no positive number.
    pub(crate) fn of(ratios: &[f64]) -> Option<Ratio> {
        if ratios.is_empty() || !ratios.iter().all(|ratio| ratio.is_finite() && *ratio > 0.0) {
            return None;
        }
        let count = ratios.len() as f64;
        let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let mean = logarithms.iter().sum::<f64>() / count;
        let interval = Interval::of(&logarithms, mean);
        Some(Ratio { mean: mean.exp(), interval })
    }

    /// Whether chance alone would hardly make it differ from 1.
    pub(crate) fn is_significant(&self) -> bool {
        self.interval.ends().is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), Some(Spread { least: 1.0, median: 2.0, most: 3.0 }));
        assert_eq!(Spread::of(vec![4.0, 1.0]).unwrap().median, 2.5);
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn a_ratio_is_as_sure_as_its_rounds_agree() {
        let ratio = Ratio::of(&[2.0, 8.0]).unwrap();
        assert!((ratio.mean - 4.0).abs() < 1e-12, "geometric: {ratio:?}");
        assert!(!ratio.is_significant(), "two rounds that far apart say nothing: {ratio:?}");
        let agreed = Ratio::of(&[2.0, 2.1, 1.9, 2.05, 1.95]).unwrap();
        assert!(agreed.is_significant() && agreed.interval.ends().unwrap().0 > 1.8, "{agreed:?}");
        // ln 2 ± 2.776 · 0.0395 / √5, by hand.
        let (low, high) = agreed.interval.ends().unwrap();
        assert!((low - 1.903).abs() < 0.005 && (high - 2.099).abs() < 0.005, "{low} {high}");
        for bad in [vec![], vec![1.0, 0.0], vec![f64::INFINITY]] {
            assert_eq!(Ratio::of(&bad), None);
        }
    }

    #[test]
    fn an_interval_that_says_nothing_is_not_told() {
        for few in [&[3.0][..], &[2.0, 2.0], &[2.0, 8.0]] {
            let ratio = Ratio::of(few).unwrap();
            assert_eq!((ratio.interval, ratio.is_significant()), (Interval::TooFewRounds, false), "{few:?}");
        }
        // 4.303 · √(1/3) · ln x, both ways: six orders at x = 16.15.
        let far = |factor: f64| Ratio::of(&[1.0, factor, 1.0 / factor]).unwrap().interval;
        assert_eq!(far(17.0), Interval::TooWide);
        let (low, high) = far(15.0).ends().unwrap();
        assert!(high / low < INTERVAL_FACTOR_MAX && high / low > INTERVAL_FACTOR_MAX / 10.0, "{low} {high}");
    }

    /// The interval holds the true ratio as often as it says: 95 of 100 times, for five rounds of normal noise.
    #[test]
    fn the_interval_keeps_its_word() {
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut held = 0;
        for _ in 0..2_000 {
            // The sum of twelve uniform numbers is normal enough.
            let mut round = || (((0..12).map(|_| uniform()).sum::<f64>() - 6.0) * 0.2).exp() * 3.0;
            let ratios: Vec<f64> = (0..5).map(|_| round()).collect();
            let (low, high) = Ratio::of(&ratios).unwrap().interval.ends().unwrap();
            held += u32::from(low <= 3.0 && 3.0 <= high);
        }
        assert!((1_870..=1_930).contains(&held), "{held} of 2000");
    }
}
