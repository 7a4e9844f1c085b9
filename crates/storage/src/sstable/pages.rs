//! Pages of index files, and a shard's bounded cache of them.
//!
//! A lookup in a trie is a pure function that asks for pages by number. What is in the cache it gets at once and keeps hold of to
//! its end; for a page that is not there it stops, the page is read, checked against Helenus.db's checksum, put into the
//! cache, and the lookup begins again.
//!
//! The cache is a clock: a page that was used since the hand last came by stays for another round. A file's number is never used
//! again, so pages of files that are gone are not found any more and go when the hand comes by.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use planted::Planted;
use runtime::{AlignedBuf, File};
use sstable::checksum::crc32;
use sstable::helenus_component::PAGE_BYTES;

use crate::sstable::error::ReadError;

/// What a page takes in the cache beside its bytes.
const PAGE_OVERHEAD_BYTES: usize = 96;

/// A page's bytes, which its users share with the cache.
pub(super) type Page = Rc<AlignedBuf>;

/// How often a shard's SSTables were read from the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadCounts {
    /// Reads of data files.
    pub data_reads: u64,
    /// Bytes of them.
    pub data_bytes: u64,
    /// Reads of index files, those when a file is opened aside.
    pub index_reads: u64,
    /// Index pages that were in the cache.
    pub index_hits: u64,
    /// Index pages evicted to make room.
    pub index_evictions: u64,
}

/// A shard's cache of index pages.
#[derive(Debug)]
pub struct PageCache {
    state: RefCell<State>,
    counts: Cell<ReadCounts>,
    planted: Planted,
}

#[derive(Debug, Default)]
struct State {
    places: HashMap<PageKey, usize, BuildHasherDefault<PageHasher>>,
    slots: Vec<Slot>,
    hand: usize,
    pages_max: usize,
    files: u32,
}

#[derive(Debug)]
struct Slot {
    key: PageKey,
    page: Page,
    is_used: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PageKey {
    file: u32,
    number: u32,
}

/// Mixes file and page numbers, which nobody outside chooses.
#[derive(Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        let mixed = (self.0 ^ u64::from(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl PageCache {
    /// An empty cache for at most `bytes_max`, but room for a few pages there always is.
    pub fn new(bytes_max: usize) -> Rc<Self> {
        Self::new_planted(bytes_max, Planted::NONE)
    }

    /// [`PageCache::new`] for files in which a bug is planted.
    pub fn new_planted(bytes_max: usize, planted: Planted) -> Rc<Self> {
        let state = State { pages_max: pages_in(bytes_max), ..State::default() };
        Rc::new(PageCache { state: RefCell::new(state), counts: Cell::default(), planted })
    }

    /// The bug that was planted on purpose, in builds for that.
    pub(super) fn planted(&self) -> Planted {
        self.planted
    }

    /// The bytes that its pages take.
    pub fn bytes(&self) -> usize {
        self.state.borrow().slots.len() * (PAGE_BYTES + PAGE_OVERHEAD_BYTES)
    }

    /// From now on it takes at most `bytes_max`.
    pub fn set_bytes_max(&self, bytes_max: usize) {
        let mut state = self.state.borrow_mut();
        state.pages_max = pages_in(bytes_max);
        while state.slots.len() > state.pages_max {
            let last = state.slots.pop().expect("there are more than the least");
            state.places.remove(&last.key);
        }
        state.hand = 0;
    }

    /// How often the shard's SSTables were read from the device.
    pub fn counts(&self) -> ReadCounts {
        self.counts.get()
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut ReadCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// A number that no other file of the shard has.
    pub(super) fn new_file(&self) -> u32 {
        let mut state = self.state.borrow_mut();
        state.files = state.files.checked_add(1).expect("a process opens fewer than 4 billion files");
        state.files
    }

    fn get(&self, key: PageKey) -> Option<Page> {
        let mut state = self.state.borrow_mut();
        let place = *state.places.get(&key)?;
        let slot = &mut state.slots[place];
        slot.is_used = true;
        let page = slot.page.clone();
        drop(state);
        self.count(|counts| counts.index_hits += 1);
        Some(page)
    }

    fn put(&self, key: PageKey, page: Page) {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        if let Some(&place) = state.places.get(&key) {
            // Two lookups wanted it at once.
            state.slots[place].page = page;
            return;
        }
        // A page that is used but once, as in a scan, is the next to go.
        let slot = Slot { key, page, is_used: false };
        if state.slots.len() < state.pages_max {
            state.places.insert(key, state.slots.len());
            state.slots.push(slot);
            return;
        }
        while std::mem::take(&mut state.slots[state.hand].is_used) {
            state.hand = (state.hand + 1) % state.slots.len();
        }
        let place = state.hand;
        state.hand = (place + 1) % state.slots.len();
        state.places.remove(&state.slots[place].key);
        state.places.insert(key, place);
        state.slots[place] = slot;
        self.count(|counts| counts.index_evictions += 1);
    }
}

fn pages_in(bytes: usize) -> usize {
    (bytes / (PAGE_BYTES + PAGE_OVERHEAD_BYTES)).max(8)
}

/// An index file, read by pages.
pub(super) struct PagedFile {
    pub(super) path: PathBuf,
    file: File,
    length: u64,
    number: u32,
    /// A checksum for each page; none for files that others wrote.
    sums: Option<Vec<u32>>,
    cache: Rc<PageCache>,
}

impl PagedFile {
    /// The file of `length` bytes with pages' checksums `sums`.
    pub(super) fn new(cache: &Rc<PageCache>, path: &Path, file: File, length: u64, sums: Option<Vec<u32>>) -> Self {
        PagedFile { path: path.to_owned(), file, length, number: cache.new_file(), sums, cache: cache.clone() }
    }

