//! Black-box tests of the binary: this library starts it, talks to it in raw frames, kills it and judges its log; the tests lie in
//! the folders beside it, one per question. The [`oracle`]'s runner is here too.
//!
//! Nothing here knows the server's insides: what it needs of the protocol is bytes on a socket.

pub mod access;
mod effort;
mod figure;
mod http;
mod net;
mod nodetool;
pub mod oracle;
mod part;
mod process;
pub mod prometheus;
mod random;
mod raw;
mod server;
pub mod sstables;
mod verdict;

pub use effort::{effort, pick};
pub use figure::{tell_share, tell_time};
pub use http::{HttpAnswer, http, http_json, http_raw, http_with};
pub use net::Net;
pub use nodetool::{Printed, nodetool};
pub use part::Part;
pub use process::{resident_bytes, share_of_a_core};
pub use random::Random;
pub use raw::{Connection, Frame, query_frame, startup_frame};
pub use server::{Builder, Server, configurations, free_port};
pub use verdict::{complaints, hand_over_stalls, stalls_count};
