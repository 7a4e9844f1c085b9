//! The bytes of a segment. `docs/internals/commit-log.md` draws them.
//!
//! All integers are big-endian. What an old segment left in a recycled file is told apart by the segment's id in each
//! group's head, and what a mutation's own bytes might imitate by the salt, a random number of the boot that seeds all
//! checksums.

use planted::{Bug, Planted};
use topology::HostId;

use crate::batch_head::{BatchHead, BatchName};

/// What the disk writes as one: no acknowledged block is ever written again.
pub const BLOCK: usize = 4096;
/// The newest format that this program knows. Version 2 has the records of logged batches, version 3 their heads; those before are read as they are.
pub const VERSION: u16 = 3;
/// The oldest that it reads.
const VERSION_OLDEST: u16 = 1;

const SEGMENT_MAGIC: [u8; 8] = *b"helenlog";
const GROUP_MAGIC: [u8; 4] = *b"hgrp";

/// The bytes before a group's first record.
pub const GROUP_HEAD: usize = 40;
/// The bytes before a record's payload.
pub const RECORD_HEAD: usize = 8;
/// Where a segment's head ends, with its checksum; the same in all versions.
pub const SEGMENT_HEAD: usize = 64;

/// The payload is one mutation.
pub const KIND_MUTATION: u8 = 1;
/// The payload is several mutations, each with its length, that apply together or not at all.
pub const KIND_BATCH: u8 = 2;
/// The payload is as that of [`KIND_BATCH`], of which nothing is applied here: its parts are delivered, and a later record
/// says that they are. Of version 2; nothing writes it any more.
pub const KIND_LOGGED_BATCH_WITHOUT_HEAD: u8 = 3;
/// The payload is the boot and the sequence of a logged batch's record that is delivered.
pub const KIND_BATCH_DONE: u8 = 4;
/// The payload is a [`BatchHead`], then as that of [`KIND_BATCH`]: a batch that is to be delivered.
pub const KIND_LOGGED_BATCH: u8 = 5;

/// Bytes of a batch's head without a name, and those of the name.
const BATCH_HEAD: usize = 9;
const BATCH_NAME: usize = 34;

/// A segment's first block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHead {
    /// The shard that wrote it.
    pub shard: u16,
    /// How many shards there were.
    pub shard_count: u16,
    /// At which start of the process.
    pub boot: u64,
    /// Its id, also its name; ascending within the shard's folder.
    pub segment: u64,
    /// Seeds the checksums.
    pub salt: u64,
}

/// Whether a block begins as a group does, of whichever segment and whole or not.
pub fn begins_as_group(block: &[u8]) -> bool {
    block.starts_with(&GROUP_MAGIC)
}

/// Why a block is not a segment's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadError {
    /// Zeros.
    Blank,
    /// A newer program wrote it.
    Newer(u16),
    /// Something else.
    Damaged,
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes[at..].first_chunk().expect("the head was checked to be whole")
}

impl SegmentHead {
    /// The block's bytes up to where zeros begin.
    pub fn encode(&self) -> [u8; SEGMENT_HEAD] {
        let mut bytes = [0; SEGMENT_HEAD];
        bytes[..8].copy_from_slice(&SEGMENT_MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_be_bytes());
        bytes[10..12].copy_from_slice(&self.shard.to_be_bytes());
        bytes[12..14].copy_from_slice(&self.shard_count.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.boot.to_be_bytes());
        bytes[24..32].copy_from_slice(&self.segment.to_be_bytes());
        bytes[32..40].copy_from_slice(&self.salt.to_be_bytes());
        let crc = crc32fast::hash(&bytes[..SEGMENT_HEAD - 4]);
        bytes[SEGMENT_HEAD - 4..].copy_from_slice(&crc.to_be_bytes());
        bytes
    }

