//! The fence: the epochs at which the ring and each table last changed, as one shard knows them, and how far its node has applied the cluster's state.
//!
//! A request names the epoch that its plan rests on. The shard that serves it compares that with its own numbers in the call that applies or reads; the
//! coordinator compares once more before it answers. Numbers may be too high, never too low. See `docs/internals/fence.md`.
//!
//! It does not know what a plan is, nor how the node follows the cluster's state: whoever does gives it a way to catch up.

mod gate;
mod tenures;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use planted::{Bug, Planted};
use runtime::sync::Notify;
use schema::{Keyspace, Schema, TableId};
use topology::{Epoch, HostId, ReplicationStrategy};

pub(crate) use gate::{Gate, NotPassed};
use tenures::Tenures;

use crate::paxos::{Bound, STATE_TABLE};

/// Has the node follow another one (`None`: itself) up to an epoch. Gives the epoch that all of its shards have applied when that is reached, or when it took too
/// long.
pub type CatchUp = Box<dyn Fn(Option<HostId>, Epoch) -> Pin<Box<dyn Future<Output = Epoch>>>>;

/// No plan rests on it: there is no fence where it is named.
pub const NO_EPOCH: Epoch = Epoch(0);

/// The epochs of a table's changes. See the page's *numbers*.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbers {
    /// The table was created.
    made: Epoch,
    /// It was created, altered or truncated, or its keyspace was altered.
    changed: Epoch,
    /// It was truncated.
    truncated: Epoch,
}

impl Numbers {
    fn all(epoch: Epoch) -> Numbers {
        Numbers { made: epoch, changed: epoch, truncated: epoch }
    }
}

/// A table as the fence knows it.
#[derive(Debug)]
struct Known {
    numbers: Numbers,
    /// Its keyspace, by whose strategy its rows are placed.
    keyspace: Rc<Keyspace>,
}

/// The ring and the strategy by which a plan places the rows of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed<'p> {
    /// The ring's epoch.
    pub(crate) ring: Epoch,
    /// The strategy of the table's keyspace.
    pub(crate) strategy: &'p ReplicationStrategy,
}

/// The state of a plan beside the present ring and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// It is as one made now would be, and rests on this epoch.
    Stands(Epoch),
    /// The ring or the table has changed, or is changing: it holds from this epoch on.
    Outdated(Epoch),
    /// It rests on what the table held before it was truncated.
    Truncated,
    /// The table is gone.
    Gone,
}

/// One shard's fence.
pub struct Fence {
    applied: Cell<Epoch>,
    ring: Cell<Epoch>,
    /// The greatest number.
    latest: Cell<Epoch>,
    floor: Cell<Epoch>,
    /// The low bound of attempts, and the epoch at which it was closed.
    low_bound: Cell<(Bound, Epoch)>,
    tables: RefCell<BTreeMap<TableId, Known>>,
    tenures: Tenures,
    catch_up: OnceCell<CatchUp>,
    /// Calls to catch up that are under way, one for each node that is followed: it is enough for all that wait for its epoch or an earlier one, and an epoch
    /// that cannot be reached keeps none of another node waiting.
    calls: RefCell<BTreeMap<Option<HostId>, Rc<Call>>>,
    /// A call has ended, or a later epoch is applied.
    progress: Notify,
    /// Requests refused, since their plans were older than a change.
    refused: Cell<u64>,
    planted: Planted,
}

impl std::fmt::Debug for Fence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (applied, ring, latest) = (self.applied.get(), self.ring.get(), self.latest.get());
        f.debug_struct("Fence").field("applied", &applied).field("ring", &ring).field("latest", &latest).finish()
    }
}

