//! One shard's engine: commit log and memtables.
