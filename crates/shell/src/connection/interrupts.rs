//! Ctrl-C while a statement runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The mark that SIGINT leaves. Without one the signal ends the process, as it does in scripts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupts {
    mark: Option<Arc<AtomicBool>>,
}

impl Interrupts {
    /// From now on SIGINT leaves a mark instead of ending the process.
    pub(crate) fn catch() -> Interrupts {
        let mark = Arc::new(AtomicBool::new(false));
        let registered = signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&mark));
        Interrupts { mark: registered.ok().map(|_| mark) }
    }

    /// True if the signal came since the last call.
    pub(crate) fn take(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.swap(false, Ordering::Relaxed))
    }
}