    /// From a segment's first block.
    pub fn decode(block: &[u8]) -> Result<Self, HeadError> {
        let Some(bytes) = block.get(..SEGMENT_HEAD) else { return Err(HeadError::Damaged) };
        if bytes.iter().all(|&byte| byte == 0) {
            return Err(HeadError::Blank);
        }
        let crc = u32::from_be_bytes(array(bytes, SEGMENT_HEAD - 4));
        if bytes[..8] != SEGMENT_MAGIC || crc != crc32fast::hash(&bytes[..SEGMENT_HEAD - 4]) {
            return Err(HeadError::Damaged);
        }
        let version = u16::from_be_bytes(array(bytes, 8));
        if !(VERSION_OLDEST..=VERSION).contains(&version) {
            return Err(HeadError::Newer(version));
        }
        Ok(SegmentHead {
            shard: u16::from_be_bytes(array(bytes, 10)),
            shard_count: u16::from_be_bytes(array(bytes, 12)),
            boot: u64::from_be_bytes(array(bytes, 16)),
            segment: u64::from_be_bytes(array(bytes, 24)),
            salt: u64::from_be_bytes(array(bytes, 32)),
        })
    }
}

/// The head of a group: what one write to the disk carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupHead {
    /// The segment it was written to.
    pub segment: u64,
    /// The log sequence before its first record.
    pub sequence: u64,
    /// The sequence up to which all was on the disk when this was written: what is missing before it is damage, what is
    /// missing after it may be a power cut's work.
    pub durable: u64,
    /// Bytes of records, their heads included.
    pub payload: u32,
    /// How many records.
    pub records: u32,
}

impl GroupHead {
    /// The head's bytes.
    pub fn encode(&self, salt: u64) -> [u8; GROUP_HEAD] {
        let mut bytes = [0; GROUP_HEAD];
        bytes[..4].copy_from_slice(&GROUP_MAGIC);
        bytes[8..16].copy_from_slice(&self.segment.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[24..32].copy_from_slice(&self.durable.to_be_bytes());
        bytes[32..36].copy_from_slice(&self.payload.to_be_bytes());
        bytes[36..40].copy_from_slice(&self.records.to_be_bytes());
        let crc = salted_crc(salt, self.segment, &bytes[8..]);
        bytes[4..8].copy_from_slice(&crc.to_be_bytes());
        bytes
    }

    /// The head at the start of `bytes`, if that is one of the segment's.
    pub fn decode(bytes: &[u8], salt: u64, segment: u64, planted: Planted) -> Option<Self> {
        let bytes = bytes.get(..GROUP_HEAD)?;
        let crc = u32::from_be_bytes(array(bytes, 4));
        let named = u64::from_be_bytes(array(bytes, 8));
        let segment = if planted.is(Bug::SaltIgnored) { named } else { segment };
        let is_whole = crc == salted_crc(salt, segment, &bytes[8..]) || planted.is(Bug::GroupChecksumIgnored);
        if bytes[..4] != GROUP_MAGIC || !is_whole {
            return None;
        }
        let head = GroupHead {
            segment: named,
            sequence: u64::from_be_bytes(array(bytes, 16)),
            durable: u64::from_be_bytes(array(bytes, 24)),
            payload: u32::from_be_bytes(array(bytes, 32)),
            records: u32::from_be_bytes(array(bytes, 36)),
        };
        (head.segment == segment).then_some(head)
    }

    /// What the group takes in the segment.
    pub fn length(&self) -> u64 {
        (GROUP_HEAD as u64 + u64::from(self.payload)).next_multiple_of(BLOCK as u64)
    }
}

/// A checksum that only holds for this boot and this place.
#[inline]
pub fn salted_crc(salt: u64, place: u64, bytes: &[u8]) -> u32 {
    let mut hasher = salted(salt, place);
    hasher.update(bytes);
    hasher.finalize()
}

/// [`salted_crc`] of bytes whose checksum without salt was made before: what is large is not gone through at once.
pub fn salted_crc_of(salt: u64, place: u64, unsalted: &crc32fast::Hasher) -> u32 {
    let mut hasher = salted(salt, place);
    hasher.combine(unsalted);
    hasher.finalize()
}

#[inline]
fn salted(salt: u64, place: u64) -> crc32fast::Hasher {
    let seed = salt ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    crc32fast::Hasher::new_with_initial((seed ^ (seed >> 32)) as u32)
}

/// Why records cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadRecord {
    /// The bytes of records before the bad one.
    pub at: usize,
    /// What is wrong.
    pub what: &'static str,
}

