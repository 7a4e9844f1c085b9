//! Reads a row's body, what stands behind its sizes, into a row's blob.
//!
//! A blob has its cells by the table's column ids, the body by the header's columns. Where the two orders agree cells
//! are handed on as they come; else the first pass finds where each column begins and checks it, the second goes by id.
//! Nothing is allocated for a cell: the buffers are kept from row to row.

use mutation::{CellRef, CounterRef, Deletion, Liveness, RowBuilder, counter};
use stdx::Reader;

use crate::data::cell::{Fault, Layout, RawCell, Times};
use crate::data::columns::{Columns, DataColumn, Form};
use crate::data::element::{self, Scratch};
use crate::data::flags::{COLUMNS_BY_NUMBER_MIN, extended, unfiltered};

/// Buffers that are used for every row.
#[derive(Debug, Default)]
pub(super) struct RowReader {
    /// Indexes of the row's columns in the header.
    present: Vec<u16>,
    /// Where each of the header's columns begins in the body, if the row has it.
    starts: Vec<Option<u32>>,
    scratch: Scratch,
}

/// What a row's flags say.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowFlags {
    pub flags: u8,
    pub extended: u8,
}

impl RowFlags {
    #[inline]
    pub(super) fn has(self, bit: u8) -> bool {
        self.flags & bit != 0
    }
}

/// Where cells go.
struct Target<'t> {
    builder: &'t mut RowBuilder,
    out: &'t mut Vec<u8>,
}

/// What holds for all cells of a row.
struct Context<'c> {
    times: &'c Times,
    liveness: Option<Liveness>,
    has_complex_deletion: bool,
}

impl RowReader {
    /// Appends the row's blob to `out`. Where `reader` stands at an error is where the body is wrong.
    pub(super) fn read(
        &mut self,
        reader: &mut Reader<'_>,
        flags: RowFlags,
        columns: &Columns,
        times: &Times,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let liveness = read_liveness(reader, flags, times)?;
        let deletion = match flags.has(unfiltered::HAS_DELETION) {
            true => times.read_deletion(reader)?,
            false => None,
        };
        let mut builder = RowBuilder::begin(out);
        if let Some(deletion) = deletion.filter(|deletion| !gives_way(deletion, flags, liveness)) {
            builder.deletion(deletion);
        }
        if let Some(liveness) = liveness {
            builder.liveness(liveness);
        }
        self.read_present(reader, flags, columns)?;
        let has_complex_deletion = flags.has(unfiltered::HAS_COMPLEX_DELETION);
        let context = Context { times, liveness, has_complex_deletion };
        let mut target = Target { builder: &mut builder, out };
        if columns.is_in_order {
            for &index in &self.present {
                read_column(reader, &columns.all[usize::from(index)], &context, Some(&mut target), &mut self.scratch)?;
            }
        } else {
            self.read_by_id(reader, columns, &context, &mut target)?;
        }
        if !reader.is_empty() {
            return Err(Fault::Wrong("a row is shorter than it says"));
        }
        builder.finish(out);
        Ok(())
    }

    fn read_by_id(
        &mut self,
        reader: &mut Reader<'_>,
        columns: &Columns,
        context: &Context<'_>,
        target: &mut Target<'_>,
    ) -> Result<(), Fault> {
        let whole = *reader;
        self.starts.clear();
        self.starts.resize(columns.all.len(), None);
        for &index in &self.present {
            let start = whole.remaining() - reader.remaining();
            self.starts[usize::from(index)] = u32::try_from(start).ok();
            read_column(reader, &columns.all[usize::from(index)], context, None, &mut self.scratch)?;
        }
        for &index in &columns.by_id {
            let Some(start) = self.starts[usize::from(index)] else { continue };
            let mut reader = Reader::new(&whole.peek()[start as usize..]);
            let column = &columns.all[usize::from(index)];
            read_column(&mut reader, column, context, Some(target), &mut self.scratch)?;
        }
        Ok(())
    }

    /// Which of the header's columns the row has.
    fn read_present(&mut self, reader: &mut Reader<'_>, flags: RowFlags, columns: &Columns) -> Result<(), Fault> {
        let count = columns.all.len();
        self.present.clear();
        let all = (0u16..).take(count);
        let missing = if flags.has(unfiltered::HAS_ALL_COLUMNS) { 0 } else { reader.varint()? };
        if missing == 0 {
            self.present.extend(all);
            return Ok(());
        }
        if count < COLUMNS_BY_NUMBER_MIN {
            if missing >> count != 0 {
                return Err(Fault::Wrong("a row has columns that are not in the header"));
            }
            self.present.extend(all.filter(|index| missing >> index & 1 == 0));
            return Ok(());
        }
        let missing = usize::try_from(missing).ok().filter(|&missing| missing <= count);
        let missing = missing.ok_or(Fault::Wrong("a row lacks more columns than the header has"))?;
        let present = count - missing;
        if present < count / 2 {
            for _ in 0..present {
                let index = read_index(reader, self.present.last().copied(), count)?;
                self.present.push(index);
            }
            return Ok(());
        }
        let mut last = None;
        for _ in 0..missing {
            let index = read_index(reader, last, count)?;
            self.present.extend(last.map_or(0, |last: u16| last + 1)..index);
            last = Some(index);
        }
        self.present.extend(all.skip(last.map_or(0, |last| usize::from(last) + 1)));
        Ok(())
    }
}

