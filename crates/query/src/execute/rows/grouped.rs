//! Results whose rows are groups of rows: where a group ends, the result and its page may end too.

use mutation::{ClusteringRef, LiveRow, Position};

use super::{Filled, RowCells, RowEmitter, place_in_order};
use crate::error::QueryError;
use crate::execute::expressions::Evaluator;
use crate::execute::row_source::{Cells, Maker, Number, RowSource, RowValues};

impl RowEmitter<'_> {
    /// Adds a row to its group. If it begins another one, the present one is a row of the result; and if that was the last that is wanted,
    /// of the page or of the partition, the row was not looked at.
    pub(super) fn add_to_group(&mut self, row: Option<(ClusteringRef<'_>, LiveRow<'_>)>) {
        let clustering = row.map(|(clustering, _)| clustering);
        self.note_first_of_group(clustering);
        match self.add_to_open_group(row) {
            Ok(true) => {}
            Ok(false) => {
                self.end_group();
                if self.filled() != Filled::No {
                    self.stopped_at = Some(self.last_of_group());
                    return;
                }
                if self.partition_left == 0 {
                    return;
                }
                self.note_first_of_group(clustering);
                if let Err(error) = self.add_to_open_group(row) {
                    self.error.get_or_insert(error);
                }
            }
            Err(error) => {
                self.error.get_or_insert(error);
                return;
            }
        }
        if self.limits.is_paged
            && let Some(clustering) = clustering
        {
            self.buffer.last.clear();
            self.buffer.last.extend_from_slice(clustering.bytes());
        }
    }

    /// Notes the place in the order of ORDER BY of a group that a row is about to begin.
    #[inline]
    fn note_first_of_group(&mut self, clustering: Option<ClusteringRef<'_>>) {
        if !self.select.sort.is_empty() && self.group.as_ref().is_some_and(|group| !group.is_open()) {
            self.group_order = place_in_order(self.select, |position| clustering?.components().nth(position));
        }
    }

    /// Adds a row to the present group; false: it is of another one.
    #[inline]
    fn add_to_open_group(&mut self, row: Option<(ClusteringRef<'_>, LiveRow<'_>)>) -> Result<bool, QueryError> {
        let group = self.group.as_mut().expect("the result's rows are groups");
        let statics = Cells::of_static(&self.buffer.static_row, self.has_static, self.now_in_seconds, self.hiding);
        let mut values = RowValues {
            maker: Maker { select: self.select, parts: self.parts.as_ref(), now_in_seconds: self.now_in_seconds },
            source: RowSource::new(&self.buffer.key, row, statics),
            token: self.token,
            number: Number::default(),
        };
        let mut evaluator = Evaluator {
            binds: &self.binds,
            clock: self.clock,
            parts: self.parts.as_ref(),
            spare: &mut self.buffer.spare,
        };
        group.add(&mut evaluator, &mut values)
    }

    /// The place of the row that was added last to a group of this partition.
    fn last_of_group(&self) -> Position {
        let mut row = Vec::new();
        let clustering = ClusteringRef::trusted(&self.buffer.last);
        for (column, value) in self.select.table.clustering().iter().zip(clustering.components()) {
            cql_types::comparable::encode(&column.ty, value, column.is_reversed(), &mut row);
        }
        Position { token: self.token, key: self.buffer.key.clone(), row: Some(row) }
    }

    /// Ends the present group, if groups end where partitions do: it is a row of the result.
    pub(super) fn end_group(&mut self) {
        if !self.group.as_ref().is_some_and(|group| group.is_open() && group.is_by_key()) || self.error.is_some() {
            return;
        }
        self.write_group();
        self.count_row();
    }

    /// Writes the present group as a row of the result.
    pub(super) fn write_group(&mut self) {
        self.bind_parts();
        let start = self.out.len();
        let group = self.group.as_mut().expect("the result's rows are groups");
        let mut evaluator = Evaluator {
            binds: &self.binds,
            clock: self.clock,
            parts: self.parts.as_ref(),
            spare: &mut self.buffer.spare,
        };
        let mut cells = RowCells::new(self.select, &mut self.writer, self.out, &mut self.buffer.json);
        if let Err(error) = group.end(&mut evaluator, |value| cells.add(value)) {
            self.error.get_or_insert(error);
            return;
        }
        cells.end();
        if !self.select.sort.is_empty() {
            let order = std::mem::take(&mut self.group_order);
            self.unsorted.add(order, start..self.out.len(), self.partitions);
        }
    }
}
