//! A set of tokens, as ranges.

use crate::token::{Token, TokenRange};

/// A set of tokens: its ranges are disjoint, do not touch, and ascend. None of them wraps: one that does is two here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenRanges {
    /// The first and the last token of each.
    spans: Vec<(Token, Token)>,
}

impl TokenRanges {
    /// All tokens.
    pub fn all() -> TokenRanges {
        TokenRanges { spans: vec![(Token::MIN, Token::MAX)] }
    }

    /// No token.
    pub fn none() -> TokenRanges {
        TokenRanges::default()
    }

    /// The tokens of any of these ranges, which may overlap and come in any order.
    pub fn of(ranges: impl IntoIterator<Item = TokenRange>) -> TokenRanges {
        let mut spans = Vec::new();
        for TokenRange { after, end } in ranges {
            // The first token after `after`, which the largest one has none of.
            let first = after.0.checked_add(1).map(Token);
            if after < end {
                spans.push((first.expect("a larger token follows"), end));
            } else {
                spans.extend(first.map(|first| (first, Token::MAX)));
                spans.push((Token::MIN, end));
            }
        }
        TokenRanges::joined(spans)
    }

    /// The tokens of either.
    pub fn or(&self, other: &TokenRanges) -> TokenRanges {
        TokenRanges::joined(self.spans.iter().chain(&other.spans).copied().collect())
    }

    fn joined(mut spans: Vec<(Token, Token)>) -> TokenRanges {
        spans.sort_unstable();
        let mut joined: Vec<(Token, Token)> = Vec::with_capacity(spans.len());
        for (first, last) in spans {
            match joined.last_mut() {
                Some(before) if first.0 <= before.1.0.saturating_add(1) => before.1 = before.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        TokenRanges { spans: joined }
    }

    /// True if it has all tokens.
    pub fn is_all(&self) -> bool {
        self.spans == [(Token::MIN, Token::MAX)]
    }

    /// True if it has no token.
    pub fn is_none(&self) -> bool {
        self.spans.is_empty()
    }

    /// True if it has the token.
    pub fn contains(&self, token: Token) -> bool {
        self.covers((token, token))
    }

    /// True if it has every token from the first one to the last one.
    pub fn covers(&self, (first, last): (Token, Token)) -> bool {
        self.span_from(first).is_some_and(|span| span.0 <= first && last <= span.1)
    }

    /// True if it has a token from the first one to the last one.
    pub fn meets(&self, (first, last): (Token, Token)) -> bool {
        self.span_from(first).is_some_and(|span| span.0 <= last)
    }

    /// The first of its ranges that does not end before a token, as its first and its last token.
    pub fn span_from(&self, token: Token) -> Option<(Token, Token)> {
        let at = self.spans.partition_point(|&(_, last)| last < token);
        self.spans.get(at).copied()
    }

    /// Its ranges, ascending.
    ///
    /// # Panics
    /// If it has the smallest token, which no key of data has.
    pub fn ranges(&self) -> impl Iterator<Item = TokenRange> + '_ {
        self.spans.iter().map(|&(first, end)| {
            let after = first.0.checked_sub(1).expect("the smallest token is only a bound");
            TokenRange { after: Token(after), end }
        })
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.spans.len()
    }

    /// The parts of a range, which does not wrap, that it lacks, ascending.
    pub fn lacks_of(&self, range: TokenRange) -> Vec<TokenRange> {
        assert!(range.after < range.end, "a range with parts does not wrap");
        let (mut after, mut lacking) = (range.after, Vec::new());
        while after < range.end {
            let next = self.span_from(Token(after.0 + 1));
            let Some((first, last)) = next.filter(|(first, _)| *first <= range.end) else {
                lacking.push(TokenRange { after, end: range.end });
                break;
            };
            if after.0 + 1 < first.0 {
                lacking.push(TokenRange { after, end: Token(first.0 - 1) });
            }
            after = last;
        }
        lacking
    }

    /// The ranges that it lacks, ascending, as the first and the last token of each.
    pub fn gaps(&self) -> impl Iterator<Item = (Token, Token)> + '_ {
        let before_first = self.spans.first().map_or(Some(Token::MAX), |&(first, _)| first.0.checked_sub(1).map(Token));
        let first = before_first.map(|last| (Token::MIN, last));
        let following = self.spans.iter().enumerate().filter_map(|(at, &(_, last))| {
            let next = last.0.checked_add(1).map(Token)?;
            let end = self.spans.get(at + 1).map_or(Token::MAX, |&(first, _)| Token(first.0 - 1));
            Some((next, end))
        });
        first.into_iter().chain(following)
    }
}

#[cfg(test)]
mod tests;
