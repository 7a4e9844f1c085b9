//! Tasks and who of them runs next.

mod scheduler;
mod stall;
mod task;
mod waker;

pub(crate) use scheduler::Scheduler;
pub(crate) use stall::{Polled, StallDetector, Stalls};
pub use task::TaskHandle;
pub(crate) use task::{Task, with_trace};
