//! [`RowCache`]: a shard's entries, which of them stay and which leave.
//!
//! S3-FIFO (Source: Yang and others, "FIFO queues are all you need for cache eviction", SOSP 2023). `docs/internals/cache.md` says why.

use std::cell::Cell;

use topology::Token;

use crate::cache::body::{BODY_BYTES_MAX, Body};
use crate::cache::counters::CacheCounters;
use crate::cache::ghosts::{Ghost, Ghosts};
use crate::cache::marks::Marks;
use crate::cache::pieced::PiecedTable;
use crate::cache::queue::Queue;
use crate::cache::slots::{Pending, Slot, Slots, weight_of};

/// Bytes of budget for one bucket of the index, and for one ghost.
const BYTES_PER_BUCKET: usize = 256;
const BYTES_PER_GHOST: usize = 512;
/// The part of the memory that the small queue has.
const SMALL_PART: usize = 10;
/// From so many uses on an entry goes from the small queue to main.
const USES_FOR_MAIN: u8 = 2;
/// What one call does at most to make room: some 50 µs.
const STEPS_MAX: usize = 256;
/// Entries of one hash that are kept: a hash of 64 bits is another's by intent alone.
const SAME_HASH_MAX: usize = 8;
/// A cache of less could not hold the largest body in its small queue.
pub const CACHE_BYTES_MIN: usize = SMALL_PART * (BODY_BYTES_MAX + BODY_BYTES_MAX / 2);

/// What a cache may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// The most, bytes; less than some hundred KiB is none at all.
    pub bytes_max: usize,
    /// The most that it and memtables take together, bytes.
    pub shared_bytes_max: usize,
}

/// Whether something was put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    Done,
    Refused,
}

/// The entries of one shard.
#[derive(Debug)]
pub struct RowCache {
    limits: CacheLimits,
    pub(super) index: PiecedTable<u32>,
    pub(super) slots: Slots,
    small: Queue,
    main: Queue,
    ghosts: Ghosts,
    /// Mixed into hashes, so that nobody outside chooses chains.
    secret: u64,
    /// The next number of row entries.
    rows: u64,
    counters: Cell<CacheCounters>,
    /// Whether a task makes it smaller at present.
    pub is_shrinking: bool,
}

impl RowCache {
    /// An empty cache.
    pub fn new(mut limits: CacheLimits, secret: u64) -> Self {
        if limits.bytes_max < CACHE_BYTES_MIN {
            limits.bytes_max = 0;
        }
        let buckets = if limits.bytes_max == 0 { 1 } else { (limits.bytes_max / BYTES_PER_BUCKET).next_power_of_two() };
        // No bucket has an entry.
        let index = PiecedTable::new(buckets);
        RowCache {
            limits,
            index,
            slots: Slots::EMPTY,
            small: Queue::EMPTY,
            main: Queue::EMPTY,
            ghosts: Ghosts::new(limits.bytes_max / BYTES_PER_GHOST),
            secret: secret | 1,
            rows: 0,
            counters: Cell::default(),
            is_shrinking: false,
        }
    }

