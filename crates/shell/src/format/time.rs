//! Timestamps in strftime's words, in UTC.

use std::fmt::Write as _;

use cql_types::calendar::{civil_from_days, days_from_civil};

/// The form of a timestamp where nothing else is asked for.
pub(crate) const TIME_FORMAT: &str = "%Y-%m-%d %H:%M:%S.%f%z";

/// The years that have a form; a timestamp of others is its number of milliseconds, as in cqlsh.
const YEARS: std::ops::RangeInclusive<i64> = 1..=9999;
const MILLIS_OF_DAY: i64 = 86_400_000;
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Milliseconds since the epoch in that form. `has_millis`: `%f` has three digits.
pub(crate) fn timestamp(millis: i64, format: &str, has_millis: bool) -> String {
    let days = millis.div_euclid(MILLIS_OF_DAY);
    let (year, month, day) = civil_from_days(days);
    if !YEARS.contains(&year) {
        return millis.to_string();
    }
    let of_day = millis.rem_euclid(MILLIS_OF_DAY);
    let moment = Moment { days, year, month, day, of_day, has_millis };
    let mut out = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        match character {
            '%' => match characters.next() {
                Some(word) => moment.write(word, &mut out),
                None => out.push('%'),
            },
            other => out.push(other),
        }
    }
    out
}

/// Days since the epoch as a date; of a year without a form, their number.
pub(crate) fn date(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    if YEARS.contains(&year) { format!("{year:04}-{month:02}-{day:02}") } else { days.to_string() }
}

struct Moment {
    days: i64,
    year: i64,
    month: i64,
    day: i64,
    of_day: i64,
    has_millis: bool,
}

impl Moment {
    fn write(&self, word: char, out: &mut String) {
        let (seconds, millis) = (self.of_day / 1000, self.of_day % 1000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let week_day = usize::try_from((self.days + 4).rem_euclid(7)).unwrap_or(0);
        let month = usize::try_from(self.month - 1).unwrap_or(0);
        let of_year = self.days - days_from_civil(self.year, 1, 1) + 1;
        let hour_of_12 = if hour % 12 == 0 { 12 } else { hour % 12 };
        let _ = match word {
            'Y' => write!(out, "{}", self.year),
            'y' => write!(out, "{:02}", self.year % 100),
            'm' => write!(out, "{:02}", self.month),
            'd' => write!(out, "{:02}", self.day),
            'e' => write!(out, "{:2}", self.day),
            'H' => write!(out, "{hour:02}"),
            'I' => write!(out, "{hour_of_12:02}"),
            'p' => write!(out, "{}", if hour < 12 { "AM" } else { "PM" }),
            'M' => write!(out, "{minute:02}"),
            'S' => write!(out, "{second:02}"),
            'f' if self.has_millis => write!(out, "{millis:03}"),
            'f' => write!(out, "{millis:03}000"),
            'z' => write!(out, "+0000"),
            'Z' => write!(out, "UTC"),
            'j' => write!(out, "{of_year:03}"),
            'a' => write!(out, "{}", &DAYS[week_day][..3]),
            'A' => write!(out, "{}", DAYS[week_day]),
            'b' | 'h' => write!(out, "{}", &MONTHS[month][..3]),
            'B' => write!(out, "{}", MONTHS[month]),
            'w' => write!(out, "{week_day}"),
            'F' => write!(out, "{}-{:02}-{:02}", self.year, self.month, self.day),
            'D' => write!(out, "{:02}/{:02}/{:02}", self.month, self.day, self.year % 100),
            'T' => write!(out, "{hour:02}:{minute:02}:{second:02}"),
            'R' => write!(out, "{hour:02}:{minute:02}"),
            's' => write!(out, "{}", self.days * 86_400 + seconds),
            '%' => write!(out, "%"),
            other => write!(out, "%{other}"),
        };
    }
}
