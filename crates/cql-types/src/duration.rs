//! Durations: months, days and nanoseconds, each a zigzag varint; all of one sign.

use stdx::{Reader, varint};

use crate::ValueError;
use crate::error::cut;

/// A value of type `duration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duration {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Nanoseconds.
    pub nanos: i64,
}

const NANOS: [(&str, i64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl Duration {
    /// Reads the bytes of a value.
    pub fn decode(value: &[u8]) -> Result<Duration, ValueError> {
        let short = |_| ValueError::malformed(format!("Expected at least 3 bytes for a duration ({})", value.len()));
        let mut reader = Reader::new(value);
        let mut part = || reader.varint().map(varint::unzigzag).map_err(short);
        let (months, days, nanos) = (part()?, part()?, part()?);
        let out_of_range = |name: &str, count: i64| {
            ValueError::malformed(format!("The duration {name} must be a 32 bits integer but was: {count}"))
        };
        let months = i32::try_from(months).map_err(|_| out_of_range("months", months))?;
        let days = i32::try_from(days).map_err(|_| out_of_range("days", days))?;
        let negative = months < 0 || days < 0 || nanos < 0;
        let positive = months > 0 || days > 0 || nanos > 0;
        if negative && positive {
            return Err(ValueError::malformed(format!(
                "The duration months, days and nanoseconds must be all of the same sign ({months}, {days}, {nanos})"
            )));
        }
        // Bytes that follow are no error in Cassandra either.
        Ok(Duration { months, days, nanos })
    }

    /// Appends the bytes of the value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        varint::encode(varint::zigzag(i64::from(self.months)), out);
        varint::encode(varint::zigzag(i64::from(self.days)), out);
        varint::encode(varint::zigzag(self.nanos), out);
    }

    /// Reads `1y2mo3w4d5h6m7s8ms9us10ns`, `P1Y2M3DT4H5M6S`, `P3W` or `P0001-02-03T04:05:06`; units from large to small.
    pub fn parse(text: &str) -> Result<Duration, ValueError> {
        let (negative, positive) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let mut sum = Sum::default();
        let read = match positive.strip_prefix('P') {
            Some(iso) if iso.as_bytes().get(4) == Some(&b'-') => sum.add_alternative(iso),
            Some(iso) => sum.add_designators(iso),
            None => sum.add_units(positive),
        };
        read.and_then(|()| sum.finish())
            .map_err(|refused| match refused {
                Refused::Form => {
                    ValueError::Text { reason: format!("Unable to convert '{}' to a duration", cut(positive)) }
                }
                Refused::Because(reason) => ValueError::Text { reason },
            })
            .map(|duration| if negative { duration.negated() } else { duration })
    }

    /// What [`Duration::parse`] gives is never the most negative number, so that this does not overflow.
    fn negated(self) -> Duration {
        Duration { months: -self.months, days: -self.days, nanos: -self.nanos }
    }
}

impl std::fmt::Display for Duration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.months < 0 || self.days < 0 || self.nanos < 0 {
            f.write_str("-")?;
        }
        if *self == (Duration { months: 0, days: 0, nanos: 0 }) {
            // Cassandra writes nothing at all, which no statement can hold.
            return f.write_str("0s");
        }
        let months = self.months.unsigned_abs();
        for (count, unit) in [(months / 12, "y"), (months % 12, "mo"), (self.days.unsigned_abs(), "d")] {
            if count > 0 {
                write!(f, "{count}{unit}")?;
            }
        }
        let mut nanos = self.nanos.unsigned_abs();
        for (unit, size) in NANOS {
            let size = size.unsigned_abs();
            if nanos >= size {
                write!(f, "{}{unit}", nanos / size)?;
                nanos %= size;
            }
        }
        Ok(())
    }
}

/// Why a text is no duration.
enum Refused {
    /// It does not have the form.
    Form,
    /// It has, and this is wrong.
    Because(String),
}

