//! A manifest's bytes: blocks, checksums, every record twice. `docs/internals/manifest.md` draws them.

use stdx::Reader;

/// What the disk writes as one. A record fits in it.
pub const BLOCK: usize = 4096;
/// Head and records stand twice.
const COPIES: usize = 2;
/// What one record takes in the file.
pub const RECORD_BYTES: usize = COPIES * BLOCK;

/// The format that is written, and the newest that is read.
pub const VERSION: u32 = 1;

const FILE_MAGIC: [u8; 8] = *b"HELMANI\n";
const RECORD_MAGIC: [u8; 4] = *b"HMAN";
/// The longest payload: a block less magic, sequence, length and checksum.
pub const PAYLOAD_MAX: usize = BLOCK - 20;

/// Whose manifest it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The shard.
    pub shard: u16,
    /// Of how many.
    pub shard_count: u16,
}

/// Why a manifest cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// It was written by a newer program, in this version.
    Newer(u32),
    /// It is damaged here.
    Damaged {
        /// The offset.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
}

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundRecords<'f> {
    /// Whose it is.
    pub head: Head,
    /// The payloads, in order.
    pub payloads: Vec<&'f [u8]>,
    /// Whether a copy of something could not be read, or a record at the end is torn: the file is to be written anew.
    pub is_worn: bool,
}

fn twice(block: &[u8]) -> Vec<u8> {
    assert!(block.len() <= BLOCK, "a record fits in a block");
    let mut bytes = block.to_vec();
    bytes.resize(BLOCK, 0);
    bytes.extend_from_within(..);
    bytes
}

/// The head as it is written.
pub fn head_bytes(head: Head) -> Vec<u8> {
    let mut block = FILE_MAGIC.to_vec();
    block.extend_from_slice(&VERSION.to_be_bytes());
    block.extend_from_slice(&head.shard.to_be_bytes());
    block.extend_from_slice(&head.shard_count.to_be_bytes());
    block.extend_from_slice(&crc32fast::hash(&block).to_be_bytes());
    twice(&block)
}

/// A record as it is written.
pub fn record_bytes(sequence: u64, payload: &[u8]) -> Vec<u8> {
    assert!(payload.len() <= PAYLOAD_MAX, "a record fits in a block");
    let mut block = RECORD_MAGIC.to_vec();
    block.extend_from_slice(&sequence.to_be_bytes());
    block.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    block.extend_from_slice(payload);
    block.extend_from_slice(&crc32fast::hash(&block).to_be_bytes());
    twice(&block)
}

/// Reads a whole file.
pub fn read(file: &[u8]) -> Result<FoundRecords<'_>, Unreadable> {
    let copies = |at: usize| (0..COPIES).map(move |copy| file.get(at + copy * BLOCK..).unwrap_or(&[]));
    let mut heads = copies(0).map(read_head);
    let (first, second) = (heads.next().flatten(), heads.next().flatten());
    let damaged = |at, what| Unreadable::Damaged { at, what };
    let (version, head) = first.or(second).ok_or(damaged(0, "unreadable header"))?;
    if version > VERSION {
        return Err(Unreadable::Newer(version));
    }
    let mut found = FoundRecords { head, payloads: Vec::new(), is_worn: first.is_none() || second.is_none() };
    let mut at = RECORD_BYTES;
    while at < file.len() {
        let sequence = found.payloads.len() as u64;
        let of_copies: Vec<_> = copies(at).map(read_record).collect();
        found.is_worn |= of_copies.iter().any(Option::is_none);
        match of_copies.into_iter().flatten().next() {
            Some((number, payload)) if number == sequence => found.payloads.push(payload),
            Some(_) => return Err(damaged(at, "a record is missing before this one")),
            None => {
                // No interrupted append leaves a whole record behind one that is not.
                let is_damage = (at..file.len()).step_by(BLOCK).any(|at| read_record(&file[at..]).is_some());
                if is_damage {
                    return Err(damaged(at, "both copies of a record are unreadable"));
                }
                break;
            }
        }
        at += RECORD_BYTES;
    }
    Ok(found)
}

