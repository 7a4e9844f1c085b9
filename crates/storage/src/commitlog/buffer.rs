//! The records that wait for the next write: a group in the making, in the very buffer that will be written.

use runtime::AlignedBuf;

use crate::batch_head::BatchHead;
use crate::batchlog::BatchId;
use crate::commitlog::format::{
    BLOCK, GROUP_HEAD, GroupHead, KIND_BATCH, KIND_BATCH_DONE, KIND_LOGGED_BATCH, KIND_MUTATION, RECORD_HEAD,
    batch_head_bytes, batch_head_len, salted_crc, salted_crc_of,
};
use crate::commitlog::ledger::GroupNotes;

/// What an idle shard's buffer holds: most groups fit.
const CAPACITY_FIRST: usize = 64 << 10;

/// A record's length and checksum, summed up piece by piece before it is appended.
pub struct RecordChecksum {
    kind: u8,
    /// Bytes between the kind and the mutations.
    head: Vec<u8>,
    length: usize,
    hasher: crc32fast::Hasher,
}

impl RecordChecksum {
    /// Of a record of `count` mutations.
    pub fn begin(count: usize) -> Self {
        Self::of_kind(if count == 1 { KIND_MUTATION } else { KIND_BATCH }, Vec::new())
    }

    /// Of the record of a batch that is to be delivered.
    pub fn begin_logged_batch(head: &BatchHead) -> Self {
        Self::of_kind(KIND_LOGGED_BATCH, batch_head_bytes(head))
    }

    fn of_kind(kind: u8, head: Vec<u8>) -> Self {
        let mut checksum = RecordChecksum { kind, head: Vec::new(), length: 0, hasher: crc32fast::Hasher::new() };
        checksum.bytes(&[kind]);
        checksum.bytes(&head);
        checksum.head = head;
        checksum
    }

    /// A mutation of `length` bytes begins.
    pub fn mutation(&mut self, length: usize) {
        if self.kind != KIND_MUTATION {
            self.bytes(&length_of(length));
        }
    }

    /// The next bytes of the mutation.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.length += bytes.len();
    }

    /// The record's payload so far.
    pub fn length(&self) -> usize {
        self.length
    }
}

/// A mutation's length as it stands before it in a batch's record.
fn length_of(length: usize) -> [u8; 4] {
    // A longer one is refused before it is appended.
    u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes()
}

/// A group in the making.
pub struct GroupBuffer {
    bytes: AlignedBuf,
    /// The log sequence before the first record.
    sequence: u64,
    records: u32,
    /// Where the last record begins, if its checksum is still to be made.
    unsummed: Option<usize>,
    /// What the ledger is told of it.
    pub notes: GroupNotes,
}

impl GroupBuffer {
    /// An empty group that begins at `sequence`, in memory that was used before or in new.
    pub fn new(mut bytes: AlignedBuf, sequence: u64) -> Self {
        bytes.clear();
        bytes.reserve(CAPACITY_FIRST);
        bytes.resize(GROUP_HEAD, 0);
        GroupBuffer { bytes, sequence, records: 0, unsummed: None, notes: GroupNotes::default() }
    }

    /// Whether it holds no record.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Bytes so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The log sequence before the first record, at which the group before it ended.
    #[inline]
    pub fn start(&self) -> u64 {
        self.sequence
    }

    /// The log sequence behind the last record.
    #[inline]
    pub fn end(&self) -> u64 {
        self.sequence + (self.bytes.len() - GROUP_HEAD) as u64
    }

    /// Appends the record of one mutation.
    #[inline]
    pub fn push_mutation(&mut self, salt: u64, mutation: &[u8]) {
        self.push(salt, 1 + mutation.len(), |bytes| {
            bytes.extend_from_slice(&[KIND_MUTATION]);
            bytes.extend_from_slice(mutation);
        });
    }

    /// Appends several mutations as one record.
    pub fn push_batch(&mut self, salt: u64, mutations: &[&[u8]]) {
        self.push_mutations(salt, KIND_BATCH, &[], mutations);
    }

    /// Appends a batch that is to be delivered; gives its name.
    pub fn push_logged_batch(&mut self, salt: u64, boot: u64, head: &BatchHead, mutations: &[&[u8]]) -> BatchId {
        let id = BatchId { boot, sequence: self.end() };
        self.push_mutations(salt, KIND_LOGGED_BATCH, &batch_head_bytes(head), mutations);
        self.notes.begun.push(id);
        id
    }

    /// [`GroupBuffer::push_logged_batch`] with a checksum that is known.
    pub fn push_checked_logged_batch(
        &mut self,
        salt: u64,
        boot: u64,
        mutations: &[&[u8]],
        checksum: &RecordChecksum,
    ) -> BatchId {
        let id = BatchId { boot, sequence: self.end() };
        self.push_checked(salt, mutations, checksum);
        self.notes.begun.push(id);
        id
    }

    /// Appends that a batch is delivered.
    pub fn push_batch_done(&mut self, salt: u64, id: BatchId) {
        self.push(salt, 17, |bytes| {
            bytes.extend_from_slice(&[KIND_BATCH_DONE]);
            bytes.extend_from_slice(&id.boot.to_be_bytes());
            bytes.extend_from_slice(&id.sequence.to_be_bytes());
        });
        self.notes.done.push(id);
    }

