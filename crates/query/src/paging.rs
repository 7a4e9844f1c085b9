//! The paging state: where the next page of a SELECT begins.
//!
//! ```text
//! version u8 = 1 | checksum u32 | rows left u32 | rows left in the partition u32 | position
//! position: token i64 | key varint length + bytes | kind u8: 0 = past the partition, 1 = a row follows
//!           | row: byte-comparable clustering, varint length + bytes
//! ```
//!
//! The checksum is a CRC-32 over the statement's id, the table's id, the bound values and all after it: a state that was cut, changed, or
//! given to another statement, to other values or to a table that was dropped and made again is refused. It names a place in the data,
//! nothing of the shard or the process: it is good on any shard, after a restart and with another number of shards. It is no secret and no
//! proof: whoever may run the statement may read any page of it. A state that was made up with a right checksum must still name a place that
//! the statement reads ([`PagingState::decode`] and [`PagingState::check_place`]).

use std::ops::RangeBounds;

use mutation::{KeyRange, Position, PositionRef};
use schema::TableId;
use stdx::Reader;
use topology::token_of;

use crate::prepared::StatementId;

const VERSION: u8 = 1;

/// Where a SELECT goes on, and what it may still return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PagingState {
    /// The last place whose rows were returned.
    pub(crate) position: Position,
    /// Rows left of LIMIT.
    pub(crate) rows_left: u32,
    /// Rows left of PER PARTITION LIMIT in the position's partition.
    pub(crate) rows_left_in_partition: u32,
}

/// The bytes are no paging state of this statement with these values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Invalid value for the paging state")]
pub(crate) struct InvalidPagingState;

/// What a paging state is bound to: a digest of the statement's id, of the table's and of the bound values.
#[derive(Clone)]
pub(crate) struct PagingKey {
    hasher: crc32fast::Hasher,
}

impl PagingKey {
    pub(crate) fn new<'a>(id: StatementId, table: TableId, values: impl Iterator<Item = Option<&'a [u8]>>) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&id.0);
        hasher.update(&table.0);
        for value in values {
            let length = value.map_or(u32::MAX, |value| u32::try_from(value.len()).unwrap_or(u32::MAX - 1));
            hasher.update(&length.to_be_bytes());
            hasher.update(value.unwrap_or(&[]));
        }
        PagingKey { hasher }
    }

    fn checksum(&self, body: &[u8]) -> u32 {
        let mut hasher = self.hasher.clone();
        hasher.update(body);
        hasher.finalize()
    }
}

impl PagingState {
    /// The bytes that the client hands back.
    pub(crate) fn encode(&self, key: &PagingKey) -> Vec<u8> {
        let mut out = vec![VERSION, 0, 0, 0, 0];
        out.extend_from_slice(&self.rows_left.to_be_bytes());
        out.extend_from_slice(&self.rows_left_in_partition.to_be_bytes());
        self.position.as_ref().encode(&mut out);
        let checksum = key.checksum(&out[5..]);
        out[1..5].copy_from_slice(&checksum.to_be_bytes());
        out
    }

    /// The state in `bytes`.
    pub(crate) fn decode(bytes: &[u8], key: &PagingKey) -> Result<Self, InvalidPagingState> {
        let mut reader = Reader::new(bytes);
        let mut read = || -> Result<Self, mutation::DecodeError> {
            let version = reader.u8()?;
            if version != VERSION {
                return Err(mutation::DecodeError::NewerVersion { found: version, known: VERSION });
            }
            let checksum = reader.u32()?;
            if checksum != key.checksum(reader.peek()) {
                return Err(mutation::DecodeError::Unknown { what: "a paging state's checksum", value: 0 });
            }
            let rows_left = reader.u32()?;
            let rows_left_in_partition = reader.u32()?;
            let position = PositionRef::read(&mut reader)?.to_owned();
            if rows_left == 0 {
                // Nobody gets a state when LIMIT is reached. The checksum is no secret: a client may have made this up.
                return Err(mutation::DecodeError::Unknown { what: "a paging state's count of rows", value: 0 });
            }
            if position.token != token_of(&position.key) {
                return Err(mutation::DecodeError::Unknown { what: "a paging state's token", value: 0 });
            }
            match reader.remaining() {
                0 => Ok(PagingState { position, rows_left, rows_left_in_partition }),
                count => Err(mutation::DecodeError::LeftOver { count }),
            }
        };
        read().map_err(|_| InvalidPagingState)
    }

