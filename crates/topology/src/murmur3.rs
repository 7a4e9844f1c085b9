//! MurmurHash3, the x64 128-bit variant with seed 0, as Cassandra computes it.
//!
//! Cassandra's differs from the original in one respect, which became part of every cluster's data: the bytes of the
//! tail (the last `length % 16`) are *signed*, so that one of 0x80 or more also flips all bits above its place.
//! (Source: Cassandra's `MurmurHash.hash3_x64_128`.)

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// The first 64 bits of the hash of `key`.
#[inline]
pub fn hash(key: &[u8]) -> i64 {
    let [first, _] = hash_both(key);
    first
}

/// All 128 bits of the hash of `key`, in halves.
#[inline]
pub fn hash_both(key: &[u8]) -> [i64; 2] {
    let mut h1 = 0u64;
    let mut h2 = 0u64;

    let (blocks, tail) = key.as_chunks::<16>();
    for block in blocks {
        let (k1, k2) = halves(block);
        h1 ^= scramble_first(k1);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= scramble_second(k2);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }

    if tail.len() > 8 {
        h2 ^= scramble_second(signed_little_endian(&tail[8..]));
    }
    if !tail.is_empty() {
        h1 ^= scramble_first(signed_little_endian(&tail[..tail.len().min(8)]));
    }

    let length = key.len() as u64;
    h1 ^= length;
    h2 ^= length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = avalanche(h1);
    h2 = avalanche(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    [h1 as i64, h2 as i64]
}

#[inline]
fn halves(block: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*block);
    (both as u64, (both >> 64) as u64)
}

/// Up to eight bytes, each sign-extended to 64 bits before it is shifted to its place and xored in.
#[inline]
fn signed_little_endian(bytes: &[u8]) -> u64 {
    let mut value = 0u64;
    for (place, &byte) in bytes.iter().enumerate() {
        value ^= (i64::from(byte as i8) as u64) << (8 * place);
    }
    value
}

#[inline]
fn scramble_first(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

#[inline]
fn scramble_second(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

#[inline]
fn avalanche(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}
