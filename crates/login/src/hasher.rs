//! A shard's way to the threads that compute hashes. Whoever asks waits without holding the shard.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::rc::Rc;

use auth::{Credentials, PasswordHash};
use runtime::sync::{Receiver, Sender, oneshot};
use runtime::{Runtime, Workbench, fill_secret};

use crate::desk::{Desk, Done, Outcome, Overloaded, Submitted, Work};
use crate::host::Host;
use crate::threads::Seat;

/// The hashes of a shard. Clones are the same.
#[derive(Clone)]
pub struct Hasher {
    inner: Rc<Inner>,
}

struct Inner {
    runtime: Runtime,
    /// `None`: the shard has no threads beside it.
    bench: Option<Workbench<Desk>>,
    waiting: Waiting,
}

/// Those who wait on this shard, by their tickets.
type Waiting = Rc<RefCell<BTreeMap<u64, Sender<Outcome>>>>;

/// A ticket, which is given back when its holder is dropped before the result.
struct Ticket<'h> {
    number: u64,
    hasher: &'h Inner,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        // Of one whose result has come nothing is left.
        if self.hasher.waiting.borrow_mut().remove(&self.number).is_some()
            && let Some(bench) = &self.hasher.bench
        {
            bench.with(|desk| desk.withdraw(self.number));
        }
    }
}

impl Hasher {
    /// Takes the seat on its shard.
    ///
    /// # Errors
    /// If the kernel gives no random bytes for the key of this process.
    pub fn open(runtime: &Runtime, seat: Seat) -> io::Result<Hasher> {
        let mut key = [0; 32];
        fill_secret(runtime, &mut key)?;
        let waiting = Waiting::default();
        let told = waiting.clone();
        let bench = seat.0.open(runtime, move |Done { ticket, outcome }| {
            let waiter = told.borrow_mut().remove(&ticket);
            // One that has just given up has no use for it.
            if let Some(waiter) = waiter {
                let _ = waiter.send(outcome);
            }
        });
        bench.with(|desk| desk.use_key(key));
        Ok(Hasher { inner: Rc::new(Inner { runtime: runtime.clone(), bench: Some(bench), waiting }) })
    }

    /// Computes on the shard itself: for simulated ones, which have no threads beside them.
    pub fn in_place(runtime: &Runtime) -> Hasher {
        let inner = Inner { runtime: runtime.clone(), bench: None, waiting: Waiting::default() };
        Hasher { inner: Rc::new(inner) }
    }

    /// True if the password of the credentials is that of the hash.
    pub async fn verify(&self, from: IpAddr, hash: PasswordHash, credentials: Credentials) -> Result<bool, Overloaded> {
        self.verification(Some(from), hash, credentials).await
    }

    /// [`Hasher::verify`] for the node itself, which has no address and guesses nothing.
    pub async fn verify_own(&self, hash: PasswordHash, credentials: Credentials) -> Result<bool, Overloaded> {
        self.verification(None, hash, credentials).await
    }

    async fn verification(
        &self,
        from: Option<IpAddr>,
        hash: PasswordHash,
        credentials: Credentials,
    ) -> Result<bool, Overloaded> {
        match self.run(from, Work::Verify { hash, credentials }).await? {
            Outcome::Verified(is_password) => Ok(is_password),
            Outcome::Hashed(_) => unreachable!("a verification has a verdict"),
        }
    }

    /// The hash of a new password with a salt of its own. `from` is the client that sets it, if it has an address.
    ///
    /// # Panics
    /// If the password is longer than `auth` hashes: a planner refuses that.
    pub async fn hash(&self, from: Option<IpAddr>, password: String) -> Result<PasswordHash, Overloaded> {
        let mut salt = [0; 16];
        // A salt need not be secret; it must differ from others.
        if fill_secret(&self.inner.runtime, &mut salt).is_err() {
            salt[..8].copy_from_slice(&self.inner.runtime.random_u64().to_be_bytes());
            salt[8..].copy_from_slice(&self.inner.runtime.random_u64().to_be_bytes());
        }
        assert!(password.len() <= auth::hash::PASSWORD_BYTES_MAX, "a longer password is refused by its planner");
        match self.run(from, Work::Hash { password, salt }).await? {
            Outcome::Hashed(hash) => Ok(hash),
            Outcome::Verified(_) => unreachable!("a password has a hash"),
        }
    }

    /// Hashes computed by all threads so far.
    pub fn computed(&self) -> u64 {
        self.inner.bench.as_ref().map_or(0, |bench| bench.with(|desk| desk.computed()))
    }

    async fn run(&self, from: Option<IpAddr>, work: Work) -> Result<Outcome, Overloaded> {
        let Inner { runtime, bench, waiting } = &*self.inner;
        let Some(bench) = bench else { return Ok(work.compute()) };
        let submitted = bench.with(|desk| desk.submit(runtime.shard(), from.map(Host::from), work, runtime.now()));
        let number = match submitted? {
            Submitted::Remembered => return Ok(Outcome::Verified(true)),
            Submitted::Ticket(number) => number,
        };
        // The result comes between two polls of this shard, so not before this.
        let (sender, result): (_, Receiver<Outcome>) = oneshot();
        waiting.borrow_mut().insert(number, sender);
        let _ticket = Ticket { number, hasher: &self.inner };
        // The sender is dropped with the shard alone.
        result.await.map_err(|_| Overloaded::Node)
    }
}
