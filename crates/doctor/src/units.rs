//! Numbers as people write them on a command line (`20M`, `300`, `2KiB`, `80%`, `30d`), and as they like to read them.

use thiserror::Error;

/// Why a value could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// Not a number with a suffix of the kind.
    #[error("'{text}' is not {what}: write {example}")]
    Wrong {
        /// What was given.
        text: String,
        /// What was wanted.
        what: &'static str,
        /// One that would be right.
        example: &'static str,
    },
    /// Not a whole number, as 1.5 rows.
    #[error("'{text}' is not a whole number")]
    Broken {
        /// What was given.
        text: String,
    },
    /// More than 64 bits hold.
    #[error("'{text}' is too large")]
    TooLarge {
        /// What was given.
        text: String,
    },
}

/// Digits behind the point that are understood.
const DECIMALS_MAX: usize = 9;

/// A count: digits, perhaps a decimal point, and k, M, G or T for thousands of thousands.
pub fn count(text: &str) -> Result<u64, UnitError> {
    scaled(text, "a count", "a number such as 500, 20M or 1.5G", |suffix| match suffix {
        "" => Some(1),
        "k" | "K" => Some(1_000),
        "m" | "M" => Some(1_000_000),
        "g" | "G" | "b" | "B" => Some(1_000_000_000),
        "t" | "T" => Some(1_000_000_000_000),
        _ => None,
    })
}

/// A size in bytes. As everywhere in Helenus a single letter is a power of 1,024.
pub fn bytes(text: &str) -> Result<u64, UnitError> {
    scaled(text, "a size", "bytes, or a number with KiB, MiB, GiB, TiB, kB, MB, GB or TB, such as 2KiB", |suffix| {
        match suffix {
            "" | "B" => Some(1),
            "k" | "K" | "KiB" => Some(1 << 10),
            "M" | "MiB" => Some(1 << 20),
            "G" | "GiB" => Some(1 << 30),
            "T" | "TiB" => Some(1 << 40),
            "kB" | "KB" => Some(1_000),
            "MB" => Some(1_000_000),
            "GB" => Some(1_000_000_000),
            "TB" => Some(1_000_000_000_000),
            _ => None,
        }
    })
}

/// A duration, in seconds.
pub fn seconds(text: &str) -> Result<u64, UnitError> {
    scaled(text, "a duration", "a number with s, m, h, d or y, such as 30d", |suffix| match suffix {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3_600),
        "d" => Some(86_400),
        "y" => Some(365 * 86_400),
        _ => None,
    })
}

/// A part of a whole, from 0 to 1, or in per cent.
pub fn share(text: &str) -> Result<f64, UnitError> {
    number(text)
        .filter(|value| *value <= 1.0)
        .ok_or_else(|| wrong(text, "a share", "a number from 0 to 1, or per cent: 0.8, 80%"))
}

/// How many times another thing something is.
pub fn ratio(text: &str) -> Result<f64, UnitError> {
    const RATIO_MAX: f64 = 100.0;
    number(text)
        .filter(|value| *value <= RATIO_MAX)
        .ok_or_else(|| wrong(text, "a ratio", "a number from 0 to 100, such as 0.5"))
}

/// A number that is neither negative nor endless, perhaps in per cent.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, factor) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits.trim_end(), 0.01));
    // The standard library also reads `inf`, `1e9` and `+1`, which nobody means here.
    let is_plain = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    digits.parse::<f64>().ok().filter(|value| is_plain && value.is_finite()).map(|value| value * factor)
}

fn wrong(text: &str, what: &'static str, example: &'static str) -> UnitError {
    UnitError::Wrong { text: text.to_owned(), what, example }
}

/// `<digits>[.<digits>]<suffix>` times what the suffix stands for, exactly.
fn scaled(
    text: &str,
    what: &'static str,
    example: &'static str,
    factor: impl Fn(&str) -> Option<u64>,
) -> Result<u64, UnitError> {
    let refused = || wrong(text, what, example);
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (digits, suffix) = trimmed.split_at(end);
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
    if whole.is_empty() || decimals.is_empty() || decimals.len() > DECIMALS_MAX || decimals.contains('.') {
        return Err(refused());
    }
    let factor = u128::from(factor(suffix.trim_start()).ok_or_else(refused)?);
    let too_large = || UnitError::TooLarge { text: text.to_owned() };
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let denominator = 10_u128.pow(decimals.len() as u32);
    let decimals: u128 = decimals.parse().map_err(|_| refused())?;
    let value = u128::from(whole) * factor * denominator + decimals * factor;
    if !value.is_multiple_of(denominator) {
        return Err(UnitError::Broken { text: text.to_owned() });
    }
    u64::try_from(value / denominator).map_err(|_| too_large())
}

