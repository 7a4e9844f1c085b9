//! Which misses become hints: the switches of operators, the window, and the counting of what is dropped.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use planted::{Bug, Planted};
use runtime::Runtime;
use storage::Shard;
use topology::{HostId, Node};

use super::figures::{Counts, HintFigures, PendingHints, add};
use super::options::HintOptions;
use super::record::Start;
use super::store::{HintStore, NotKept, Ticket};

/// Settings that operators change, until the next start.
#[derive(Debug)]
struct Switches {
    is_enabled: Cell<bool>,
    is_paused: Cell<bool>,
    disabled_datacenters: RefCell<BTreeSet<String>>,
    window: Cell<Duration>,
    throttle: Cell<u64>,
}

/// The hints of one shard. What is set here is set until the next start.
pub struct Hints {
    pub(super) runtime: Runtime,
    pub(super) storage: Shard,
    pub(super) store: HintStore,
    pub(super) counts: Counts,
    switches: Switches,
    /// A hint was dropped since this was last said.
    has_dropped: Cell<bool>,
    planted: Planted,
}

impl Hints {
    /// The shard's hints, with those that earlier starts kept. `None`: there is no folder for them. A node without others has nothing but what
    /// operators set.
    pub(crate) fn open(
        runtime: &Runtime,
        storage: &Shard,
        options: &HintOptions,
        has_others: bool,
    ) -> Option<Rc<Hints>> {
        let dir = options.dir.clone()?;
        let store = HintStore::new(runtime, options.clone(), &dir, storage::boot(storage));
        if has_others {
            store.start();
        }
        Some(Rc::new(Hints {
            runtime: runtime.clone(),
            storage: storage.clone(),
            store,
            counts: Counts::default(),
            switches: Switches {
                is_enabled: Cell::new(options.is_enabled),
                is_paused: Cell::new(false),
                disabled_datacenters: RefCell::new(options.disabled_datacenters.clone()),
                window: Cell::new(options.window),
                throttle: Cell::new(options.throttle),
            },
            has_dropped: Cell::new(false),
            planted: storage.planted(),
        }))
    }

    /// The start of a write that is planned now. `None`: the log cannot tell it from a truncation, so the write has no hints.
    pub(crate) fn start(&self, epoch: u64) -> Option<Start> {
        let position = storage::write_start(&self.storage);
        let created = self.runtime.wall_clock_micros();
        position.map(|position| Start { created, epoch, position }).ok()
    }

    /// Keeps what a node missed. `None`: it is not kept. With `waits` there is a ticket, which tells when it is on the disk.
    pub(crate) fn keep(
        &self,
        node: &Node,
        start: Option<&Start>,
        mutations: &[&[u8]],
        waits: bool,
    ) -> Option<Option<Ticket>> {
        if !self.is_wanted(node) {
            return None;
        }
        let Some(start) = start.filter(|_| !self.is_past_window(node.host_id)) else {
            self.dropped(node.host_id, None);
            return None;
        };
        match self.store.keep(node.host_id, start, mutations, waits) {
            Ok(ticket) => {
                stdx::sometimes!("hint kept");
                add(&self.counts.created, 1);
                self.has_dropped.set(false);
                Some(ticket)
            }
            Err(reason) => {
                self.dropped(node.host_id, Some(reason));
                None
            }
        }
    }

    /// Waits until a write at ANY has what it needs: of each mutation one hint on the disk.
    pub(crate) async fn all_synced(&self, of_each: Vec<Vec<Rc<Promise>>>) -> bool {
        if self.planted.is(Bug::AnyBeforeHintSynced) {
            return of_each.iter().all(|promises| !promises.is_empty());
        }
        for promises in of_each {
            let mut is_kept = false;
            for promise in promises {
                is_kept |= promise.synced().await;
                if is_kept {
                    break;
                }
            }
            if !is_kept {
                return false;
            }
        }
        true
    }

    fn is_wanted(&self, node: &Node) -> bool {
        let switches = &self.switches;
        switches.is_enabled.get() && !switches.disabled_datacenters.borrow().contains(&node.datacenter)
    }

