//! The source's side: the copies that are open on this shard, and their pages.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use mutation::MutationRef;
use planted::Bug;
use runtime::{Group, Instant, Runtime};
use schema::TableId;
use storage::{CopyScan, CopySource, Shard};
use topology::{Epoch, HostId, Sharder, Token, TokenRange};

use super::message::{CUTS_MAX, CopyAnswer, CopyNumber, CopyRequest, Open, Owner, Page, PageOf, Sum};
use crate::fence::Fence;
use crate::paxos::{STATE_TABLE, VOID, replace_positions};
use crate::replica::ReplicaError;

/// Copies that may be open on a shard.
const OPEN_MAX: usize = 16;
/// A copy without a request for so long is closed.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// The rest between two looks for such copies.
const LOOK: Duration = Duration::from_secs(10);
/// Bytes of a unit, about.
const UNIT_BYTES: u64 = 64 << 20;
/// Bytes of mutations after which a page is given, about.
const PAGE_BYTES: usize = 512 << 10;

/// The longest that a page is gathered: then it is given with what there is.
const PAGE_TIME: Duration = Duration::from_secs(5);
/// The least and most bytes of a page at a bounded rate: a second's, so that none takes longer than its receiver waits.
const PACED_BYTES_MIN: u64 = 16 << 10;

/// A copy: its receiver's node, and the number that this gave it.
type Name = (HostId, CopyNumber);

/// The copies that are open on this shard.
pub(crate) struct Sources {
    runtime: Runtime,
    storage: Shard,
    fence: Rc<Fence>,
    sharder: Sharder,
    open: RefCell<BTreeMap<Name, Rc<OpenCopy>>>,
    /// Copies that are being opened.
    opening: Cell<usize>,
    /// Bytes a second that the shard gives to all receivers together; 0: no limit.
    rate: Cell<u64>,
    /// The moment from which on the next page may be given.
    next: Cell<Instant>,
    /// A task looks for copies about which no node asks.
    is_watched: Cell<bool>,
}

struct OpenCopy {
    table: TableId,
    /// The epoch that it was planned at.
    planned: Epoch,
    receiver: Owner,
    files: CopySource,
    /// None while a page is made, and at first.
    cursor: RefCell<Option<Cursor>>,
    asked: Cell<Instant>,
    /// Requests about it that are being served.
    in_use: Cell<usize>,
}

/// Where the pages of a unit are.
struct Cursor {
    unit: TokenRange,
    scan: CopyScan,
    /// The number of the next page.
    next: u32,
    /// Of the pages given.
    sum: Sum,
}

/// Counts something up, until it is dropped.
struct Counted<'c>(&'c Cell<usize>);

