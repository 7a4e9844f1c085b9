//! Sets of tokens against their ranges, token by token at the ends of the ring.

use super::*;

const NEAR: i64 = 6;

/// Tokens at both ends of the ring, and some in its middle.
fn tokens() -> Vec<Token> {
    let ends = (0..NEAR).flat_map(|step| [i64::MIN + step, i64::MAX - step]);
    let mut all: Vec<Token> = ends.chain(-NEAR..=NEAR).map(Token).collect();
    all.sort_unstable();
    all
}

fn range(after: i64, end: i64) -> TokenRange {
    TokenRange { after: Token(after), end: Token(end) }
}

#[test]
fn a_set_has_the_tokens_of_its_ranges() {
    let all = tokens();
    for &first_after in &all {
        for &first_end in &all {
            let one = TokenRange { after: first_after, end: first_end };
            for other in [range(-2, 1), range(3, -3), range(i64::MAX, i64::MIN + 2), range(i64::MAX - 2, i64::MAX)] {
                let set = TokenRanges::of([one, other]);
                assert_eq!(set, TokenRanges::of([other]).or(&TokenRanges::of([one])));
                for &token in &all {
                    assert_eq!(
                        set.contains(token),
                        one.contains(token) || other.contains(token),
                        "{one:?} {other:?} {token}"
                    );
                }
                let gaps: Vec<(Token, Token)> = set.gaps().collect();
                for &token in &all {
                    let is_in_gap = gaps.iter().any(|&(first, last)| first <= token && token <= last);
                    assert_ne!(is_in_gap, set.contains(token), "{set:?} {gaps:?} {token}");
                }
                assert!(gaps.iter().all(|&(first, last)| first <= last && !set.meets((first, last))));
            }
        }
    }
}

#[test]
fn spans_between_two_tokens_are_covered_or_met() {
    let set = TokenRanges::of([range(-4, -1), range(0, 2), range(2, 4)]);
    let all: Vec<i64> = (-NEAR..=NEAR).collect();
    for &first in &all {
        for &last in all.iter().filter(|last| **last >= first) {
            let within = || (first..=last).map(|token| set.contains(Token(token)));
            assert_eq!(set.covers((Token(first), Token(last))), within().all(|is_in| is_in), "{first} to {last}");
            assert_eq!(set.meets((Token(first), Token(last))), within().any(|is_in| is_in), "{first} to {last}");
        }
    }
    assert_eq!(set.span_from(Token(0)), Some((Token(1), Token(4))), "ranges that touch are one");
    assert_eq!(set.span_from(Token(5)), None);
}

#[test]
fn a_range_is_what_a_set_has_of_it_and_what_it_lacks() {
    let near = (-NEAR..=NEAR).flat_map(|after| (after + 1..=NEAR).map(move |end| range(after, end)));
    let near: Vec<TokenRange> = near.collect();
    for set in
        [vec![], vec![range(-3, -1), range(1, 2)], vec![range(-2, 2)], vec![range(i64::MIN, -2), range(3, i64::MAX)]]
    {
        let set = TokenRanges::of(set);
        assert_eq!(TokenRanges::of(set.ranges()), set);
        assert_eq!(set.ranges().count(), set.count());
        for whole in near.iter().copied().chain([range(i64::MIN, i64::MAX)]) {
            let lacking = set.lacks_of(whole);
            assert!(lacking.windows(2).all(|pair| pair[0].end < pair[1].after), "{lacking:?}");
            let lacked = TokenRanges::of(lacking);
            for token in (-NEAR - 1..=NEAR + 1).chain([i64::MIN + 1, i64::MAX]).map(Token) {
                assert_eq!(
                    lacked.contains(token),
                    whole.contains(token) && !set.contains(token),
                    "{token} of {whole:?}"
                );
            }
        }
    }
}

#[test]
fn all_and_none_are_told() {
    assert!(TokenRanges::of([TokenRange::ALL]).is_all() && TokenRanges::all().gaps().next().is_none());
    assert!(TokenRanges::of([range(5, -5), range(-5, 5)]).is_all());
    assert!(!TokenRanges::of([range(i64::MIN, i64::MAX)]).is_all(), "the empty key's token is missing");
    let none = TokenRanges::of([]);
    assert!(none.is_none() && !none.meets((Token::MIN, Token::MAX)));
    assert_eq!(none.gaps().collect::<Vec<_>>(), [(Token::MIN, Token::MAX)]);
}
