//! What a marker of a statement of one's own is bound to: a text with holes that an operation's row fills.

use std::fmt;
use std::io::Write;

use cql_types::CqlType;

use crate::StressError;
use crate::random::{below, mix, next_random};
use crate::raw::rows::POOL_BYTES;

/// The value of one marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bind {
    /// An integer of so many bytes.
    Integer { number: Number, bytes: usize },
    /// A text, or a blob.
    Text(Vec<Part>),
}

/// A piece of a bind's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// As it stands.
    Literal(String),
    /// `{row}`, `{row/2}`, `{row%2}` or `{row/2%2}`.
    Number(Number),
    /// `{text:60}`: so many letters, which follow from the row.
    Letters(usize),
}

/// A number that follows from the row's: divided first, then what a division leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// The same for each row.
    Constant(i64),
    /// `row / divisor % modulus`.
    OfRow { divisor: u64, modulus: u64 },
}

impl Number {
    #[inline]
    fn of(self, row: u64) -> i64 {
        match self {
            Number::Constant(number) => number,
            Number::OfRow { divisor, modulus } => (row / divisor % modulus).cast_signed(),
        }
    }
}

impl Bind {
    /// What `text` says for a marker of that type.
    pub(crate) fn new(text: &str, ty: &CqlType) -> Result<Bind, StressError> {
        let parts = parts(text)?;
        let bytes = match ty {
            CqlType::Ascii | CqlType::Text | CqlType::Blob => return Ok(Bind::Text(parts)),
            CqlType::Tinyint => 1,
            CqlType::Smallint => 2,
            CqlType::Int => 4,
            CqlType::Bigint | CqlType::Counter | CqlType::Timestamp => 8,
            _ => {
                return Err(refused(
                    text,
                    &format!("cannot bind a marker of type {ty}: only texts, blobs and integers"),
                ));
            }
        };
        let number = match &parts[..] {
            [Part::Number(number)] => Some(*number),
            [Part::Literal(literal)] => literal.parse().ok().map(Number::Constant),
            _ => None,
        };
        let number = number.ok_or_else(|| refused(text, &format!("a marker of type {ty} takes one number")))?;
        Ok(Bind::Integer { number, bytes })
    }

    /// Appends the row's value, behind its length.
    #[inline]
    pub(crate) fn append(&self, out: &mut Vec<u8>, letters: &Letters, row: u64) {
        let length_at = out.len();
        out.extend_from_slice(&[0; 4]);
        match self {
            Bind::Integer { number, bytes } => out.extend_from_slice(&number.of(row).to_be_bytes()[8 - bytes..]),
            Bind::Text(parts) => parts.iter().for_each(|part| part.append(out, letters, row)),
        }
        let length = (out.len() - length_at - 4) as u32;
        out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

impl Part {
    #[inline]
    fn append(&self, out: &mut Vec<u8>, letters: &Letters, row: u64) {
        match self {
            Part::Literal(text) => out.extend_from_slice(text.as_bytes()),
            Part::Number(number) => write!(out, "{}", number.of(row)).expect("a Vec takes all"),
            Part::Letters(count) => out.extend_from_slice(letters.of(row, *count)),
        }
    }
}

/// Cuts a text at its holes. Braces around anything else are braces.
fn parts(text: &str) -> Result<Vec<Part>, StressError> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        literal.push_str(&rest[..open]);
        rest = &rest[open..];
        let hole = rest.find('}').map(|close| (hole(&rest[1..close]), close + 1));
        let Some((Some(part), length)) = hole else {
            literal.push('{');
            rest = &rest[1..];
            continue;
        };
        let part = part.map_err(|reason| refused(text, &reason))?;
        if !literal.is_empty() {
            parts.push(Part::Literal(std::mem::take(&mut literal)));
        }
        parts.push(part);
        rest = &rest[length..];
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    Ok(parts)
}

/// What stands between two braces, if it is a hole.
fn hole(text: &str) -> Option<Result<Part, String>> {
    if let Some(count) = text.strip_prefix("text:") {
        let count = count.parse().ok().filter(|count| *count <= POOL_BYTES / 2);
        return Some(count.map(Part::Letters).ok_or_else(|| format!("text: takes a count up to {}", POOL_BYTES / 2)));
    }
    let operators = text.strip_prefix("row")?;
    let (divisor, modulus) =
        operators.split_once('%').map_or((operators, None), |(divisor, modulus)| (divisor, Some(modulus)));
    let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
    let divisor = match divisor {
        "" => Some(1),
        divisor => number(divisor.strip_prefix('/')?),
    };
    let modulus = modulus.map_or(Some(1 << 63), number);
    let part = divisor.zip(modulus).map(|(divisor, modulus)| Part::Number(Number::OfRow { divisor, modulus }));
    Some(part.ok_or_else(|| "row must be divided by a number above 0".to_owned()))
}

fn refused(bind: &str, reason: &str) -> StressError {
    StressError::Arguments { reason: format!("--bind {bind}: {reason}") }
}

/// Letters to cut texts from.
pub(crate) struct Letters {
    pool: Vec<u8>,
    seed: u64,
}

impl Letters {
    pub(crate) fn new(seed: u64) -> Letters {
        let mut state = seed;
        let letter = |_| b'a' + below(next_random(&mut state), 26) as u8;
        Letters { pool: (0..POOL_BYTES).map(letter).collect(), seed }
    }

