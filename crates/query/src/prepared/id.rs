//! A prepared statement's id, as Cassandra 5.0 computes it, so that one id serves on every node and after a restart.

use md5::{Digest, Md5};
use runtime::Runtime;

/// An MD5: of a statement, or of a result's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatementId(pub [u8; 16]);

impl std::fmt::Display for StatementId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The id of `text`. A statement that names its keyspace has the same id in every session; one that leaves it to the
/// session means another statement in each keyspace, so the keyspace goes in. (Source: Cassandra's
/// `QueryProcessor.prepare` and `computeId`.)
pub(crate) fn statement_id(keyspace: Option<&str>, text: &str) -> StatementId {
    let mut digest = Md5::new();
    digest.update(keyspace.unwrap_or("").as_bytes());
    digest.update(text.as_bytes());
    StatementId(digest.finalize().into())
}

/// [`statement_id`] of a text of any length, with pauses.
pub(crate) async fn statement_id_in_steps(keyspace: Option<&str>, text: &str, runtime: &Runtime) -> StatementId {
    const BYTES_PER_STEP: usize = 64 << 10;
    let mut digest = Md5::new();
    digest.update(keyspace.unwrap_or("").as_bytes());
    for piece in text.as_bytes().chunks(BYTES_PER_STEP) {
        digest.update(piece);
        runtime.maybe_yield().await;
    }
    StatementId(digest.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digests that `md5sum` gives.
    #[test]
    fn the_id_is_the_md5_of_keyspace_and_text() {
        assert_eq!(statement_id(None, "SELECT * FROM ks.t").to_string(), "b9623a6c99961d7b406f9c1ef308cd26");
        assert_eq!(statement_id(Some("ks"), "SELECT * FROM t").to_string(), "125e492ea51717990eba4738bbb59bdb");
    }
}
