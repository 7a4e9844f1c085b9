//! Slices of a partition's rows, in byte-comparable form.

/// One end of a slice: the byte-comparable form (`cql_types::comparable`) of the first components of a clustering. An
/// empty prefix with `inclusive` is the partition's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound<'a> {
    /// Byte-comparable components, concatenated.
    pub prefix: &'a [u8],
    /// Whether rows that begin with `prefix` are inside.
    pub inclusive: bool,
}

impl Bound<'_> {
    /// The partition's end, at either side.
    pub const UNBOUNDED: Bound<'static> = Bound { prefix: &[], inclusive: true };
}

/// The rows between two bounds, in the table's clustering order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice<'a> {
    /// Where it begins.
    pub start: Bound<'a>,
    /// Where it ends.
    pub end: Bound<'a>,
}

impl<'a> Slice<'a> {
    /// All rows.
    pub const ALL: Slice<'static> = Slice { start: Bound::UNBOUNDED, end: Bound::UNBOUNDED };

    /// The rows that begin with `prefix`: one row if it is a whole clustering.
    pub fn of_prefix(prefix: &'a [u8]) -> Self {
        Slice { start: Bound { prefix, inclusive: true }, end: Bound { prefix, inclusive: true } }
    }
}