    #[inline]
    fn of(&self, row: u64, count: usize) -> &[u8] {
        let start = below(mix(row ^ self.seed), (self.pool.len() - count) as u64) as usize;
        &self.pool[start..start + count]
    }
}

impl fmt::Debug for Letters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Letters").field("seed", &self.seed).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a row, without its length, which is looked at here.
    fn value(text: &str, ty: &CqlType, row: u64) -> Vec<u8> {
        let mut out = Vec::new();
        Bind::new(text, ty).unwrap().append(&mut out, &Letters::new(1), row);
        let (length, value) = out.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_be_bytes(*length) as usize, value.len());
        value.to_vec()
    }

    #[test]
    fn holes_are_filled_with_what_follows_from_the_row() {
        assert_eq!(value("{row}", &CqlType::Bigint, 4711), 4711i64.to_be_bytes());
        assert_eq!(value("{row/100}", &CqlType::Int, 4711), 47i32.to_be_bytes());
        assert_eq!(value("{row%100}", &CqlType::Smallint, 4711), 11i16.to_be_bytes());
        assert_eq!(value("{row/100%10}", &CqlType::Tinyint, 4711), [7]);
        assert_eq!(value("-5", &CqlType::Int, 4711), (-5i32).to_be_bytes());
        assert_eq!(
            value("{\"k\": {row}, \"v\": {\"{row%10}\": 1}}", &CqlType::Text, 47),
            b"{\"k\": 47, \"v\": {\"7\": 1}}"
        );
        assert_eq!(value("", &CqlType::Blob, 1), b"");
        let letters = value("{text:60}", &CqlType::Ascii, 1);
        assert!(letters.len() == 60 && letters.iter().all(u8::is_ascii_lowercase));
        assert_ne!(letters, value("{text:60}", &CqlType::Ascii, 2));
    }

    #[test]
    fn what_no_marker_can_take_is_refused() {
        for (text, ty) in [
            ("{row}{row}", CqlType::Int),
            ("one", CqlType::Int),
            ("{text:5}", CqlType::Bigint),
            ("{row}", CqlType::Uuid),
            ("{row/0}", CqlType::Int),
            ("{row%x}", CqlType::Text),
            ("{text:99999999}", CqlType::Text),
        ] {
            assert!(matches!(Bind::new(text, &ty), Err(StressError::Arguments { .. })), "{text}");
        }
    }
}
