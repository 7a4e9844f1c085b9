//! A TLS session on a socket of the runtime: reads and writes go through the session, and the two directions do not wait for each other.
//!
//! The session is borrowed between two awaits only. What it has to say while it is read (an answer to new keys) goes out with the next write, so that one write is
//! under way at a time. A read gives the text of one record at the most and a write is made of pieces of at most [`OUTPUT_BYTES_MAX`] bytes, and others may run between
//! these. Of the buffers a session that waits keeps little: most of them wait.

use std::cell::{Ref, RefCell};
use std::io;

use runtime::{Runtime, TcpStream};
use thiserror::Error;

use crate::session::{KEYING_BYTES, OUTPUT_BYTES_MAX, Session};
use crate::session_error::SessionError;

/// Room that a read from the socket makes while there is much to be read.
const READ_BYTES: usize = 16 << 10;
/// The same when the read before it did not need more. A session that waits has this room, and most of them wait.
const IDLE_READ_BYTES: usize = 2 << 10;
/// Room for writes that is kept from one to the next.
const SENDING_KEPT: usize = 2 << 10;

/// Why a handshake on a socket fails.
#[derive(Debug, Error)]
pub enum HandshakeError {
    /// The connection failed.
    #[error("connection failed: {0}")]
    Io(#[from] io::Error),
    /// The other end hung up.
    #[error("connection closed during the handshake")]
    Closed,
    /// The two did not agree on a session.
    #[error("{0}")]
    Session(#[from] SessionError),
}

/// A session, and bytes that were received for it: all that moves with a connection to its shard.
#[derive(Debug)]
pub struct TlsState {
    session: Session,
    received: Vec<u8>,
    /// How many of them the session has taken.
    taken: usize,
    /// Room that the next read from the socket makes.
    room: usize,
}

/// A session on a socket. One read and one write may be under way at a time.
pub struct TlsStream {
    runtime: Runtime,
    tcp: TcpStream,
    state: RefCell<TlsState>,
    /// The buffer of writes; gone while one is under way, and for good when one was dropped early: its records may be cut.
    sending: RefCell<Option<Vec<u8>>>,
}

impl TlsState {
    /// A session before its handshake.
    pub fn new(session: Session) -> TlsState {
        TlsState::after(session, Vec::new())
    }

    /// The same, and the first bytes that were received for it.
    pub fn after(session: Session, received: Vec<u8>) -> TlsState {
        TlsState { session, received, taken: 0, room: IDLE_READ_BYTES }
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
    /// A session that goes on on a socket.
    pub fn new(runtime: &Runtime, tcp: TcpStream, state: TlsState) -> TlsStream {
        let (state, sending) = (RefCell::new(state), RefCell::new(Some(Vec::new())));
        TlsStream { runtime: runtime.clone(), tcp, state, sending }
    }

    /// The session.
    pub fn session(&self) -> Ref<'_, Session> {
        Ref::map(self.state.borrow(), |state| &state.session)
    }

    /// Bytes that were received last, also those that the session has refused.
    pub fn received(&self) -> Ref<'_, [u8]> {
        Ref::map(self.state.borrow(), |state| state.received.as_slice())
    }

    /// The socket under the session.
    pub fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    /// Bytes of its buffers, that of a read under way among them.
    pub fn kept_bytes(&self) -> usize {
        let state = self.state.borrow();
        state.received.capacity().max(state.room) + self.sending.borrow().as_ref().map_or(0, Vec::capacity)
    }

    /// Keying material of the session, for the use that the label names.
    pub fn keying_material(&self, label: &[u8]) -> Result<[u8; KEYING_BYTES], SessionError> {
        self.state.borrow().session.keying_material(label)
    }

    /// Takes the socket from the session.
    pub fn into_parts(self) -> (TcpStream, TlsState) {
        (self.tcp, self.state.into_inner())
    }

    /// Shakes hands. Of one that fails, the other end is sent the reason.
    pub async fn shake(&self) -> Result<(), HandshakeError> {
        loop {
            let fed = self.state.borrow_mut().feed();
            let sent = self.send_output().await;
            let has_taken_all = !fed?;
            sent?;
            if !self.state.borrow().session.is_handshaking() {
                self.give_back();
                return Ok(());
            }
            if has_taken_all && !self.receive().await? {
                return Err(HandshakeError::Closed);
            }
        }
    }

    /// Reads, as [`TcpStream::read`]: the text of one record at the most. 0: the other end has said that it sends nothing more.
    pub async fn read(&self, mut buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
        assert!(buffer.len() < buffer.capacity(), "a read needs room");
        loop {
            let read = self.state.borrow_mut().read(&mut buffer);
            if let Some(read) = read.map_err(io::Error::other).transpose() {
                // Many small records may have come at once.
                self.runtime.maybe_yield().await;
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

    /// Writes, as [`TcpStream::write_all`].
    pub async fn write_all(&self, buffer: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
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
    pub async fn shutdown(&self) -> io::Result<()> {
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
