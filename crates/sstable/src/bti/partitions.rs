//! Partitions.db: from a partition's key to its place.
//!
//! ```text
//! trie │ first key, last key: u16 length, bytes │ where they are: u64 │ count: u64 │ root: u64
//! ```
//!
//! A path is the shortest beginning of a key's byte-comparable form that no other key has. A payload's bits are 7 + the count of bytes of its place,
//! and it is a byte of the key's hash, then the place: the offset in Rows.db, or the complement (`!`) of that in Data.db, big-endian. Files of before
//! Cassandra 5 may lack the hash; then the bits are the count alone. (Source: Cassandra 5.0's `BtiFormat.md`, `PartitionIndexBuilder`.)

use stdx::Reader;
use topology::Token;

use super::cursor::{Cursor, Found, descend};
use super::node::Node;
use super::writer::{Payload, TrieWriter, put_signed, signed_len};
use crate::bloom::KeyHash;
use crate::pages::{LookupError, Pages, read};
use crate::{Corrupt, byte_comparable};

/// The bytes at the file's end that say where all else is.
const FOOTER_LENGTH: u64 = 24;

/// A payload has a hash if its bits are as much or more.
const HAS_HASH: u8 = 8;

/// Where a partition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partition {
    /// At this offset in Data.db: it has no row index.
    Data(u64),
    /// Its entry is at this offset in Rows.db.
    Rows(u64),
}

impl Partition {
    fn to_stored(self) -> i64 {
        match self {
            Partition::Data(offset) => !offset.cast_signed(),
            Partition::Rows(offset) => offset.cast_signed(),
        }
    }

    fn from_stored(stored: i64) -> Partition {
        if stored < 0 { Partition::Data(!stored.cast_unsigned()) } else { Partition::Rows(stored.cast_unsigned()) }
    }
}

/// What is known of Partitions.db without its trie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionIndex {
    /// The first partition's key.
    pub first_key: Vec<u8>,
    /// The last partition's key.
    pub last_key: Vec<u8>,
    /// How many partitions there are.
    pub count: u64,
    root: u64,
}

impl PartitionIndex {
    /// Reads the end of a file of `length` bytes.
    pub fn open(pages: &(impl Pages + ?Sized), length: u64) -> Result<PartitionIndex, LookupError> {
        let footer_at = length.checked_sub(FOOTER_LENGTH).ok_or_else(|| Corrupt::new(0, "the file has no footer"))?;
        let mut bytes = Vec::new();
        read(pages, footer_at, FOOTER_LENGTH as usize, &mut bytes)?;
        let mut footer = Reader::new(&bytes);
        let mut number = || footer.u64().expect("the footer has three numbers");
        let (keys_at, count, root) = (number(), number(), number());
        let keys_length = footer_at.checked_sub(keys_at).and_then(|length| usize::try_from(length).ok());
        let keys_length = keys_length.filter(|&length| length <= 2 * (2 + usize::from(u16::MAX)));
        let Some(keys_length) = keys_length else {
            return Err(Corrupt::new(footer_at, format!("the position {keys_at} of the keys is out of range")).into());
        };
        if root >= keys_at {
            return Err(Corrupt::new(footer_at + 16, format!("the position {root} of the root is out of range")).into());
        }
        bytes.clear();
        read(pages, keys_at, keys_length, &mut bytes)?;
        let mut keys = Reader::new(&bytes);
        let mut key = || -> Result<Vec<u8>, stdx::ReadError> {
            let length = keys.u16()?;
            keys.bytes(usize::from(length)).map(<[u8]>::to_vec)
        };
        match (key(), key()) {
            (Ok(first_key), Ok(last_key)) => Ok(PartitionIndex { first_key, last_key, count, root }),
            (Err(error), _) | (_, Err(error)) => Err(Corrupt::new(keys_at, error.to_string()).into()),
        }
    }

    /// Where the key of that form ([`byte_comparable::key`]) and hash is, if it is there at all: only the first bytes that tell
    /// the keys apart are in the trie, so whoever reads the place compares the key there.
    pub fn find(
        &self,
        pages: &(impl Pages + ?Sized),
        form: &[u8],
        hash: KeyHash,
    ) -> Result<Option<Partition>, LookupError> {
        let (node, is_whole) = descend(pages, self.root, form)?;
        if node.payload_bits() == 0 || (node.slots() > 0 && !is_whole) {
            return Ok(None);
        }
        let (place, stored_hash) = payload(&node)?;
        Ok(stored_hash.is_none_or(|byte| byte == hash.low_byte()).then_some(place))
    }

    /// A cursor before all partitions.
    pub fn start(&self) -> PartitionCursor {
        PartitionCursor { cursor: Cursor::new(self.root) }
    }

    /// Sets `cursor` so that [`PartitionCursor::next`] gives every partition whose key's form is `form` or greater, and before them at
    /// most one that is less: the first key has to be compared where it lies.
    pub fn seek(
        &self,
        pages: &(impl Pages + ?Sized),
        form: &[u8],
        cursor: &mut PartitionCursor,
    ) -> Result<(), LookupError> {
        cursor.cursor.seek(pages, self.root, form).map(|_| ())
    }

