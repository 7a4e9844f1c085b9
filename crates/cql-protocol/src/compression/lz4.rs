//! LZ4: the length before compression as four big-endian bytes, then one block.

use super::{Claim, CompressionError, repeat};

/// Bytes of the length.
const LENGTH_BYTES: usize = 4;
/// A block grows by at most this factor when it is decompressed.
const RATIO_MAX: usize = 255;

/// The length that a body claims.
pub(super) fn claim(body: &[u8]) -> Result<Claim, CompressionError> {
    let Some((declared, block)) = body.split_first_chunk::<LENGTH_BYTES>() else {
        return Err(CompressionError::Truncated { length: body.len() });
    };
    let declared = u32::from_be_bytes(*declared) as usize;
    Ok(Claim { declared, possible: block.len().saturating_mul(RATIO_MAX), at: LENGTH_BYTES })
}

/// Decompresses a body whose claim was checked.
pub(super) fn decompress(body: &[u8], claim: &Claim, out: &mut Vec<u8>) -> Result<(), CompressionError> {
    if claim.declared == 0 {
        // Cassandra writes an empty block for it, of one byte.
        return Ok(());
    }
    decompress_block(body.get(claim.at..).unwrap_or_default(), claim.declared, out)
}

/// Decompresses a block of known length to the end of `out`, which is left as it was if that fails.
pub(crate) fn decompress_block(block: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), CompressionError> {
    let corrupt = CompressionError::Corrupt { declared: length };
    if length > block.len().saturating_mul(RATIO_MAX) {
        return Err(corrupt);
    }
    let start = out.len();
    out.resize(start + length, 0);
    match lz4_flex::block::decompress_into(block, &mut out[start..]) {
        Ok(written) if written == length => Ok(()),
        _ => {
            out.truncate(start);
            Err(corrupt)
        }
    }
}

/// Appends a body, compressed.
pub(super) fn compress(body: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(body.len()).expect("a frame's body is far below 4 GiB");
    let start = out.len();
    out.resize(start + LENGTH_BYTES + lz4_flex::block::get_maximum_output_size(body.len()), 0);
    out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    let written = lz4_flex::block::compress_into(body, &mut out[start + LENGTH_BYTES..])
        .expect("the output has the size that the worst case needs");
    out.truncate(start + LENGTH_BYTES + written);
}

/// The way of a body that is decompressed in steps: the same format as [`decompress`] reads, decoded here sequence by
/// sequence. (Source: LZ4's `lz4_Block_format.md`.)
#[derive(Debug)]
pub(super) struct Steps {
    declared: usize,
    /// The place in the body.
    at: usize,
    /// Literals that are still to be copied.
    literals: usize,
    /// How much of the match behind the literals is to be copied, and from how far back. Before its offset was read that is 0.
    matched: usize,
    offset: usize,
    /// A sequence was begun: behind its literals there is an offset, or the end.
    is_in_sequence: bool,
}

impl Steps {
    pub(super) fn begin(body: &[u8], claim: &Claim) -> Steps {
        let at = if claim.declared == 0 { body.len() } else { claim.at };
        let Claim { declared, .. } = *claim;
        Steps { declared, at, literals: 0, matched: 0, offset: 0, is_in_sequence: false }
    }

    /// See [`super::Decompressor::step`].
    pub(super) fn step(&mut self, body: &[u8], bytes: usize, out: &mut Vec<u8>) -> Result<bool, CompressionError> {
        let stop = out.len().saturating_add(bytes);
        while out.len() < stop {
            if self.literals > 0 {
                let count = self.literals.min(stop - out.len());
                let literals = body.get(self.at..self.at + count).ok_or_else(|| self.corrupt())?;
                out.extend_from_slice(literals);
                self.at += count;
                self.literals -= count;
            } else if self.matched > 0 && self.offset > 0 {
                let count = self.matched.min(stop - out.len());
                repeat(out, self.offset, count);
                self.matched -= count;
            } else if self.at == body.len() {
                // A block ends behind literals; an empty body has none at all.
                let is_whole = out.len() == self.declared && (self.is_in_sequence || self.declared == 0);
                return if is_whole { Ok(true) } else { Err(self.corrupt()) };
            } else if self.is_in_sequence {
                self.read_match(body, out.len())?;
            } else {
                self.read_token(body, out.len())?;
            }
        }
        Ok(false)
    }

    fn read_token(&mut self, body: &[u8], done: usize) -> Result<(), CompressionError> {
        let token = usize::from(self.byte(body)?);
        self.literals = self.length(body, token >> 4, done)?;
        // The match's own length stands behind the literals.
        self.matched = token & 15;
        self.offset = 0;
        self.is_in_sequence = true;
        Ok(())
    }

    fn read_match(&mut self, body: &[u8], done: usize) -> Result<(), CompressionError> {
        /// The shortest match.
        const MATCH_MIN: usize = 4;
        self.offset = usize::from(u16::from_le_bytes([self.byte(body)?, self.byte(body)?]));
        if self.offset == 0 || self.offset > done {
            return Err(self.corrupt());
        }
        self.matched = self.length(body, self.matched, done)? + MATCH_MIN;
        self.is_in_sequence = false;
        if self.matched > self.declared - done { Err(self.corrupt()) } else { Ok(()) }
    }

    /// A length that goes on in further bytes if four bits are too few; no longer than what is lacking of the whole.
    fn length(&mut self, body: &[u8], nibble: usize, done: usize) -> Result<usize, CompressionError> {
        let mut length = nibble;
        if nibble == 15 {
            loop {
                let more = self.byte(body)?;
                length += usize::from(more);
                if length > self.declared - done {
                    return Err(self.corrupt());
                }
                if more < u8::MAX {
                    break;
                }
            }
        }
        if length > self.declared - done { Err(self.corrupt()) } else { Ok(length) }
    }

    fn byte(&mut self, body: &[u8]) -> Result<u8, CompressionError> {
        let byte = *body.get(self.at).ok_or_else(|| self.corrupt())?;
        self.at += 1;
        Ok(byte)
    }

    fn corrupt(&self) -> CompressionError {
        CompressionError::Corrupt { declared: self.declared }
    }
}
