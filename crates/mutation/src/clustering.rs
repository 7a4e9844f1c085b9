//! A row's clustering as it is encoded: a count, then each component with its length.
//!
//! A row of a table with several clustering columns that is WITH COMPACT STORAGE may have fewer components than there are columns, but at least
//! one: the last ones are null. It is another row than all that begin with its components, and comes before them.

use stdx::{Reader, varint};

use crate::error::DecodeError;

/// The encoded components of a clustering, or of the first few of them. Valid by construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusteringRef<'a> {
    bytes: &'a [u8],
}

impl<'a> ClusteringRef<'a> {
    /// The clustering of a row in a table without clustering columns.
    pub const EMPTY: ClusteringRef<'static> = ClusteringRef { bytes: &[0] };

    /// Takes a clustering from the cursor, checking every length.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let whole = reader.peek();
        let count = reader.u8()?;
        for _ in 0..count {
            reader.varint_bytes()?;
        }
        Ok(ClusteringRef { bytes: &whole[..whole.len() - reader.remaining()] })
    }

    /// The clustering whose encoding is all of `bytes`.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let clustering = Self::read(&mut reader)?;
        match reader.remaining() {
            0 => Ok(clustering),
            count => Err(DecodeError::LeftOver { count }),
        }
    }

    /// The clustering in bytes that [`ClusteringRef::bytes`] gave, unchecked. From other bytes the components are
    /// nonsense or fewer; no panic.
    #[inline]
    pub fn trusted(bytes: &'a [u8]) -> Self {
        ClusteringRef { bytes }
    }

    /// The encoding.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many components there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.first().map_or(0, |&count| usize::from(count))
    }

    /// Whether there are no components.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The components' values, in order.
    #[inline]
    pub fn components(&self) -> Components<'a> {
        let mut reader = Reader::new(self.bytes);
        let left = reader.u8().unwrap_or(0);
        Components { reader, left }
    }
}

/// The values of a clustering, in order.
#[derive(Debug, Clone)]
pub struct Components<'a> {
    reader: Reader<'a>,
    left: u8,
}

impl<'a> Iterator for Components<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        self.reader.varint_bytes().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

/// One end of a range tombstone: the first components of a clustering, and whether what begins with them is inside.
/// With no components it is the partition's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusteringBound<'a> {
    /// The values of the first clustering columns.
    pub prefix: &'a [&'a [u8]],
    /// Whether rows that begin with `prefix` are inside.
    pub inclusive: bool,
}

/// Appends the encoding of `components`, at most 255 of them.
pub(crate) fn encode<'c>(components: impl IntoIterator<Item = &'c [u8]>, out: &mut Vec<u8>) {
    let count_at = out.len();
    out.push(0);
    let mut count = 0u8;
    for component in components {
        count = count.checked_add(1).expect("a table has at most 255 clustering columns");
        varint::encode(component.len() as u64, out);
        out.extend_from_slice(component);
    }
    out[count_at] = count;
}
