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

/// No component's form begins with a lesser byte, so that with it after a row's form all rows come that begin with that row's components.
pub const ROW_END: u8 = 0;

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

    /// The rows that begin with `prefix`: one row if it is the form of values for all clustering columns.
    pub fn of_prefix(prefix: &'a [u8]) -> Self {
        Slice { start: Bound { prefix, inclusive: true }, end: Bound { prefix, inclusive: true } }
    }

    /// The row of these components alone, and no row that begins with them: `ended` is their form with [`ROW_END`] after it. It is how a row
    /// is named whose last clustering columns are null.
    pub fn of_row(ended: &'a [u8]) -> Self {
        let place = ended.strip_suffix(&[ROW_END]).unwrap_or(ended);
        Slice { start: Bound { prefix: place, inclusive: true }, end: Bound { prefix: ended, inclusive: false } }
    }

    /// Whether a row is inside whose whole clustering, in byte-comparable form, is this.
    pub fn has(&self, clustering: &[u8]) -> bool {
        let is_behind_start = match clustering.starts_with(self.start.prefix) {
            true => self.start.inclusive,
            false => clustering > self.start.prefix,
        };
        is_behind_start && !self.ends_before(clustering)
    }

    /// Whether that row is behind its end.
    pub fn ends_before(&self, clustering: &[u8]) -> bool {
        match clustering.starts_with(self.end.prefix) {
            true => !self.end.inclusive,
            false => clustering > self.end.prefix,
        }
    }

    /// Whether no row can be inside, whatever is stored.
    pub fn is_impossible(&self) -> bool {
        let (start, end) = (self.start.prefix, self.end.prefix);
        match (start.starts_with(end), end.starts_with(start)) {
            (true, true) => !(self.start.inclusive && self.end.inclusive),
            // Rows that begin with the end's values are all before that end, or all behind it.
            (true, false) => !self.end.inclusive,
            (false, true) => !self.start.inclusive,
            (false, false) => start > end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice<'a>(start: &'a [u8], starts: bool, end: &'a [u8], ends: bool) -> Slice<'a> {
        Slice { start: Bound { prefix: start, inclusive: starts }, end: Bound { prefix: end, inclusive: ends } }
    }

    #[test]
    fn a_slice_has_the_rows_between_its_ends() {
        let rows = [&b"aa"[..], b"ab", b"ba", b"bb", b"ca"];
        let of = |slice: Slice<'_>| rows.into_iter().filter(|row| slice.has(row)).collect::<Vec<_>>().concat();
        assert_eq!(of(Slice::ALL), b"aaabbabbca");
        assert_eq!(of(slice(b"a", true, b"b", true)), b"aaabbabb");
        assert_eq!(of(slice(b"a", false, b"b", true)), b"babb");
        assert_eq!(of(slice(b"a", true, b"b", false)), b"aaab");
        assert_eq!(of(slice(b"ab", false, b"bb", false)), b"ba");
        assert_eq!(of(slice(b"ab", true, b"", true)), b"abbabbca");
        assert_eq!(of(slice(b"c", true, b"a", true)), b"");
    }

    #[test]
    fn a_row_is_told_from_those_that_begin_with_it() {
        let rows = [&b"a"[..], b"a\0", b"a\0\x01", b"a\x01b", b"b"];
        let of = |slice: Slice<'_>| rows.into_iter().filter(|row| slice.has(row)).collect::<Vec<_>>();
        assert_eq!(of(Slice::of_row(b"a\0")), [b"a"]);
        assert_eq!(of(Slice::of_row(b"a\0\0")), [b"a\0"]);
        assert_eq!(of(Slice::of_prefix(b"a")), rows[..4]);
        assert!(!Slice::of_row(b"a\0").is_impossible());
    }

    #[test]
    fn a_slice_that_ends_before_it_begins_is_impossible() {
        let of = |start, starts, end, ends| slice(start, starts, end, ends).is_impossible();
        assert!(!Slice::ALL.is_impossible());
        assert!(!of(b"a", true, b"a", true));
        assert!(of(b"a", true, b"a", false));
        assert!(of(b"a", false, b"a", true));
        assert!(of(b"b", true, b"a", true));
        assert!(!of(b"a", false, b"b", false));
        // Longer ones are rows among those of the shorter one.
        assert!(!of(b"a", true, b"ab", false));
        assert!(of(b"a", false, b"ab", true));
        assert!(!of(b"ab", false, b"a", true));
        assert!(of(b"ab", true, b"a", false));
    }
}
