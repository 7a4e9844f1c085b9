//! Requests on a ring whose nodes agree by their metadata group: rows, batches, counters, conditional statements and TRUNCATE at any level through any node.
//!
//! A change's place in the history is its timestamp, so replicas agree with the history on which of two is the later one, whatever reaches them when. What a
//! read may give follows from [`Reach`]: the replicas that a level reaches at least.

mod acts;
mod history;
mod reach;
mod serial;
mod serial_answers;
mod serial_levels;
mod serial_reader;
mod sums;
mod tables;
mod target;
mod worker;

pub use acts::{Act, Work};
pub use history::{Change, Effect, Extent, Known, Requests, Seen, SharedRequests, TruncateEnd, Truncation};
pub use reach::Reach;
pub use serial::{Conditional, Kept, Serial};
pub use serial_reader::SerialReader;
pub use sums::{CountSeen, OPEN_MAX, Place, Sum, Sums};
pub use tables::{
    MAPS_FROM, PIECE_ROWS, PIECES_FROM, SELECT_COUNT, SELECT_MAP, SELECT_PARTITION, SELECT_PIECE, is_piece,
    prepare_tables, read_map,
};
pub use target::Target;
pub use worker::work_requests;
