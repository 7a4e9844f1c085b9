//! How far a duration reaches that begins at a place in the text. Only its shape is looked at; whether its parts stand in
//! order and fit is the value's question. Every look is one pass, for hostile text.

use std::iter::Peekable;
use std::str::Chars;

/// The length of `1h30m`: digits and units in turn.
pub(super) fn with_units(text: &str) -> Option<usize> {
    let mut length = 0;
    loop {
        let digits = digit_count(&text[length..]);
        let unit = unit_length(&text[length + digits..]);
        match (digits, unit) {
            (0, _) | (_, None) => break,
            (_, Some(unit)) => length += digits + unit,
        }
    }
    (length > 0).then_some(length)
}

/// The length of the unit at the start of `text`, in any case: y, mo, w, d, h, m, s, ms, us, µs or ns.
fn unit_length(text: &str) -> Option<usize> {
    let mut characters = text.chars();
    let first = characters.next()?;
    let second = characters.next().map(|second| second.to_ascii_lowercase());
    match (first.to_ascii_lowercase(), second) {
        ('m', Some('o' | 's')) | ('u' | 'n', Some('s')) => Some(2),
        ('µ', Some('s')) => Some('µ'.len_utf8() + 1),
        ('y' | 'w' | 'd' | 'h' | 'm' | 's', _) => Some(1),
        _ => None,
    }
}

fn digit_count(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The length of `P1Y2M3DT4H5M6S`, `P3W` or `P0001-02-03T04:05:06`.
pub(super) fn iso(text: &str) -> Option<usize> {
    let body = text.strip_prefix('P')?;
    let length = 1 + alternative(body).or_else(|| designators(body))?;
    // `P1Yx` is a name.
    let goes_on = text[length..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    (!goes_on).then_some(length)
}

fn alternative(body: &str) -> Option<usize> {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let bytes = body.as_bytes().get(..SHAPE.len())?;
    let fits = |(byte, shape): (&u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
    bytes.iter().zip(SHAPE).all(fits).then_some(SHAPE.len())
}

fn designators(body: &str) -> Option<usize> {
    let digits = digit_count(body);
    if digits > 0 && body[digits..].starts_with('W') {
        return Some(digits + 1);
    }
    let date = parts(body, "YMD");
    let Some(time) = body[date..].strip_prefix('T') else {
        return (date > 0).then_some(date);
    };
    match parts(time, "HMS") {
        0 => None,
        length => Some(date + 1 + length),
    }
}

/// The length of digits with designators, each designator at most once and in that order.
fn parts(text: &str, designators: &str) -> usize {
    let mut length = 0;
    let mut allowed: Peekable<Chars<'_>> = designators.chars().peekable();
    loop {
        let digits = digit_count(&text[length..]);
        let Some(found) = text[length + digits..].chars().next() else { return length };
        if digits == 0 || !allowed.any(|designator| designator == found) {
            return length;
        }
        length += digits + found.len_utf8();
    }
}