impl Fence {
    /// A fence that stops nothing: of nodes that have no epochs in common, and until [`Fence::begin`].
    pub(crate) fn open(own: HostId, planted: Planted) -> Fence {
        let none = || Cell::new(NO_EPOCH);
        Fence {
            applied: none(),
            ring: none(),
            latest: none(),
            floor: none(),
            low_bound: Cell::new((Bound::default(), NO_EPOCH)),
            tables: RefCell::default(),
            tenures: Tenures::new(own),
            catch_up: OnceCell::new(),
            calls: RefCell::default(),
            progress: Notify::new(),
            refused: Cell::default(),
            planted,
        }
    }

    /// The shard begins with the schema of the state at `epoch`, and the ring of the epoch `ring`; when they last changed is not known.
    ///
    /// # Panics
    /// If it has begun.
    pub fn begin(&self, epoch: Epoch, ring: Epoch, schema: &Schema, catch_up: CatchUp) {
        // The ring of a node alone is of the first epoch, however short its log.
        let epoch = epoch.max(ring);
        assert!(self.catch_up.set(catch_up).is_ok(), "a fence begins once");
        for keyspace in schema.keyspaces().values() {
            let known = || Known { numbers: Numbers::all(epoch), keyspace: Rc::clone(keyspace) };
            self.tables.borrow_mut().extend(keyspace.tables.values().map(|table| (table.id, known())));
        }
        self.tenures.follow(schema);
        self.ring.set(ring);
        self.rise(epoch);
        self.reached(epoch);
    }

    /// Requests that this shard has refused since their plans were older than a change.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// True if epochs are compared.
    pub fn is_closed(&self) -> bool {
        self.catch_up.get().is_some()
    }

    fn rise(&self, epoch: Epoch) {
        assert!(epoch >= self.latest.get(), "changes are applied in order");
        self.latest.set(epoch);
    }

    /// The schema changes, in the same call in which the shard's storage and planner swap it.
    pub fn schema_changed(&self, epoch: Epoch, before: &Schema, after: &Schema) {
        if !self.is_closed() {
            return;
        }
        let mut tables = self.tables.borrow_mut();
        for keyspace in before.changed_since(after) {
            let gone = keyspace.tables.values().filter(|table| after.table_by_id(table.id).is_none());
            gone.for_each(|table| _ = tables.remove(&table.id));
        }
        for keyspace in after.changed_since(before) {
            let was = before.keyspace(keyspace.name());
            let is_placed_anew = was.is_none_or(|was| was.strategy() != keyspace.strategy());
            for table in keyspace.tables.values() {
                let keyspace = Rc::clone(keyspace);
                let Some(was) = before.table_by_id(table.id) else {
                    tables.insert(table.id, Known { numbers: Numbers::all(epoch), keyspace });
                    continue;
                };
                let known = tables.get_mut(&table.id).expect("each table of the schema has its numbers");
                known.keyspace = keyspace;
                let is_same = Rc::ptr_eq(was, table) || was == table;
                if !is_same || is_placed_anew {
                    known.numbers.changed = epoch;
                }
            }
        }
        drop(tables);
        self.tenures.follow(after);
        self.rise(epoch);
    }

    /// The ring changes, in the same call in which the shard plans by it. A ring in which nodes have other addresses alone is no change.
    pub(crate) fn ring_changed(&self, epoch: Epoch) {
        if self.is_closed() {
            self.ring.set(epoch);
            self.rise(epoch);
        }
    }

    /// A truncation has its position on this shard: what rests on rows before it is refused from now on.
    pub fn truncating(&self, epoch: Epoch, table: TableId) {
        if !self.is_closed() {
            return;
        }
        // A table that is made by the same entry is not there yet.
        if let Some(known) = self.tables.borrow_mut().get_mut(&table) {
            (known.numbers.changed, known.numbers.truncated) = (epoch, epoch);
        }
        self.rise(epoch);
    }

    /// A whole state was taken over from another node, with the ring of the epoch `ring`: when each of its parts changed is not known. Its truncations are, since
    /// [`Fence::truncating`] names each table that has one which this node lacked: a number that was too high would drop derived writes of all the others.
    pub fn replaced(&self, epoch: Epoch, ring: Epoch) {
        if !self.is_closed() {
            return;
        }
        self.tables.borrow_mut().values_mut().for_each(|known| known.numbers.changed = epoch);
        self.ring.set(ring);
        self.rise(epoch);
    }

