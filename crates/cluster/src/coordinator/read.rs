//! Reads of one partition, and the feeding of a page from another shard to a sink. What several replicas answer, or
//! another node, is read in `replicas.rs`.

use mutation::{LiveRow, Position, ReadCommand};
use runtime::ShardId;
use schema::Table;
use storage::reader::{Page, ReadDone, row_position};
use storage::{Flow, ReadEnd, RowSink};

use super::message::{PageLimits, ReadRequest, ReplicaError, ReplicaReply, ReplicaRequest};
use super::outcome::Failure;
use super::page::{PageItem, PageReader};
use super::replica::unreadable;
use super::replication::ReplicaPlan;
use super::{Coordinator, PlanPlace};

impl Coordinator {
    /// Reads without waiting, if the plan allows that and memory has it. `None`: nothing was given to the sink,
    /// [`Coordinator::read`] it.
    #[inline]
    pub fn read_now(
        &self,
        plan: &ReplicaPlan<'_>,
        command: &ReadCommand<'_>,
        sink: &mut impl RowSink,
    ) -> Option<ReadEnd> {
        if self.place_of_read(plan) == PlanPlace::Here { self.inner.storage.read(command, sink) } else { None }
    }

    /// Reads a partition, and waits as it must. `limits` bounds what another shard sends at once, not the read.
    pub async fn read(
        &self,
        plan: &ReplicaPlan<'_>,
        table: &Table,
        command: ReadCommand<'_>,
        limits: PageLimits,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, Failure> {
        if !plan.is_local_read(&self.inner.nodes) {
            return self.read_replicas(plan, table, command, limits, sink).await;
        }
        if plan.shard == self.shard() {
            return Ok(self.read_here(command, sink).await?);
        }
        let mut after = command.after.map(|position| position.to_owned());
        loop {
            let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..command };
            let page = self.fetch(plan.shard, &command, limits).await?;
            if let Some(position) = self.feed(plan.shard.0, table, &page, command.now_in_seconds, sink)? {
                return Ok(ReadDone::Stopped(position));
            }
            match page.more_after {
                None => return Ok(ReadDone::Complete),
                position => after = position,
            }
        }
    }

    /// Reads from this shard alone, letting others run in between.
    pub(super) async fn read_here(
        &self,
        command: ReadCommand<'_>,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, ReplicaError> {
        let read = self.inner.storage.read_through(&command, sink).await;
        read.map_err(|error| unreadable(self.shard().0, error))
    }

    /// One page from a shard.
    pub(super) async fn fetch(
        &self,
        shard: ShardId,
        command: &ReadCommand<'_>,
        limits: PageLimits,
    ) -> Result<Page, ReplicaError> {
        let mut bytes = Vec::with_capacity(128);
        command.encode(&mut bytes);
        self.fetch_encoded(shard, bytes, limits).await
    }

    /// One page from a shard, which may be this one.
    pub(super) async fn fetch_encoded(
        &self,
        shard: ShardId,
        command: Vec<u8>,
        limits: PageLimits,
    ) -> Result<Page, ReplicaError> {
        match self.call(shard, ReplicaRequest::Read(ReadRequest { command, limits })).await? {
            ReplicaReply::Page(page) => Ok(page),
            reply => panic!("a shard answers a read with a page, not with {reply:?}"),
        }
    }

    /// Gives a page's rows to the sink. `Some`: the sink stopped there.
    fn feed(
        &self,
        shard: u16,
        table: &Table,
        page: &Page,
        now_in_seconds: u32,
        sink: &mut impl RowSink,
    ) -> Result<Option<Position>, ReplicaError> {
        let malformed =
            |problem: mutation::DecodeError| ReplicaError::Malformed { shard, problem: problem.to_string() };
        let mut feed = Feed::new(now_in_seconds);
        let mut reader = PageReader::new(&page.items);
        while let Some(item) = reader.next().map_err(malformed)? {
            if let Some(position) = feed.give(item, table, sink) {
                return Ok(Some(position));
            }
        }
        Ok(page.more_after.clone().filter(|_| feed.has_had_enough))
    }
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
