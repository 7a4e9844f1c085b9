//! Durations and sizes as `cassandra.yaml` writes them (`10s`, `10000ms`, `32MiB`) and as ScyllaDB's command line does
//! (`200G`). A number without a unit is refused, except under an old key name, which has its unit in the name.

use std::time::Duration;

use thiserror::Error;

/// The unit that an old key name implies for a bare number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// `*_in_ms`.
    Milliseconds,
    /// `*_in_secs`, `*_seconds`.
    Seconds,
    /// `*_in_minutes`.
    Minutes,
    /// `*_in_bytes`.
    Bytes,
    /// `*_in_kb`, which always meant KiB.
    Kibibytes,
    /// `*_in_mb`, which always meant MiB.
    Mebibytes,
}

impl Unit {
    /// The suffix the present name wants.
    pub fn suffix(self) -> &'static str {
        match self {
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::Minutes => "m",
            Unit::Bytes => "B",
            Unit::Kibibytes => "KiB",
            Unit::Mebibytes => "MiB",
        }
    }
}

/// Why a value with a unit could not be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum UnitError {
    /// Not `<number><unit>` with a time unit.
    #[error("'{text}' is not a duration: write a whole number and one of d, h, m, s, ms, us, ns, for example 10s")]
    NotADuration { text: String },
    /// The same where no unit is below a millisecond.
    #[error("'{text}' is not a duration: write a whole number and one of d, h, m, s, ms, for example 5000ms")]
    NotMilliseconds { text: String },
    /// Not `<number><unit>` with a size unit.
    #[error("'{text}' is not a size: write a whole number and one of {units}, for example {example}")]
    NotASize { text: String, units: &'static str, example: &'static str },
    /// More than 64 bits hold.
    #[error("'{text}' is too large")]
    TooLarge { text: String },
}

/// A duration with Cassandra's units.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let (number, unit) = split(text).ok_or_else(|| UnitError::NotADuration { text: text.to_owned() })?;
    let too_large = || UnitError::TooLarge { text: text.to_owned() };
    let seconds = |factor: u64| number.checked_mul(factor).map(Duration::from_secs).ok_or_else(too_large);
    match unit {
        "d" => seconds(86_400),
        "h" => seconds(3_600),
        "m" => seconds(60),
        "s" => seconds(1),
        "ms" => Ok(Duration::from_millis(number)),
        "us" | "µs" => Ok(Duration::from_micros(number)),
        "ns" => Ok(Duration::from_nanos(number)),
        _ => Err(UnitError::NotADuration { text: text.to_owned() }),
    }
}

/// A duration whose units are milliseconds or longer, as those of timeouts in Cassandra.
pub fn whole_milliseconds(text: &str) -> Result<Duration, UnitError> {
    let wrong = || UnitError::NotMilliseconds { text: text.to_owned() };
    match split(text) {
        Some((_, "d" | "h" | "m" | "s" | "ms")) => duration(text),
        _ => Err(wrong()),
    }
}

/// A size in bytes with Cassandra's units (B, KiB, MiB, GiB).
pub fn size(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError::NotASize { text: text.to_owned(), units: "B, KiB, MiB, GiB", example: "32MiB" };
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let shift = match unit {
        "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return Err(wrong()),
    };
    number.checked_mul(1 << shift).ok_or_else(|| UnitError::TooLarge { text: text.to_owned() })
}

/// Bytes a second, as Cassandra's `64MiB/s`. A bare number is mebibytes, as it was under the key's old name; 0 is no limit.
pub fn rate(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError::NotASize { text: text.to_owned(), units: "B/s, KiB/s, MiB/s", example: "64MiB/s" };
    let too_large = || UnitError::TooLarge { text: text.to_owned() };
    if let Ok(number) = text.parse::<u64>() {
        return number.checked_mul(1 << 20).ok_or_else(too_large);
    }
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let shift = match unit {
        "B/s" => 0,
        "KiB/s" => 10,
        "MiB/s" => 20,
        _ => return Err(wrong()),
    };
    number.checked_mul(1 << shift).ok_or_else(too_large)
}

/// [`rate`] of which a bare number is megabits of a million bits, as it was under the key's old name.
pub fn stream_rate(text: &str) -> Result<u64, UnitError> {
    match text.parse::<u64>() {
        Ok(megabits) => megabits.checked_mul(125_000).ok_or_else(|| UnitError::TooLarge { text: text.to_owned() }),
        Err(_) => rate(text),
    }
}

