//! Case, normalization and folding to ASCII of a text, as Java and Lucene do them.
//!
//! Rust's mappings of case are those of Java's root locale: full ones, with the final sigma. Texts of ASCII alone, and those
//! of which nothing is changed, are copied once.

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::ascii_folding;
use crate::definition::Case;

/// Appends the text after, in this order, case, normalization form C and folding to ASCII.
pub(super) fn push(text: &str, case: Case, normalize: bool, ascii: bool, out: &mut Vec<u8>) {
    let is_kept = case == Case::Kept && !normalize && !ascii;
    if is_kept || text.is_ascii() {
        let begin = out.len();
        out.extend_from_slice(text.as_bytes());
        return match case {
            Case::Kept => {}
            Case::Lower => out[begin..].make_ascii_lowercase(),
            Case::Upper => out[begin..].make_ascii_uppercase(),
        };
    }
    match case {
        Case::Kept => push_normal(text, normalize, ascii, out),
        Case::Lower => push_normal(&text.to_lowercase(), normalize, ascii, out),
        Case::Upper => push_normal(&text.to_uppercase(), normalize, ascii, out),
    }
}

fn push_normal(text: &str, normalize: bool, ascii: bool, out: &mut Vec<u8>) {
    if normalize && !is_nfc(text) {
        push_characters(text.nfc(), ascii, out);
    } else {
        push_characters(text.chars(), ascii, out);
    }
}

fn push_characters(characters: impl Iterator<Item = char>, ascii: bool, out: &mut Vec<u8>) {
    let mut bytes = [0; 4];
    for character in characters {
        let folded = if ascii { ascii_folding::of(character) } else { None };
        let text = folded.unwrap_or_else(|| character.encode_utf8(&mut bytes));
        out.extend_from_slice(text.as_bytes());
    }
}
