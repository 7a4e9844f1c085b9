//! Reads of several partitions side by side, whose rows are given one partition after the other.
//!
//! Where each takes a round trip to other nodes, one after the other would take as many times as long. Each fills a page of its own meanwhile; what does not fit is
//! read when its turn comes.

use std::collections::BTreeMap;

use mutation::{Position, ReadCommand};
use schema::Table;
use storage::RowSink;
use storage::reader::{Page, ReadDone};

use super::feed::feed_page;
use super::running::Running;
use crate::coordinator::Coordinator;
use crate::outcome::Failure;
use crate::plan::ReplicaPlan;
use crate::replica::{PageLimits, PageWriter};

/// Reads at once: their pages are held at the same time.
const AT_ONCE: usize = 16;

/// Reads that are begun in order, and given in that order.
pub struct ReadsAhead<'r> {
    coordinator: &'r Coordinator,
    table: &'r Table,
    limits: PageLimits,
    running: Running<'r, usize, Result<ReadPage, Failure>>,
    ended: BTreeMap<usize, Result<ReadPage, Failure>>,
    begun: usize,
    given: usize,
}

/// The first page of one partition.
pub struct ReadPage {
    page: Page,
    now_in_seconds: u32,
}

/// The end of a page.
pub enum PageEnd {
    /// The partition is read, or the sink has enough.
    Read(ReadDone),
    /// More follows after this place; `None`: from where the read was to begin.
    More(Option<Position>),
}

impl<'r> ReadsAhead<'r> {
    /// No read is begun yet; `limits` are those of each.
    pub fn new(coordinator: &'r Coordinator, table: &'r Table, limits: PageLimits) -> Self {
        let (running, ended) = (Running::new(), BTreeMap::new());
        ReadsAhead { coordinator, table, limits, running, ended, begun: 0, given: 0 }
    }

    /// True if another read may begin.
    pub fn has_room(&self) -> bool {
        self.begun - self.given < AT_ONCE
    }

    /// Begins the read of a partition.
    ///
    /// # Panics
    /// If there is no room for another.
    pub fn begin(&mut self, plan: ReplicaPlan<'r>, command: ReadCommand<'r>) {
        assert!(self.has_room(), "as many reads as may be are under way");
        let (coordinator, table, limits) = (self.coordinator, self.table, self.limits);
        self.running.push(self.begun, async move {
            let mut writer = PageWriter::of_read(limits, coordinator.storage(), &command);
            let done = coordinator.read(&plan, table, command, limits, &mut writer).await?;
            let more_after = match done {
                ReadDone::Complete => None,
                ReadDone::Stopped(position) => Some(position),
            };
            // A long row takes memory that is not given to several at once.
            let items = writer.into_whole();
            let page = Page { items: items.unwrap_or_default(), more_after };
            Ok(ReadPage { page, now_in_seconds: command.now_in_seconds })
        });
        self.begun += 1;
    }

    /// The next page, in the order in which the reads were begun.
    ///
    /// # Panics
    /// If no read is begun that was not given.
    pub async fn next(&mut self) -> Result<ReadPage, Failure> {
        assert!(self.given < self.begun, "a page is of a read that was begun");
        loop {
            if let Some(page) = self.ended.remove(&self.given) {
                self.given += 1;
                return page;
            }
            let (number, page) = self.running.next().await.expect("the read whose turn it is has not ended");
            self.ended.insert(number, page);
        }
    }
}

impl ReadPage {
    /// Gives the rows to a sink.
    pub fn feed(&self, coordinator: &Coordinator, table: &Table, sink: &mut impl RowSink) -> Result<PageEnd, Failure> {
        if self.page.items.is_empty() {
            return Ok(match self.page.more_after {
                None => PageEnd::Read(ReadDone::Complete),
                Some(_) => PageEnd::More(None),
            });
        }
        let fed = feed_page(coordinator.shard().0, table, &self.page, self.now_in_seconds, sink)?;
        Ok(match (fed, &self.page.more_after) {
            (Some(position), _) => PageEnd::Read(ReadDone::Stopped(position)),
            (None, None) => PageEnd::Read(ReadDone::Complete),
            (None, Some(position)) => PageEnd::More(Some(position.clone())),
        })
    }
}
