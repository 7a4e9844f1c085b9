//! A shard's reactor with its slots, and the future of one operation.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Operation, Reactor, Slots, Token, Wait};
use crate::core::Core;
use crate::time::Instant;

/// How long an ending shard waits for the last completions.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(10);

/// A shard's reactor with its slots.
pub(crate) struct Io {
    pub(crate) reactor: Reactor,
    slots: Slots,
}

impl Io {
    pub(crate) fn new(reactor: Reactor) -> Self {
        Io { reactor, slots: Slots::default() }
    }

    fn begin(&mut self, operation: Operation) -> Token {
        let token = self.slots.insert(operation);
        self.reactor.begin(&mut self.slots, token);
        token
    }

    fn orphan(&mut self, token: Token) {
        if self.slots.orphan(token) && self.slots.operation(token).may_wait() {
            self.reactor.cancel(&mut self.slots, token);
        }
    }

    /// Operations in flight.
    pub(crate) fn running(&self) -> usize {
        self.slots.running()
    }

    /// One turn of the reactor. Who is to be woken is put into the empty `woken`.
    pub(crate) fn turn(&mut self, wait: Wait, woken: &mut Vec<Waker>) {
        self.reactor.turn(&mut self.slots, wait);
        self.slots.swap_woken(woken);
    }

    /// Waits until nothing is in flight. Operations that do not end keep their memory for ever: the kernel may still
    /// write to it.
    pub(crate) fn shut_down(&mut self, now: impl Fn() -> Instant) {
        for token in self.slots.all_running() {
            self.orphan_at_shutdown(token);
        }
        if self.reactor.ends_at_once() {
            for token in self.slots.all_running() {
                self.slots.end(token, -libc::ECANCELED);
            }
        }
        let deadline = now() + SHUTDOWN_WAIT;
        while self.slots.running() > 0 && now() < deadline {
            // A worker may have ended its operation before the shard said that it sleeps, and then wakes nobody.
            let wait = if self.reactor.has_finished_work() { Wait::No } else { Wait::Until(Some(deadline)) };
            self.reactor.turn(&mut self.slots, wait);
        }
        self.reactor.stop();
        if self.slots.running() > 0 {
            tracing::warn!(operations = self.slots.running(), "shard stopped with I/O operations in flight");
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }

    fn orphan_at_shutdown(&mut self, token: Token) {
        if !self.slots.is_orphaned(token) {
            self.orphan(token);
        }
    }
}

enum State {
    New(Operation),
    Running(Token),
    Ended,
}

/// An operation on its way. Dropped before its end, it is orphaned: its buffers live on until the kernel is done with
/// them, and what it would have given is lost.
#[must_use = "a future does nothing unless awaited"]
pub(crate) struct InFlight<'a> {
    core: &'a Core,
    state: State,
}

impl<'a> InFlight<'a> {
    pub(crate) fn new(core: &'a Core, operation: Operation) -> Self {
        InFlight { core, state: State::New(operation) }
    }
}

impl Future for InFlight<'_> {
    type Output = (Operation, i32);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut io = self.core.io.borrow_mut();
        let token = match std::mem::replace(&mut self.state, State::Ended) {
            State::New(operation) => io.begin(operation),
            State::Running(token) => token,
            State::Ended => unreachable!("a finished operation is not polled"),
        };
        match io.slots.take_ended(token, cx.waker()) {
            Some(end) => Poll::Ready(end),
            None => {
                drop(io);
                self.state = State::Running(token);
                Poll::Pending
            }
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let State::Running(token) = self.state {
            self.core.io.borrow_mut().orphan(token);
        }
    }
}
