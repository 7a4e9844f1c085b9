//! The bytes of hints in a file. `docs/internals/hints.md` draws them.
//!
//! The checksums of a file's records begin with its salt, a random number that no client knows. So a damaged file can be searched for records: bytes that
//! a client wrote into a value are none, whatever they look like.

use std::io;

use stdx::{Reader, varint};
use storage::ReplayPosition;
use topology::HostId;

/// First bytes of a file, the last of which is the format's version. Version 1 had no salt.
const FILE_MAGIC: [u8; 8] = *b"HELHINT\x02";
/// Bytes before a file's first record.
pub(super) const FILE_HEAD: usize = 48;
/// The same of a file of version 1.
const FILE_HEAD_1: usize = 40;
/// First bytes of a record.
pub(super) const MAGIC: [u8; 4] = *b"HINT";
/// Bytes of a record before its body.
pub(super) const HEAD: usize = 52;
/// The longest body: a mutation as long as the log takes it, and what stands around it.
pub(super) const BODY_BYTES_MAX: usize = 17 << 20;

const _: () = assert!(
    FILE_HEAD == 8 + 16 + 8 + 2 + 2 + 8 + 4 && FILE_HEAD_1 == FILE_HEAD - 8 && HEAD == 4 + 4 + 4 * 8 + 2 + 2 + 4 + 4
);

/// The moment at which a write was planned, by the clocks that its hints are judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// Wall clock, microseconds since 1970: judged by `gc_grace_seconds` alone.
    pub(crate) created: i64,
    /// The epoch of the ring.
    pub(crate) epoch: u64,
    /// The end of the shard's commit log: judged by truncations.
    pub(crate) position: ReplayPosition,
}

/// A record's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// Bytes of the body.
    pub(super) length: usize,
    pub(super) start: Start,
    body_crc: u32,
}

/// The number that the checksums of a file's records begin with: one half those of heads, the other those of bodies. It takes both to make a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Salt(u64);

impl Salt {
    /// The salt of a number that was drawn by chance.
    pub(super) fn new(random: u64) -> Salt {
        Salt(random)
    }

    fn of_head(self, bytes: &[u8]) -> u32 {
        crc((self.0 >> 32) as u32, bytes)
    }

    fn of_body(self, bytes: &[u8]) -> u32 {
        crc(self.0 as u32, bytes)
    }
}

fn crc(initial: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(initial);
    hasher.update(bytes);
    hasher.finalize()
}

/// Gives the bytes of a file before its first record.
pub(super) fn file_head(host: HostId, boot: u64, shard: u16, salt: Salt) -> Vec<u8> {
    let mut out = Vec::with_capacity(FILE_HEAD);
    out.extend_from_slice(&FILE_MAGIC);
    out.extend_from_slice(&host.0);
    out.extend_from_slice(&boot.to_be_bytes());
    out.extend_from_slice(&shard.to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(&salt.0.to_be_bytes());
    let crc = crc32fast::hash(&out);
    out.extend_from_slice(&crc.to_be_bytes());
    assert_eq!(out.len(), FILE_HEAD, "the head has its length");
    out
}

/// Reads the bytes before a file's first record: gives how many they are, and the salt. Without the salt a record looks like what a client may
/// write, so a damaged head is an error, as is one of a later version. A head that is cut short is the end of a file that a crash left.
pub(super) fn read_file_head(bytes: &[u8]) -> io::Result<(usize, Salt)> {
    let is_version = |version: fn(u8) -> bool, length: usize| {
        let checked = bytes.get(..length).map(|head| head.split_at(length - 4));
        checked.is_some_and(|(checked, crc)| {
            let is_right = crc32fast::hash(checked).to_be_bytes() == *crc;
            is_right && checked.starts_with(&FILE_MAGIC[..7]) && version(checked[7])
        })
    };
    if is_version(|version| version == 1, FILE_HEAD_1) {
        return Ok((FILE_HEAD_1, Salt(0)));
    }
    if bytes.len() < FILE_HEAD {
        return Ok((bytes.len(), Salt(0)));
    }
    if is_version(|version| version > FILE_MAGIC[7], FILE_HEAD) {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "a later version wrote it"));
    }
    let salt = bytes.get(FILE_HEAD - 12..).and_then(<[u8]>::first_chunk::<8>);
    match salt.filter(|_| is_version(|version| version == FILE_MAGIC[7], FILE_HEAD)) {
        Some(salt) => Ok((FILE_HEAD, Salt(u64::from_be_bytes(*salt)))),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "its head is damaged")),
    }
}

