//! Statistics.db: what is known of an SSTable without reading its rows.
//!
//! Source: Cassandra's `MetadataSerializer`, `ValidationMetadata`, `CompactionMetadata`, `StatsMetadata`.
//!
//! ```text
//! u32 count │ crc │ for each part: u32 kind, u32 where it begins │ crc of count and list │ (part │ crc)…
//! ```
//!
//! The checksums, CRC-32, are there from version `na` on. Kinds: 0 validation, 1 compaction, 2 stats, 3 header.

mod cardinality;
mod collector;
mod fields;
mod histogram;
mod stats;

pub use cardinality::Cardinality;
pub use collector::{FileFacts, StatisticsCollector};
pub use histogram::{EstimatedHistogram, TombstoneHistogram};
pub use stats::{CommitLogPosition, CoveredBound, Stats};

use crate::error::Corrupt;
use crate::header::Header;
use crate::statistics::fields::{Cursor, write_java_text};
use crate::version::Version;

/// The partitioner of all that can be read.
pub const PARTITIONER: &str = "org.apache.cassandra.dht.Murmur3Partitioner";

const CRC_LENGTH: usize = 4;
const VALIDATION: u32 = 0;
const COMPACTION: u32 = 1;
const STATS: u32 = 2;
const HEADER: u32 = 3;

/// All of Statistics.db.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// The partitioner's class.
    pub partitioner: String,
    /// The false-positive chance that the Bloom filter was made for.
    pub bloom_filter_fp_chance: f64,
    /// The estimator of how many partitions there are, as it is written: see [`Cardinality`].
    pub cardinality: Vec<u8>,
    /// Bounds, counts and histograms.
    pub stats: Stats,
    /// What rows are read with.
    pub header: Header,
}

impl Statistics {
    /// Reads a Statistics.db that is all of `bytes`, of an SSTable of `version`.
    pub fn read(version: Version, bytes: &[u8]) -> Result<Self, Corrupt> {
        let parts = Parts::read(version, bytes, |_| true)?;
        let mut validation = parts.cursor(VALIDATION, "validation")?;
        let partitioner = validation.java_text()?.to_owned();
        let bloom_filter_fp_chance = validation.f64()?;
        validation.end()?;
        let mut compaction = parts.cursor(COMPACTION, "compaction")?;
        let cardinality = compaction.sized_bytes()?.to_vec();
        compaction.end()?;
        let (header_at, header) = parts.get(HEADER, "header")?;
        let header = Header::read(header).map_err(|error| error.from_base(header_at as u64))?;
        let mut cursor = parts.cursor(STATS, "stats")?;
        let stats = Stats::read(version, &mut cursor, &header)?;
        // Cassandra reckons some bytes too many for this part, and leaves them zero.
        cursor.end_of_padding()?;
        Ok(Statistics { partitioner, bloom_filter_fp_chance, cardinality, stats, header })
    }

    /// The header alone, of a Statistics.db whose other parts may be damaged: it takes no more to read rows.
    pub fn read_header(version: Version, bytes: &[u8]) -> Result<Header, Corrupt> {
        let parts = Parts::read(version, bytes, |kind| kind == HEADER)?;
        let (header_at, header) = parts.get(HEADER, "header")?;
        Header::read(header).map_err(|error| error.from_base(header_at as u64))
    }

    /// The bytes of Statistics.db of version `da`, which are those of `oa` too.
    pub fn write(&self) -> Vec<u8> {
        let mut validation = Vec::new();
        write_java_text(&self.partitioner, &mut validation);
        validation.extend_from_slice(&self.bloom_filter_fp_chance.to_be_bytes());
        let mut compaction = Vec::with_capacity(self.cardinality.len() + 4);
        fields::write_sized_bytes(&self.cardinality, &mut compaction);
        let mut stats = Vec::new();
        self.stats.write(&self.header, &mut stats);
        let mut header = Vec::new();
        self.header.write(&mut header);
        join(&[(VALIDATION, validation), (COMPACTION, compaction), (STATS, stats), (HEADER, header)])
    }
}

