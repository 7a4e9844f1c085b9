//! The directory: where each segment's tree is, and between which terms and places it lies.

use sstable::Corrupt;
use stdx::{ReadError, Reader};

use super::NODE_BYTES_MAX;
use crate::postings::Posting;

/// No tree is higher: a node has two children at least.
const LEVEL_MAX: u8 = 48;
/// The bytes of a segment's entry with empty terms.
const SEGMENT_BYTES_MIN: usize = 8 + 8 + 4 + 1 + 8 + 8 + 2 + 2 + 20 + 20;

/// A node of a segment's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeNode {
    /// Bytes from the segment's beginning.
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) length: u64,
    /// 0 is a leaf's.
    pub(crate) level: u8,
}

/// The terms and lists of a run of the file's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Where it begins in the file.
    pub(crate) begin: u64,
    pub(crate) root: TreeNode,
    pub(crate) terms: u64,
    /// The sum over its terms.
    pub(crate) postings: u64,
    pub(crate) first_term: Vec<u8>,
    pub(crate) last_term: Vec<u8>,
    /// The first posting of any term.
    pub(crate) first: Posting,
    /// The last one.
    pub(crate) last: Posting,
}

/// Appends the directory.
pub(super) fn encode(segments: &[Segment], out: &mut Vec<u8>) {
    let begin = out.len();
    let count = u32::try_from(segments.len()).expect("segments have megabytes each");
    out.extend_from_slice(&count.to_be_bytes());
    for segment in segments {
        let root = segment.begin + segment.root.offset;
        let length = u32::try_from(segment.root.length).expect("a node has less than 4 GiB");
        out.extend_from_slice(&segment.begin.to_be_bytes());
        out.extend_from_slice(&root.to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.push(segment.root.level);
        out.extend_from_slice(&segment.terms.to_be_bytes());
        out.extend_from_slice(&segment.postings.to_be_bytes());
        for term in [&segment.first_term, &segment.last_term] {
            out.extend_from_slice(&(term.len() as u16).to_be_bytes());
            out.extend_from_slice(term);
        }
        for posting in [segment.first, segment.last] {
            out.extend_from_slice(&posting.token_head.to_be_bytes());
            out.extend_from_slice(&posting.partition.to_be_bytes());
            out.extend_from_slice(&posting.row.to_be_bytes());
        }
    }
    let crc = crc32fast::hash(&out[begin..]);
    out.extend_from_slice(&crc.to_be_bytes());
}

/// Decodes what [`encode`] wrote, which stands at `offset` of the file.
pub(super) fn decode(bytes: &[u8], offset: u64) -> Result<Vec<Segment>, Corrupt> {
    let wrong = |error: ReadError| Corrupt::new(offset, format!("the directory: {error}"));
    let damaged = |what: &str| Corrupt::new(offset, format!("the directory: {what}"));
    let (body, crc) = bytes.split_last_chunk::<4>().ok_or_else(|| damaged("it is too short"))?;
    if crc32fast::hash(body) != u32::from_be_bytes(*crc) {
        return Err(damaged("its checksum differs"));
    }
    let mut reader = Reader::new(body);
    let count = reader.u32().map_err(wrong)? as usize;
    if count > reader.remaining() / SEGMENT_BYTES_MIN {
        return Err(damaged("it has fewer segments than it says"));
    }
    let mut segments: Vec<Segment> = Vec::with_capacity(count);
    for _ in 0..count {
        let segment = segment(&mut reader).map_err(wrong)?;
        let Segment { begin, root, .. } = &segment;
        let end = root.offset.checked_add(root.length).and_then(|end| end.checked_add(*begin));
        if end.is_none_or(|end| end > offset)
            || !(1..=NODE_BYTES_MAX as u64).contains(&root.length)
            || root.level > LEVEL_MAX
            || segment.first_term > segment.last_term
            || segment.first > segment.last
            || segments.last().is_some_and(|before| before.last > segment.first)
        {
            return Err(damaged("a segment is out of range"));
        }
        segments.push(segment);
    }
    if reader.is_empty() { Ok(segments) } else { Err(damaged("it is too long")) }
}

fn segment(reader: &mut Reader<'_>) -> Result<Segment, ReadError> {
    let begin = reader.u64()?;
    let offset = reader.u64()?.checked_sub(begin).ok_or(ReadError::VarintOverflow)?;
    let root = TreeNode { offset, length: u64::from(reader.u32()?), level: reader.u8()? };
    let (terms, postings) = (reader.u64()?, reader.u64()?);
    let mut term = || -> Result<Vec<u8>, ReadError> {
        let length = reader.u16()?;
        reader.bytes(usize::from(length)).map(<[u8]>::to_vec)
    };
    let (first_term, last_term) = (term()?, term()?);
    let mut posting = || -> Result<Posting, ReadError> {
        let token_head = reader.u32()?;
        Ok(Posting { token_head, partition: reader.u64()?, row: reader.u64()? })
    };
    let (first, last) = (posting()?, posting()?);
    Ok(Segment { begin, root, terms, postings, first_term, last_term, first, last })
}
