//! One read of an SSTable: from the index to the data to the sink.
//!
//! ```text
//! KeyRange::Partition   filter ─▶ index ─▶ one place ──┐
//! KeyRange::Tokens      index, from one to the next ───┴▶ head ─▶ slices ─▶ sink
//! ```
//!
//! Rows of a partition without blocks are read from its head on. Those of a wide one are looked for in its blocks, each slice from the
//! first block that may hold something of it; descending, block after block is read forwards and told backwards. A scan of
//! whole partitions needs no blocks.

use std::ops::{Bound as TokenBound, RangeBounds};

use mutation::{Bound, ClusteringRef, KeyRange, Position, PositionRef, ReadCommand, RowRef, Slice};
use sstable::data::{DataReader, Item};
use sstable::{Block, Blocks};
use topology::{Token, token_of};

use crate::memtable::COST_BYTES;
use crate::sink::{DataSink, ReadEnd};
use crate::sstable::data_file::{Head, ReadWindow};
use crate::sstable::error::ReadError;
use crate::sstable::index::{Place, Wide};
use crate::sstable::input::{Input, Take};
use crate::sstable::reader::{Sstable, View};
use crate::sstable::slices::{BlockItems, Collect, Output, Taken, Visit};

/// The most that is read of a partition without blocks before it is known how long it is.
const EXPECTED_MAX: usize = 32 << 10;
/// What a scan reads first.
const EXPECTED_SCAN: usize = 64 << 10;
/// After so many items it is looked whether others want to run.
const ITEMS_PER_LOOK: usize = 16;

/// A read that is under way.
pub(super) struct Reading<'r, S> {
    sstable: &'r Sstable,
    view: &'r View,
    command: &'r ReadCommand<'r>,
    input: Input<'r>,
    output: Output<'r, S>,
    items: usize,
}

/// Where the input is in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Not at its rows.
    Elsewhere,
    /// At a row or marker.
    AtRows,
    /// Behind the last one.
    AtEnd,
}

impl<'r, S: DataSink> Reading<'r, S> {
    pub(super) fn new(
        sstable: &'r Sstable,
        view: &'r View,
        window: &'r mut ReadWindow,
        reader: DataReader,
        command: &'r ReadCommand<'r>,
        sink: &'r mut S,
    ) -> Self {
        let input = Input::new(&sstable.data, window, reader);
        Reading { sstable, view, command, input, output: Output { sink, cost: 0 }, items: 0 }
    }

    pub(super) fn into_reader(self) -> DataReader {
        self.input.into_reader()
    }

    pub(super) async fn read(&mut self) -> Result<ReadEnd, ReadError> {
        match self.command.keys {
            KeyRange::Partition { token, key } => self.partition(token, key).await,
            KeyRange::Tokens { start, end } => self.tokens(start, end).await,
        }
    }

    async fn partition(&mut self, token: Token, key: &[u8]) -> Result<ReadEnd, ReadError> {
        let after = self.command.after;
        if after.is_some_and(|after| after.row.is_none()) || !self.sstable.may_contain(token, key) {
            return Ok(ReadEnd::Complete);
        }
        let place = self.sstable.index.find(token, key).await?;
        let Some(place) = place.filter(|place| place.wide.as_ref().is_none_or(|wide| wide.key == key)) else {
            self.sstable.count_positive(false);
            return Ok(ReadEnd::Complete);
        };
        let mean = self.sstable.data.length() / self.sstable.partitions.max(1);
        let expected = mean.saturating_mul(2).min(EXPECTED_MAX as u64) as usize;
        let after = after.and_then(|after| after.row);
        let head = self.head(&place, after, expected).await?;
        if head.key != key {
            // Only the first bytes of a key are in the trie.
            self.sstable.count_positive(false);
            return Ok(ReadEnd::Complete);
        }
        if after.is_none() {
            // A later page asks for what is known to be there.
            self.sstable.count_positive(true);
        }
        Ok(self.visit(token, &place, &head, after).await?.unwrap_or(ReadEnd::Complete))
    }

