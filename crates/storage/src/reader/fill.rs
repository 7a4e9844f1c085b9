//! Fills of the cache: a read that goes to files may leave an entry behind, and be answered from it.

use std::rc::Rc;

use mutation::{KeyRange, ReadCommand, Slice};
use planted::Bug;
use schema::Table;

use crate::cache::{Body, BodyBuilder, Marks, Wanted};
use crate::reader::merge::Progress;
use crate::reader::output::AsData;
use crate::reader::source::{LaneError, Origin};
use crate::reader::through::{Lanes, OfFiles};
use crate::shard::{Engine, Shard};
use crate::sstable::ReadError;

/// A partition, and then a row of it, if it is found to be large.
const FILLS_MAX: u32 = 2;

/// The fills of one read.
#[derive(Default)]
pub(super) struct Fills(u32);

/// What came of a fill.
pub(super) enum Filled {
    /// There was none: the read goes on as without a cache.
    Nothing,
    /// The lanes of the read, with the new body in the files' stead.
    Lanes(Lanes),
    /// The body is of no use to this read: what it is answered from is to be chosen anew.
    LookAgain,
}

/// A fill that is under way.
struct Fill {
    table: Rc<Table>,
    /// The table's when the files were chosen.
    marks: Marks,
    files: Vec<Origin>,
    wanted: Wanted,
}

impl Shard {
    /// Fills the cache for a read of one partition that is about to ask files, if that is worth it.
    pub(super) async fn fill(
        &self,
        lanes: &Lanes,
        command: &ReadCommand<'_>,
        fills: &mut Fills,
    ) -> Result<Filled, ReadError> {
        let KeyRange::Partition { key, .. } = command.keys else { return Ok(Filled::Nothing) };
        if !lanes.origins.iter().any(|origin| matches!(origin, Origin::File(_))) {
            return Ok(Filled::Nothing);
        }
        let Some(fill) = self.begin_fill(command, fills) else { return Ok(Filled::Nothing) };
        let place = match &fill.wanted {
            Wanted::Whole => &[][..],
            Wanted::Row(place, _) => place,
        };
        let of_row = [Slice::of_prefix(place)];
        let slices = if place.is_empty() { &[Slice::ALL] } else { &of_row };
        let asked = ReadCommand { slices, reversed: false, after: None, ..*command };
        let mut builder = BodyBuilder::new(&fill.table, key, place);
        let read = match fill.files.as_slice() {
            [Origin::File(file)] => self.read_file_data(file, &asked, &mut builder).await.map_err(LaneError::Read),
            files => {
                let lanes = Lanes { table: fill.table.clone(), version: 0, origins: files.to_vec() };
                let mut progress = Progress::from(None);
                self.read_lanes(lanes, &asked, &mut AsData::new(&mut builder, &asked), &mut progress).await
            }
        };
        match read {
            Ok(_) => {}
            Err(LaneError::Read(error)) => return Err(error),
            Err(LaneError::Changed) => unreachable!("a fill has no lane of a memtable"),
        }
        let is_over = builder.is_over();
        let Some(body) = builder.finish() else { return Ok(Filled::LookAgain) };
        let lanes = self.end_fill(command, &fill, &body);
        Ok(lanes.filter(|_| !is_over).map_or(Filled::LookAgain, Filled::Lanes))
    }

    fn begin_fill(&self, command: &ReadCommand<'_>, fills: &mut Fills) -> Option<Fill> {
        let mut engine = self.engine();
        let Engine { tables, pool, cache, .. } = &mut *engine;
        let table = tables.get(command.table)?;
        let files = table.file_origins(command);
        if files.is_empty() || !cache.is_on() || !table.marks.is_on || fills.0 == FILLS_MAX {
            return None;
        }
        if fills.0 == 0 {
            cache.count(|counters| counters.misses += 1);
        }
        let wanted = cache.wanted(&table.marks, &table.definition, command, pool.used());
        fills.0 = if wanted.is_some() { fills.0 + 1 } else { FILLS_MAX };
        Some(Fill { table: table.definition.clone(), marks: table.marks, files, wanted: wanted? })
    }

    /// Puts the body in, if the files are what they were. Gives the lanes of the read then.
    fn end_fill(&self, command: &ReadCommand<'_>, fill: &Fill, body: &Body) -> Option<Lanes> {
        let KeyRange::Partition { token, .. } = command.keys else { return None };
        let mut engine = self.engine();
        let Engine { tables, pool, cache, .. } = &mut *engine;
        let table = tables.get(command.table)?;
        let is_same = (table.marks.table, table.marks.clock) == (fill.marks.table, fill.marks.clock);
        if !is_same && !self.planted().is(Bug::OldFillKept) {
            stdx::sometimes!("a fill from files that are others now");
            cache.count(|counters| counters.refused += 1);
            return None;
        }
        // The memtable that is being written to a file may have been gone through already.
        let first = table.frozen.front().filter(|frozen| frozen.memtable.may_hold(&command.keys));
        let ends_at = first.map(|frozen| frozen.number);
        cache.keep(&table.marks, token, &fill.wanted, body.clone(), ends_at, pool.used());
        Some(table.lanes(command, OfFiles::Body(body)))
    }
}