    /// The low bound of attempts changes.
    pub fn low_bound_changed(&self, epoch: Epoch, bound: Bound) {
        let (before, at) = self.low_bound.get();
        if self.is_closed() {
            // Each acceptor refuses for itself. What they ignore must be the same for all.
            self.low_bound.set((bound, if bound.closed == before.closed { at } else { epoch }));
        }
    }

    /// The low bound of attempts.
    pub fn low_bound(&self) -> Bound {
        match self.planted.is(Bug::LowBoundForgotten) {
            true => Bound::default(),
            false => self.low_bound.get().0,
        }
    }

    /// The epoch at which it was closed, on which each attempt rests.
    pub(crate) fn low_bound_at(&self) -> Epoch {
        self.low_bound.get().1
    }

    /// All shards of the node have applied up to an epoch.
    pub fn reached(&self, epoch: Epoch) {
        if self.is_closed() && epoch > self.applied.get() {
            self.applied.set(epoch);
            self.progress.notify_all();
        }
    }

    /// The epoch up to which what is planned now knows the ring and the tables. Other shards may be at work on it still.
    #[inline]
    pub fn moment(&self) -> Epoch {
        self.latest.get().max(self.applied.get())
    }

    /// True if all shards of the node have applied an epoch, as far as this one knows.
    #[inline]
    pub(crate) fn has_applied(&self, epoch: Epoch) -> bool {
        epoch <= self.applied.get()
    }

    /// True if nothing has changed since a moment.
    #[inline]
    fn is_quiet_since(&self, moment: Epoch) -> bool {
        self.latest.get() <= moment
    }

    /// Judges a plan for a table, which knew all changes up to `moment`. `is_derived`: it is of a write that was made of what the table held.
    pub(crate) fn judge(&self, table: TableId, moment: Epoch, placed: Placed<'_>, is_derived: bool) -> Plan {
        if !self.is_closed() {
            return Plan::Stands(NO_EPOCH);
        }
        let tables = self.tables.borrow();
        let Some(known) = tables.get(&table) else { return Plan::Gone };
        let Numbers { made, changed, truncated } = known.numbers;
        let number = changed.max(self.ring.get());
        if made > moment {
            return Plan::Gone;
        }
        if is_derived && truncated > moment {
            return Plan::Truncated;
        }
        // A statement may be planned some time before its moment, by the strategy of then.
        let is_placed_so = self.ring.get() <= placed.ring && known.keyspace.strategy() == placed.strategy;
        if changed > moment || !is_placed_so {
            return Plan::Outdated(number);
        }
        Plan::Stands(number.max(self.floor.get()))
    }

    /// The epoch that a copy of a table is planned at now. `None`: the table is gone, or is not known yet.
    ///
    /// It is the latest that this shard knows, not the number of the ring or the table: a source that has just started knows these only roughly, and refuses what
    /// was planned before its start.
    pub(crate) fn copy_planned_at(&self, table: TableId) -> Option<Epoch> {
        let is_known = table == STATE_TABLE || self.tables.borrow().contains_key(&table);
        is_known.then(|| self.moment())
    }

    /// True if a table was truncated after a moment.
    pub(crate) fn is_truncated_since(&self, table: TableId, moment: Epoch) -> bool {
        self.tables.borrow().get(&table).is_some_and(|known| known.numbers.truncated > moment)
    }

    /// The keyspace of a table, as it is placed now; `None` also where nothing is compared.
    pub(crate) fn keyspace_of(&self, table: TableId) -> Option<Rc<Keyspace>> {
        self.tables.borrow().get(&table).map(|known| Rc::clone(&known.keyspace))
    }

    /// True if the answers to a plan that rests on `epoch` may be of another placement than the present one.
    #[inline]
    pub(crate) fn is_placed_otherwise(&self, epoch: Epoch) -> bool {
        !self.is_quiet_since(epoch) && self.ring.get() > epoch
    }

