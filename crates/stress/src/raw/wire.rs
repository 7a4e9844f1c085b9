//! A connection's bytes: what arrives, cut into frames, and what goes out.
//!
//! The writer is a task of its own: a reader that waited for its writes could stop reading just when the server waits
//! for it to read, and both would wait for ever. It also makes one write of all requests that were laid down meanwhile.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use cql_protocol::segment::{self, Codec, Decoded};
use cql_protocol::{HEADER_LENGTH, Version};
use runtime::sync::Notify;
use runtime::{Group, Runtime};
use tls::{ClientIdentity, ClientStream};

use crate::StressError;
use crate::raw::silence::Waits;

/// Bytes that a read has room for.
const READ_BYTES: usize = 128 << 10;
/// The longest reply that is taken.
const REPLY_BYTES_MAX: usize = 64 << 20;

/// What is to be written, shared with the writer.
#[derive(Default)]
struct Outgoing {
    frames: RefCell<Vec<u8>>,
    ready: Notify,
    closed: Cell<bool>,
    failure: RefCell<Option<io::Error>>,
}

/// The end of a connection that sends.
pub(crate) struct Sender {
    outgoing: Rc<Outgoing>,
}

/// The end of a connection that receives.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    stream: Rc<ClientStream>,
    outgoing: Rc<Outgoing>,
    codec: Rc<Cell<Option<Codec>>>,
    waits: Rc<Waits>,
    /// What has arrived: frames in version 4, segments in version 5.
    arrived: Vec<u8>,
    /// The payloads of version 5's segments.
    payload: Vec<u8>,
}

/// Connects. Frames go straight on the stream until [`Receiver::began`].
pub(crate) async fn connect(
    runtime: &Runtime,
    address: SocketAddr,
    identity: Option<&ClientIdentity>,
) -> Result<(Sender, Receiver), StressError> {
    let stream = ClientStream::connect(runtime, address, identity).await;
    let stream = Rc::new(stream.map_err(|source| StressError::Connect { address, source })?);
    let outgoing = Rc::new(Outgoing::default());
    let codec = Rc::new(Cell::new(None));
    runtime.spawn(Group::Query, write(stream.clone(), outgoing.clone(), codec.clone()));
    let sender = Sender { outgoing: outgoing.clone() };
    let (arrived, payload) = (Vec::with_capacity(READ_BYTES), Vec::new());
    let waits = Rc::default();
    Ok((sender, Receiver { address, stream, outgoing, codec, waits, arrived, payload }))
}

impl Sender {
    /// Lets `append` lay down requests, which the writer then sends.
    #[inline]
    pub(crate) fn send<T>(&self, append: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let result = append(&mut self.outgoing.frames.borrow_mut());
        self.outgoing.ready.notify();
        result
    }
}

impl Drop for Sender {
    /// Ends the writer, whose clone of the stream would keep the connection open.
    fn drop(&mut self) {
        self.outgoing.closed.set(true);
        self.outgoing.ready.notify();
    }
}

impl Receiver {
    /// STARTUP was answered: version 5 goes over to segments, in both directions.
    pub(crate) fn began(&self, version: Version) {
        if version == Version::V5 {
            self.codec.set(Some(Codec::Plain));
        }
    }

    /// When it waits for bytes.
    pub(crate) fn waits(&self) -> Rc<Waits> {
        self.waits.clone()
    }

    /// Waits for more bytes and gives all that are not yet used, which begin with a frame.
    pub(crate) async fn receive(&mut self, outstanding: usize) -> Result<&[u8], StressError> {
        let address = self.address;
        let mut buffer = std::mem::take(&mut self.arrived);
        if buffer.capacity() - buffer.len() < READ_BYTES / 2 {
            buffer.reserve(READ_BYTES);
        }
        self.waits.turn();
        let (read, buffer) = self.stream.read(buffer).await;
        self.waits.turn();
        self.arrived = buffer;
        let failed = |source| StressError::Connection { address, source };
        if let Some(source) = self.outgoing.failure.take() {
            return Err(failed(source));
        }
        if read.map_err(failed)? == 0 {
            return Err(StressError::Closed { address, outstanding });
        }
        match self.codec.get() {
            None => Ok(&self.arrived),
            Some(codec) => self.unpack(codec),
        }
    }

    /// Adds the payloads of all whole segments to those that are not yet used.
    fn unpack(&mut self, codec: Codec) -> Result<&[u8], StressError> {
        let mut used = 0;
        loop {
            match segment::decode(&self.arrived[used..], codec, &mut self.payload) {
                Ok(Decoded::Segment { used: length, .. }) => used += length,
                Ok(Decoded::Incomplete { .. }) => break,
                Err(error) => {
                    return Err(StressError::Malformed { address: self.address, reason: error.to_string() });
                }
            }
        }
        discard(&mut self.arrived, used);
        Ok(&self.payload)
    }

    /// Marks the first bytes of those that [`Receiver::receive`] gave as used.
    pub(crate) fn consume(&mut self, used: usize) {
        match self.codec.get() {
            None => discard(&mut self.arrived, used),
            Some(_) => discard(&mut self.payload, used),
        }
    }
}

fn discard(bytes: &mut Vec<u8>, used: usize) {
    bytes.copy_within(used.., 0);
    bytes.truncate(bytes.len() - used);
}

/// The length of the frame at the start of `bytes`, if it is whole.
#[inline]
pub(crate) fn whole_frame(bytes: &[u8], address: SocketAddr) -> Result<Option<usize>, StressError> {
    let Some([.., a, b, c, d]) = bytes.first_chunk::<HEADER_LENGTH>() else {
        return Ok(None);
    };
    let length = HEADER_LENGTH + u32::from_be_bytes([*a, *b, *c, *d]) as usize;
    if length > REPLY_BYTES_MAX {
        let reason = format!("frame of {length} bytes exceeds the limit of {REPLY_BYTES_MAX}");
        return Err(StressError::Malformed { address, reason });
    }
    Ok((bytes.len() >= length).then_some(length))
}

/// Sends what is laid down until the connection is dropped or fails.
async fn write(stream: Rc<ClientStream>, outgoing: Rc<Outgoing>, codec: Rc<Cell<Option<Codec>>>) {
    let mut buffer = Vec::new();
    let mut segments = Vec::new();
    while !outgoing.closed.get() {
        if outgoing.frames.borrow().is_empty() {
            outgoing.ready.notified().await;
            continue;
        }
        buffer.clear();
        std::mem::swap(&mut buffer, &mut *outgoing.frames.borrow_mut());
        if let Some(codec) = codec.get() {
            segments.clear();
            segment::encode_frames(&buffer, codec, &mut segments);
            std::mem::swap(&mut buffer, &mut segments);
        }
        let written;
        (written, buffer) = stream.write_all(buffer).await;
        if let Err(error) = written {
            // The reader sees the end of the connection, or its failure, and tells this one instead.
            *outgoing.failure.borrow_mut() = Some(error);
            let _ = stream.tcp().shutdown();
            return;
        }
    }
}
