//! The numbers by which a table's entries are judged.

/// What a table says of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// The table, by a number that no other table of this shard ever has.
    pub table: u64,
    /// Whether reads of the table look entries up at all.
    pub is_on: bool,
    /// Counts the changes of the table's files.
    pub clock: u64,
    /// Entries made before do not count.
    all_since: u64,
    /// Entries made before that are purgeable do not count.
    purgeable_since: u64,
    /// Frozen memtables with smaller numbers are in files.
    pub flushed_below: u64,
}

impl Marks {
    /// Of a table that is new here.
    pub fn new(table: u64, is_on: bool) -> Self {
        Marks { table, is_on, clock: 0, all_since: 0, purgeable_since: 0, flushed_below: 0 }
    }

    /// The table's content, or what is seen of it, is another.
    pub fn all_changed(&mut self) {
        self.clock += 1;
        self.all_since = self.clock;
    }

    /// The files are others and say the same, but for what was left out as purged if `is_purged`.
    pub fn compacted(&mut self, is_purged: bool) {
        self.clock += 1;
        if is_purged {
            self.purgeable_since = self.clock;
        }
    }

    /// The frozen memtable with this number is in a file.
    pub fn flushed(&mut self, number: u64) {
        self.clock += 1;
        self.flushed_below = number + 1;
    }

    /// Whether what was made at this clock counts.
    #[inline]
    pub fn count(&self, made_at: u64, is_purgeable: bool) -> bool {
        made_at >= self.all_since && (!is_purgeable || made_at >= self.purgeable_since)
    }
}
