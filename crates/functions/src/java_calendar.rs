//! The calendar by which months are counted: Julian before 1582-10-15, and Gregorian from then on. (Source: Java's `GregorianCalendar`, by which
//! Cassandra adds durations. Dates as text are proleptic Gregorian all the same.)

use cql_types::calendar;

/// 1582-10-15, the first Gregorian day, in days since 1970.
const CUTOVER: i64 = -141_427;
const CUTOVER_YEAR: i64 = 1582;
/// 0000-03-01 of the Julian calendar, in days before 1970.
const JULIAN_ORIGIN: i64 = 719_470;
const DAYS_OF_4_YEARS: i64 = 1461;

/// Year, month and day of a day since 1970.
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    if days >= CUTOVER {
        return calendar::civil_from_days(days);
    }
    let days = days + JULIAN_ORIGIN;
    let (era, of_era) = (days.div_euclid(DAYS_OF_4_YEARS), days.rem_euclid(DAYS_OF_4_YEARS));
    // Years begin in March here, so that a leap day is the last of four years.
    let year_of_era = (of_era / 365).min(3);
    let of_year = of_era - year_of_era * 365;
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 4 + year_of_era + i64::from(month <= 2), month, day)
}

/// The day of a date, since 1970.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let gregorian = calendar::days_from_civil(year, month, day);
    if gregorian >= CUTOVER {
        return gregorian;
    }
    let year = year - i64::from(month <= 2);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month_from_march + 2) / 5 + day - 1;
    year.div_euclid(4) * DAYS_OF_4_YEARS + year.rem_euclid(4) * 365 + of_year - JULIAN_ORIGIN
}

/// How many days a month has.
pub(crate) fn days_in_month(year: i64, month: i64) -> i64 {
    let is_julian_leap = year < CUTOVER_YEAR && year.rem_euclid(4) == 0;
    if month == 2 && is_julian_leap { 29 } else { calendar::days_in_month(year, month) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_after_the_last_julian_one_is_ten_days_on() {
        assert_eq!(date_of(CUTOVER), (1582, 10, 15));
        assert_eq!(date_of(CUTOVER - 1), (1582, 10, 4));
        assert_eq!(days_of(1582, 10, 4), CUTOVER - 1);
        assert_eq!(days_of(1582, 10, 15), CUTOVER);
        assert_eq!(date_of(-719_468), (0, 3, 3));
        assert_eq!((days_in_month(1500, 2), days_in_month(1900, 2), days_in_month(-4, 2)), (29, 28, 29));
    }

    #[test]
    fn days_are_those_of_their_dates() {
        for days in (-3_000_000..100_000).step_by(97).chain([i64::from(i32::MIN), i64::from(i32::MAX)]) {
            let (year, month, day) = date_of(days);
            assert_eq!(days_of(year, month, day), days, "{year}-{month}-{day}");
            assert!(day <= days_in_month(year, month), "{year}-{month}-{day}");
        }
    }
}
