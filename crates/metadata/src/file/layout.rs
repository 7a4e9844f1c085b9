//! The metadata log's bytes on disk: blocks, checksums, and how a torn end is told from damage.
//!
//! Each record begins at a block of its own, so that appending never rewrites a block that holds an earlier one: a power cut
//! can tear the last record only. Its header is checksummed apart from its payload; thereby a record found *after* a bad
//! one proves that the bad one was whole once, which is damage and not a torn end.

/// Bytes that a disk writes as a unit, or more.
pub(crate) const BLOCK: usize = 4096;

/// The format that this code writes, and the newest that it reads.
pub(crate) const FORMAT_VERSION: u32 = 1;

const FILE_MAGIC: [u8; 8] = *b"HELMETA\n";
const RECORD_MAGIC: [u8; 4] = *b"HREC";

/// `magic · u32 version · u32 crc of both`, then zeros to the block's end.
pub(crate) fn file_header() -> Vec<u8> {
    file_header_of(FORMAT_VERSION)
}

pub(crate) fn file_header_of(version: u32) -> Vec<u8> {
    let mut bytes = FILE_MAGIC.to_vec();
    bytes.extend_from_slice(&version.to_be_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
    bytes.resize(BLOCK, 0);
    bytes
}

/// The format version that a file's first bytes name; `None` when they are no metadata log's.
pub(crate) fn read_file_header(bytes: &[u8]) -> Option<u32> {
    let mut reader = stdx::Reader::new(bytes);
    let checked = reader.bytes(12).ok()?;
    let (magic, version) = checked.split_first_chunk::<8>()?;
    let version = u32::from_be_bytes(version.try_into().ok()?);
    (*magic == FILE_MAGIC && reader.u32().ok()? == crc32fast::hash(checked)).then_some(version)
}

/// Bytes of a record's header: `magic · u64 sequence · u32 length · u32 payload crc · u32 crc of those`.
const RECORD_HEADER: usize = 24;

/// The bytes that a record with a payload of `length` bytes takes.
pub(crate) fn framed_length(length: usize) -> usize {
    (RECORD_HEADER + length).next_multiple_of(BLOCK)
}

/// A record as it is written: header, payload, zeros to the block's end.
pub(crate) fn frame_record(sequence: u64, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("the log bounds a record's length");
    let mut bytes = Vec::with_capacity(framed_length(payload.len()));
    bytes.extend_from_slice(&RECORD_MAGIC);
    bytes.extend_from_slice(&sequence.to_be_bytes());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(&crc32fast::hash(payload).to_be_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

/// A whole file of these records.
pub(crate) fn file_of(payloads: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut bytes = file_header();
    for (payload, sequence) in payloads.zip(0u64..) {
        bytes.extend(frame_record(sequence, &payload));
    }
    bytes
}

/// A record found in the file.
pub(crate) struct FoundRecord<'a> {
    pub(crate) payload: &'a [u8],
    /// Where the next record begins.
    pub(crate) end: usize,
}

/// Finding at an offset of the file.
pub(crate) enum Found<'a> {
    Record(FoundRecord<'a>),
    /// Nothing more: the log's end.
    End,
    /// A record whose write did not finish: nothing valid follows.
    TornTail,
    /// A record that was whole once and is not now.
    Damage,
}

/// Reads the record with number `sequence` at `offset`, which is a multiple of [`BLOCK`].
pub(crate) fn find(file: &[u8], offset: usize, sequence: u64) -> Found<'_> {
    let Some(bytes) = file.get(offset..).filter(|bytes| !bytes.is_empty()) else { return Found::End };
    match whole_record(bytes, offset) {
        Some((found, record)) if found == sequence => Found::Record(record),
        // Whole, and out of order: no interrupted append leaves that.
        Some(_) => Found::Damage,
        None => {
            let mut later = offset + BLOCK;
            while let Some(bytes) = file.get(later..).filter(|bytes| !bytes.is_empty()) {
                if whole_record(bytes, later).is_some_and(|(found, _)| found > sequence) {
                    return Found::Damage;
                }
                later += BLOCK;
            }
            Found::TornTail
        }
    }
}

/// The record at the front of `bytes`, with its number, if header and payload are whole.
fn whole_record(bytes: &[u8], offset: usize) -> Option<(u64, FoundRecord<'_>)> {
    let mut reader = stdx::Reader::new(bytes);
    let checked = reader.bytes(RECORD_HEADER - 4).ok()?;
    if reader.u32().ok()? != crc32fast::hash(checked) {
        return None;
    }
    let mut header = stdx::Reader::new(checked);
    if header.array().ok()? != RECORD_MAGIC {
        return None;
    }
    let sequence = header.u64().ok()?;
    let length = header.u32().ok()? as usize;
    let payload_crc = header.u32().ok()?;
    let payload = reader.bytes(length).ok()?;
    if crc32fast::hash(payload) != payload_crc {
        return None;
    }
    let end = offset + framed_length(length);
    Some((sequence, FoundRecord { payload, end }))
}
