//! This node's part in operations: it copies the ranges of which it is to be a replica. See `docs/internals/operations.md`.

mod receiving;

pub use receiving::{CopyProgress, KeyspaceToCopy, ReceiveFailed, Receiving};
