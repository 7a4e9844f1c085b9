//! The pieces of a range of tokens, cut at the nodes' tokens.

use std::ops::Bound as TokenBound;

use mutation::KeyRange;
use topology::{NodeIndex, Required, Token};

use crate::plan::{Replication, readers};

/// The pieces of a range of tokens that have the same readers, ascending.
pub(super) fn ranges(
    replication: &Replication,
    needs: &Required,
    keys: &KeyRange<'_>,
) -> Vec<(KeyRange<'static>, Vec<NodeIndex>)> {
    let KeyRange::Tokens { start, end } = *keys else { unreachable!("a scan is of tokens") };
    let nodes = replication.nodes();
    if let Some(replicas) = replication.replicas_of_all() {
        let piece = (KeyRange::Tokens { start, end }, readers(needs, nodes, replicas));
        return if is_before(start, end) { vec![piece] } else { Vec::new() };
    }
    let mut pieces: Vec<(TokenBound<Token>, TokenBound<Token>, Vec<NodeIndex>)> = Vec::new();
    let mut from = start;
    let ends = nodes.ring().owners().iter().map(|&(token, _)| Some(token)).chain([None]);
    for token in ends {
        // The last piece goes from the last token to the end of the tokens, where the first node's range begins.
        let to = token.map_or(TokenBound::Unbounded, TokenBound::Included);
        let is_last = is_past_or_at(to, end);
        let to = if is_last { end } else { to };
        if is_before(from, to) {
            let replicas = replication.replicas(token.unwrap_or(Token::MIN));
            let readers = readers(needs, nodes, replicas);
            match pieces.last_mut() {
                Some((_, last, same)) if *same == readers => *last = to,
                _ => pieces.push((from, to, readers)),
            }
            from = match to {
                TokenBound::Included(token) => TokenBound::Excluded(token),
                other => other,
            };
        }
        if is_last {
            break;
        }
    }
    pieces.into_iter().map(|(start, end, readers)| (KeyRange::Tokens { start, end }, readers)).collect()
}

/// True if `token` lies after the end of a range.
pub(super) fn is_behind(token: Token, end: TokenBound<Token>) -> bool {
    match end {
        TokenBound::Unbounded => false,
        TokenBound::Included(end) => token > end,
        TokenBound::Excluded(end) => token >= end,
    }
}

/// True if a range that ends at `to` ends at or behind one that ends at `end`.
fn is_past_or_at(to: TokenBound<Token>, end: TokenBound<Token>) -> bool {
    match (to, end) {
        (TokenBound::Unbounded, _) => true,
        (_, TokenBound::Unbounded) => false,
        (
            TokenBound::Included(to) | TokenBound::Excluded(to),
            TokenBound::Included(end) | TokenBound::Excluded(end),
        ) => to >= end,
    }
}

/// True if there can be a token between two bounds.
fn is_before(from: TokenBound<Token>, to: TokenBound<Token>) -> bool {
    match (from, to) {
        (TokenBound::Unbounded, _) | (_, TokenBound::Unbounded) => true,
        (TokenBound::Included(from), TokenBound::Included(to)) => from <= to,
        (
            TokenBound::Included(from) | TokenBound::Excluded(from),
            TokenBound::Included(to) | TokenBound::Excluded(to),
        ) => from < to,
    }
}
