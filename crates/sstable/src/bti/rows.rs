//! Rows.db: for each wide partition a trie of what separates its blocks, then an entry.
//!
//! ```text
//! trie │ key: u16 length, bytes │ partition in Data.db: vint │ root: signed vint, from here │ count of blocks: vint │ deletion
//!                               └ "here"
//! ```
//!
//! A path is a separator: greater than the byte-comparable form of the last row of the block before, and at most that of the first row of
//! its own; the first block's is empty. One more stands behind all rows, for where they end. A payload's bits are the count of bytes of its offset, plus 8
//! if a range deletion is open there; then the offset, from the partition's beginning, and the deletion. (Source: Cassandra 5.0's
//! `BtiFormat.md`, `RowIndexWriter`, `TrieIndexEntry`.)

use mutation::Deletion;
use schema::Column;
use stdx::{Reader, varint};

use super::cursor::{Cursor, Found};
use super::node::Node;
use super::writer::{Payload, TrieWriter, put_signed, signed_len};
use crate::blocks::{Block, Blocks};
use crate::pages::{LookupError, Pages, read, read_some};
use crate::{Corrupt, Version, byte_comparable, deletion};

/// The bytes of data after which a block ends, Cassandra's `column_index_size`.
pub const BLOCK_LENGTH: u64 = 16 << 10;

/// A payload holds a deletion.
const IS_OPEN: u8 = 8;

/// The most bytes of an entry behind its key: two long numbers, a short one, a deletion.
const ENTRY_LENGTH_MAX: usize = 2 * varint::LENGTH_MAX + 5 + Deletion::LENGTH;

/// A wide partition's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowIndex {
    /// Where the partition begins in Data.db.
    pub data_position: u64,
    /// The partition's deletion.
    pub deletion: Option<Deletion>,
    /// How many blocks it has.
    pub block_count: u32,
    root: u64,
}

impl RowIndex {
    /// Reads the entry at `position` of Rows.db and puts its partition's key into `key`.
    pub fn open(pages: &(impl Pages + ?Sized), position: u64, key: &mut Vec<u8>) -> Result<RowIndex, LookupError> {
        key.clear();
        read(pages, position, 2, key)?;
        let length = usize::from(u16::from_be_bytes([key[0], key[1]]));
        key.clear();
        read(pages, position.saturating_add(2), length, key)?;
        let base = position.saturating_add(2 + length as u64);
        let mut bytes = [0; ENTRY_LENGTH_MAX];
        let bytes = read_some(pages, base, &mut bytes)?;
        Self::decode(bytes, base).map_err(LookupError::Corrupt)
    }

    fn decode(bytes: &[u8], base: u64) -> Result<RowIndex, Corrupt> {
        let mut reader = Reader::new(bytes);
        let corrupt = |error: stdx::ReadError| Corrupt::new(base, error.to_string());
        let data_position = reader.varint().map_err(corrupt)?;
        let distance = varint::unzigzag(reader.varint().map_err(corrupt)?);
        let block_count = reader.varint().map_err(corrupt)?;
        let deletion = deletion::read(Version::DA, &mut reader).map_err(corrupt)?;
        let root = base.checked_add_signed(distance).filter(|&root| root < base);
        let root =
            root.ok_or_else(|| Corrupt::new(base, format!("the root distance of {distance} bytes is out of range")))?;
        let block_count =
            u32::try_from(block_count).map_err(|_| Corrupt::new(base, format!("{block_count} blocks")))?;
        Ok(RowIndex { data_position, deletion, block_count, root })
    }

    /// The blocks that may hold rows or markers between the places of the forms `start` and `end`
    /// ([`crate::byte_comparable::bound`]).
    pub fn blocks(&self, pages: &(impl Pages + ?Sized), start: &[u8], end: &[u8]) -> Result<Blocks, LookupError> {
        let (front, first) = self.floor(pages, start)?;
        let (mut back, last) = self.floor(pages, end)?;
        // What is behind the last block says where that ends; the end's own entry has nothing behind it.
        let ends = match back.next(pages)? {
            Some(node) => {
                let ends = entry(&node)?.offset;
                back.previous(pages)?;
                ends
            }
            None => {
                back.previous(pages)?;
                last.offset
            }
        };
        Ok(Blocks::Bti(RowBlocks { front, first, back, ends }))
    }

