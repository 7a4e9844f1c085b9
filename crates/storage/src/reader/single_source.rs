//! What alone has all that a read asks for, so that the read is one call.

use mutation::{KeyRange, ReadCommand};

use crate::cache::{CachedPartition, Found, Hit};
use crate::memtable::Memtable;
use crate::shard::Engine;
use crate::sink::{DataSink, ReadEnd, RowSink};
use crate::tables::TableState;

/// One source of a read.
pub(crate) enum SingleSource<'e> {
    Memtable(&'e Memtable),
    /// The same; that files have nothing of it was known to the cache.
    MemtableByEntry(&'e Memtable, Hit),
    Cached(CachedPartition<'e>, Hit),
}

impl SingleSource<'_> {
    #[inline]
    pub(crate) fn read(&self, command: &ReadCommand<'_>, sink: &mut impl RowSink) -> ReadEnd {
        match self {
            SingleSource::Memtable(memtable) | SingleSource::MemtableByEntry(memtable, _) => {
                memtable.read(command, sink)
            }
            SingleSource::Cached(cached, _) => cached.read(command, sink),
        }
    }

    pub(crate) fn read_data(&self, command: &ReadCommand<'_>, sink: &mut impl DataSink) -> ReadEnd {
        match self {
            SingleSource::Memtable(memtable) | SingleSource::MemtableByEntry(memtable, _) => {
                memtable.read_data(command, sink)
            }
            SingleSource::Cached(cached, _) => cached.read_data(command, sink),
        }
    }

    /// The entry of the cache that stands for the files.
    pub(crate) fn hit(&self) -> Option<Hit> {
        match self {
            SingleSource::Memtable(_) => None,
            SingleSource::MemtableByEntry(_, hit) | SingleSource::Cached(_, hit) => Some(*hit),
        }
    }
}

impl Engine {
    /// What alone answers a read; `None`: what it asks for may lie in several places, or on the disk.
    #[inline]
    pub(crate) fn alone<'e>(&'e self, table: &'e TableState, command: &ReadCommand<'_>) -> Option<SingleSource<'e>> {
        match table.files.is_empty() && table.frozen.is_empty() {
            true => Some(SingleSource::Memtable(&table.memtable)),
            false => self.single_of_many(table, command),
        }
    }

    /// The same, for a read that is answered from it: counts it.
    #[inline]
    pub(crate) fn single_source<'e>(
        &'e self,
        table: &'e TableState,
        command: &ReadCommand<'_>,
    ) -> Option<SingleSource<'e>> {
        let alone = self.alone(table, command)?;
        if let Some(hit) = alone.hit() {
            self.cache.hit(hit);
        }
        Some(alone)
    }

    fn single_of_many<'e>(&'e self, table: &'e TableState, command: &ReadCommand<'_>) -> Option<SingleSource<'e>> {
        match self.cache.find(&table.marks, command) {
            Found::Nothing => {
                let is_in_files = table.files_that_may_hold(command).next().is_some();
                if is_in_files { None } else { table.only_memtable(command).map(SingleSource::Memtable) }
            }
            Found::Absent(hit) => {
                table.only_memtable(command).map(|memtable| SingleSource::MemtableByEntry(memtable, hit))
            }
            Found::Body(body, hit) => {
                let KeyRange::Partition { token, .. } = command.keys else { return None };
                let is_written = table.memtables().any(|memtable| memtable.may_hold(&command.keys));
                (!is_written).then(|| SingleSource::Cached(CachedPartition::new(body, token), hit))
            }
        }
    }
}

impl TableState {
    /// The memtable that alone has what memtables have of it, if there is only one such.
    fn only_memtable(&self, command: &ReadCommand<'_>) -> Option<&Memtable> {
        let mut holding = self.memtables().filter(|memtable| memtable.may_hold(&command.keys));
        let first = holding.next();
        if holding.next().is_some() { None } else { Some(first.unwrap_or(&self.memtable)) }
    }
}
