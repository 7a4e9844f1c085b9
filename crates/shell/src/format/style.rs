//! How values are written.

use super::time::TIME_FORMAT;

/// How values are written: for a table, or for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Style {
    /// Widths are those of text in colours.
    pub(crate) is_coloured: bool,
    /// The text of a null.
    pub(crate) null: String,
    /// The form of a timestamp, in strftime's words.
    pub(crate) time_format: String,
    /// Fractions of seconds have three digits, not six.
    pub(crate) has_millis: bool,
    /// Significant digits of a float.
    pub(crate) float_precision: usize,
    /// Significant digits of a double.
    pub(crate) double_precision: usize,
    /// Between a number's whole part and its fraction.
    pub(crate) decimal_separator: String,
    /// Between groups of three digits; empty: nothing is.
    pub(crate) thousands_separator: String,
    /// True and false.
    pub(crate) booleans: (String, String),
    /// Text is written as it is: for a file, which is read again.
    pub(crate) is_raw: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            is_coloured: false,
            null: "null".to_owned(),
            time_format: TIME_FORMAT.to_owned(),
            has_millis: false,
            float_precision: 5,
            double_precision: 5,
            decimal_separator: ".".to_owned(),
            thousands_separator: String::new(),
            booleans: ("True".to_owned(), "False".to_owned()),
            is_raw: false,
        }
    }
}
