//! A page of rows as it travels from the shard that holds them to the shard that answers the client.
//!
//! ```text
//! page:       item*
//! partition:  1 u8 | token i64 | key length varint, key | static row length u32 (0: none), static row
//! row:        2 u8 | clustering length varint, clustering | row length u32, row
//! tombstones: 3 u8 | token i64 | how many varint: passed over since the item before, or in what comes next
//! ```
//!
//! Rows are blobs of `mutation`, rebuilt with what lives in them: the reading side needs no deletions to hide.

use std::rc::Rc;

use mutation::{CellRef, ClusteringRef, LiveRow, ReadCommand, RowBuilder, RowRef, TombstoneRule};
use schema::Table;
use stdx::{Reader, varint};
use storage::reader::{DataPageWriter, PageRoom, ReadDone};
use storage::{DataSink, Flow, ReadEnd, ReadError, RowSink, Shard};
use topology::Token;

use super::message::PageLimits;

const PARTITION: u8 = 1;
const ROW: u8 = 2;
const TOMBSTONES: u8 = 3;
/// A page with so many tombstones is sent whatever rows it has: whoever wants it may have had enough of them.
const TOMBSTONES_MAX: u32 = 10_000;
const ROW_LENGTH: usize = size_of::<u32>();

/// Collects rows into a page until its limits are reached.
#[derive(Debug)]
pub struct PageWriter {
    limits: PageLimits,
    items: Vec<u8>,
    rows: u32,
    rows_in_partition: u32,
    room: PageRoom,
    /// The partition's token.
    token: Token,
    /// The table and the moment of the read, once it has begun.
    read: Option<(Rc<Table>, u32)>,
    /// Tombstones that the items do not tell of yet, and the token of the last.
    tombstones: (Token, u32),
    /// All of them.
    tombstones_in_all: u32,
}

impl PageWriter {
    /// An empty page.
    pub fn new(limits: PageLimits) -> Self {
        PageWriter {
            limits,
            items: Vec::new(),
            rows: 0,
            rows_in_partition: 0,
            room: PageRoom::default(),
            token: Token::MIN,
            read: None,
            tombstones: (Token::MIN, 0),
            tombstones_in_all: 0,
        }
    }

    /// An empty page, whose tombstones are counted as they are in a read.
    pub(crate) fn of_read(limits: PageLimits, storage: &Shard, command: &ReadCommand<'_>) -> Self {
        let mut writer = PageWriter::new(limits);
        writer.begin_read(storage, command);
        writer
    }

    /// The items, unless a long row did not fit.
    pub(crate) fn into_whole(self) -> Option<Vec<u8>> {
        self.room.wanted().is_none().then(|| self.into_items())
    }

    /// Whether the page holds as much as it may.
    pub fn is_full(&self) -> bool {
        self.rows >= self.limits.rows
            || self.items.len() >= self.limits.bytes as usize
            || self.tombstones_in_all >= TOMBSTONES_MAX
    }

    /// The items.
    pub fn into_items(mut self) -> Vec<u8> {
        self.push_tombstones();
        self.items
    }

    /// Has tombstones counted as they are in this read.
    fn begin_read(&mut self, storage: &Shard, command: &ReadCommand<'_>) {
        if self.read.is_none() {
            self.read = storage.definition(command.table).map(|table| (table, command.now_in_seconds));
        }
    }

