//! Shares of hosts of something that is limited: no host has more than half of it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use login::Host;

/// The number of each host; none has zero.
#[derive(Debug, Default)]
pub(crate) struct Shares(RefCell<BTreeMap<Host, usize>>);

impl Shares {
    /// Takes one of `max` for a host; false if all are taken, or half of them by this host.
    pub(crate) fn take(&self, host: Host, max: usize) -> bool {
        let mut shares = self.0.borrow_mut();
        let all: usize = shares.values().sum();
        assert!(all <= max, "each is taken once");
        let of_host = shares.get(&host).copied().unwrap_or(0);
        if all == max || of_host >= max.div_ceil(2) {
            return false;
        }
        shares.insert(host, of_host + 1);
        true
    }

    /// Gives back what [`Shares::take`] took.
    pub(crate) fn give_back(&self, host: Host) {
        let mut shares = self.0.borrow_mut();
        let of_host = shares.remove(&host).expect("a host has as many as were taken for it");
        if of_host > 1 {
            shares.insert(host, of_host - 1);
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}
