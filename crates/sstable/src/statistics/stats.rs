//! The stats part: bounds of times, keys and clusterings, counts, histograms.
//!
//! Source: Cassandra's `StatsMetadata.StatsMetadataSerializer`. Each line of fields is there in the versions named.
//!
//! ```text
//! partition sizes │ cell counts │ commit log's upper bound │ timestamp min, max: i64 │ local deletion time min, max: u32
//! ttl min, max: u32 │ compression ratio: f64 │ tombstones' times │ level: u32 │ repaired at: i64
//!   to nb     u32 count, (u16 length, value)… of the least clustering │ the same of the greatest
//!   from oa   the clustering columns' classes │ start bound │ end bound
//! legacy counter shards: u8 │ columns set: i64 │ rows: i64
//!   from mb   commit log's lower bound       from mc   commit log's intervals
//!   from na   pending repair: u8, uuid if 1 │ transient: u8
//!   me, nb…   originating host: u8, uuid if 1
//!   from oa   has partition deletions: u8 │ vint length, first key │ vint length, last key │ token space coverage: f64
//! ```

use mutation::ClusteringRef;
use stdx::{Reader, varint};

use crate::data::clustering::{BoundKind, read_prefix_lengths, read_values, write_row_values};
use crate::error::Corrupt;
use crate::header::Header;
use crate::marshal::{self, ClusteringType};
use crate::statistics::fields::{Cursor, length};
use crate::statistics::histogram::{EstimatedHistogram, TombstoneHistogram};
use crate::version::Version;

/// A place in the commit log of the Cassandra node that wrote the SSTable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitLogPosition {
    /// The segment.
    pub segment: i64,
    /// The byte in it.
    pub position: u32,
}

impl CommitLogPosition {
    const LENGTH: usize = 12;
    /// No place.
    pub const NONE: CommitLogPosition = CommitLogPosition { segment: -1, position: 0 };

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Corrupt> {
        Ok(CommitLogPosition { segment: cursor.i64()?, position: cursor.u32()? })
    }

    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.segment.to_be_bytes());
        out.extend_from_slice(&self.position.to_be_bytes());
    }
}

/// A place among the rows of all partitions: before all rows that begin with a prefix, or behind them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredBound {
    prefix: Vec<u8>,
    /// How many values it has with the nulls after those of the prefix, which only rows have.
    width: usize,
    /// Whether it is behind the rows that begin with the prefix.
    pub after: bool,
}

impl CoveredBound {
    /// The place before or behind the rows that begin with `prefix`.
    pub fn new(prefix: ClusteringRef<'_>, after: bool) -> Self {
        CoveredBound { prefix: prefix.bytes().to_vec(), width: prefix.len(), after }
    }

    /// The place before or after a row of a table with so many clustering columns.
    pub(super) fn of_row(clustering: ClusteringRef<'_>, columns: usize, after: bool) -> Self {
        CoveredBound { width: columns, ..CoveredBound::new(clustering, after) }
    }

    /// True if nulls follow the prefix.
    pub(super) fn has_nulls(&self) -> bool {
        self.width > self.prefix().len()
    }

