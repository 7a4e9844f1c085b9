//! Tokens, the ring, replication strategies, and which shard owns a token.