/// A column's index, greater than the one before.
fn read_index(reader: &mut Reader<'_>, last: Option<u16>, count: usize) -> Result<u16, Fault> {
    let index = u16::try_from(reader.varint()?).ok().filter(|&index| usize::from(index) < count);
    index.filter(|&index| last.is_none_or(|last| index > last)).ok_or(Fault::Wrong("a row's columns are out of order"))
}

#[inline]
fn read_liveness(reader: &mut Reader<'_>, flags: RowFlags, times: &Times) -> Result<Option<Liveness>, Fault> {
    if !flags.has(unfiltered::HAS_TIMESTAMP) {
        return match flags.has(unfiltered::HAS_TTL) {
            true => Err(Fault::Wrong("a row has a ttl and no timestamp")),
            false => Ok(None),
        };
    }
    let timestamp = times.read_timestamp(reader)?;
    if !flags.has(unfiltered::HAS_TTL) {
        return Ok(Some(Liveness { timestamp, expiry: None }));
    }
    let ttl = times.read_ttl(reader)?;
    let local_deletion_time = times.read_local_deletion_time(reader)?;
    Ok(Some(Liveness { timestamp, expiry: Some(mutation::Expiry { ttl, local_deletion_time }) }))
}

/// Whether a deletion is one of a materialized view's, which hold only until the row is written again.
fn gives_way(deletion: &Deletion, flags: RowFlags, liveness: Option<Liveness>) -> bool {
    flags.extended & extended::HAS_SHADOWABLE_DELETION != 0
        && liveness.is_some_and(|liveness| liveness.timestamp > deletion.timestamp)
}

/// Reads a column's cells; without a target, only past them.
#[inline]
fn read_column(
    reader: &mut Reader<'_>,
    column: &DataColumn,
    context: &Context<'_>,
    target: Option<&mut Target<'_>>,
    scratch: &mut Scratch,
) -> Result<(), Fault> {
    let fixed_length = match &column.form {
        Form::Simple { fixed_length } => *fixed_length,
        Form::Counter => None,
        Form::Complex(_) => return read_elements(reader, column, context, target, scratch),
    };
    let layout = Layout { has_path: false, fixed_length };
    let cell = RawCell::read(reader, context.times, context.liveness, layout)?;
    let (Some(target), Some(id)) = (target, column.id) else { return Ok(()) };
    let RawCell { timestamp, expiry, tombstone, value, .. } = cell;
    let mut cell = CellRef { column: id, timestamp, expiry, tombstone, path: &[], value, is_counter: false };
    if tombstone.is_some() {
        cell.value = &[];
    } else if column.form == Form::Counter {
        if expiry.is_some() {
            return Err(Fault::Wrong("a counter expires"));
        }
        let state = CounterRef::decode_context(value).map_err(|_| Fault::Wrong("a counter's shards are unreadable"))?;
        cell.value = scratch.counter(|out| counter::write_context(&state, out));
        cell.is_counter = true;
    }
    target.builder.cell(target.out, &cell);
    Ok(())
}

fn read_elements(
    reader: &mut Reader<'_>,
    column: &DataColumn,
    context: &Context<'_>,
    mut target: Option<&mut Target<'_>>,
    scratch: &mut Scratch,
) -> Result<(), Fault> {
    let Form::Complex(elements) = &column.form else { return Err(Fault::Wrong("a column of one cell has elements")) };
    let deletion = if context.has_complex_deletion { context.times.read_deletion(reader)? } else { None };
    if let (Some(target), Some(id), Some(deletion)) = (&mut target, column.id, deletion) {
        let Deletion { timestamp, local_deletion_time } = deletion;
        let tombstone = Some(local_deletion_time);
        let cell = CellRef { column: id, timestamp, expiry: None, tombstone, path: &[], value: &[], is_counter: false };
        target.builder.cell(target.out, &cell);
    }
    let count = reader.varint()?;
    let layout = Layout { has_path: true, fixed_length: None };
    for _ in 0..count {
        let RawCell { timestamp, expiry, tombstone, path, value } =
            RawCell::read(reader, context.times, context.liveness, layout)?;
        let (Some(target), Some(id)) = (&mut target, column.id) else { continue };
        let (path, value) = element::read(elements, path, value, tombstone.is_some(), scratch)?;
        let value = if tombstone.is_some() { &[] } else { value };
        target
            .builder
            .cell(target.out, &CellRef { column: id, timestamp, expiry, tombstone, path, value, is_counter: false });
    }
    Ok(())
}
