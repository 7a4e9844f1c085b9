//! A cursor over bytes that came from outside. Every getter checks what is left, so that a decoder built from these
//! can fail but not panic, and it never takes memory: what it hands out is borrowed.

/// The bytes ended, or hold what the format does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadError {
    /// The value needs `wanted` bytes and `left` remain.
    Truncated {
        /// Bytes the value needs.
        wanted: usize,
        /// Bytes that remain.
        left: usize,
    },
    /// A length prefix is negative where the format has no meaning for that.
    NegativeLength {
        /// The length as read.
        length: i64,
    },
    /// A string is not UTF-8.
    NotUtf8,
    /// A varint does not fit its type.
    VarintOverflow,
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReadError::Truncated { wanted, left } => write!(f, "{wanted} bytes wanted and {left} left"),
            ReadError::NegativeLength { length } => write!(f, "the length {length} is negative"),
            ReadError::NotUtf8 => write!(f, "a string is not UTF-8"),
            ReadError::VarintOverflow => write!(f, "a varint does not fit its type"),
        }
    }
}

impl std::error::Error for ReadError {}

/// A cursor over `bytes`; integers are big-endian, as in every format of Cassandra's.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A cursor at the first of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes }
    }

    /// How many bytes are left.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// All that is left; the cursor moves to the end.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// What is left, without moving.
    #[inline]
    pub fn peek(&self) -> &'a [u8] {
        self.bytes
    }

    /// The next `n` bytes.
    #[inline]
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], ReadError> {
        match self.bytes.split_at_checked(n) {
            Some((head, tail)) => {
                self.bytes = tail;
                Ok(head)
            }
            None => Err(ReadError::Truncated { wanted: n, left: self.bytes.len() }),
        }
    }

    /// The next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        match self.bytes.split_first_chunk::<N>() {
            Some((head, tail)) => {
                self.bytes = tail;
                Ok(*head)
            }
            None => Err(ReadError::Truncated { wanted: N, left: self.bytes.len() }),
        }
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, ReadError> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A big-endian u16.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, ReadError> {
        self.array().map(u16::from_be_bytes)
    }

    /// A big-endian i16.
    #[inline]
    pub fn i16(&mut self) -> Result<i16, ReadError> {
        self.array().map(i16::from_be_bytes)
    }

    /// A big-endian u32.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, ReadError> {
        self.array().map(u32::from_be_bytes)
    }

    /// A big-endian i32.
    #[inline]
    pub fn i32(&mut self) -> Result<i32, ReadError> {
        self.array().map(i32::from_be_bytes)
    }

    /// A big-endian u64.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, ReadError> {
        self.array().map(u64::from_be_bytes)
    }

    /// A big-endian i64.
    #[inline]
    pub fn i64(&mut self) -> Result<i64, ReadError> {
        self.array().map(i64::from_be_bytes)
    }

    /// An unsigned varint; see [`crate::varint`].
    #[inline]
    pub fn varint(&mut self) -> Result<u64, ReadError> {
        let (value, length) = crate::varint::decode(self.bytes)?;
        self.bytes = &self.bytes[length..];
        Ok(value)
    }

    /// A varint length and that many bytes.
    #[inline]
    pub fn varint_bytes(&mut self) -> Result<&'a [u8], ReadError> {
        let length = self.varint()?;
        let length = usize::try_from(length).map_err(|_| ReadError::VarintOverflow)?;
        self.bytes(length)
    }

    /// The next `n` bytes as UTF-8.
    #[inline]
    pub fn str(&mut self, n: usize) -> Result<&'a str, ReadError> {
        std::str::from_utf8(self.bytes(n)?).map_err(|_| ReadError::NotUtf8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_in_order_and_refuses_the_end() {
        let mut r = Reader::new(&[1, 0, 2, 0xff, 0xff, 0xff, 0xfd, b'h', b'i']);
        assert_eq!(r.u8(), Ok(1));
        assert_eq!(r.u16(), Ok(2));
        assert_eq!(r.i32(), Ok(-3));
        assert_eq!(r.str(2), Ok("hi"));
        assert_eq!(r.u8(), Err(ReadError::Truncated { wanted: 1, left: 0 }));
        assert!(r.is_empty());
    }

    #[test]
    fn a_failed_read_moves_nothing() {
        let mut r = Reader::new(&[1, 2]);
        assert!(r.u32().is_err());
        assert_eq!(r.u16(), Ok(0x0102));
    }

    #[test]
    fn a_huge_length_is_an_error() {
        let mut bytes = Vec::new();
        crate::varint::encode(u64::MAX, &mut bytes);
        assert!(Reader::new(&bytes).varint_bytes().is_err());
    }
}
