//! Places for TLS handshakes: how many sessions of a shard are unfinished at once, and how many of them one host may have.
//!
//! A host has at most half of the places, and of the waiting ones as well, so half-open handshakes of one host keep no other out. A host is an address of IPv4, or the
//! 64 bits of one of IPv6 that a network gives to it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

use runtime::sync::Notify;

/// Handshakes under way on a shard.
const PLACES_MAX: usize = 64;
/// Connections that wait for a place.
const WAITING_MAX: usize = 256;

/// The places of a shard. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    inner: Rc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    taken: Shares,
    waiting: Shares,
    /// A place was given back.
    freed: Notify,
}

/// The number of each host; none has zero.
#[derive(Debug, Default)]
struct Shares(RefCell<BTreeMap<u128, usize>>);

/// The right to a handshake, or to wait for it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    inner: Rc<Inner>,
    of: fn(&Inner) -> &Shares,
    host: u128,
}

impl Places {
    /// Waits for a place for a connection from an address; `None`: too many wait.
    pub(crate) async fn take(&self, from: IpAddr) -> Option<Place> {
        let host = host_of(from);
        if let Some(place) = self.try_take(host) {
            return Some(place);
        }
        let _waiting = self.enter(host, |inner| &inner.waiting, WAITING_MAX)?;
        loop {
            self.inner.freed.notified().await;
            if let Some(place) = self.try_take(host) {
                return Some(place);
            }
        }
    }

    fn try_take(&self, host: u128) -> Option<Place> {
        self.enter(host, |inner| &inner.taken, PLACES_MAX)
    }

    fn enter(&self, host: u128, of: fn(&Inner) -> &Shares, max: usize) -> Option<Place> {
        let mut shares = of(&self.inner).0.borrow_mut();
        let all: usize = shares.values().sum();
        assert!(all <= max, "a place is taken once");
        let of_host = shares.get(&host).copied().unwrap_or(0);
        if all == max || of_host >= max / 2 {
            return None;
        }
        shares.insert(host, of_host + 1);
        Some(Place { inner: Rc::clone(&self.inner), of, host })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut shares = (self.of)(&self.inner).0.borrow_mut();
        let of_host = shares.remove(&self.host).expect("a host has as many places as were taken for it");
        if of_host > 1 {
            shares.insert(self.host, of_host - 1);
        }
        drop(shares);
        self.inner.freed.notify_all();
    }
}

fn host_of(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        // The lower half is the host's choice. A mark in its place keeps these apart from addresses of IPv4.
        IpAddr::V6(address) => u128::from(address) >> 64 << 64 | 1 << 32,
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Take<'a> = Pin<Box<dyn Future<Output = Option<Place>> + 'a>>;

    fn take<'a>(places: &'a Places, from: &str) -> Take<'a> {
        let address = from.parse().expect("an address");
        Box::pin(places.take(address))
    }

    fn poll(take: &mut Take<'_>) -> Poll<Option<Place>> {
        take.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    fn taken(places: &Places, from: &str) -> Option<Place> {
        match poll(&mut take(places, from)) {
            Poll::Ready(place) => place,
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_host_has_half_of_the_places_and_others_have_the_rest() {
        let places = Places::default();
        let greedy: Vec<_> = (0..40).filter_map(|_| taken(&places, "10.0.0.1")).collect();
        assert_eq!(greedy.len(), PLACES_MAX / 2);
        assert!(taken(&places, "::ffff:10.0.0.1").is_none(), "the same host by another form of its address");
        let other: Vec<_> = (0..40).filter_map(|n| taken(&places, &format!("2001:db8::{n}"))).collect();
        assert_eq!(other.len(), PLACES_MAX / 2, "addresses of one network are one host");
        assert!(taken(&places, "10.0.0.2").is_none(), "all are taken");
        drop((greedy, other));
        assert!(taken(&places, "10.0.0.2").is_some());
        assert!(places.inner.taken.0.borrow().is_empty(), "a host that has none is forgotten");
    }

    #[test]
    fn a_connection_waits_for_a_place_and_too_many_that_wait_are_refused() {
        let places = Places::default();
        let mut held: Vec<_> = (0..40).filter_map(|_| taken(&places, "10.0.0.1")).collect();
        let mut waiting: Vec<_> = (0..WAITING_MAX / 2).map(|_| take(&places, "10.0.0.1")).collect();
        assert!(waiting.iter_mut().all(|take| poll(take).is_pending()));
        let mut refused = take(&places, "10.0.0.1");
        assert!(matches!(poll(&mut refused), Poll::Ready(None)), "its host has half of those that may wait");
        let _other = taken(&places, "10.0.0.2").expect("others have places");
        held.pop();
        assert!(matches!(poll(&mut waiting[0]), Poll::Ready(Some(_))), "a place was given back");
        drop((waiting, held));
        assert!(places.inner.waiting.0.borrow().is_empty());
    }
}
