//! RESULT of rows.
//!
//! ```text
//! kind i32 = 2 | flags u32 | columns i32 | paging state, if HAS_MORE_PAGES | id, if METADATA_CHANGED
//!              | descriptions, if not NO_METADATA | rows i32 | rows × columns × bytes
//! ```

use stdx::Reader;

use crate::response::specs::{DecodedSpec, HAS_MORE_PAGES, METADATA_CHANGED, Specs, read_count, read_specs};
use crate::response::{ResponseFrame, begin_result, result_kind};
use crate::{DecodeError, Version, notation};

/// What is known of a result before its first row.
#[derive(Debug, Clone, Copy)]
pub struct RowsHead<'a> {
    /// The columns.
    pub columns: Specs<'a>,
    /// The id of the columns, if they are others than the client knows (version 5; left out before). They must be
    /// described then.
    pub new_metadata_id: Option<&'a [u8]>,
}

/// A result that is being appended to a buffer: `begin`, then for each row its values and `end_row`, then `finish`. The
/// buffer must not be used for anything else in between.
///
/// That there is another page is often known only after the last row of this one, so the paging state is put in at the
/// end; a page is short enough for that move.
#[derive(Debug)]
#[must_use = "a result that is not finished has a wrong length"]
pub struct RowsWriter {
    frame: ResponseFrame,
    flags_at: usize,
    rows_at: usize,
    rows: u32,
}

impl RowsWriter {
    /// Appends all that comes before the rows.
    #[inline]
    pub fn begin(out: &mut Vec<u8>, version: Version, stream: i16, head: &RowsHead<'_>) -> RowsWriter {
        let frame = begin_result(out, version, stream, result_kind::ROWS);
        let flags_at = out.len();
        let columns = u64::from(head.columns.count());
        out.extend_from_slice(&columns.to_be_bytes());
        let mut flags = 0;
        if let (Version::V5, Some(id)) = (version, head.new_metadata_id) {
            flags |= METADATA_CHANGED;
            notation::write_short_bytes(out, id);
        }
        flags |= head.columns.write(out, version);
        out[flags_at..flags_at + 4].copy_from_slice(&flags.to_be_bytes());
        let rows_at = out.len();
        out.extend_from_slice(&[0; 4]);
        RowsWriter { frame, flags_at, rows_at, rows: 0 }
    }

    /// Appends the next value of the row; `None` is null.
    #[inline]
    pub fn value(&mut self, out: &mut Vec<u8>, value: Option<&[u8]>) {
        notation::write_bytes(out, value);
    }

    /// Ends the row, for which as many values as there are columns must have been appended.
    #[inline]
    pub fn end_row(&mut self) {
        self.rows += 1;
    }

    /// Says how many rows there are, after rows that had ended were taken out of the buffer again.
    pub fn keep_rows(&mut self, rows: u32) {
        self.rows = rows;
    }

    /// Rows that have ended.
    #[inline]
    pub fn row_count(&self) -> u32 {
        self.rows
    }

    /// Bytes of the frame so far, for those who limit a page by size.
    #[inline]
    pub fn frame_length(&self, out: &[u8]) -> usize {
        out.len() - self.frame.start()
    }

    /// Where the frame begins in its buffer.
    #[inline]
    pub fn frame_start(&self) -> usize {
        self.frame.start()
    }

    /// Ends the result. With a paging state there is another page.
    #[inline]
    pub fn finish(self, out: &mut Vec<u8>, paging_state: Option<&[u8]>) {
        out[self.rows_at..self.rows_at + 4].copy_from_slice(&self.rows.to_be_bytes());
        if let Some(state) = paging_state {
            self.insert_paging_state(out, state);
        }
        ResponseFrame::finish(out, self.frame);
    }

    fn insert_paging_state(&self, out: &mut Vec<u8>, state: &[u8]) {
        // The flags are all in the lowest byte.
        out[self.flags_at + 3] |= HAS_MORE_PAGES as u8;
        let mut bytes = Vec::with_capacity(4 + state.len());
        notation::write_bytes(&mut bytes, Some(state));
        let at = self.flags_at + 8;
        out.splice(at..at, bytes);
    }
}

/// A decoded result; its values were checked as a whole and are walked by [`Rows::iter`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows<'a> {
    /// The columns, or nothing if they are not described.
    pub columns: Vec<DecodedSpec>,
    /// How many columns there are.
    pub column_count: usize,
    /// How many rows there are.
    pub row_count: usize,
    /// Where the next page begins, if there is one.
    pub paging_state: Option<&'a [u8]>,
    /// The id of the columns, if they are others than the client knew.
    pub new_metadata_id: Option<&'a [u8]>,
    bytes: &'a [u8],
}

impl<'a> Rows<'a> {
    pub(super) fn read(reader: &mut Reader<'a>, version: Version) -> Result<Rows<'a>, DecodeError> {
        let flags = reader.u32()?;
        let column_count = read_count(reader, "columns")?;
        let paging_state = match flags & HAS_MORE_PAGES {
            0 => None,
            _ => notation::read_bytes(reader)?,
        };
        let new_metadata_id = match flags & METADATA_CHANGED {
            0 => None,
            _ => Some(notation::read_short_bytes(reader)?),
        };
        let columns = read_specs(reader, version, flags, column_count)?;
        let row_count = read_count(reader, "rows")?;
        if column_count == 0 && row_count > 0 {
            // Rows of nothing would let a few bytes stand for two billion turns of a loop.
            return Err(DecodeError::InvalidCount { what: "rows without a column", count: row_count as i64 });
        }
        let bytes = reader.peek();
        for _ in 0..row_count {
            for _ in 0..column_count {
                notation::read_bytes(reader)?;
            }
        }
        let bytes = &bytes[..bytes.len() - reader.remaining()];
        Ok(Rows { columns, column_count, row_count, paging_state, new_metadata_id, bytes })
    }

    /// The rows.
    pub fn iter(&self) -> RowsIter<'a> {
        RowsIter { rows: self.row_count, columns: self.column_count, reader: Reader::new(self.bytes) }
    }
}

/// Walks a result's rows.
#[derive(Debug, Clone)]
pub struct RowsIter<'a> {
    rows: usize,
    columns: usize,
    reader: Reader<'a>,
}

impl<'a> Iterator for RowsIter<'a> {
    type Item = RowValues<'a>;

    fn next(&mut self) -> Option<RowValues<'a>> {
        self.rows = self.rows.checked_sub(1)?;
        let bytes = self.reader.peek();
        for _ in 0..self.columns {
            notation::read_bytes(&mut self.reader).ok()?;
        }
        let row = &bytes[..bytes.len() - self.reader.remaining()];
        Some(RowValues { left: self.columns, reader: Reader::new(row) })
    }
}

/// Walks a row's values; `None` is null.
#[derive(Debug, Clone)]
pub struct RowValues<'a> {
    left: usize,
    reader: Reader<'a>,
}

impl<'a> Iterator for RowValues<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Option<&'a [u8]>> {
        self.left = self.left.checked_sub(1)?;
        notation::read_bytes(&mut self.reader).ok()
    }
}
