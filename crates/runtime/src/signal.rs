//! The signals that ask the process to end.

use std::io;

use crate::core::Core;
use crate::reactor::{InFlight, Operation};
use crate::sys::{self, check};

/// Why the process is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
}

/// Waits for one.
pub(crate) async fn wait(core: &Core) -> io::Result<Signal> {
    if !core.handles_signals {
        return std::future::pending().await;
    }
    let handle = core.io.borrow_mut().reactor.open_signals()?;
    let buffer = Vec::with_capacity(sys::event::SIGNAL_RECORD_BYTES);
    let (operation, result) = InFlight::new(core, Operation::Receive { handle, buffer }).await;
    check(result)?;
    let number = match &operation {
        Operation::Receive { buffer, .. } => sys::event::signal_number(buffer),
        _ => None,
    };
    let is_interrupt = number == Some(sys::event::INTERRUPT);
    Ok(if is_interrupt { Signal::Interrupt } else { Signal::Terminate })
}
