//! Logins: passwords outside the shards, where hashes are computed by threads beside them, since one takes tens of milliseconds; and the roles of certificates.
//!
//! [`Desk`] decides what is computed next and what is refused: a pure value with time as an argument. [`Hasher`] is a shard's way to it, and [`companions`] are
//! the threads. [`Certificates`] says which role a client's certificate is of. [`LoggedIn`] is a login that is kept for later requests, and [`Ticket`] one that is handed on.
//! Not here: SASL, verdicts and states of a connection, which are of `auth` and `server`. States and limits: `docs/internals/access.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod certificates;
mod desk;
mod failures;
mod hasher;
mod host;
mod key;
mod logged_in;
mod remembered;
mod threads;
mod ticket;
mod weight;

pub use certificates::{Certificates, QueryError, RoleQueries, RoleQuery, RoleSource};
pub use desk::{Desk, Done, Job, Outcome, Overloaded, Submitted, Work};
pub use hasher::Hasher;
pub use host::Host;
pub use logged_in::LoggedIn;
pub use threads::{Seat, Settings, Threads, companions, seats};
pub use ticket::Ticket;
