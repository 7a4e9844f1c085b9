//! A lane: one sequence of data items in a read's order, of which one page at a time is here.
//!
//! What the lane gives next is not copied out of the page: it is there until the lane goes on.

use std::ops::Range;

use mutation::{ClusteringRef, DecodeError, Deletion, Position};
use planted::{Bug, Planted};
use schema::Table;
use stdx::Reader;
use topology::Token;

use crate::reader::data_page::{DataItem, read_data_item, read_trusted_item};
use crate::reader::place::clustering_place;

/// One page of a read: encoded items and where to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// As the writer of such pages wrote them: for a lane a [`DataPageWriter`](super::DataPageWriter).
    pub items: Vec<u8>,
    /// Where the next page begins; `None`: this is the last.
    pub more_after: Option<Position>,
}

/// Where a lane's pages come from.
pub trait Source {
    /// Why a page could not be had.
    type Error;

    /// Whether pages are made right here, from rows that were checked when they came in: then they are not checked again.
    const IS_TRUSTED: bool = false;

    /// The lane's page that begins behind `after`.
    fn fetch(&mut self, after: Option<&Position>) -> impl Future<Output = Result<Page, Self::Error>>;

    /// A bug planted on purpose.
    fn planted(&self) -> Planted {
        Planted::NONE
    }

    /// The page that came makes no sense.
    fn malformed(&self, problem: DecodeError) -> Self::Error;
}

/// Where in the page something lies.
type Span = Range<usize>;

/// The next thing in a lane.
#[derive(Debug)]
pub(super) enum Head {
    Partition {
        token: Token,
        key: Span,
        deletion: Option<Deletion>,
        static_row: Span,
    },
    /// With `has_place` from the lane's place on, else from before all rows to come.
    Range {
        has_place: bool,
        deletion: Option<Deletion>,
    },
    /// At the lane's place.
    Row {
        clustering: Span,
        row: Span,
    },
    End,
}

/// One sequence of data.
#[derive(Debug)]
pub struct Lane<S> {
    pub(super) source: S,
    items: Vec<u8>,
    used: usize,
    more_after: Option<Position>,
    pub(super) head: Head,
    /// The byte-comparable place of a head that has one.
    place: Vec<u8>,
    /// The deletion that holds in this lane where the merge is.
    pub(super) range: Option<Deletion>,
}

impl<S: Source> Lane<S> {
    /// A lane whose first page is here.
    pub fn new(source: S, page: Page, table: &Table) -> Result<Self, S::Error> {
        let Page { items, more_after } = page;
        let mut lane = Lane { source, items, used: 0, more_after, head: Head::End, place: Vec::new(), range: None };
        lane.advance(table)?;
        Ok(lane)
    }

    /// Whether there is nothing in it, now and later.
    pub(super) fn is_at_end(&self) -> bool {
        matches!(self.head, Head::End) && self.more_after.is_none()
    }

    /// Goes to the page's next item; at the page's end the head is [`Head::End`].
    pub(super) fn advance(&mut self, table: &Table) -> Result<(), S::Error> {
        let mut reader = Reader::new(&self.items[self.used..]);
        let item = if S::IS_TRUSTED { read_trusted_item(&mut reader) } else { read_data_item(&mut reader) };
        let span = |part: &[u8]| span_of(&self.items, part);
        self.head = match item.map_err(|problem| self.source.malformed(problem))? {
            None => Head::End,
            Some(DataItem::Partition { token, key, deletion, static_row }) => {
                let static_row = static_row.map_or(0..0, |row| span(row.bytes()));
                Head::Partition { token, key: span(key), deletion, static_row }
            }
            Some(DataItem::Range { at, deletion }) => {
                self.place.clear();
                self.place.extend_from_slice(at.unwrap_or_default());
                Head::Range { has_place: at.is_some(), deletion }
            }
            Some(DataItem::Row { clustering, row }) => {
                self.place.clear();
                clustering_place(table, clustering, &mut self.place);
                Head::Row { clustering: span(clustering.bytes()), row: span(row.bytes()) }
            }
        };
        self.used = self.items.len() - reader.remaining();
        Ok(())
    }

    /// Fetches further pages until there is a head, or the lane is at its end.
    pub(super) async fn refill(&mut self, table: &Table) -> Result<(), S::Error> {
        while matches!(self.head, Head::End) {
            let Some(after) = self.more_after.take() else { return Ok(()) };
            if self.source.planted().is(Bug::LaneEndsWithItsPage) {
                return Ok(());
            }
            let page = self.source.fetch(Some(&after)).await?;
            (self.items, self.used, self.more_after) = (page.items, 0, page.more_after);
            self.advance(table)?;
        }
        Ok(())
    }

    /// Goes past what is left of the partition `key`.
    pub(super) async fn skip(&mut self, table: &Table, token: Token, key: &[u8]) -> Result<(), S::Error> {
        loop {
            match &self.head {
                Head::Partition { key: next, .. } if self.items[next.clone()] != *key => return Ok(()),
                Head::End => match &mut self.more_after {
                    None => return Ok(()),
                    Some(after) => {
                        if after.token == token && after.key == key {
                            after.row = None;
                        }
                        self.refill(table).await?;
                        if matches!(self.head, Head::End) {
                            return Ok(());
                        }
                    }
                },
                _ => self.advance(table)?,
            }
        }
    }

    /// What lies there in the page.
    pub(super) fn bytes(&self, span: &Span) -> &[u8] {
        &self.items[span.clone()]
    }

    /// The partition that begins or goes on next.
    pub(super) fn next_key(&self) -> Option<(Token, &[u8])> {
        match &self.head {
            Head::Partition { token, key, .. } => Some((*token, self.bytes(key))),
            _ => None,
        }
    }

    /// The deletion and the static row of the partition that begins or goes on next; an empty row for none.
    pub(super) fn next_partition(&self) -> Option<(Option<Deletion>, &[u8])> {
        match &self.head {
            Head::Partition { deletion, static_row, .. } => Some((*deletion, self.bytes(static_row))),
            _ => None,
        }
    }

    /// The deletion of all of the partition that begins next. Where it has no more than one row it may be that row's.
    pub(super) fn deletion_of_all(&self, table: &Table) -> Option<Deletion> {
        let (deletion, _) = self.next_partition()?;
        if !table.clustering().is_empty() {
            return deletion;
        }
        match read_trusted_item(&mut Reader::new(&self.items[self.used..])) {
            Ok(Some(DataItem::Row { row, .. })) => Deletion::max_of(deletion, row.deletion()),
            _ => deletion,
        }
    }

    /// The row that comes next.
    pub(super) fn next_row(&self) -> Option<(ClusteringRef<'_>, &[u8])> {
        match &self.head {
            Head::Row { clustering, row } => Some((ClusteringRef::trusted(self.bytes(clustering)), self.bytes(row))),
            _ => None,
        }
    }

    /// The head's place within its partition, and whether it is a row's: a change at a row's very place is before the row.
    pub(super) fn place(&self) -> Option<(&[u8], bool)> {
        match self.head {
            Head::Range { has_place: true, .. } => Some((&self.place, false)),
            Head::Row { .. } => Some((&self.place, true)),
            Head::Range { has_place: false, .. } | Head::Partition { .. } | Head::End => None,
        }
    }
}

/// Where in `whole` its part `part` lies.
fn span_of(whole: &[u8], part: &[u8]) -> Span {
    if part.is_empty() {
        // Nothing may lie anywhere.
        return 0..0;
    }
    let start = part.as_ptr().addr() - whole.as_ptr().addr();
    start..start + part.len()
}