    async fn tokens(&mut self, start: TokenBound<Token>, end: TokenBound<Token>) -> Result<ReadEnd, ReadError> {
        let (first, last) = self.sstable.tokens;
        let is_over = !(TokenBound::Unbounded, end).contains(&first) || !(start, TokenBound::Unbounded).contains(&last);
        let mut resume = self.command.after.filter(|after| (start, TokenBound::Unbounded).contains(&after.token));
        if is_over || resume.is_some_and(|after| after.token > last) {
            return Ok(ReadEnd::Complete);
        }
        let from = match (resume, start) {
            (Some(after), _) => Some((after.token, Some(after.key))),
            (None, TokenBound::Included(token) | TokenBound::Excluded(token)) => Some((token, None)),
            (None, TokenBound::Unbounded) => None,
        };
        let mut between = self.sstable.index.seek(from).await?;
        while let Some(place) = self.sstable.index.next(&mut between).await? {
            let of_wide = place.wide.as_ref().map(|wide| &wide.key[..]);
            let row = resume.filter(|after| of_wide == Some(after.key)).and_then(|after| after.row);
            let head = self.head(&place, row, EXPECTED_SCAN).await?;
            let token = token_of(&head.key);
            if !(TokenBound::Unbounded, end).contains(&token) {
                break;
            }
            if !(start, TokenBound::Unbounded).contains(&token) {
                continue;
            }
            let Some(row) = row_to_go_on_behind(&mut resume, token, &head.key) else { continue };
            if let Some(end) = self.visit(token, &place, &head, row).await? {
                return Ok(end);
            }
            let position = || Position { token, key: head.key.clone(), row: None };
            if let Some(end) = self.output.end(position) {
                return Ok(end);
            }
            self.sstable.runtime.maybe_yield().await;
        }
        Ok(ReadEnd::Complete)
    }

    /// Whether the blocks of a wide partition are of use to this read.
    fn blocks_of<'p>(&self, place: &'p Place, after: Option<&[u8]>) -> Option<&'p Wide> {
        let is_whole = self.command.slices == [Slice::ALL] && !self.command.reversed && after.is_none();
        place.wide.as_ref().filter(|_| !is_whole)
    }

    /// What stands before a partition's rows.
    async fn head(&mut self, place: &Place, after: Option<&[u8]>, expected: usize) -> Result<Head, ReadError> {
        let Some(wide) = self.blocks_of(place, after) else {
            self.input.seek_partition(place.data_position, expected).await?;
            let mut head = Head::default();
            self.input.step(&mut head).await?;
            return Ok(head);
        };
        if !self.view.has_statics {
            // All of it is in the index.
            return Ok(Head { key: wide.key.clone(), deletion: wide.deletion, static_row: Vec::new() });
        }
        if let Some(head) = self.input.kept_head(place.data_position) {
            return Ok(head);
        }
        // The rows are elsewhere.
        self.input.seek_partition(place.data_position, 1).await?;
        let mut head = Head::default();
        self.input.step(&mut head).await?;
        self.input.keep_head(place.data_position, &head);
        Ok(head)
    }

    /// One partition, at whose rows the input is if it has no blocks that are of use. `Some`: the read ends within it.
    async fn visit(
        &mut self,
        token: Token,
        place: &Place,
        head: &Head,
        after: Option<&[u8]>,
    ) -> Result<Option<ReadEnd>, ReadError> {
        self.output.cost += 1;
        let slices = self.command.slices;
        if !self.view.shape.has_clustering() {
            if !slices.is_empty() {
                self.output.sink.partition(token, &head.key, head.deletion, None);
                while self.input.step(&mut Single(&mut self.output)).await? {}
            }
            return Ok(None);
        }
        let static_row = Some(&head.static_row).filter(|row| !row.is_empty()).map(|row| RowRef::trusted(row));
        self.output.sink.partition(token, &head.key, head.deletion, static_row);
        let mut rows = Rows {
            sstable: self.sstable,
            view: self.view,
            input: &mut self.input,
            visit: Visit::new(&mut self.output, &self.view.shape, (token, &head.key), after),
            data_position: place.data_position,
            wide: None,
            after,
            items: &mut self.items,
        };
        let is_whole = slices == [Slice::ALL] && !self.command.reversed && after.is_none();
        rows.wide = place.wide.as_ref().filter(|_| !is_whole);
        match self.command.reversed {
            false => rows.forward(slices).await,
            true => rows.backward(slices).await,
        }
    }
}

