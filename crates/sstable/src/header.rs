//! The serialization header: which columns the rows of an SSTable have, of which types, and from which values on
//! timestamps and times are counted. Statistics.db holds it; Data.db cannot be read without.
//!
//! Source: Cassandra's `SerializationHeader.Serializer` and `EncodingStats.Serializer`.
//!
//! ```text
//! vint timestamp_min - 2015-09-22 in µs │ vint local_deletion_time_min - 2015-09-22 in s │ vint ttl_min
//! text: the partition key's class │ vint count │ text: each clustering column's class
//! vint count │ (text: name │ text: class) of each static column
//! vint count │ (text: name │ text: class) of each regular column
//! ```
//!
//! A *text* is a vint and that many bytes of UTF-8.

use cql_types::CqlType;
use schema::{Column, ColumnKind, Table};
use stdx::{Reader, varint};

use crate::error::Corrupt;
use crate::marshal::{self, ClusteringType};

/// What timestamps are counted from when nothing else is known: 2015-09-22 00:00:00 UTC, microseconds.
const TIMESTAMP_EPOCH: i64 = 1_442_880_000_000_000;
/// The same second.
const LOCAL_DELETION_TIME_EPOCH: u32 = 1_442_880_000;

/// The values from which on timestamps, local deletion times and ttls are counted in Data.db. Any will do; the smallest
/// that occur make the shortest rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodingStats {
    /// The smallest timestamp, microseconds.
    pub timestamp_min: i64,
    /// The smallest local deletion time, seconds since 1970.
    pub local_deletion_time_min: u32,
    /// The smallest ttl, seconds.
    pub ttl_min: u32,
}

impl EncodingStats {
    /// What Cassandra counts from when it knows nothing.
    pub const EPOCH: EncodingStats = EncodingStats {
        timestamp_min: TIMESTAMP_EPOCH,
        local_deletion_time_min: LOCAL_DELETION_TIME_EPOCH,
        ttl_min: 0,
    };
}

impl Default for EncodingStats {
    fn default() -> Self {
        Self::EPOCH
    }
}

/// A column as the SSTable's rows have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderColumn {
    /// Its name.
    pub name: String,
    /// The type its values were written with.
    pub ty: CqlType,
}

/// What must be known to read an SSTable's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// What times are counted from.
    pub encoding: EncodingStats,
    /// The types of the partition key's columns.
    pub partition_key: Vec<CqlType>,
    /// The types of the clustering columns.
    pub clustering: Vec<ClusteringType>,
    /// The static columns, those of one cell before those of several, and by name.
    pub statics: Vec<HeaderColumn>,
    /// The regular columns, in the same order.
    pub regulars: Vec<HeaderColumn>,
}

impl Header {
    /// The header of rows of `table` as it is now.
    pub fn of_table(table: &Table, encoding: EncodingStats) -> Self {
        let clustering = table.clustering().iter();
        Header {
            encoding,
            partition_key: table.partition_key().iter().map(|column| column.ty.clone()).collect(),
            clustering: clustering
                .map(|column| ClusteringType { ty: column.ty.clone(), is_reversed: column.is_reversed() })
                .collect(),
            statics: in_cell_order(table.statics()),
            regulars: in_cell_order(table.regulars()),
        }
    }

    /// The same of rows that have cells of these columns too, which the table has no more.
    pub fn with_dropped<'c>(mut self, dropped: impl IntoIterator<Item = &'c Column>) -> Self {
        for column in dropped {
            let columns = if column.kind == ColumnKind::Static { &mut self.statics } else { &mut self.regulars };
            let order = |ty: &CqlType, name: &str| (ty.is_multi_cell(), name.to_owned());
            let new = order(&column.ty, &column.name);
            let at = columns.partition_point(|other| order(&other.ty, &other.name) < new);
            columns.insert(at, HeaderColumn { name: column.name.clone(), ty: column.ty.clone() });
        }
        self
    }

    /// Reads a header that is all of `bytes`.
    pub fn read(bytes: &[u8]) -> Result<Self, Corrupt> {
        let mut reader = Reader::new(bytes);
        let header = read(&mut reader).and_then(|header| match reader.remaining() {
            0 => Ok(header),
            left => Err(format!("{left} trailing bytes after the header")),
        });
        header.map_err(|what| Corrupt::new((bytes.len() - reader.remaining()) as u64, what))
    }

    /// Appends the header's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        varint::encode(self.encoding.timestamp_min.wrapping_sub(TIMESTAMP_EPOCH).cast_unsigned(), out);
        let seconds = self.encoding.local_deletion_time_min.wrapping_sub(LOCAL_DELETION_TIME_EPOCH);
        write_int(seconds, out);
        write_int(self.encoding.ttl_min, out);
        write_text(&marshal::partition_key_class_name(&self.partition_key), out);
        varint::encode(self.clustering.len() as u64, out);
        for of in &self.clustering {
            write_text(&marshal::clustering_class_name(of), out);
        }
        for columns in [&self.statics, &self.regulars] {
            varint::encode(columns.len() as u64, out);
            for column in columns {
                write_text(&column.name, out);
                write_text(&marshal::class_name(&column.ty), out);
            }
        }
    }
}

/// Cassandra's order of cells within a row: columns of one cell before those of several, then by name.
fn in_cell_order(columns: &[Column]) -> Vec<HeaderColumn> {
    let simple = columns.iter().filter(|column| !column.ty.is_multi_cell());
    let complex = columns.iter().filter(|column| column.ty.is_multi_cell());
    simple.chain(complex).map(|column| HeaderColumn { name: column.name.clone(), ty: column.ty.clone() }).collect()
}

