//! Dates, times and timestamps as text. The calendar is the proleptic Gregorian one.

/// Nanoseconds of a day.
pub const NANOS_OF_DAY: i64 = 86_400_000_000_000;

/// The digits of a number in a date before a time; more would not fit a 64-bit integer.
const DIGITS_MAX: usize = 19;
/// The last year of Java's calendar.
const YEAR_MAX: i64 = 999_999_999;

/// Days from 1970-01-01 to that date. (Algorithm: Howard Hinnant, "chrono-compatible low-level date algorithms".)
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`]: year, month, day.
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// The days of a month, from 1 to 12, of a year.
pub fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// `2020-02-29`, for days since the epoch. A year of more than four digits has a sign, as ISO 8601 has it.
pub(crate) fn print_date(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    let sign = match year {
        ..0 => "-",
        0..=9999 => "",
        _ => "+",
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.abs())
}

/// `13:30:54.234000000`, for nanoseconds of the day.
pub(crate) fn print_time(nanos: i64) -> String {
    let seconds = nanos / 1_000_000_000;
    let fraction = nanos % 1_000_000_000;
    format!("{:02}:{:02}:{:02}.{fraction:09}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// `2020-02-29T13:30:54.234Z`, for milliseconds since the epoch.
pub(crate) fn print_timestamp(millis: i64) -> String {
    let date = print_date(millis.div_euclid(86_400_000));
    format!("{date}T{}", print_of_day(millis))
}

/// `2020-02-29 13:30:54.234Z`, for milliseconds since the epoch, with what stands `between` day and time. It is how Cassandra's JSON and casts
/// have timestamps: years before the year 1 are counted backwards from there, without a sign for it.
pub fn timestamp_of_era(millis: i64, between: char) -> String {
    let (year, month, day) = civil_from_days(millis.div_euclid(86_400_000));
    let of_era = if year > 0 { year } else { 1 - year };
    let sign = if of_era > 9999 { "+" } else { "" };
    format!("{sign}{of_era:04}-{month:02}-{day:02}{between}{}", print_of_day(millis))
}

/// The time of the day in UTC, of milliseconds since the epoch.
fn print_of_day(millis: i64) -> String {
    let of_day = millis.rem_euclid(86_400_000);
    let (seconds, fraction) = (of_day / 1000, of_day % 1000);
    format!("{:02}:{:02}:{:02}.{fraction:03}Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// `min` to `max` digits at the start of `text` as a number, and the rest.
fn digits(text: &str, min: usize, max: usize) -> Option<(i64, &str)> {
    let count = text.bytes().take(max).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(count);
    (count >= min).then(|| Some((number.parse().ok()?, rest)))?
}

/// Year, month and day from `yyyy-mm-dd`, and what follows. The year has four digits, or a sign and more; the day may be
/// up to 31 in any month.
fn date_prefix(text: &str) -> Option<((i64, i64, i64), &str)> {
    let (year, rest) = match text.as_bytes().first()? {
        b'+' => digits(&text[1..], 5, 9)?,
        b'-' => {
            let (year, rest) = digits(&text[1..], 4, 9)?;
            (-year, rest)
        }
        _ => digits(text, 4, 4)?,
    };
    month_and_day(year, rest, 2, 2)
}

/// The same before a time of the day, where Cassandra is less strict: as few digits as there are, zeros before them or
/// not, and no sign.
fn date_prefix_before_time(text: &str) -> Option<((i64, i64, i64), &str)> {
    let (year, rest) = digits(text, 1, DIGITS_MAX)?;
    month_and_day(year, rest, 1, DIGITS_MAX).filter(|((year, ..), _)| (1..=YEAR_MAX).contains(year))
}

fn month_and_day(year: i64, rest: &str, min: usize, max: usize) -> Option<((i64, i64, i64), &str)> {
    let (month, rest) = digits(rest.strip_prefix('-')?, min, max)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, min, max)?;
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some(((year, month, day), rest))
}

/// A date as text, before it is looked at whether the type `date` holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Date {
    /// So many days since the epoch.
    Days(i64),
    /// Before the first one.
    TooEarly,
    /// Behind the last one.
    TooLate,
}

/// What the type `date` makes of `yyyy-mm-dd`: its days are those of 32 bits.
pub(crate) fn parse_date(text: &str) -> Option<Date> {
    let ((year, month, day), rest) = date_prefix(text)?;
    if !rest.is_empty() || day > days_in_month(year, month) {
        return None;
    }
    Some(match days_from_civil(year, month, day) {
        days if days < i64::from(i32::MIN) => Date::TooEarly,
        days if days > i64::from(i32::MAX) => Date::TooLate,
        days => Date::Days(days),
    })
}

/// The digits behind a second's point as nanoseconds, and what follows.
fn fraction(text: &str, digits_min: usize) -> Option<(i64, &str)> {
    if digits_min == 0 && !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Some((0, text));
    }
    let (fraction, rest) = digits(text, 1, 9)?;
    let missing = 9_usize.checked_sub(text.len() - rest.len())?;
    Some((fraction * 10_i64.pow(u32::try_from(missing).ok()?), rest))
}

/// Nanoseconds of the day from `hh:mm:ss[.fffffffff]`.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let (hours, rest) = digits(text.trim(), 1, 9)?;
    let (minutes, rest) = digits(rest.strip_prefix(':')?, 1, 9)?;
    let (seconds, rest) = digits(rest.strip_prefix(':')?, 1, 9)?;
    let (nanos, rest) = match rest.strip_prefix('.') {
        Some(rest) => fraction(rest, 1)?,
        None => (0, rest),
    };
    let valid = rest.is_empty() && hours < 24 && minutes < 60 && seconds < 60;
    valid.then(|| ((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanos)
}

/// Milliseconds of the day from `hh:mm[:ss[.f…]]`, and what follows. 24:00 is the day's end.
fn time_prefix(text: &str) -> Option<(i64, &str)> {
    let (hours, rest) = digits(text, 1, DIGITS_MAX)?;
    let (minutes, mut rest) = digits(rest.strip_prefix(':')?, 1, DIGITS_MAX)?;
    let (mut seconds, mut nanos) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        (seconds, rest) = digits(after, 1, DIGITS_MAX)?;
        if let Some(after) = rest.strip_prefix('.') {
            (nanos, rest) = fraction(after, 0)?;
        }
    }
    let valid = hours < 24 && minutes < 60 && seconds < 60;
    let end_of_day = hours == 24 && minutes == 0 && seconds == 0 && nanos == 0;
    (valid || end_of_day).then(|| (((hours * 60 + minutes) * 60 + seconds) * 1_000 + nanos / 1_000_000, rest))
}

/// Milliseconds since the epoch from `yyyy-mm-dd[( |T)hh:mm[:ss[.f…]]][zone]`; no zone is UTC. A day that its month does
/// not have is the month's last, as Cassandra has it.
pub(crate) fn parse_timestamp(text: &str) -> Option<i64> {
    let (date, millis, rest) = date_and_time(text).or_else(|| date_prefix(text).map(|(date, rest)| (date, 0, rest)))?;
    let (year, month, day) = date;
    let days = days_from_civil(year, month, day.min(days_in_month(year, month)));
    let offset_minutes = parse_zone(rest)?;
    days.checked_mul(86_400_000)?.checked_add(millis)?.checked_sub(offset_minutes * 60_000)
}

/// A date with a time behind it: year, month and day, milliseconds of the day, and what follows.
fn date_and_time(text: &str) -> Option<((i64, i64, i64), i64, &str)> {
    let (date, rest) = date_prefix_before_time(text)?;
    let (millis, rest) = time_prefix(rest.strip_prefix(['T', ' '])?)?;
    Some((date, millis, rest))
}

/// Minutes east of Greenwich: nothing, `Z`, `±hh`, `±hhmm`, `±hh:mm`, each with a space before it or not, and ` UTC`, ` GMT`
/// and ` UT`, with `±hh:mm` behind them or not.
fn parse_zone(text: &str) -> Option<i64> {
    if matches!(text, "" | "Z" | " Z" | " UTC" | " GMT" | " UT") {
        return Some(0);
    }
    let text = [" UTC", " GMT", " UT", " "].iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    let (sign, rest) = match text.strip_prefix('+') {
        Some(rest) => (1, rest),
        None => (-1, text.strip_prefix('-')?),
    };
    let (hours, rest) = digits(rest, 2, 2)?;
    let minutes = match rest {
        "" => 0,
        _ => digits(rest.strip_prefix(':').unwrap_or(rest), 2, 2).filter(|(_, rest)| rest.is_empty())?.0,
    };
    let offset = hours * 60 + minutes;
    (minutes < 60 && offset <= 18 * 60).then_some(sign * offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_round_trip() {
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(days_from_civil(2000, 3, 1), 11_017);
        for days in (-3_000_000..3_000_000).step_by(97) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
    }

    /// What Cassandra 5.0.6 makes of the same texts.
    #[test]
    fn timestamps_are_read_as_cassandra_does() {
        let at = |hour: i64| 1_296_691_200_000 + hour * 3_600_000;
        for (text, millis) in [
            ("2011-02-03 4:5", at(4) + 300_000),
            ("2011-02-03T04:05:06.1", at(4) + 306_100),
            ("2011-02-03T04:05:06.123456Z", at(4) + 306_123),
            ("2011-02-03T04:05:06.123456789+01:00", at(3) + 306_123),
            ("2011-02-03 04:05 UTC", at(4) + 300_000),
            ("2011-02-03 04:05+01", at(3) + 300_000),
            ("2011-02-03 04:05 +0100", at(3) + 300_000),
            ("2011-02-03 04:05:06.", at(4) + 306_000),
            ("2011-02-03 UTC", at(0)),
            ("2011-02-03Z", at(0)),
            ("2011-02-03+0100", at(-1)),
            ("2011-02-03T24:00Z", at(24)),
            ("2011-02-03 04:05:06.123+18:00", at(-14) + 306_123),
            ("2011-02-29", at(25 * 24)),
            ("0001-01-01", -62_135_596_800_000),
            ("1500-01-01", -14_831_769_600_000),
            ("+12345-01-01", 327_403_382_400_000),
            ("12345-02-03T04:05:06Z", 327_406_248_306_000),
            ("2011-2-3 4:5:6+0000", at(4) + 306_000),
            ("2011-002-3T004:005:006", at(4) + 306_000),
            ("1-1-1T0:0Z", -62_135_596_800_000),
            ("292278994-08-17T07:12:55.807Z", i64::MAX),
            ("2011-02-03 04:05 UTC+01:00", at(3) + 300_000),
            ("2011-02-03 04:05 UT", at(4) + 300_000),
        ] {
            assert_eq!(parse_timestamp(text), Some(millis), "{text}");
        }
        for text in [
            "",
            "2011",
            "2011-2-3",
            "11-02-03",
            "12345-01-01",
            "2011-02-32",
            "2011-02-03T",
            "2011-02-03 04",
            "2011-02-03 04:05+1",
            "2011-02-03T04:05z",
            "2011-02-03t04:05Z",
            "2011-02-03 25:00",
            "2011-02-03T24:01Z",
            "2011-02-03 04:05:06.1234567891",
            "2011-02-03 04:05:06.123UTC",
            "2011-02-03 04:05:06.123+05:60",
            "2011-02-03 04:05:06.123+19:00",
            "2011-02-03 04:05 X",
            " 2011-02-03",
            "é",
            "-0001-02-03T04:05:06Z",
            "+12345-02-03T04:05:06Z",
            "0-1-1T0:0Z",
            "0000-01-01 00:00",
            "292278994-08-17T07:12:55.808Z",
            "2011-2-3Z",
            "2011-2-3T4:5.5Z",
            "2011-2-3T4:-5Z",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
        assert_eq!(print_timestamp(at(4)), "2011-02-03T04:00:00.000Z");
        assert_eq!(timestamp_of_era(-62_135_596_800_000, ' '), "0001-01-01 00:00:00.000Z");
        assert_eq!(timestamp_of_era(-62_135_596_800_001, 'T'), "0001-12-31T23:59:59.999Z");
        assert_eq!(timestamp_of_era(i64::MIN, ' '), "+292275056-05-16 16:47:04.192Z");
        assert_eq!(print_timestamp(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(print_timestamp(253_402_300_800_000), "+10000-01-01T00:00:00.000Z");
    }

    #[test]
    fn dates_are_read_as_cassandra_does() {
        for (text, days) in
            [("1970-01-01", 0), ("2011-02-03", 15_008), ("-0001-01-01", -719_893), ("+5881580-07-11", (1 << 31) - 1)]
        {
            assert_eq!(parse_date(text), Some(Date::Days(days)), "{text}");
            assert_eq!(print_date(days), text);
        }
        for text in ["2011-2-3", "+2011-02-03", "12345-01-01", "2011-02-29", "2011-02-03 ", ""] {
            assert_eq!(parse_date(text), None, "{text}");
        }
        assert_eq!(parse_date("-5877641-06-22"), Some(Date::TooEarly));
        assert_eq!(parse_date("-5877641-06-23"), Some(Date::Days(i64::from(i32::MIN))));
        assert_eq!(parse_date("+5881580-07-12"), Some(Date::TooLate));
    }

    #[test]
    fn times_keep_nanoseconds() {
        assert_eq!(parse_time("08:12:54.123456789"), Some(29_574_123_456_789));
        assert_eq!(parse_time(" 8:12:54 "), Some(29_574_000_000_000));
        for text in ["08:12", "24:00:00", "08:12:54.", "08:12:54.1234567890", ""] {
            assert_eq!(parse_time(text), None, "{text}");
        }
        assert_eq!(print_time(29_574_123_456_789), "08:12:54.123456789");
    }
}