/// The row behind which a read goes on in the partition that it has come to; `None`: it is past all of it.
fn row_to_go_on_behind<'a>(resume: &mut Option<PositionRef<'a>>, token: Token, key: &[u8]) -> Option<Option<&'a [u8]>> {
    let Some(after) = *resume else { return Some(None) };
    if (token, key) < (after.token, after.key) {
        return None;
    }
    *resume = None;
    if (token, key) == (after.token, after.key) { after.row.map(Some) } else { Some(None) }
}

impl Take for Head {
    type Taken = ();

    fn take(&mut self, item: Item<'_>) -> (bool, ()) {
        let Item::Partition { key, deletion, static_row } = item else {
            unreachable!("a reader between partitions gives one's head")
        };
        self.key.extend_from_slice(key);
        self.deletion = deletion;
        if let Some(static_row) = static_row {
            self.static_row.extend_from_slice(static_row.bytes());
        }
        (true, ())
    }
}

/// The one row of a partition in a table without clustering columns.
struct Single<'v, 'r, S>(&'v mut Output<'r, S>);

impl<S: DataSink> Take for Single<'_, '_, S> {
    /// Whether there may be more of the partition.
    type Taken = bool;

    fn take(&mut self, item: Item<'_>) -> (bool, bool) {
        match item {
            Item::Row { row, .. } => {
                self.0.cost += row.bytes().len() / COST_BYTES;
                self.0.sink.row(ClusteringRef::EMPTY, row);
                (true, false)
            }
            Item::PartitionEnd => (true, false),
            // Cassandra writes none of these where there are no clustering columns, and they would say nothing.
            Item::Marker(_) | Item::SkippedRow => (true, true),
            Item::Partition { .. } => unreachable!("a reader within a partition gives its end first"),
        }
    }
}

/// The rows of one partition.
struct Rows<'p, 'v, 'r, S> {
    sstable: &'p Sstable,
    view: &'p View,
    input: &'p mut Input<'r>,
    visit: Visit<'v, 'r, S>,
    data_position: u64,
    wide: Option<&'p Wide>,
    after: Option<&'v [u8]>,
    items: &'p mut usize,
}

