//! The trace of one request: its id, and its steps with their times, those of other nodes among them.
//!
//! Values only: times come from whoever notes a step. Whose trace is the present one is the runtime's matter.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::Duration;

/// The most steps of a trace, those of other nodes among them. Later ones are left out.
pub const TRACE_STEPS_MAX: usize = 200;
/// The most of a step's text, bytes.
pub const TRACE_TEXT_MAX: usize = 1024;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceStep {
    /// The work that was done or begun.
    pub activity: String,
    /// The node that did it; `None`: this one.
    pub source: Option<SocketAddr>,
    /// When it was noted here, microseconds since the Unix epoch.
    pub wall_micros: i64,
    /// Microseconds from the beginning, on the node that did it.
    pub elapsed_micros: u32,
}

/// A trace that grows while its request is worked on, and by what arrives late.
#[derive(Debug)]
pub struct Trace {
    id: [u8; 16],
    /// A moment of the monotonic clock.
    began: Duration,
    steps: RefCell<Vec<TraceStep>>,
}

impl Trace {
    /// A trace that begins at a moment of the monotonic clock.
    pub fn begin(id: [u8; 16], now: Duration) -> Trace {
        Trace { id, began: now, steps: RefCell::default() }
    }

    /// Its id, the same on all nodes.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Microseconds since the beginning.
    pub fn elapsed_micros(&self, now: Duration) -> u32 {
        u32::try_from(now.saturating_sub(self.began).as_micros()).unwrap_or(u32::MAX)
    }

    /// Notes a step, with a text that is cut where it is too long.
    pub fn push(&self, step: TraceStep) {
        let mut steps = self.steps.borrow_mut();
        if steps.len() < TRACE_STEPS_MAX {
            steps.push(TraceStep { activity: cut(step.activity), ..step });
        }
    }

    /// The steps so far, in the order in which they were noted.
    pub fn steps(&self) -> Vec<TraceStep> {
        self.steps.borrow().clone()
    }
}

fn cut(mut text: String) -> String {
    if text.len() > TRACE_TEXT_MAX {
        let end = (0..=TRACE_TEXT_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_bounded() {
        let trace = Trace::begin([1; 16], Duration::from_secs(5));
        for _ in 0..=TRACE_STEPS_MAX {
            let activity = "é".repeat(TRACE_TEXT_MAX);
            trace.push(TraceStep { activity, source: None, wall_micros: 0, elapsed_micros: 0 });
        }
        let steps = trace.steps();
        assert_eq!(steps.len(), TRACE_STEPS_MAX);
        assert_eq!(steps[0].activity, "é".repeat(TRACE_TEXT_MAX / 2) + "…");
    }

    #[test]
    fn time_counts_from_the_beginning() {
        let trace = Trace::begin([1; 16], Duration::from_secs(5));
        assert_eq!(trace.elapsed_micros(Duration::from_millis(5_002)), 2_000);
        assert_eq!(trace.elapsed_micros(Duration::from_secs(4)), 0, "a clock of another start is no time");
    }
}