/// Walks the records of a group, checking each. `sequence` is the group's.
pub fn records(salt: u64, sequence: u64, payload: &[u8], planted: Planted) -> Records<'_> {
    Records { salt, sequence, payload, at: 0, planted }
}

/// The records of a group: each with the log sequence before it.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    salt: u64,
    sequence: u64,
    payload: &'a [u8],
    at: usize,
    planted: Planted,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<(u64, &'a [u8]), BadRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.payload.get(self.at..)?;
        if rest.is_empty() {
            return None;
        }
        let (sequence, at) = (self.sequence + self.at as u64, self.at);
        let bad = |what| Some(Err(BadRecord { at, what }));
        let Some((head, rest)) = rest.split_first_chunk::<RECORD_HEAD>() else {
            self.at = self.payload.len();
            return bad("a record's header is truncated");
        };
        let length = u32::from_be_bytes(array(head, 0)) as usize;
        let crc = u32::from_be_bytes(array(head, 4));
        let Some(body) = rest.get(..length) else {
            self.at = self.payload.len();
            return bad("a record is longer than its group");
        };
        self.at += RECORD_HEAD + length;
        if crc != salted_crc(self.salt, sequence, body) && !self.planted.is(Bug::RecordChecksumIgnored) {
            return bad("record checksum mismatch");
        }
        Some(Ok((sequence, body)))
    }
}

/// What a record is to a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// Its mutations are to be applied.
    Mutations,
    /// Its mutations are to be delivered, unless a later record says that they are. `None`: it is of version 2 and has no head.
    LoggedBatch(Option<BatchHead>),
    /// The logged batch of this boot, whose record this sequence is before, is delivered.
    BatchDone {
        /// The boot.
        boot: u64,
        /// The sequence.
        sequence: u64,
    },
}

/// Gives the bytes of a batch's head, which follow the record's kind.
pub fn batch_head_bytes(head: &BatchHead) -> Vec<u8> {
    let mut out = Vec::with_capacity(BATCH_HEAD + BATCH_NAME);
    out.extend_from_slice(&head.created.to_be_bytes());
    out.push(u8::from(head.copy_of.is_some()));
    if let Some(BatchName { host_id, boot, shard, sequence }) = head.copy_of {
        out.extend_from_slice(&host_id.0);
        out.extend_from_slice(&boot.to_be_bytes());
        out.extend_from_slice(&shard.to_be_bytes());
        out.extend_from_slice(&sequence.to_be_bytes());
    }
    assert_eq!(out.len(), batch_head_len(head), "the head has its length");
    out
}

/// Bytes of a batch's head.
pub fn batch_head_len(head: &BatchHead) -> usize {
    if head.copy_of.is_some() { BATCH_HEAD + BATCH_NAME } else { BATCH_HEAD }
}

/// The head that bytes begin with, and what follows it.
fn read_batch_head(bytes: &[u8]) -> Option<(BatchHead, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<BATCH_HEAD>()?;
    let created = i64::from_be_bytes(array(head, 0));
    match head[BATCH_HEAD - 1] {
        0 => Some((BatchHead { created, copy_of: None }, rest)),
        1 => {
            let (name, rest) = rest.split_first_chunk::<BATCH_NAME>()?;
            let (host_id, boot) = (HostId(array(name, 0)), u64::from_be_bytes(array(name, 16)));
            let (shard, sequence) = (u16::from_be_bytes(array(name, 24)), u64::from_be_bytes(array(name, 26)));
            let name = BatchName { host_id, boot, shard, sequence };
            Some((BatchHead { created, copy_of: Some(name) }, rest))
        }
        _ => None,
    }
}

