//! LZ4 and Snappy bodies: whatever they claim, no more than the limit is taken, at once and in steps; both come to the same;
//! and what compresses comes back.

use cql_protocol::Compression;
use cql_protocol::compression::Decompressor;

const LIMIT: usize = 1 << 20;

fn in_steps(compression: Compression, data: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut decompressor = Decompressor::begin(compression, data, LIMIT).ok()?;
    while !decompressor.step(data, 4_096, &mut out).ok()? {
        assert!(out.len() <= decompressor.declared());
    }
    Some(out)
}

/// Runs one input.
pub fn run(data: &[u8]) {
    for compression in [Compression::Lz4, Compression::Snappy] {
        let mut out = Vec::new();
        let is_whole = compression.decompress(data, LIMIT, &mut out).is_ok();
        assert!(out.capacity() <= LIMIT + 1024, "{} bytes taken for {}", out.capacity(), data.len());
        match in_steps(compression, data) {
            Some(stepped) if is_whole => assert_eq!(stepped, out),
            // The library is milder about the last bytes of an LZ4 block.
            stepped => assert!(compression == Compression::Lz4 || stepped.is_some() == is_whole),
        }
        let (mut packed, mut back) = (Vec::new(), Vec::new());
        compression.compress(data, &mut packed);
        compression.decompress(&packed, data.len(), &mut back).expect("what was compressed comes back");
        assert_eq!(back, data);
        if data.len() <= LIMIT {
            assert_eq!(in_steps(compression, &packed).as_deref(), Some(data));
        }
    }
}
