//! Listeners, connections, limits and event push: what stands between the clients' sockets and the engine.
//!
//! Each shard has a [`Server`]; shard 0's also accepts. See `docs/internals/server.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod acceptor;
mod arrival;
mod audited;
mod auditing;
mod budget;
mod buffers;
mod connection;
mod events;
mod inside;
mod limits;
mod logins;
mod maintenance;
mod notable;
mod places;
mod ports;
mod refusals;
mod requests;
mod server;
mod shares;
mod start;
mod stream;
mod tickets;

pub use acceptor::{ListenError, Listeners, Listening};
pub use inside::{ConnectError, connect};
pub use limits::Limits;
pub use logins::{Logins, Proofs};
pub use notable::NotableRequest;
pub use ports::{Port, Ports, Security};
pub use requests::RequestKind;
pub use server::{Seat, Server, ServerStats, seats};
