//! Durations: months, days and nanoseconds, each a zigzag varint; all of one sign.

use stdx::{Reader, varint};

use crate::ValueError;

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
        let months = varint::unzigzag(reader.varint().map_err(short)?);
        let days = varint::unzigzag(reader.varint().map_err(short)?);
        let nanos = varint::unzigzag(reader.varint().map_err(short)?);
        let out_of_range = |_| ValueError::malformed("Invalid duration: months and days are 32-bit integers");
        let months = i32::try_from(months).map_err(out_of_range)?;
        let days = i32::try_from(days).map_err(out_of_range)?;
        let negative = months < 0 || days < 0 || nanos < 0;
        let positive = months > 0 || days > 0 || nanos > 0;
        if negative && positive {
            return Err(ValueError::malformed(
                "The duration months, days and nanoseconds must be all of the same sign",
            ));
        }
        if !reader.is_empty() {
            return Err(ValueError::malformed("Unexpected extraneous bytes after duration"));
        }
        Ok(Duration { months, days, nanos })
    }

    /// Appends the bytes of the value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        varint::encode(varint::zigzag(i64::from(self.months)), out);
        varint::encode(varint::zigzag(i64::from(self.days)), out);
        varint::encode(varint::zigzag(self.nanos), out);
    }

    /// Reads `1y2mo3w4d5h6m7s8ms9us10ns`, `P1Y2M3DT4H5M6S`, `P3W` or `P0001-02-03T04:05:06`.
    pub fn parse(text: &str) -> Option<Duration> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let duration = match text.strip_prefix('P') {
            Some(iso) => parse_iso(iso)?,
            None => parse_units(text)?,
        };
        let sign = if negative { -1 } else { 1 };
        let Duration { months, days, nanos } = duration;
        Some(Duration { months: months * sign, days: days * sign, nanos: nanos * i64::from(sign) })
    }
}

impl std::fmt::Display for Duration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.months < 0 || self.days < 0 || self.nanos < 0 {
            f.write_str("-")?;
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

/// Sums parts, refusing what overflows.
#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    nanos: i128,
}

impl Sum {
    fn add(&mut self, count: i64, unit: &str) -> Option<()> {
        let unit = unit.to_ascii_lowercase();
        match unit.as_str() {
            "y" => self.months = self.months.checked_add(count.checked_mul(12)?)?,
            "mo" => self.months = self.months.checked_add(count)?,
            "w" => self.days = self.days.checked_add(count.checked_mul(7)?)?,
            "d" => self.days = self.days.checked_add(count)?,
            "µs" => self.nanos += i128::from(count) * 1_000,
            _ => {
                let (_, size) = NANOS.iter().find(|(name, _)| *name == unit)?;
                self.nanos += i128::from(count) * i128::from(*size);
            }
        }
        Some(())
    }

    fn finish(self) -> Option<Duration> {
        Some(Duration {
            months: i32::try_from(self.months).ok()?,
            days: i32::try_from(self.days).ok()?,
            nanos: i64::try_from(self.nanos).ok()?,
        })
    }
}

/// The digits at the start, the unit after them, and the rest.
fn part(text: &str) -> Option<(i64, &str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let count = text[..digits].parse().ok()?;
    let text = &text[digits..];
    let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    let (unit, rest) = text.split_at(end);
    Some((count, unit, rest))
}

fn parse_units(mut text: &str) -> Option<Duration> {
    let mut sum = Sum::default();
    if text.is_empty() {
        return None;
    }
    while !text.is_empty() {
        let (count, unit, rest) = part(text)?;
        sum.add(count, unit)?;
        text = rest;
    }
    sum.finish()
}

fn parse_iso(text: &str) -> Option<Duration> {
    if text.as_bytes().get(4) == Some(&b'-') {
        return parse_iso_alternative(text);
    }
    let mut sum = Sum::default();
    let (date, time) = text.split_once('T').unwrap_or((text, ""));
    let mut rest = date;
    while !rest.is_empty() {
        let (count, unit, after) = part(rest)?;
        sum.add(count, if unit == "M" { "mo" } else { unit })?;
        rest = after;
    }
    let mut rest = time;
    while !rest.is_empty() {
        let (count, unit, after) = part(rest)?;
        sum.add(count, unit)?;
        rest = after;
    }
    if text.is_empty() { None } else { sum.finish() }
}

/// `0001-02-03T04:05:06`
fn parse_iso_alternative(text: &str) -> Option<Duration> {
    let mut sum = Sum::default();
    let (date, time) = text.split_once('T')?;
    let mut date = date.splitn(3, '-');
    let mut time = time.splitn(3, ':');
    for (parts, units) in
        [(&mut date, ["y", "mo", "d"]), (&mut time, ["h", "m", "s"])] as [(&mut dyn Iterator<Item = &str>, _); 2]
    {
        for unit in units {
            sum.add(parts.next()?.parse().ok().filter(|&n: &i64| n >= 0)?, unit)?;
        }
    }
    sum.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_text_agree() {
        let want = Duration { months: 14, days: 3, nanos: 14_706_000_000_000 };
        for text in ["1y2mo3d4h5m6s", "P1Y2M3DT4H5M6S", "P0001-02-03T04:05:06"] {
            assert_eq!(Duration::parse(text), Some(want), "{text}");
        }
        assert_eq!(Duration::parse("P2W"), Some(Duration { months: 0, days: 14, nanos: 0 }));
        assert_eq!(Duration::parse("-1d").unwrap().to_string(), "-1d");
        assert_eq!(want.to_string(), "1y2mo3d4h5m6s");
        for text in ["", "-", "P", "1", "1x", "99999999999y", "h1"] {
            assert_eq!(Duration::parse(text), None, "{text}");
        }
    }

    #[test]
    fn bytes_round_trip() {
        let want = Duration { months: -14, days: -3, nanos: i64::MIN };
        let mut bytes = Vec::new();
        want.encode(&mut bytes);
        assert_eq!(Duration::decode(&bytes), Ok(want));
        assert!(Duration::decode(&bytes[1..]).is_err());
        assert!(Duration::decode(&[2, 1, 0]).is_err(), "mixed signs");
    }
}
