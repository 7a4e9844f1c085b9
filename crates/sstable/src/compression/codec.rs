//! The algorithms, one chunk at a time.
//!
//! ```text
//! LZ4       u32 length of the data, little-endian │ a raw LZ4 block
//! Snappy    Snappy's raw format, which begins with the length
//! Deflate   a zlib stream
//! Zstd      a frame with its checksum
//! Noop      the data
//! ```
//!
//! (Source: Cassandra 5.0's `LZ4Compressor`, `SnappyCompressor`, `DeflateCompressor`, `ZstdCompressor`, `NoopCompressor`.)

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use lz4_flex::block::{CompressTable, compress_into_with_table};
use zstd::zstd_safe::CParameter;

const LZ4_HEAD: usize = 4;
const ZSTD_LEVEL: i32 = 3;

/// An algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compressor {
    /// LZ4. Its `high` type, slower and a little smaller, is written as the fast one; both are read alike.
    Lz4,
    /// Snappy.
    Snappy,
    /// zlib's.
    Deflate,
    /// Zstandard, at a level.
    Zstd(i32),
    /// None: chunks for the sake of their checksums.
    Noop,
}

impl Compressor {
    /// The algorithm of the class with this simple name and these options.
    pub fn named(name: &str, options: &[(String, String)]) -> Option<Compressor> {
        let level = || {
            let level = options.iter().find(|(key, _)| key == "compression_level");
            level.and_then(|(_, value)| value.parse().ok()).unwrap_or(ZSTD_LEVEL)
        };
        Some(match name {
            "LZ4Compressor" => Compressor::Lz4,
            "SnappyCompressor" => Compressor::Snappy,
            "DeflateCompressor" => Compressor::Deflate,
            "ZstdCompressor" => Compressor::Zstd(level()),
            "NoopCompressor" => Compressor::Noop,
            _ => return None,
        })
    }

    /// Its class's simple name.
    pub fn name(self) -> &'static str {
        match self {
            Compressor::Lz4 => "LZ4Compressor",
            Compressor::Snappy => "SnappyCompressor",
            Compressor::Deflate => "DeflateCompressor",
            Compressor::Zstd(_) => "ZstdCompressor",
            Compressor::Noop => "NoopCompressor",
        }
    }

    /// The most bytes that `length` bytes of data become.
    fn length_max(self, length: usize) -> usize {
        match self {
            Compressor::Lz4 => LZ4_HEAD + lz4_flex::block::get_maximum_output_size(length),
            Compressor::Snappy => snap::raw::max_compress_len(length),
            // zlib's bound for its worst case, stored blocks.
            Compressor::Deflate => length + (length >> 12) + (length >> 14) + (length >> 25) + 64,
            Compressor::Zstd(_) => zstd::zstd_safe::compress_bound(length),
            Compressor::Noop => length,
        }
    }
}

/// What compressing keeps from chunk to chunk.
pub(super) enum Encoder {
    Lz4(Box<CompressTable>),
    Snappy(Box<snap::raw::Encoder>),
    Deflate(Compress),
    Zstd(zstd::bulk::Compressor<'static>),
    Noop,
}

impl Encoder {
    pub(super) fn new(compressor: Compressor) -> Self {
        match compressor {
            Compressor::Lz4 => Encoder::Lz4(Box::default()),
            Compressor::Snappy => Encoder::Snappy(Box::new(snap::raw::Encoder::new())),
            Compressor::Deflate => Encoder::Deflate(Compress::new(Compression::default(), true)),
            Compressor::Zstd(level) => {
                let mut encoder = zstd::bulk::Compressor::new(level).expect("a level within zstd's bounds");
                encoder.set_parameter(CParameter::ChecksumFlag(true)).expect("zstd has checksums");
                Encoder::Zstd(encoder)
            }
            Compressor::Noop => Encoder::Noop,
        }
    }

    /// Appends the compressed form of `data`.
    pub(super) fn encode(&mut self, compressor: Compressor, data: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + compressor.length_max(data.len()), 0);
        let room = &mut out[start..];
        const ENOUGH: &str = "there is room for the worst case";
        let used = match self {
            Encoder::Lz4(table) => {
                let length = u32::try_from(data.len()).expect("a chunk's length has 32 bits");
                room[..LZ4_HEAD].copy_from_slice(&length.to_le_bytes());
                LZ4_HEAD + compress_into_with_table(data, &mut room[LZ4_HEAD..], table).expect(ENOUGH)
            }
            Encoder::Snappy(encoder) => encoder.compress(data, room).expect(ENOUGH),
            Encoder::Deflate(encoder) => {
                encoder.reset();
                let status = encoder.compress(data, room, FlushCompress::Finish);
                assert!(matches!(status, Ok(Status::StreamEnd)), "{ENOUGH}");
                usize::try_from(encoder.total_out()).expect("no more than there was room for")
            }
            Encoder::Zstd(encoder) => encoder.compress_to_buffer(data, room).expect(ENOUGH),
            Encoder::Noop => {
                room.copy_from_slice(data);
                data.len()
            }
        };
        out.truncate(start + used);
    }
}

/// What decompressing keeps from chunk to chunk.
pub(super) enum Decoder {
    Lz4,
    Snappy,
    Deflate(Decompress),
    Zstd(zstd::bulk::Decompressor<'static>),
    Noop,
}

impl Decoder {
    pub(super) fn new(compressor: Compressor) -> Self {
        match compressor {
            Compressor::Lz4 => Decoder::Lz4,
            Compressor::Snappy => Decoder::Snappy,
            Compressor::Deflate => Decoder::Deflate(Decompress::new(true)),
            Compressor::Zstd(_) => Decoder::Zstd(zstd::bulk::Decompressor::new().expect("memory for zstd")),
            Compressor::Noop => Decoder::Noop,
        }
    }

    /// Decompresses all of `stored` into all of `room`.
    pub(super) fn decode(&mut self, stored: &[u8], room: &mut [u8]) -> Result<(), String> {
        let used = match self {
            Decoder::Lz4 => {
                let (head, block) = stored.split_first_chunk::<LZ4_HEAD>().ok_or("a chunk of LZ4 without its head")?;
                let length = u32::from_le_bytes(*head);
                if length as usize != room.len() {
                    return Err(format!("a chunk of LZ4 with {length} bytes instead of {}", room.len()));
                }
                lz4_flex::block::decompress_into(block, room).map_err(|error| error.to_string())?
            }
            Decoder::Snappy => {
                let length = snap::raw::decompress_len(stored).map_err(|error| error.to_string())?;
                if length != room.len() {
                    return Err(format!("a chunk of Snappy with {length} bytes instead of {}", room.len()));
                }
                snap::raw::Decoder::new().decompress(stored, room).map_err(|error| error.to_string())?
            }
            Decoder::Deflate(decoder) => {
                decoder.reset(true);
                match decoder.decompress(stored, room, FlushDecompress::Finish) {
                    Ok(Status::StreamEnd) => usize::try_from(decoder.total_out()).unwrap_or(usize::MAX),
                    Ok(_) => return Err("a zlib stream without an end".to_owned()),
                    Err(error) => return Err(error.to_string()),
                }
            }
            Decoder::Zstd(decoder) => decoder.decompress_to_buffer(stored, room).map_err(|error| error.to_string())?,
            Decoder::Noop if stored.len() == room.len() => {
                room.copy_from_slice(stored);
                room.len()
            }
            Decoder::Noop => stored.len(),
        };
        match used == room.len() {
            true => Ok(()),
            false => Err(format!("a chunk with {used} bytes instead of {}", room.len())),
        }
    }
}
