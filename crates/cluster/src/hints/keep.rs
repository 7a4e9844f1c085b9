//! Which misses become hints: the switches of operators, the window, and the counting of what is dropped.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use planted::Planted;
use runtime::Runtime;
use runtime::sync::Notify;
use storage::Shard;
use topology::{HostId, Node};

use super::ending::Ending;
use super::figures::{Counts, HintFigures, PendingHints, add};
use super::options::HintOptions;
use super::promise::Promise;
use super::record::Start;
use super::store::{HintStore, NotKept};

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
    pub(crate) ending: Ending,
    switches: Switches,
    /// The node leaves, and has handed on what it kept: no write may rest on a hint of it any more.
    is_handed_on: Cell<bool>,
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
            ending: Ending::default(),
            switches: Switches {
                is_enabled: Cell::new(options.is_enabled),
                is_paused: Cell::new(false),
                disabled_datacenters: RefCell::new(options.disabled_datacenters.clone()),
                window: Cell::new(options.window),
                throttle: Cell::new(options.throttle),
            },
            is_handed_on: Cell::new(false),
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

    /// Keeps what a node missed. `None`: it is not kept, or nothing `waits` for it to be on the disk.
    pub(crate) fn keep(
        &self,
        node: &Node,
        start: Option<&Start>,
        mutations: &[&[u8]],
        waits: Option<&Notify>,
    ) -> Option<Rc<Promise>> {
        if !self.is_wanted(node) {
            return None;
        }
        let kept = match start {
            _ if waits.is_some() && self.is_handed_on.get() => Err(NotKept::Leaving),
            None => Err(NotKept::NoStart),
            Some(_) if self.is_past_window(node.host_id) => Err(NotKept::PastWindow),
            Some(start) => self.store.keep(node.host_id, start, mutations, waits),
        };
        match kept {
            Ok(promise) => {
                stdx::sometimes!("hint kept");
                add(&self.counts.created, 1);
                self.has_dropped.set(false);
                promise
            }
            Err(reason) => {
                self.dropped(node.host_id, reason);
                None
            }
        }
    }

    /// Nodes for which hints wait.
    pub(crate) fn waiting(&self) -> usize {
        self.store.pending_hosts().len()
    }

    /// The node leaves, and nothing waits: no write rests on a hint from here on.
    pub(crate) fn are_handed_on(&self) {
        assert_eq!(self.waiting(), 0, "hints are handed on when none waits");
        self.is_handed_on.set(true);
    }

    /// True if the node leaves and has handed on what it kept.
    pub(crate) fn is_handed_on(&self) -> bool {
        self.is_handed_on.get()
    }

    /// Has hints on the disk as soon as can be: a write at ANY waits for nothing else.
    pub(crate) fn hurry(&self) {
        self.store.hurry();
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
    fn dropped(&self, host: HostId, reason: NotKept) {
        stdx::sometimes!("hint dropped");
        add(&self.counts.dropped, 1);
        if !self.has_dropped.replace(true) {
            tracing::warn!(%host, %reason, "dropped hints; the node misses writes until they are repaired");
        }
    }

    /// The bug that was planted on purpose, in builds for that.
    pub(crate) fn planted(&self) -> Planted {
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

    /// The node ends: what other nodes have not answered by now is hinted at once, and not when its time is over.
    pub async fn take_open_parts(&self) {
        self.ending.begin().await;
    }

    /// Writes and syncs what is buffered; nothing is kept any more. False: that took longer than `patience`, and the last hints are lost if the process ends.
    pub async fn end(&self, patience: Duration) -> bool {
        self.take_open_parts().await;
        self.runtime.timeout(patience, self.store.end()).await.is_ok()
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
