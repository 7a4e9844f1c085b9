//! Hosts that guess: after some failures the next verification of a host waits, longer with each one more.

use std::collections::BTreeMap;
use std::time::Duration;

use runtime::Instant;

use crate::host::Host;

/// Failures that cost no rest.
const FREE: u32 = 5;
const REST_MIN: Duration = Duration::from_millis(100);
const REST_MAX: Duration = Duration::from_secs(5);
/// A host without a failure for so long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
/// Hosts that are kept. One that is too many takes the place of the one whose last failure is the oldest.
pub(crate) const HOSTS_MAX: usize = 4096;

#[derive(Debug, Clone, Copy)]
struct Failed {
    count: u32,
    last: Instant,
}

/// Failures by host.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    hosts: BTreeMap<Host, Failed>,
}

impl Failures {
    /// The first moment at which the host may have a verification; `None`: it rests not.
    pub(crate) fn rests_until(&self, host: Host, now: Instant) -> Option<Instant> {
        let failed = self.hosts.get(&host)?;
        let until = failed.last + rest(failed.count);
        (until > now && failed.count >= FREE).then_some(until)
    }

    /// True if the host's verifications take place one after another.
    pub(crate) fn is_slowed(&self, host: Host) -> bool {
        self.hosts.get(&host).is_some_and(|failed| failed.count >= FREE)
    }

    pub(crate) fn failed(&mut self, host: Host, now: Instant) {
        let is_new = !self.hosts.contains_key(&host);
        if is_new && self.hosts.len() >= HOSTS_MAX {
            let oldest = self.hosts.iter().min_by_key(|(_, failed)| failed.last).map(|(host, _)| *host);
            oldest.and_then(|oldest| self.hosts.remove(&oldest));
        }
        let failed = self.hosts.entry(host).or_insert(Failed { count: 0, last: now });
        let is_forgotten = now - failed.last >= FORGOTTEN_AFTER;
        failed.count = if is_forgotten { 1 } else { failed.count.saturating_add(1) };
        failed.last = now;
        assert!(self.hosts.len() <= HOSTS_MAX, "the table is bounded");
    }

    pub(crate) fn succeeded(&mut self, host: Host) {
        self.hosts.remove(&host);
    }
}

/// The rest after so many failures.
fn rest(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(FREE);
    let factor = 1u32.checked_shl(doublings).unwrap_or(u32::MAX);
    REST_MIN.checked_mul(factor).unwrap_or(REST_MAX).min(REST_MAX)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn host(number: u32) -> Host {
        Host::from(IpAddr::V4(Ipv4Addr::from(number)))
    }

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn failed(times: u32) -> Failures {
        let mut failures = Failures::default();
        (0..times).for_each(|_| failures.failed(host(1), at(1000)));
        failures
    }

    #[test]
    fn the_rest_doubles_from_the_fifth_failure_on_to_its_limit() {
        for (times, millis) in [(1, 0), (4, 0), (5, 100), (6, 200), (7, 400), (10, 3200), (11, 5000), (40, 5000)] {
            let failures = failed(times);
            let rests_until = failures.rests_until(host(1), at(1000));
            assert_eq!(rests_until, (millis > 0).then_some(at(1000 + millis)), "after {times}");
            assert_eq!(failures.rests_until(host(1), at(1000 + millis)), None);
            assert_eq!(failures.is_slowed(host(1)), times >= 5);
            assert_eq!(failures.rests_until(host(2), at(1000)), None, "another host");
        }
        assert_eq!(rest(u32::MAX), REST_MAX);
    }

    #[test]
    fn a_success_and_a_long_time_without_a_failure_are_a_new_beginning() {
        let mut failures = failed(9);
        failures.succeeded(host(1));
        failures.failed(host(1), at(1001));
        assert_eq!(failures.rests_until(host(1), at(1001)), None);
        let mut failures = failed(9);
        let later = at(1000) + FORGOTTEN_AFTER;
        failures.failed(host(1), later);
        assert!(failures.rests_until(host(1), later).is_none() && !failures.is_slowed(host(1)));
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_oldest() {
        let mut failures = Failures::default();
        for number in 0..=HOSTS_MAX as u32 {
            (0..5).for_each(|_| failures.failed(host(number), at(u64::from(number))));
        }
        assert_eq!(failures.hosts.len(), HOSTS_MAX);
        assert!(!failures.is_slowed(host(0)) && failures.is_slowed(host(1)));
    }
}
