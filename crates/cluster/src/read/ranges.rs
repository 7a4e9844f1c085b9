//! The pieces of a range of tokens, cut at the nodes' tokens.

use std::ops::Bound as TokenBound;

use mutation::KeyRange;
use topology::{ConsistencyLevel, NodeIndex, Required, Token};

use planted::Planted;

use super::contacts::Contacts;
use crate::plan::{Choice, Nodes, Replication};

/// A range of tokens that the same nodes are read for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece<'r> {
    pub(super) keys: KeyRange<'static>,
    /// The answers that it needs.
    pub(super) needs: &'r Required,
    /// As few as the level needs; none: too few are alive.
    pub(super) readers: Vec<NodeIndex>,
    /// All that may be read, the readers first: those that can take the place of one of them.
    pub(super) order: Vec<NodeIndex>,
}

/// The pieces of a range of tokens that have the same readers at a level, ascending.
pub(super) fn ranges<'r>(replication: &'r Replication, level: ConsistencyLevel, keys: &KeyRange<'_>) -> Vec<Piece<'r>> {
    let KeyRange::Tokens { start, end } = *keys else { unreachable!("a scan is of tokens") };
    let nodes = replication.nodes();
    let mut choice = Choice::new(nodes);
    if let Some(replicas) = replication.replicas_of_all() {
        let piece = piece(nodes, replication.required(level), (start, end), choice.order(replicas));
        return if is_before(start, end) { vec![piece] } else { Vec::new() };
    }
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut from = start;
    for token in replication.range_ends() {
        // The last piece goes from the last token to the end of the tokens, where the first node's range begins.
        let to = token.map_or(TokenBound::Unbounded, TokenBound::Included);
        let is_last = is_past_or_at(to, end);
        let to = if is_last { end } else { to };
        if is_before(from, to) {
            let (replicas, needs) = replication.read(token.unwrap_or(Token::MIN), level);
            let next = piece(nodes, needs, (from, to), choice.order(replicas));
            match pieces.last_mut() {
                Some(last) if last.readers == next.readers && last.needs == next.needs => last.extend(to, &next.order),
                _ => pieces.push(next),
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
    pieces
}

fn piece<'r>(
    nodes: &Nodes,
    needs: &'r Required,
    (start, end): (TokenBound<Token>, TokenBound<Token>),
    mut order: Vec<NodeIndex>,
) -> Piece<'r> {
    let mut contacts = Contacts::new(needs, nodes, &order, Planted::NONE);
    let readers = contacts.ask();
    let can_be_met = !matches!(contacts.verdict(), super::contacts::Verdict::Failed(_));
    order.sort_by_key(|node| !readers.contains(node));
    Piece {
        keys: KeyRange::Tokens { start, end },
        needs,
        readers: if can_be_met { readers } else { Vec::new() },
        order,
    }
}

impl Piece<'_> {
    /// Adds the next piece, of the same readers. What not all of it is on takes no reader's place.
    fn extend(&mut self, to: TokenBound<Token>, order: &[NodeIndex]) {
        if let KeyRange::Tokens { end, .. } = &mut self.keys {
            *end = to;
        }
        self.order.retain(|node| order.contains(node));
    }
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
