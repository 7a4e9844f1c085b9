//! [`crate::run`] on a world of one machine.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use super::world::{Ended, World, WorldOptions};
use crate::Runtime;

/// Longer than any program that is run alone.
const AT_MOST: Duration = Duration::from_secs(30 * 24 * 3600);

/// Runs the mains on a machine with nothing on its disk until all have returned.
pub(crate) fn run_alone<T, F, Fut>(seed: u64, handle_signals: bool, mains: Vec<F>) -> Vec<T>
where
    F: FnOnce(Runtime) -> Fut,
    Fut: Future<Output = T>,
{
    // In the order in which they were woken, which is what the other reactors promise.
    let mut world = World::new(WorldOptions { shuffle_tasks: false, ..WorldOptions::new(seed) });
    let host = world.add_host(&[IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))]);
    world.with_disk(host, |disk| disk.prepare_directory("/tmp"));
    let started = world.start(host, handle_signals, mains);
    let ended = world.run_until(|_| started.is_over(), AT_MOST);
    assert_eq!(ended, Ended::Condition, "the shards wait for each other, and nothing will ever happen");
    started.take_outputs().expect("all mains have returned")
}
