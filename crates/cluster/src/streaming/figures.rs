//! Progress of a copy.

use std::cell::Cell;

/// How far copies are, and what they have brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyFigures {
    /// Units that are listed, or that were empty.
    pub units_done: u64,
    /// Units in all, as far as is known: 0 before the sources have said where they cut.
    pub units: u64,
    /// Rows received, of all sources.
    pub rows: u64,
    /// Encoded bytes received.
    pub bytes: u64,
    /// Files written.
    pub files: u64,
}

impl CopyFigures {
    /// Adds another copy's.
    pub(crate) fn add(&mut self, other: CopyFigures) {
        // Another node's figures are whatever it sends.
        self.units_done = self.units_done.saturating_add(other.units_done);
        self.units = self.units.saturating_add(other.units);
        self.rows = self.rows.saturating_add(other.rows);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.files = self.files.saturating_add(other.files);
    }
}

/// A running copy's figures, as it changes them.
#[derive(Debug, Default)]
pub(super) struct Progress(Cell<CopyFigures>);

impl Progress {
    pub(super) fn change(&self, change: impl FnOnce(&mut CopyFigures)) {
        let mut figures = self.0.get();
        change(&mut figures);
        assert!(figures.units_done <= figures.units, "no more units are done than there are");
        self.0.set(figures);
    }

    pub(super) fn figures(&self) -> CopyFigures {
        self.0.get()
    }
}
