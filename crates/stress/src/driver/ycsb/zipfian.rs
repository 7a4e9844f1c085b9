//! YCSB's zipfian numbers: of `count` numbers the one of rank *k*, from 0, is drawn with a share of (1 / (k + 1)^0.99) / ζ(count), where ζ is the
//! sum of all such terms.
//!
//! Drawn as YCSB draws them, after Gray et al., "Quickly Generating Billion-Record Synthetic Databases" (SIGMOD 1994): the first two ranks have exactly
//! their shares, the others nearly. YCSB adds ζ up term by term; here it is computed, so that `count` may be other for each draw.

/// YCSB's zipfian constant.
const THETA: f64 = 0.99;
/// Terms of ζ that are added up; the rest is computed.
const TERMS: u64 = 1_000;
/// How many numbers YCSB draws from before it scatters them.
const SCATTERED_FROM: u64 = 10_000_000_000;

/// Draws from so many numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zipfian {
    count: f64,
    zeta: f64,
    eta: f64,
}

impl Zipfian {
    /// From `count` numbers, at least one.
    pub(crate) fn new(count: u64) -> Zipfian {
        let (zeta, n) = (zeta(count), count as f64);
        let eta = (1.0 - (2.0 / n).powf(1.0 - THETA)) / (1.0 - zeta_of_two() / zeta);
        Zipfian { count: n, zeta, eta }
    }

    /// The rank, from 0, that a share from 0 to 1 falls on.
    pub(crate) fn rank(&self, share: f64) -> u64 {
        let point = share * self.zeta;
        if point < 1.0 {
            return 0;
        }
        if point < zeta_of_two() {
            return 1;
        }
        let rank = self.count * (self.eta * share - self.eta + 1.0).powf(1.0 / (1.0 - THETA));
        (rank as u64).min(self.count as u64 - 1)
    }
}

fn zeta_of_two() -> f64 {
    1.0 + 0.5_f64.powf(THETA)
}

/// The sum of 1 / i^0.99 for i from 1 to `count`.
fn zeta(count: u64) -> f64 {
    let term = |i: u64| (i as f64).powf(-THETA);
    let head: f64 = (1..=count.min(TERMS)).map(term).sum();
    if count <= TERMS {
        return head;
    }
    // Euler and Maclaurin: the integral, half a term at each end, and the first derivatives.
    let (from, to) = (TERMS as f64, count as f64);
    let integral = (to.powf(1.0 - THETA) - from.powf(1.0 - THETA)) / (1.0 - THETA);
    let halves = (term(count) - term(TERMS)) / 2.0;
    let derivatives = THETA * (from.powf(-THETA - 1.0) - to.powf(-THETA - 1.0)) / 12.0;
    head + integral + halves + derivatives
}

/// Draws from a range of which any number may be a popular one: YCSB's scrambled zipfian numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scattered {
    zipfian: Zipfian,
    first: u64,
    count: u64,
}

impl Scattered {
    /// From `count` numbers, at least one, beginning with `first`.
    pub(crate) fn new(first: u64, count: u64) -> Scattered {
        Scattered { zipfian: Zipfian::new(SCATTERED_FROM), first, count }
    }

    /// The number that a share from 0 to 1 falls on.
    pub(crate) fn number(&self, share: f64) -> u64 {
        self.first + scatter(self.zipfian.rank(share)) % self.count
    }
}

/// YCSB's hash of a number: FNV-1a of its eight bytes, the least first, without its sign.
pub(crate) fn scatter(number: u64) -> u64 {
    let hash = number
        .to_le_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    (hash as i64).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{fraction, next_random};

    const DRAWS: usize = 400_000;

    fn counts(draw: impl Fn(f64) -> u64) -> std::collections::BTreeMap<u64, usize> {
        let mut state = 1;
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..DRAWS {
            *counts.entry(draw(fraction(next_random(&mut state)))).or_default() += 1;
        }
        counts
    }

    /// Five standard errors of a share among the draws.
    fn tolerance(share: f64) -> f64 {
        5.0 * (share / DRAWS as f64).sqrt()
    }

    #[test]
    fn zeta_is_what_its_terms_add_up_to() {
        let mut sum = 0.0;
        for i in 1..=200_000_u64 {
            sum += (i as f64).powf(-THETA);
            if [1, 2, 1_000, 1_001, 1_500, 20_000, 200_000].contains(&i) {
                assert!((zeta(i) - sum).abs() < 1e-9, "{i}: {} and {sum}", zeta(i));
            }
        }
        // What YCSB has computed in advance.
        assert!((zeta(SCATTERED_FROM) - 26.469_028_201_783_02).abs() < 1e-4, "{}", zeta(SCATTERED_FROM));
    }

    #[test]
    fn the_most_popular_numbers_have_their_shares() {
        for count in [10, 1_000, 1_000_000] {
            let zipfian = Zipfian::new(count);
            let counts = counts(|share| zipfian.rank(share));
            assert!(counts.keys().all(|rank| *rank < count));
            let share = |ranks: std::ops::Range<u64>| {
                counts.range(ranks).map(|(_, count)| count).sum::<usize>() as f64 / DRAWS as f64
            };
            for rank in 0..2 {
                let expected = ((rank + 1) as f64).powf(-THETA) / zeta(count);
                let found = share(rank..rank + 1);
                assert!(
                    (found - expected).abs() < tolerance(expected),
                    "rank {rank} of {count}: {found}, not {expected}"
                );
            }
            // The others nearly: Gray's approximation is off by some percent.
            for ranks in [5, 10, 100, 1_000, 100_000].into_iter().filter(|ranks| *ranks <= count) {
                let expected = zeta(ranks) / zeta(count);
                let found = share(0..ranks);
                assert!(
                    (found - expected).abs() < 0.07 * expected,
                    "first {ranks} of {count}: {found}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn scattered_numbers_are_as_popular_and_lie_anywhere() {
        let scattered = Scattered::new(100, 100_000);
        let counts = counts(|share| scattered.number(share));
        assert!(counts.keys().all(|number| (100..100_100).contains(number)));
        for rank in 0..2_u64 {
            let expected = ((rank + 1) as f64).powf(-THETA) / zeta(SCATTERED_FROM);
            let number = 100 + scatter(rank) % 100_000;
            let found = counts[&number] as f64 / DRAWS as f64;
            // Others of ten thousand million fall on the same number.
            assert!((found - expected).abs() < tolerance(expected) + 1e-3, "rank {rank}: {found}, not {expected}");
        }
        let halves = counts.range(..50_100).map(|(_, count)| count).sum::<usize>() as f64 / DRAWS as f64;
        assert!((0.3..0.7).contains(&halves), "{halves}");
    }

    /// The second is known from YCSB's keys: its first record is user6284781860667377211.
    #[test]
    fn the_hash_is_that_of_ycsb() {
        assert_eq!(scatter(0), 6_284_781_860_667_377_211);
        assert_eq!(scatter(1), 8_517_097_267_634_966_620);
    }

    #[test]
    fn one_number_is_drawn_from_one() {
        let one = Zipfian::new(1);
        assert!([0.0, 0.5, 0.999].iter().all(|share| one.rank(*share) == 0));
        let two = Zipfian::new(2);
        assert!((0..100).all(|share| two.rank(f64::from(share) / 100.0) < 2));
    }
}
