//! The promise that a hint will be on the disk: of a write at ANY, which may rest on it, and of a delivery that puts a hint back into a later file.

use std::cell::Cell;
use std::rc::Rc;

use runtime::sync::Notify;

/// A hint on its way to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDisk {
    /// It is not there yet.
    Open,
    /// It is there.
    Synced,
    /// It will not be.
    Lost,
}

/// The state of one hint. Once nothing holds it, the hint is synced when any other is.
#[derive(Debug)]
pub(crate) struct Promise {
    state: Cell<OnDisk>,
    changed: Notify,
}

impl Promise {
    /// Of a hint that was just put into the buffer; `changed` wakes who waits for it.
    pub(super) fn new(changed: &Notify) -> Rc<Promise> {
        Rc::new(Promise { state: Cell::new(OnDisk::Open), changed: changed.clone() })
    }

    /// The state of the hint.
    pub(crate) fn state(&self) -> OnDisk {
        self.state.get()
    }

    /// The hint is on the disk, or lost.
    ///
    /// # Panics
    /// If that was said before.
    pub(super) fn settle(&self, is_synced: bool) {
        let state = if is_synced { OnDisk::Synced } else { OnDisk::Lost };
        assert_eq!(self.state.replace(state), OnDisk::Open, "a hint is settled once");
        self.changed.notify();
    }
}
