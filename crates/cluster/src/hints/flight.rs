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
    /// The target answers, and does not take this one now. It stops no others.
    Refused,
    /// It is to be sent again, later, as is all that follows.
    Again,
}

/// Refused hints of one pass over a file, and their bytes, after which no further ones are sent.
const REFUSED_MAX: usize = 64;
const REFUSED_BYTES_MAX: usize = 4 << 20;
/// Hints from the first that is not done on, after which no further ones are sent.
const SPAN_MAX: usize = 64 << 10;

/// A hint that was sent and not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RefusedHint {
    number: u64,
    /// Where its record begins.
    pub(super) start: u64,
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
    refused: RefCell<Vec<RefusedHint>>,
    refused_bytes: Cell<usize>,
    /// Some hint is to be sent again with all that follow: no further one is sent.
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
            refused: RefCell::default(),
            refused_bytes: Cell::new(0),
            has_failed: Cell::new(false),
        }
    }

    /// Waits until one more message may be in flight. False: none may any more.
    pub(super) async fn room(&self, bytes: usize) -> bool {
        while !self.has_failed.get() && !self.is_full() {
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
            Sent::Refused => {
                self.window.borrow_mut().refused();
                let start = self.hints.borrow()[self.at(number)].0 - bytes as u64;
                self.refused.borrow_mut().push(RefusedHint { number, start });
                self.refused_bytes.set(self.refused_bytes.get() + bytes);
            }
            Sent::Done => {
                self.done.set(self.done.get() + 1);
                self.pass(number);
            }
        }
        self.changed.notify();
    }

    /// True if too many are refused.
    fn is_full(&self) -> bool {
        let is_long = self.hints.borrow().len() >= SPAN_MAX && !self.refused.borrow().is_empty();
        is_long || self.refused.borrow().len() >= REFUSED_MAX || self.refused_bytes.get() >= REFUSED_BYTES_MAX
    }

    /// True if the target does not take anything now.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.get()
    }

    /// The refused hints. Each of them is to be put back, or stays in the way of the position.
    pub(super) fn refused(&self) -> Vec<RefusedHint> {
        self.refused.borrow().clone()
    }

    /// A refused hint is in a later file, and on the disk there.
    pub(super) fn was_put_back(&self, hint: RefusedHint) {
        self.refused.borrow_mut().retain(|other| *other != hint);
        self.pass(hint.number);
    }

    fn at(&self, number: u64) -> usize {
        usize::try_from(number - self.first.get()).expect("few are in flight")
    }

    /// The file need not have this hint any more.
    fn pass(&self, number: u64) {
        let at = self.at(number);
        let mut hints = self.hints.borrow_mut();
        assert!(!std::mem::replace(&mut hints[at].1, true), "a hint ends once");
        while let Some(&(end, true)) = hints.front() {
            hints.pop_front();
            self.first.set(self.first.get() + 1);
            assert!(self.position.get() < end, "the position only grows");
            self.position.set(end);
        }
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

    /// True if all that was begun is done.
    pub(super) fn is_done(&self) -> bool {
        self.hints.borrow().is_empty()
    }

    /// No further hint is sent.
    pub(super) fn stop(&self) {
        self.has_failed.set(true);
        self.changed.notify();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

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
    }

    #[test]
    fn a_refused_hint_keeps_the_position_back_until_it_is_put_back() {
        let flight = Flight::new(40);
        let numbers = [100, 200, 300].map(|end| flight.begin(end, 60));
        flight.end(numbers[0], 60, Sent::Done, None);
        flight.end(numbers[1], 60, Sent::Refused, None);
        flight.end(numbers[2], 60, Sent::Done, None);
        assert_eq!((flight.position(), flight.done(), flight.is_done()), (100, 2, false));
        let [refused] = flight.refused()[..] else { panic!("one was refused") };
        assert_eq!(refused.start, 140);
        flight.was_put_back(refused);
        assert_eq!((flight.position(), flight.done(), flight.is_done()), (300, 2, true));
        assert!(flight.refused().is_empty());
    }

    #[test]
    fn a_target_that_takes_nothing_is_sent_no_more() {
        let flight = Flight::new(40);
        let has_room = |flight: &Flight| {
            let mut room = std::pin::pin!(flight.room(1));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            room.as_mut().poll(&mut context)
        };
        for end in 0..REFUSED_MAX as u64 {
            assert_eq!(has_room(&flight), std::task::Poll::Ready(true));
            let number = flight.begin(50 + end, 1);
            flight.end(number, 1, Sent::Refused, None);
        }
        assert_eq!(has_room(&flight), std::task::Poll::Ready(false));
    }
}
