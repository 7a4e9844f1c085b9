//! Snappy: the length before compression as a varint, then elements: literals, and copies of what came before.
//! (Source: Snappy's `format_description.txt`.)

use super::{Claim, CompressionError, repeat};

/// A copy of 64 bytes takes three, and no element does more with less.
const RATIO_MAX: usize = 22;
/// Seven bits in each byte of a length of 32 bits.
const LENGTH_BYTES_MAX: usize = 5;

/// The length that a body claims.
pub(super) fn claim(body: &[u8]) -> Result<Claim, CompressionError> {
    let mut declared: u64 = 0;
    for (index, byte) in body.iter().take(LENGTH_BYTES_MAX).enumerate() {
        declared |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let at = index + 1;
            let declared = u32::try_from(declared).map_err(|_| CompressionError::NotSnappy)? as usize;
            return Ok(Claim { declared, possible: (body.len() - at).saturating_mul(RATIO_MAX), at });
        }
    }
    Err(CompressionError::NotSnappy)
}

/// Decompresses a body whose claim was checked.
pub(super) fn decompress(body: &[u8], claim: &Claim, out: &mut Vec<u8>) -> Result<(), CompressionError> {
    let start = out.len();
    out.resize(start + claim.declared, 0);
    match snap::raw::Decoder::new().decompress(body, &mut out[start..]) {
        Ok(written) if written == claim.declared => Ok(()),
        _ => {
            out.truncate(start);
            Err(CompressionError::NotSnappy)
        }
    }
}

/// Appends a body, compressed.
pub(super) fn compress(body: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + snap::raw::max_compress_len(body.len()), 0);
    let written = snap::raw::Encoder::new()
        .compress(body, &mut out[start..])
        .expect("the output has the size that the worst case needs, and a frame's body is far below 4 GiB");
    out.truncate(start + written);
}

/// The way of a body that is decompressed in steps, element by element.
#[derive(Debug)]
pub(super) struct Steps {
    declared: usize,
    /// The place in the body.
    at: usize,
    /// Literals that are still to be copied.
    literals: usize,
    /// How much is still to be copied of what came before, and from how far back.
    copied: usize,
    offset: usize,
}

impl Steps {
    pub(super) fn begin(claim: &Claim) -> Steps {
        Steps { declared: claim.declared, at: claim.at, literals: 0, copied: 0, offset: 0 }
    }

    /// See [`super::Decompressor::step`].
    pub(super) fn step(&mut self, body: &[u8], bytes: usize, out: &mut Vec<u8>) -> Result<bool, CompressionError> {
        let stop = out.len().saturating_add(bytes);
        while out.len() < stop {
            if self.literals > 0 {
                let count = self.literals.min(stop - out.len());
                out.extend_from_slice(self.take(body, count)?);
                self.literals -= count;
            } else if self.copied > 0 {
                let count = self.copied.min(stop - out.len());
                repeat(out, self.offset, count);
                self.copied -= count;
            } else if self.at < body.len() {
                self.read_element(body, out.len())?;
            } else if out.len() == self.declared {
                return Ok(true);
            } else {
                return Err(CompressionError::NotSnappy);
            }
        }
        Ok(false)
    }

    fn read_element(&mut self, body: &[u8], done: usize) -> Result<(), CompressionError> {
        let tag = self.number(body, 1)?;
        let high = tag >> 2;
        match tag & 3 {
            0 => {
                // The length less one, or how many bytes hold that.
                let length = if high < 60 { high } else { self.number(body, high - 59)? };
                self.literals = length.saturating_add(1);
            }
            1 => {
                self.copied = (high & 7) + 4;
                self.offset = (tag >> 5) << 8 | self.number(body, 1)?;
            }
            2 => {
                self.copied = high + 1;
                self.offset = self.number(body, 2)?;
            }
            _ => {
                self.copied = high + 1;
                self.offset = self.number(body, 4)?;
            }
        }
        let is_copy_wrong = self.copied > 0 && (self.offset == 0 || self.offset > done);
        if is_copy_wrong || self.literals.max(self.copied) > self.declared - done {
            return Err(CompressionError::NotSnappy);
        }
        Ok(())
    }

    /// A little-endian number of at most four bytes.
    fn number(&mut self, body: &[u8], bytes: usize) -> Result<usize, CompressionError> {
        Ok(self.take(body, bytes)?.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    fn take<'a>(&mut self, body: &'a [u8], count: usize) -> Result<&'a [u8], CompressionError> {
        let end = self.at.checked_add(count).ok_or(CompressionError::NotSnappy)?;
        let bytes = body.get(self.at..end).ok_or(CompressionError::NotSnappy)?;
        self.at = end;
        Ok(bytes)
    }
}
