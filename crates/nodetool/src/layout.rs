//! How numbers and columns look in Cassandra's nodetool.

use std::fmt::Display;

/// Rows whose columns are as wide as their widest entry; a row with fewer columns is filled up with blanks to the full width.
pub(crate) struct Columns {
    gap: &'static str,
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// With so much between the columns.
    pub(crate) fn new(gap: &'static str) -> Columns {
        Columns { gap, rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, row: [&str; N]) {
        self.rows.push(row.map(str::to_owned).to_vec());
    }

    /// All rows, each as a line that begins with `indent`.
    pub(crate) fn text(&self, indent: &str) -> String {
        self.lines(indent).concat()
    }

    /// The same, row by row.
    pub(crate) fn lines(&self, indent: &str) -> Vec<String> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|entry| entry.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..count).map(width).collect();
        let line = |row: &Vec<String>| {
            let entry = |(column, width): (usize, &usize)| format!("{:<width$}", row.get(column).map_or("", |e| e));
            let entries: Vec<String> = widths.iter().enumerate().map(entry).collect();
            format!("{indent}{}\n", entries.join(self.gap))
        };
        self.rows.iter().map(line).collect()
    }
}

/// A figure, or Cassandra's sign for one that is not known.
pub(crate) fn or_unknown<T: Display>(figure: Option<T>) -> String {
    figure.map_or_else(|| "?".into(), |figure| figure.to_string())
}

/// A measure with a fraction. What nobody measured is no number.
pub(crate) fn or_nan(figure: Option<f64>) -> f64 {
    figure.unwrap_or(f64::NAN)
}

/// As Java prints a double of usual size: `1.0`, `0.25`, `NaN`.
pub(crate) fn double(figure: f64) -> String {
    format!("{figure:?}")
}

const UNITS: [(f64, &str); 4] =
    [(1_099_511_627_776.0, "TiB"), (1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")];

/// `234.56 KiB`, `18 MiB`, `110 bytes`: at most two digits behind the point, none of them a zero at the end.
pub(crate) fn size(bytes: f64) -> String {
    let (value, unit) = match UNITS.iter().find(|(least, _)| bytes.abs() >= *least) {
        Some((least, unit)) => (bytes / least, *unit),
        None => (bytes, "bytes"),
    };
    let digits = format!("{value:.2}");
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Bytes as they are, or as a person reads them.
pub(crate) fn bytes(count: u64, human: bool) -> String {
    if human { size(count as f64) } else { count.to_string() }
}

/// `0h00m47s`.
pub(crate) fn hours(seconds: u64) -> String {
    format!("{}h{:02}m{:02}s", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Milliseconds since 1970 as Java prints a date and time without a zone: `2025-11-22T09:15:37.123`, without what is zero at its end. Of UTC.
pub(crate) fn date_and_time(ms: u64) -> String {
    const DAY_MS: u64 = 86_400_000;
    let (days, rest) = (ms / DAY_MS, ms % DAY_MS);
    // Years that begin in March, so that the day that not all of them have is their last.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (minutes, seconds, ms) = (rest / 60_000, rest / 1000 % 60, rest % 1000);
    let mut text = format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}", minutes / 60, minutes % 60);
    if seconds > 0 || ms > 0 {
        text += &format!(":{seconds:02}");
    }
    if ms > 0 {
        text += &format!(".{ms:03}");
    }
    text
}

/// Milliseconds since 1970 as Cassandra prints the time of a line: `2025-11-22 09:15:37,123`. Of UTC.
pub(crate) fn stamp(ms: u64) -> String {
    let minute = date_and_time(ms / 60_000 * 60_000).replace('T', " ");
    format!("{minute}:{:02},{:03}", ms / 1000 % 60, ms % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_cassandras() {
        // What 5.0.6 printed of the same numbers.
        for (bytes, expected) in [
            (0.0, "0 bytes"),
            (1012.0, "1012 bytes"),
            (240_188.0, "234.56 KiB"),
            (1128.0, "1.1 KiB"),
            (133_664.0, "130.53 KiB"),
            (18.0 * 1024.0 * 1024.0, "18 MiB"),
            (12_402_000.0, "11.83 MiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
        assert_eq!(hours(47), "0h00m47s");
        assert_eq!(double(38.277_777_777_777_78), "38.27777777777778");
    }

    #[test]
    fn dates_are_javas() {
        for (ms, expected) in [
            (0, "1970-01-01T00:00"),
            (951_782_399_999, "2000-02-28T23:59:59.999"),
            (951_868_799_000, "2000-02-29T23:59:59"),
            (951_868_800_000, "2000-03-01T00:00"),
            (1_709_164_805_007, "2024-02-29T00:00:05.007"),
            (1_763_802_937_123, "2025-11-22T09:15:37.123"),
            (4_107_542_400_000, "2100-03-01T00:00"),
        ] {
            assert_eq!(date_and_time(ms), expected);
        }
    }

    #[test]
    fn short_rows_are_filled_up() {
        let mut columns = Columns::new(" ");
        columns.row(["pending tasks", "1"]);
        columns.row(["shop", "big", "1"]);
        assert_eq!(columns.text(">"), ">pending tasks 1    \n>shop          big 1\n");
    }
}
