//! Waiting for one another inside a shard: nothing here is shared between threads.

mod notify;
mod oneshot;
mod queue;
mod semaphore;
mod wait_list;

pub use notify::{Notified, Notify};
pub use oneshot::{Closed, Receiver, Sender, oneshot};
pub use queue::{Full, Pop, Push, Queue};
pub use semaphore::{Acquire, Permit, Semaphore};
