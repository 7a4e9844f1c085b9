//! One connection under load: as many requests outstanding as the depth says, a new one for each reply.

use std::net::SocketAddr;

use runtime::{Instant, Runtime};

use crate::StressError;
use crate::phase::{Operation, Phase};
use crate::wire::{Receiver, Sender, whole_frame};

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

    /// Does operations until the phase has none left and all are answered.
    pub(crate) async fn run(&mut self, runtime: &Runtime, phase: &Phase) -> Result<(), StressError> {
        let now = runtime.now();
        let streams = &mut self.streams;
        self.sender.send(|out| streams.begin(phase, now, out));
        while self.streams.count > 0 {
            let address = self.receiver.address;
            let arrived = self.receiver.receive(self.streams.count).await?;
            // All that came with one read came at one time, and what it lets go out goes out at one time.
            let now = runtime.now();
            let streams = &mut self.streams;
            let used = self.sender.send(|out| streams.answer(phase, now, arrived, address, out))?;
            self.receiver.consume(used);
        }
        Ok(())
    }
}

impl Streams {
    /// Sends the first request on each stream.
    fn begin(&mut self, phase: &Phase, now: Instant, out: &mut Vec<u8>) {
        for stream in 0..self.outstanding.len() as u16 {
            self.refill(phase, now, stream, out);
        }
    }

    /// Takes the whole replies at the start of `arrived` and sends a new request for each. Gives the bytes used.
    fn answer(
        &mut self,
        phase: &Phase,
        now: Instant,
        arrived: &[u8],
        address: SocketAddr,
        out: &mut Vec<u8>,
    ) -> Result<usize, StressError> {
        let mut statistics = phase.statistics.borrow_mut();
        let mut rest = arrived;
        while let Some(length) = whole_frame(rest, address)? {
            let (frame, after) = rest.split_at(length);
            rest = after;
            let stream = u16::from_be_bytes([frame[2], frame[3]]);
            let slot = self.outstanding.get_mut(usize::from(stream)).and_then(Option::take);
            let Some(Outstanding { operation, since }) = slot else {
                let reason = format!("a reply on stream {stream}, which no request waits on");
                return Err(StressError::Malformed { address, reason });
            };
            self.count -= 1;
            phase.record(&mut statistics, operation, frame, now - since);
            self.refill(phase, now, stream, out);
        }
        Ok(arrived.len() - rest.len())
    }

    #[inline]
    fn refill(&mut self, phase: &Phase, now: Instant, stream: u16, out: &mut Vec<u8>) {
        if let Some(operation) = phase.next() {
            phase.append(out, stream, operation);
            self.outstanding[usize::from(stream)] = Some(Outstanding { operation, since: now });
            self.count += 1;
        }
    }
}
