//! The memory that the incoming connections of a shard take together: bytes of frames that are not whole yet, requests being served, and answers to be sent.
//!
//! At the bound, connections are not read on, and TCP holds their diallers back. Requests that have arrived are answered all the same, which gives memory
//! back. If the memory is taken by frames that are not whole yet, nothing would: so one connection at a time is read on beyond the bound, uncounted, until its
//! frame is whole. Not counted either is the room of 16 KiB for a read that each connection has: short frames need no more, and go on meanwhile.

use std::cell::Cell;
use std::rc::Rc;

use runtime::sync::{Notify, Permit, Semaphore};

use crate::outbox::first;

/// The bound of a shard.
const BYTES_MAX: usize = 32 << 20;

/// A shard's memory for incoming connections.
#[derive(Debug)]
pub(crate) struct Memory {
    used: Cell<usize>,
    room: Notify,
    /// For the connection that is read on beyond the bound.
    beyond: Semaphore,
}

impl Default for Memory {
    fn default() -> Self {
        Memory { used: Cell::new(0), room: Notify::new(), beyond: Semaphore::new(1) }
    }
}

impl Memory {
    /// A part of it, with nothing in it yet.
    pub(crate) fn part(self: &Rc<Self>) -> Part {
        Part { memory: Rc::clone(self), bytes: Cell::new(0) }
    }

    /// Waits until so many more bytes are within the bound, or until the caller may go on beyond it: as long as it has the permit.
    pub(crate) async fn room_for(&self, bytes: usize) -> Option<Permit> {
        if self.has_room_for(bytes) {
            return None;
        }
        stdx::sometimes!("incoming connections wait for memory");
        let within = async {
            while !self.has_room_for(bytes) {
                self.room.notified().await;
            }
            None
        };
        let beyond = async { Some(self.beyond.acquire().await) };
        let permit = first(within, beyond).await;
        // One signal wakes one of those that wait, and there may be room for several.
        self.room.notify();
        permit
    }

    fn has_room_for(&self, bytes: usize) -> bool {
        self.used.get() + bytes <= BYTES_MAX
    }

    /// Bytes that all parts hold.
    pub(crate) fn used(&self) -> usize {
        self.used.get()
    }
}

/// Bytes that are held for one purpose. Dropped, it gives them back.
#[derive(Debug)]
pub(crate) struct Part {
    memory: Rc<Memory>,
    bytes: Cell<usize>,
}

impl Part {
    /// It holds so many bytes now.
    pub(crate) fn set(&self, bytes: usize) {
        let (memory, before) = (&self.memory, self.bytes.replace(bytes));
        assert!(memory.used.get() >= before, "a part is counted in its memory");
        memory.used.set(memory.used.get() - before + bytes);
        if bytes < before {
            memory.room.notify();
        }
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.set(0);
    }
}