/// Puts parts together with their list and checksums.
fn join(parts: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&fields::length(parts.len()).to_be_bytes());
    let count_crc = crc32fast::hash(&out);
    let mut list = Vec::new();
    let mut position = out.len() + CRC_LENGTH + parts.len() * 8 + CRC_LENGTH;
    for (kind, part) in parts {
        list.extend_from_slice(&kind.to_be_bytes());
        list.extend_from_slice(&fields::length(position).to_be_bytes());
        position += part.len() + CRC_LENGTH;
    }
    let list_crc = crc_of(&[&out, &list]);
    out.extend_from_slice(&count_crc.to_be_bytes());
    out.extend_from_slice(&list);
    out.extend_from_slice(&list_crc.to_be_bytes());
    for (_, part) in parts {
        out.extend_from_slice(part);
        out.extend_from_slice(&crc32fast::hash(part).to_be_bytes());
    }
    out
}

fn crc_of(pieces: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    pieces.iter().for_each(|piece| hasher.update(piece));
    hasher.finalize()
}

/// The parts by kind, their checksums compared.
struct Parts<'a> {
    bytes: &'a [u8],
    /// Kind, begin, end.
    found: Vec<(u32, usize, usize)>,
}

impl<'a> Parts<'a> {
    /// More kinds than Cassandra ever had.
    const COUNT_MAX: u32 = 16;

    /// Compares the checksums of the kinds that are `wanted`.
    fn read(version: Version, bytes: &'a [u8], wanted: impl Fn(u32) -> bool) -> Result<Self, Corrupt> {
        let has_crc = version.is_from(b"na");
        let crc_length = if has_crc { CRC_LENGTH } else { 0 };
        let mut cursor = Cursor::new(bytes, 0);
        let count = cursor.u32()?;
        if count > Self::COUNT_MAX {
            return Err(Corrupt::new(0, format!("there are {count} parts")));
        }
        if has_crc {
            check_crc(bytes, 0, cursor.u32()?, &[&bytes[..4]])?;
        }
        let list_at = cursor.at();
        let mut starts = Vec::new();
        for _ in 0..count {
            starts.push((cursor.u32()?, cursor.u32()? as usize));
        }
        let list = &bytes[list_at..cursor.at()];
        if has_crc {
            check_crc(bytes, list_at, cursor.u32()?, &[&bytes[..4], list])?;
        }
        let mut found = Vec::new();
        for &(kind, start) in &starts {
            // ScyllaDB lists the parts in any order.
            let end =
                starts.iter().map(|(_, other)| *other).filter(|other| *other > start).min().unwrap_or(bytes.len());
            let inner = end.checked_sub(crc_length).filter(|&inner| start <= inner && end <= bytes.len());
            let inner = inner.ok_or_else(|| Corrupt::new(list_at as u64, "a part has no room"))?;
            if has_crc && wanted(kind) {
                let crc = Cursor::new(&bytes[inner..end], inner).u32()?;
                check_crc(bytes, start, crc, &[&bytes[start..inner]])?;
            }
            found.push((kind, start, inner));
        }
        Ok(Parts { bytes, found })
    }

    fn get(&self, kind: u32, name: &str) -> Result<(usize, &'a [u8]), Corrupt> {
        let part = self.found.iter().find(|(found, ..)| *found == kind);
        let (_, start, end) = part.ok_or_else(|| Corrupt::new(0, format!("the {name} component is missing")))?;
        Ok((*start, &self.bytes[*start..*end]))
    }

    fn cursor(&self, kind: u32, name: &str) -> Result<Cursor<'a>, Corrupt> {
        self.get(kind, name).map(|(start, part)| Cursor::new(part, start))
    }
}

fn check_crc(bytes: &[u8], at: usize, written: u32, pieces: &[&[u8]]) -> Result<(), Corrupt> {
    debug_assert!(at <= bytes.len());
    match crc_of(pieces) {
        crc if crc == written => Ok(()),
        _ => Err(Corrupt::new(at as u64, "checksum mismatch")),
    }
}

#[cfg(test)]
mod tests;
