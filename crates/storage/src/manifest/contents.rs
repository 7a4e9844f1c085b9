//! What a manifest says: its records summed up.

use std::collections::BTreeMap;

use schema::TableId;

use crate::manifest::confirmed::ConfirmedCopies;
use crate::manifest::record::{Destination, FileName, GoneRecord, LiveRecord, Record, ReplacedRecord};
use crate::options::ReplayPosition;

/// The outcome of a manifest's records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// The files that count, in the order in which they came to.
    pub live: Vec<LiveRecord>,
    /// Files that were begun and are not live: what a crash left of them is nothing.
    pub begun: Vec<FileName>,
    /// Files that do not count any more, and whose components may still be there.
    pub gone: Vec<GoneRecord>,
    /// For each table the place up to which its records in the log are in files.
    pub covered: BTreeMap<TableId, ReplayPosition>,
    /// The ranges that copies for operations have brought.
    pub confirmed: ConfirmedCopies,
}

impl Contents {
    /// Takes a record in.
    pub fn apply(&mut self, record: Record) {
        match record {
            Record::Begun(name) => self.begun.push(name),
            Record::Live(live) => {
                self.begun.retain(|begun| *begun != live.name);
                if let Some(covered) = live.covered {
                    self.cover(live.name.table, covered);
                }
                self.live.push(live);
            }
            Record::Covered(table, position) => self.cover(table, position),
            Record::Gone(gone) => {
                self.live.retain(|live| live.name != gone.name);
                self.begun.retain(|begun| *begun != gone.name);
                self.gone.push(gone);
            }
            Record::Replaced(replaced) => self.replace(&replaced),
            Record::Copied(copied, confirmed) => {
                self.replace(&copied);
                self.confirmed.add(confirmed);
            }
            Record::Confirmed(confirmed) => self.confirmed.add(confirmed),
            Record::CopiesEnded(operation) => self.confirmed.forget(operation),
            // It stands in a file of its own.
            Record::InForce(_) => {}
        }
    }

    /// Outputs of a compaction take the place of its inputs.
    fn replace(&mut self, replaced: &ReplacedRecord) {
        let name = |descriptor: &sstable::Descriptor| FileName {
            table: replaced.table,
            folder: replaced.folder.clone(),
            descriptor: descriptor.clone(),
        };
        for (descriptor, is_shared) in &replaced.inputs {
            let name = name(descriptor);
            self.live.retain(|live| live.name != name);
            self.gone.push(GoneRecord { name, is_shared: *is_shared, destination: Destination::Removed });
        }
        for descriptor in &replaced.outputs {
            let name = name(descriptor);
            self.begun.retain(|begun| *begun != name);
            self.live.push(LiveRecord { name, is_shared: false, end: replaced.end, covered: None });
        }
    }

    fn cover(&mut self, table: TableId, position: ReplayPosition) {
        let place = |position: &ReplayPosition| (position.boot, position.sequence);
        let known = self.covered.entry(table).or_insert(position);
        if place(known) < place(&position) {
            *known = position;
        }
    }

    /// Whether it says anything of a file.
    pub fn names(&self, name: &FileName) -> bool {
        let is_of_it = |named: &FileName| named == name;
        self.live.iter().any(|live| is_of_it(&live.name))
            || self.begun.iter().any(is_of_it)
            || self.gone.iter().any(|gone| is_of_it(&gone.name))
    }

    /// The fewest records with this outcome.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let covered = self.covered.iter().map(|(table, position)| Record::Covered(*table, *position));
        let live = self.live.iter().cloned().map(Record::Live);
        let gone = self.gone.iter().cloned().map(Record::Gone);
        let confirmed = self.confirmed.records().map(Record::Confirmed);
        covered.chain(live).chain(self.begun.iter().cloned().map(Record::Begun)).chain(gone).chain(confirmed)
    }

    /// How many [`Contents::records`] gives.
    pub fn record_count(&self) -> usize {
        self.covered.len() + self.live.len() + self.begun.len() + self.gone.len() + self.confirmed.record_count()
    }

    /// Nothing is left of a file that was begun or is gone: no record of it is needed.
    pub fn forget(&mut self, name: &FileName) {
        self.begun.retain(|begun| begun != name);
        self.gone.retain(|gone| gone.name != *name);
    }
}