    /// The same for [`PartitionCursor::previous`]: it gives every partition up to `form`, and before them at most one
    /// that is greater.
    pub fn seek_back(
        &self,
        pages: &(impl Pages + ?Sized),
        form: &[u8],
        cursor: &mut PartitionCursor,
    ) -> Result<(), LookupError> {
        if cursor.cursor.seek(pages, self.root, form)? != Found::Between {
            cursor.cursor.pass();
        }
        Ok(())
    }
}

/// The place in a node's payload, and the hash if there is one.
#[inline]
fn payload(node: &Node<'_>) -> Result<(Partition, Option<u8>), Corrupt> {
    let bits = node.payload_bits();
    let (hash, place) = if bits >= HAS_HASH {
        let bytes = node.payload(usize::from(bits - HAS_HASH) + 2)?;
        (Some(bytes[0]), &bytes[1..])
    } else {
        (None, node.payload(usize::from(bits))?)
    };
    // The first bit is the sign.
    let first = place.first().map_or(0, |&byte| i64::from(byte as i8) >> 8);
    let stored = place.iter().fold(first, |value, &byte| value << 8 | i64::from(byte));
    Ok((Partition::from_stored(stored), hash))
}

/// A place between partitions, in order of token and key. After an error the call may be tried again.
#[derive(Debug, Clone)]
pub struct PartitionCursor {
    cursor: Cursor,
}

impl PartitionCursor {
    /// The partition behind it, which it moves over.
    pub fn next(&mut self, pages: &(impl Pages + ?Sized)) -> Result<Option<Partition>, LookupError> {
        match self.cursor.next(pages)? {
            Some(node) => Ok(Some(payload(&node)?.0)),
            None => Ok(None),
        }
    }

    /// The partition before it, which it moves over.
    pub fn previous(&mut self, pages: &(impl Pages + ?Sized)) -> Result<Option<Partition>, LookupError> {
        match self.cursor.previous(pages)? {
            Some(node) => Ok(Some(payload(&node)?.0)),
            None => Ok(None),
        }
    }
}

/// What a path leads to.
#[derive(Debug, Clone, Copy)]
struct Stored {
    place: i64,
    hash: u8,
}

impl Payload for Stored {
    fn bits(&self) -> u8 {
        HAS_HASH + signed_len(self.place) as u8 - 1
    }

    fn len(&self) -> usize {
        1 + signed_len(self.place)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.hash);
        put_signed(self.place, out);
    }
}

/// Writes Partitions.db as partitions come, in order.
#[derive(Debug)]
pub struct PartitionIndexWriter {
    trie: TrieWriter<Stored>,
    first_key: Vec<u8>,
    /// The last partition's key, its form and what it leads to: how much of the form is needed is known when the next one comes.
    last_key: Vec<u8>,
    last_form: Vec<u8>,
    last: Option<Stored>,
    /// The bytes of the last form up to the first that differs from the one before.
    differs_at: usize,
    form: Vec<u8>,
    count: u64,
}

impl Default for PartitionIndexWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl PartitionIndexWriter {
    /// A writer at the beginning of the file.
    pub fn new() -> Self {
        PartitionIndexWriter {
            trie: TrieWriter::new(0),
            first_key: Vec::new(),
            last_key: Vec::new(),
            last_form: Vec::new(),
            last: None,
            differs_at: 0,
            form: Vec::new(),
            count: 0,
        }
    }

    /// Adds the next partition. Bytes that are ready are appended to `out`, whose content the caller may take at any time: all that is
    /// ever appended, in order, is the file.
    ///
    /// # Panics
    ///
    /// If the key is not greater than the one before, or longer than 65,535 bytes.
    pub fn add(&mut self, token: Token, key: &[u8], hash: KeyHash, place: Partition, out: &mut Vec<u8>) {
        assert!(u16::try_from(key.len()).is_ok(), "a partition key has at most 65,535 bytes");
        self.form.clear();
        byte_comparable::key(token, key, &mut self.form);
        match self.last.take() {
            None => self.first_key.extend_from_slice(key),
            Some(last) => {
                let common = self.form.iter().zip(&self.last_form).take_while(|(a, b)| a == b).count();
                assert!(self.form.get(common) > self.last_form.get(common), "partitions are added in order");
                let length = (common + 1).max(self.differs_at);
                self.trie.add(&self.last_form[..length.min(self.last_form.len())], last, out);
                self.differs_at = common + 1;
            }
        }
        self.last = Some(Stored { place: place.to_stored(), hash: hash.low_byte() });
        std::mem::swap(&mut self.form, &mut self.last_form);
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.count += 1;
    }

    /// Appends the rest of the file.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        while !self.finish_some(out) {}
    }

    /// Writes some pages of what is left; to be called until it is true, and then nothing more.
    pub fn finish_some(&mut self, out: &mut Vec<u8>) -> bool {
        if let Some(last) = self.last.take() {
            self.trie.add(&self.last_form[..self.differs_at.min(self.last_form.len())], last, out);
        }
        let Some(root) = self.trie.complete_some(out) else { return false };
        let keys_at = self.trie.position();
        for key in [&self.first_key, &self.last_key] {
            out.extend_from_slice(&(key.len() as u16).to_be_bytes());
            out.extend_from_slice(key);
        }
        for number in [keys_at, self.count, root] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        true
    }
}
