//! The lines that nodes log in a test.

use std::cell::RefCell;
use std::fmt::{Debug, Write as _};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata};

static COLLECTOR: Once = Once::new();

thread_local! {
    /// Lines of this thread's log; a world's machines run on one thread.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Collects the lines of each thread. It is the subscriber of the process: tracing takes a place that logs first on a thread without a subscriber for
/// disabled, on all threads.
struct Collector;

impl tracing::Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Line(String);
        impl Visit for Line {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                write!(self.0, " {}={value:?}", field.name()).expect("a string takes it");
            }
        }
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        LINES.with_borrow_mut(|lines| lines.push(line.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Collects the lines of this thread from now on.
pub fn begin() {
    COLLECTOR.call_once(|| tracing::subscriber::set_global_default(Collector).expect("no other test sets one"));
    LINES.take();
}

/// The lines so far.
pub fn take() -> Vec<String> {
    LINES.take()
}
