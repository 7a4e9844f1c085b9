//! The hashes that are to be computed: which of them next, for whom, and which are refused. A pure value: time is an argument, and the threads are elsewhere.
//!
//! Bounds: places for jobs, of which a host has a share, and CREATE and ALTER ROLE a smaller one; tickets. Hosts take turns (self-clocked fair queueing, by the time that jobs
//! take): a job of a host that has few is not kept waiting by another's many or long ones. Equal verifications share one job, so connections of a pool that are opened at once cost one hash.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use auth::{Credentials, PasswordHash};
use runtime::{Choice, Instant, ShardId};
use thiserror::Error;

use crate::failures::Failures;
use crate::host::Host;
use crate::key::{KEY_BYTES, RoleMark, VerificationKey};
use crate::remembered::Remembered;
use crate::weight::weight;

/// Jobs that wait.
pub(crate) const PLACES_MAX: usize = 256;
/// Jobs of one host, waiting and running.
const OF_HOST_MAX: usize = 16;
/// Those of a host that guesses, which rest most of the time: places that they take are no others'.
const OF_SLOWED_HOST_MAX: usize = 2;
/// Jobs of CREATE and ALTER ROLE, waiting and running.
const OF_ROLES_MAX: usize = 4;
/// Those of one host: a role that changes its password in a loop leaves places for others.
const OF_ROLES_OF_HOST_MAX: usize = 2;
/// Those who wait for jobs. More than jobs, since equal verifications share one.
pub(crate) const TICKETS_MAX: usize = 2048;

/// A computation.
#[derive(Clone, PartialEq, Eq)]
pub enum Work {
    /// Is the password that of the hash?
    Verify {
        /// The role's hash, or the dummy.
        hash: PasswordHash,
        /// The name and the password.
        credentials: Credentials,
    },
    /// The hash of a new password, at most as long as `auth` hashes.
    Hash {
        /// The password.
        password: String,
        /// Its salt, drawn at random.
        salt: [u8; 16],
    },
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Verify { credentials, .. } => f.debug_tuple("Verify").field(credentials).finish(),
            Work::Hash { .. } => f.write_str("Hash(*******)"),
        }
    }
}

impl Work {
    /// Computes it, in tens of milliseconds: never on a shard.
    pub fn compute(&self) -> Outcome {
        match self {
            Work::Verify { hash, credentials } => Outcome::Verified(hash.is_of(&credentials.password)),
            Work::Hash { password, salt } => Outcome::Hashed(PasswordHash::of_password(password, *salt)),
        }
    }
}

/// A result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// True if the password is that of the hash.
    Verified(bool),
    /// The hash of the password.
    Hashed(PasswordHash),
}

/// Refusal of a job: there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Overloaded {
    /// All places are taken.
    #[error("Too many logins are under way on this node; try again later")]
    Node,
    /// The host has its share.
    #[error("Too many logins are under way from this address; try again later")]
    Host,
    /// Statements have theirs.
    #[error("Too many passwords are being changed on this node; try again later")]
    Roles,
}

/// A job that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    /// The verification succeeded a short time ago: its password is right.
    Remembered,
    /// The result comes, with this number.
    Ticket(u64),
}

/// A job that a thread has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its number, for [`Desk::finish`].
    pub number: u64,
    /// Its computation.
    pub work: Work,
}

/// A result for one of those who wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The number of [`Submitted::Ticket`].
    pub ticket: u64,
    /// The result.
    pub outcome: Outcome,
}

/// A job, waiting or running.
#[derive(Debug)]
struct Entry {
    host: Option<Host>,
    /// Its place among the jobs of all hosts.
    tag: u64,
    /// Of a verification, if there is a key of the process.
    key: Option<VerificationKey>,
    /// Of a verification.
    role: Option<RoleMark>,
    /// Taken from here by the thread that runs it.
    work: Option<Work>,
    tickets: Vec<(ShardId, u64)>,
}

/// The jobs, and what is known of hosts and passwords.
#[derive(Debug)]
pub struct Desk {
    jobs: BTreeMap<u64, Entry>,
    next: u64,
    /// The tag of the job that was taken last.
    turn: u64,
    key: Option<[u8; KEY_BYTES]>,
    remembered: Remembered,
    failures: Failures,
    computed: u64,
}

impl Desk {
    /// A desk that remembers verifications for so long; zero: never.
    pub fn new(validity: Duration) -> Desk {
        Desk {
            jobs: BTreeMap::new(),
            next: 0,
            turn: 0,
            key: None,
            remembered: Remembered::new(validity),
            failures: Failures::default(),
            computed: 0,
        }
    }

    /// Sets the key of the process, unless it has one. Without one no verification is remembered or shared.
    pub fn use_key(&mut self, key: [u8; 32]) {
        self.key.get_or_insert(key);
    }

    /// Hashes computed so far.
    pub fn computed(&self) -> u64 {
        self.computed
    }

