//! One connection under load: as many requests outstanding as the depth says, a new one for each reply; or new ones at even times.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;

use runtime::sync::Notify;
use runtime::{Instant, Runtime};

use crate::StressError;
use crate::raw::pace::Pace;
use crate::raw::phase::{Operation, Phase};
use crate::raw::silence::Waits;
use crate::raw::wire::{Receiver, Sender, whole_frame};

/// A request without an answer.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    operation: Operation,
    since: Instant,
}

/// A connection under load.
pub(crate) struct Connection {
    sender: Sender,
    receiver: Receiver,
    streams: Streams,
}

/// The streams of a connection, by number.
struct Streams {
    outstanding: Vec<Option<Outstanding>>,
    count: usize,
}

impl Connection {
    pub(crate) fn new((sender, receiver): (Sender, Receiver), depth: u16) -> Connection {
        let streams = Streams { outstanding: vec![None; usize::from(depth)], count: 0 };
        Connection { sender, receiver, streams }
    }

    /// The node, and when the connection waits for its replies.
    pub(crate) fn watched(&self) -> (SocketAddr, Rc<Waits>) {
        (self.receiver.address, self.receiver.waits())
    }

    /// Does operations until the phase has none left and all are answered.
    pub(crate) async fn run(&mut self, runtime: &Runtime, phase: &Phase) -> Result<(), StressError> {
        match &phase.pace {
            None => self.run_closed(runtime, phase).await,
            Some(pace) => self.run_paced(runtime, phase, pace).await,
        }
    }

    /// A new operation for each that was answered.
    async fn run_closed(&mut self, runtime: &Runtime, phase: &Phase) -> Result<(), StressError> {
        let now = runtime.now();
        let streams = &mut self.streams;
        self.sender.send(|out| streams.begin(phase, now, out));
        while self.streams.count > 0 {
            let address = self.receiver.address;
            let arrived = self.receiver.receive(self.streams.count).await?;
            // All that came with one read came at one time, and what it lets go out goes out at one time.
            let now = runtime.now();
            let streams = &mut self.streams;
            let used = self.sender.send(|out| {
                streams.answer(phase, now, arrived, address, |streams, stream| {
                    streams.refill(phase, now, stream, out);
                })
            })?;
            self.receiver.consume(used);
        }
        Ok(())
    }

    /// A new operation whenever one is due and a stream is free.
    async fn run_paced(&mut self, runtime: &Runtime, phase: &Phase, pace: &Pace) -> Result<(), StressError> {
        let Connection { sender, receiver, streams } = self;
        let paced = Paced::new(streams);
        let (mut begin, mut take) =
            (pin!(paced.begin(runtime, phase, pace, sender)), pin!(paced.take(runtime, phase, receiver)));
        poll_fn(|context| {
            if !paced.has_begun_all.get() {
                // It is ready in the poll in which the last was begun.
                let _ = begin.as_mut().poll(context);
            }
            take.as_mut().poll(context)
        })
        .await
    }
}

/// A connection's streams between the side that begins operations when they are due and the side that takes the replies.
struct Paced<'a> {
    streams: RefCell<&'a mut Streams>,
    free: RefCell<Vec<u16>>,
    has_begun_all: Cell<bool>,
    /// A stream was freed.
    freed: Notify,
    /// An operation was begun, or the last was.
    begun: Notify,
}

impl<'a> Paced<'a> {
    fn new(streams: &'a mut Streams) -> Paced<'a> {
        let free = (0..streams.outstanding.len() as u16).rev().collect();
        Paced {
            streams: RefCell::new(streams),
            free: RefCell::new(free),
            has_begun_all: Cell::new(false),
            freed: Notify::new(),
            begun: Notify::new(),
        }
    }

    /// Sends requests as they are due, until the phase has none left.
    async fn begin(&self, runtime: &Runtime, phase: &Phase, pace: &Pace, sender: &Sender) {
        while !self.has_begun_all.get() {
            let now = runtime.now();
            if pace.due() > now {
                runtime.sleep_until(pace.due()).await;
            } else if self.free.borrow().is_empty() {
                self.freed.notified().await;
            } else {
                sender.send(|out| self.begin_due(phase, pace, now, out));
                self.begun.notify();
            }
        }
    }

    fn begin_due(&self, phase: &Phase, pace: &Pace, now: Instant, out: &mut Vec<u8>) {
        let (mut streams, mut free) = (self.streams.borrow_mut(), self.free.borrow_mut());
        pace.look(now);
        while pace.due() <= now {
            let Some(&stream) = free.last() else { return };
            if !streams.refill(phase, pace.due(), stream, out) {
                self.has_begun_all.set(true);
                return;
            }
            free.pop();
            pace.issued();
        }
    }

    /// Takes replies until the last request is answered.
    async fn take(&self, runtime: &Runtime, phase: &Phase, receiver: &mut Receiver) -> Result<(), StressError> {
        loop {
            let count = self.streams.borrow().count;
            if count == 0 && self.has_begun_all.get() {
                return Ok(());
            }
            if count == 0 {
                self.begun.notified().await;
                continue;
            }
            let address = receiver.address;
            let arrived = receiver.receive(count).await?;
            let now = runtime.now();
            let free = &mut *self.free.borrow_mut();
            let used = self.streams.borrow_mut().answer(phase, now, arrived, address, |_, stream| free.push(stream))?;
            receiver.consume(used);
            self.freed.notify();
        }
    }
}

impl Streams {
    /// Sends the first request on each stream.
    fn begin(&mut self, phase: &Phase, now: Instant, out: &mut Vec<u8>) {
        for stream in 0..self.outstanding.len() as u16 {
            self.refill(phase, now, stream, out);
        }
    }

    /// Takes the whole replies at the start of `arrived` and tells `answered` the stream of each. Gives the bytes used.
    #[inline]
    fn answer(
        &mut self,
        phase: &Phase,
        now: Instant,
        arrived: &[u8],
        address: SocketAddr,
        mut answered: impl FnMut(&mut Streams, u16),
    ) -> Result<usize, StressError> {
        let mut statistics = phase.statistics.borrow_mut();
        let mut rest = arrived;
        while let Some(length) = whole_frame(rest, address)? {
            let (frame, after) = rest.split_at(length);
            rest = after;
            let stream = u16::from_be_bytes([frame[2], frame[3]]);
            let slot = self.outstanding.get_mut(usize::from(stream)).and_then(Option::take);
            let Some(Outstanding { operation, since }) = slot else {
                let reason = format!("reply on stream {stream}, which has no outstanding request");
                return Err(StressError::Malformed { address, reason });
            };
            self.count -= 1;
            phase.record(&mut statistics, operation, frame, now - since);
            answered(self, stream);
        }
        Ok(arrived.len() - rest.len())
    }

    /// Sends the next request on a free stream, or says that there is none.
    #[inline]
    fn refill(&mut self, phase: &Phase, since: Instant, stream: u16, out: &mut Vec<u8>) -> bool {
        let Some(operation) = phase.next() else { return false };
        phase.append(out, stream, operation);
        self.outstanding[usize::from(stream)] = Some(Outstanding { operation, since });
        self.count += 1;
        true
    }
}