    /// The prefix.
    pub fn prefix(&self) -> ClusteringRef<'_> {
        ClusteringRef::trusted(&self.prefix)
    }

    /// Takes the place of another, keeping the buffer.
    pub(super) fn set(&mut self, prefix: ClusteringRef<'_>, width: usize, after: bool) {
        self.prefix.clear();
        self.prefix.extend_from_slice(prefix.bytes());
        self.width = width;
        self.after = after;
    }

    /// Whether its values may be the first of columns with values of these lengths.
    fn fits(&self, fixed_lengths: &[Option<usize>]) -> bool {
        let values = self.prefix().components().zip(fixed_lengths);
        self.prefix().len().max(self.width) <= fixed_lengths.len()
            && values
                .into_iter()
                .all(|(value, fixed)| value.is_empty() || fixed.is_none_or(|length| length == value.len()))
    }

    fn of_values(cursor: &mut Cursor<'_>, after: bool) -> Result<Self, Corrupt> {
        let count = cursor.count(2)?;
        let count_byte = u8::try_from(count).map_err(|_| cursor.corrupt("a clustering has too many values"))?;
        let mut prefix = vec![count_byte];
        for _ in 0..count {
            let value = cursor.short_bytes()?;
            varint::encode(value.len() as u64, &mut prefix);
            prefix.extend_from_slice(value);
        }
        Ok(CoveredBound { prefix, width: count, after })
    }

    fn read(cursor: &mut Cursor<'_>, fixed_lengths: &[Option<usize>], is_start: bool) -> Result<Self, Corrupt> {
        cursor.with(|reader| {
            let kind = BoundKind::read(reader)?;
            if (kind.opens, kind.closes) != (is_start, !is_start) {
                return Err("a bound is of the wrong kind".into());
            }
            let lengths = read_prefix_lengths(reader, fixed_lengths)?;
            let mut prefix = Vec::new();
            read_values(reader, lengths, &mut prefix)?;
            Ok::<_, crate::data::cell::Fault>(CoveredBound { prefix, width: lengths.len(), after: kind.after })
        })
    }

    fn write(&self, fixed_lengths: &[Option<usize>], is_start: bool, out: &mut Vec<u8>) {
        out.push(BoundKind { after: self.after, closes: !is_start, opens: is_start }.byte());
        let count = u16::try_from(self.width).expect("a clustering has at most 255 values");
        out.extend_from_slice(&count.to_be_bytes());
        write_row_values(self.prefix(), &fixed_lengths[..self.width], out);
    }
}

/// Bounds, counts and histograms of an SSTable's rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    /// Sizes of partitions in Data.db, bytes, uncompressed.
    pub partition_sizes: EstimatedHistogram,
    /// Counts of partitions' cells.
    pub cell_counts: EstimatedHistogram,
    /// What of the writing node's commit log is in it.
    pub commit_log_intervals: Vec<(CommitLogPosition, CommitLogPosition)>,
    /// The least timestamp.
    pub timestamp_min: i64,
    /// The greatest timestamp.
    pub timestamp_max: i64,
    /// The first second at which something was deleted or expires; `None`: nothing is or does.
    pub local_deletion_time_min: Option<u32>,
    /// The last such second; `None`: there is something that neither is deleted nor expires.
    pub local_deletion_time_max: Option<u32>,
    /// The least ttl, 0 if something has none.
    pub ttl_min: u32,
    /// The greatest ttl.
    pub ttl_max: u32,
    /// The compressed data's share of the data; -1: not compressed.
    pub compression_ratio: f64,
    /// When tombstones were made and cells expire.
    pub tombstone_drop_times: TombstoneHistogram,
    /// The level in leveled compaction.
    pub level: u32,
    /// When it was repaired, milliseconds since 1970; 0: it was not.
    pub repaired_at: i64,
    /// Between which places all rows and range tombstones are, the static rows aside; `None`: the version does not say it
    /// rightly.
    pub covered_clustering: Option<(CoveredBound, CoveredBound)>,
    /// Whether there are counter shards of Cassandra before 2.1.
    pub has_legacy_counter_shards: bool,
    /// The sum of the rows' counts of columns.
    pub columns_set: i64,
    /// How many rows there are.
    pub rows: i64,
    /// The repair that is under way.
    pub pending_repair: Option<[u8; 16]>,
    /// Whether it is of a transient replica.
    pub is_transient: bool,
    /// The node that wrote it.
    pub originating_host: Option<[u8; 16]>,
    /// Whether a whole partition is deleted; before `oa` all that is known is that nothing is deleted at all.
    pub has_partition_deletions: bool,
    /// The first and the last partition key, from `oa` on.
    pub key_range: Option<(Vec<u8>, Vec<u8>)>,
    /// The share of the ring from the first to the last token that the node owned when it wrote this, from `oa` on.
    pub token_space_coverage: Option<f64>,
}

