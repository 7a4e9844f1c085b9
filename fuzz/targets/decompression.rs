//! LZ4 bodies: whatever they claim, no more than the limit is taken, and what compresses comes back.

#![no_main]

use cql_protocol::compression::{compress, decompress};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let mut out = Vec::new();
    if decompress(data, LIMIT, &mut out).is_ok() {
        assert!(out.len() <= LIMIT);
    }
    assert!(out.capacity() <= LIMIT + 1024, "{} bytes taken for {}", out.capacity(), data.len());
    let (mut packed, mut back) = (Vec::new(), Vec::new());
    compress(data, &mut packed);
    decompress(&packed, data.len(), &mut back).expect("what was compressed comes back");
    assert_eq!(back, data);
});