/// Bytes of a hint's body.
pub(super) fn body_len(mutations: &[&[u8]]) -> usize {
    let each = mutations.iter().map(|mutation| varint::encoded_len(mutation.len() as u64) + mutation.len());
    varint::encoded_len(mutations.len() as u64) + each.sum::<usize>()
}

/// Appends a record without its checksums, which need the salt of the file that it is written to.
pub(super) fn push_record(start: &Start, mutations: &[&[u8]], out: &mut Vec<u8>) {
    let length = body_len(mutations);
    assert!(length <= BODY_BYTES_MAX, "a hint of {length} bytes is not kept");
    let head = out.len();
    out.reserve(HEAD + length);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&u32::try_from(length).expect("it is bounded").to_be_bytes());
    out.extend_from_slice(&start.created.to_be_bytes());
    out.extend_from_slice(&start.epoch.to_be_bytes());
    out.extend_from_slice(&start.position.boot.to_be_bytes());
    out.extend_from_slice(&start.position.sequence.to_be_bytes());
    out.extend_from_slice(&start.position.shard.to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(&[0; 8]);
    varint::encode(mutations.len() as u64, out);
    for mutation in mutations {
        varint::encode(mutation.len() as u64, out);
        out.extend_from_slice(mutation);
    }
    assert_eq!(out.len(), head + HEAD + length, "the body has its length");
}

/// Gives records their checksums.
///
/// # Panics
/// If the bytes are no records one after the other.
pub(super) fn seal_records(salt: Salt, records: &mut [u8]) {
    let mut rest = records;
    while !rest.is_empty() {
        assert!(rest.starts_with(&MAGIC), "records follow one another");
        let length = rest[4..].first_chunk::<4>().map(|length| u32::from_be_bytes(*length) as usize);
        let (record, others) = rest.split_at_mut(HEAD + length.expect("a record has a head"));
        let body = salt.of_body(&record[HEAD..]);
        record[HEAD - 8..HEAD - 4].copy_from_slice(&body.to_be_bytes());
        let head = salt.of_head(&record[..HEAD - 4]);
        record[HEAD - 4..HEAD].copy_from_slice(&head.to_be_bytes());
        rest = others;
    }
}

/// The head that a record begins with; `None`: no record begins here.
pub(super) fn read_head(salt: Salt, bytes: &[u8]) -> Option<Head> {
    let head = bytes.get(..HEAD)?;
    let (checked, crc) = head.split_at(HEAD - 4);
    if !head.starts_with(&MAGIC) || salt.of_head(checked).to_be_bytes() != *crc {
        return None;
    }
    let mut reader = Reader::new(&checked[MAGIC.len()..]);
    let length = reader.u32().ok()? as usize;
    let (created, epoch) = (reader.i64().ok()?, reader.u64().ok()?);
    let (boot, sequence, shard) = (reader.u64().ok()?, reader.u64().ok()?, reader.u16().ok()?);
    let _zero = reader.u16().ok()?;
    let body_crc = reader.u32().ok()?;
    let start = Start { created, epoch, position: ReplayPosition { boot, shard, sequence } };
    (length <= BODY_BYTES_MAX).then_some(Head { length, start, body_crc })
}

/// The mutations of a body; `None`: it is damaged.
pub(super) fn read_body(salt: Salt, head: &Head, body: &[u8]) -> Option<Vec<Vec<u8>>> {
    if salt.of_body(body) != head.body_crc {
        return None;
    }
    let mut reader = Reader::new(body);
    let count = usize::try_from(reader.varint().ok()?).ok()?;
    // Each takes a byte at least.
    let mut mutations = Vec::with_capacity(count.min(reader.remaining()));
    for _ in 0..count {
        mutations.push(reader.varint_bytes().ok()?.to_vec());
    }
    reader.is_empty().then_some(mutations)
}

/// Gives the bytes of a position.
pub(super) fn position_bytes(offset: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&offset.to_be_bytes());
    let crc = crc32fast::hash(&bytes[..8]);
    bytes[8..].copy_from_slice(&crc.to_be_bytes());
    bytes
}

