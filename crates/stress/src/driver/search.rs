//! `-rate threads>= threads<=`: which numbers of tasks are tried, and when to stop.

/// Runs whose improvements are averaged: over the last three it must be above 0, and over the last five above the target.
const SHORT: usize = 3;
const LONG: usize = 5;

/// The next number of tasks to try after one: twice as many, from 16 on one and a half times.
pub(crate) fn next_threads(threads: usize) -> usize {
    if threads < 16 { threads * 2 } else { threads + threads / 2 }
}

/// Whether the rates of the runs so far still improve.
pub(crate) fn improves(rates: &[f64], target: f64) -> bool {
    let above = |count: usize, least: f64| rates.len() <= count || improvement(rates, count) >= least;
    above(SHORT, 0.0) && above(LONG, target)
}

/// The mean improvement from run to run over the last so many, as a share.
pub(crate) fn improvement(rates: &[f64], count: usize) -> f64 {
    let last = &rates[rates.len().saturating_sub(count + 1)..];
    last.windows(2).map(|pair| (pair[1] - pair[0]) / pair[0]).sum::<f64>() / (last.len() - 1).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_are_tried_until_it_does_not_pay() {
        let tried: Vec<usize> =
            std::iter::successors(Some(4), |threads| Some(next_threads(*threads))).take(7).collect();
        assert_eq!(tried, [4, 8, 16, 24, 36, 54, 81]);
        assert!(improves(&[100.0], 0.0) && improves(&[100.0, 50.0, 40.0], 0.0));
        assert!(improves(&[100.0, 150.0, 200.0, 210.0], 0.0));
        assert!(!improves(&[100.0, 150.0, 140.0, 130.0, 120.0], 0.0));
        assert!(!improves(&[100.0, 101.0, 102.0, 103.0, 104.0, 105.0], 0.02));
        assert!((improvement(&[100.0, 150.0], 1) - 0.5).abs() < 1e-9);
    }
}
