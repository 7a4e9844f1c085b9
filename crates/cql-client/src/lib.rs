//! A tool's side of a CQL connection, between buffers: STARTUP and the login, requests laid down, replies cut out of what arrived.
//!
//! A [`Dialog`] is fed the bytes that a socket received and gives the bytes to send, so that a tool on the runtime and one with blocking sockets speak by the same code. Nothing
//! here has a socket, a clock or a timeout.
//!
//! ```text
//!   greet ──► outgoing ──► socket ──► received ──► next_reply ──► greeted ──► Step::Send (the login) … Step::Ready
//!   request ► outgoing ──► socket ──► received ──► next_reply ──► Reply::decode
//! ```

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod dialog;
mod error;

pub use dialog::{Dialog, Reply, Step};
pub use error::DialogError;

#[cfg(test)]
mod tests;
