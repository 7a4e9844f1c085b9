//! Version-1 UUIDs: the time in them, and how to make one. Whoever makes them sees to it that no two are equal.

/// A timeuuid's time counts steps of 100 ns from 1582-10-15; so many lie before 1970.
pub const UNIX_EPOCH_STEPS: u64 = 0x01b2_1dd2_1381_4000;

const STEPS_PER_MILLI: i64 = 10_000;

/// The UUID of a time, in steps since 1582 of which 60 bits count, a clock sequence, of which 14 bits count, and a node.
pub fn build(steps: u64, clock_sequence: u16, node: [u8; 6]) -> [u8; 16] {
    let time = steps.to_be_bytes();
    let [high, low] = clock_sequence.to_be_bytes();
    let [n0, n1, n2, n3, n4, n5] = node;
    [
        time[4],
        time[5],
        time[6],
        time[7],
        time[2],
        time[3],
        0x10 | time[0] & 0x0f,
        time[1],
        0x80 | high & 0x3f,
        low,
        n0,
        n1,
        n2,
        n3,
        n4,
        n5,
    ]
}

/// The steps since 1582 of a time given in milliseconds since 1970; `None` outside of what 60 bits hold.
pub fn steps_from_unix_millis(millis: i64) -> Option<u64> {
    let steps = millis.checked_mul(STEPS_PER_MILLI)?.checked_add(UNIX_EPOCH_STEPS.cast_signed())?;
    u64::try_from(steps).ok().filter(|steps| steps >> 60 == 0)
}

/// The steps since 1582 that a version-1 UUID holds.
pub fn steps(uuid: &[u8; 16]) -> u64 {
    let [t4, t5, t6, t7, t2, t3, t0, t1, ..] = *uuid;
    u64::from_be_bytes([t0 & 0x0f, t1, t2, t3, t4, t5, t6, t7])
}

/// The milliseconds since 1970 of a version-1 UUID: microseconds rounded down, and these towards 1970, as Cassandra rounds them.
pub fn unix_millis(uuid: &[u8; 16]) -> i64 {
    // 60 bits and a constant: far from overflow.
    let micros = (steps(uuid).cast_signed() - UNIX_EPOCH_STEPS.cast_signed()).div_euclid(STEPS_PER_MILLI / 1000);
    micros / 1000
}

/// The smallest timeuuid of a millisecond in Cassandra's order, which compares the last eight bytes as signed ones.
pub fn min_of_unix_millis(millis: i64) -> Option<[u8; 16]> {
    let mut uuid = build(steps_from_unix_millis(millis)?, 0, [0; 6]);
    uuid[8..].fill(0x80);
    Some(uuid)
}

/// The largest timeuuid of a millisecond in Cassandra's order.
pub fn max_of_unix_millis(millis: i64) -> Option<[u8; 16]> {
    let last = steps_from_unix_millis(millis)?.checked_add(STEPS_PER_MILLI.unsigned_abs() - 1)?;
    let mut uuid = build(last, 0, [0; 6]);
    uuid[8..].fill(0x7f);
    Some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CqlType, compare, print, validate};
    use proptest::prelude::*;
    use std::cmp::Ordering;

    #[test]
    fn the_layout_is_rfc_4122s() {
        let uuid = build(0x0123_4567_89ab_cdef, 0x1234, [1, 2, 3, 4, 5, 6]);
        assert_eq!(print(&CqlType::Timeuuid, &uuid), "89abcdef-4567-1123-9234-010203040506");
        assert_eq!(steps_from_unix_millis(0), Some(UNIX_EPOCH_STEPS));
        assert_eq!(steps_from_unix_millis(i64::MAX), None);
        assert_eq!(steps_from_unix_millis(i64::MIN), None);
    }

    proptest! {
        #[test]
        fn time_round_trips_and_orders(millis in -10_000_000_000_000_i64..100_000_000_000_000, sequence: u16, node: [u8; 6]) {
            let steps = steps_from_unix_millis(millis).unwrap() + 1234;
            let uuid = build(steps, sequence, node);
            prop_assert_eq!(validate(&CqlType::Timeuuid, &uuid), Ok(()));
            // Behind the start of a millisecond, which before 1970 is its end.
            prop_assert_eq!((super::steps(&uuid), unix_millis(&uuid)), (steps, millis + i64::from(millis < 0)));
            let (min, max) = (min_of_unix_millis(millis).unwrap(), max_of_unix_millis(millis).unwrap());
            prop_assert_ne!(compare(&CqlType::Timeuuid, &min, &uuid), Ordering::Greater);
            prop_assert_ne!(compare(&CqlType::Timeuuid, &uuid, &max), Ordering::Greater);
            let next = min_of_unix_millis(millis + 1).unwrap();
            prop_assert_eq!(compare(&CqlType::Timeuuid, &max, &next), Ordering::Less);
        }
    }
}