    /// Its bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The page, from the cache or the device.
    pub(super) async fn load(&self, number: u32) -> Result<Page, ReadError> {
        let key = PageKey { file: self.number, number };
        if let Some(page) = self.cache.get(key) {
            return Ok(page);
        }
        let offset = u64::from(number) * PAGE_BYTES as u64;
        if offset >= self.length {
            let what = format!("page {number} is after the end of the index ({} bytes)", self.length);
            return Err(ReadError::Corrupt { path: self.path.clone(), offset, what });
        }
        self.cache.count(|counts| counts.index_reads += 1);
        let (result, buffer) = self.file.read_at(AlignedBuf::with_capacity(PAGE_BYTES), offset).await;
        result.map_err(ReadError::io(&self.path, offset))?;
        let wanted = (self.length - offset).min(PAGE_BYTES as u64);
        let problem = match &self.sums {
            _ if buffer.len() as u64 != wanted => Some(format!("{} of {wanted} bytes", buffer.len())),
            Some(sums) if sums.get(number as usize).copied() != Some(crc32(&buffer)) => {
                Some(format!("the checksum of page {number} does not match"))
            }
            _ => None,
        };
        if let Some(what) = problem {
            return Err(ReadError::Corrupt { path: self.path.clone(), offset, what });
        }
        let page = Rc::new(buffer);
        self.cache.put(key, page.clone());
        Ok(page)
    }

    /// Hands out the pages that are in the cache, for one lookup.
    pub(super) fn held(&self) -> HeldPages<'_> {
        HeldPages { file: self, pages: [const { OnceCell::new() }; HELD_AT_ONCE], more: OnceCell::new() }
    }
}

/// A page that a lookup holds.
type Held = OnceCell<(u32, Page)>;

/// The pages that a lookup holds without taking memory: a trie is hardly ever deeper.
const HELD_AT_ONCE: usize = 8;
/// How many more it gets room for each time.
const HELD_MORE: usize = 64;
/// No trie is so deep, whatever the keys' length: a lookup that looks at more pages goes in circles.
const HELD_MAX: usize = 16 << 10;

/// The pages that a lookup looked at, which stay until it is done.
pub(super) struct HeldPages<'f> {
    file: &'f PagedFile,
    pages: [Held; HELD_AT_ONCE],
    more: OnceCell<Box<MorePages>>,
}

struct MorePages {
    pages: [Held; HELD_MORE],
    more: OnceCell<Box<MorePages>>,
}

impl HeldPages<'_> {
    /// The page, if it is here or in the cache.
    pub(super) fn page(&self, number: u32) -> Option<&[u8]> {
        let held = self.place(number)?;
        let page = match held.get() {
            Some((_, page)) => page,
            None => {
                let page = self.file.cache.get(PageKey { file: self.file.number, number })?;
                &held.get_or_init(|| (number, page)).1
            }
        };
        Some(&page[..])
    }

    /// Keeps hold of a page that was loaded for this lookup. `false`: it goes in circles.
    pub(super) fn hold(&self, number: u32, page: Page) -> bool {
        self.place(number).is_some_and(|held| held.set((number, page)).is_ok())
    }

    /// Where the page is held, or is to be.
    fn place(&self, number: u32) -> Option<&Held> {
        let is_it = |held: &&Held| held.get().is_none_or(|(of, _)| *of == number);
        if let Some(held) = self.pages.iter().find(is_it) {
            return Some(held);
        }
        let mut more = &self.more;
        for _ in 0..HELD_MAX / HELD_MORE {
            let block = more.get_or_init(|| {
                Box::new(MorePages { pages: [const { OnceCell::new() }; HELD_MORE], more: OnceCell::new() })
            });
            if let Some(held) = block.pages.iter().find(is_it) {
                return Some(held);
            }
            more = &block.more;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(of: u8) -> Page {
        Rc::new(AlignedBuf::from(&[of][..]))
    }

    fn key(number: u32) -> PageKey {
        PageKey { file: 1, number }
    }

    #[test]
    fn pages_in_use_stay_and_the_others_go() {
        let cache = PageCache::new(0);
        for number in 0..8 {
            cache.put(key(number), page(number as u8));
        }
        for number in 8..100 {
            assert_eq!(cache.get(key(3)).as_deref(), Some(&*page(3)), "page 3 is in use");
            cache.put(key(number), page(number as u8));
            assert_eq!(cache.get(key(number)).as_deref(), Some(&*page(number as u8)));
        }
        assert_eq!(cache.state.borrow().slots.len(), 8);
        assert_eq!(cache.state.borrow().places.len(), 8);
        assert_eq!(cache.counts().index_evictions, 92);
        assert!(cache.get(key(0)).is_none());
    }

    #[test]
    fn it_shrinks_when_told() {
        let cache = PageCache::new(100 * 8192);
        for number in 0..100 {
            cache.put(key(number), page(number as u8));
        }
        assert!(cache.bytes() > 100 * PAGE_BYTES);
        cache.set_bytes_max(20 * (PAGE_BYTES + PAGE_OVERHEAD_BYTES));
        assert_eq!(cache.state.borrow().slots.len(), 20);
        for number in 0..200 {
            let found = cache.get(key(number));
            assert!(found.is_none_or(|found| found == page(number as u8)));
            cache.put(key(number), page(number as u8));
        }
        assert_eq!(cache.state.borrow().places.len(), 20);
    }
}
