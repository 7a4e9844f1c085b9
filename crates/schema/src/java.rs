//! Numbers in the words of Java, where clients compare text: DESCRIBE and error messages.

/// A double as `Double.toString` prints it: at least one digit behind the point, and an exponent outside of
/// 0.001 … 10,000,000.
pub fn double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() };
    }
    let magnitude = value.abs();
    if value == 0.0 || (1e-3..1e7).contains(&magnitude) {
        let text = value.to_string();
        return if text.contains('.') { text } else { text + ".0" };
    }
    let text = format!("{value:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn doubles_print_as_in_java() {
        for (value, text) in [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (0.01, "0.01"),
            (0.001, "0.001"),
            (0.0001, "1.0E-4"),
            (6.71e-5, "6.71E-5"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (-2.5, "-2.5"),
        ] {
            assert_eq!(super::double(value), text);
        }
    }
}
