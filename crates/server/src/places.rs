//! Places for TLS handshakes: how many sessions of a shard are unfinished at once, and how many of them one host may have.
//!
//! A host has at most half of the places, and of the waiting ones as well, so half-open handshakes of one host keep no other out. A host is [`Host`]:
//! an address of IPv4, or a network of IPv6.

use std::net::IpAddr;
use std::rc::Rc;

use login::Host;
use runtime::sync::Notify;

use crate::shares::Shares;

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

/// The right to a handshake, or to wait for it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    inner: Rc<Inner>,
    of: fn(&Inner) -> &Shares,
    host: Host,
}

impl Places {
    /// Waits for a place for a connection from an address; `None`: too many wait.
    pub(crate) async fn take(&self, from: IpAddr) -> Option<Place> {
        let host = Host::from(from);
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

    fn try_take(&self, host: Host) -> Option<Place> {
        self.enter(host, |inner| &inner.taken, PLACES_MAX)
    }

    fn enter(&self, host: Host, of: fn(&Inner) -> &Shares, max: usize) -> Option<Place> {
        of(&self.inner).take(host, max).then(|| Place { inner: Rc::clone(&self.inner), of, host })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        (self.of)(&self.inner).give_back(self.host);
        self.inner.freed.notify_all();
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
        assert!(places.inner.taken.is_empty(), "a host that has none is forgotten");
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
        assert!(places.inner.waiting.is_empty());
    }
}
