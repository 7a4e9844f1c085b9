//! Shares of hosts, before anything is known of who asks: no host has all connections, and logins that are verified leave places for what else shards are asked.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use login::Host;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Logins that are verified at a time: half of what a shard may be asked beside each other. One that fails may take seconds.
const LOGINS_MAX: usize = 8;
/// Those of one host. Further ones wait.
const LOGINS_OF_HOST_MAX: usize = 2;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connections of each host.
#[derive(Debug)]
pub(crate) struct Connections {
    of_host_max: usize,
    hosts: Mutex<BTreeMap<Host, usize>>,
}

/// A connection of a host, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    connections: Arc<Connections>,
    host: Host,
}

impl Connections {
    /// Half of `max` for each host.
    pub(crate) fn new(max: usize) -> Arc<Connections> {
        Arc::new(Connections { of_host_max: max.div_ceil(2), hosts: Mutex::default() })
    }

    /// Takes one for a host; `None`: it has its share.
    pub(crate) fn take(self: &Arc<Self>, from: IpAddr) -> Option<Share> {
        let host = Host::from(from);
        let mut hosts = locked(&self.hosts);
        let count = hosts.entry(host).or_default();
        if *count >= self.of_host_max {
            return None;
        }
        *count += 1;
        Some(Share { connections: Arc::clone(self), host })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut hosts = locked(&self.connections.hosts);
        let count = hosts.remove(&self.host).expect("a host has as many as were taken for it");
        if count > 1 {
            hosts.insert(self.host, count - 1);
        }
    }
}

/// The places of logins that are verified.
#[derive(Debug)]
pub(crate) struct Logins {
    all: Semaphore,
    hosts: Mutex<BTreeMap<Host, Weak<Semaphore>>>,
}

/// The right to have a login verified, until it is dropped.
#[derive(Debug)]
pub(crate) struct LoginPlace<'l> {
    _of_all: SemaphorePermit<'l>,
    _of_host: OwnedSemaphorePermit,
}

impl Default for Logins {
    fn default() -> Self {
        Logins { all: Semaphore::new(LOGINS_MAX), hosts: Mutex::default() }
    }
}

impl Logins {
    /// Waits for a place of a host. One that has its share waits for itself, not in the others' way.
    pub(crate) async fn place(&self, from: IpAddr) -> LoginPlace<'_> {
        let own = {
            let mut hosts = locked(&self.hosts);
            hosts.retain(|_, own| own.strong_count() > 0);
            let slot = hosts.entry(Host::from(from)).or_default();
            slot.upgrade().unwrap_or_else(|| {
                let own = Arc::new(Semaphore::new(LOGINS_OF_HOST_MAX));
                *slot = Arc::downgrade(&own);
                own
            })
        };
        let _of_host = own.acquire_owned().await.expect("it is never closed");
        LoginPlace { _of_all: self.all.acquire().await.expect("it is never closed"), _of_host }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_host_has_half_of_the_connections() {
        let connections = Connections::new(4);
        let taken: Vec<_> = (0..3).filter_map(|_| connections.take(address("10.0.0.1"))).collect();
        assert_eq!(taken.len(), 2);
        assert!(connections.take(address("::ffff:10.0.0.1")).is_none(), "the same host");
        let other = connections.take(address("10.0.0.2")).expect("another has places");
        drop((taken, other));
        assert!(locked(&connections.hosts).is_empty());
    }

    #[test]
    fn logins_of_a_host_wait_for_each_other_and_not_in_the_way_of_others() {
        let logins = Logins::default();
        let place = |from: &str| {
            let mut place = pin!(logins.place(address(from)));
            match place.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(place) => Some(place),
                Poll::Pending => None,
            }
        };
        let mut held: Vec<_> = (0..5).filter_map(|_| place("10.0.0.1")).collect();
        assert_eq!(held.len(), LOGINS_OF_HOST_MAX);
        held.extend((2..10).filter_map(|number| place(&format!("10.0.0.{number}"))));
        assert_eq!(held.len(), LOGINS_MAX, "and no more than that of all");
        held.remove(0);
        assert!(place("10.0.0.20").is_some());
        held.clear();
        drop(place("10.0.0.1"));
        assert_eq!(locked(&logins.hosts).len(), 1, "hosts without a login are forgotten");
    }
}
