//! The threads that compute hashes: thin, since [`Desk`] decides.

use std::time::Duration;

use runtime::{Companion, WorkbenchSeat, Worker, workbench};

use crate::desk::{Desk, Done, TICKETS_MAX};

/// Settings of logins by password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Threads.
    pub threads: usize,
    /// Time for which a successful verification is remembered; zero: none is.
    pub validity: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { threads: 1, validity: Duration::from_secs(600) }
    }
}

/// A shard's place, on its way to the shard's thread.
pub struct Seat(pub(crate) WorkbenchSeat<Desk, Done>);

/// The threads that are to be.
pub struct Threads {
    worker: Worker<Desk, Done>,
    count: usize,
}

/// A seat for each shard, and the threads that serve them, to be made before the shards run.
pub fn seats(shards: u16, settings: Settings) -> (Threads, Vec<Seat>) {
    let (worker, seats) = workbench(shards, Desk::new(settings.validity), TICKETS_MAX);
    (Threads { worker, count: settings.threads }, seats.into_iter().map(Seat).collect())
}

/// The threads, for [`runtime::run_beside`]. They end when all shards have, after the hash that they are at.
pub fn companions(threads: Threads) -> Vec<Companion> {
    let Threads { worker, count } = threads;
    let companion = |_| {
        let worker = worker.clone();
        Companion { name: "passwords", is_background: true, body: Box::new(move || run(&worker)) }
    };
    (0..count).map(companion).collect()
}

fn run(worker: &Worker<Desk, Done>) {
    while let Some(job) = worker.take(Desk::take) {
        let outcome = job.work.compute();
        worker.finish(|desk, now| desk.finish(job.number, &outcome, now));
    }
}
