//! A hash over all that happened in a world: FNV-1a, 64 bits, as its authors describe it.

/// The hash so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trace {
    hash: u64,
}

impl Default for Trace {
    fn default() -> Self {
        Trace { hash: 0xcbf2_9ce4_8422_2325 }
    }
}

impl Trace {
    /// Takes note of a number, as one step: four bytes' worth of spreading is enough for a comparison of runs.
    #[inline]
    pub(crate) fn note(&mut self, number: u64) {
        self.hash = (self.hash ^ number).wrapping_mul(0x0000_0100_0000_01b3);
        self.hash ^= self.hash >> 29;
    }

    /// Takes note of bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.note(u64::from_le_bytes(*word));
        }
        for byte in rest {
            self.note(u64::from(*byte));
        }
    }

    pub(crate) fn value(self) -> u64 {
        self.hash
    }
}
