//! The words of a text, by the rules of word boundaries of Unicode (UAX #29), as SASI's `StandardAnalyzer` cuts them.
//!
//! Cassandra's tables are those of Unicode 6.3, ours are newer: characters that were added since are letters here. Runs of the scripts of South East Asia,
//! which have no spaces between words, are one word each, and a colon between two letters does not part them, as in Unicode 6.3.
//! (Source: Cassandra 5.0's `StandardTokenizerImpl.jflex`.)

use unicode_normalization::char::decompose_compatible;
use unicode_segmentation::UnicodeSegmentation;

/// Longer words are left out, UTF-16 units.
const WORD_UNITS_MAX: usize = 255;

/// The words, in order.
pub(super) fn of(text: &str) -> impl Iterator<Item = &str> {
    let mut bounds = text.split_word_bound_indices().peekable();
    let words = std::iter::from_fn(move || {
        let (begin, first) = bounds.next()?;
        let mut last = first;
        let mut end = begin + first.len();
        while let Some(&(at, next)) = bounds.peek() {
            let is_joined = (ends_southeast_asian(last) && begins_southeast_asian(next))
                || (next == ":" && ends_with_letter(last) && begins_with_letter(&text[at + 1..]))
                || (last == ":" && begin < at - 1);
            if !is_joined {
                break;
            }
            bounds.next();
            (last, end) = (next, at + next.len());
        }
        let word = &text[begin..end];
        // Marks of other scripts do not belong to these.
        Some(if begins_southeast_asian(word) { word.trim_end_matches(|c| !is_southeast_asian(c)) } else { word })
    });
    words.filter(|word| word.chars().any(is_of_words) && word.encode_utf16().count() <= WORD_UNITS_MAX)
}

/// A letter or a digit; not a digit in a circle, raised, or in a fraction.
fn is_of_words(character: char) -> bool {
    if !character.is_numeric() || character.is_alphabetic() || matches!(character, '０'..='９') {
        return character.is_alphanumeric();
    }
    let mut parts = 0;
    decompose_compatible(character, |part| parts += usize::from(part != character));
    parts == 0
}

fn ends_with_letter(word: &str) -> bool {
    word.chars().next_back().is_some_and(is_joined_by_colon)
}

fn begins_with_letter(text: &str) -> bool {
    text.chars().next().is_some_and(is_joined_by_colon)
}

/// Letters of scripts that have words with spaces between them.
fn is_joined_by_colon(character: char) -> bool {
    let is_ideographic = matches!(character, '\u{2e80}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
    character.is_alphabetic() && !is_ideographic && !is_southeast_asian(character)
}

fn ends_southeast_asian(word: &str) -> bool {
    word.chars().next_back().is_some_and(is_southeast_asian)
}

fn begins_southeast_asian(word: &str) -> bool {
    word.chars().next().is_some_and(is_southeast_asian)
}

/// The line breaking class SA, without digits: Thai, Lao, Myanmar, Khmer, Tai Le, New Tai Lue, Tai Tham, Tai Viet.
fn is_southeast_asian(character: char) -> bool {
    matches!(character,
        '\u{0e01}'..='\u{0e3a}' | '\u{0e40}'..='\u{0e4e}' | '\u{0e81}'..='\u{0ecd}' | '\u{0edc}'..='\u{0edf}'
        | '\u{1000}'..='\u{103f}' | '\u{1050}'..='\u{108f}' | '\u{109a}'..='\u{109f}' | '\u{1780}'..='\u{17d3}'
        | '\u{17d7}' | '\u{17dc}'..='\u{17dd}' | '\u{1950}'..='\u{1974}' | '\u{1980}'..='\u{19c9}'
        | '\u{19da}' | '\u{19de}'..='\u{19df}' | '\u{1a20}'..='\u{1a7c}' | '\u{1aa0}'..='\u{1aad}'
        | '\u{aa60}'..='\u{aa7b}' | '\u{aa80}'..='\u{aadf}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_where_cassandra_cuts_them() {
        for (text, expected) in [
            (
                "The quick (\"brown\") fox can't jump 32.3 feet, right?",
                "The|quick|brown|fox|can't|jump|32.3|feet|right",
            ),
            ("a_b __ a-b x:y a: :b 1:2 a:b:c", "a_b|a|b|x:y|a|b|1|2|a:b:c"),
            ("½ ² ① ３ ٣", "３|٣"),
            ("漢字かなカタカナ한국어", "漢|字|か|な|カタカナ|한국어"),
            ("ภาษาไทย abc", "ภาษาไทย|abc"),
            ("naïve Œuvre", "naïve|Œuvre"),
            ("🙂 !", ""),
        ] {
            let found: Vec<&str> = of(text).collect();
            assert_eq!(found.join("|"), expected);
        }
        let long = "x".repeat(WORD_UNITS_MAX);
        assert_eq!(of(&format!("{long} {long}y z")).collect::<Vec<_>>(), [&long[..], "z"]);
    }
}
