//! The ASCII equivalents of letters, digits and symbols.
//!
//! `ascii_folding.txt` has a line for each equivalent: it, a tab, and the characters that become it. It is the mapping of Lucene 9.7's `ASCIIFoldingFilter`,
//! which Cassandra 5.0's `ascii` uses, and was made by calling that for each character of the basic plane.

use std::sync::LazyLock;

/// By character.
static FOLDED: LazyLock<Vec<(char, &'static str)>> = LazyLock::new(|| {
    let lines = include_str!("ascii_folding.txt").lines().filter_map(|line| line.split_once('\t'));
    let mut all: Vec<_> = lines.flat_map(|(ascii, from)| from.chars().map(move |from| (from, ascii))).collect();
    all.sort_unstable();
    all
});

/// The equivalent of a character, if it has one that is not itself.
pub(super) fn of(character: char) -> Option<&'static str> {
    if character.is_ascii() {
        return None;
    }
    let at = FOLDED.binary_search_by_key(&character, |entry| entry.0).ok()?;
    Some(FOLDED[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_lucenes() {
        assert_eq!(FOLDED.len(), 1242);
        assert!(FOLDED.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(FOLDED.iter().all(|(from, ascii)| !from.is_ascii() && ascii.is_ascii() && ascii.len() <= 4));
        let found = ['é', 'Æ', 'ß', '⒇', '«', 'ａ', 'x', '中'].map(of);
        let expected = [Some("e"), Some("AE"), Some("ss"), Some("(20)"), Some("\""), Some("a"), None, None];
        assert_eq!(found, expected);
    }
}
