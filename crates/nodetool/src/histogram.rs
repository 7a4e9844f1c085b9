//! Estimated histograms and what is read off them, by Cassandra's rules (`EstimatedHistogram`).

use serde::Deserialize;

/// How many values are in each bucket. `buckets[i]` counts those up to `bucket_offsets[i]` and above the one before; the last
/// bucket, one more than there are offsets, counts those above all.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Histogram {
    buckets: Vec<u64>,
    bucket_offsets: Vec<u64>,
}

/// The quantiles that nodetool's histograms have, and their names.
pub(crate) const QUANTILES: [(&str, f64); 5] =
    [("50%", 0.5), ("75%", 0.75), ("95%", 0.95), ("98%", 0.98), ("99%", 0.99)];

/// A histogram's seven figures: the quantiles, then the least and the greatest.
pub(crate) type Figures = [f64; 7];

impl Histogram {
    /// The figures, zeros for an empty histogram. None if values lie above the last offset: then no figure is known.
    pub(crate) fn figures(&self) -> Option<Figures> {
        if self.overflowed() {
            return None;
        }
        let mut figures = [0.0; 7];
        for (figure, (_, quantile)) in figures.iter_mut().zip(QUANTILES) {
            *figure = self.quantile(quantile) as f64;
        }
        figures[5] = self.least() as f64;
        figures[6] = self.greatest() as f64;
        Some(figures)
    }

    /// Whether it counts nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The largest value that has a bucket of its own.
    pub(crate) fn offset_max(&self) -> u64 {
        self.bucket_offsets.last().copied().unwrap_or(0)
    }

    fn overflowed(&self) -> bool {
        self.buckets.iter().skip(self.bucket_offsets.len()).any(|count| *count > 0)
    }

    fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The offset of the bucket in which the value at that share of all lies.
    fn quantile(&self, quantile: f64) -> u64 {
        let wanted = (self.count() as f64 * quantile).ceil() as u64;
        if wanted == 0 {
            return 0;
        }
        let mut seen = 0_u64;
        for (count, offset) in self.buckets.iter().zip(&self.bucket_offsets) {
            seen = seen.saturating_add(*count);
            if seen >= wanted {
                return *offset;
            }
        }
        0
    }

    /// The least value that may be in the first bucket that has any.
    fn least(&self) -> u64 {
        match self.buckets.iter().position(|count| *count > 0) {
            None | Some(0) => 0,
            Some(first) => self.bucket_offsets.get(first - 1).map_or(0, |offset| offset.saturating_add(1)),
        }
    }

    fn greatest(&self) -> u64 {
        let last = self.buckets.iter().rposition(|count| *count > 0);
        last.and_then(|last| self.bucket_offsets.get(last)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(buckets: &[u64]) -> Histogram {
        Histogram { buckets: buckets.to_vec(), bucket_offsets: vec![1, 2, 3, 4] }
    }

    #[test]
    fn figures_are_bounds_of_buckets() {
        assert_eq!(histogram(&[0, 50, 25, 25, 0]).figures(), Some([2.0, 3.0, 4.0, 4.0, 4.0, 2.0, 4.0]));
        assert_eq!(histogram(&[1, 0, 0, 0, 0]).figures(), Some([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0]));
        assert_eq!(histogram(&[]).figures(), Some([0.0; 7]));
    }

    #[test]
    fn values_beyond_the_last_offset_have_no_figures() {
        assert_eq!(histogram(&[1, 0, 0, 0, 1]).figures(), None);
    }

    #[test]
    fn lengths_that_do_not_fit_are_borne() {
        for buckets in [&[u64::MAX, u64::MAX, 1][..], &[0; 9], &[0, 0, 0, 0, 0, 0, 7]] {
            let _ = histogram(buckets).figures();
        }
        let offsets = Histogram { buckets: vec![0, 1], bucket_offsets: vec![u64::MAX] };
        assert_eq!(offsets.figures(), None);
        let _ = Histogram { buckets: vec![0, 1], bucket_offsets: vec![u64::MAX, u64::MAX] }.figures();
    }
}