fn read_head(block: &[u8]) -> Option<(u32, Head)> {
    let mut reader = Reader::new(block);
    let checked = reader.bytes(16).ok()?;
    if reader.u32().ok()? != crc32fast::hash(checked) {
        return None;
    }
    let mut reader = Reader::new(checked);
    let is_ours = reader.array().ok()? == FILE_MAGIC;
    let version = reader.u32().ok()?;
    let head = Head { shard: reader.u16().ok()?, shard_count: reader.u16().ok()? };
    is_ours.then_some((version, head))
}

fn read_record(block: &[u8]) -> Option<(u64, &[u8])> {
    let block = block.get(..BLOCK)?;
    let mut reader = Reader::new(block);
    let is_ours = reader.array().ok()? == RECORD_MAGIC;
    let sequence = reader.u64().ok()?;
    let length = reader.u32().ok()? as usize;
    let payload = reader.bytes(length).ok()?;
    let crc = reader.u32().ok()?;
    (is_ours && crc == crc32fast::hash(&block[..16 + length])).then_some((sequence, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Head = Head { shard: 1, shard_count: 3 };

    fn example() -> Vec<u8> {
        let records = [&b"one"[..], &[7; PAYLOAD_MAX], &[]];
        let records = records.into_iter().zip(0..).flat_map(|(payload, sequence)| record_bytes(sequence, payload));
        head_bytes(HEAD).into_iter().chain(records).collect()
    }

    fn count(file: &[u8]) -> Option<(usize, bool)> {
        read(file).ok().map(|found| (found.payloads.len(), found.is_worn))
    }

    #[test]
    fn what_is_written_is_read() {
        let file = example();
        let found = read(&file).expect("a whole file");
        assert_eq!((found.head, found.is_worn), (HEAD, false));
        assert_eq!(found.payloads, [&b"one"[..], &[7; PAYLOAD_MAX][..], &[]]);
    }

    #[test]
    fn no_flipped_bit_takes_a_record_away() {
        let file = example();
        for at in (0..file.len()).step_by(61).chain(0..64).chain(RECORD_BYTES..RECORD_BYTES + 64) {
            let mut flipped = file.clone();
            flipped[at] ^= 1;
            let found = read(&flipped).expect("the other copy is whole");
            assert_eq!((found.head, found.payloads.len()), (HEAD, 3), "at {at}");
        }
    }

    #[test]
    fn a_torn_end_is_left_out_and_damage_is_refused() {
        let file = example();
        let last = 3 * RECORD_BYTES;
        assert_eq!(count(&file[..last]), Some((2, false)));
        assert_eq!(count(&file[..last + BLOCK]), Some((3, true)), "one copy is enough");
        assert_eq!(count(&file[..last + 512]), Some((2, true)));
        let mut damaged = file.clone();
        damaged[RECORD_BYTES + 5] ^= 1;
        damaged[RECORD_BYTES + BLOCK + 5] ^= 1;
        assert_eq!(
            read(&damaged),
            Err(Unreadable::Damaged { at: RECORD_BYTES, what: "both copies of a record are unreadable" })
        );
        assert!(matches!(read(&file[..100][..10]), Err(Unreadable::Damaged { at: 0, .. })));
        assert!(read(&[]).is_err());
    }

    #[test]
    fn a_newer_version_is_told_as_such() {
        let mut file = example();
        for at in [0, BLOCK] {
            file[at + 11] = 2;
            let crc = crc32fast::hash(&file[at..at + 16]);
            file[at + 16..at + 20].copy_from_slice(&crc.to_be_bytes());
        }
        assert_eq!(read(&file), Err(Unreadable::Newer(2)));
    }
}