    /// Takes a job of a host; `None`: of this machine itself.
    pub fn submit(
        &mut self,
        shard: ShardId,
        host: Option<Host>,
        work: Work,
        now: Instant,
    ) -> Result<Submitted, Overloaded> {
        let key = match (&work, &self.key) {
            (Work::Verify { hash, credentials }, Some(key)) => Some(VerificationKey::of(key, hash, credentials)),
            _ => None,
        };
        if key.is_some_and(|key| self.remembered.has(&key, now)) {
            return Ok(Submitted::Remembered);
        }
        let tickets: usize = self.jobs.values().map(|job| job.tickets.len()).sum();
        if tickets >= TICKETS_MAX {
            return Err(Overloaded::Node);
        }
        let ticket = self.number();
        if let Some(equal) = self.jobs.values_mut().find(|job| key.is_some() && job.key == key && job.host == host) {
            equal.tickets.push((shard, ticket));
            return Ok(Submitted::Ticket(ticket));
        }
        self.check_places(host, &work, now)?;
        let number = self.number();
        let of_host = self.jobs.values().filter(|job| job.host == host).map(|job| job.tag);
        let tag = of_host.max().unwrap_or(0).max(self.turn) + weight(&work);
        let role = match &work {
            Work::Verify { credentials, .. } => Some(RoleMark::of(&self.key.unwrap_or_default(), &credentials.name)),
            Work::Hash { .. } => None,
        };
        let tickets = vec![(shard, ticket)];
        self.jobs.insert(number, Entry { host, tag, key, role, work: Some(work), tickets });
        Ok(Submitted::Ticket(ticket))
    }

    fn check_places(&self, host: Option<Host>, work: &Work, now: Instant) -> Result<(), Overloaded> {
        let count = |is_counted: &dyn Fn(&&Entry) -> bool| self.jobs.values().filter(is_counted).count();
        let waiting = count(&|entry| entry.work.is_some());
        assert!(waiting <= PLACES_MAX, "a place is taken once");
        if waiting == PLACES_MAX {
            return Err(Overloaded::Node);
        }
        let is_verification = matches!(work, Work::Verify { .. });
        let is_slowed = host.is_some_and(|host| self.failures.is_slowed(host, now));
        let of_host_max = if is_verification && is_slowed { OF_SLOWED_HOST_MAX } else { OF_HOST_MAX };
        if count(&|entry| entry.host == host) >= of_host_max {
            return Err(Overloaded::Host);
        }
        if is_verification {
            return Ok(());
        }
        let of_roles = count(&|entry| entry.role.is_none());
        let of_host = count(&|entry| entry.role.is_none() && entry.host == host);
        // The owner of the process has places of its own: no client keeps it from changing a password.
        let is_full = of_roles >= OF_ROLES_MAX && host.is_some();
        match is_full || of_host >= OF_ROLES_OF_HOST_MAX {
            true => Err(Overloaded::Roles),
            false => Ok(()),
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The job that is to be run now: of those whose host need not rest, the first by turns.
    pub fn take(&mut self, now: Instant) -> Choice<Job> {
        let mut first: Option<(u64, u64)> = None;
        let mut soonest: Option<Instant> = None;
        for (number, entry) in &self.jobs {
            if entry.work.is_none() {
                continue;
            }
            if let Some(host) = entry.host.filter(|_| entry.role.is_some()) {
                if let Some(until) = self.failures.rests_until(host, now) {
                    soonest = Some(soonest.map_or(until, |soonest| soonest.min(until)));
                    continue;
                }
                // Otherwise guesses beside each other would all have been begun before the first failed.
                let is_running = |other: &Entry| other.work.is_none() && other.host == Some(host);
                if self.failures.is_slowed(host, now) && self.jobs.values().any(is_running) {
                    continue;
                }
            }
            let place = (entry.tag, *number);
            first = Some(first.map_or(place, |first| first.min(place)));
        }
        let Some((tag, number)) = first else { return soonest.map_or(Choice::Wait, Choice::WaitUntil) };
        self.turn = self.turn.max(tag);
        let entry = self.jobs.get_mut(&number).expect("it was just found");
        let work = entry.work.take().expect("it waits");
        Choice::Take(Job { number, work })
    }

    /// Takes the outcome of a job. Gives the results for those who wait for it, with their shards.
    pub fn finish(&mut self, number: u64, outcome: &Outcome, now: Instant) -> Vec<(ShardId, Done)> {
        let entry = self.jobs.remove(&number).expect("a job that runs stays until it is finished");
        assert!(entry.work.is_none(), "a job is finished by the thread that took it");
        self.computed += 1;
        let whose = entry.host.zip(entry.role);
        match (outcome, whose) {
            (Outcome::Verified(true), whose) => {
                whose.into_iter().for_each(|(host, role)| self.failures.succeeded(host, role));
                entry.key.into_iter().for_each(|key| self.remembered.add(key, now));
            }
            (Outcome::Verified(false), Some((host, role))) => self.failures.failed(host, role, now),
            _ => {}
        }
        let done = |(shard, ticket)| (shard, Done { ticket, outcome: outcome.clone() });
        entry.tickets.into_iter().map(done).collect()
    }

    /// Gives a ticket back. A job without tickets is not run.
    pub fn withdraw(&mut self, ticket: u64) {
        let has = |entry: &Entry| entry.tickets.iter().any(|(_, of)| *of == ticket);
        let Some((&number, entry)) = self.jobs.iter_mut().find(|(_, entry)| has(entry)) else { return };
        entry.tickets.retain(|(_, of)| *of != ticket);
        if entry.tickets.is_empty() && entry.work.is_some() {
            self.jobs.remove(&number);
        }
    }
}
