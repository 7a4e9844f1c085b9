//! The bytes of hints in a file. `docs/internals/hints.md` draws them.

use std::io;

use stdx::{Reader, varint};
use storage::ReplayPosition;
use topology::HostId;

/// First bytes of a file, the last of which is the format's version.
const FILE_MAGIC: [u8; 8] = *b"HELHINT\x01";
/// Bytes before a file's first record.
pub(super) const FILE_HEAD: usize = 40;
/// First bytes of a record.
pub(super) const MAGIC: [u8; 4] = *b"HINT";
/// Bytes of a record before its body.
pub(super) const HEAD: usize = 52;
/// The longest body: a mutation as long as the log takes it, and what stands around it.
pub(super) const BODY_BYTES_MAX: usize = 17 << 20;

const _: () = assert!(FILE_HEAD == 8 + 16 + 8 + 2 + 2 + 4 && HEAD == 4 + 4 + 4 * 8 + 2 + 2 + 4 + 4);

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

/// Gives the bytes of a file before its first record.
pub(super) fn file_head(host: HostId, boot: u64, shard: u16) -> Vec<u8> {
    let mut out = Vec::with_capacity(FILE_HEAD);
    out.extend_from_slice(&FILE_MAGIC);
    out.extend_from_slice(&host.0);
    out.extend_from_slice(&boot.to_be_bytes());
    out.extend_from_slice(&shard.to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    let crc = crc32fast::hash(&out);
    out.extend_from_slice(&crc.to_be_bytes());
    assert_eq!(out.len(), FILE_HEAD, "the head has its length");
    out
}

/// An error if the head says that a later version wrote the file. A head that is damaged says nothing.
pub(super) fn check_version(head: &[u8]) -> io::Result<()> {
    let Some((checked, crc)) = head.get(..FILE_HEAD).map(|head| head.split_at(FILE_HEAD - 4)) else { return Ok(()) };
    let is_right = crc32fast::hash(checked).to_be_bytes() == *crc && checked.starts_with(&FILE_MAGIC[..7]);
    if is_right && checked[7] > FILE_MAGIC[7] {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "a later version wrote it"));
    }
    Ok(())
}

/// Bytes of a hint's body.
pub(super) fn body_len(mutations: &[&[u8]]) -> usize {
    let each = mutations.iter().map(|mutation| varint::encoded_len(mutation.len() as u64) + mutation.len());
    varint::encoded_len(mutations.len() as u64) + each.sum::<usize>()
}

/// Appends a record.
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
    let crcs = out.len();
    out.extend_from_slice(&[0; 8]);
    varint::encode(mutations.len() as u64, out);
    for mutation in mutations {
        varint::encode(mutation.len() as u64, out);
        out.extend_from_slice(mutation);
    }
    assert_eq!(out.len(), head + HEAD + length, "the body has its length");
    let body = crc32fast::hash(&out[head + HEAD..]);
    out[crcs..crcs + 4].copy_from_slice(&body.to_be_bytes());
    let crc = crc32fast::hash(&out[head..crcs + 4]);
    out[crcs + 4..crcs + 8].copy_from_slice(&crc.to_be_bytes());
}

/// The head that a record begins with; `None`: no record begins here.
pub(super) fn read_head(bytes: &[u8]) -> Option<Head> {
    let head = bytes.get(..HEAD)?;
    let (checked, crc) = head.split_at(HEAD - 4);
    if !head.starts_with(&MAGIC) || crc32fast::hash(checked).to_be_bytes() != *crc {
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
pub(super) fn read_body(head: &Head, body: &[u8]) -> Option<Vec<Vec<u8>>> {
    if crc32fast::hash(body) != head.body_crc {
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
        push_record(&start(), &[b"first", b"", &[9; 300]], &mut bytes);
        let head = read_head(&bytes).expect("it is a record");
        assert_eq!((head.start, HEAD + head.length), (start(), bytes.len()));
        let mutations = read_body(&head, &bytes[HEAD..]).expect("it is whole");
        assert_eq!(mutations, [b"first".to_vec(), Vec::new(), vec![9; 300]]);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            let read = read_head(&changed).and_then(|head| read_body(&head, &changed[HEAD..]));
            assert_eq!(read, None, "byte {at}");
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
    fn a_file_of_a_later_version_is_refused_and_a_damaged_head_is_not() {
        let mut head = file_head(HostId([1; 16]), 1, 0);
        assert!(check_version(&head).is_ok());
        head[7] = 2;
        assert!(check_version(&head).is_ok(), "the checksum is wrong");
        let crc = crc32fast::hash(&head[..FILE_HEAD - 4]);
        head[FILE_HEAD - 4..].copy_from_slice(&crc.to_be_bytes());
        assert!(check_version(&head).is_err() && check_version(&head[..20]).is_ok());
    }
}
