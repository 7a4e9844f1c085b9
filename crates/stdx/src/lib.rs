//! What the standard library lacks: byte cursors, varints, aligned buffers, bounded queues, a process' CPU time.

pub mod aligned_buf;
pub mod cpu_time;
pub mod log_histogram;
pub mod marks;
pub mod reader;
pub mod spsc;
pub mod varint;

pub use aligned_buf::AlignedBuf;
pub use log_histogram::{LogHistogram, upper_bounds};
pub use reader::{ReadError, Reader};
