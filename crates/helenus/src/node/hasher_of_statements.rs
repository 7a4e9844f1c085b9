//! The hashes of passwords that statements set: computed by the threads that verify clients' passwords, in their quotas.

use std::net::SocketAddr;

use login::Hasher;
use query::{HasherIsBusy, Hashing, PasswordHasher};

/// The hasher of a shard, as its engine asks it.
pub(super) struct HasherOfStatements(pub(super) Hasher);

impl PasswordHasher for HasherOfStatements {
    fn hash(&self, password: String, client: Option<SocketAddr>) -> Hashing<'_> {
        Box::pin(async move {
            let HasherOfStatements(hasher) = self;
            let hashed = hasher.hash(client.map(|client| client.ip()), password).await;
            hashed.map_err(|overloaded| HasherIsBusy(overloaded.to_string()))
        })
    }
}
