//! Places for handshakes: how many connections of hosts that have proven nothing are open at once, and how many of them one host may have.
//!
//! While at least half of the places are free, a host may have as many as it likes: each shard of a node dials, and all shards of a node that has started do so at once. From
//! then on a host that has [`Places::ASSURED`] gets no more, so hosts that open connections and say nothing leave room for nodes until there are many such hosts.
//! A host is an address of IPv4, or the 64 bits of one of IPv6 that a network gives to it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

/// The places. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    max: usize,
    /// How many each host has; none has zero.
    taken: Rc<RefCell<BTreeMap<u128, usize>>>,
}

/// The right to a handshake, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Places,
    host: u128,
}

impl Places {
    /// Places that a host gets while there are any.
    const ASSURED: usize = 8;

    pub(crate) fn new(max: usize) -> Places {
        Places { max, taken: Rc::default() }
    }

    /// A place for a connection from an address; `None`: all are taken, or those that its host may have.
    pub(crate) fn take(&self, from: IpAddr) -> Option<Place> {
        let host = host_of(from);
        let mut taken = self.taken.borrow_mut();
        let all: usize = taken.values().sum();
        assert!(all <= self.max, "a place is taken once");
        let of_host = taken.get(&host).copied().unwrap_or(0);
        if all == self.max || (of_host >= Places::ASSURED && all >= self.max / 2) {
            return None;
        }
        taken.insert(host, of_host + 1);
        Some(Place { places: self.clone(), host })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.borrow_mut();
        let of_host = taken.remove(&self.host).expect("a host has as many places as were taken for it");
        if of_host > 1 {
            taken.insert(self.host, of_host - 1);
        }
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
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn take_all(places: &Places, from: &str) -> Vec<Place> {
        std::iter::from_fn(|| places.take(address(from))).collect()
    }

    #[test]
    fn a_host_has_many_places_while_half_are_free_and_leaves_room_for_others() {
        let places = Places::new(64);
        let greedy = take_all(&places, "10.0.0.1");
        assert_eq!(greedy.len(), 32);
        assert!(places.take(address("::ffff:10.0.0.1")).is_none(), "the same host by another form of its address");
        let others: Vec<_> = (2..6).map(|host| take_all(&places, &format!("10.0.0.{host}"))).collect();
        assert!(others.iter().all(|places| places.len() == Places::ASSURED), "{others:?}");
        assert!(places.take(address("10.0.0.6")).is_none(), "all are taken");
        drop(greedy);
        assert!(places.take(address("10.0.0.2")).is_none(), "exactly half are taken still, and it has its own");
        assert!(places.take(address("10.0.0.6")).is_some());
        drop(others);
        assert!(places.taken.borrow().is_empty(), "a host that has none is forgotten");
    }

    #[test]
    fn addresses_of_one_network_of_ipv6_are_one_host() {
        let places = Places::new(64);
        let held: Vec<_> = (0..64).filter_map(|n| places.take(address(&format!("2001:db8::{n}")))).collect();
        assert_eq!(held.len(), 32);
        assert_eq!(take_all(&places, "2001:db8:0:1::1").len(), Places::ASSURED);
        assert_eq!(take_all(&places, "::1").len(), Places::ASSURED);
    }
}
