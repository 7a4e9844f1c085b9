//! What the standard library lacks: byte cursors, varints, aligned buffers, bounded queues.

pub mod reader;
pub mod varint;

pub use reader::{ReadError, Reader};
