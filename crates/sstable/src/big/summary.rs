//! Summary.db: where in Index.db to begin to look.
//!
//! ```text
//! keys per sample: u32 │ samples: u32 │ bytes of offsets and samples: u64 │ sampling level: u32 │ samples at full level: u32
//! │ offset of each sample: u32, little-endian, from the first offset │ each sample: key, position in Index.db: u64, little-endian
//! │ first key, last key: u32 length, bytes
//! ```
//!
//! (Source: Cassandra 5.0's `IndexSummary`, `IndexSummaryComponent`; the same since 3.0.)

use std::cmp::Ordering;

use stdx::{ReadError, Reader};
use topology::{Token, token_of};

use crate::Corrupt;

/// The bytes before the offsets.
const HEAD_LENGTH: usize = 24;

/// The bytes of an offset, and of a position.
const OFFSET_LENGTH: usize = 4;
const POSITION_LENGTH: usize = 8;

/// One of so many entries is sampled where there is no Summary.db, as Cassandra does by default.
const KEYS_PER_SAMPLE: u64 = 128;

/// Samples Index.db where there is no Summary.db, which can be told from it.
#[derive(Debug, Default)]
pub struct SummaryBuilder {
    offsets: Vec<u32>,
    samples: Vec<u8>,
    entries: u64,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
}

impl SummaryBuilder {
    /// The next entry of Index.db, and where it begins there.
    pub fn push(&mut self, key: &[u8], position: u64) -> Result<(), Corrupt> {
        if self.entries == 0 {
            self.first_key = key.to_vec();
        } else if (token_of(&self.last_key), &self.last_key[..]) >= (token_of(key), key) {
            return Err(Corrupt::new(position, "partitions are out of order"));
        }
        if self.entries.is_multiple_of(KEYS_PER_SAMPLE) {
            let offset = u32::try_from(self.samples.len());
            self.offsets.push(offset.map_err(|_| Corrupt::new(position, "there are too many partitions to sample"))?);
            self.samples.extend_from_slice(key);
            self.samples.extend_from_slice(&position.to_le_bytes());
        }
        self.entries += 1;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        Ok(())
    }

    /// The sampled entries.
    pub fn finish(self) -> Result<Summary, Corrupt> {
        let first = self.offsets.len() * OFFSET_LENGTH;
        let mut samples = Vec::with_capacity(first + self.samples.len());
        for offset in &self.offsets {
            let offset = u32::try_from(first).ok().and_then(|first| first.checked_add(*offset));
            let offset = offset.ok_or_else(|| Corrupt::new(0, "there are too many partitions to sample"))?;
            samples.extend_from_slice(&offset.to_le_bytes());
        }
        samples.extend_from_slice(&self.samples);
        let (first_key, last_key) = (self.first_key, self.last_key);
        Ok(Summary { first_key, last_key, samples, count: self.offsets.len() })
    }
}

/// A sample of Index.db.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The first partition's key.
    pub first_key: Vec<u8>,
    /// The last partition's key.
    pub last_key: Vec<u8>,
    /// Offsets and samples, as they stand in the file.
    samples: Vec<u8>,
    count: usize,
}

impl Summary {
    /// From all bytes of Summary.db. Samples out of order are refused.
    pub fn decode(mut bytes: Vec<u8>) -> Result<Summary, Corrupt> {
        let (count, length) = head(&bytes).map_err(|error| Corrupt::new(0, error.to_string()))?;
        let rest = bytes.len() as u64 - HEAD_LENGTH as u64;
        if length > rest || u64::from(count) * OFFSET_LENGTH as u64 > length {
            return Err(Corrupt::new(8, format!("{count} samples in {length} bytes, of which there are {rest}")));
        }
        // Both fit what is in memory.
        let (count, length) = (count as usize, length as usize);
        let keys_at = HEAD_LENGTH + length;
        let (first_key, last_key) =
            ends(&bytes[keys_at..]).map_err(|error| Corrupt::new(keys_at as u64, error.to_string()))?;
        bytes.truncate(keys_at);
        bytes.drain(..HEAD_LENGTH);
        let summary = Summary { first_key, last_key, samples: bytes, count };
        summary.check()?;
        Ok(summary)
    }

