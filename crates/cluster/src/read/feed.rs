//! The feeding of a page from another shard to a sink, as the storage would.

use mutation::{DecodeError, LiveRow, Position};
use schema::Table;
use storage::reader::{Page, row_position};
use storage::{Flow, RowSink};

use crate::replica::{PageItem, PageReader, ReplicaError};

/// Gives a page's rows to the sink. `Some`: the sink stopped there.
pub(super) fn feed_page(
    shard: u16,
    table: &Table,
    page: &Page,
    now_in_seconds: u32,
    sink: &mut impl RowSink,
) -> Result<Option<Position>, ReplicaError> {
    let malformed =
        |problem: DecodeError| ReplicaError::Malformed { shard: shard.into(), problem: problem.to_string() };
    let mut feed = Feed::new(now_in_seconds);
    let mut reader = PageReader::new(&page.items);
    while let Some(item) = reader.next().map_err(malformed)? {
        if let Some(position) = feed.give(item, table, sink) {
            return Ok(Some(position));
        }
    }
    Ok(page.more_after.clone().filter(|_| feed.has_had_enough))
}

/// Hands a page's items to a sink as the storage would.
pub(super) struct Feed<'p> {
    now_in_seconds: u32,
    partition: Option<(topology::Token, &'p [u8])>,
    is_skipping: bool,
    /// The sink stopped at tombstones. What follows in the page is given to it nevertheless.
    has_had_enough: bool,
}

impl<'p> Feed<'p> {
    pub(super) fn new(now_in_seconds: u32) -> Self {
        Feed { now_in_seconds, partition: None, is_skipping: false, has_had_enough: false }
    }

    /// Gives one item. `Some`: the sink stopped after it.
    pub(super) fn give(&mut self, item: PageItem<'p>, table: &Table, sink: &mut impl RowSink) -> Option<Position> {
        match item {
            PageItem::Partition { token, key, static_row } => {
                let is_same = self.partition.is_some_and(|(_, known)| known == key);
                self.partition = Some((token, key));
                if self.is_skipping && is_same {
                    return None;
                }
                let row = static_row.map(|row| LiveRow::new(row, None, self.now_in_seconds));
                let flow = sink.partition(token, key, row);
                self.is_skipping = flow == Flow::SkipPartition;
                let position = || Position { token, key: key.to_vec(), row: None };
                (flow == Flow::Stop).then(position)
            }
            PageItem::Row { clustering, row } => {
                let (token, key) = self.partition?;
                if self.is_skipping {
                    return None;
                }
                let flow = sink.row(clustering, LiveRow::new(row, None, self.now_in_seconds));
                self.is_skipping = flow == Flow::SkipPartition;
                (flow == Flow::Stop).then(|| row_position(table, token, key, clustering))
            }
            PageItem::Tombstones { token, count } => {
                self.has_had_enough |= sink.tombstones(token, |_| count) == Flow::Stop;
                None
            }
        }
    }
}
