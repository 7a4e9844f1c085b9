//! The scheduling groups: what kind of work a task does, and how much of the core that work is due.

/// What a task works for. Work of different groups shares the core by the groups' shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Group {
    /// What a client waits for.
    Query = 0,
    /// Writing memtables out, on which writes may come to wait.
    Flush = 1,
    /// Merging SSTables.
    Compaction = 2,
    /// Moving data between nodes.
    Streaming = 3,
    /// All that may take its time.
    Maintenance = 4,
}
