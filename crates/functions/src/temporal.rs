//! Times and durations: sums, and times rounded down. Months are those of the calendar, in UTC.

use cql_types::{CqlType, Duration, calendar};

use crate::java_calendar;

const DAY_MILLIS: i64 = 86_400_000;
const MILLI_NANOS: i64 = 1_000_000;
/// A month's length, on the average of 400 years.
const MONTH_MILLIS: i128 = 146_097 * 86_400_000 / 4_800;

/// A date's days, which begin at 2³¹, in milliseconds since 1970.
pub(crate) fn date_to_millis(value: &[u8]) -> Option<i64> {
    let days = u32::from_be_bytes(value.try_into().ok()?);
    Some((i64::from(days) - (1 << 31)) * DAY_MILLIS)
}

/// The date of a time. One beyond what a date holds wraps around, as Cassandra's does, and the last day before 1970 is 1970-01-01 but for
/// its first moment, as each before it is the next one.
pub(crate) fn date_of_millis(millis: i64) -> [u8; 4] {
    // Rounded towards 1970, with the epoch at 2³¹, cut to 32 bits.
    (((millis / DAY_MILLIS) as i32).wrapping_add(i32::MIN)).to_be_bytes()
}

/// The milliseconds since 1970 of a value of a type that has them.
pub(crate) fn millis(ty: &CqlType, value: &[u8]) -> Option<i64> {
    match ty {
        CqlType::Date => date_to_millis(value),
        CqlType::Timeuuid => Some(cql_types::timeuuid::unix_millis(value.try_into().ok()?)),
        _ => Some(i64::from_be_bytes(value.try_into().ok()?)),
    }
}

/// The value of the type `timestamp` or `date` at a time.
pub(crate) fn of_millis(ty: &CqlType, millis: i64) -> Vec<u8> {
    match ty {
        CqlType::Date => date_of_millis(millis).to_vec(),
        _ => millis.to_be_bytes().to_vec(),
    }
}

/// A timestamp or date and a duration; `Ok(None)` of what is no value.
pub(crate) fn add(ty: &CqlType, value: &[u8], duration: Duration, subtracts: bool) -> Result<Option<Vec<u8>>, String> {
    if *ty == CqlType::Date && duration.nanos != 0 {
        return Err(format!("The duration must have a day precision. Was: {}", shown(duration)));
    }
    if duration.nanos % MILLI_NANOS != 0 {
        return Err(format!("The duration must have a millisecond precision. Was: {}", shown(duration)));
    }
    let Some(at) = millis(ty, value) else { return Ok(None) };
    let sign = if subtracts { -1 } else { 1 };
    let months = i64::from(duration.months) * sign;
    let days = i64::from(duration.days) * sign;
    let nanos = duration.nanos.wrapping_mul(sign);
    let at = if months == 0 {
        at.wrapping_add(days * DAY_MILLIS).wrapping_add(nanos / MILLI_NANOS)
    } else {
        // Beside months Cassandra keeps 32 bits of the milliseconds.
        let part = i64::from((nanos / MILLI_NANOS) as i32);
        add_months(at, months).wrapping_add(days * DAY_MILLIS).wrapping_add(part)
    };
    Ok(Some(of_millis(ty, at)))
}

/// The same time so many months later; a day that the month does not have is its last. Months are those of Java's calendar, as in Cassandra.
fn add_months(millis: i64, months: i64) -> i64 {
    let (day_number, of_day) = (millis.div_euclid(DAY_MILLIS), millis.rem_euclid(DAY_MILLIS));
    let (year, month, day) = java_calendar::date_of(day_number);
    let index = year * 12 + (month - 1) + months;
    let (year, month) = (index.div_euclid(12), index.rem_euclid(12) + 1);
    let day = day.min(java_calendar::days_in_month(year, month));
    (java_calendar::days_of(year, month, day)).wrapping_mul(DAY_MILLIS).wrapping_add(of_day)
}

/// A duration as Cassandra's messages show it: nothing if it is nothing.
pub(crate) fn shown(duration: Duration) -> String {
    if duration == (Duration { months: 0, days: 0, nanos: 0 }) { String::new() } else { duration.to_string() }
}

fn is_negative(duration: Duration) -> bool {
    duration.months < 0 || duration.days < 0 || duration.nanos < 0
}

