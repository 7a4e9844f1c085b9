//! Leaves and inner nodes: written entry by entry, read entry by entry. Their layout is at the head of `component.rs`.

use sstable::Corrupt;
use stdx::{ReadError, Reader, varint};

use super::{CHILDREN_MAX, LEAF_TERMS_MAX, NODE_BYTES_ENOUGH, NODE_BYTES_MAX};
use crate::postings::{ListRef, Posting};

/// Where a term's postings are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It has this one.
    One(Posting),
    /// In a list.
    List(ListRef),
}

/// A node below an inner node. Offsets are the segment's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Child {
    /// All below it stands from here on.
    pub(crate) low: u64,
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) length: u64,
    /// Terms below it.
    pub(crate) terms: u64,
    /// Postings below it: the sum over its terms.
    pub(crate) postings: u64,
    /// All of them, each once.
    pub(crate) merged: Option<ListRef>,
}

/// A node that is being written.
#[derive(Debug, Default)]
pub(super) struct NodeWriter {
    /// The entries.
    bytes: Vec<u8>,
    count: usize,
    /// The term or separator of the last entry.
    last_key: Vec<u8>,
}

impl NodeWriter {
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// True if a leaf takes no further term.
    pub(super) fn is_full_leaf(&self) -> bool {
        self.count == LEAF_TERMS_MAX || self.bytes.len() >= NODE_BYTES_ENOUGH
    }

    /// True if an inner node takes no further child.
    pub(super) fn is_full_inner(&self) -> bool {
        self.count == CHILDREN_MAX || (self.count > 1 && self.bytes.len() >= NODE_BYTES_ENOUGH)
    }

    /// Adds a term with its postings.
    pub(super) fn add_term(&mut self, term: &[u8], postings: u64, place: Place, segment: u64) {
        self.add_key(term);
        varint::encode(postings, &mut self.bytes);
        match place {
            Place::One(posting) => {
                self.bytes.extend_from_slice(&posting.token_head.to_be_bytes());
                varint::encode(posting.partition, &mut self.bytes);
                varint::encode(posting.row, &mut self.bytes);
            }
            Place::List(list) => {
                varint::encode(list.offset - segment, &mut self.bytes);
                varint::encode(list.length, &mut self.bytes);
            }
        }
    }

    /// Adds a child, whose merged list's offset is the file's.
    pub(super) fn add_child(&mut self, separator: &[u8], child: &Child, segment: u64) {
        self.add_key(separator);
        for number in [child.offset, child.length, child.terms, child.postings] {
            varint::encode(number, &mut self.bytes);
        }
        match child.merged {
            None => varint::encode(0, &mut self.bytes),
            Some(list) => {
                for number in [list.length, list.offset - segment, list.postings] {
                    varint::encode(number, &mut self.bytes);
                }
            }
        }
    }

    fn add_key(&mut self, key: &[u8]) {
        let shared = common_len(&self.last_key, key);
        varint::encode(shared as u64, &mut self.bytes);
        varint::encode((key.len() - shared) as u64, &mut self.bytes);
        self.bytes.extend_from_slice(&key[shared..]);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
        self.count += 1;
    }

    /// Appends the node to `out` and begins another. Returns the node's length, bytes.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) -> u64 {
        out.push(self.count as u8);
        out.extend_from_slice(&self.bytes);
        let length = self.bytes.len() + 1;
        assert!(length <= NODE_BYTES_MAX, "nodes end when they have enough");
        self.bytes.clear();
        self.last_key.clear();
        self.count = 0;
        length as u64
    }
}

/// The bytes with which both begin.
pub(super) fn common_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Where a node stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// All below it stands from here on in the segment, so that no two nodes have a child or a list in common. Else a file of few nodes could have a
    /// reader walk for ever.
    pub(crate) low: u64,
    /// Where it begins in the segment.
    pub(crate) offset: u64,
    /// Where the segment begins in the file.
    pub(crate) segment: u64,
}

/// The entries of a node, which are checked as they are read.
struct Entries<'a> {
    reader: Reader<'a>,
    left: usize,
    is_first: bool,
    /// Where in the segment all that it names stands: after this, which is the end of what stands below the node before it, ...
    low: u64,
    /// ... and before the node itself, which begins here.
    offset: u64,
    /// Where the segment begins in the file.
    segment: u64,
}