/// The offset of a position; a damaged one is the file's beginning.
pub(super) fn read_position(bytes: &[u8]) -> u64 {
    let offset = bytes.first_chunk::<8>().filter(|offset| bytes == position_bytes(u64::from_be_bytes(**offset)));
    offset.map_or(0, |offset| u64::from_be_bytes(*offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Start {
        Start { created: -5, epoch: 7, position: ReplayPosition { boot: 3, shard: 2, sequence: 1 << 40 } }
    }

    #[test]
    fn a_record_gives_back_its_parts_and_no_changed_byte_passes() {
        let mut bytes = Vec::new();
        let salt = Salt::new(0x1234_5678_9abc_def0);
        push_record(&start(), &[b"first", b"", &[9; 300]], &mut bytes);
        seal_records(salt, &mut bytes);
        let head = read_head(salt, &bytes).expect("it is a record");
        assert_eq!((head.start, HEAD + head.length), (start(), bytes.len()));
        let mutations = read_body(salt, &head, &bytes[HEAD..]).expect("it is whole");
        assert_eq!(mutations, [b"first".to_vec(), Vec::new(), vec![9; 300]]);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            let read = read_head(salt, &changed).and_then(|head| read_body(salt, &head, &changed[HEAD..]));
            assert_eq!(read, None, "byte {at}");
        }
    }

    #[test]
    fn a_record_of_another_salt_is_none() {
        let mut bytes = Vec::new();
        push_record(&start(), &[b"first"], &mut bytes);
        push_record(&start(), &[b"second"], &mut bytes);
        let salt = Salt::new(0x1234_5678_9abc_def0);
        seal_records(salt, &mut bytes);
        let second = HEAD + body_len(&[b"first"]);
        for at in [0, second] {
            let head = read_head(salt, &bytes[at..]).expect("it is a record");
            let body = &bytes[at + HEAD..at + HEAD + head.length];
            assert!(read_body(salt, &head, body).is_some());
            let of_head = Salt::new(0x1234_5679_9abc_def0);
            assert!(read_head(of_head, &bytes[at..]).is_none() && read_head(Salt::new(0), &bytes[at..]).is_none());
            assert!(read_body(Salt::new(0x1234_5678_9abc_def1), &head, body).is_none());
        }
    }

    #[test]
    fn a_position_that_is_damaged_is_the_beginning() {
        let bytes = position_bytes(1 << 20);
        assert_eq!(read_position(&bytes), 1 << 20);
        for at in 0..bytes.len() {
            let mut changed = bytes;
            changed[at] ^= 1;
            assert_eq!(read_position(&changed), 0, "byte {at}");
        }
        assert_eq!((read_position(&bytes[..11]), read_position(&[])), (0, 0));
    }

    #[test]
    fn a_file_of_a_later_version_is_refused_as_is_a_damaged_head() {
        let salt = Salt::new(7 << 32 | 9);
        let head = file_head(HostId([1; 16]), 1, 0, salt);
        assert!(read_file_head(&head).is_ok_and(|read| read == (FILE_HEAD, salt)));
        let kind = |head: &[u8]| read_file_head(head).err().map(|error| error.kind());
        for at in 0..FILE_HEAD {
            let mut changed = head.clone();
            changed[at] ^= 1;
            assert_eq!(kind(&changed), Some(io::ErrorKind::InvalidData), "byte {at}");
        }
        assert_eq!((kind(&head[..20]), kind(&[])), (None, None), "a crash cut them short");
        let mut later = head;
        later[7] = 3;
        let crc = crc32fast::hash(&later[..FILE_HEAD - 4]);
        later[FILE_HEAD - 4..].copy_from_slice(&crc.to_be_bytes());
        assert_eq!(kind(&later), Some(io::ErrorKind::Unsupported));
    }

    #[test]
    fn a_file_of_version_1_has_no_salt() {
        let mut head = b"HELHINT\x01".to_vec();
        head.extend_from_slice(&[1; 28]);
        let crc = crc32fast::hash(&head);
        head.extend_from_slice(&crc.to_be_bytes());
        assert!(read_file_head(&head).is_ok_and(|read| read == (40, Salt(0))));
        // As that version wrote it.
        let record: [u8; 57] = [
            0x48, 0x49, 0x4e, 0x54, 0x00, 0x00, 0x00, 0x05, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfb, 0x00, 0x00,
            0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x01, 0x00,
            0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x23, 0x92, 0xe9, 0x93, 0xa5, 0x40, 0x0b, 0x28, 0x01, 0x03,
            0x61, 0x62, 0x63,
        ];
        let read = read_head(Salt(0), &record).expect("it is a record");
        assert_eq!(read.start, start());
        assert_eq!(read_body(Salt(0), &read, &record[HEAD..]), Some(vec![b"abc".to_vec()]));
    }
}
