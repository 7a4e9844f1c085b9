//! Dates, times and timestamps as text. The calendar is the proleptic Gregorian one.

/// Days from 1970-01-01 to that date. (Algorithm: Howard Hinnant, "chrono-compatible low-level date algorithms".)
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`]: year, month, day.
pub(crate) fn civil_from_days(days: i64) -> (i64, i64, i64) {
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

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// `2020-02-29`, for days since the epoch.
pub(crate) fn print_date(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    let sign = if year < 0 { "-" } else { "" };
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
    let of_day = millis.rem_euclid(86_400_000);
    let (seconds, fraction) = (of_day / 1000, of_day % 1000);
    let date = print_date(millis.div_euclid(86_400_000));
    format!("{date}T{:02}:{:02}:{:02}.{fraction:03}Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Digits at the start of `text` as a number, and the rest.
fn digits(text: &str, count_max: usize) -> Option<(i64, &str)> {
    let count = text.bytes().take(count_max).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(count);
    Some((number.parse().ok()?, rest))
}

/// Days since the epoch from `yyyy-mm-dd`, and what follows it.
fn date_prefix(text: &str) -> Option<(i64, &str)> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (year, rest) = digits(text, 9)?;
    let year = if negative { -year } else { year };
    let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let valid = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    valid.then(|| (days_from_civil(year, month, day), rest))
}

/// Days since the epoch from `yyyy-mm-dd`.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    date_prefix(text).filter(|(_, rest)| rest.is_empty()).map(|(days, _)| days)
}

/// Nanoseconds from `hh:mm[:ss[.f…]]`, and what follows; up to `digits_max` digits of fraction.
fn time_prefix(text: &str, digits_max: usize) -> Option<(i64, &str)> {
    let (hours, rest) = digits(text, 2)?;
    let (minutes, mut rest) = digits(rest.strip_prefix(':')?, 2)?;
    let (mut seconds, mut nanos) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        (seconds, rest) = digits(after, 2)?;
        if let Some(after) = rest.strip_prefix('.') {
            let fraction;
            (fraction, rest) = digits(after, digits_max)?;
            let length = after.len() - rest.len();
            nanos = fraction * 10_i64.pow(9 - u32::try_from(length).ok()?);
        }
    }
    let valid = hours < 24 && minutes < 60 && seconds < 60;
    valid.then(|| (((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanos, rest))
}

/// Nanoseconds of the day from `hh:mm:ss[.fffffffff]`.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let has_seconds = text.bytes().filter(|&byte| byte == b':').count() == 2;
    time_prefix(text, 9).filter(|(_, rest)| rest.is_empty() && has_seconds).map(|(nanos, _)| nanos)
}

/// Milliseconds since the epoch from `yyyy-mm-dd[( |T)hh:mm[:ss[.fff]]][ ][zone]`, where a zone is `Z`, `UTC`, `GMT`,
/// `±hh`, `±hhmm` or `±hh:mm`; none is UTC.
pub(crate) fn parse_timestamp(text: &str) -> Option<i64> {
    let (days, mut rest) = date_prefix(text)?;
    let mut nanos = 0;
    if let Some(after) = rest.strip_prefix(['T', 't', ' '])
        && after.starts_with(|c: char| c.is_ascii_digit())
    {
        (nanos, rest) = time_prefix(after, 9)?;
    }
    let offset_minutes = parse_zone(rest.strip_prefix(' ').unwrap_or(rest))?;
    let millis = days.checked_mul(86_400_000)?.checked_add(nanos / 1_000_000)?;
    millis.checked_sub(offset_minutes * 60_000)
}

fn parse_zone(text: &str) -> Option<i64> {
    if text.is_empty() || text.eq_ignore_ascii_case("z") || text.eq_ignore_ascii_case("utc") || text == "GMT" {
        return Some(0);
    }
    let (sign, rest) = match text.strip_prefix('+') {
        Some(rest) => (1, rest),
        None => (-1, text.strip_prefix('-')?),
    };
    let (hours, rest) = digits(rest, 2)?;
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let (minutes, rest) = if rest.is_empty() { (0, rest) } else { digits(rest, 2)? };
    (rest.is_empty() && hours <= 18 && minutes < 60).then_some(sign * (hours * 60 + minutes))
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

    #[test]
    fn timestamps_are_read_in_cassandras_forms() {
        let want = 1_296_705_900_000; // 2011-02-03 04:05 UTC
        for text in [
            "2011-02-03 04:05+0000",
            "2011-02-03T04:05Z",
            "2011-02-03 04:05:00",
            "2011-02-03 04:05:00.000+0000",
            "2011-02-03T05:05:00+01:00",
            "2011-02-03T04:05:00.000 UTC",
            "2011-02-02T23:05:00.000-05",
        ] {
            assert_eq!(parse_timestamp(text), Some(want), "{text}");
        }
        assert_eq!(parse_timestamp("2011-02-03+0000"), Some(1_296_691_200_000));
        for text in ["", "2011", "2011-02-30", "2011-02-03T", "2011-02-03 25:00", "2011-02-03 04:05 X", "é"] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
        assert_eq!(print_timestamp(want), "2011-02-03T04:05:00.000Z");
        assert_eq!(print_timestamp(-1), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn times_keep_nanoseconds() {
        assert_eq!(parse_time("08:12:54.123456789"), Some(29_574_123_456_789));
        assert_eq!(parse_time("08:12:54"), Some(29_574_000_000_000));
        assert_eq!(parse_time("08:12"), None);
        assert_eq!(parse_time("24:00:00"), None);
        assert_eq!(print_time(29_574_123_456_789), "08:12:54.123456789");
    }
}