impl<'a> Entries<'a> {
    fn new(bytes: &'a [u8], Span { low, offset, segment }: Span, most: usize) -> Result<Entries<'a>, Corrupt> {
        let mut entries = Entries { reader: Reader::new(bytes), left: 0, is_first: true, low, offset, segment };
        let count = entries.reader.u8().map_err(|error| entries.wrong(error))?;
        entries.left = usize::from(count);
        if entries.left == 0 || entries.left > most {
            return Err(entries.damaged("the number of entries is out of range"));
        }
        Ok(entries)
    }

    /// Changes `key` from the last entry's to the next one's; false at the end.
    fn next_key(&mut self, key: &mut Vec<u8>) -> Result<bool, Corrupt> {
        if self.left == 0 {
            return if self.reader.is_empty() { Ok(false) } else { Err(self.damaged("it is too long")) };
        }
        self.left -= 1;
        let shared = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        let rest = self.reader.varint_bytes().map_err(|error| self.wrong(error))?;
        if std::mem::take(&mut self.is_first) {
            key.clear();
            if shared > 0 {
                return Err(self.damaged("the first key shares bytes with none"));
            }
        } else if key.get(shared..).is_none_or(|end| rest <= end) {
            return Err(self.damaged("its keys do not ascend"));
        }
        key.truncate(shared);
        key.extend_from_slice(rest);
        Ok(true)
    }

    fn list(&self, offset: u64, length: u64, postings: u64) -> Result<ListRef, Corrupt> {
        if postings < 2 || !self.is_within(offset, length) {
            return Err(self.damaged("a list does not stand before it"));
        }
        Ok(ListRef { offset: self.segment + offset, length, postings })
    }

    fn is_within(&self, offset: u64, length: u64) -> bool {
        offset >= self.low && offset.checked_add(length).is_some_and(|end| end <= self.offset)
    }

    fn varint(&mut self) -> Result<u64, Corrupt> {
        self.reader.varint().map_err(|error| self.wrong(error))
    }

    fn wrong(&self, error: ReadError) -> Corrupt {
        self.damaged(&error.to_string())
    }

    fn damaged(&self, what: &str) -> Corrupt {
        Corrupt::new(self.segment.saturating_add(self.offset), format!("a node of the terms: {what}"))
    }
}

/// Reads a leaf.
pub(crate) struct LeafReader<'a>(Entries<'a>);

impl<'a> LeafReader<'a> {
    /// A reader of the leaf that stands there.
    pub(crate) fn new(bytes: &'a [u8], span: Span) -> Result<LeafReader<'a>, Corrupt> {
        Entries::new(bytes, span, LEAF_TERMS_MAX).map(LeafReader)
    }

    /// Changes `term` from the last one to the next one, and gives its count of postings and their place.
    pub(crate) fn next(&mut self, term: &mut Vec<u8>) -> Result<Option<(u64, Place)>, Corrupt> {
        if !self.0.next_key(term)? {
            return Ok(None);
        }
        let postings = self.0.varint()?;
        let place = match postings {
            0 => return Err(self.0.damaged("a term has no posting")),
            1 => {
                let token_head = self.0.reader.u32().map_err(|error| self.0.wrong(error))?;
                Place::One(Posting { partition: self.0.varint()?, row: self.0.varint()?, token_head })
            }
            _ => {
                let (offset, length) = (self.0.varint()?, self.0.varint()?);
                Place::List(self.0.list(offset, length, postings)?)
            }
        };
        Ok(Some((postings, place)))
    }
}

/// Reads an inner node.
pub(crate) struct InnerReader<'a>(Entries<'a>);

impl<'a> InnerReader<'a> {
    /// A reader of the node that stands there.
    pub(crate) fn new(bytes: &'a [u8], span: Span) -> Result<InnerReader<'a>, Corrupt> {
        Entries::new(bytes, span, CHILDREN_MAX).map(InnerReader)
    }

    /// Changes `separator` from the last child's to the next one's, and gives the child.
    pub(crate) fn next(&mut self, separator: &mut Vec<u8>) -> Result<Option<Child>, Corrupt> {
        if !self.0.next_key(separator)? {
            return Ok(None);
        }
        let [offset, length, terms, postings] =
            [self.0.varint()?, self.0.varint()?, self.0.varint()?, self.0.varint()?];
        if !(1..=NODE_BYTES_MAX as u64).contains(&length) || !self.0.is_within(offset, length) {
            return Err(self.0.damaged("a child does not stand before it"));
        }
        // The next child and all below it stand after this one.
        let low = std::mem::replace(&mut self.0.low, offset + length);
        let merged = match self.0.varint()? {
            0 => None,
            length => {
                let (offset, postings) = (self.0.varint()?, self.0.varint()?);
                Some(self.0.list(offset, length, postings)?)
            }
        };
        Ok(Some(Child { low, offset, length, terms, postings, merged }))
    }
}