    /// The last entry that is not greater than `form`, and a cursor behind it.
    fn floor(&self, pages: &(impl Pages + ?Sized), form: &[u8]) -> Result<(Cursor, Entry), LookupError> {
        let mut cursor = Cursor::new(self.root);
        if cursor.seek(pages, self.root, form)? != Found::Between {
            cursor.pass();
        }
        let Some(node) = cursor.previous(pages)? else {
            return Err(Corrupt::new(self.root, "the first block has no entry").into());
        };
        let first = entry(&node)?;
        cursor.next(pages)?;
        Ok((cursor, first))
    }
}

/// What a separator leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// Where the block begins, from the partition's beginning.
    offset: u64,
    open: Option<Deletion>,
}

fn entry(node: &Node<'_>) -> Result<Entry, Corrupt> {
    let bits = node.payload_bits();
    let length = usize::from(bits & !IS_OPEN);
    let is_open = bits & IS_OPEN != 0;
    let bytes = node.payload(length + if is_open { Deletion::LENGTH } else { 0 })?;
    let (offset, rest) = bytes.split_at(length);
    let offset = offset.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    let open = rest.first_chunk().map(|bytes| Deletion::from_bytes(*bytes));
    Ok(Entry { offset, open })
}

/// The blocks of a slice.
#[derive(Debug, Clone)]
pub struct RowBlocks {
    /// Behind `first`'s entry.
    front: Cursor,
    /// The first block that was not given yet.
    first: Entry,
    /// Behind the entry of the last block that was not given yet.
    back: Cursor,
    /// Where that block ends.
    ends: u64,
}

impl RowBlocks {
    pub(crate) fn next(&mut self, pages: &(impl Pages + ?Sized)) -> Result<Option<Block>, LookupError> {
        if self.first.offset >= self.ends {
            return Ok(None);
        }
        let Some(node) = self.front.next(pages)? else {
            return Err(Corrupt::new(0, "a partition's last block has no end").into());
        };
        let next = entry(&node)?;
        if next.offset <= self.first.offset {
            return Err(Corrupt::new(node.position(), "blocks are out of order").into());
        }
        let first = std::mem::replace(&mut self.first, next);
        Ok(Some(Block { begins: first.offset, ends: next.offset, open: first.open }))
    }

    pub(crate) fn next_back(&mut self, pages: &(impl Pages + ?Sized)) -> Result<Option<Block>, LookupError> {
        if self.first.offset >= self.ends {
            return Ok(None);
        }
        let Some(node) = self.back.previous(pages)? else {
            return Err(Corrupt::new(0, "a partition's first block has no entry").into());
        };
        let Entry { offset, open } = entry(&node)?;
        if offset >= self.ends {
            return Err(Corrupt::new(node.position(), "blocks are out of order").into());
        }
        let ends = std::mem::replace(&mut self.ends, offset);
        Ok(Some(Block { begins: offset, ends, open }))
    }
}

impl Payload for Entry {
    fn bits(&self) -> u8 {
        signed_len(self.offset.cast_signed()) as u8 | if self.open.is_some() { IS_OPEN } else { 0 }
    }

    fn len(&self) -> usize {
        signed_len(self.offset.cast_signed()) + if self.open.is_some() { Deletion::LENGTH } else { 0 }
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_signed(self.offset.cast_signed(), out);
        if let Some(open) = self.open {
            out.extend_from_slice(&open.to_bytes());
        }
    }
}

/// Writes Rows.db as rows come, in order.
///
/// A partition gets no index if the forms of its rows are not in order as the rows are, which a few values of tuples bring about
/// ([`byte_comparable::is_in_order`]): no separator would be right then, and whoever reads it goes through all of it.
#[derive(Debug)]
pub struct RowIndexWriter {
    trie: TrieWriter<Entry>,
    /// Whether every row's form has to be looked at for its order.
    is_watchful: bool,
    is_in_order: bool,
    /// The block that was begun, if one was.
    block: Option<Entry>,
    /// The range deletion that holds behind the last row.
    open: Option<Deletion>,
    /// Blocks of this partition that are complete.
    count: u32,
    /// The form of the last row of the last complete block.
    last_of_block: Vec<u8>,
    /// The separator before the block that was begun.
    separator: Vec<u8>,
    /// The last row's form and that of the one before, of those that were asked for.
    form: Vec<u8>,
    before: Vec<u8>,
}

impl RowIndexWriter {
    /// A writer at the beginning of the file of a table with these clustering columns.
    pub fn new(columns: &[Column]) -> Self {
        RowIndexWriter {
            trie: TrieWriter::new(0),
            is_watchful: !columns.iter().all(|column| byte_comparable::is_in_order(&column.ty)),
            is_in_order: true,
            block: None,
            open: None,
            count: 0,
            last_of_block: Vec::new(),
            separator: Vec::new(),
            form: Vec::new(),
            before: Vec::new(),
        }
    }

