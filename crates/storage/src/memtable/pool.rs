//! A shard's memory for memtables: a budget, and chunks that wait for their next use.
//!
//! A memtable that is dropped hands its chunks over as they are; no node is visited. Whole chunks of
//! [`CHUNK_BYTES`] are kept for the next memtable, up to a limit, beyond which [`ChunkPool::trim`] gives them back to
//! the system a few at a time.

/// The size of a chunk, once a memtable has outgrown its first ones.
pub const CHUNK_BYTES: usize = 1 << 20;

/// Spare chunks that are kept however long they are idle.
const SPARES_KEPT: usize = 32;

/// The chunks of one shard's memtables.
#[derive(Debug)]
pub struct ChunkPool {
    budget: usize,
    /// What of the budget may be handed out now.
    limit: usize,
    used: usize,
    /// From here on something is to be done about it.
    alarm: usize,
    spare: Vec<Box<[u8]>>,
    /// Chunks of their own size that were made ahead, for blocks of about that size.
    ready: Vec<Box<[u8]>>,
}

/// A chunk that was made ahead may be larger than what is asked for by this part of it, so that it is not wasted on less.
const READY_SLACK_PART: usize = 8;

impl ChunkPool {
    /// A pool that hands out at most `budget` bytes, as far as its users ask [`ChunkPool::has_room`] first.
    pub fn new(budget: usize) -> Self {
        ChunkPool { budget, limit: budget, used: 0, alarm: usize::MAX, spare: Vec::new(), ready: Vec::new() }
    }

    /// Bytes handed out.
    #[inline]
    pub fn used(&self) -> usize {
        self.used
    }

    /// Bytes that may be handed out.
    #[inline]
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// Has [`ChunkPool::is_alarming`] say so from `used` bytes on; `usize::MAX`: never.
    pub fn set_alarm(&mut self, used: usize) {
        self.alarm = used;
    }

    /// Whether as much is handed out as was asked to be told of.
    #[inline]
    pub fn is_alarming(&self) -> bool {
        self.used >= self.alarm
    }

    /// Whether `bytes` more may be handed out.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.used.saturating_add(bytes) <= self.limit
    }

    /// Keeps back so many bytes of the budget, instead of what was kept back before.
    pub fn keep_back(&mut self, bytes: usize) {
        self.limit = self.budget.saturating_sub(bytes);
    }

    /// A chunk of `bytes`. Its content is whatever it was. Never fails: the budget is checked before a mutation is
    /// taken in, with an estimate from above.
    pub fn take(&mut self, bytes: usize) -> Box<[u8]> {
        self.used += bytes;
        if bytes == CHUNK_BYTES
            && let Some(chunk) = self.spare.pop()
        {
            return chunk;
        }
        if !self.ready.is_empty()
            && let Some(chunk) = self.take_ready(bytes)
        {
            return chunk;
        }
        vec![0; bytes].into_boxed_slice()
    }

    #[cold]
    fn take_ready(&mut self, bytes: usize) -> Option<Box<[u8]>> {
        let fits = |length: usize| length >= bytes && length - bytes <= length / READY_SLACK_PART;
        let index = self.ready.iter().position(|chunk| fits(chunk.len()))?;
        let chunk = self.ready.swap_remove(index);
        self.used += chunk.len() - bytes;
        Some(chunk)
    }

    /// Offers a chunk for a block that is about to be made: its memory was touched little by little, which is most of what a
    /// large block costs. What nobody took is given back by [`ChunkPool::drop_ready`].
    pub fn offer(&mut self, chunk: Box<[u8]>) {
        self.ready.push(chunk);
    }

    /// Drops the chunks that were offered and not taken.
    pub fn drop_ready(&mut self) {
        self.ready.clear();
    }

    /// Keeps `bytes` for blocks to come: [`ChunkPool::has_room`] counts them as used.
    pub fn reserve(&mut self, bytes: usize) {
        self.used += bytes;
    }

    /// Gives back what [`ChunkPool::reserve`] kept.
    pub fn release(&mut self, bytes: usize) {
        self.used -= bytes;
    }

    /// Takes a chunk back.
    pub fn put(&mut self, chunk: Box<[u8]>) {
        self.used -= chunk.len();
        if chunk.len() == CHUNK_BYTES {
            self.spare.push(chunk);
        }
    }

    /// Takes back all chunks of a memtable.
    pub fn put_all(&mut self, chunks: Vec<Box<[u8]>>) {
        for chunk in chunks {
            self.put(chunk);
        }
    }

    /// Whether there are more spare chunks than are worth keeping.
    pub fn is_trimmable(&self) -> bool {
        self.spare.len() > SPARES_KEPT
    }

    /// Gives one spare chunk back to the system; that takes some 50 µs of page table work.
    pub fn trim(&mut self) {
        if self.is_trimmable() {
            self.spare.pop();
        }
    }
}