    fn is_past_window(&self, host: HostId) -> bool {
        let now_ms = u64::try_from(self.runtime.wall_clock_micros() / 1000).unwrap_or(0);
        let age = self.store.oldest_ms(host).map(|oldest| Duration::from_millis(now_ms.saturating_sub(oldest)));
        age.is_some_and(|age| age > self.switches.window.get())
    }

    /// Counts a hint that is not kept, and says so once in a row.
    fn dropped(&self, host: HostId, reason: Option<NotKept>) {
        stdx::sometimes!("hint dropped");
        add(&self.counts.dropped, 1);
        if !self.has_dropped.replace(true) {
            let reason = reason.map_or_else(|| "past max_hint_window".to_owned(), |reason| reason.to_string());
            tracing::warn!(%host, %reason, "dropped hints; the node misses writes until they are repaired");
        }
    }

    /// The bug that was planted on purpose, in builds for that.
    pub(super) fn planted(&self) -> Planted {
        self.planted
    }

    /// True if hints are kept.
    pub fn is_enabled(&self) -> bool {
        self.switches.is_enabled.get()
    }

    /// Keeps hints, or none, from now on.
    pub fn enable(&self, is_enabled: bool) {
        self.switches.is_enabled.set(is_enabled);
    }

    /// Keeps hints for a datacenter's nodes, or none, from now on.
    pub fn enable_datacenter(&self, datacenter: &str, is_enabled: bool) {
        let mut disabled = self.switches.disabled_datacenters.borrow_mut();
        match is_enabled {
            true => _ = disabled.remove(datacenter),
            false => _ = disabled.insert(datacenter.to_owned()),
        }
    }

    /// Datacenters for whose nodes none is kept.
    pub fn disabled_datacenters(&self) -> Vec<String> {
        self.switches.disabled_datacenters.borrow().iter().cloned().collect()
    }

    /// True if delivery rests by an operator's word.
    pub fn is_paused(&self) -> bool {
        self.switches.is_paused.get()
    }

    /// Lets delivery rest, or go on.
    pub fn pause(&self, is_paused: bool) {
        self.switches.is_paused.set(is_paused);
    }

    /// The window.
    pub fn window(&self) -> Duration {
        self.switches.window.get()
    }

    /// Sets the window.
    pub fn set_window(&self, window: Duration) {
        self.switches.window.set(window);
    }

    /// Bytes a second that the node sends to another; 0: no limit.
    pub fn throttle(&self) -> u64 {
        self.switches.throttle.get()
    }

    /// Sets the throttle.
    pub fn set_throttle(&self, bytes: u64) {
        self.switches.throttle.set(bytes);
    }

    /// Has the hints of a node removed, or those of all.
    pub fn remove(&self, host: Option<HostId>) {
        self.store.remove_all(host);
    }

    /// Writes and syncs what is buffered; nothing is kept any more.
    pub async fn end(&self) {
        self.store.end().await;
    }

    /// Counters since the start.
    pub fn figures(&self) -> HintFigures {
        let (counts, (bytes, bytes_max)) = (&self.counts, self.store.room());
        HintFigures {
            created: counts.created.get(),
            delivered: counts.delivered.get(),
            rerouted: counts.rerouted.get(),
            failed: counts.failed.get(),
            dropped: counts.dropped.get() + self.store.lost(),
            void: counts.void.get(),
            bytes,
            bytes_max,
        }
    }

    /// Hints that wait, by node.
    pub fn pending(&self) -> Vec<PendingHints> {
        self.store.pending()
    }
}

/// A hint of several mutations, each of which may need it on the disk.
#[derive(Debug)]
pub(crate) struct Promise {
    ticket: RefCell<Option<Ticket>>,
    outcome: Cell<bool>,
}

impl Promise {
    /// The promise of a ticket.
    pub(crate) fn new(ticket: Ticket) -> Rc<Promise> {
        Rc::new(Promise { ticket: RefCell::new(Some(ticket)), outcome: Cell::new(false) })
    }

    async fn synced(&self) -> bool {
        let ticket = self.ticket.take();
        if let Some(ticket) = ticket {
            self.outcome.set(ticket.synced().await);
        }
        self.outcome.get()
    }
}
