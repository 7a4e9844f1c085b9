//! Ranges of tokens that a SELECT names by `token()`.

use std::ops::{Bound as TokenBound, RangeBounds};

use cql_protocol::Value;
use mutation::KeyRange;
use topology::{Token, token_of};

use crate::error::{QueryError, invalid};
use crate::execute::key::key_of_token;
use crate::plan::{Binds, TokenEnd, TokenValue};

/// True if a token is in a range of tokens.
pub(in crate::engine) fn is_in(range: &KeyRange<'_>, token: Token) -> bool {
    match range {
        KeyRange::Tokens { start, end } => (*start, *end).contains(&token),
        KeyRange::Partition { .. } => false,
    }
}

/// The range that token() restricts a SELECT to; `None`: it is empty.
pub(in crate::engine) fn token_range(
    start: Option<&TokenEnd>,
    end: Option<&TokenEnd>,
    binds: &Binds<'_>,
) -> Result<Option<KeyRange<'static>>, QueryError> {
    let (start, end) = token_bounds(start, end, binds)?;
    // The smallest token stands for the end of the ring where a range ends, as in Cassandra.
    let end = match end {
        TokenBound::Included(Token::MIN) | TokenBound::Excluded(Token::MIN) => TokenBound::Unbounded,
        end => end,
    };
    let is_empty = match (start, end) {
        (TokenBound::Included(start), TokenBound::Included(end)) => start > end,
        (
            TokenBound::Included(start) | TokenBound::Excluded(start),
            TokenBound::Included(end) | TokenBound::Excluded(end),
        ) => start >= end,
        _ => false,
    };
    Ok((!is_empty).then_some(KeyRange::Tokens { start, end }))
}

/// The bounds with one execution's values.
pub(super) fn token_bounds(
    start: Option<&TokenEnd>,
    end: Option<&TokenEnd>,
    binds: &Binds<'_>,
) -> Result<(TokenBound<Token>, TokenBound<Token>), QueryError> {
    let bound = |end: Option<&TokenEnd>| -> Result<TokenBound<Token>, QueryError> {
        let Some(end) = end else { return Ok(TokenBound::Unbounded) };
        let token = token_value(&end.value, binds)?;
        Ok(if end.is_inclusive { TokenBound::Included(token) } else { TokenBound::Excluded(token) })
    };
    Ok((bound(start)?, bound(end)?))
}

/// True if the token of a key that is named lies between the bounds. As in Cassandra, bounds of which the last is less than the first go around the ring
/// here, and the least token stands for itself.
pub(super) fn is_between(bounds: (TokenBound<Token>, TokenBound<Token>), token: Token) -> bool {
    use TokenBound::{Excluded, Included, Unbounded};
    match bounds {
        (Included(start) | Excluded(start), Included(end) | Excluded(end)) if start > end => {
            (bounds.0, Unbounded).contains(&token) || (Unbounded, bounds.1).contains(&token)
        }
        bounds => bounds.contains(&token),
    }
}

fn token_value(value: &TokenValue, binds: &Binds<'_>) -> Result<Token, QueryError> {
    match value {
        TokenValue::Given(operand) => {
            let bytes = match operand.value(binds)? {
                Value::Null => return Err(invalid("Invalid null token value")),
                _ => operand.key_value("partition key token", binds)?,
            };
            match bytes.first_chunk() {
                Some(bytes) => Ok(Token(i64::from_be_bytes(*bytes))),
                None => Err(invalid("Invalid empty value for the partition key token")),
            }
        }
        TokenValue::OfKey(operands) => {
            let mut components = Vec::with_capacity(operands.len());
            for operand in operands {
                match operand.value(binds)? {
                    Value::Bytes(bytes) => components.push(bytes),
                    Value::Null => return Err(invalid("Invalid null token value")),
                    Value::Unset => {
                        return Err(invalid("Invalid unset value for argument in call to function token"));
                    }
                }
            }
            // No key is empty, but a token may be asked for of nothing: it is the least.
            match &components[..] {
                [[]] => Ok(Token::MIN),
                components => Ok(token_of(&key_of_token(components)?)),
            }
        }
    }
}
