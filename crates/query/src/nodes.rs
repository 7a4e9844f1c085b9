//! The first bytes of intentions that are about nodes.

/// The first byte of an intention that is a request of [`membership`]. Schema statements have others.
pub const MEMBERSHIP: u8 = 128;

/// The first byte of an intention that is a request to leave, of [`membership::Leave`].
pub const LEAVE: u8 = 129;

/// The first byte of an intention that is a request about an operation, of [`membership::OperationRequest`].
pub const OPERATION: u8 = 130;

/// The first byte of an intention that is a request of a node to copy its ranges again, of [`membership::Rebuild`].
pub const REBUILD: u8 = 131;
