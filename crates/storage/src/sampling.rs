//! Which partitions are read and written most, while somebody looks.
//!
//! Counting all partitions would take memory for each of them. A *sketch* keeps a fixed number of counters ("space saving", Metwally et al., 2005): a
//! partition without one takes over the counter with the least count, and goes on from there. So a count is never too low, too high by at most what it
//! was taken over with (its *error*), and a partition with more than the sum by the number of counters always has one.
//!
//! While nobody looks, a read or a write costs the look at one flag.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use mutation::{KeyRange, MutationRef, ReadCommand};
use schema::TableId;

use crate::shard::Shard;

/// Longer keys are not sampled: a sketch is memory that nobody has planned for.
const KEY_BYTES_MAX: usize = 1 << 10;

/// What is sampled on a shard.
#[derive(Default)]
pub(crate) struct Sampling {
    is_on: Cell<bool>,
    running: RefCell<Option<Running>>,
}

struct Running {
    /// None: all.
    tables: Vec<TableId>,
    reads: Sketch,
    writes: Sketch,
}

/// A partition and how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledPartition {
    /// Its table.
    pub table: TableId,
    /// Its key, as it is stored.
    pub key: Rc<[u8]>,
    /// How often it was seen, at most.
    pub count: u64,
    /// By how much that may be too much.
    pub error: u64,
}

/// The partitions that have counters, in no order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Those that were read.
    pub reads: Vec<SampledPartition>,
    /// Those that were written.
    pub writes: Vec<SampledPartition>,
}

/// A fixed number of counters.
struct Sketch {
    capacity: usize,
    counters: Vec<SampledPartition>,
    /// Where each partition has its counter.
    places: BTreeMap<TableId, BTreeMap<Rc<[u8]>, usize>>,
}

impl Sketch {
    fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a sketch without counters");
        Sketch { capacity, counters: Vec::new(), places: BTreeMap::new() }
    }

    fn see(&mut self, table: TableId, key: &[u8]) {
        if let Some(place) = self.places.get(&table).and_then(|places| places.get(key)) {
            self.counters[*place].count += 1;
            return;
        }
        let key: Rc<[u8]> = Rc::from(key);
        let place = if self.counters.len() < self.capacity {
            self.counters.push(SampledPartition { table, key: key.clone(), count: 1, error: 0 });
            self.counters.len() - 1
        } else {
            let place = self.least();
            let least = &mut self.counters[place];
            if let Some(places) = self.places.get_mut(&least.table) {
                places.remove(&least.key);
            }
            *least = SampledPartition { table, key: key.clone(), count: least.count + 1, error: least.count };
            place
        };
        self.places.entry(table).or_default().insert(key, place);
    }

    fn least(&self) -> usize {
        let counts = self.counters.iter().map(|counter| counter.count).enumerate();
        counts.min_by_key(|(_, count)| *count).map_or(0, |(place, _)| place)
    }
}

impl Sampling {
    #[cold]
    fn see(&self, table: TableId, key: &[u8], sketch: fn(&mut Running) -> &mut Sketch) {
        let mut running = self.running.borrow_mut();
        let Some(running) = running.as_mut() else { return };
        let is_wanted = running.tables.is_empty() || running.tables.contains(&table);
        if is_wanted && key.len() <= KEY_BYTES_MAX {
            sketch(running).see(table, key);
        }
    }
}

impl Shard {
    /// Samples reads and writes of these tables, of all for none, with so many counters for each of both, until [`Shard::end_sampling`].
    pub fn begin_sampling(&self, tables: Vec<TableId>, capacity: usize) {
        let running = Running { tables, reads: Sketch::new(capacity), writes: Sketch::new(capacity) };
        self.sampling().running.replace(Some(running));
        self.sampling().is_on.set(true);
    }

    /// What was sampled; nothing is from now on.
    pub fn end_sampling(&self) -> Sampled {
        self.sampling().is_on.set(false);
        let running = self.sampling().running.take();
        running.map_or_else(Sampled::default, |running| Sampled {
            reads: running.reads.counters,
            writes: running.writes.counters,
        })
    }

    /// A read of one partition begins, of which this is the first page.
    #[inline]
    pub(crate) fn sample_read(&self, command: &ReadCommand<'_>) {
        if self.sampling().is_on.get()
            && command.after.is_none()
            && let KeyRange::Partition { key, .. } = command.keys
        {
            self.sampling().see(command.table, key, |running| &mut running.reads);
        }
    }

    /// A partition is written.
    #[inline]
    pub(crate) fn sample_write(&self, mutation: &MutationRef<'_>) {
        if self.sampling().is_on.get() {
            self.sampling().see(mutation.table(), mutation.key(), |running| &mut running.writes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: [TableId; 2] = [TableId([1; 16]), TableId([2; 16])];

    /// Partition n of 500 is seen some 20,000 / n times, in an order that mixes them.
    fn seen() -> Vec<(TableId, u32)> {
        let mut all: Vec<(TableId, u32)> = Vec::new();
        for number in 1..=500u32 {
            let times = 20_000 / number;
            all.extend((0..times).map(|_| (TABLES[number as usize % 2], number)));
        }
        let count = all.len() as u64;
        // A prime stride visits each place once.
        const STRIDE: u64 = 7919;
        assert!(!count.is_multiple_of(STRIDE));
        (0..count).map(|step| all[(step * STRIDE % count) as usize]).collect()
    }

    #[test]
    fn counts_are_never_too_low_and_too_high_by_their_error_at_most() {
        const CAPACITY: usize = 64;
        let seen = seen();
        let mut exact: BTreeMap<(TableId, u32), u64> = BTreeMap::new();
        let mut sketch = Sketch::new(CAPACITY);
        for (table, number) in &seen {
            *exact.entry((*table, *number)).or_default() += 1;
            sketch.see(*table, &number.to_be_bytes());
        }
        assert_eq!(sketch.counters.len(), CAPACITY);
        assert_eq!(sketch.places.values().map(BTreeMap::len).sum::<usize>(), CAPACITY);
        let bound = seen.len() as u64 / CAPACITY as u64;
        let number = |counter: &SampledPartition| u32::from_be_bytes(counter.key[..].try_into().expect("four bytes"));
        for counter in &sketch.counters {
            let exact = exact[&(counter.table, number(counter))];
            assert!(counter.count >= exact && counter.count - counter.error <= exact, "{counter:?}: {exact}");
            assert!(counter.error <= bound, "{counter:?}");
        }
        let frequent = exact.iter().filter(|(_, count)| **count > bound);
        for ((table, wanted), _) in frequent {
            let is_it = |counter: &&SampledPartition| counter.table == *table && number(counter) == *wanted;
            assert!(sketch.counters.iter().any(|counter| is_it(&counter)), "{wanted} has no counter");
        }
    }

    #[test]
    fn with_counters_for_all_it_is_exact() {
        let mut sketch = Sketch::new(3);
        for key in [b"a", b"b", b"a", b"c", b"a"] {
            sketch.see(TABLES[0], key);
        }
        sketch.counters.sort_by_key(|counter| std::cmp::Reverse(counter.count));
        let counts: Vec<_> =
            sketch.counters.iter().map(|counter| (&counter.key[..], counter.count, counter.error)).collect();
        assert_eq!(counts, [(&b"a"[..], 3, 0), (&b"b"[..], 1, 0), (&b"c"[..], 1, 0)]);
    }
}