    fn count(&mut self, token: Token, count: impl FnOnce(&TombstoneRule<'_>) -> u32) {
        let Some((table, now_in_seconds)) = &self.read else { return };
        let count = count(&TombstoneRule::new(table, *now_in_seconds, self.limits.counts_statics));
        self.tombstones = (token, self.tombstones.1.saturating_add(count));
        self.tombstones_in_all = self.tombstones_in_all.saturating_add(count);
    }

    /// Tells of the tombstones that were counted since the item before.
    #[inline]
    fn push_tombstones(&mut self) {
        let (token, count) = self.tombstones;
        if count > 0 {
            self.tombstones.1 = 0;
            self.items.push(TOMBSTONES);
            self.items.extend_from_slice(&token.0.to_be_bytes());
            varint::encode(u64::from(count), &mut self.items);
        }
    }

    /// Writes the row where it is to lie, and its length before it afterwards: a copy less than to build it elsewhere.
    fn push_row(&mut self, row: Option<LiveRow<'_>>) {
        let start = self.items.len();
        self.items.extend_from_slice(&[0; ROW_LENGTH]);
        if let Some(row) = row {
            rebuild_row(row, &mut self.items);
        }
        let length = self.items.len() - start - ROW_LENGTH;
        let length = u32::try_from(length).expect("no record of the log holds a row of 4 GiB");
        self.items[start..start + ROW_LENGTH].copy_from_slice(&length.to_be_bytes());
    }
}

/// A page that a read fills.
pub(super) trait PageSink {
    /// True if the page is reconciled with those of other replicas, and may be written to them.
    const IS_FOR_OTHERS: bool;

    /// Reads for as long as one call may take. `None`: it must be waited for.
    fn read(&mut self, storage: &Shard, command: &ReadCommand<'_>) -> Option<ReadEnd>;

    /// Reads until it is full or the data ends, from wherever the data lies.
    fn read_through(
        &mut self,
        storage: &Shard,
        command: &ReadCommand<'_>,
    ) -> impl Future<Output = Result<ReadDone, ReadError>>;

    /// True if the page holds as much as it may.
    fn is_full(&self) -> bool;

    /// The memory that it must have for a long row. What it holds then is of no use.
    fn wanted(&self) -> Option<usize>;

    /// Begins again with memory as [`Runtime::touched`] makes it.
    fn begin_again(&mut self, memory: Vec<u8>);

    /// The page's items.
    fn into_items(self) -> Vec<u8>;
}

impl PageSink for DataPageWriter {
    const IS_FOR_OTHERS: bool = true;

    fn read(&mut self, storage: &Shard, command: &ReadCommand<'_>) -> Option<ReadEnd> {
        storage.read_data(command, self)
    }

    async fn read_through(&mut self, storage: &Shard, command: &ReadCommand<'_>) -> Result<ReadDone, ReadError> {
        storage.read_data_through(command, self).await
    }

    fn is_full(&self) -> bool {
        DataSink::is_full(self)
    }

    fn wanted(&self) -> Option<usize> {
        DataPageWriter::wanted(self)
    }

    fn begin_again(&mut self, memory: Vec<u8>) {
        DataPageWriter::begin_again(self, memory);
    }

    fn into_items(self) -> Vec<u8> {
        self.into_bytes()
    }
}

impl PageSink for PageWriter {
    const IS_FOR_OTHERS: bool = false;

    fn read(&mut self, storage: &Shard, command: &ReadCommand<'_>) -> Option<ReadEnd> {
        self.begin_read(storage, command);
        storage.read(command, self).done()
    }

    async fn read_through(&mut self, storage: &Shard, command: &ReadCommand<'_>) -> Result<ReadDone, ReadError> {
        self.begin_read(storage, command);
        storage.read_through(command, self).await
    }

    fn is_full(&self) -> bool {
        PageWriter::is_full(self)
    }

    fn wanted(&self) -> Option<usize> {
        self.room.wanted()
    }

    fn begin_again(&mut self, memory: Vec<u8>) {
        let room = PageRoom::of(&memory);
        *self = PageWriter { items: memory, room, ..PageWriter::new(self.limits) };
    }

