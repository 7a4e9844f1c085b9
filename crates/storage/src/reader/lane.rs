//! A lane: one sequence of data items in a read's order, of which one page at a time is here.

use mutation::{DecodeError, Deletion, Position};
use planted::{Bug, Planted};
use schema::Table;
use stdx::Reader;
use topology::Token;

use crate::reader::data_page::{DataItem, read_data_item};
use crate::reader::place::clustering_place;

/// One page of a read: encoded items and where to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
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

    /// The lane's page that begins behind `after`.
    fn fetch(&self, after: Option<&Position>) -> impl Future<Output = Result<Page, Self::Error>>;

    /// A bug planted on purpose.
    fn planted(&self) -> Planted {
        Planted::NONE
    }

    /// The page that came makes no sense.
    fn malformed(&self, problem: DecodeError) -> Self::Error;
}

/// The next thing in a lane.
#[derive(Debug)]
pub(super) enum Head {
    Partition { token: Token, key: Vec<u8>, deletion: Option<Deletion>, static_row: Vec<u8> },
    Range { at: Option<Vec<u8>>, deletion: Option<Deletion> },
    Row { place: Vec<u8>, clustering: Vec<u8>, row: Vec<u8> },
    End,
}

/// One replica's answer.
#[derive(Debug)]
pub struct Lane<S> {
    pub(super) source: S,
    items: Vec<u8>,
    used: usize,
    more_after: Option<Position>,
    pub(super) head: Head,
    /// The deletion that holds in this lane where the merge is.
    pub(super) range: Option<Deletion>,
}

impl<S: Source> Lane<S> {
    /// A lane whose first page is here.
    pub fn new(source: S, page: Page, table: &Table) -> Result<Self, S::Error> {
        let Page { items, more_after } = page;
        let mut lane = Lane { source, items, used: 0, more_after, head: Head::End, range: None };
        lane.advance(table)?;
        Ok(lane)
    }

    /// Goes to the page's next item; at the page's end the head is [`Head::End`].
    pub(super) fn advance(&mut self, table: &Table) -> Result<(), S::Error> {
        let mut reader = Reader::new(&self.items[self.used..]);
        let item = read_data_item(&mut reader).map_err(|problem| self.source.malformed(problem))?;
        self.head = match item {
            None => Head::End,
            Some(DataItem::Partition { token, key, deletion, static_row }) => {
                let static_row = static_row.map_or_else(Vec::new, |row| row.bytes().to_vec());
                Head::Partition { token, key: key.to_vec(), deletion, static_row }
            }
            Some(DataItem::Range { at, deletion }) => Head::Range { at: at.map(<[u8]>::to_vec), deletion },
            Some(DataItem::Row { clustering, row }) => {
                let mut place = Vec::new();
                clustering_place(table, clustering, &mut place);
                Head::Row { place, clustering: clustering.bytes().to_vec(), row: row.bytes().to_vec() }
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
                Head::Partition { key: next, .. } if next != key => return Ok(()),
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

    pub(super) fn next_key(&self) -> Option<(Token, &[u8])> {
        match &self.head {
            Head::Partition { token, key, .. } => Some((*token, key)),
            _ => None,
        }
    }
}
