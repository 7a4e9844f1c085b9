//! Hosts that guess: after some failures the next verification of a host waits, longer with each one more.
//!
//! A success forgives the failures of its own role alone: a host that knows one role's password would otherwise guess another's without a rest.

use std::collections::BTreeMap;
use std::time::Duration;

use runtime::Instant;

use crate::host::Host;
use crate::key::RoleMark;

/// Failures that cost no rest.
const FREE: u32 = 5;
const REST_MIN: Duration = Duration::from_millis(100);
const REST_MAX: Duration = Duration::from_secs(5);
/// A host without a failure for so long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
/// Hosts that are kept. One that is too many takes the place of the one whose last failure is the oldest.
pub(crate) const HOSTS_MAX: usize = 4096;
/// Roles of a host whose failures a success can forgive. Those of further roles end with time alone.
const ROLES_MAX: usize = 8;

#[derive(Debug, Clone)]
struct Failed {
    count: u32,
    last: Instant,
    /// Failures by role, as far as they are kept apart.
    of_roles: Vec<(RoleMark, u32)>,
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
    pub(crate) fn is_slowed(&self, host: Host, now: Instant) -> bool {
        let failed = self.hosts.get(&host);
        failed.is_some_and(|failed| failed.count >= FREE && now - failed.last < FORGOTTEN_AFTER)
    }

    /// A verification of a role has failed.
    pub(crate) fn failed(&mut self, host: Host, role: RoleMark, now: Instant) {
        let is_new = !self.hosts.contains_key(&host);
        if is_new && self.hosts.len() >= HOSTS_MAX {
            let oldest = self.hosts.iter().min_by_key(|(_, failed)| failed.last).map(|(host, _)| *host);
            oldest.and_then(|oldest| self.hosts.remove(&oldest));
        }
        let failed = self.hosts.entry(host).or_insert(Failed { count: 0, last: now, of_roles: Vec::new() });
        if now - failed.last >= FORGOTTEN_AFTER {
            failed.count = 0;
            failed.of_roles.clear();
        }
        failed.count = failed.count.saturating_add(1);
        failed.last = now;
        let is_kept = failed.of_roles.len() < ROLES_MAX;
        match failed.of_roles.iter_mut().find(|(known, _)| *known == role) {
            Some((_, count)) => *count = count.saturating_add(1),
            None if is_kept => failed.of_roles.push((role, 1)),
            None => {}
        }
        assert!(self.hosts.len() <= HOSTS_MAX, "the table is bounded");
    }

    /// A verification of a role has succeeded.
    pub(crate) fn succeeded(&mut self, host: Host, role: RoleMark) {
        let Some(failed) = self.hosts.get_mut(&host) else { return };
        let Some(place) = failed.of_roles.iter().position(|(known, _)| *known == role) else { return };
        let (_, count) = failed.of_roles.swap_remove(place);
        failed.count = failed.count.saturating_sub(count);
        if failed.count == 0 {
            self.hosts.remove(&host);
        }
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

    fn role(name: &str) -> RoleMark {
        RoleMark::of(&[7; 32], name)
    }

    fn failed(times: u32) -> Failures {
        let mut failures = Failures::default();
        (0..times).for_each(|_| failures.failed(host(1), role("ada"), at(1000)));
        failures
    }

    #[test]
    fn the_rest_doubles_from_the_fifth_failure_on_to_its_limit() {
        for (times, millis) in [(1, 0), (4, 0), (5, 100), (6, 200), (7, 400), (10, 3200), (11, 5000), (40, 5000)] {
            let failures = failed(times);
            let rests_until = failures.rests_until(host(1), at(1000));
            assert_eq!(rests_until, (millis > 0).then_some(at(1000 + millis)), "after {times}");
            assert_eq!(failures.rests_until(host(1), at(1000 + millis)), None);
            assert_eq!(failures.is_slowed(host(1), at(1000)), times >= 5);
            assert_eq!(failures.rests_until(host(2), at(1000)), None, "another host");
        }
        assert_eq!(rest(u32::MAX), REST_MAX);
    }

    #[test]
    fn a_success_and_a_long_time_without_a_failure_are_a_new_beginning() {
        let mut failures = failed(9);
        failures.succeeded(host(1), role("ada"));
        assert!(failures.hosts.is_empty());
        failures.failed(host(1), role("ada"), at(1001));
        assert_eq!(failures.rests_until(host(1), at(1001)), None);
        let mut failures = failed(9);
        let later = at(1000) + FORGOTTEN_AFTER;
        assert!(!failures.is_slowed(host(1), later), "before its next failure");
        failures.failed(host(1), role("ada"), later);
        assert!(failures.rests_until(host(1), later).is_none() && !failures.is_slowed(host(1), later));
    }

    #[test]
    fn a_success_of_one_role_forgives_no_guess_of_another() {
        let mut failures = failed(4);
        for _ in 0..10 {
            // What it gets wrong of its own is forgiven, also if that was the last failure.
            failures.failed(host(1), role("eve"), at(1000));
            failures.succeeded(host(1), role("eve"));
        }
        assert!(!failures.is_slowed(host(1), at(1000)));
        failures.failed(host(1), role("ada"), at(1000));
        failures.succeeded(host(1), role("eve"));
        assert_eq!(failures.rests_until(host(1), at(1000)), Some(at(1100)), "five guesses of ada's");
        failures.succeeded(host(2), role("ada"));
        assert!(failures.is_slowed(host(1), at(1000)), "another host's success");
        failures.succeeded(host(1), role("ada"));
        assert!(failures.hosts.is_empty());
    }

    #[test]
    fn guesses_of_more_roles_than_are_kept_apart_are_not_forgiven() {
        let mut failures = Failures::default();
        for number in 0..ROLES_MAX + 5 {
            failures.failed(host(1), role(&number.to_string()), at(1000));
        }
        (0..ROLES_MAX + 5).for_each(|number| failures.succeeded(host(1), role(&number.to_string())));
        assert!(failures.is_slowed(host(1), at(1000)) && failures.hosts[&host(1)].of_roles.is_empty());
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_oldest() {
        let mut failures = Failures::default();
        for number in 0..=HOSTS_MAX as u32 {
            (0..5).for_each(|_| failures.failed(host(number), role("ada"), at(u64::from(number))));
        }
        assert_eq!(failures.hosts.len(), HOSTS_MAX);
        let now = at(HOSTS_MAX as u64);
        assert!(!failures.is_slowed(host(0), now) && failures.is_slowed(host(1), now));
    }
}
