//! An open SSTable: what is known of it at once, and reading its data.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mutation::ReadCommand;
use planted::{Bug, Planted};
use runtime::Runtime;
use schema::Table;
use sstable::data::DataReader;
use sstable::helenus_component::HelenusComponent;
use sstable::statistics::Statistics;
use sstable::{Descriptor, Filter, KeyHash};
use topology::Token;

use crate::memtable::TableShape;
use crate::sink::{DataSink, ReadEnd};
use crate::sstable::data_file::{DataFile, ReadWindow};
use crate::sstable::error::ReadError;
use crate::sstable::index::Index;
use crate::sstable::reading::Reading;

/// The most readers that are kept for the next read.
const READERS_MAX: usize = 16;

/// An open SSTable. Its files stay open, and can be read, after they were removed.
pub struct Sstable {
    pub(super) runtime: Runtime,
    pub(super) descriptor: Descriptor,
    pub(super) statistics: Statistics,
    pub(super) own: Option<HelenusComponent>,
    pub(super) filter: Option<Filter>,
    pub(super) filter_counts: Cell<FilterCounts>,
    pub(super) index: Index,
    pub(super) data: DataFile,
    pub(super) tokens: (Token, Token),
    pub(super) partitions: u64,
    pub(super) disk_bytes: u64,
    pub(super) view: RefCell<Rc<View>>,
    pub(super) planted: Planted,
}

/// How often a Bloom filter let a read of one partition through to the file, and the file had it or had it not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FilterCounts {
    /// The partition was there.
    pub true_positives: u64,
    /// It was not.
    pub false_positives: u64,
}

impl FilterCounts {
    /// Both together.
    pub fn plus(self, other: FilterCounts) -> FilterCounts {
        FilterCounts {
            true_positives: self.true_positives + other.true_positives,
            false_positives: self.false_positives + other.false_positives,
        }
    }
}

/// The SSTable as its table's rows.
pub(super) struct View {
    pub(super) table: Rc<Table>,
    pub(super) shape: TableShape,
    /// Whether partitions have static rows in the file.
    pub(super) has_statics: bool,
    /// Readers that are in no use.
    readers: RefCell<Vec<DataReader>>,
}

impl View {
    pub(super) fn new(table: &Rc<Table>, has_statics: bool, reader: DataReader) -> Self {
        let readers = RefCell::new(vec![reader]);
        View { table: table.clone(), shape: TableShape::of(table), has_statics, readers }
    }
}

impl Sstable {
    /// Its files' names.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Takes over the table as it is now.
    pub fn set_table(&self, table: &Rc<Table>) -> Result<(), ReadError> {
        let view = View::new(table, self.view.borrow().has_statics, self.new_reader(table)?);
        self.view.replace(Rc::new(view));
        Ok(())
    }

    pub(super) fn new_reader(&self, table: &Table) -> Result<DataReader, ReadError> {
        let reader = DataReader::new(self.descriptor.version, &self.statistics.header, table);
        reader.map_err(|error| self.data.corrupt(0, error.to_string()))
    }

    /// What Helenus.db says; `None` for what Cassandra wrote.
    pub fn own(&self) -> Option<&HelenusComponent> {
        self.own.as_ref()
    }

    /// What Statistics.db says.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The tokens of the first and last partition.
    pub fn token_range(&self) -> (Token, Token) {
        self.tokens
    }

    /// Whether the partition may be in it: it lies between the first and the last token, and the Bloom filter does not exclude it.
    pub fn may_contain(&self, token: Token, key: &[u8]) -> bool {
        self.may_contain_hash(token, KeyHash::of(key))
    }

    /// [`Sstable::may_contain`] of a key whose hash is known: a read asks many files for one key.
    pub fn may_contain_hash(&self, token: Token, hash: KeyHash) -> bool {
        let hash = if self.planted.is(Bug::BloomFilterWrong) { KeyHash::of(b"") } else { hash };
        (self.tokens.0..=self.tokens.1).contains(&token)
            && self.filter.as_ref().is_none_or(|filter| filter.may_contain(hash))
    }

    /// How often its Bloom filter was right and wrong; nothing without one.
    pub fn filter_counts(&self) -> FilterCounts {
        self.filter_counts.get()
    }

    /// The Bloom filter did not exclude a partition, which the file has or has not.
    pub(super) fn count_positive(&self, is_there: bool) {
        if self.filter.is_some() {
            let counts = self.filter_counts.get();
            let (true_positives, false_positives) = (u64::from(is_there), u64::from(!is_there));
            self.filter_counts.set(counts.plus(FilterCounts { true_positives, false_positives }));
        }
    }

    /// The smallest and the greatest timestamp of anything in it.
    pub fn timestamps(&self) -> (i64, i64) {
        (self.statistics.stats.timestamp_min, self.statistics.stats.timestamp_max)
    }

    /// About how many partitions it has.
    pub fn partitions(&self) -> u64 {
        self.partitions
    }

    /// The data's length before compression, bytes.
    pub fn data_bytes(&self) -> u64 {
        self.data.length()
    }

    /// The length of all files, bytes.
    pub fn disk_bytes(&self) -> u64 {
        self.disk_bytes
    }

    /// The memory that it takes while it is open, its pages in the cache aside.
    pub fn memory_bytes(&self) -> usize {
        let filter = self.filter.as_ref().map_or(0, Filter::memory_bytes);
        let sums = self.own.as_ref().map_or(0, |own| own.sums.iter().map(|sum| 4 * sum.pages.len()).sum());
        size_of::<Self>() + filter + sums + self.data.memory_bytes()
    }

    /// The memory of its Bloom filter.
    pub fn filter_bytes(&self) -> usize {
        self.filter.as_ref().map_or(0, Filter::memory_bytes)
    }

    /// Hands what `command` asks for to `sink`, deletions too, as a memtable does: see `docs/internals/read-path.md`.
    pub async fn read_data(&self, command: &ReadCommand<'_>, sink: &mut impl DataSink) -> Result<ReadEnd, ReadError> {
        self.read_data_in(&mut ReadWindow::default(), command, sink).await
    }

    /// [`Sstable::read_data`] for a read that will go on: what it read but did not come to use stays in `window`.
    pub async fn read_data_in(
        &self,
        window: &mut ReadWindow,
        command: &ReadCommand<'_>,
        sink: &mut impl DataSink,
    ) -> Result<ReadEnd, ReadError> {
        let view = self.view.borrow().clone();
        let kept = view.readers.borrow_mut().pop();
        let reader = match kept {
            Some(reader) => reader,
            None => self.new_reader(&view.table)?,
        };
        let mut reading = Reading::new(self, &view, window, reader, command, sink);
        let end = reading.read().await;
        let reader = reading.into_reader();
        let mut readers = view.readers.borrow_mut();
        if readers.len() < READERS_MAX {
            readers.push(reader);
        }
        end
    }
}