    /// Refuses a place outside of what the statement reads.
    pub(crate) fn check_place(&self, keys: &KeyRange<'_>) -> Result<(), InvalidPagingState> {
        let is_inside = match keys {
            KeyRange::Partition { key, .. } => self.position.key == *key,
            KeyRange::Tokens { start, end } => (*start, *end).contains(&self.position.token),
        };
        if is_inside { Ok(()) } else { Err(InvalidPagingState) }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use topology::Token;

    use super::*;

    fn state() -> PagingState {
        let position = Position { token: token_of(b"key"), key: b"key".to_vec(), row: Some(vec![1, 2, 3]) };
        PagingState { position, rows_left: 12, rows_left_in_partition: u32::MAX }
    }

    fn key(id: u8, value: &[u8]) -> PagingKey {
        of_table(id, 1, value)
    }

    fn of_table(id: u8, table: u8, value: &[u8]) -> PagingKey {
        PagingKey::new(StatementId([id; 16]), TableId([table; 16]), [Some(value), None].into_iter())
    }

    #[test]
    fn a_state_comes_back_with_its_statement_and_values() {
        let bytes = state().encode(&key(1, b"v"));
        assert_eq!(PagingState::decode(&bytes, &key(1, b"v")), Ok(state()));
    }

    #[test]
    fn another_statement_or_other_values_refuse_it() {
        let bytes = state().encode(&key(1, b"v"));
        assert_eq!(PagingState::decode(&bytes, &key(2, b"v")), Err(InvalidPagingState));
        assert_eq!(PagingState::decode(&bytes, &key(1, b"w")), Err(InvalidPagingState));
        assert_eq!(PagingState::decode(&bytes, &of_table(1, 2, b"v")), Err(InvalidPagingState));
    }

    #[test]
    fn a_place_that_the_statement_does_not_read_is_refused() {
        let mut made_up = state();
        made_up.position.token = Token(1);
        let bytes = made_up.encode(&key(1, b"v"));
        assert_eq!(PagingState::decode(&bytes, &key(1, b"v")), Err(InvalidPagingState), "the token is not the key's");
        let token = token_of(b"key");
        let partition = |key| KeyRange::Partition { token, key };
        assert_eq!(state().check_place(&partition(b"key")), Ok(()));
        assert_eq!(state().check_place(&partition(b"other")), Err(InvalidPagingState));
        let tokens = |start, end| KeyRange::Tokens { start, end };
        assert_eq!(state().check_place(&tokens(Bound::Included(token), Bound::Unbounded)), Ok(()));
        assert_eq!(state().check_place(&tokens(Bound::Excluded(token), Bound::Unbounded)), Err(InvalidPagingState));
    }

    #[test]
    fn a_state_without_rows_left_is_refused() {
        let bytes = PagingState { rows_left: 0, ..state() }.encode(&key(1, b"v"));
        assert_eq!(PagingState::decode(&bytes, &key(1, b"v")), Err(InvalidPagingState));
    }

    #[test]
    fn a_changed_or_cut_state_is_refused() {
        let key = key(1, b"v");
        let bytes = state().encode(&key);
        for index in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[index] ^= 1;
            assert_eq!(PagingState::decode(&changed, &key), Err(InvalidPagingState), "byte {index}");
            assert_eq!(PagingState::decode(&bytes[..index], &key), Err(InvalidPagingState), "cut at {index}");
        }
    }
}
