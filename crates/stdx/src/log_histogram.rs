//! How often values of about a size occurred, in buckets that grow by about a fifth: cheap enough for each request.
//!
//! Each power of two is four buckets. Counting a value is a few shifts and one addition; there is no clock, no lock and no
//! allocation here. What is counted is in the caller's unit; latencies here are microseconds.

/// Buckets for each power of two, as a power of two.
const PARTS_BITS: u32 = 2;
const PARTS: usize = 1 << PARTS_BITS;
/// The powers of two that have buckets of their own: up to some 16 seconds in microseconds.
const POWERS: usize = 24;
/// Buckets with an upper bound.
pub const BOUNDED_BUCKETS: usize = PARTS * (POWERS - PARTS_BITS as usize + 1);

/// How often values of about a size occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHistogram {
    /// One more than have an upper bound.
    counts: [u64; BOUNDED_BUCKETS + 1],
    sum: u64,
}

impl Default for LogHistogram {
    fn default() -> Self {
        LogHistogram { counts: [0; BOUNDED_BUCKETS + 1], sum: 0 }
    }
}

impl LogHistogram {
    /// Counts a value that occurred `times` times.
    #[inline]
    pub fn add(&mut self, value: u64, times: u64) {
        self.counts[bucket(value)] += times;
        self.sum = self.sum.saturating_add(value.saturating_mul(times));
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// What they come to together.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The buckets' counts; that of [`upper_bounds`] in order, and of those above all bounds.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &LogHistogram) {
        for (own, more) in self.counts.iter_mut().zip(&other.counts) {
            *own += more;
        }
        self.sum = self.sum.saturating_add(other.sum);
    }
}

/// The greatest values of the buckets, ascending; the last bucket, one more, has none.
pub fn upper_bounds() -> impl Iterator<Item = u64> {
    (0..BOUNDED_BUCKETS).map(|index| {
        if index < PARTS {
            return index as u64;
        }
        let power = index / PARTS + PARTS_BITS as usize - 1;
        let part = (index % PARTS) as u64;
        let width = 1_u64 << (power - PARTS_BITS as usize);
        (1_u64 << power) + (part + 1) * width - 1
    })
}

#[inline]
fn bucket(value: u64) -> usize {
    if value < PARTS as u64 {
        return value as usize;
    }
    let power = value.ilog2() as usize;
    let part = (value >> (power - PARTS_BITS as usize)) as usize & (PARTS - 1);
    ((power + 1 - PARTS_BITS as usize) * PARTS + part).min(BOUNDED_BUCKETS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        let bounds: Vec<u64> = upper_bounds().collect();
        assert_eq!(bounds.len(), BOUNDED_BUCKETS);
        assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{bounds:?}");
        let last = *bounds.last().expect("there are some");
        assert_eq!(last, (1 << POWERS) - 1);
        let values = (0..5_000).chain(bounds.iter().flat_map(|bound| [*bound, bound + 1])).chain([last + 1, u64::MAX]);
        for value in values {
            assert_eq!(bucket(value), bounds.partition_point(|bound| *bound < value), "{value}");
        }
    }

    #[test]
    fn buckets_are_narrow() {
        let bounds: Vec<u64> = upper_bounds().collect();
        for pair in bounds.windows(2).skip(PARTS * 2) {
            assert!((pair[1] + 1) as f64 / (pair[0] + 1) as f64 <= 1.25, "{pair:?}");
        }
    }

    #[test]
    fn counts_and_sums_add_up() {
        let (mut one, mut other) = (LogHistogram::default(), LogHistogram::default());
        one.add(10, 3);
        other.add(u64::MAX, 1);
        other.add(0, 1);
        one.merge(&other);
        assert_eq!((one.count(), one.sum()), (5, u64::MAX));
        assert_eq!(one.counts().last(), Some(&1));
    }
}
