//! Slots of entries, in chunks that never move: to grow costs no copy.

use std::cell::Cell;

use crate::cache::body::Body;
use crate::cache::marks::Marks;

/// No slot.
pub const NONE: u32 = u32::MAX;
/// Slots are made so many at once.
const CHUNK: usize = 256;
/// What the allocator and the count of users take beside a body.
const BESIDE_BODY: usize = 32;

/// The body that an entry has from a flush on; `None`: it ends there.
#[derive(Debug)]
pub struct Pending {
    /// The number of the frozen memtable that becomes a file then.
    pub frozen: u64,
    pub body: Option<Body>,
    /// As [`Slot::rows`].
    pub rows: u64,
}

/// One entry.
#[derive(Debug)]
pub struct Slot {
    pub hash: u64,
    /// The table's number.
    pub table: u64,
    /// The table's clock when it was made.
    pub made_at: u64,
    /// Of a large entry: which of its row entries count. Of a row's: when it was made, among those.
    pub rows: u64,
    /// `None`: the slot is free.
    pub body: Option<Body>,
    pub pending: Option<Box<Pending>>,
    /// One more than the next slot of the chain, 0 for none. Of a free slot the next free one.
    pub chain: u32,
    pub newer: u32,
    pub older: u32,
    /// Whether it is in the main queue.
    pub is_main: bool,
    /// How often it was used since it was put where it stands; no more than 3.
    pub uses: Cell<u8>,
}

impl Slot {
    fn free(chain: u32) -> Slot {
        Slot {
            hash: 0,
            table: 0,
            made_at: 0,
            rows: 0,
            body: None,
            pending: None,
            chain,
            newer: NONE,
            older: NONE,
            is_main: false,
            uses: Cell::new(0),
        }
    }

    /// The body that counts, and its number of rows; `None`: nothing of the entry counts any more.
    #[inline]
    pub fn content(&self, marks: &Marks) -> Option<(&Body, u64)> {
        let (body, rows) = match &self.pending {
            Some(pending) if pending.frozen < marks.flushed_below => (pending.body.as_ref()?, pending.rows),
            _ => (self.body.as_ref()?, self.rows),
        };
        marks.count(self.made_at, body.is_purgeable()).then_some((body, rows))
    }

    /// What its bodies take, bytes.
    pub fn weight(&self) -> usize {
        let pending = self.pending.as_ref();
        let of_pending = pending.map_or(0, |pending| size_of::<Pending>() + pending.body.as_ref().map_or(0, weight_of));
        self.body.as_ref().map_or(0, weight_of) + of_pending
    }

    /// Counts a use.
    #[inline]
    pub fn used(&self) {
        self.uses.set((self.uses.get() + 1).min(3));
    }
}

/// What a body takes, bytes: the allocator's sizes are up to an eighth apart.
pub fn weight_of(body: &Body) -> usize {
    body.length() + body.length() / 8 + BESIDE_BODY
}

/// All slots.
#[derive(Debug)]
pub struct Slots {
    chunks: Vec<Box<[Slot]>>,
    free: u32,
    pub taken: usize,
}

impl Slots {
    pub const EMPTY: Slots = Slots { chunks: Vec::new(), free: NONE, taken: 0 };

    #[inline]
    pub fn get(&self, id: u32) -> &Slot {
        &self.chunks[id as usize / CHUNK][id as usize % CHUNK]
    }

    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Slot {
        &mut self.chunks[id as usize / CHUNK][id as usize % CHUNK]
    }

    /// The memory of the slots, bytes.
    pub fn bytes(&self) -> usize {
        self.chunks.len() * Self::chunk_bytes()
    }

    const fn chunk_bytes() -> usize {
        CHUNK * size_of::<Slot>()
    }

    /// What one more slot would take, bytes.
    pub fn bytes_for_next(&self) -> usize {
        if self.free == NONE { Self::chunk_bytes() } else { 0 }
    }

    /// A slot that was free.
    pub fn take(&mut self) -> u32 {
        if self.free == NONE {
            let first = u32::try_from(self.chunks.len() * CHUNK).expect("fewer entries than 32 bits can name");
            assert!(first < NONE - CHUNK as u32, "fewer entries than 32 bits can name");
            let mut chunk = Vec::with_capacity(CHUNK);
            for id in first + 1..=first + CHUNK as u32 {
                let chain = if id == first + CHUNK as u32 { NONE } else { id };
                chunk.push(Slot::free(chain));
            }
            self.chunks.push(chunk.into_boxed_slice());
            self.free = first;
        }
        let id = self.free;
        self.free = self.get(id).chain;
        self.taken += 1;
        id
    }

    /// Frees a slot, which is in no chain and no queue.
    pub fn put_back(&mut self, id: u32) {
        let free = self.free;
        *self.get_mut(id) = Slot::free(free);
        self.free = id;
        self.taken -= 1;
    }
}
