//! Tasks and who of them runs next.

mod scheduler;
mod stall;
mod task;
mod waker;

pub(crate) use scheduler::Scheduler;
pub(crate) use stall::{Polled, StallDetector, Stalls};
pub(crate) use task::Task;
pub use task::TaskHandle;
