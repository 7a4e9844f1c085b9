//! Listeners, connections, limits and event push.

mod connection;
mod limits;

pub use limits::Limits;
