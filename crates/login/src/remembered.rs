//! Verifications that succeeded, for a while: a pool of connections costs one hash.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use runtime::Instant;

use crate::key::VerificationKey;

/// Verifications that are remembered at once. One that is too many takes the place of the oldest.
pub(crate) const REMEMBERED_MAX: usize = 4096;

/// The memory. Entries are as old as their place in `order` says, since all are valid for the same time.
#[derive(Debug)]
pub(crate) struct Remembered {
    validity: Duration,
    keys: BTreeMap<u64, (VerificationKey, Instant)>,
    order: VecDeque<(u64, Instant)>,
}

impl Remembered {
    /// Remembers for so long; zero: never.
    pub(crate) fn new(validity: Duration) -> Remembered {
        Remembered { validity, keys: BTreeMap::new(), order: VecDeque::new() }
    }

    /// True if this verification has succeeded, and not too long ago.
    pub(crate) fn has(&self, key: &VerificationKey, now: Instant) -> bool {
        self.keys.get(&key.prefix()).is_some_and(|(known, at)| known == key && now - *at < self.validity)
    }

    /// A verification has succeeded.
    pub(crate) fn add(&mut self, key: VerificationKey, now: Instant) {
        if self.validity.is_zero() {
            return;
        }
        self.drop_old(now);
        self.keys.insert(key.prefix(), (key, now));
        self.order.push_back((key.prefix(), now));
        assert!(self.order.len() <= REMEMBERED_MAX && self.keys.len() <= self.order.len(), "the memory is bounded");
    }

    /// Drops what is not valid any more, and of the rest the oldest if there is no room.
    fn drop_old(&mut self, now: Instant) {
        while let Some(&(prefix, at)) = self.order.front()
            && (now - at >= self.validity || self.order.len() >= REMEMBERED_MAX)
        {
            self.order.pop_front();
            // One that succeeded again later stays, by its later place.
            if self.keys.get(&prefix).is_some_and(|(_, last)| *last == at) {
                self.keys.remove(&prefix);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use auth::{Credentials, PasswordHash};

    use super::*;

    fn key(number: usize) -> VerificationKey {
        let credentials = Credentials { name: format!("user {number}"), password: "secret".into() };
        VerificationKey::of(&[7; 32], &PasswordHash::dummy(), &credentials)
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(0) + Duration::from_secs(seconds)
    }

    #[test]
    fn a_verification_is_remembered_for_its_time() {
        let mut remembered = Remembered::new(Duration::from_secs(10));
        remembered.add(key(1), at(5));
        assert!(remembered.has(&key(1), at(14)) && !remembered.has(&key(2), at(14)));
        assert!(!remembered.has(&key(1), at(15)));
        // It succeeded again, and its first time is over.
        remembered.add(key(1), at(12));
        remembered.add(key(2), at(16));
        assert!(remembered.has(&key(1), at(21)));
        assert_eq!(remembered.order.len(), 2);
    }

    #[test]
    fn nothing_is_remembered_for_no_time() {
        let mut remembered = Remembered::new(Duration::ZERO);
        remembered.add(key(1), at(5));
        assert!(!remembered.has(&key(1), at(5)));
        assert!(remembered.keys.is_empty() && remembered.order.is_empty());
    }

    #[test]
    fn the_memory_is_bounded_and_forgets_the_oldest() {
        let mut remembered = Remembered::new(Duration::from_secs(1_000_000));
        for number in 0..REMEMBERED_MAX + 10 {
            remembered.add(key(number), at(number as u64));
        }
        let now = at(REMEMBERED_MAX as u64 + 10);
        assert_eq!(remembered.keys.len(), REMEMBERED_MAX);
        assert!(!remembered.has(&key(9), now) && remembered.has(&key(10), now));
    }
}
