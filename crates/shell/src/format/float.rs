//! Floating-point numbers with so many digits, as C's `%g` has them.

/// A number as cqlsh writes it: `precision` digits after the point for numbers that are not much longer than that, significant ones for others.
pub(crate) fn shown(number: f64, precision: usize, decimal: &str, thousands: &str) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if !thousands.is_empty() {
        return with_thousands(number, precision, decimal, thousands);
    }
    let mut digits = precision;
    if number.abs() > f64::EPSILON {
        let exponent = number.abs().log10().trunc() as i64;
        if (-4..precision as i64).contains(&exponent) {
            digits = usize::try_from(precision as i64 + exponent + 1).unwrap_or(1);
        }
    }
    let text = general(number, digits);
    if decimal == "." { text } else { text.replace('.', decimal) }
}

/// C's `%.{digits}g`.
fn general(number: f64, digits: usize) -> String {
    let digits = digits.max(1);
    let scientific = format!("{number:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i64 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs());
    }
    let places = usize::try_from(digits as i64 - 1 - exponent).unwrap_or(0);
    without_zeros(&format!("{number:.places$}")).to_owned()
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn with_thousands(number: f64, precision: usize, decimal: &str, thousands: &str) -> String {
    let mut text = group(&format!("{:.0}", number.trunc()), thousands);
    let fraction = format!("{:.precision$}", number.fract().abs());
    let fraction = fraction.get(2..).unwrap_or_default().trim_end_matches('0');
    if !fraction.is_empty() {
        text.push_str(decimal);
        text.push_str(fraction);
    }
    text
}

/// An integer's digits in groups of three.
pub(crate) fn group(digits: &str, separator: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push_str(separator);
        }
        text.push(digit);
    }
    text
}