/// As the file takes it: seconds, if it is a whole number of them.
pub fn shown_duration(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("{}s", time.as_secs()),
        _ => format!("{}ms", time.as_millis()),
    }
}

/// As the file takes it: the largest unit of which there is a whole number.
pub fn shown_size(bytes: u64) -> String {
    match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{}MiB", bytes >> 20),
        bytes if bytes.is_multiple_of(1 << 10) => format!("{}KiB", bytes >> 10),
        bytes => format!("{bytes}B"),
    }
}

/// An amount of memory as ScyllaDB's `--memory` takes it: bytes, or with K, M, G, T, which are powers of 1,024. Cassandra's
/// spellings are understood as well.
pub fn memory(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError::NotASize { text: text.to_owned(), units: "K, M, G, T", example: "4G" };
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let shift = match unit {
        "" | "B" => 0,
        "k" | "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        "T" | "TiB" => 40,
        _ => return Err(wrong()),
    };
    number.checked_mul(1 << shift).ok_or_else(|| UnitError::TooLarge { text: text.to_owned() })
}

/// Bytes for people: the largest unit that leaves a number of at least one, with one decimal.
pub fn print_size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) if bytes.is_multiple_of(*size) => format!("{} {unit}", bytes / size),
        Some((unit, size)) => format!("{:.1} {unit}", bytes as f64 / *size as f64),
        None => format!("{bytes} bytes"),
    }
}

/// Splits `10s` into 10 and `s`. Nothing but digits may stand before the unit, as in Cassandra: no sign, no fraction.
fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("10000ms"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("3h"), Ok(Duration::from_secs(10_800)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("1d"), Ok(Duration::from_secs(86_400)));
        assert_eq!(duration("7us"), Ok(Duration::from_micros(7)));
        assert_eq!(duration("7ns"), Ok(Duration::from_nanos(7)));
        for wrong in ["", "10", "s", "-1s", "1.5s", "10 years", "10S"] {
            assert!(duration(wrong).is_err(), "{wrong:?} was taken");
        }
        assert_eq!(
            duration("9999999999999999999d"),
            Err(UnitError::TooLarge { text: "9999999999999999999d".to_owned() })
        );
    }

    #[test]
    fn durations_of_whole_milliseconds() {
        assert_eq!(whole_milliseconds("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(whole_milliseconds("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "5", "100us", "1ns", "-1ms", "1.5s"] {
            assert!(whole_milliseconds(wrong).is_err(), "{wrong:?} was taken");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size("32MiB"), Ok(32 << 20));
        assert_eq!(size("1B"), Ok(1));
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("2GiB"), Ok(2 << 30));
        for wrong in ["", "32", "32MB", "-1MiB", "0x10B"] {
            assert!(size(wrong).is_err(), "{wrong:?} was taken");
        }
    }

    #[test]
    fn rates() {
        assert_eq!(rate("64MiB/s"), Ok(64 << 20));
        assert_eq!(rate("100KiB/s"), Ok(100 << 10));
        assert_eq!(rate("7B/s"), Ok(7));
        assert_eq!(rate("16"), Ok(16 << 20));
        assert_eq!(rate("0"), Ok(0));
        for wrong in ["", "64MiB", "MiB/s", "-1MiB/s", "64Mbit/s"] {
            assert!(rate(wrong).is_err(), "{wrong:?} was taken");
        }
    }

    #[test]
    fn rates_of_streams() {
        assert_eq!(stream_rate("24MiB/s"), Ok(24 << 20));
        assert_eq!(stream_rate("200"), Ok(25_000_000));
        assert_eq!(stream_rate("0"), Ok(0));
        assert!(stream_rate("24MiB").is_err());
        assert!(stream_rate("18446744073709551615").is_err());
    }

    #[test]
    fn memory_as_on_the_command_line() {
        assert_eq!(memory("200G"), Ok(200 << 30));
        assert_eq!(memory("512M"), Ok(512 << 20));
        assert_eq!(memory("1073741824"), Ok(1 << 30));
        assert_eq!(memory("4GiB"), Ok(4 << 30));
        assert!(memory("lots").is_err());
        assert!(memory("99999999T").is_err_and(|error| matches!(error, UnitError::TooLarge { .. })));
    }

    #[test]
    fn sizes_for_people() {
        assert_eq!(print_size(200 << 30), "200 GiB");
        assert_eq!(print_size((23 << 30) + (614 << 20)), "23.6 GiB");
        assert_eq!(print_size(17), "17 bytes");
    }
}
