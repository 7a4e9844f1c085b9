//! The tickets that a shard admits: secrets that log a connection in once as a role that has proven itself elsewhere, at the admin API. They are of this process alone.
//!
//! A ticket is good for one login, for a few seconds, and for one role, which must still be permitted to log in. Bounded: the oldest one gives way.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use auth::Credentials;
use login::Ticket;
use runtime::Instant;

/// Time from a ticket's admission to its end.
const LIFE: Duration = Duration::from_secs(10);
/// Tickets of a shard at a time.
const TICKETS_MAX: usize = 16;

/// The tickets of a shard, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Tickets(RefCell<VecDeque<(Ticket, Instant)>>);

impl Tickets {
    pub(crate) fn admit(&self, ticket: Ticket, now: Instant) {
        let mut tickets = self.0.borrow_mut();
        if tickets.len() == TICKETS_MAX {
            tickets.pop_front();
        }
        tickets.push_back((ticket, now + LIFE));
        assert!(tickets.len() <= TICKETS_MAX, "tickets are bounded");
    }

    /// Ends a ticket that was used on another shard, or never.
    pub(crate) fn end(&self, ticket: &Ticket) {
        self.0.borrow_mut().retain(|(one, _)| one != ticket);
    }

    /// True if the credentials are a ticket's, which is used up by that.
    pub(crate) fn redeem(&self, credentials: &Credentials, now: Instant) -> bool {
        let mut tickets = self.0.borrow_mut();
        tickets.retain(|(_, end)| *end > now);
        let found = tickets.iter().position(|(ticket, _)| ticket.is_of(credentials));
        found.and_then(|at| tickets.remove(at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use runtime::sim::{World, WorldOptions};

    use super::*;

    fn ticket(number: u8) -> Ticket {
        Ticket { role: "ada".to_owned(), secret: [number; 16] }
    }

    fn credentials(name: &str, number: u8) -> Credentials {
        Credentials { name: name.to_owned(), password: format!("{number:02x}").repeat(16) }
    }

    fn with_now(test: impl FnOnce(Instant) + 'static) {
        let mut world = World::new(WorldOptions::new(7));
        let host = world.add_host(&["10.0.0.1".parse().expect("an address")]);
        let started = world.start(host, false, vec![async move |runtime: runtime::Runtime| test(runtime.now())]);
        world.run_until(|_| started.is_over(), Duration::from_secs(60));
        assert!(started.is_over(), "the test's main ends");
    }

    #[test]
    fn a_ticket_is_good_once_for_its_role_and_for_a_while() {
        with_now(|now| {
            let tickets = Tickets::default();
            for number in 1..=3 {
                tickets.admit(ticket(number), now);
            }
            assert!(!tickets.redeem(&credentials("eve", 1), now) && !tickets.redeem(&credentials("ada", 9), now));
            let short = Credentials { password: "01".repeat(15), ..credentials("ada", 1) };
            assert!(
                !tickets.redeem(&short, now) && !tickets.redeem(&Credentials { password: String::new(), ..short }, now)
            );
            assert!(tickets.redeem(&credentials("ada", 1), now) && !tickets.redeem(&credentials("ada", 1), now));
            tickets.end(&ticket(2));
            assert!(!tickets.redeem(&credentials("ada", 2), now));
            assert!(!tickets.redeem(&credentials("ada", 3), now + LIFE));
        });
    }

    #[test]
    fn beyond_the_bound_the_oldest_ticket_ends() {
        with_now(|now| {
            let tickets = Tickets::default();
            (0..=TICKETS_MAX as u8).for_each(|number| tickets.admit(ticket(number), now));
            assert!(!tickets.redeem(&credentials("ada", 0), now) && tickets.redeem(&credentials("ada", 1), now));
        });
    }
}