impl Stats {
    pub(super) fn read(version: Version, cursor: &mut Cursor<'_>, header: &Header) -> Result<Self, Corrupt> {
        let is_new = version.is_from(b"oa");
        let partition_sizes = EstimatedHistogram::read(cursor)?;
        let cell_counts = EstimatedHistogram::read(cursor)?;
        let upper = CommitLogPosition::read(cursor)?;
        let (timestamp_min, timestamp_max) = (cursor.i64()?, cursor.i64()?);
        let never = if is_new { u32::MAX } else { i32::MAX.cast_unsigned() };
        let mut second = || Ok::<_, Corrupt>(Some(cursor.u32()?).filter(|&second| second != never));
        let (local_deletion_time_min, local_deletion_time_max) = (second()?, second()?);
        let (ttl_min, ttl_max) = (cursor.u32()?, cursor.u32()?);
        let compression_ratio = cursor.f64()?;
        let tombstone_drop_times = TombstoneHistogram::read(cursor, is_new)?;
        let (level, repaired_at) = (cursor.u32()?, cursor.i64()?);
        let covered_clustering = match is_new {
            true => Some(read_covered(cursor, &header.clustering)?),
            false => {
                let bounds = (CoveredBound::of_values(cursor, false)?, CoveredBound::of_values(cursor, true)?);
                let lengths = fixed_lengths(&header.clustering);
                let fits = |bound: &CoveredBound| bound.fits(&lengths);
                Some(bounds).filter(|(start, end)| version.is_from(b"md") && fits(start) && fits(end))
            }
        };
        let has_legacy_counter_shards = cursor.bool()?;
        let (columns_set, rows) = (cursor.i64()?, cursor.i64()?);
        let lower = if version.is_from(b"mb") { CommitLogPosition::read(cursor)? } else { CommitLogPosition::NONE };
        let commit_log_intervals = match version.is_from(b"mc") {
            true => read_intervals(cursor)?,
            false if upper == CommitLogPosition::NONE => Vec::new(),
            false => vec![(lower, upper)],
        };
        let pending_repair = if version.is_from(b"na") { read_uuid(cursor)? } else { None };
        let is_transient = version.is_from(b"na") && cursor.bool()?;
        let has_host = version.is_from(b"nb") || (version.is_from(b"me") && !version.is_from(b"na"));
        let originating_host = if has_host { read_uuid(cursor)? } else { None };
        let has_partition_deletions = if is_new { cursor.bool()? } else { local_deletion_time_min.is_some() };
        let key_range = match is_new {
            true => Some((cursor.vint_bytes()?.to_vec(), cursor.vint_bytes()?.to_vec())),
            false => None,
        };
        let token_space_coverage = if is_new { Some(cursor.f64()?).filter(|share| !share.is_nan()) } else { None };
        Ok(Stats {
            partition_sizes,
            cell_counts,
            commit_log_intervals,
            timestamp_min,
            timestamp_max,
            local_deletion_time_min,
            local_deletion_time_max,
            ttl_min,
            ttl_max,
            compression_ratio,
            tombstone_drop_times,
            level,
            repaired_at,
            covered_clustering,
            has_legacy_counter_shards,
            columns_set,
            rows,
            pending_repair,
            is_transient,
            originating_host,
            has_partition_deletions,
            key_range,
            token_space_coverage,
        })
    }

