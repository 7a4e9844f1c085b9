//! The way to whoever computes the hashes of passwords. A hash takes tens of milliseconds, so no shard computes one.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;

use auth::PasswordHash;

/// A hash under way.
pub type Hashing<'a> = Pin<Box<dyn Future<Output = Result<PasswordHash, HasherIsBusy>> + 'a>>;

/// Too many hashes are under way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HasherIsBusy(pub String);

/// Computes the hashes of passwords that statements set, outside the shards and with a salt of its own.
pub trait PasswordHasher {
    /// The hash of a password of at most 72 bytes, for the client at an address.
    fn hash(&self, password: String, client: Option<SocketAddr>) -> Hashing<'_>;
}