/// What a record is. One of an unknown kind is [`RecordKind::Mutations`], of which there are none then.
pub fn kind_of(record: &[u8]) -> RecordKind {
    match record.split_first() {
        Some((&KIND_LOGGED_BATCH_WITHOUT_HEAD, _)) => RecordKind::LoggedBatch(None),
        Some((&KIND_LOGGED_BATCH, rest)) => match read_batch_head(rest) {
            Some((head, _)) => RecordKind::LoggedBatch(Some(head)),
            None => RecordKind::Mutations,
        },
        Some((&KIND_BATCH_DONE, rest)) if rest.len() == 16 => RecordKind::BatchDone {
            boot: u64::from_be_bytes(array(rest, 0)),
            sequence: u64::from_be_bytes(array(rest, 8)),
        },
        _ => RecordKind::Mutations,
    }
}

/// The mutations of one record; `None` where the bytes are none.
pub fn mutations(record: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let (kind, mut rest) = match record.split_first() {
        Some((&KIND_LOGGED_BATCH, rest)) => match read_batch_head(rest) {
            Some((_, rest)) => (KIND_LOGGED_BATCH, rest),
            None => (0, &[][..]),
        },
        Some((kind, rest)) => (*kind, rest),
        None => (0, &[][..]),
    };
    let mut is_first = true;
    std::iter::from_fn(move || {
        let is_start = std::mem::take(&mut is_first);
        match kind {
            KIND_MUTATION => is_start.then_some(Some(rest)),
            KIND_BATCH | KIND_LOGGED_BATCH | KIND_LOGGED_BATCH_WITHOUT_HEAD if rest.is_empty() => None,
            KIND_BATCH | KIND_LOGGED_BATCH | KIND_LOGGED_BATCH_WITHOUT_HEAD => {
                let split = rest
                    .split_first_chunk::<4>()
                    .and_then(|(length, tail)| tail.split_at_checked(u32::from_be_bytes(*length) as usize));
                rest = split.map_or(&[][..], |(_, tail)| tail);
                Some(split.map(|(mutation, _)| mutation))
            }
            _ => is_start.then_some(None),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: SegmentHead = SegmentHead { shard: 3, shard_count: 8, boot: 5, segment: 9, salt: 77 };

    #[test]
    fn a_checksum_made_before_is_salted_like_one_made_at_once() {
        let bytes: Vec<u8> = (0..100_000u32).map(|number| (number.wrapping_mul(number) >> 5) as u8).collect();
        let mut unsalted = crc32fast::Hasher::new();
        bytes.chunks(777).for_each(|piece| unsalted.update(piece));
        assert_eq!(salted_crc_of(5, 1 << 40, &unsalted), salted_crc(5, 1 << 40, &bytes));
    }

    #[test]
    fn heads_round_trip_and_refuse_changes() {
        assert_eq!(SegmentHead::decode(&HEAD.encode()), Ok(HEAD));
        assert_eq!(SegmentHead::decode(&[0; BLOCK]), Err(HeadError::Blank));
        let group = GroupHead { segment: 9, sequence: 1000, durable: 900, payload: 5000, records: 3 };
        assert_eq!(GroupHead::decode(&group.encode(77), 77, 9, Planted::NONE), Some(group));
        assert_eq!(GroupHead::decode(&group.encode(77), 78, 9, Planted::NONE), None, "another boot's");
        assert_eq!(GroupHead::decode(&group.encode(77), 77, 8, Planted::NONE), None, "another segment's");
        assert_eq!(group.length(), 8192);
        for bit in 0..GROUP_HEAD * 8 {
            let mut bytes = group.encode(77);
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(GroupHead::decode(&bytes, 77, 9, Planted::NONE), None, "bit {bit}");
            if bit / 8 < SEGMENT_HEAD {
                let mut bytes = HEAD.encode();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(SegmentHead::decode(&bytes), Err(HeadError::Damaged), "bit {bit}");
            }
        }
    }

    #[test]
    fn a_newer_version_is_named() {
        let mut bytes = HEAD.encode();
        bytes[8..10].copy_from_slice(&7u16.to_be_bytes());
        let crc = crc32fast::hash(&bytes[..SEGMENT_HEAD - 4]);
        bytes[SEGMENT_HEAD - 4..].copy_from_slice(&crc.to_be_bytes());
        assert_eq!(SegmentHead::decode(&bytes), Err(HeadError::Newer(7)));
    }

    #[test]
    fn the_versions_before_are_read() {
        for version in [1u16, 2] {
            let mut bytes = HEAD.encode();
            bytes[8..10].copy_from_slice(&version.to_be_bytes());
            let crc = crc32fast::hash(&bytes[..SEGMENT_HEAD - 4]);
            bytes[SEGMENT_HEAD - 4..].copy_from_slice(&crc.to_be_bytes());
            assert_eq!(SegmentHead::decode(&bytes), Ok(HEAD));
        }
    }

    #[test]
    fn records_tell_their_kind() {
        let done = [&[KIND_BATCH_DONE][..], &5u64.to_be_bytes(), &9u64.to_be_bytes()].concat();
        assert_eq!(kind_of(&done), RecordKind::BatchDone { boot: 5, sequence: 9 });
        assert_eq!(kind_of(&done[..16]), RecordKind::Mutations, "cut, it is no record of any kind");
        assert_eq!(mutations(&done[..16]).collect::<Vec<_>>(), [None]);
        let logged = [&[KIND_LOGGED_BATCH_WITHOUT_HEAD][..], &1u32.to_be_bytes(), b"x"].concat();
        assert_eq!(kind_of(&logged), RecordKind::LoggedBatch(None));
        assert_eq!(mutations(&logged).collect::<Vec<_>>(), [Some(&b"x"[..])]);
        let name = BatchName { host_id: HostId([3; 16]), boot: 5, shard: 6, sequence: 1 << 40 };
        for copy_of in [None, Some(name)] {
            let head = BatchHead { created: -7, copy_of };
            let logged = [&[KIND_LOGGED_BATCH][..], &batch_head_bytes(&head), &1u32.to_be_bytes(), b"x"].concat();
            assert_eq!(kind_of(&logged), RecordKind::LoggedBatch(Some(head)));
            assert_eq!(mutations(&logged).collect::<Vec<_>>(), [Some(&b"x"[..])]);
            let cut = &logged[..batch_head_len(&head)];
            assert_eq!((kind_of(cut), mutations(cut).collect::<Vec<_>>()), (RecordKind::Mutations, vec![None]));
        }
        assert_eq!(kind_of(&[]), RecordKind::Mutations);
    }

    #[test]
    fn batches_are_taken_apart_without_trust() {
        let batch = [&[KIND_BATCH][..], &3u32.to_be_bytes(), b"abc", &0u32.to_be_bytes()].concat();
        assert_eq!(mutations(&batch).collect::<Vec<_>>(), [Some(&b"abc"[..]), Some(&b""[..])]);
        let cut = [&[KIND_BATCH][..], &9u32.to_be_bytes(), b"abc"].concat();
        assert_eq!(mutations(&cut).collect::<Vec<_>>(), [None]);
        assert_eq!(mutations(&[99, 1]).collect::<Vec<_>>(), [None]);
        assert_eq!(mutations(&[]).collect::<Vec<_>>(), [None]);
        assert_eq!(mutations(&[KIND_MUTATION, 5]).collect::<Vec<_>>(), [Some(&[5][..])]);
    }
}
