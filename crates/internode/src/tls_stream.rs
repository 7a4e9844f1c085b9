//! A TLS session on a socket: reads and writes go through the session, and the two directions do not wait for each other.
//!
//! The session is borrowed between two awaits only. What it has to say while it is read (an answer to new keys) goes out with the next write, so that one write is
//! under way at a time. Writes are made of pieces of at most [`tls::OUTPUT_BYTES_MAX`] bytes, between which others may run. Of the buffers a session that waits keeps little:
//! a node has several sessions with each other one.

use std::cell::RefCell;
use std::io;

use runtime::{Runtime, TcpStream};
use tls::{KEYING_BYTES, OUTPUT_BYTES_MAX, Session, SessionError};

use crate::handshake::{GreetingError, is_greeting};

/// Room that a read from the socket makes while there is much to be read.
const READ_BYTES: usize = 16 << 10;
/// The same when the read before it did not need more. A session that waits has this room, and most of them wait.
const IDLE_READ_BYTES: usize = 2 << 10;
/// Room for writes that is kept from one to the next.
const SENDING_KEPT: usize = 2 << 10;

/// A session, and bytes that were received for it: all that moves with a connection to its shard.
#[derive(Debug)]
pub(crate) struct TlsState {
    session: Session,
    received: Vec<u8>,
    /// How many of them the session has taken.
    taken: usize,
    /// Room that the next read from the socket makes.
    room: usize,
}

pub(crate) struct TlsStream {
    runtime: Runtime,
    tcp: TcpStream,
    state: RefCell<TlsState>,
    /// The buffer of writes; gone while one is under way, and for good when one was dropped early: its records may be cut.
    sending: RefCell<Option<Vec<u8>>>,
}

impl TlsState {
    pub(crate) fn new(session: Session) -> TlsState {
        TlsState { session, received: Vec::new(), taken: 0, room: IDLE_READ_BYTES }
    }

    /// Gives the session bytes that were received. False: it has taken all.
    fn feed(&mut self) -> Result<bool, SessionError> {
        let rest = &self.received[self.taken..];
        if rest.is_empty() {
            return Ok(false);
        }
        let taken = self.session.receive(rest)?;
        self.taken += taken;
        Ok(taken > 0)
    }

    /// The same during the handshake, whose errors name an end without TLS.
    fn feed_handshake(&mut self) -> Result<(), GreetingError> {
        self.feed().map(drop).map_err(|error| match is_greeting(&self.received) {
            true => GreetingError::PlainPeer,
            false => GreetingError::Tls(error),
        })
    }

    /// Reads plain text into the spare capacity: how many bytes, 0 at the session's end; `None`: more must be received.
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Option<usize>, SessionError> {
        loop {
            let read = self.session.read(buffer);
            if read > 0 || self.session.is_finished() {
                return Ok(Some(read));
            }
            if !self.feed()? {
                return Ok(None);
            }
        }
    }

    /// Gives the buffer away for a read from the socket.
    fn take_for_read(&mut self) -> Vec<u8> {
        assert_eq!(self.taken, self.received.len(), "all that was received is taken before more is read");
        self.taken = 0;
        let mut buffer = std::mem::take(&mut self.received);
        buffer.clear();
        buffer.shrink_to(self.room);
        buffer.reserve_exact(self.room);
        buffer
    }

    /// Takes the buffer back after a read, and judges by it how much room the next one needs.
    fn put_back(&mut self, received: Vec<u8>) {
        match received.len() {
            few if few < IDLE_READ_BYTES => self.room = IDLE_READ_BYTES,
            all if all == received.capacity() => self.room = READ_BYTES,
            _ => {}
        }
        self.received = received;
    }
}

impl TlsStream {
    pub(crate) fn new(runtime: &Runtime, tcp: TcpStream, state: TlsState) -> TlsStream {
        let (state, sending) = (RefCell::new(state), RefCell::new(Some(Vec::new())));
        TlsStream { runtime: runtime.clone(), tcp, state, sending }
    }

