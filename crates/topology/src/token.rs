//! A partition's place on the ring: Cassandra's `Murmur3Partitioner`.

use crate::murmur3;

/// A position on the ring, a signed 64-bit number. Every partition key hashes to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub i64);

impl Token {
    /// The ring's start. No key but the empty one has it; as the bound of a range it means "from the beginning".
    pub const MIN: Token = Token(i64::MIN);
    /// The largest token.
    pub const MAX: Token = Token(i64::MAX);
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The tokens after one token of the ring, up to and with the next one. The first range of a ring wraps: it begins at the ring's last token.
/// Where both ends are the same, it is of all tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenRange {
    /// The token before its first one.
    pub after: Token,
    /// Its last token.
    pub end: Token,
}

impl TokenRange {
    /// All tokens.
    pub const ALL: TokenRange = TokenRange { after: Token::MIN, end: Token::MIN };

    /// True if a token is in the range.
    pub fn contains(self, token: Token) -> bool {
        match self.after < self.end {
            true => self.after < token && token <= self.end,
            // It wraps, or is of all tokens.
            false => self.after < token || token <= self.end,
        }
    }
}

/// The token of a partition key as it is stored: a single column's raw value, or the composite of several
/// (for each: u16 length, bytes, a zero byte).
///
/// The empty key has [`Token::MIN`], and a hash of `i64::MIN` becomes `i64::MAX`, since the smallest token is kept for
/// bounds. (Source: Cassandra's `Murmur3Partitioner.getToken` and `normalize`.)
#[inline]
pub fn token_of(key: &[u8]) -> Token {
    if key.is_empty() {
        return Token::MIN;
    }
    match murmur3::hash(key) {
        i64::MIN => Token::MAX,
        hash => Token(hash),
    }
}

#[cfg(test)]
mod tests;