/// The units from large to small, as texts name them and as error messages do.
const UNITS: [(&str, &str); 10] = [
    ("y", "years"),
    ("mo", "months"),
    ("w", "weeks"),
    ("d", "days"),
    ("h", "hours"),
    ("m", "minutes"),
    ("s", "seconds"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
    ("ns", "nanoseconds"),
];

/// Sums parts that stand in order, refusing what overflows.
#[derive(Default)]
struct Sum {
    months: i128,
    days: i128,
    nanos: i128,
    /// How many of [`UNITS`] have been passed.
    passed: usize,
}

impl Sum {
    /// Adds the count of `UNITS[unit]`.
    fn add(&mut self, count: i64, unit: usize) -> Result<(), Refused> {
        let name = UNITS[unit].1;
        if unit + 1 == self.passed {
            return Err(Refused::Because(format!("Invalid duration. The {name} are specified multiple times")));
        }
        if unit < self.passed {
            let before = UNITS[self.passed - 1].1;
            return Err(Refused::Because(format!("Invalid duration. The {before} should be after {name}")));
        }
        self.passed = unit + 1;
        let count = i128::from(count);
        match UNITS[unit].0 {
            "y" => self.months += count * 12,
            "mo" => self.months += count,
            "w" => self.days += count * 7,
            "d" => self.days += count,
            small => {
                let size = NANOS.iter().find(|(name, _)| *name == small).map_or(0, |(_, size)| *size);
                self.nanos += count * i128::from(size);
            }
        }
        Ok(())
    }

    /// `1h30m`
    fn add_units(&mut self, mut text: &str) -> Result<(), Refused> {
        if text.is_empty() {
            return Err(Refused::Form);
        }
        while !text.is_empty() {
            let (count, rest) = number(text)?;
            let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let (symbol, rest) = rest.split_at(end);
            let symbol = if symbol.eq_ignore_ascii_case("µs") { "us" } else { symbol };
            let unit = UNITS.iter().position(|(name, _)| name.eq_ignore_ascii_case(symbol)).ok_or(Refused::Form)?;
            self.add(count, unit)?;
            text = rest;
        }
        Ok(())
    }

    /// `1Y2M3DT4H5M6S` or `3W`
    fn add_designators(&mut self, text: &str) -> Result<(), Refused> {
        let (date, time) = text.split_once('T').unwrap_or((text, ""));
        for (mut rest, units) in
            [(date, [('Y', 0), ('M', 1), ('W', 2), ('D', 3)]), (time, [('H', 4), ('M', 5), ('S', 6), ('S', 6)])]
        {
            while !rest.is_empty() {
                let (count, after) = number(rest)?;
                let designator = after.chars().next().ok_or(Refused::Form)?;
                let (_, unit) = units.iter().find(|(name, _)| *name == designator).ok_or(Refused::Form)?;
                self.add(count, *unit).map_err(|_| Refused::Form)?;
                rest = &after[designator.len_utf8()..];
            }
        }
        Ok(())
    }

    /// `0001-02-03T04:05:06`
    fn add_alternative(&mut self, text: &str) -> Result<(), Refused> {
        const SEPARATORS: [&str; 6] = ["-", "-", "T", ":", ":", ""];
        let mut rest = text;
        for (separator, unit) in SEPARATORS.into_iter().zip([0, 1, 3, 4, 5, 6]) {
            let digits = if unit == 0 { 4 } else { 2 };
            let count = rest.get(..digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
            self.add(count.and_then(|count| count.parse().ok()).ok_or(Refused::Form)?, unit)?;
            rest = rest[digits..].strip_prefix(separator).ok_or(Refused::Form)?;
        }
        if rest.is_empty() { Ok(()) } else { Err(Refused::Form) }
    }

    fn finish(self) -> Result<Duration, Refused> {
        // The limit is the same in all three messages of Cassandra's.
        let too_many = |name| {
            let limit = "must be less or equal to 2147483647";
            Refused::Because(format!("Invalid duration. The total number of {name} {limit}"))
        };
        Ok(Duration {
            months: i32::try_from(self.months).map_err(|_| too_many("months"))?,
            days: i32::try_from(self.days).map_err(|_| too_many("days"))?,
            nanos: i64::try_from(self.nanos).map_err(|_| too_many("nanoseconds"))?,
        })
    }
}

/// The number at the start, and what follows it.
fn number(text: &str) -> Result<(i64, &str), Refused> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    Ok((number.parse().map_err(|_| Refused::Form)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_text_agree() {
        let want = Duration { months: 14, days: 3, nanos: 14_706_000_000_000 };
        for text in ["1y2mo3d4h5m6s", "P1Y2M3DT4H5M6S", "P0001-02-03T04:05:06"] {
            assert_eq!(Duration::parse(text), Ok(want), "{text}");
        }
        assert_eq!(Duration::parse("P2W"), Ok(Duration { months: 0, days: 14, nanos: 0 }));
        for (text, printed) in [
            ("-1d", "-1d"),
            ("0s", "0s"),
            ("-0d", "0s"),
            ("1Y2MO3W4D5H6M7S8MS9US10NS", "1y2mo25d5h6m7s8ms9us10ns"),
            ("5µs", "5us"),
            ("P0001-13-01T00:00:00", "2y1mo1d"),
            ("9223372036854775807ns", "2562047h47m16s854ms775us807ns"),
            ("178956970y7mo", "178956970y7mo"),
        ] {
            assert_eq!(Duration::parse(text).unwrap().to_string(), printed, "{text}");
        }
    }

    /// What Cassandra 5.0.6 says to the same texts.
    #[test]
    fn the_words_are_cassandras() {
        for (text, message) in [
            ("1", "Unable to convert '1' to a duration"),
            ("1d ", "Unable to convert '1d ' to a duration"),
            ("30m1h", "Invalid duration. The minutes should be after hours"),
            ("1s1ns1us", "Invalid duration. The nanoseconds should be after microseconds"),
            ("1h1h", "Invalid duration. The hours are specified multiple times"),
            ("2147483648mo", "Invalid duration. The total number of months must be less or equal to 2147483647"),
            ("178956970y8mo", "Invalid duration. The total number of months must be less or equal to 2147483647"),
            ("99999999999d", "Invalid duration. The total number of days must be less or equal to 2147483647"),
            ("2562048h", "Invalid duration. The total number of nanoseconds must be less or equal to 2147483647"),
        ] {
            assert_eq!(Duration::parse(text).unwrap_err().to_string(), message);
        }
        for text in ["", "-", "1x", "h1", "9223372036854775808ns", "PT1H1H", "P0001-02-03", "P1é", "é"] {
            assert!(Duration::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_round_trip() {
        let want = Duration { months: -14, days: -3, nanos: i64::MIN };
        let mut bytes = Vec::new();
        want.encode(&mut bytes);
        assert_eq!(Duration::decode(&bytes), Ok(want));
        assert!(Duration::decode(&bytes[..2]).is_err());
        assert!(Duration::decode(&[2, 1, 0]).is_err(), "mixed signs");
    }
}