    /// The socket under the session.
    pub(crate) fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    /// Bytes of its buffers, that of a read under way among them.
    #[cfg(test)]
    pub(crate) fn kept_bytes(&self) -> usize {
        let state = self.state.borrow();
        state.received.capacity().max(state.room) + self.sending.borrow().as_ref().map_or(0, Vec::capacity)
    }

    /// Keying material of the session, for the use that the label names.
    pub(crate) fn keying_material(&self, label: &[u8]) -> Result<[u8; KEYING_BYTES], SessionError> {
        self.state.borrow().session.keying_material(label)
    }

    pub(crate) fn into_parts(self) -> (TcpStream, TlsState) {
        (self.tcp, self.state.into_inner())
    }

    /// Shakes hands. Of one that fails, the other end is sent the reason.
    pub(crate) async fn shake(&self) -> Result<(), GreetingError> {
        loop {
            self.send_output().await?;
            if !self.state.borrow().session.is_handshaking() {
                self.give_back();
                return Ok(());
            }
            if !self.receive().await? {
                return Err(GreetingError::Closed);
            }
            let fed = self.state.borrow_mut().feed_handshake();
            if let Err(error) = fed {
                let _ = self.send_output().await;
                return Err(error);
            }
        }
    }

    pub(crate) async fn read(&self, mut buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        assert!(buffer.len() < buffer.capacity(), "a read needs room");
        loop {
            let read = self.state.borrow_mut().read(&mut buffer);
            if let Some(read) = read.map_err(io::Error::other).transpose() {
                return (read, buffer);
            }
            match self.receive().await {
                Ok(true) => {}
                Ok(false) => {
                    let cut = io::Error::new(io::ErrorKind::UnexpectedEof, SessionError::Truncated);
                    return (Err(cut), buffer);
                }
                Err(error) => return (Err(error), buffer),
            }
        }
    }

    pub(crate) async fn write_all(&self, buffer: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        let mut done = 0;
        while done < buffer.len() {
            let written = self.state.borrow_mut().session.write(&buffer[done..]);
            match written {
                // All that was to be sent is sent, so there is room: this end has said its last word.
                Ok(0) => return (Err(io::ErrorKind::BrokenPipe.into()), buffer),
                Ok(written) => done += written,
                Err(error) => return (Err(io::Error::other(error)), buffer),
            }
            if let Err(error) = self.send_output().await {
                return (Err(error), buffer);
            }
            self.runtime.maybe_yield().await;
        }
        self.give_back();
        (Ok(()), buffer)
    }

    /// Gives back what a large write made of the buffer of writes.
    fn give_back(&self) {
        if let Some(sending) = &mut *self.sending.borrow_mut() {
            sending.shrink_to(SENDING_KEPT);
        }
    }

    /// Ends sending: with TLS's own last word first, unless a write was cut.
    pub(crate) async fn shutdown(&self) -> io::Result<()> {
        if self.sending.borrow().is_some() {
            self.state.borrow_mut().session.close();
            self.send_output().await?;
        }
        self.tcp.shutdown()
    }

    /// Sends what the session has to say.
    async fn send_output(&self) -> io::Result<()> {
        let sending = self.sending.borrow_mut().take();
        let mut output = sending.ok_or_else(|| io::Error::other("a write before this one was dropped"))?;
        self.state.borrow_mut().session.send(&mut output);
        let (result, mut sent) = self.tcp.write_all(output).await;
        sent.clear();
        sent.shrink_to(OUTPUT_BYTES_MAX);
        result?;
        *self.sending.borrow_mut() = Some(sent);
        Ok(())
    }

    /// Reads from the socket into the session's buffer. False: the other end has finished sending.
    async fn receive(&self) -> io::Result<bool> {
        let buffer = self.state.borrow_mut().take_for_read();
        let (result, received) = self.tcp.read(buffer).await;
        self.state.borrow_mut().put_back(received);
        Ok(result? > 0)
    }
}
