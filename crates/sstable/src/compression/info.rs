//! CompressionInfo.db: how the data is compressed, and where each chunk begins.
//!
//! ```text
//! u16 length, name of the compressor's class
//! u32 count, options                  u16 length, key │ u16 length, value
//! chunk length u32
//! max compressed length u32           from version `na` on; before every chunk is compressed
//! data length u64                     before compression
//! u32 count, chunks' offsets u64      in Data.db
//! ```
//!
//! What a compaction of Cassandra's wrote has one chunk more, behind the last one, of no data: it flushes its buffer twice at the end. It is
//! listed here and stored in Data.db, and nobody reads it.
//!
//! Integers are big-endian and what Java calls signed: none is ever negative. Strings are Java's, of which only ASCII occurs. The
//! file carries no checksum, so everything in it is compared with the length of Data.db.

use stdx::Reader;

use super::CHUNK_CRC_BYTES;
use super::codec::Compressor;
use super::params::{CompressionParams, is_chunk_length};
use crate::{Corrupt, Format, Version};

/// What CompressionInfo.db says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompressionInfo {
    params: CompressionParams,
    data_length: u64,
    /// Where chunks begin, and where the last one ends.
    offsets: Vec<u64>,
    /// Whether a chunk of no data stands behind the last one.
    has_empty_chunk: bool,
}

/// Where a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Its number.
    pub number: u64,
    /// Where it begins in Data.db.
    pub offset: u64,
    /// Its length there, with its checksum.
    pub stored_length: usize,
    /// Where its data begins in all data.
    pub data_offset: u64,
    /// The length of its data.
    pub data_length: usize,
}

impl CompressionInfo {
    /// Of no chunks yet.
    pub fn new(params: CompressionParams) -> Self {
        CompressionInfo { params, data_length: 0, offsets: vec![0], has_empty_chunk: false }
    }

    /// Adds the next chunk: so many bytes of data, in so many bytes of Data.db with the checksum.
    pub fn push(&mut self, data_length: usize, stored_length: usize) {
        let end = self.offsets.last().expect("the first chunk's offset is there") + stored_length as u64;
        assert!(self.data_length.is_multiple_of(u64::from(self.params.chunk_length)), "only the last chunk is short");
        self.data_length += data_length as u64;
        self.offsets.push(end);
    }

    /// How it is compressed.
    pub fn params(&self) -> &CompressionParams {
        &self.params
    }

    /// The bytes of data.
    pub fn data_length(&self) -> u64 {
        self.data_length
    }

    /// The bytes of Data.db, up to the last chunk's end.
    pub fn stored_length(&self) -> u64 {
        *self.offsets.last().expect("the end is there")
    }

    /// How many chunks there are that have data.
    pub fn chunk_count(&self) -> u64 {
        self.offsets.len() as u64 - 1
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.offsets.capacity() * size_of::<u64>()
    }

    /// The chunk with this number.
    pub fn chunk(&self, number: u64) -> Option<Chunk> {
        let index = usize::try_from(number).ok()?;
        let (offset, end) = (*self.offsets.get(index)?, *self.offsets.get(index + 1)?);
        let chunk_length = u64::from(self.params.chunk_length);
        let data_offset = number * chunk_length;
        let data_length = (self.data_length - data_offset).min(chunk_length);
        Some(Chunk {
            number,
            offset,
            stored_length: (end - offset) as usize,
            data_offset,
            data_length: data_length as usize,
        })
    }

    /// The number of the chunk that has the byte of data at `position`.
    pub fn chunk_at(&self, position: u64) -> u64 {
        position / u64::from(self.params.chunk_length)
    }