impl<'c> Counted<'c> {
    fn new(count: &'c Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Counted(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Sources {
    /// None is open.
    pub(crate) fn new(runtime: &Runtime, storage: &Shard, fence: &Rc<Fence>, sharder: Sharder) -> Rc<Sources> {
        Rc::new(Sources {
            runtime: runtime.clone(),
            storage: storage.clone(),
            fence: Rc::clone(fence),
            sharder,
            open: RefCell::default(),
            opening: Cell::default(),
            rate: Cell::default(),
            next: Cell::new(runtime.now()),
            is_watched: Cell::default(),
        })
    }

    /// Bytes a second that the shard gives to all receivers together; 0: no limit.
    pub(crate) fn rate(&self) -> u64 {
        self.rate.get()
    }

    /// Sets that limit from the next page on.
    pub(crate) fn set_rate(&self, bytes: u64) {
        self.rate.set(bytes);
    }

    /// Waits until so many bytes may be given.
    async fn pace(&self, bytes: usize) {
        let rate = self.rate.get();
        if rate == 0 || bytes == 0 {
            return;
        }
        let begin = self.next.get().max(self.runtime.now());
        self.next.set(begin + Duration::from_secs_f64(bytes as f64 / rate as f64));
        self.runtime.sleep_until(begin).await;
    }

    /// Bytes of mutations after which a page is given, about.
    fn page_bytes(&self) -> usize {
        match self.rate.get() {
            0 => PAGE_BYTES,
            rate => usize::try_from(rate.max(PACED_BYTES_MIN)).unwrap_or(PAGE_BYTES).min(PAGE_BYTES),
        }
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.open.borrow().len()
    }

    /// Answers a request of another node's shard. Dropped, the future ends the work, and the unit begins again at its first page.
    pub(crate) async fn answer(self: &Rc<Self>, from: HostId, planned: Epoch, request: CopyRequest) -> CopyAnswer {
        match request {
            CopyRequest::Open(open) => match self.open(from, planned, *open).await {
                Ok(cuts) => CopyAnswer::Opened(cuts),
                Err(error) => CopyAnswer::Failed(error),
            },
            CopyRequest::Page(page) => self.page(from, page).await,
            CopyRequest::Keep { copy, .. } => self.keep(from, copy),
            CopyRequest::Close { copy, .. } => {
                self.open.borrow_mut().remove(&(from, copy));
                CopyAnswer::Closed
            }
        }
    }

    async fn open(self: &Rc<Self>, from: HostId, planned: Epoch, open: Open) -> Result<Vec<Vec<Token>>, ReplicaError> {
        let Open { copy, table, shards, receiver, ranges, .. } = open;
        let shard = self.runtime.shard();
        if shards != self.sharder.shards {
            let problem = format!("a shard of {shards} was asked for, and there are {}", self.sharder.shards);
            return Err(ReplicaError::Malformed { shard: shard.into(), problem });
        }
        // It was asked for before, and the answer was lost: the table is flushed once more, which does little.
        self.open.borrow_mut().remove(&(from, copy));
        if self.open.borrow().len() + self.opening.get() >= OPEN_MAX {
            stdx::sometimes!("a source has too many copies open");
            let problem = format!("{OPEN_MAX} copies are open");
            return Err(ReplicaError::Overloaded { shard: shard.into(), problem });
        }
        let _opening = Counted::new(&self.opening);
        let gate = self.fence.gate(shard, planned);
        if !self.storage.planted().is(Bug::SourceServesOldEpoch) {
            gate.reach().await?;
        }
        gate.check_table(table)?;
        let files = CopySource::open(&self.storage, table).await;
        let files = files.map_err(|error| not_readable(shard.0, table, &error))?;
        // It may have been emptied while it was flushed.
        gate.check_table(table)?;
        let cuts = self.cut(&files, &ranges).await;
        let asked = Cell::new(self.runtime.now());
        let (cursor, in_use) = (RefCell::default(), Cell::default());
        let copy_open = Rc::new(OpenCopy { table, planned, receiver, files, cursor, asked, in_use });
        self.open.borrow_mut().insert((from, copy), copy_open);
        assert!(self.open.borrow().len() <= OPEN_MAX, "no more copies are open than may be");
        self.watch();
        Ok(cuts)
    }

    fn keep(&self, from: HostId, copy: CopyNumber) -> CopyAnswer {
        match self.open.borrow().get(&(from, copy)) {
            Some(copy) => {
                copy.asked.set(self.runtime.now());
                CopyAnswer::Kept
            }
            None => CopyAnswer::NotOpen,
        }
    }

    /// Where the ranges are cut, so that there are not too many units.
    async fn cut(&self, files: &CopySource, ranges: &[TokenRange]) -> Vec<Vec<Token>> {
        let mut bytes = UNIT_BYTES;
        loop {
            let mut cuts: Vec<Vec<Token>> = Vec::with_capacity(ranges.len());
            for range in ranges {
                let mut units = files.cut(*range, bytes);
                // The last unit ends where the range does.
                units.pop();
                cuts.push(units.into_iter().map(|unit| unit.end).collect());
                self.runtime.maybe_yield().await;
            }
            if cuts.iter().map(Vec::len).sum::<usize>() <= CUTS_MAX {
                return cuts;
            }
            bytes *= 2;
        }
    }

    async fn page(self: &Rc<Self>, from: HostId, asked: PageOf) -> CopyAnswer {
        let Some(copy) = self.open.borrow().get(&(from, asked.copy)).cloned() else { return CopyAnswer::NotOpen };
        copy.asked.set(self.runtime.now());
        let gate = self.fence.gate(self.runtime.shard(), copy.planned);
        if let Err(stale) = gate.check_table(copy.table) {
            stdx::sometimes!("a copy's table changes while it is sent");
            self.open.borrow_mut().remove(&(from, asked.copy));
            return CopyAnswer::Failed(stale.into());
        }
        let _in_use = Counted::new(&copy.in_use);
        let before = copy.cursor.take();
        let mut cursor = match (asked.page, before) {
            (0, _) => {
                let (scan, sum) = (copy.files.scan(asked.unit), Sum::default());
                Cursor { unit: asked.unit, scan, next: 0, sum }
            }
            (page, Some(cursor)) if cursor.unit == asked.unit && cursor.next == page => cursor,
            _ => {
                stdx::sometimes!("a copy's unit begins again");
                return CopyAnswer::Restart;
            }
        };
        let made = self.next_page(&copy, &mut cursor).await;
        if let Ok(page) = &made {
            self.pace(page.mutations.iter().map(Vec::len).sum()).await;
        }
        copy.asked.set(self.runtime.now());
        match made {
            Ok(page) => {
                if page.end.is_none() {
                    cursor.next += 1;
                    *copy.cursor.borrow_mut() = Some(cursor);
                }
                CopyAnswer::Page(page)
            }
            Err(error) => {
                self.open.borrow_mut().remove(&(from, asked.copy));
                CopyAnswer::Failed(error)
            }
        }
    }

    /// The mutations that follow, of tokens that the receiver's shard owns. There may be none although more follow, where much is read that is not given.
    async fn next_page(&self, copy: &OpenCopy, cursor: &mut Cursor) -> Result<Page, ReplicaError> {
        let shard = self.runtime.shard();
        let (mut mutations, mut bytes, most) = (Vec::new(), 0, self.page_bytes());
        let began = self.runtime.now();
        while bytes < most {
            let left = PAGE_TIME.saturating_sub(self.runtime.now() - began);
            if left.is_zero() {
                stdx::sometimes!("a page of a copy ends by its time");
                break;
            }
            let scanned = cursor.scan.page(most - bytes, left).await;
            let scanned = scanned.map_err(|error| not_readable(shard.0, copy.table, &error))?;
            for mut bytes_of in scanned.mutations {
                if copy.table == STATE_TABLE {
                    let is_void = |table, position| storage::is_truncated_after(&self.storage, table, position);
                    let mark = |table, position| if is_void(table, position) { VOID } else { position };
                    replace_positions(&mut bytes_of, mark);
                }
                let decoded = MutationRef::decode(&bytes_of).map_err(|error| {
                    tracing::error!(table = %copy.table, %error, "cannot decode a mutation that a copy's scan gave");
                    ReplicaError::Unreadable { shard: shard.into() }
                })?;
                if copy.receiver.owns(decoded.token()) {
                    cursor.sum.add(&decoded);
                    bytes += bytes_of.len();
                    mutations.push(bytes_of);
                }
            }
            if scanned.is_last {
                return Ok(Page { mutations, end: Some(cursor.sum) });
            }
            self.runtime.maybe_yield().await;
        }
        Ok(Page { mutations, end: None })
    }

    /// Closes copies about which no node asks, as long as any is open.
    fn watch(self: &Rc<Self>) {
        if self.is_watched.replace(true) {
            return;
        }
        let sources = Rc::clone(self);
        drop(self.runtime.spawn(Group::Maintenance, async move {
            while !sources.open.borrow().is_empty() {
                sources.runtime.sleep(LOOK).await;
                let now = sources.runtime.now();
                sources.open.borrow_mut().retain(|(host, _), copy| {
                    let is_kept = copy.in_use.get() > 0 || now - copy.asked.get() < IDLE_MAX;
                    if !is_kept {
                        tracing::info!(%host, table = %copy.table, "closed a copy that its receiver has left");
                    }
                    is_kept
                });
            }
            sources.is_watched.set(false);
        }));
    }
}

fn not_readable(shard: u16, table: TableId, error: &storage::CopyError) -> ReplicaError {
    match error {
        storage::CopyError::Gone => ReplicaError::UnknownTable { shard: shard.into() },
        error => {
            tracing::error!(%table, %error, "cannot read a table's files for a copy");
            ReplicaError::Unreadable { shard: shard.into() }
        }
    }
}