    fn into_items(self) -> Vec<u8> {
        PageWriter::into_items(self)
    }
}

impl RowSink for PageWriter {
    fn partition(&mut self, token: Token, key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        if !self.room.takes(self.items.len(), static_row.map_or(0, |row| row.stored_length())) {
            return Flow::Stop;
        }
        if let Some(row) = &static_row {
            self.count(token, |rule| rule.of_static(row));
        }
        self.token = token;
        self.push_tombstones();
        self.items.push(PARTITION);
        self.items.extend_from_slice(&token.0.to_be_bytes());
        push_bytes(key, &mut self.items);
        self.push_row(static_row);
        self.rows_in_partition = 0;
        if static_row.is_some() {
            // A partition may be no more than its static row: it counts, so that a page of such ends too.
            self.rows = self.rows.saturating_add(1);
        }
        Flow::Continue
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        if !self.room.takes(self.items.len(), row.stored_length()) {
            return Flow::Stop;
        }
        self.count(self.token, |rule| rule.of_row(&row));
        self.push_tombstones();
        self.items.push(ROW);
        push_bytes(clustering.bytes(), &mut self.items);
        self.push_row(Some(row));
        self.rows = self.rows.saturating_add(1);
        self.rows_in_partition += 1;
        if self.is_full() {
            Flow::Stop
        } else if self.rows_in_partition >= self.limits.rows_per_partition {
            Flow::SkipPartition
        } else {
            Flow::Continue
        }
    }

    fn tombstones(&mut self, token: Token, count: impl FnOnce(&TombstoneRule<'_>) -> u32) -> Flow {
        self.count(token, count);
        if self.is_full() { Flow::Stop } else { Flow::Continue }
    }

    fn is_full(&self) -> bool {
        PageWriter::is_full(self)
    }
}

fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    varint::encode(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends what lives of `row` as a blob of its own.
pub fn rebuild_row(row: LiveRow<'_>, out: &mut Vec<u8>) {
    let mut builder = RowBuilder::begin(out);
    if let Some(liveness) = row.liveness() {
        builder.liveness(liveness);
    }
    for cell in row.cells() {
        builder.cell(out, &CellRef { tombstone: None, ..cell });
    }
    builder.finish(out);
}

/// One thing in a page.
#[derive(Debug, Clone, Copy)]
pub enum PageItem<'a> {
    /// A partition begins.
    Partition {
        /// Its token.
        token: Token,
        /// Its key.
        key: &'a [u8],
        /// Its static row, if it has a live one.
        static_row: Option<RowRef<'a>>,
    },
    /// A row of the partition.
    Row {
        /// Its clustering.
        clustering: ClusteringRef<'a>,
        /// The row.
        row: RowRef<'a>,
    },
    /// Tombstones were passed over.
    Tombstones {
        /// The token of the last.
        token: Token,
        /// How many.
        count: u32,
    },
}

/// Reads a page's items one after the other.
#[derive(Debug, Clone)]
pub struct PageReader<'a> {
    reader: Reader<'a>,
}

impl<'a> PageReader<'a> {
    /// A reader at the start of `items`.
    pub fn new(items: &'a [u8]) -> Self {
        PageReader { reader: Reader::new(items) }
    }

    /// How far the reader is in items of `length` bytes whose end it reads to.
    pub fn offset(&self, length: usize) -> usize {
        length - self.reader.remaining()
    }

    fn row(&mut self) -> Result<&'a [u8], mutation::DecodeError> {
        let length = self.reader.u32()?;
        Ok(self.reader.bytes(length as usize)?)
    }

    /// The next item; `None` at the end.
    pub fn next(&mut self) -> Result<Option<PageItem<'a>>, mutation::DecodeError> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let item = match self.reader.u8()? {
            PARTITION => {
                let token = Token(self.reader.i64()?);
                let key = self.reader.varint_bytes()?;
                let static_row = match self.row()? {
                    [] => None,
                    bytes => Some(RowRef::decode(bytes)?),
                };
                PageItem::Partition { token, key, static_row }
            }
            ROW => {
                let clustering = ClusteringRef::decode(self.reader.varint_bytes()?)?;
                PageItem::Row { clustering, row: RowRef::decode(self.row()?)? }
            }
            TOMBSTONES => {
                let token = Token(self.reader.i64()?);
                let count = u32::try_from(self.reader.varint()?).unwrap_or(u32::MAX);
                PageItem::Tombstones { token, count }
            }
            value => return Err(mutation::DecodeError::Unknown { what: "a page's item", value }),
        };
        Ok(Some(item))
    }
}
