//! A queue of slots, linked through the slots themselves, so that one may leave from the middle.

use crate::cache::slots::{NONE, Slots};

/// One queue: entries come in as the newest and leave as the oldest.
#[derive(Debug)]
pub struct Queue {
    newest: u32,
    oldest: u32,
    /// What the bodies in it take, bytes.
    pub bytes: usize,
}

impl Queue {
    pub const EMPTY: Queue = Queue { newest: NONE, oldest: NONE, bytes: 0 };

    /// The entry that has been here for longest.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Puts a slot that is in no queue in as the newest.
    pub fn push(&mut self, slots: &mut Slots, id: u32) {
        let slot = slots.get_mut(id);
        (slot.older, slot.newer) = (self.newest, NONE);
        self.bytes += slot.weight();
        match self.newest {
            NONE => self.oldest = id,
            before => slots.get_mut(before).newer = id,
        }
        self.newest = id;
    }

    /// Takes a slot out.
    pub fn remove(&mut self, slots: &mut Slots, id: u32) {
        let slot = slots.get(id);
        let (older, newer) = (slot.older, slot.newer);
        self.bytes -= slot.weight();
        match older {
            NONE => self.oldest = newer,
            older => slots.get_mut(older).newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => slots.get_mut(newer).older = older,
        }
    }
}