    /// Adds the next row or marker of the partition, whose bytes lie from `begins` to `ends`, counted from the partition's beginning in
    /// Data.db. `open` is the range deletion that holds behind it. `form` appends its byte-comparable form; it is asked for only where it may be
    /// needed: at a block's end, and in partitions that have a block.
    pub fn add(
        &mut self,
        begins: u64,
        ends: u64,
        open: Option<Deletion>,
        form: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        let block = *self.block.get_or_insert(Entry { offset: begins, open: self.open });
        let is_first_of_block = block.offset == begins;
        self.open = open;
        let is_last_of_block = ends - block.offset >= BLOCK_LENGTH;
        if self.count > 0 || is_last_of_block || self.is_watchful {
            std::mem::swap(&mut self.form, &mut self.before);
            self.form.clear();
            form(&mut self.form);
            self.is_in_order &= self.form > self.before;
        }
        if self.count > 0 && is_first_of_block && self.is_in_order {
            self.separate();
        }
        if is_last_of_block {
            self.end_block(block, out);
        }
    }

    /// Finds the separator between the last block and the row that begins the next: what both have in common, then a byte greater by one than that
    /// of the last block's last row.
    fn separate(&mut self) {
        let common = self.form.iter().zip(&self.last_of_block).take_while(|(a, b)| a == b).count();
        self.separator.clear();
        self.separator.extend_from_slice(&self.form[..common]);
        // Behind the end of the last one, which Cassandra has as a byte of -1.
        self.separator.push(self.last_of_block.get(common).map_or(0, |byte| byte + 1));
    }

    fn end_block(&mut self, block: Entry, out: &mut Vec<u8>) {
        if self.is_in_order {
            self.trie.add(&self.separator, block, out);
        }
        self.last_of_block.clear();
        self.last_of_block.extend_from_slice(&self.form);
        self.block = None;
        self.count += 1;
    }

    /// Ends the partition, whose rows end at `ends` (before the byte that ends it). Gives the position of its entry; `None`: it
    /// has none.
    pub fn end_partition(
        &mut self,
        key: &[u8],
        data_position: u64,
        deletion: Option<Deletion>,
        ends: u64,
        out: &mut Vec<u8>,
    ) -> Option<u64> {
        if let Some(block) = self.block.take()
            && self.count > 0
        {
            self.end_block(block, out);
        }
        let count = self.count;
        let position = (count > 1 && self.is_in_order).then(|| {
            self.add_end(ends, out);
            let root = self.trie.complete(out);
            self.put_entry(key, data_position, deletion, root, count, out)
        });
        if count > 0 && position.is_none() {
            self.trie.abandon();
        }
        self.is_in_order = true;
        self.open = None;
        self.count = 0;
        self.separator.clear();
        self.form.clear();
        position
    }

    /// Adds what is behind all rows: the last row's form up to the byte that differs from the last separator, greater by one.
    fn add_end(&mut self, ends: u64, out: &mut Vec<u8>) {
        let max = &self.last_of_block;
        let common = max.iter().zip(&self.separator).take_while(|(a, b)| a == b).count();
        assert!(common < max.len(), "a separator is not greater than its block's last row");
        // A byte of ff cannot be raised; then the next is.
        let raised = common + max[common..].iter().take_while(|&&byte| byte == 0xff).count();
        let mut behind = max[..max.len().min(raised + 1)].to_vec();
        match behind.get_mut(raised) {
            Some(byte) => *byte += 1,
            None => behind.push(0),
        }
        self.trie.add(&behind, Entry { offset: ends, open: None }, out);
    }

    fn put_entry(
        &mut self,
        key: &[u8],
        data_position: u64,
        deletion: Option<Deletion>,
        root: u64,
        count: u32,
        out: &mut Vec<u8>,
    ) -> u64 {
        let position = self.trie.position();
        let length = u16::try_from(key.len()).expect("a partition key has at most 65,535 bytes");
        let base = position + 2 + u64::from(length);
        let mut bytes = Vec::with_capacity(2 + key.len() + ENTRY_LENGTH_MAX);
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(key);
        varint::encode(data_position, &mut bytes);
        varint::encode(varint::zigzag(root.wrapping_sub(base).cast_signed()), &mut bytes);
        varint::encode(u64::from(count), &mut bytes);
        deletion::put(deletion, &mut bytes);
        self.trie.append(&bytes, out);
        position
    }
}
