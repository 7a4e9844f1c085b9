//! The bodies that a node's messages travel in, in both directions: a message is one body, a snapshot is many chunks of 64 KiB.
//!
//! | sender to one node | event | next |
//! |---|---|---|
//! | idle | a snapshot is to be sent | under way: the first chunk leaves |
//! | under way | the receiver has more of it | chunks leave, 16 ahead of what it has; idle after the last |
//! | under way | another snapshot is to be sent | under way: the receiver asked twice |
//! | under way | nothing received for 20 units of time, or disconnected | idle |
//!
//! A receiver puts together one snapshot at a time, of whichever node it came from first. One that is interrupted (a chunk is missing, nothing came for 20 units
//! of time, its sender is disconnected) is dropped, and the node asks for the state again. Without I/O: the driver sends the bodies.

use std::collections::BTreeMap;
use std::rc::Rc;

use raft::NodeId;
use stdx::Reader;

use super::message::GroupMessage;
use super::record::Snapshot;
use super::wire::{self, Body, MESSAGE_BYTES_MAX, SnapshotName};
use crate::error::{DecodeError, invalid};

/// Bytes of a snapshot in one body.
const CHUNK_BYTES: usize = 64 << 10;
/// Bytes that are sent ahead of what the receiver has.
const WINDOW_BYTES: usize = 16 * CHUNK_BYTES;
/// The most bytes of a snapshot: what a record of the metadata log holds.
const SNAPSHOT_BYTES_MAX: usize = 64 << 20;
/// Units of time without a chunk after which a transfer is dropped.
const STALLED_TICKS: u32 = 20;

/// A message that has no bytes, since they would be too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message of {bytes} bytes to another node exceeds the limit of {bytes_max}")]
pub struct TooLong {
    /// Its length.
    pub bytes: usize,
    /// The most.
    pub bytes_max: usize,
}

/// The outcome of a body that came.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// The message that is whole by it.
    pub message: Option<GroupMessage>,
    /// Bodies for its sender.
    pub replies: Vec<Vec<u8>>,
}

/// A snapshot on its way to one node.
struct Sending {
    of: SnapshotName,
    bytes: Rc<[u8]>,
    sent: usize,
    ticks: u32,
}

/// A snapshot on its way here.
struct Receiving {
    from: NodeId,
    of: SnapshotName,
    bytes: Vec<u8>,
    ticks: u32,
}

/// Snapshots under way, and the encoding of all messages.
#[derive(Default)]
pub struct GroupWire {
    sending: BTreeMap<NodeId, Sending>,
    receiving: Option<Receiving>,
}

impl GroupWire {
    /// Nothing is under way.
    pub fn new() -> GroupWire {
        GroupWire::default()
    }

    /// The bodies in which a message begins its way to a node, in order. None if a snapshot is on its way to that node.
    pub fn encode(&mut self, to: NodeId, message: &GroupMessage) -> Result<Vec<Vec<u8>>, TooLong> {
        if let GroupMessage::Snapshot(snapshot) = message {
            return self.begin(to, snapshot);
        }
        let body = wire::encode(message);
        within(body.len(), MESSAGE_BYTES_MAX)?;
        Ok(vec![body])
    }

    /// A body has come. Fails where it is none: its connection is to be closed.
    pub fn receive(&mut self, from: NodeId, body: &[u8]) -> Result<Arrived, DecodeError> {
        Ok(match wire::decode(body)? {
            Body::Message(message) => Arrived { message: Some(message), replies: Vec::new() },
            Body::Chunk { of, offset, bytes } => self.chunk(from, (of, offset), bytes)?,
            Body::Received { of, offset } => Arrived { message: None, replies: self.received(from, of, offset) },
        })
    }

    /// A unit of time has passed.
    pub fn elapse(&mut self) {
        self.sending.retain(|_, sending| {
            sending.ticks += 1;
            sending.ticks < STALLED_TICKS
        });
        if let Some(receiving) = &mut self.receiving {
            receiving.ticks += 1;
        }
        self.receiving.take_if(|receiving| receiving.ticks >= STALLED_TICKS);
    }

    /// The connection with a node has ended: what was under way on it is dropped.
    pub fn disconnected(&mut self, node: NodeId) {
        self.sending.remove(&node);
        self.receiving.take_if(|receiving| receiving.from == node);
    }

