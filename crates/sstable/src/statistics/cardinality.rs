//! An estimate of how many different keys there are, that can be joined with others' without counting a key twice:
//! HyperLogLog++ as Cassandra writes it. (Source: `MetadataCollector.addKey`, `MurmurHash.hash2_64`, and the layout of
//! stream-lib's `HyperLogLogPlus`: -2, vints p and sp, format 0, vint length, then 5-bit registers, six in an i32.)

/// So many bits of a hash say which register it goes to.
const P: u32 = 13;
/// The same of the sparse form, which is not written here.
const SPARSE_P: u8 = 25;
const REGISTER_COUNT: usize = 1 << P;
const REGISTERS_PER_WORD: usize = 6;
const REGISTER_BITS: usize = 5;
const VERSION: i32 = -2;
const FORMAT_NORMAL: u8 = 0;

/// An estimator of the number of keys.
#[derive(Debug, Clone)]
pub struct Cardinality {
    registers: Vec<u8>,
}

impl Default for Cardinality {
    fn default() -> Self {
        Cardinality { registers: vec![0; REGISTER_COUNT] }
    }
}

impl Cardinality {
    /// Counts a key.
    pub fn add(&mut self, key: &[u8]) {
        let hash = murmur2(key);
        let register = &mut self.registers[(hash >> (64 - P)) as usize];
        // The bit bounds the run of zeros by those that the hash has.
        let rest = hash << P | 1 << (P - 1);
        *register = (*register).max(rest.leading_zeros() as u8 + 1);
    }

    /// The bytes.
    pub fn write(&self) -> Vec<u8> {
        let words = REGISTER_COUNT.div_ceil(REGISTERS_PER_WORD);
        let mut out = Vec::with_capacity(words * 4 + 16);
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&[P as u8, SPARSE_P, FORMAT_NORMAL]);
        write_little_endian_vint(words as u32 * 4, &mut out);
        for registers in self.registers.chunks(REGISTERS_PER_WORD) {
            let shifted =
                registers.iter().enumerate().map(|(place, &value)| u32::from(value) << (place * REGISTER_BITS));
            out.extend_from_slice(&shifted.fold(0, |word, bits| word | bits).to_be_bytes());
        }
        out
    }
}

/// Seven bits a byte, the lowest first, the highest bit of a byte says that another follows.
fn write_little_endian_vint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// MurmurHash2's 64-bit form with seed 0, with Java's signed bytes at the end.
fn murmur2(key: &[u8]) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const R: u32 = 47;
    let mut hash = M.wrapping_mul(key.len() as u64);
    let (blocks, tail) = key.as_chunks::<8>();
    for block in blocks {
        let mut k = u64::from_le_bytes(*block).wrapping_mul(M);
        k ^= k >> R;
        hash = (hash ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !tail.is_empty() {
        for (place, &byte) in tail.iter().enumerate() {
            hash ^= (i64::from(byte.cast_signed()) << (place * 8)).cast_unsigned();
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> R;
    hash = hash.wrapping_mul(M);
    hash ^ hash >> R
}
