//! Why bytes are not a mutation or a read command.

use stdx::ReadError;

/// The bytes cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes ended, or a length is impossible.
    #[error("malformed: {0}")]
    Malformed(#[from] ReadError),
    /// The bytes were written by a newer version of the format.
    #[error("encoding version {found} is newer than the supported {known}")]
    NewerVersion {
        /// The version found.
        found: u8,
        /// The newest that this program reads.
        known: u8,
    },
    /// More items than a message may have.
    #[error("{count} items exceed the limit of {max}")]
    TooMany {
        /// How many the message names.
        count: u64,
        /// The most that it may have.
        max: usize,
    },
    /// A byte that says what follows has no meaning.
    #[error("unknown value {value} of {what}")]
    Unknown {
        /// Which byte it is.
        what: &'static str,
        /// Its value.
        value: u8,
    },
    /// The cells of a row are not in the order of their columns.
    #[error("cells of a row are out of order at column {column}")]
    OutOfOrder {
        /// The column at which the order breaks.
        column: u64,
    },
    /// A row has an element that its own column's deletion covers.
    #[error("an element of column {column} is older than the column's deletion")]
    Covered {
        /// The column.
        column: u16,
    },
    /// A cell flagged as counter does not hold one.
    #[error("cannot decode counter: {what}")]
    Counter {
        /// Reason.
        what: &'static str,
    },
    /// Bytes are left over where nothing may follow.
    #[error("{count} trailing bytes")]
    LeftOver {
        /// How many.
        count: usize,
    },
}