    /// Whether there is a cache at all.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.limits.bytes_max > 0
    }

    /// What it takes, bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        if !self.is_on() {
            return 0;
        }
        let tables = self.index.bytes() + self.ghosts.bytes();
        tables + self.slots.bytes() + self.small.bytes + self.main.bytes
    }

    /// What it may take while memtables take `used` bytes.
    fn limit(&self, used: usize) -> usize {
        self.limits.bytes_max.min(self.limits.shared_bytes_max.saturating_sub(used))
    }

    /// Whether it is to become smaller, for memtables take `used` bytes, and nobody sees to that.
    #[inline]
    pub fn is_to_shrink(&self, used: usize) -> bool {
        !self.is_shrinking && self.slots.taken > 0 && self.bytes() > self.limit(used)
    }

    /// Makes it a little smaller. False: it is small enough, or empty.
    pub fn shrink(&mut self, used: usize) -> bool {
        for _ in 0..STEPS_MAX / 4 {
            if self.bytes() <= self.limit(used) || !self.evict_one() {
                return false;
            }
        }
        true
    }

    /// The counts, and what is there now.
    pub fn counters(&self) -> CacheCounters {
        CacheCounters {
            entries: self.slots.taken as u64,
            bytes: self.bytes() as u64,
            bytes_max: self.limits.bytes_max as u64,
            ..self.counters.get()
        }
    }

    pub fn count(&self, change: impl FnOnce(&mut CacheCounters)) {
        let mut counters = self.counters.get();
        change(&mut counters);
        self.counters.set(counters);
    }

    /// The hash of a partition, or of a row of it.
    #[inline]
    pub(super) fn hash(&self, table: u64, token: Token, place: &[u8]) -> u64 {
        let mut hash = mix(token.0 as u64 ^ self.secret, table ^ 0x9e37_79b9_7f4a_7c15);
        for piece in place.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..piece.len()].copy_from_slice(piece);
            hash = mix(hash ^ u64::from_le_bytes(bytes), self.secret ^ piece.len() as u64);
        }
        hash
    }

    fn bucket(&self, hash: u64) -> usize {
        hash as usize & (self.index.len() - 1)
    }

    /// The slot of a partition, or of a row of it, whether it counts or not.
    #[inline]
    pub(super) fn slot(&self, table: u64, hash: u64, key: &[u8], place: &[u8]) -> Option<u32> {
        let mut link = self.index.get(self.bucket(hash));
        while link != 0 {
            let id = link - 1;
            let slot = self.slots.get(id);
            if slot.hash == hash
                && slot.table == table
                && slot.body.as_ref().is_some_and(|body| body.key() == key && body.place() == place)
            {
                return Some(id);
            }
            link = slot.chain;
        }
        None
    }

    /// Takes the ghost of a key away.
    pub(super) fn take_ghost(&mut self, hash: u64) -> Option<Ghost> {
        self.ghosts.take(hash)
    }

    /// Notes that a key was asked for, or left.
    pub(super) fn note_ghost(&mut self, hash: u64, why: Ghost) {
        self.ghosts.note(hash, why);
    }

    /// A number that row entries were never given.
    pub(super) fn next_rows(&mut self) -> u64 {
        self.rows += 1;
        self.rows
    }

    /// Puts an entry in, in the place of what is there of its partition or row. `ends_at`: a frozen memtable with which it ends.
    /// `used`: what memtables take.
    pub(super) fn put(
        &mut self,
        marks: &Marks,
        (hash, rows): (u64, u64),
        body: Body,
        ends_at: Option<u64>,
        used: usize,
    ) -> Put {
        let known = self.slot(marks.table, hash, body.key(), body.place());
        let was_main = known.map(|id| self.slots.get(id).is_main);
        if let Some(id) = known {
            self.remove(id);
        }
        let needed = weight_of(&body) + if ends_at.is_some() { size_of::<Pending>() } else { 0 };
        if !self.is_on() || !self.make_room(needed, used) || self.is_crowded(hash) {
            self.count(|counters| counters.refused += 1);
            return Put::Refused;
        }
        let is_main = was_main.unwrap_or_else(|| self.ghosts.take(hash) == Some(Ghost::Left));
        let id = self.slots.take();
        let bucket = self.bucket(hash);
        let slot = self.slots.get_mut(id);
        (slot.hash, slot.table, slot.made_at, slot.rows) = (hash, marks.table, marks.clock, rows);
        slot.body = Some(body);
        slot.pending = ends_at.map(|frozen| Box::new(Pending { frozen, body: None, rows: 0 }));
        slot.is_main = is_main;
        slot.chain = std::mem::replace(self.index.get_mut(bucket), id + 1);
        let queue = if is_main { &mut self.main } else { &mut self.small };
        queue.push(&mut self.slots, id);
        self.count(|counters| counters.inserts += 1);
        Put::Done
    }

    fn is_crowded(&self, hash: u64) -> bool {
        let (mut link, mut same) = (self.index.get(self.bucket(hash)), 0);
        while link != 0 {
            let slot = self.slots.get(link - 1);
            same += usize::from(slot.hash == hash);
            link = slot.chain;
        }
        same >= SAME_HASH_MAX
    }

    /// Gives the entry whose body is `known` the one that it has from a flush on; without one, or room for one, it ends then. Gives
    /// the entry's slot; `None`: it is not there any more, or another.
    pub(super) fn set_pending(
        &mut self,
        marks: &Marks,
        token: Token,
        known: &Body,
        mut pending: Pending,
        used: usize,
    ) -> Option<u32> {
        let needed = size_of::<Pending>() + pending.body.as_ref().map_or(0, weight_of);
        if !self.make_room(needed, used) {
            pending.body = None;
        }
        // Among those that had to leave may be this one.
        let hash = self.hash(marks.table, token, known.place());
        let id = self.slot(marks.table, hash, known.key(), known.place())?;
        if !self.slots.get(id).body.as_ref().is_some_and(|body| body.is(known)) {
            return None;
        }
        if pending.body.is_some() {
            self.count(|counters| counters.merged += 1);
        }
        self.change(id, |slot| slot.pending = Some(Box::new(pending)));
        Some(id)
    }

    /// Makes a pending body that counts the entry's own. False: nothing of the entry counts any more, and it is gone.
    pub(super) fn settle(&mut self, id: u32, marks: &Marks) -> bool {
        if self.slots.get(id).content(marks).is_none() {
            self.remove(id);
            return false;
        }
        let is_due = |pending: &Pending| pending.frozen < marks.flushed_below;
        if self.slots.get(id).pending.as_deref().is_some_and(is_due) {
            self.change(id, |slot| {
                let pending = slot.pending.take().expect("it was just seen");
                (slot.body, slot.rows) = (pending.body, pending.rows);
            });
        }
        true
    }

    /// Changes what an entry takes.
    fn change(&mut self, id: u32, change: impl FnOnce(&mut Slot)) {
        let slot = self.slots.get_mut(id);
        let before = slot.weight();
        change(slot);
        let (after, is_main) = (slot.weight(), slot.is_main);
        let queue = if is_main { &mut self.main } else { &mut self.small };
        queue.bytes = queue.bytes - before + after;
    }

    /// Evicts until `needed` more bytes fit. False: they do not.
    fn make_room(&mut self, needed: usize, used: usize) -> bool {
        let limit = self.limit(used);
        let needed = needed + self.slots.bytes_for_next();
        for _ in 0..STEPS_MAX {
            if self.bytes() + needed <= limit {
                return true;
            }
            if !self.evict_one() {
                return false;
            }
        }
        self.bytes() + needed <= limit
    }

    /// One step: the oldest of a queue leaves, or goes where it is kept for longer. False: there is none.
    fn evict_one(&mut self) -> bool {
        let is_small_due = self.small.bytes > (self.small.bytes + self.main.bytes) / SMALL_PART;
        let id = match (self.small.oldest(), self.main.oldest()) {
            (Some(small), None) => small,
            (Some(small), Some(_)) if is_small_due => small,
            (_, Some(main)) => main,
            (None, None) => return false,
        };
        let (is_main, uses) = (self.slots.get(id).is_main, self.slots.get(id).uses.get());
        let stays = if is_main { uses > 0 } else { uses >= USES_FOR_MAIN };
        if !stays {
            let hash = self.slots.get(id).hash;
            self.remove(id);
            if !is_main {
                self.ghosts.note(hash, Ghost::Left);
            }
            self.count(|counters| counters.evictions += 1);
            return true;
        }
        if is_main {
            self.main.remove(&mut self.slots, id);
        } else {
            self.small.remove(&mut self.slots, id);
        }
        let slot = self.slots.get_mut(id);
        slot.uses.set(if is_main { uses - 1 } else { 0 });
        slot.is_main = true;
        self.main.push(&mut self.slots, id);
        true
    }

    /// Takes an entry away.
    pub(super) fn remove(&mut self, id: u32) {
        let slot = self.slots.get(id);
        let (hash, next, is_main) = (slot.hash, slot.chain, slot.is_main);
        if is_main {
            self.main.remove(&mut self.slots, id);
        } else {
            self.small.remove(&mut self.slots, id);
        }
        let bucket = self.bucket(hash);
        if self.index.get(bucket) == id + 1 {
            *self.index.get_mut(bucket) = next;
        } else {
            let mut at = self.index.get(bucket) - 1;
            while self.slots.get(at).chain != id + 1 {
                at = self.slots.get(at).chain - 1;
            }
            self.slots.get_mut(at).chain = next;
        }
        self.slots.put_back(id);
    }
}

/// Folds the product of two numbers: each bit of either comes into each of the result's.
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b | 1);
    (product as u64) ^ ((product >> 64) as u64)
}