fn read(reader: &mut Reader<'_>) -> Result<Header, String> {
    let timestamp_min = TIMESTAMP_EPOCH.wrapping_add(vint(reader)?.cast_signed());
    // Of rows without such times ScyllaDB writes the greatest of 64 bits, of which Cassandra before 5.0 takes the lower 32 as well: nothing is counted from it.
    let local_deletion_time_min = LOCAL_DELETION_TIME_EPOCH.wrapping_add(vint(reader)? as u32);
    let ttl_min = vint(reader)? as u32;
    let encoding = EncodingStats { timestamp_min, local_deletion_time_min, ttl_min };
    let partition_key = marshal::parse_partition_key(text(reader)?).map_err(|error| error.to_string())?;
    let clustering =
        list(reader, |reader| marshal::parse_clustering(text(reader)?).map_err(|error| error.to_string()))?;
    let statics = list(reader, column)?;
    let regulars = list(reader, column)?;
    check_names(statics.iter().chain(&regulars))?;
    Ok(Header { encoding, partition_key, clustering, statics, regulars })
}

fn column(reader: &mut Reader<'_>) -> Result<HeaderColumn, String> {
    let name = text(reader)?.to_owned();
    let ty = marshal::parse(text(reader)?).map_err(|error| error.to_string())?;
    Ok(HeaderColumn { name, ty })
}

/// That no two columns are called the same.
fn check_names<'h>(columns: impl Iterator<Item = &'h HeaderColumn>) -> Result<(), String> {
    let mut names: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("duplicate column {}", pair[0])),
        None if names.len() > usize::from(u16::MAX) => Err(format!("there are {} columns", names.len())),
        None => Ok(()),
    }
}

/// A count and that many things, each of at least one byte.
fn list<T>(reader: &mut Reader<'_>, one: impl Fn(&mut Reader<'_>) -> Result<T, String>) -> Result<Vec<T>, String> {
    let count = vint(reader)?;
    if count > reader.remaining() as u64 {
        return Err(format!("a list of {count} types in {} bytes", reader.remaining()));
    }
    (0..count).map(|_| one(reader)).collect()
}

fn vint(reader: &mut Reader<'_>) -> Result<u64, String> {
    reader.varint().map_err(|error| error.to_string())
}

fn text<'a>(reader: &mut Reader<'a>) -> Result<&'a str, String> {
    let bytes = reader.varint_bytes().map_err(|error| error.to_string())?;
    std::str::from_utf8(bytes).map_err(|_| "a text is not UTF-8".to_owned())
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    varint::encode(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// A 32-bit number as a vint: a negative one has its sign in all upper bits.
pub(crate) fn write_int(value: u32, out: &mut Vec<u8>) {
    varint::encode(i64::from(value.cast_signed()).cast_unsigned(), out);
}

/// The 32-bit number in a vint.
pub(crate) fn read_int(vint: u64) -> Result<u32, &'static str> {
    let upper = vint >> 32;
    if upper != 0 && upper != u64::from(u32::MAX) {
        return Err("a number is larger than 32 bits");
    }
    Ok(vint as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Header {
        Header {
            encoding: EncodingStats { timestamp_min: -5, local_deletion_time_min: 17, ttl_min: 60 },
            partition_key: vec![CqlType::Text, CqlType::Int],
            clustering: vec![ClusteringType { ty: CqlType::Bigint, is_reversed: true }],
            statics: vec![HeaderColumn { name: "s".to_owned(), ty: CqlType::Text }],
            regulars: vec![HeaderColumn { name: "l".to_owned(), ty: CqlType::parse("list<int>").unwrap() }],
        }
    }

    #[test]
    fn headers_round_trip() {
        let mut bytes = Vec::new();
        sample().write(&mut bytes);
        assert_eq!(Header::read(&bytes), Ok(sample()));
        for cut in 0..bytes.len() {
            assert!(Header::read(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }

    /// As ScyllaDB writes the header of rows of which none expires or was deleted.
    #[test]
    fn bases_of_64_bits_are_taken_by_their_lower_half() {
        let mut bytes = Vec::new();
        varint::encode(0, &mut bytes);
        varint::encode((i64::MAX as u64).wrapping_sub(LOCAL_DELETION_TIME_EPOCH.into()), &mut bytes);
        varint::encode(i64::MAX as u64, &mut bytes);
        let mut written = Vec::new();
        Header { encoding: EncodingStats::EPOCH, ..sample() }.write(&mut written);
        bytes.extend_from_slice(&written[3..]);
        let encoding = Header::read(&bytes).expect("it is read").encoding;
        assert_eq!((encoding.local_deletion_time_min, encoding.ttl_min), (u32::MAX, u32::MAX));
        assert_eq!(encoding.timestamp_min, TIMESTAMP_EPOCH);
    }

    #[test]
    fn a_column_is_there_once() {
        let mut header = sample();
        header.regulars.push(header.statics[0].clone());
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        assert!(Header::read(&bytes).unwrap_err().what.contains("duplicate column s"));
    }

    #[test]
    fn a_huge_count_takes_no_memory() {
        let mut bytes = Vec::new();
        sample().write(&mut bytes);
        let counts_at = bytes.windows(2).rposition(|pair| pair == [1, 1]).unwrap();
        let mut bytes = bytes[..counts_at].to_vec();
        varint::encode(u64::MAX, &mut bytes);
        assert!(Header::read(&bytes).unwrap_err().what.contains("a list of"));
    }
}
