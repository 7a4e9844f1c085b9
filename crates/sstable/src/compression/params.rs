//! How data is compressed: what a table's options say, and what a file says.

use std::collections::BTreeMap;

use super::codec::Compressor;

/// The length of a chunk that is read is bounded, since a chunk is read as a whole.
pub(super) const CHUNK_LENGTH_MAX: u32 = 256 << 20;

const CHUNK_LENGTH_KIB: u32 = 16;
/// Java's greatest `int`: every chunk is compressed.
const ALWAYS: u32 = i32::MAX as u32;

/// How the chunks of a data file are compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompressionParams {
    /// By which algorithm.
    pub compressor: Compressor,
    /// The algorithm's own options, as the file keeps them.
    pub options: Vec<(String, String)>,
    /// The bytes of data in a chunk.
    pub chunk_length: u32,
    /// Chunks that would become as long as this or longer are stored as they are.
    pub max_compressed_length: u32,
}

impl CompressionParams {
    /// What a table's `compression` option asks for; `None`: no compression.
    ///
    /// The option was checked when it was set. What would make no sense all the same is taken as the default.
    pub fn of_options(options: &BTreeMap<String, String>) -> Option<CompressionParams> {
        let class = options.get("class")?;
        let name = class.rsplit('.').next().unwrap_or(class);
        let own: Vec<(String, String)> = options
            .iter()
            .filter(|(key, _)| {
                !matches!(key.as_str(), "class" | "chunk_length_in_kb" | "min_compress_ratio" | "enabled")
            })
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let compressor = Compressor::named(name, &own)?;
        let kib = options.get("chunk_length_in_kb").and_then(|text| text.parse().ok()).unwrap_or(CHUNK_LENGTH_KIB);
        let chunk_length = kib.checked_mul(1024).filter(|length| is_chunk_length(*length));
        let chunk_length = chunk_length.unwrap_or(CHUNK_LENGTH_KIB * 1024);
        let ratio = options.get("min_compress_ratio").and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
        let max_compressed_length = match ratio >= 1.0 {
            true => (f64::from(chunk_length) / ratio).ceil() as u32,
            false => ALWAYS,
        };
        Some(CompressionParams { compressor, options: own, chunk_length, max_compressed_length })
    }
}

/// Whether chunks may have this length.
pub(super) fn is_chunk_length(length: u32) -> bool {
    length.is_power_of_two() && length <= CHUNK_LENGTH_MAX
}