/// A time rounded down to a multiple of a duration, counted from `start`.
pub(crate) fn floor(at: i64, duration: Duration, start: i64) -> Result<i64, String> {
    if start > at {
        return Err("The floor function starting time is greater than the provided time".to_owned());
    }
    if is_negative(duration) {
        return Err("Negative durations are not supported by the floor function".to_owned());
    }
    let part = i64::from(duration.days) * DAY_MILLIS + duration.nanos / MILLI_NANOS;
    if duration.months == 0 {
        return Ok(if part == 0 { at } else { at.wrapping_sub(at.wrapping_sub(start) % part) });
    }
    let months_of = |millis: i64| {
        let (year, month, _) = java_calendar::date_of(millis.div_euclid(DAY_MILLIS));
        year * 12 + month
    };
    let step = i64::from(duration.months);
    let mut count = (months_of(at) - months_of(start)) / step;
    let mut floor = add_months(start, count * step);
    if duration.days == 0 && duration.nanos == 0 {
        return Ok(floor);
    }
    // A step is longer than its months, so that too many were taken. Cassandra goes back one by one, each time from where the
    // last came to, so that a day that was cut at a month's end stays cut. Behind 400 years of steps no day is cut any more,
    // and the rest of the way can be taken at once.
    let of_steps = |count: i64| i128::from(count) * i128::from(part);
    let nearest = i128::from(at.saturating_sub(start)) + 62 * i128::from(DAY_MILLIS);
    let nearest = (nearest / (i128::from(part) + i128::from(step) * MONTH_MILLIS)) as i64 + 1;
    let mut taken = 0;
    while count > 0 && i128::from(floor) + of_steps(count) > i128::from(at) {
        let back = if taken < 4_800 { 1 } else { (count - nearest).max(1) };
        count -= back;
        floor = add_months(floor, -step * back);
        taken += 1;
    }
    let sum = i128::from(floor) + of_steps(count);
    let sum = i64::try_from(sum).unwrap_or(start);
    Ok(start.max(sum))
}

/// A time of day rounded down to a multiple of a duration.
pub(crate) fn floor_time(at: i64, duration: Duration) -> Result<i64, String> {
    if is_negative(duration) {
        return Err("Negative durations are not supported by the floor function".to_owned());
    }
    if duration.months != 0 || duration.days != 0 || duration.nanos > calendar::NANOS_OF_DAY {
        return Err("For time values, the floor can only be computed for durations smaller that a day".to_owned());
    }
    Ok(if duration.nanos == 0 { at } else { at - at % duration.nanos })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(text: &str) -> i64 {
        let literal = cql_types::Literal::new(cql_types::LiteralKind::String, text);
        millis(&CqlType::Timestamp, &cql_types::parse_literal(&CqlType::Timestamp, &literal).unwrap()).unwrap()
    }

    fn duration(text: &str) -> Duration {
        Duration::parse(text).unwrap()
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        let sum = |at: &str, by: &str, subtracts| {
            let bytes = timestamp(at).to_be_bytes();
            let sum = add(&CqlType::Timestamp, &bytes, duration(by), subtracts).unwrap().unwrap();
            cql_types::print(&CqlType::Timestamp, &sum)
        };
        assert_eq!(sum("2019-01-31T10:00Z", "1mo", false), "'2019-02-28T10:00:00.000Z'");
        assert_eq!(sum("2020-03-31T10:00Z", "1mo1d", true), "'2020-02-28T10:00:00.000Z'");
        assert_eq!(sum("2020-02-29T10:00Z", "1y", true), "'2019-02-28T10:00:00.000Z'");
        assert_eq!(sum("2020-02-29T10:00Z", "25h", false), "'2020-03-01T11:00:00.000Z'");
        let bytes = timestamp("2020-02-29").to_be_bytes();
        assert_eq!(
            add(&CqlType::Timestamp, &bytes, duration("10ns"), false),
            Err("The duration must have a millisecond precision. Was: 10ns".to_owned())
        );
    }

    #[test]
    fn dates_move_by_days() {
        let date = date_of_millis(timestamp("2011-02-03"));
        let sum = add(&CqlType::Date, &date, duration("1mo"), false).unwrap().unwrap();
        assert_eq!(cql_types::print(&CqlType::Date, &sum), "'2011-03-03'");
        assert_eq!(
            add(&CqlType::Date, &date, duration("1h"), false),
            Err("The duration must have a day precision. Was: 1h".to_owned())
        );
        for millis in [0, -1, 86_399_999, i64::from(i32::MIN) * DAY_MILLIS] {
            assert_eq!(date_to_millis(&date_of_millis(millis)), Some(millis / DAY_MILLIS * DAY_MILLIS));
        }
    }

    #[test]
    fn times_are_rounded_down() {
        let floor = |at: &str, by: &str, start: &str| floor(timestamp(at), duration(by), timestamp(start));
        let at = "2016-09-27T16:12:00Z";
        assert_eq!(floor(at, "2h", "1970-01-01"), Ok(timestamp("2016-09-27T16:00Z")));
        assert_eq!(floor(at, "1mo", "1970-01-01"), Ok(timestamp("2016-09-01T00:00Z")));
        assert_eq!(floor(at, "1mo2d", "2016-08-01"), Ok(timestamp("2016-09-03T00:00Z")));
        assert_eq!(floor(at, "2mo", "2016-08-31"), Ok(timestamp("2016-08-31T00:00Z")));
        assert!(floor(at, "1d", "2017-01-01").is_err());
        assert!(floor(at, "-1d", "1970-01-01").is_err());
        assert_eq!(floor_time(3_661_000_000_000, duration("1h")), Ok(3_600_000_000_000));
        assert!(floor_time(0, duration("1d")).is_err());
    }
}
