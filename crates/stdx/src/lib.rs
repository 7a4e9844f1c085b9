//! What the standard library lacks: byte cursors, varints, aligned buffers, bounded queues, what `/proc` says.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod aligned_buf;
pub mod log_histogram;
pub mod marks;
pub mod prefetch;
pub mod procfs;
pub mod reader;
pub mod spsc;
pub mod trace;
pub mod uuid;
pub mod varint;

pub use aligned_buf::AlignedBuf;
pub use log_histogram::{LogHistogram, upper_bounds};
pub use prefetch::prefetch;
pub use reader::{ReadError, Reader};
pub use trace::{TRACE_STEPS_MAX, TRACE_TEXT_MAX, Trace, TraceStep};
pub use uuid::{parse_uuid, write_uuid};