    fn check(&self) -> Result<(), Corrupt> {
        let mut before: Option<(Token, &[u8], u64)> = None;
        for number in 0..self.count {
            let at = (HEAD_LENGTH + number * OFFSET_LENGTH) as u64;
            let Some((key, position)) = self.checked_sample(number) else {
                return Err(Corrupt::new(at, "a sample lies outside of the samples"));
            };
            let token = token_of(key);
            if before.is_some_and(|(t, k, p)| (t, k) >= (token, key) || p >= position) {
                return Err(Corrupt::new(at, "samples are out of order"));
            }
            before = Some((token, key, position));
        }
        Ok(())
    }

    fn checked_sample(&self, number: usize) -> Option<(&[u8], u64)> {
        let offset = |number: usize| {
            let bytes = self.samples.get(number * OFFSET_LENGTH..)?.first_chunk()?;
            Some(u32::from_le_bytes(*bytes) as usize)
        };
        let end = if number + 1 == self.count { self.samples.len() } else { offset(number + 1)? };
        let sample = self.samples.get(offset(number)?..end)?;
        let (key, position) = sample.split_at_checked(sample.len().checked_sub(POSITION_LENGTH)?)?;
        Some((key, u64::from_le_bytes(position.try_into().ok()?)))
    }

    fn sample(&self, number: usize) -> (&[u8], u64) {
        self.checked_sample(number).expect("samples were checked when they were read")
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The last position in Index.db before which no entry has this key or a greater one.
    pub fn seek(&self, token: Token, key: &[u8]) -> u64 {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let (sample, _) = self.sample(middle);
            match token_of(sample).cmp(&token).then_with(|| sample.cmp(key)) {
                Ordering::Greater => high = middle,
                Ordering::Less | Ordering::Equal => low = middle + 1,
            }
        }
        low.checked_sub(1).map_or(0, |number| self.sample(number).1)
    }

    /// The bytes of memory that it holds.
    pub fn memory_bytes(&self) -> usize {
        self.samples.capacity() + self.first_key.capacity() + self.last_key.capacity()
    }
}

/// How many samples there are, and how many bytes of them.
fn head(bytes: &[u8]) -> Result<(u32, u64), ReadError> {
    let mut reader = Reader::new(bytes);
    reader.u32()?;
    let count = reader.u32()?;
    let length = reader.u64()?;
    reader.u64()?;
    Ok((count, length))
}

fn ends(bytes: &[u8]) -> Result<(Vec<u8>, Vec<u8>), ReadError> {
    let mut reader = Reader::new(bytes);
    let mut key = || {
        let length = reader.u32()?;
        reader.bytes(length as usize).map(<[u8]>::to_vec)
    };
    Ok((key()?, key()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_sampled_from_the_index() {
        let mut keys: Vec<[u8; 4]> = (0..1000_u32).map(u32::to_be_bytes).collect();
        keys.sort_by_key(|key| token_of(key));
        let mut builder = SummaryBuilder::default();
        for (place, key) in (0..).zip(&keys) {
            builder.push(key, place * 10).expect("they ascend");
        }
        builder.push(&keys[0], 10_000).expect_err("it does not ascend");
        let summary = builder.finish().expect("they are few");
        summary.check().expect("it is in order");
        assert_eq!((summary.len(), &summary.first_key[..], &summary.last_key[..]), (8, &keys[0][..], &keys[999][..]));
        assert_eq!(summary.seek(token_of(&keys[300]), &keys[300]), 2560);
        assert_eq!(summary.seek(token_of(&keys[256]), &keys[256]), 2560);
        assert!(SummaryBuilder::default().finish().expect("nothing").is_empty());
    }
}