    fn begin(&mut self, to: NodeId, snapshot: &Snapshot) -> Result<Vec<Vec<u8>>, TooLong> {
        if self.sending.contains_key(&to) {
            return Ok(Vec::new());
        }
        let index = snapshot.origin.index;
        // A node's state at an index is one, so several receivers share its bytes.
        let known = self.sending.values().find(|sending| sending.of.index == index);
        let (of, bytes) = match known {
            Some(sending) => (sending.of, Rc::clone(&sending.bytes)),
            None => {
                let mut bytes = Vec::new();
                snapshot.encode(&mut bytes);
                within(bytes.len(), SNAPSHOT_BYTES_MAX)?;
                let of = SnapshotName { index, length: bytes.len() as u32, crc: crc32fast::hash(&bytes) };
                (of, bytes.into())
            }
        };
        let mut sending = Sending { of, bytes, sent: 0, ticks: 0 };
        // One chunk alone: the receiver may be receiving from another node.
        let first = sending.next_until(CHUNK_BYTES);
        self.sending.insert(to, sending);
        Ok(first)
    }

    fn received(&mut self, from: NodeId, of: SnapshotName, offset: u32) -> Vec<Vec<u8>> {
        let offset = offset as usize;
        let Some(sending) = self.sending.get_mut(&from).filter(|sending| sending.of == of) else { return Vec::new() };
        if offset >= sending.bytes.len() {
            self.sending.remove(&from);
            return Vec::new();
        }
        sending.ticks = 0;
        // It may have more than this transfer sent, of one before.
        sending.sent = sending.sent.max(offset);
        sending.next_until(offset + WINDOW_BYTES)
    }

    fn chunk(&mut self, from: NodeId, (of, offset): (SnapshotName, u32), bytes: &[u8]) -> Result<Arrived, DecodeError> {
        let (length, offset) = (of.length as usize, offset as usize);
        let fits = length <= SNAPSHOT_BYTES_MAX && offset < length;
        if !fits || bytes.len() != CHUNK_BYTES.min(length - offset) {
            return Err(invalid(format!("a chunk of {} bytes at {offset} of a snapshot of {length}", bytes.len())));
        }
        if !self.expects(from, of, offset) {
            return Ok(Arrived::default());
        }
        let Some(receiving) = &mut self.receiving else { return Ok(Arrived::default()) };
        if offset == receiving.bytes.len() {
            receiving.bytes.extend_from_slice(bytes);
            receiving.ticks = 0;
        }
        let replies = vec![wire::encode_received(of, receiving.bytes.len() as u32)];
        if receiving.bytes.len() < length {
            return Ok(Arrived { message: None, replies });
        }
        let whole = self.receiving.take().map(|receiving| receiving.bytes).unwrap_or_default();
        Ok(Arrived { message: Some(GroupMessage::Snapshot(whole_of(of, &whole)?)), replies })
    }

    /// True if the chunk is of the snapshot that is put together now: the one under way, or a first one.
    fn expects(&mut self, from: NodeId, of: SnapshotName, offset: usize) -> bool {
        match &self.receiving {
            Some(receiving) if receiving.from == from && receiving.of == of && offset <= receiving.bytes.len() => {
                return true;
            }
            Some(receiving) if receiving.from != from => return false,
            // Its sender has begun another one, or a chunk between is missing.
            _ => self.receiving = None,
        }
        if offset > 0 {
            return false;
        }
        self.receiving = Some(Receiving { from, of, bytes: Vec::new(), ticks: 0 });
        true
    }
}

impl Sending {
    /// The next chunks, up to an offset.
    fn next_until(&mut self, end: usize) -> Vec<Vec<u8>> {
        let end = end.min(self.bytes.len());
        let mut chunks = Vec::new();
        while self.sent < end {
            let to = (self.sent + CHUNK_BYTES).min(self.bytes.len());
            chunks.push(wire::encode_chunk(self.of, self.sent as u32, &self.bytes[self.sent..to]));
            self.sent = to;
        }
        chunks
    }
}

/// The snapshot of that name.
fn whole_of(of: SnapshotName, bytes: &[u8]) -> Result<Snapshot, DecodeError> {
    if crc32fast::hash(bytes) != of.crc {
        return Err(invalid("the chunks of a snapshot are not of one snapshot"));
    }
    let mut reader = Reader::new(bytes);
    let snapshot = Snapshot::decode(&mut reader)?;
    match reader.is_empty() && snapshot.origin.index == of.index {
        true => Ok(snapshot),
        false => Err(invalid("a snapshot has trailing bytes, or another index than its chunks")),
    }
}

fn within(bytes: usize, bytes_max: usize) -> Result<(), TooLong> {
    match bytes <= bytes_max {
        true => Ok(()),
        false => Err(TooLong { bytes, bytes_max }),
    }
}