    /// The bytes of CompressionInfo.db of version `da`.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128 + 8 * self.offsets.len());
        push_string(self.params.compressor.name(), &mut out);
        push_u32(self.params.options.len(), &mut out);
        for (key, value) in &self.params.options {
            push_string(key, &mut out);
            push_string(value, &mut out);
        }
        out.extend_from_slice(&self.params.chunk_length.to_be_bytes());
        out.extend_from_slice(&self.params.max_compressed_length.to_be_bytes());
        out.extend_from_slice(&self.data_length.to_be_bytes());
        let chunks = &self.offsets[..self.offsets.len() - usize::from(!self.has_empty_chunk)];
        push_u32(chunks.len(), &mut out);
        out.extend(chunks.iter().flat_map(|offset| offset.to_be_bytes()));
        out
    }

    /// Decodes CompressionInfo.db of `version`, beside a Data.db of `stored_length` bytes.
    pub fn decode(bytes: &[u8], version: Version, stored_length: u64) -> Result<Self, Corrupt> {
        let mut reader = Reader::new(bytes);
        let info = read(&mut reader, version, stored_length);
        let offset = (bytes.len() - reader.remaining()) as u64;
        match info {
            Ok(_) if !reader.is_empty() => Err(Corrupt::new(offset, "trailing bytes")),
            Ok(info) => Ok(info),
            Err(what) => Err(Corrupt::new(offset, what)),
        }
    }
}

fn push_string(text: &str, out: &mut Vec<u8>) {
    let length = u16::try_from(text.len()).expect("options were checked and are short");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn push_u32(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(count).expect("counts of 32 bits").to_be_bytes());
}

/// Whether files of `version` may have chunks that are stored as they are. (Source: Cassandra's `BigFormat`.)
fn has_max_compressed_length(version: Version) -> bool {
    version.format() == Format::Bti || version.name() >= "na"
}

fn read_string<'a>(reader: &mut Reader<'a>) -> Result<&'a str, String> {
    let length = reader.u16().map_err(|error| error.to_string())?;
    reader.str(usize::from(length)).map_err(|error| error.to_string())
}

/// A number that Java has as a signed one and that is not negative.
fn read_u32(reader: &mut Reader<'_>) -> Result<u32, String> {
    let value = reader.i32().map_err(|error| error.to_string())?;
    u32::try_from(value).map_err(|_| format!("the number {value} is negative"))
}

fn read_u64(reader: &mut Reader<'_>) -> Result<u64, String> {
    let value = reader.i64().map_err(|error| error.to_string())?;
    u64::try_from(value).map_err(|_| format!("the number {value} is negative"))
}

fn read(reader: &mut Reader<'_>, version: Version, stored_length: u64) -> Result<CompressionInfo, String> {
    let name = read_string(reader)?;
    let mut options = Vec::new();
    for _ in 0..read_u32(reader)? {
        options.push((read_string(reader)?.to_owned(), read_string(reader)?.to_owned()));
    }
    let compressor = Compressor::named(name, &options).ok_or_else(|| format!("the compressor {name:?} is unknown"))?;
    let chunk_length = read_u32(reader)?;
    if !is_chunk_length(chunk_length) {
        return Err(format!("chunks of {chunk_length} bytes"));
    }
    let max_compressed_length = match has_max_compressed_length(version) {
        true => read_u32(reader)?,
        false => i32::MAX as u32,
    };
    let data_length = read_u64(reader)?;
    let count = read_u32(reader)?;
    let needed = data_length.div_ceil(u64::from(chunk_length));
    let has_empty_chunk = u64::from(count) == needed + 1;
    if u64::from(count) != needed && !has_empty_chunk {
        return Err(format!("{count} chunks of {chunk_length} bytes for {data_length} bytes of data"));
    }
    if reader.remaining() / 8 < count as usize {
        return Err(format!("{} bytes of offsets for {count} chunks", reader.remaining()));
    }
    let mut offsets = Vec::with_capacity(count as usize + 1);
    for _ in 0..count {
        offsets.push(read_u64(reader)?);
    }
    offsets.push(stored_length);
    if offsets[0] != 0 {
        return Err("the first chunk does not begin at byte 0".to_owned());
    }
    // A compressed chunk may be longer than its data, by as much as the algorithms' worst cases.
    let longest = u64::from(chunk_length) + u64::from(chunk_length) / 4 + 1024;
    for (number, pair) in offsets.windows(2).enumerate() {
        let length = pair[1].saturating_sub(pair[0]);
        let has_data = (number as u64) < needed;
        if length < CHUNK_CRC_BYTES as u64 + u64::from(has_data) || length > longest {
            return Err(format!("chunk {number} from byte {} to byte {}", pair[0], pair[1]));
        }
    }
    if has_empty_chunk {
        offsets.pop();
    }
    let params = CompressionParams { compressor, options, chunk_length, max_compressed_length };
    Ok(CompressionInfo { params, data_length, offsets, has_empty_chunk })
}