    /// Follows a node (`None`: the own one) up to an epoch that it named. False if that took too long.
    pub(crate) async fn catch_up(&self, of: Option<HostId>, epoch: Epoch) -> bool {
        if epoch <= self.applied.get() {
            return true;
        }
        let Some(catch_up) = self.catch_up.get() else { return true };
        while let Some(call) = self.under_way(of) {
            while call.end.get().is_none() && epoch > self.applied.get() {
                self.progress.notified().await;
            }
            let has_failed = call.end.get() == Some(CallEnd::Answered) && call.epoch >= epoch;
            if has_failed || epoch <= self.applied.get() {
                return epoch <= self.applied.get();
            }
        }
        stdx::sometimes!("a shard catches up for a request");
        let calling = Calling { fence: self, of, call: Rc::new(Call { epoch, end: Cell::new(None) }) };
        let before = self.calls.borrow_mut().insert(of, Rc::clone(&calling.call));
        assert!(before.is_none(), "one call at once follows a node");
        self.reached(catch_up(of, epoch).await);
        calling.call.end.set(Some(CallEnd::Answered));
        epoch <= self.applied.get()
    }

    /// The call that follows a node.
    fn under_way(&self, of: Option<HostId>) -> Option<Rc<Call>> {
        self.calls.borrow().get(&of).map(Rc::clone)
    }

    /// The same for an epoch that a replica answered with: what is planned from now on satisfies it.
    pub(crate) async fn catch_up_after(&self, of: Option<HostId>, epoch: Epoch) -> bool {
        let is_reached = self.catch_up(of, epoch).await;
        if is_reached && self.is_closed() {
            self.floor.set(self.floor.get().max(epoch));
        }
        is_reached
    }

    /// Waits until the node has applied what a request rests on that another node (`None`: this one) sent.
    pub(crate) async fn reach(&self, from: Option<HostId>, epoch: Epoch) -> bool {
        self.planted.is(Bug::NewerPlanNotWaitedFor) || self.catch_up(from, epoch).await
    }

    /// `Err`: a plan that rests on `epoch` is older than a change of the ring or of one of the tables. The error is the epoch of that change.
    #[inline]
    fn check(&self, epoch: Epoch, tables: impl Iterator<Item = TableId>) -> Result<(), Epoch> {
        if self.is_quiet_since(epoch) {
            return Ok(());
        }
        self.check_changed(epoch, tables)
    }

    #[cold]
    fn check_changed(&self, epoch: Epoch, tables: impl Iterator<Item = TableId>) -> Result<(), Epoch> {
        let known = self.tables.borrow();
        // The registers of conditional statements are of no schema, and do not change.
        let number = |table: TableId| match known.get(&table) {
            Some(known) => known.numbers.changed,
            None if table == STATE_TABLE => NO_EPOCH,
            None => self.applied.get(),
        };
        let latest = tables.map(number).fold(self.ring.get(), Epoch::max);
        match latest > epoch && !self.planted.is(Bug::StalePlanServed) {
            true => Err(latest),
            false => Ok(()),
        }
    }
}

/// A call to catch up.
struct Call {
    epoch: Epoch,
    /// `None`: it is under way.
    end: Cell<Option<CallEnd>>,
}

/// The end of a call to catch up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallEnd {
    /// It was answered; the epoch is reached, or took too long.
    Answered,
    /// Its caller's time was over.
    GivenUp,
}

/// A call to catch up while its caller waits.
struct Calling<'f> {
    fence: &'f Fence,
    of: Option<HostId>,
    call: Rc<Call>,
}

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        let end = self.call.end.get().unwrap_or(CallEnd::GivenUp);
        self.call.end.set(Some(end));
        self.fence.calls.borrow_mut().remove(&self.of);
        self.fence.progress.notify_all();
    }
}

#[cfg(test)]
mod tests;
