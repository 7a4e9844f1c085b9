//! The hints of one file that are in flight, and how far all before are delivered.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use runtime::sync::Notify;

use super::pace::Window;

/// Outcome of one hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// It need not be sent again: taken, or refused for good.
    Done,
    /// It is to be sent again, later.
    Again,
}

/// The flight of one file.
pub(super) struct Flight {
    /// Hints from the first that is not done: where each ends, and true once it is done.
    hints: RefCell<VecDeque<(u64, bool)>>,
    /// The number of the first of them.
    first: Cell<u64>,
    /// Up to here all is done.
    position: Cell<u64>,
    in_flight: Cell<usize>,
    bytes_in_flight: Cell<usize>,
    window: RefCell<Window>,
    changed: Notify,
    /// Hints that are done.
    done: Cell<u64>,
    /// Some hint is to be sent again: no further one is sent.
    has_failed: Cell<bool>,
}

impl Flight {
    /// Nothing is sent yet of what lies after `position`.
    pub(super) fn new(position: u64) -> Flight {
        Flight {
            hints: RefCell::default(),
            first: Cell::new(0),
            position: Cell::new(position),
            in_flight: Cell::new(0),
            bytes_in_flight: Cell::new(0),
            window: RefCell::new(Window::new()),
            changed: Notify::new(),
            done: Cell::new(0),
            has_failed: Cell::new(false),
        }
    }

    /// Waits until one more message may be in flight. False: none may any more.
    pub(super) async fn room(&self, bytes: usize) -> bool {
        while !self.has_failed.get() {
            if self.window.borrow().has_room(self.in_flight.get(), self.bytes_in_flight.get(), bytes) {
                return true;
            }
            self.changed.notified().await;
        }
        false
    }

    /// Takes the next hint, which ends at `end`. Gives its number.
    pub(super) fn begin(&self, end: u64, bytes: usize) -> u64 {
        let mut hints = self.hints.borrow_mut();
        assert!(hints.back().map_or(self.position.get(), |(last, _)| *last) < end, "hints follow one another");
        hints.push_back((end, false));
        self.in_flight.set(self.in_flight.get() + 1);
        self.bytes_in_flight.set(self.bytes_in_flight.get() + bytes);
        self.first.get() + hints.len() as u64 - 1
    }

    /// Notes the outcome of a hint; `time`: that a target took for it.
    pub(super) fn end(&self, number: u64, bytes: usize, sent: Sent, time: Option<Duration>) {
        self.in_flight.set(self.in_flight.get() - 1);
        self.bytes_in_flight.set(self.bytes_in_flight.get() - bytes);
        if let Some(time) = time {
            self.window.borrow_mut().answered(time);
        }
        match sent {
            Sent::Again => self.has_failed.set(true),
            Sent::Done => {
                self.done.set(self.done.get() + 1);
                let mut hints = self.hints.borrow_mut();
                let at = usize::try_from(number - self.first.get()).expect("few are in flight");
                assert!(!std::mem::replace(&mut hints[at].1, true), "a hint ends once");
                while let Some(&(end, true)) = hints.front() {
                    hints.pop_front();
                    self.first.set(self.first.get() + 1);
                    assert!(self.position.get() < end, "the position only grows");
                    self.position.set(end);
                }
            }
        }
        self.changed.notify();
    }

    /// Waits until nothing is in flight.
    pub(super) async fn landed(&self) {
        while self.in_flight.get() > 0 {
            self.changed.notified().await;
        }
    }

    /// Up to here all is done.
    pub(super) fn position(&self) -> u64 {
        self.position.get()
    }

    /// Hints that are done.
    pub(super) fn done(&self) -> u64 {
        self.done.get()
    }

    /// True if all that was taken is done.
    pub(super) fn is_done(&self) -> bool {
        self.hints.borrow().is_empty() && !self.has_failed.get()
    }

    /// No further hint is sent.
    pub(super) fn stop(&self) {
        self.has_failed.set(true);
        self.changed.notify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_is_the_end_of_what_is_done_without_a_gap() {
        let flight = Flight::new(40);
        let numbers = [100, 200, 300].map(|end| flight.begin(end, 10));
        flight.end(numbers[1], 10, Sent::Done, None);
        assert_eq!((flight.position(), flight.is_done()), (40, false));
        flight.end(numbers[0], 10, Sent::Done, None);
        assert_eq!((flight.position(), flight.is_done()), (200, false));
        flight.end(numbers[2], 10, Sent::Again, None);
        assert_eq!((flight.position(), flight.is_done()), (200, false));
    }

    #[test]
    fn a_file_without_hints_is_done_at_once() {
        assert!(Flight::new(40).is_done());
        let flight = Flight::new(40);
        let number = flight.begin(90, 1);
        flight.end(number, 1, Sent::Done, Some(Duration::from_millis(1)));
        assert!(flight.is_done() && flight.position() == 90);
        flight.stop();
        assert!(!flight.is_done());
    }
}