    /// Appends the part as versions `oa` and `da` have it.
    pub(super) fn write(&self, header: &Header, out: &mut Vec<u8>) {
        self.partition_sizes.write(out);
        self.cell_counts.write(out);
        let upper = self.commit_log_intervals.last().map_or(CommitLogPosition::NONE, |(_, end)| *end);
        upper.write(out);
        out.extend_from_slice(&self.timestamp_min.to_be_bytes());
        out.extend_from_slice(&self.timestamp_max.to_be_bytes());
        out.extend_from_slice(&self.local_deletion_time_min.unwrap_or(u32::MAX).to_be_bytes());
        out.extend_from_slice(&self.local_deletion_time_max.unwrap_or(u32::MAX).to_be_bytes());
        out.extend_from_slice(&self.ttl_min.to_be_bytes());
        out.extend_from_slice(&self.ttl_max.to_be_bytes());
        out.extend_from_slice(&self.compression_ratio.to_be_bytes());
        self.tombstone_drop_times.write(out);
        out.extend_from_slice(&self.level.to_be_bytes());
        out.extend_from_slice(&self.repaired_at.to_be_bytes());
        self.write_covered(&header.clustering, out);
        out.push(u8::from(self.has_legacy_counter_shards));
        out.extend_from_slice(&self.columns_set.to_be_bytes());
        out.extend_from_slice(&self.rows.to_be_bytes());
        let lower = self.commit_log_intervals.first().map_or(CommitLogPosition::NONE, |(start, _)| *start);
        lower.write(out);
        out.extend_from_slice(&length(self.commit_log_intervals.len()).to_be_bytes());
        for (start, end) in &self.commit_log_intervals {
            start.write(out);
            end.write(out);
        }
        write_uuid(self.pending_repair, out);
        out.push(u8::from(self.is_transient));
        write_uuid(self.originating_host, out);
        out.push(u8::from(self.has_partition_deletions));
        let (first, last) = self.key_range.as_ref().map_or((&[][..], &[][..]), |(first, last)| (first, last));
        for key in [first, last] {
            varint::encode(key.len() as u64, out);
            out.extend_from_slice(key);
        }
        out.extend_from_slice(&self.token_space_coverage.unwrap_or(f64::NAN).to_be_bytes());
    }

    fn write_covered(&self, types: &[ClusteringType], out: &mut Vec<u8>) {
        varint::encode(types.len() as u64, out);
        for of in types {
            let class = marshal::clustering_class_name(of);
            varint::encode(class.len() as u64, out);
            out.extend_from_slice(class.as_bytes());
        }
        let lengths = fixed_lengths(types);
        let all = || (CoveredBound::new(ClusteringRef::EMPTY, false), CoveredBound::new(ClusteringRef::EMPTY, true));
        let (start, end) = self.covered_clustering.clone().unwrap_or_else(all);
        start.write(&lengths, true, out);
        end.write(&lengths, false, out);
    }
}

fn fixed_lengths(types: &[ClusteringType]) -> Vec<Option<usize>> {
    types.iter().map(|of| marshal::fixed_length(&of.ty)).collect()
}

/// Reads the bounds and the types before them, which are the header's.
fn read_covered(cursor: &mut Cursor<'_>, types: &[ClusteringType]) -> Result<(CoveredBound, CoveredBound), Corrupt> {
    let type_count = cursor.with(Reader::varint)?;
    if type_count != types.len() as u64 {
        return Err(cursor.corrupt("the clustering columns differ from the header"));
    }
    for of in types {
        let class = cursor.vint_bytes()?;
        let class = std::str::from_utf8(class).map_err(|_| cursor.corrupt("a class name is not UTF-8"))?;
        if marshal::parse_clustering(class).ok().as_ref() != Some(of) {
            return Err(cursor.corrupt("a clustering column's type differs from the header"));
        }
    }
    let lengths = fixed_lengths(types);
    Ok((CoveredBound::read(cursor, &lengths, true)?, CoveredBound::read(cursor, &lengths, false)?))
}

fn read_intervals(cursor: &mut Cursor<'_>) -> Result<Vec<(CommitLogPosition, CommitLogPosition)>, Corrupt> {
    let count = cursor.count(2 * CommitLogPosition::LENGTH)?;
    (0..count).map(|_| Ok((CommitLogPosition::read(cursor)?, CommitLogPosition::read(cursor)?))).collect()
}

fn read_uuid(cursor: &mut Cursor<'_>) -> Result<Option<[u8; 16]>, Corrupt> {
    if cursor.bool()? { cursor.array().map(Some) } else { Ok(None) }
}

fn write_uuid(uuid: Option<[u8; 16]>, out: &mut Vec<u8>) {
    out.push(u8::from(uuid.is_some()));
    out.extend_from_slice(uuid.as_ref().map_or(&[], |uuid| uuid));
}