impl<'v, S: DataSink> Rows<'_, 'v, '_, S> {
    async fn forward(&mut self, slices: &'v [Slice<'v>]) -> Result<Option<ReadEnd>, ReadError> {
        let mut standing = if self.wide.is_some() { Standing::Elsewhere } else { Standing::AtRows };
        for slice in slices {
            if !self.visit.begin_slice(slice) {
                continue;
            }
            if let Some(wide) = self.wide {
                standing = self.go_to_slice(wide, slice, standing).await?;
            }
            loop {
                if standing == Standing::AtEnd {
                    match self.visit.end_slice() {
                        Some(end) => return Ok(Some(end)),
                        None => break,
                    }
                }
                match self.input.step(&mut self.visit).await? {
                    Taken::More => {}
                    Taken::SliceEnd => break,
                    Taken::PartitionEnd => standing = Standing::AtEnd,
                    Taken::End(end) => return Ok(Some(end)),
                }
                self.look_around().await;
            }
        }
        Ok(None)
    }

    /// Goes to the first block that may hold something of the slice, if the input is not there or behind already.
    async fn go_to_slice(&mut self, wide: &Wide, slice: &Slice<'_>, standing: Standing) -> Result<Standing, ReadError> {
        let start = match self.after {
            Some(after) if self.visit.starts_after() => Bound { prefix: after, inclusive: true },
            _ => slice.start,
        };
        let index = &self.sstable.index;
        let mut blocks = index.blocks(wide, &self.view.table, start, Bound::UNBOUNDED).await?;
        let Some(block) = index.first_block(&mut blocks).await? else { return Ok(Standing::AtEnd) };
        let begins = self.data_position.saturating_add(block.begins);
        if standing == Standing::Elsewhere || self.input.position() < begins {
            self.input.seek_rows(begins, block_length(&block)).await?;
            self.visit.open = block.open;
            return Ok(Standing::AtRows);
        }
        Ok(standing)
    }

    async fn backward(&mut self, slices: &'v [Slice<'v>]) -> Result<Option<ReadEnd>, ReadError> {
        let mut block = BlockItems::default();
        let mut is_whole_partition_here = false;
        for slice in slices.iter().rev() {
            let top = self.visit.begin_slice_back(slice);
            let top = top.as_deref();
            let mut blocks = match self.wide {
                Some(wide) => Some(self.blocks_below(wide, slice, top).await?),
                None => None,
            };
            loop {
                match &mut blocks {
                    Some(blocks) => {
                        let Some(next) = self.sstable.index.last_block(blocks).await? else { break };
                        self.collect(&mut block, &next).await?;
                    }
                    None if !is_whole_partition_here => {
                        self.collect_until(&mut block, u64::MAX).await?;
                        is_whole_partition_here = true;
                    }
                    None => {}
                }
                match self.visit.take_block_back(&block, top) {
                    Taken::End(end) => return Ok(Some(end)),
                    Taken::More if blocks.is_some() => {}
                    _ => break,
                }
            }
            if let Some(end) = self.visit.end_slice_back(top) {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// The blocks that may hold something of the slice below `top`.
    async fn blocks_below(&mut self, wide: &Wide, slice: &Slice<'_>, top: Option<&[u8]>) -> Result<Blocks, ReadError> {
        let end = match (self.after, top) {
            (Some(after), Some(top)) if after == top => Bound { prefix: after, inclusive: false },
            _ => slice.end,
        };
        // Of a slice that the read has passed, what is deleted below `top` is wanted all the same.
        let is_passed = top.is_some_and(|top| top <= slice.start.prefix);
        let start = if is_passed { Bound::UNBOUNDED } else { slice.start };
        self.sstable.index.blocks(wide, &self.view.table, start, end).await
    }

    async fn collect(&mut self, items: &mut BlockItems, block: &Block) -> Result<(), ReadError> {
        let begins = self.data_position.saturating_add(block.begins);
        let ends = self.data_position.saturating_add(block.ends);
        self.input.seek_rows_back(begins..ends, self.data_position).await?;
        self.visit.open = block.open;
        self.collect_until(items, ends).await
    }

    async fn collect_until(&mut self, items: &mut BlockItems, ends: u64) -> Result<(), ReadError> {
        items.begin(self.visit.open);
        let mut collect = Collect { shape: &self.view.shape, block: items };
        while self.input.position() < ends && !self.input.step(&mut collect).await? {
            *self.items += 1;
            if self.items.is_multiple_of(ITEMS_PER_LOOK) {
                self.sstable.runtime.maybe_yield().await;
            }
        }
        Ok(())
    }

    /// Lets others run once in a while.
    async fn look_around(&mut self) {
        *self.items += 1;
        if self.items.is_multiple_of(ITEMS_PER_LOOK) {
            self.sstable.runtime.maybe_yield().await;
        }
    }
}

fn block_length(block: &Block) -> usize {
    usize::try_from(block.ends.saturating_sub(block.begins)).unwrap_or(usize::MAX).min(EXPECTED_MAX * 4)
}