    fn push_mutations(&mut self, salt: u64, kind: u8, head: &[u8], mutations: &[&[u8]]) {
        self.push(salt, head.len() + Self::batch_length(mutations), |bytes| {
            bytes.extend_from_slice(&[kind]);
            bytes.extend_from_slice(head);
            for mutation in mutations {
                let length = u32::try_from(mutation.len()).expect("a mutation is shorter than a segment");
                bytes.extend_from_slice(&length.to_be_bytes());
                bytes.extend_from_slice(mutation);
            }
        });
    }

    /// Appends the record of mutations whose checksum is known: one mutation is a record of its own kind.
    pub fn push_checked(&mut self, salt: u64, mutations: &[impl AsRef<[u8]>], checksum: &RecordChecksum) {
        self.sum_last(salt);
        let sequence = self.end();
        self.bytes.reserve(RECORD_HEAD + checksum.length);
        let crc = salted_crc_of(salt, sequence, &checksum.hasher);
        let length = u32::try_from(checksum.length).expect("a record is shorter than a segment");
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(&crc.to_be_bytes());
        let before = self.bytes.len();
        self.bytes.extend_from_slice(&[checksum.kind]);
        self.bytes.extend_from_slice(&checksum.head);
        for mutation in mutations {
            let mutation = mutation.as_ref();
            if checksum.kind != KIND_MUTATION {
                self.bytes.extend_from_slice(&length_of(mutation.len()));
            }
            self.bytes.extend_from_slice(mutation);
        }
        assert_eq!(self.bytes.len() - before, checksum.length, "the checksum is that of these mutations");
        self.records += 1;
    }

    /// Whether a record of `length` bytes fits in the memory that is there.
    pub fn has_room(&self, length: usize) -> bool {
        self.bytes.spare() >= RECORD_HEAD + length
    }

    /// Moves to other memory, which was made for what is there and more.
    pub fn move_to(&mut self, mut bytes: AlignedBuf) {
        bytes.clear();
        bytes.extend_from_slice(&self.bytes);
        self.bytes = bytes;
    }

    /// The payload of a batch's record.
    pub fn batch_length(mutations: &[&[u8]]) -> usize {
        1 + mutations.iter().map(|mutation| 4 + mutation.len()).sum::<usize>()
    }

    /// The payload of the record of a batch that is to be delivered.
    pub fn logged_batch_length(head: &BatchHead, mutations: &[&[u8]]) -> usize {
        batch_head_len(head) + Self::batch_length(mutations)
    }

    #[inline]
    fn push(&mut self, salt: u64, length: usize, write: impl FnOnce(&mut AlignedBuf)) {
        self.sum_last(salt);
        self.unsummed = Some(self.bytes.len());
        self.bytes.reserve(RECORD_HEAD + length);
        let length = u32::try_from(length).expect("a record is shorter than a segment");
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        write(&mut self.bytes);
        self.records += 1;
    }

    /// Makes the last record's checksum. Not as soon as it is written: what was just stored byte by byte cannot be loaded by the line before
    /// it is in the cache, and waiting for that takes longer than to sum it up.
    #[inline]
    fn sum_last(&mut self, salt: u64) {
        let Some(start) = self.unsummed.take() else { return };
        let sequence = self.sequence + (start - GROUP_HEAD) as u64;
        let crc = salted_crc(salt, sequence, &self.bytes[start + RECORD_HEAD..]);
        self.bytes[start + 4..start + RECORD_HEAD].copy_from_slice(&crc.to_be_bytes());
    }

    /// What the group will take in a segment.
    pub fn length_on_disk(&self) -> u64 {
        self.bytes.len().next_multiple_of(BLOCK) as u64
    }

    /// The group complete: its bytes, padded with zeros to whole blocks, and what the ledger is told of it.
    pub fn seal(mut self, salt: u64, segment: u64, durable: u64) -> (AlignedBuf, GroupNotes) {
        self.sum_last(salt);
        let payload = u32::try_from(self.bytes.len() - GROUP_HEAD).expect("a group is smaller than a segment");
        let head = GroupHead { segment, sequence: self.sequence, durable, payload, records: self.records };
        self.bytes[..GROUP_HEAD].copy_from_slice(&head.encode(salt));
        let padded = self.bytes.len().next_multiple_of(BLOCK);
        self.bytes.resize(padded, 0);
        (self.bytes, self.notes)
    }
}

#[cfg(test)]
mod tests {
    use planted::Planted;

    use super::*;
    use crate::commitlog::format::records;

    const SALT: u64 = 77;

    /// Whichever way a record comes after another, into whatever memory, each has its own checksum.
    #[test]
    fn each_record_of_a_group_is_summed_up() {
        let mut checksum = RecordChecksum::begin(1);
        checksum.bytes(&[4; 500]);
        let mut group = GroupBuffer::new(AlignedBuf::new(), 1000);
        group.push_mutation(SALT, &[1; 300]);
        group.push_checked(SALT, &[&[4; 500]], &checksum);
        group.push_mutation(SALT, &[2; 10]);
        group.move_to(AlignedBuf::with_capacity(1 << 20));
        group.push_batch(SALT, &[&[3; 40], &[5; 70]]);
        group.push_batch_done(SALT, BatchId { boot: 1, sequence: 2 });
        let payload = group.len() - GROUP_HEAD;
        let (bytes, _) = group.seal(SALT, 9, 0);
        let read: Vec<_> = records(SALT, 1000, &bytes[GROUP_HEAD..][..payload], Planted::NONE).collect();
        let lengths: Vec<_> = read.iter().map(|record| record.map(|(_, body)| body.len())).collect();
        assert_eq!(lengths, [301, 501, 11, 119, 17].map(Ok));
    }
}
