//! Ballots: the names of attempts, in their order.

use std::cmp::Ordering;

use cql_types::timeuuid;

/// 100 ns steps from 1582-10-15, where the time of UUIDs begins, to 1970.
const UNIX_STEPS: u64 = 0x01b2_1dd2_1381_4000;

/// Names one attempt at one partition: a time-based UUID, later than those of all attempts before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ballot(pub [u8; 16]);

impl Ballot {
    /// True if it is a version 1 UUID whose time leaves room for later ones: half of the time that a UUID can name, to the year 3409. A later ballot would end all attempts
    /// at its partition.
    pub(crate) fn is_plausible(&self) -> bool {
        self.0[6] >> 4 == 1 && timeuuid::steps(&self.0) < 1 << 59
    }

    /// The last ballot of a microsecond since 1970.
    pub(crate) fn last_of(micros: i64) -> Ballot {
        let steps = UNIX_STEPS.saturating_add_signed(micros.saturating_mul(10)).saturating_add(9);
        Ballot(timeuuid::build(steps, u16::MAX, [u8::MAX; 6]))
    }

    /// The timestamp of what the attempt writes, microseconds since 1970.
    pub fn micros(&self) -> i64 {
        i64::try_from(timeuuid::steps(&self.0)).unwrap_or(0).saturating_sub(UNIX_STEPS as i64).div_euclid(10)
    }
}

impl Ord for Ballot {
    fn cmp(&self, other: &Self) -> Ordering {
        (timeuuid::steps(&self.0), self.0).cmp(&(timeuuid::steps(&other.0), other.0))
    }
}

impl PartialOrd for Ballot {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_steps(steps: u64, node: u8) -> Ballot {
        Ballot(timeuuid::build(steps, 7, [node; 6]))
    }

    #[test]
    fn ballots_are_ordered_by_their_time_and_then_by_who_made_them() {
        // The low bits of the time stand first in the bytes: their order is not that of the bytes.
        let (early, late) = (at_steps(0x01b2_1dd2_ffff_ffff, 9), at_steps(0x01b2_1dd3_0000_0000, 1));
        assert!(early < late && early.0[..4] > late.0[..4]);
        assert!(at_steps(5, 1) < at_steps(5, 2));
        assert_eq!(at_steps(UNIX_STEPS + 123_450, 1).micros(), 12_345);
        let last = Ballot::last_of(12_345);
        assert_eq!(last.micros(), 12_345);
        assert!(at_steps(UNIX_STEPS + 123_459, 255) <= last && last < at_steps(UNIX_STEPS + 123_460, 0));
    }

    #[test]
    fn a_ballot_has_a_time_after_which_there_are_others() {
        assert!(at_steps(0, 1).is_plausible() && at_steps((1 << 59) - 1, 1).is_plausible());
        assert!(!at_steps(1 << 59, 1).is_plausible() && !at_steps((1 << 60) - 1, 1).is_plausible());
        let mut random = at_steps(5, 1);
        random.0[6] = 0x40;
        assert!(!random.is_plausible(), "a UUID of version 4");
    }
}