/// Bytes as memory is sold: powers of 1,024, one decimal where it is not even.
pub(crate) fn print_bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    print_in(bytes, &UNITS, " bytes")
}

/// Bytes as disks are sold: powers of 1,000.
pub(crate) fn print_disk_bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] =
        [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    print_in(bytes, &UNITS, " bytes")
}

/// A count as it is written on the command line.
pub(crate) fn print_count(count: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("T", 1_000_000_000_000), ("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000)];
    if count < 10_000 {
        return count.to_string();
    }
    print_in(count, &UNITS, "").replace(' ', "")
}

fn print_in(value: u64, units: &[(&str, u64)], none: &str) -> String {
    match units.iter().find(|(_, size)| value >= *size) {
        Some((unit, size)) if value.is_multiple_of(*size) => format!("{} {unit}", value / size),
        Some((unit, size)) => format!("{:.1} {unit}", value as f64 / *size as f64),
        None => format!("{value}{none}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        assert_eq!(count("0"), Ok(0));
        assert_eq!(count("300"), Ok(300));
        assert_eq!(count("20M"), Ok(20_000_000));
        assert_eq!(count("100k"), Ok(100_000));
        assert_eq!(count("1.5G"), Ok(1_500_000_000));
        assert_eq!(count(" 2 T "), Ok(2_000_000_000_000));
        assert_eq!(count("0.001k"), Ok(1));
        assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
        for text in ["", "M", ".5M", "5.M", "1.2.3", "-1", "+1", "20MB", "1e6", "0x10", "twenty", "1.0000000001G", "٣"]
        {
            assert!(matches!(count(text), Err(UnitError::Wrong { .. })), "{text:?}: {:?}", count(text));
        }
        assert_eq!(count("1.5"), Err(UnitError::Broken { text: "1.5".into() }));
        for text in ["18446744073709551616", "99999999999999999999999", "18446745T"] {
            assert_eq!(count(text), Err(UnitError::TooLarge { text: text.into() }));
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes("300"), Ok(300));
        assert_eq!(bytes("300B"), Ok(300));
        assert_eq!(bytes("2KiB"), Ok(2_048));
        assert_eq!(bytes("2kB"), Ok(2_000));
        assert_eq!(bytes("0.5K"), Ok(512));
        assert_eq!(bytes("4TB"), Ok(4_000_000_000_000));
        assert_eq!(bytes("4TiB"), Ok(4 << 40));
        for text in ["", "KiB", "2kib", "2Gb", "-2", "2 potatoes"] {
            assert!(bytes(text).is_err(), "{text:?} was taken");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(seconds("30d"), Ok(2_592_000));
        assert_eq!(seconds("1.5h"), Ok(5_400));
        assert!(seconds("30").is_err(), "a duration needs its unit");
        assert!(seconds("30w").is_err());
    }

    #[test]
    fn shares_and_ratios() {
        assert_eq!(share("0.8"), Ok(0.8));
        assert_eq!(share("80%"), Ok(0.8));
        assert_eq!(share("0"), Ok(0.0));
        assert_eq!(share("1"), Ok(1.0));
        for text in ["1.1", "101%", "-0.1", "nan", "inf", "1e-1", "", "%", "."] {
            assert!(share(text).is_err(), "{text:?} was taken");
        }
        assert_eq!(ratio("2.5"), Ok(2.5));
        assert!(ratio("101").is_err());
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(print_bytes(16 << 30), "16 GiB");
        assert_eq!(print_bytes((3 << 29) + 1), "1.5 GiB");
        assert_eq!(print_bytes(17), "17 bytes");
        assert_eq!(print_disk_bytes(1_250_000_000_000), "1.2 TB");
        assert_eq!(print_count(20_000_000), "20M");
        assert_eq!(print_count(100_000), "100k");
        assert_eq!(print_count(1_500), "1500");
    }
}
